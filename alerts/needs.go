package alerts

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"monolith"
	"monolith/formula"
)

// needs is what must be so for a rule to concern a server.
type needs struct {
	flavours  []monolith.Flavour
	mysql     []bound
	mariadb   []bound
	source    string
	collector string
	ifs       []need
}

type need struct {
	is  *expr
	els *template
}

// bound is one comparison with a version.
type bound struct {
	op      string
	version monolith.Version
	text    string
}

func (b bound) holds(v monolith.Version) bool {
	c := v.Compare(b.version)
	switch b.op {
	case ">=":
		return c >= 0
	case ">":
		return c > 0
	case "<=":
		return c <= 0
	case "<":
		return c < 0
	}
	return c == 0
}

// boundText reads ">= 5.6.5", "< 8.0.3", or several of them.
var boundText = regexp.MustCompile(`^(>=|<=|>|<|=)\s*(\d+(?:\.\d+){0,2})\s*,?\s*`)

func parseBounds(text string) ([]bound, error) {
	var all []bound
	for rest := strings.TrimSpace(text); rest != ""; {
		m := boundText.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("%q is not a bound of a version", text)
		}
		all = append(all, bound{m[1], monolith.ParseVersion(m[2]), m[1] + " " + m[2]})
		rest = rest[len(m[0]):]
	}
	return all, nil
}

// sources are the kinds of host data that a rule may need.
const (
	sourceHost       = "host"
	sourceCnf        = "cnf"
	sourceRemoteHost = "remote-host"
)

func (n *needs) words() []string {
	var out []string
	if len(n.flavours) > 0 {
		names := make([]string, len(n.flavours))
		for i, f := range n.flavours {
			names[i] = string(f)
		}
		out = append(out, "flavour "+strings.Join(names, ", "))
	}
	for _, b := range n.mysql {
		out = append(out, "MySQL "+b.text)
	}
	for _, b := range n.mariadb {
		out = append(out, "MariaDB "+b.text)
	}
	if n.source != "" {
		out = append(out, "source "+n.source)
	}
	if n.collector != "" {
		out = append(out, "collector "+n.collector)
	}
	for _, i := range n.ifs {
		out = append(out, i.is.f.String())
	}
	return out
}

// verdict is a state, with its reason where it is not what the conditions say.
type verdict struct {
	state monolith.RuleState
	why   string
	// failed: something could not be read, which somebody should mend. False for what the server itself does not know.
	failed bool
	judged bool // some conditions were, and only others lack something
}

// unmet gives why the rule does not concern the server, or can't be judged; the zero verdict when all is met.
func (ev *evaluator) unmet(r *Rule) verdict {
	n := &r.needs
	id := ev.state.Identity
	if len(n.flavours) > 0 || len(n.mysql) > 0 || len(n.mariadb) > 0 {
		if id.IsZero() {
			return verdict{state: monolith.StateLearning, why: "the server's version is not known yet"}
		}
		if len(n.flavours) > 0 && !slices.Contains(n.flavours, id.Flavour) {
			return verdict{state: monolith.StateNotApplicable, why: "not for " + flavourName(id.Flavour)}
		}
		bounds, name := n.mysql, flavourName(id.Flavour)
		if id.Flavour.IsMariaDB() {
			bounds = n.mariadb
		}
		for _, b := range bounds {
			if !b.holds(id.Version) {
				return verdict{state: monolith.StateNotApplicable, why: fmt.Sprintf("needs %s %s, this is %s", name, b.text, id.Version)}
			}
		}
	}
	switch n.source {
	case sourceHost:
		if !ev.hasHost() {
			return verdict{state: monolith.StateNotApplicable, why: noHostSource}
		}
	case sourceCnf:
		if ev.srv.cnf == nil {
			return verdict{state: monolith.StateNotApplicable, why: noSourceYet}
		}
	case sourceRemoteHost:
		return verdict{state: monolith.StateNotApplicable, why: noSourceYet}
	}
	if n.collector != "" {
		if v := ev.collectorVerdict(n.collector); v.state != "" {
			return v
		}
	}
	for i := range n.ifs {
		s := ev.eval(n.ifs[i].is)
		switch yes, ok := s.Bool(); {
		case ok && yes:
		case ok, s.Lack() == formula.LackAbsent:
			return verdict{state: monolith.StateNotApplicable, why: ev.render(n.ifs[i].els)}
		default:
			return lackVerdict(s)
		}
	}
	return verdict{}
}

// What a rule says where there is nothing to read.
const (
	noHostSource = "this server has no host source"
	noSourceYet  = "no such source yet"
)

// hasHost reports whether the machine under the server is read.
func (ev *evaluator) hasHost() bool { return ev.server.Host != "" && ev.server.Host != "none" }

func flavourName(f monolith.Flavour) string {
	return strings.TrimSuffix(monolith.Identity{Flavour: f, Version: monolith.Version{Major: 1}}.String(), " 1.0.0")
}

// lackVerdict gives the state that a value that is not there stands for.
func lackVerdict(s formula.Scalar) verdict {
	switch s.Lack() {
	case formula.LackAbsent:
		return verdict{state: monolith.StateNotApplicable, why: s.Why()}
	case formula.LackLearning:
		return verdict{state: monolith.StateLearning, why: s.Why()}
	}
	return verdict{state: monolith.StateCannotEvaluate, why: s.Why(), failed: s.Lack() == formula.LackFailed}
}

// namesInput finds the name of an input in a reason.
var namesInput = regexp.MustCompile(`\b(status|variable|replica|innodb|host|schema|server|self)\.[A-Za-z_][A-Za-z0-9_.]*`)

// inputOf gives the input that a reason names, or "". It is asked for only when a reason is new.
func inputOf(why string) string { return strings.TrimRight(namesInput.FindString(why), ".") }

// collectorVerdict tells what keeps a collector from working.
func (ev *evaluator) collectorVerdict(name string) verdict {
	if p, ok := ev.srv.trouble(name); ok {
		if p.Kind == monolith.ProblemUnsupported {
			return verdict{state: monolith.StateNotApplicable, why: p.Text}
		}
		return verdict{state: monolith.StateCannotEvaluate, why: "the collector " + name + " does not work: " + because(&p), failed: true}
	}
	return verdict{}
}

// quoted is strconv.Quote for texts of users in errors.
func quoted(s string) string { return strconv.Quote(shorten(s, 80)) }

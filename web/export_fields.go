package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"monolith"
	"monolith/formula"
)

// maxFields is how many fields an export has at most.
const maxFields = 100

// exportField is one thing that an export says of each server.
type exportField struct {
	name    string // as it was asked for
	fact    func(*exportSubject) exportCell
	formula *formula.Formula // nil for a fact
	metric  string           // the formula is this name and nothing else: its newest reading is in memory; else ""
	unit    string
}

// exportSubject is the server that fields are about.
type exportSubject struct {
	server *monolith.Server
	state  *monolith.State // nil before the first poll
	alerts map[monolith.Level]int
	judged bool // there is a rule engine
	// environment is the one of the group, for servers that say none.
	environment string
	now         time.Time
}

// exportFacts are the fields that are no formulas, by name.
var exportFacts = map[string]func(*exportSubject) exportCell{
	"server": func(x *exportSubject) exportCell { return textCell(x.server.Name) },
	"group":  func(x *exportSubject) exportCell { return saidCell(x.server.Group, "the server is in no group") },
	"environment": func(x *exportSubject) exportCell {
		return saidCell(cmp.Or(x.server.Environment, x.environment), "neither the server nor its group has one")
	},
	"role": func(x *exportSubject) exportCell { return saidCell(x.server.Role, "no role is expected of the server") },
	"tags": func(x *exportSubject) exportCell {
		return saidCell(strings.Join(x.server.Tags, " "), "the server has no tags")
	},
	"address":     func(x *exportSubject) exportCell { return textCell(x.server.Endpoint.Address()) },
	"paused":      func(x *exportSubject) exportCell { return truthCell(x.server.Paused) },
	"flavour":     identityCell(func(id *monolith.Identity) string { return string(id.Flavour) }),
	"version":     identityCell(func(id *monolith.Identity) string { return id.VersionText }),
	"comment":     identityCell(func(id *monolith.Identity) string { return id.Comment }),
	"server_uuid": identityCell(func(id *monolith.Identity) string { return id.UUID }),
	"hostname":    identityCell(func(id *monolith.Identity) string { return id.Hostname }),
	"up":          stateCell(func(x *exportSubject) exportCell { return truthCell(x.state.Up) }),
	"readable":    stateCell(func(x *exportSubject) exportCell { return truthCell(x.state.OK) }),
	"polled": stateCell(func(x *exportSubject) exportCell {
		if x.state.Polled.IsZero() {
			return noCell("the server was never read")
		}
		return textCell(x.state.Polled.UTC().Format(time.RFC3339))
	}),
	"problem": stateCell(func(x *exportSubject) exportCell {
		for _, p := range x.state.Problems {
			if p.Collector == "" {
				return textCell(p.Text)
			}
		}
		return textCell("")
	}),
	"alerts.critical": alertsCell(monolith.LevelCritical),
	"alerts.warn":     alertsCell(monolith.LevelWarn),
	"alerts.info":     alertsCell(monolith.LevelInfo),
}

func identityCell(of func(*monolith.Identity) string) func(*exportSubject) exportCell {
	return stateCell(func(x *exportSubject) exportCell {
		if x.state.Identity.IsZero() {
			return noCell("the server has not been read yet")
		}
		return saidCell(of(&x.state.Identity), "the server says none")
	})
}

func stateCell(of func(*exportSubject) exportCell) func(*exportSubject) exportCell {
	return func(x *exportSubject) exportCell {
		if x.state == nil {
			return noCell("the server has not been polled yet")
		}
		return of(x)
	}
}

func alertsCell(level monolith.Level) func(*exportSubject) exportCell {
	return func(x *exportSubject) exportCell {
		if !x.judged {
			return noCell("no rules are evaluated here")
		}
		return exportCell{values: []exportValue{{text: fmt.Sprint(x.alerts[level]), isNumber: true}}}
	}
}

// splitFields cuts a list at its commas; those inside of parentheses, brackets and quotes belong to a formula.
func splitFields(list string) []string {
	var out []string
	depth, start, quote := 0, 0, rune(0)
	for i, r := range list {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'' || r == '`':
			quote = r
		case r == '(' || r == '[':
			depth++
		case r == ')' || r == ']':
			depth--
		case r == ',' && depth <= 0:
			out = append(out, list[start:i])
			start = i + 1
		}
	}
	return append(out, list[start:])
}

// exportFieldsOf reads the names of fields. Names that the table does not hold are looked for among those that the servers
// were seen to have.
func (s *Server) exportFieldsOf(ctx context.Context, names []string, servers []monolith.Server) ([]exportField, error) {
	var seen map[string]bool
	known := func(name string) bool {
		if seen == nil {
			var err error
			if seen, err = s.namesSeen(ctx, servers); err != nil {
				seen = map[string]bool{}
			}
		}
		return seen[name]
	}
	if len(names) > maxFields {
		return nil, refuseTooMuch("fields", fmt.Sprintf("%d fields are more than the %d of one export", len(names), maxFields))
	}
	fields := make([]exportField, 0, len(names))
	for i, name := range names {
		name = strings.TrimSpace(name)
		where := fmt.Sprintf("fields[%d]", i)
		if name == "" {
			return nil, monolith.Invalid(where, "the field is empty", "names and formulas with commas between: server,version,rate(status.Questions)")
		}
		if slices.ContainsFunc(fields, func(f exportField) bool { return f.name == name }) {
			return nil, monolith.Invalid(where, fmt.Sprintf("the field %s stands twice", name), "once is enough: receivers find it by its name")
		}
		if fact := exportFacts[name]; fact != nil {
			fields = append(fields, exportField{name: name, fact: fact})
			continue
		}
		f, err := formula.ParseWith(name, known)
		if err != nil {
			return nil, fieldError(where, name, err)
		}
		field := exportField{name: name, formula: f, unit: f.Unit()}
		if in := f.Inputs(); len(in) == 1 && in[0].Func == "" && (name == in[0].Name || name == bracketed(in[0].Name)) {
			field.metric = in[0].Name
		}
		fields = append(fields, field)
	}
	return fields, nil
}

// bracketed writes a name in its other form: status["Threads_running"].
func bracketed(name string) string {
	space, rest, _ := strings.Cut(name, ".")
	return fmt.Sprintf("%s[%q]", space, rest)
}

// fieldError says what is wrong with a field that is neither a fact nor a formula.
func fieldError(where, name string, err error) error {
	bad, ok := errors.AsType[*monolith.InvalidError](err)
	if !ok {
		return err
	}
	located := *bad
	located.Field = where
	word := !strings.ContainsFunc(name, func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	if word || strings.HasPrefix(name, "alerts.") {
		located.Reason = fmt.Sprintf("there is no field %q", name)
		located.Cure = "one of " + strings.Join(sortedKeys(exportFacts), ", ") + ", a name such as status.Threads_running, or a formula"
		if near := formula.Nearest(name, sortedKeys(exportFacts)); near != "" {
			located.Cure = fmt.Sprintf("did you mean %s?", near)
		}
	}
	return &located
}

// exportCell is what an export says in one field of one server: one value, one an instance, or none for a reason.
type exportCell struct {
	values []exportValue
	plural bool // the values belong to instances
	why    string
}

// exportValue is a value at a moment, or points over a range.
type exportValue struct {
	instance string
	text     string
	isNumber bool
	none     bool // there is no value
	points   monolith.Floats
}

func textCell(text string) exportCell { return exportCell{values: []exportValue{{text: text}}} }

// saidCell is a text, or the reason why there is none.
func saidCell(text, why string) exportCell {
	if text == "" {
		return noCell(why)
	}
	return textCell(text)
}

func noCell(why string) exportCell { return exportCell{why: why} }

func truthCell(v bool) exportCell {
	text := "0"
	if v {
		text = "1"
	}
	return exportCell{values: []exportValue{{text: text, isNumber: true}}}
}

// valueCell takes over what a formula gave.
func valueCell(v *formula.Value) exportCell {
	one := func(v *formula.Value) exportValue {
		return exportValue{instance: v.Instance, text: v.Text, isNumber: !v.IsText, none: v.Why != ""}
	}
	switch {
	case len(v.Each) > 0:
		cell := exportCell{plural: true}
		for i := range v.Each {
			cell.values = append(cell.values, one(&v.Each[i]))
		}
		if !slices.ContainsFunc(cell.values, func(v exportValue) bool { return !v.none }) {
			cell.why = v.Each[0].Why
		}
		return cell
	case v.Why != "":
		return noCell(v.Why)
	}
	return exportCell{values: []exportValue{one(v)}}
}

// newest gives the newest reading of a name without instances from memory, as exactly as the server gave it (see digits), if it was
// read in the last poll of its collector. ok is false where only history can tell.
func newest(st *monolith.State, name string, now time.Time) (cell exportCell, ok bool) {
	if st == nil || !st.OK {
		return cell, false
	}
	m := monolith.Metric{Name: name}
	limit := max(3*st.Interval, 2*monolith.DefaultInterval(monolith.ScheduleOf(name)))
	if n, at, there := st.Value(m); there && now.Sub(at) <= limit {
		return exportCell{values: []exportValue{{text: digits(name, n), isNumber: true}}}, true
	}
	if text, at, there := st.Text(m); there && now.Sub(at) <= limit {
		return textCell(text), true
	}
	return newestNull(st, name, now, limit)
}

// newestNull gives the newest readings of a name of which one at least was NULL, such as the lag of a replica that stands
// still. History keeps no NULL: it would answer with the value from before.
func newestNull(st *monolith.State, name string, now time.Time, limit time.Duration) (cell exportCell, ok bool) {
	st.Sections(func(sec *monolith.Section, at time.Time) bool {
		if now.Sub(at) > limit {
			return true
		}
		for i := range sec.NumNames.Len() {
			m := sec.NumNames.At(i)
			if m.Name != name {
				continue
			}
			v := exportValue{instance: m.Instance, isNumber: true, none: sec.Nums[i].IsNone()}
			if !v.none {
				v.text = digits(name, sec.Nums[i])
			}
			ok = ok || v.none
			cell.plural = cell.plural || m.Instance != ""
			cell.values = append(cell.values, v)
		}
		return true
	})
	if !ok {
		return exportCell{}, false
	}
	if !slices.ContainsFunc(cell.values, func(v exportValue) bool { return !v.none }) {
		return noCell(fmt.Sprintf("the server gives no value for %s now", name)), true
	}
	return cell, true
}

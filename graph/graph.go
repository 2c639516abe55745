// Package graph holds the graphs as data and draws them: a [Graph] is a few panels of formulas, read
// from catalogue/*.yaml or written by a user in the same form; [Draw] puts the numbers in; the
// resulting [Drawing] goes to the browser as JSON, or becomes SVG, PNG or CSV here.
//
// To add a graph: one YAML entry in catalogue/.
package graph

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"monolith"
	"monolith/formula"
)

// Graph is the definition of a graph, in the words of its YAML entry.
type Graph struct {
	ID      string `yaml:"id"`             // kebab-case, never reused
	Title   string `yaml:"title"`          // what people call it
	Plan    string `yaml:"plan,omitempty"` // number in the catalogue of the documentation: G01 … G16, B01 …
	Section string `yaml:"section"`        // heading under which pages show it, one of [Sections]
	// Overview puts the graph on a server's overview page.
	Overview bool `yaml:"overview,omitempty"`
	// When is a formula over the present state; the graph is drawn only where it is not false.
	When string `yaml:"when,omitempty"`
	// None is shown, with {server} replaced by flavour and version, where nothing can be drawn.
	None   string  `yaml:"none,omitempty"`
	Panels []Panel `yaml:"panels"`

	when *formula.Formula // compiled by Validate; nil: always
}

// Panel is one plot of a graph.
type Panel struct {
	Title string   `yaml:"title,omitempty"` // needed when the graph has several panels
	Unit  string   `yaml:"unit"`            // of the left axis
	Right string   `yaml:"right,omitempty"` // of the right axis; its values may have none
	Min   *float64 `yaml:"min,omitempty"`
	Max   *float64 `yaml:"max,omitempty"`
	Log   bool     `yaml:"log,omitempty"`
	// When and None are as those of the graph. Without None a panel that does not apply is left out.
	When   string   `yaml:"when,omitempty"`
	None   string   `yaml:"none,omitempty"`
	Series []Series `yaml:"series"`

	when *formula.Formula
}

// Series is one line of a panel, or one for each instance where its formula names things that exist
// several times (devices, channels, mounts).
type Series struct {
	Name string `yaml:"name"`
	// Expr is the formula. Several are alternatives: the first whose names all exist on the server counts.
	Expr  Alternatives `yaml:"expr"`
	Style Style        `yaml:"style,omitempty"` // default: line
	Axis  string       `yaml:"axis,omitempty"`  // "right", or empty for left
	// States are the words of a strip for its values 1, in between and 0. Without them: yes, partly, no.
	States []string `yaml:"states,omitempty"`
	// For limits the series to a flavour: mysql (with Percona and Aurora) or mariadb.
	For    string `yaml:"for,omitempty"`
	When   string `yaml:"when,omitempty"`
	Hidden bool   `yaml:"hidden,omitempty"`
	Below  bool   `yaml:"below,omitempty"`
	// Quiet hides the series as long as no value of it in the range is greater: a line of zeros says nothing.
	Quiet *float64 `yaml:"quiet,omitempty"`
	// Floor drops values below it: a gauge that some versions report as a negative number.
	Floor *float64 `yaml:"floor,omitempty"`
	// Top keeps the so many largest instances and adds the others up under "others". 0: all.
	Top int `yaml:"top,omitempty"`

	when  *formula.Formula
	exprs []*formula.Formula // compiled Expr
}

// Alternatives is one formula or a list of them in YAML.
type Alternatives []string

// UnmarshalYAML accepts a text or a list of texts.
func (a *Alternatives) UnmarshalYAML(unmarshal func(any) error) error {
	var one string
	if unmarshal(&one) == nil {
		*a = Alternatives{one}
		return nil
	}
	var many []string
	if err := unmarshal(&many); err != nil {
		return err
	}
	*a = many
	return nil
}

// MarshalYAML writes a single formula as a text.
func (a Alternatives) MarshalYAML() (any, error) {
	if len(a) == 1 {
		return a[0], nil
	}
	return []string(a), nil
}

// Sections lists the headings of pages in the order in which DBAs look.
var Sections = []string{"uptime", "queries", "connections", "innodb", "temporary", "locks", "replication",
	"network", "memory", "handlers", "caches", "host", "own"}

var kebab = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// Parse reads definitions in YAML (of which JSON is a part), one or a list, and checks them whole: the
// error is a [monolith.InvalidError] whose field is the path of what is wrong. known adds metric names
// seen on watched servers to those that formulas may use; nil adds none.
func Parse(text []byte, known func(name string) bool) ([]*Graph, error) {
	var list []*Graph
	if err := decode(text, &list); err != nil {
		var one Graph
		if oneErr := decode(text, &one); oneErr != nil {
			if strings.HasPrefix(strings.TrimSpace(string(text)), "-") {
				oneErr = err
			}
			return nil, monolith.Invalid("definition", yaml.FormatError(oneErr, false, false))
		}
		list = []*Graph{&one}
	}
	seen := map[string]bool{}
	for i, g := range list {
		if g == nil {
			return nil, monolith.Invalid(fmt.Sprintf("[%d]", i), "the entry is empty")
		}
		if err := g.Validate(known); err != nil {
			return nil, err
		}
		if seen[g.ID] {
			return nil, monolith.Invalid(g.ID+".id", "two graphs have this id")
		}
		seen[g.ID] = true
	}
	return list, nil
}

// decode reads YAML strictly: an unknown key is an error. The library panics on some malformed texts
// ("! 0", found by fuzzing goccy/go-yaml 1.19.2); that is an error here.
func decode(text []byte, to any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("this is not YAML that can be read: %v", r)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	if err := dec.Decode(to); err != nil {
		return err
	}
	var more any
	if err := dec.Decode(&more); !errors.Is(err, io.EOF) {
		return errors.New("there is a second document after the first")
	}
	return nil
}

// Validate checks a definition and makes it ready to be drawn; the error is a [monolith.InvalidError]
// naming the place. known is as in [Parse].
func (g *Graph) Validate(known func(name string) bool) error {
	if !kebab.MatchString(g.ID) || len(g.ID) > 64 {
		return monolith.Invalid("id", fmt.Sprintf("%q is not an id", g.ID), "lower-case words with hyphens, at most 64 characters")
	}
	at := func(path string) string { return g.ID + "." + path }
	if why := badLabel(g.Title); why != "" {
		return monolith.Invalid(at("title"), "the title "+why)
	}
	switch {
	case !slices.Contains(Sections, g.Section):
		return monolith.Invalid(at("section"), fmt.Sprintf("unknown section %q", g.Section), "one of "+strings.Join(Sections, ", "))
	case len(g.Panels) == 0:
		return monolith.Invalid(at("panels"), "the graph has no panel")
	case len(g.Panels) > 12:
		return monolith.Invalid(at("panels"), "a graph has at most 12 panels")
	}
	var err error
	if g.when, err = compile(at("when"), g.When, known); err != nil {
		return err
	}
	for i := range g.Panels {
		if err := g.Panels[i].validate(at(fmt.Sprintf("panels[%d]", i)), known); err != nil {
			return err
		}
	}
	return nil
}

func (p *Panel) validate(path string, known func(string) bool) error {
	if len(p.Series) == 0 {
		return monolith.Invalid(path+".series", "the panel has no series")
	}
	for _, end := range []struct {
		name  string
		value *float64
	}{{"min", p.Min}, {"max", p.Max}} {
		if end.value != nil && !finite(*end.value) {
			return monolith.Invalid(path+"."+end.name, "an end of an axis is a number")
		}
	}
	if p.Min != nil && p.Max != nil && *p.Min >= *p.Max {
		return monolith.Invalid(path+".max", "the axis ends where it begins, or before")
	}
	if len(p.Series) > 40 {
		return monolith.Invalid(path+".series", "a panel has at most 40 series")
	}
	var err error
	if p.when, err = compile(path+".when", p.When, known); err != nil {
		return err
	}
	for i := range p.Series {
		s, at := &p.Series[i], fmt.Sprintf("%s.series[%d]", path, i)
		switch {
		case badLabel(s.Name) != "":
			return monolith.Invalid(at+".name", "the name of the series "+badLabel(s.Name))
		case s.Floor != nil && !finite(*s.Floor):
			return monolith.Invalid(at+".floor", "the floor is a number")
		case s.Quiet != nil && !finite(*s.Quiet):
			return monolith.Invalid(at+".quiet", "what is quiet is a number")
		case s.Top < 0 || s.Top > 100:
			return monolith.Invalid(at+".top", "so many instances can't be kept", "0 for all, or 1 to 100")
		case len(s.Expr) == 0:
			return monolith.Invalid(at+".expr", "the series has no formula")
		case s.Style != "" && !slices.Contains(styles, s.Style):
			return monolith.Invalid(at+".style", fmt.Sprintf("unknown style %q", s.Style))
		case s.Axis != "" && s.Axis != "left" && s.Axis != "right":
			return monolith.Invalid(at+".axis", fmt.Sprintf("unknown axis %q", s.Axis), "left or right")
		case len(s.States) > 0 && (s.Style != StyleStrip || len(s.States) != 3 || slices.ContainsFunc(s.States, func(w string) bool { return badLabel(w) != "" })):
			return monolith.Invalid(at+".states", "states are the three words of a strip", "such as [yes, connecting, no]")
		case s.For != "" && s.For != "mysql" && s.For != "mariadb":
			return monolith.Invalid(at+".for", fmt.Sprintf("unknown flavour %q", s.For), "mysql or mariadb")
		}
		s.exprs = nil
		for j, text := range s.Expr {
			where := at + ".expr"
			if len(s.Expr) > 1 {
				where = fmt.Sprintf("%s[%d]", where, j)
			}
			if strings.TrimSpace(text) == "" {
				return monolith.Invalid(where, "the formula is empty")
			}
			f, err := compile(where, text, known)
			if err != nil {
				return err
			}
			s.exprs = append(s.exprs, f)
		}
		if s.when, err = compile(at+".when", s.When, known); err != nil {
			return err
		}
	}
	return nil
}

// badLabel says what is wrong with a text that is shown on one line; "" is nothing.
func badLabel(s string) string {
	switch {
	case strings.TrimSpace(s) == "":
		return "is empty"
	case utf8.RuneCountInString(s) > 200:
		return "is longer than 200 characters"
	case !utf8.ValidString(s) || strings.ContainsFunc(s, monolith.Misleads):
		return "holds a control character"
	}
	return ""
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

var styles = []Style{StyleLine, StyleArea, StyleStack, StyleLimit, StyleStep, StyleBars, StyleStrip, StyleNone}

// compile parses a formula, nil for an empty one, and says in which field an error stands.
func compile(field, text string, known func(string) bool) (*formula.Formula, error) {
	if text == "" {
		return nil, nil
	}
	f, err := formula.ParseWith(text, known)
	if bad, ok := errors.AsType[*monolith.InvalidError](err); ok {
		located := *bad
		located.Field = field
		return nil, &located
	}
	return f, err
}

// Inputs gives the names of the metrics that the graph draws, each once, whichever of its formulas a server needs. The graph
// must have been validated.
func (g *Graph) Inputs() []string {
	var names []string
	for i := range g.Panels {
		for j := range g.Panels[i].Series {
			for _, f := range g.Panels[i].Series[j].exprs {
				names = inputNames(names, f)
			}
		}
	}
	return names
}

// inputNames adds the names that a formula reads to a list.
func inputNames(names []string, f *formula.Formula) []string {
	for _, in := range f.Inputs() {
		if !slices.Contains(names, in.Name) {
			names = append(names, in.Name)
		}
	}
	return names
}

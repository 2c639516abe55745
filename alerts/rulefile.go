package alerts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"monolith"
)

// ruleFile is a rule file in the words of its YAML; docs/rules.md describes each key.
type ruleFile struct {
	Quantities letList     `yaml:"quantities,omitempty"`
	Rules      []ruleEntry `yaml:"rules,omitempty"`
}

type ruleEntry struct {
	ID       string            `yaml:"id"`
	Title    string            `yaml:"title"`
	Category string            `yaml:"category"`
	Plan     []string          `yaml:"plan,omitempty"`
	About    string            `yaml:"about"`
	Each     string            `yaml:"each,omitempty"`
	Scope    string            `yaml:"scope,omitempty"`
	Rows     string            `yaml:"rows,omitempty"`
	Only     string            `yaml:"only,omitempty"`
	Name     string            `yaml:"name,omitempty"`
	Needs    needsEntry        `yaml:"needs,omitempty"`
	Window   span              `yaml:"window,omitempty"`
	Warmup   *span             `yaml:"warmup,omitempty"`
	Every    string            `yaml:"every,omitempty"`
	Let      letList           `yaml:"let,omitempty"`
	Gate     string            `yaml:"gate,omitempty"`
	When     []conditionEntry  `yaml:"when"`
	Summary  string            `yaml:"summary"`
	Says     string            `yaml:"says"`
	Remedy   *remedyEntry      `yaml:"remedy,omitempty"`
	Graph    string            `yaml:"graph,omitempty"`
	Runbook  string            `yaml:"runbook,omitempty"`
	Labels   map[string]string `yaml:"labels,omitempty"`
	Tests    []testEntry       `yaml:"tests,omitempty"`
}

type needsEntry struct {
	Flavour   []string    `yaml:"flavour,omitempty"`
	MySQL     string      `yaml:"mysql,omitempty"`
	MariaDB   string      `yaml:"mariadb,omitempty"`
	Source    string      `yaml:"source,omitempty"`
	Collector string      `yaml:"collector,omitempty"`
	If        []needEntry `yaml:"if,omitempty"`
}

type needEntry struct {
	Is   string `yaml:"is"`
	Else string `yaml:"else"`
}

type conditionEntry struct {
	If      string      `yaml:"if"`
	Limits  limitsEntry `yaml:"limits,omitempty"`
	Level   string      `yaml:"level,omitempty"`
	For     spans       `yaml:"for,omitempty"`
	Clear   *clearEntry `yaml:"clear,omitempty"`
	Title   string      `yaml:"title,omitempty"`
	Summary string      `yaml:"summary,omitempty"`
	Says    string      `yaml:"says,omitempty"`
	Value   string      `yaml:"value,omitempty"`
}

// limitsEntry is level → name → number.
type limitsEntry map[string]map[string]float64

type clearEntry struct {
	After  *span    `yaml:"after,omitempty"`
	Factor *float64 `yaml:"factor,omitempty"`
	If     string   `yaml:"if,omitempty"`
}

type remedyEntry struct {
	Text     string       `yaml:"text,omitempty"`
	Set      []setEntry   `yaml:"set,omitempty"`
	SQL      []string     `yaml:"sql,omitempty"`
	Checks   []string     `yaml:"checks,omitempty"`
	Risk     string       `yaml:"risk,omitempty"`
	Rollback string       `yaml:"rollback,omitempty"`
	Restart  formulaOrYes `yaml:"restart,omitempty"`
}

type setEntry struct {
	Variable string       `yaml:"variable"`
	To       string       `yaml:"to"`
	When     string       `yaml:"when,omitempty"`
	Dynamic  formulaOrYes `yaml:"dynamic,omitempty"`
	Why      string       `yaml:"why,omitempty"`
}

// formulaOrYes is true, false, or a formula that gives one.
type formulaOrYes string

func (f *formulaOrYes) UnmarshalYAML(node ast.Node) error {
	switch n := node.(type) {
	case *ast.BoolNode:
		*f = formulaOrYes(strconv.FormatBool(n.Value))
		return nil
	case *ast.StringNode:
		*f = formulaOrYes(n.Value)
		return nil
	}
	return at(node, "true, false or a formula is needed")
}

// letList keeps the order in which quantities are written.
type letList []letEntry

type letEntry struct {
	Name string `yaml:"-"`
	Is   string `yaml:"is"`
	Unit string `yaml:"unit,omitempty"`
	Show *bool  `yaml:"show,omitempty"` // nil: it is
}

func (l *letList) UnmarshalYAML(node ast.Node) error {
	var values []*ast.MappingValueNode
	switch n := node.(type) {
	case *ast.MappingNode:
		values = n.Values
	case *ast.MappingValueNode:
		values = []*ast.MappingValueNode{n}
	case *ast.NullNode:
		return nil
	default:
		return at(node, "a mapping of names to {is: formula, unit: …} is needed")
	}
	for _, v := range values {
		name := v.Key.GetToken().Value
		e := letEntry{Name: name}
		if s, ok := v.Value.(*ast.StringNode); ok {
			e.Is = s.Value
		} else if err := yaml.NodeToValue(v.Value, &e, yaml.Strict()); err != nil {
			return err
		}
		for _, old := range *l {
			if old.Name == name {
				return at(v.Key, fmt.Sprintf("%q is defined twice", name))
			}
		}
		*l = append(*l, e)
	}
	return nil
}

// span is a length of time: 30m, 7d, or 0.
type span time.Duration

func (s *span) UnmarshalYAML(node ast.Node) error {
	text := node.GetToken().Value
	if text == "0" || text == "0s" {
		*s = 0
		return nil
	}
	d, err := monolith.ParseDuration("", text)
	if err != nil {
		return at(node, fmt.Sprintf("%q is not a length of time; write 30s, 5m, 1h or 7d", text))
	}
	*s = span(d)
	return nil
}

// spans is one length of time, or one for each level.
type spans struct {
	all     span
	byLevel map[monolith.Level]span
	given   bool
}

func (s *spans) of(l monolith.Level) time.Duration {
	if d, ok := s.byLevel[l]; ok {
		return time.Duration(d)
	}
	return time.Duration(s.all)
}

func (s *spans) UnmarshalYAML(node ast.Node) error {
	s.given = true
	switch node.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
	default:
		return s.all.UnmarshalYAML(node)
	}
	byLevel := map[string]span{}
	if err := yaml.NodeToValue(node, &byLevel, yaml.Strict()); err != nil {
		return err
	}
	s.byLevel = map[monolith.Level]span{}
	for name, d := range byLevel {
		l, err := monolith.ParseLevel(name)
		if err != nil || l == monolith.LevelOK {
			return at(node, fmt.Sprintf("%q is not a level; write info, warn or critical", name))
		}
		s.byLevel[l] = d
	}
	return nil
}

// LoadError is a mistake in a rule file, with its place.
type LoadError struct {
	File   string
	Line   int // 1-based; 0 where it belongs to no line
	Rule   string
	Field  string // when[0].if
	Reason string
	Cure   string
}

// Error gives "file:line: rule: field: reason (cure)".
func (e *LoadError) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File + ":")
		if e.Line > 0 {
			b.WriteString(strconv.Itoa(e.Line) + ":")
		}
		b.WriteByte(' ')
	} else if e.Line > 0 {
		fmt.Fprintf(&b, "line %d: ", e.Line)
	}
	for _, part := range []string{e.Rule, e.Field} {
		if part != "" {
			b.WriteString(part + ": ")
		}
	}
	b.WriteString(e.Reason)
	if e.Cure != "" {
		b.WriteString(" (" + e.Cure + ")")
	}
	return b.String()
}

// Is makes errors.Is(err, monolith.ErrInvalid) hold.
func (e *LoadError) Is(target error) bool { return target == monolith.ErrInvalid }

// nodeError is a mistake at a place of the YAML that a decoder of ours found.
type nodeError struct {
	line   int
	reason string
}

func (e *nodeError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.reason) }

func at(node ast.Node, reason string) error {
	line := 0
	if t := node.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	return &nodeError{line, reason}
}

// maxFile is how long a rule file may be, maxDepth how deep its YAML.
const (
	maxFile  = 1 << 20
	maxDepth = 12
)

// source is a rule file as text, decoded, and with its places.
type source struct {
	name  string
	yaml  []byte
	tree  *ast.File // of yaml, once a place in it was asked for
	file  ruleFile
	own   bool   // a user's rule
	bare  bool   // without the tests that stood in it
	text  string // of a user's rule, as written
	shift int    // lines that were put before it
}

// readSource decodes a rule file strictly.
func readSource(name string, text []byte) (*source, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // editors of Windows put it in front
	s := &source{name: name, yaml: text}
	if len(text) > maxFile {
		return nil, &LoadError{File: name, Reason: "the file is longer than 1 MiB"}
	}
	if line := tooDeep(text); line > 0 {
		return nil, &LoadError{File: name, Line: line, Reason: "the YAML is nested too deeply"}
	}
	if i := bytes.IndexAny(text, "&*"); i >= 0 && hasAlias(text) {
		return nil, &LoadError{File: name, Line: 1 + bytes.Count(text[:i], []byte("\n")), Reason: "anchors and aliases are not used in rule files", Cure: "write the text out"}
	}
	dec := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	if err := dec.Decode(&s.file); err != nil && !errors.Is(err, io.EOF) {
		return nil, yamlError(name, err)
	}
	// A second document would be left out without a word.
	if err := dec.Decode(new(any)); !errors.Is(err, io.EOF) {
		return nil, &LoadError{File: name, Line: secondDocument(text), Reason: "the file holds more than one YAML document", Cure: "remove the --- and write all rules in one list"}
	}
	return s, nil
}

// secondDocument gives the line of the mark that begins the second YAML document.
func secondDocument(text []byte) int {
	line, begun := 0, false
	for l := range bytes.Lines(text) {
		line++
		mark := bytes.HasPrefix(l, []byte("---"))
		if mark && begun {
			return line
		}
		bare := bytes.TrimSpace(l)
		begun = begun || mark || len(bare) > 0 && bare[0] != '#'
	}
	return 0
}

// tooDeep gives the line at which brackets nest deeper than any rule needs: the YAML parser recurses.
func tooDeep(text []byte) int {
	depth, line := 0, 1
	for _, c := range text {
		switch c {
		case '\n':
			line++
			depth = 0 // flow collections of rules end on their line; this only bounds one line
		case '[', '{':
			if depth++; depth > 8*maxDepth {
				return line
			}
		case ']', '}':
			depth--
		}
	}
	return 0
}

// hasAlias reports whether a line holds an anchor or an alias where a value begins.
func hasAlias(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		for _, mark := range []string{": &", ": *", "- &", "- *"} {
			if i := bytes.Index(line, []byte(mark)); i >= 0 && len(line) > i+len(mark) && isWordByte(line[i+len(mark)]) {
				if !bytes.ContainsAny(line[:i], `"'`) {
					return true
				}
			}
		}
	}
	return false
}

func isWordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// yamlWord says what to write for a Go type.
func yamlWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Float64, reflect.Int:
		return "a number"
	case reflect.Slice:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "a mapping"
	case reflect.Pointer:
		return yamlWord(t.Elem())
	}
	return "a text"
}

// yamlError keeps the line of a mistake that the YAML decoder found.
func yamlError(name string, err error) error {
	e := &LoadError{File: name, Reason: err.Error()}
	var own *nodeError
	var y yaml.Error
	switch {
	case errors.As(err, &own):
		e.Line, e.Reason = own.line, own.reason
	case errors.As(err, &y):
		e.Reason = y.GetMessage()
		if t := y.GetToken(); t != nil && t.Position != nil {
			e.Line = t.Position.Line
		}
	}
	if strings.HasPrefix(e.Reason, "unknown field") {
		e.Cure = "docs/rules.md lists the keys"
	} else if misfit, ok := errors.AsType[*yaml.TypeError](err); ok { // its own words are Go's types
		word := yamlWord(misfit.DstType)
		e.Reason, e.Cure = yamlWord(misfit.SrcType)+" stands where "+word+" is needed", "write "+word
	} else if own == nil {
		e.Cure = "docs/rules.md says how a rule file is written, and has an example"
	}
	return e
}

// line gives the line of a YAML path such as "$.rules[3].when[0].if", or of the nearest place above it that exists. The
// tree is made for the first mistake: it takes as much as decoding the file, and hardly ever is there one.
func (s *source) line(path string) int {
	if s.tree == nil {
		tree, err := parser.ParseBytes(s.yaml, 0)
		if err != nil {
			return 0 // it was decoded, so there is none
		}
		s.tree = tree
	}
	for path != "" {
		if p, err := yaml.PathString(path); err == nil {
			if node, err := p.FilterFile(s.tree); err == nil && node != nil {
				if t := node.GetToken(); t != nil && t.Position != nil {
					return t.Position.Line
				}
			}
		}
		cut := strings.LastIndexAny(path, ".[")
		if cut <= 0 {
			break
		}
		path = path[:cut]
	}
	return 0
}

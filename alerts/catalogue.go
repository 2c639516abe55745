package alerts

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"monolith"
)

//go:embed rules/*.yaml testdata/vector-inputs.yaml
var ruleFiles embed.FS

// File is a rule file as text.
type File struct {
	Name string
	Text []byte
}

// Catalogue is a set of compiled rules and what they read together. It is immutable.
type Catalogue struct {
	rules  []*Rule
	byID   map[string]*Rule
	shared []*quantity // by index
	inputs []inputSpec
	base   base // that it was loaded from, without users' rules

	// names are the metrics whose plain values are read, nameOf the place of each.
	names  []string
	nameOf map[string]int
	// inputName is the place in names of each input.
	inputName []int
	kinds     []monolith.Kind // of names
	stale     []time.Duration // of names: the default distance between two readings
	rings     []ringSpec
	// ringsOf are the rings that a metric's readings go into.
	ringsOf map[string][]int
	// inputRing is the ring that an input is read from, −1: none. ownRing is that of Monolith's own part in it.
	inputRing, ownRing []int
	changes            map[string]bool
}

// BuiltinFiles gives the rule files that Monolith comes with.
func BuiltinFiles() []File {
	names, err := fs.Glob(ruleFiles, "rules/*.yaml")
	if err != nil {
		panic(fmt.Sprintf("alerts: rules: %v", err))
	}
	files := make([]File, 0, len(names))
	for _, name := range names {
		text, err := ruleFiles.ReadFile(name)
		if err != nil {
			panic(fmt.Sprintf("alerts: rules: %v", err))
		}
		files = append(files, File{name, text})
	}
	return files
}

// builtin reads the embedded files once. A mistake in them is found by the tests.
var builtin = sync.OnceValues(func() (*Catalogue, error) { return Load(BuiltinFiles()...) })

// Builtin gives the rules that Monolith comes with, and their tests.
func Builtin() (*Catalogue, error) { return builtin() }

// bare are the same rules without their tests, which are half of the text: watching servers takes neither them nor the
// tens of megabytes that reading them does.
var bare = sync.OnceValues(func() (*Catalogue, error) { return load(base{bare: true}, nil, nil) })

// base is what users' rules are added to.
type base struct {
	given []File
	bare  bool // the built-in files without their tests, made anew each time instead of being kept
}

func (b base) files() []File {
	if !b.bare {
		return b.given
	}
	files := BuiltinFiles()
	for i := range files {
		files[i].Text = withoutTests(files[i].Text)
	}
	return files
}

// Load reads rule files: all of them or none. Errors are [*LoadError], joined when there are several, each with file,
// line and cure.
func Load(files ...File) (*Catalogue, error) { return load(base{given: files}, nil, nil) }

// LoadOwn reads a rule file of a user's, with any number of rules and quantities, beside the built-in ones.
func LoadOwn(f File) (*Catalogue, error) {
	builtin, err := Builtin()
	if err != nil {
		return nil, err
	}
	s, err := readSource(f.Name, f.Text)
	if err != nil {
		return nil, err
	}
	if len(s.file.Rules) == 0 {
		return nil, &LoadError{File: f.Name, Reason: "there is no rule in it", Cure: `the file begins with "rules:", and each rule with "- id:"`}
	}
	s.own = true
	return loadSources(builtin.base, nil, []*source{s}, nil)
}

// With gives the catalogue with users' rules added. Those that are wrong are left out and given by id with their error,
// so that the others go on.
func (c *Catalogue) With(own []monolith.OwnRule, known func(name string) bool) (*Catalogue, map[string]error) {
	wrong := map[string]error{}
	if len(own) == 0 && !c.hasOwn() {
		return c, wrong
	}
	if next, err := load(c.base, own, known); err == nil {
		return next, wrong
	}
	var good []monolith.OwnRule
	for _, o := range own {
		if _, err := load(c.base, []monolith.OwnRule{o}, known); err != nil {
			wrong[o.ID] = err
			continue
		}
		good = append(good, o)
	}
	next, err := load(c.base, good, known)
	if err != nil {
		// Each is right by itself: two have one id.
		for _, o := range good {
			wrong[o.ID] = err
		}
		return c, wrong
	}
	return next, wrong
}

// hasOwn reports whether users' rules are in the catalogue already.
func (c *Catalogue) hasOwn() bool {
	return slices.ContainsFunc(c.rules, func(r *Rule) bool { return r.own })
}

// Check compiles a user's rule beside the built-in ones, without keeping it. It gives the rule and the catalogue that it
// stands in.
func (c *Catalogue) Check(source string, known func(name string) bool) (*Rule, *Catalogue, error) {
	next, err := load(c.base, []monolith.OwnRule{{Source: source}}, known)
	if err != nil {
		return nil, nil, err
	}
	return next.rules[len(next.rules)-1], next, nil
}

// uniqueIDs is the cure for two rules of one id.
const uniqueIDs = "ids are unique"

// ownFile is the file name in errors about users' rules.
const ownFile = "rule"

func load(from base, own []monolith.OwnRule, known func(string) bool) (*Catalogue, error) {
	return loadSources(from, own, nil, known)
}

func loadSources(from base, own []monolith.OwnRule, more []*source, known func(string) bool) (*Catalogue, error) {
	cat := &Catalogue{byID: map[string]*Rule{}, base: from}
	comp := &compiler{inputID: map[inputSpec]int{}, shared: map[string]*quantity{}, known: known}
	var errs []error
	var sources []*source
	for _, f := range from.files() {
		s, err := readSource(f.Name, f.Text)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s.bare = from.bare
		sources = append(sources, s)
	}
	for _, o := range own {
		s, err := readOwn(o)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		sources = append(sources, s)
	}
	sources = append(sources, more...)
	errs = append(errs, comp.quantities(sources, cat)...)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	for _, s := range sources {
		for i := range s.file.Rules {
			e := &s.file.Rules[i]
			fail := failAt(s, e.ID, fmt.Sprintf("$.rules[%d]", i))
			r, err := comp.rule(e, s.own, fail)
			if err == nil && cat.byID[e.ID] != nil {
				err = fail("id", monolith.Invalid("", fmt.Sprintf("%q is the id of another rule, in %s", e.ID, cat.byID[e.ID].file), uniqueIDs))
			}
			if err == nil {
				err = checkTests(r, s.own || s.bare, fail)
			}
			if err != nil {
				errs = append(errs, err)
				continue
			}
			r.index, r.file = len(cat.rules), s.name
			r.info.Source, r.plain = s.text, plainEffective(r)
			cat.rules = append(cat.rules, r)
			cat.byID[e.ID] = r
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	cat.inputs = comp.inputs
	cat.plan()
	return cat, nil
}

// readOwn reads a user's rule: one entry of a file, or a file with one rule.
func readOwn(o monolith.OwnRule) (*source, error) {
	text := strings.TrimRight(o.Source, " \t\n")
	lines := 0
	if !strings.HasPrefix(strings.TrimSpace(text), "rules:") {
		first := true // the next line with something on it is the first of the entry
		listed := strings.HasPrefix(strings.TrimSpace(text), "- ")
		var b strings.Builder
		b.WriteString("rules:\n")
		for line := range strings.SplitSeq(text, "\n") {
			bare := strings.TrimSpace(line)
			switch {
			case listed || bare == "" || strings.HasPrefix(bare, "#") && first:
				b.WriteString(line)
			case first:
				b.WriteString("- " + line)
				first = false
			default:
				b.WriteString("  " + line)
			}
			b.WriteByte('\n')
		}
		text, lines = b.String(), 1
	}
	s, err := readSource(ownFile, []byte(text))
	var bad *LoadError
	if errors.As(err, &bad) {
		bad.Line = max(0, bad.Line-lines)
		return nil, bad
	}
	if err != nil {
		return nil, err
	}
	s.own, s.shift, s.text = true, lines, o.Source
	if len(s.file.Rules) != 1 || len(s.file.Quantities) > 0 {
		return nil, &LoadError{File: ownFile, Reason: fmt.Sprintf("there are %d rules and %d quantities", len(s.file.Rules), len(s.file.Quantities)), Cure: "one rule"}
	}
	return s, nil
}

// failAt gives what turns an error at a path below a place of a file into a LoadError.
func failAt(s *source, rule, root string) func(path string, err error) error {
	return func(path string, err error) error {
		at := root
		if path != "" {
			at += "." + path
		}
		e := &LoadError{File: s.name, Line: max(0, s.line(at)-s.shift), Rule: rule, Field: path, Reason: err.Error()}
		var inv *monolith.InvalidError
		if errors.As(err, &inv) {
			e.Reason, e.Cure = inv.Reason, inv.Cure
			if inv.Column > 0 {
				e.Reason = fmt.Sprintf("column %d: %s", inv.Column, inv.Reason)
			}
		}
		return e
	}
}

// quantities compiles the shared quantities of all files, in the order of what they name.
func (c *compiler) quantities(sources []*source, cat *Catalogue) (errs []error) {
	var all letList
	from := map[string]*source{}
	for _, s := range sources {
		for _, l := range s.file.Quantities {
			if other, twice := from[l.Name]; twice {
				errs = append(errs, failAt(s, "", "$.quantities")(l.Name, monolith.Invalid("", fmt.Sprintf("%q is defined in %s too", l.Name, other.name))))
				continue
			}
			from[l.Name] = s
			all = append(all, l)
		}
	}
	if len(errs) > 0 {
		return errs
	}
	sc := c.baseScope(0)
	ordered := inOrder(all)
	fail := func(path string, err error) error {
		name := strings.TrimPrefix(strings.SplitN(strings.TrimPrefix(path, "."), ".", 2)[0], "quantities.")
		return failAt(from[name], "", "$.quantities")(strings.TrimPrefix(path, "."), err)
	}
	list, err := c.compileLets(ordered, sc, true, fail, "")
	if err != nil {
		return []error{err}
	}
	cat.shared = list
	return nil
}

// inOrder sorts quantities so that each stands behind those that it names, as far as there is no cycle.
func inOrder(all letList) letList {
	byName := map[string]letEntry{}
	for _, l := range all {
		byName[l.Name] = l
	}
	var out letList
	state := map[string]int{}
	var visit func(name string)
	visit = func(name string) {
		if state[name] > 0 {
			return
		}
		state[name] = 1
		for _, t := range tokens(byName[name].Is) {
			if _, ok := byName[t]; ok && t != name {
				visit(t)
			}
		}
		out = append(out, byName[name])
	}
	for _, l := range all {
		visit(l.Name)
	}
	return out
}

// plan settles where each input comes from.
func (c *Catalogue) plan() {
	c.nameOf, c.ringsOf, c.changes = map[string]int{}, map[string][]int{}, map[string]bool{}
	name := func(n string) int {
		if i, ok := c.nameOf[n]; ok {
			return i
		}
		i := len(c.names)
		c.names = append(c.names, n)
		c.nameOf[n] = i
		c.kinds = append(c.kinds, monolith.KindOf(n))
		c.stale = append(c.stale, monolith.DefaultInterval(monolith.ScheduleOf(n)))
		return i
	}
	for _, f := range []string{"status.Uptime", "server.up", "server.polled"} {
		name(f)
	}
	for _, n := range factInputs {
		name(n)
	}
	c.inputRing, c.ownRing = make([]int, len(c.inputs)), make([]int, len(c.inputs))
	for i, s := range c.inputs {
		c.inputName = append(c.inputName, name(s.Name))
		c.inputRing[i], c.ownRing[i] = -1, -1
		if s.Func == "" || s.long() {
			continue
		}
		switch s.Func {
		case "changed":
			c.changes[s.Name] = true
		case "rate", "delta":
			c.inputRing[i] = c.ring(s.Name, aggIncrease, s.Window)
			// What our own statements added is taken off.
			if own, ok := strings.CutPrefix(s.Name, "status."); ok && monolith.KindOf(s.Name).Accumulates() {
				c.ownRing[i] = c.ring("self."+own, aggIncrease, s.Window)
			}
		case "min_over":
			c.inputRing[i] = c.ring(s.Name, aggMin, s.Window)
		case "max_over":
			c.inputRing[i] = c.ring(s.Name, aggMax, s.Window)
		default:
			c.inputRing[i] = c.ring(s.Name, aggMean, s.Window)
		}
	}
}

// ring gives the ring for a window, made longer where need be.
func (c *Catalogue) ring(name string, agg aggregate, window time.Duration) int {
	bucket := bucketFor(window)
	length := int((window+bucket-1)/bucket) + 2
	for _, i := range c.ringsOf[name] {
		if c.rings[i].agg == agg && c.rings[i].bucket == bucket {
			c.rings[i].length = max(c.rings[i].length, length)
			return i
		}
	}
	c.rings = append(c.rings, ringSpec{name, agg, bucket, length})
	c.ringsOf[name] = append(c.ringsOf[name], len(c.rings)-1)
	return len(c.rings) - 1
}

// Rules gives all rules, in the order of their files. The slice is the caller's.
func (c *Catalogue) Rules() []*Rule { return slices.Clone(c.rules) }

// Rule gives a rule by its id, or nil.
func (c *Catalogue) Rule(id string) *Rule { return c.byID[id] }

// LongInputs gives what rules read over longer windows than memory holds, each as a formula: the host program reads
// them with [ReadLong] and hands the values in with [Engine.SetLong].
func (c *Catalogue) LongInputs() []string {
	var out []string
	for _, s := range c.longInputs() {
		out = append(out, s.String())
	}
	return out
}

func (c *Catalogue) longInputs() []inputSpec {
	var out []inputSpec
	for _, s := range c.inputs {
		if s.long() {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b inputSpec) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(out)
}

// factInputs are the metrics that facts read.
var factInputs = [...]string{
	"variable.read_only", "variable.super_read_only", "variable.innodb_read_only", "variable.offline_mode",
	"variable.group_replication_group_name", "replica.connected_replicas", "status.Slaves_connected", "server.processes_dump",
}

package alerts

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"monolith"
	"monolith/formula"
)

// compiler turns entries of rule files into rules. It collects what they read, for all rules together.
type compiler struct {
	inputs  []inputSpec
	inputID map[inputSpec]int
	shared  map[string]*quantity
	known   func(name string) bool
}

// scopeOf is what the formulas of one rule may name.
type scopeOf struct {
	formula.Scope
	lets   map[string]*quantity
	limits map[string]int
	rule   *Rule
	window time.Duration
}

func (c *compiler) input(s inputSpec) int {
	if id, ok := c.inputID[s]; ok {
		return id
	}
	id := len(c.inputs)
	c.inputs = append(c.inputs, s)
	c.inputID[s] = id
	return id
}

// hasTag is the one function that the formula language does not have: see tagLocal.
var hasTagCall = regexp.MustCompile(`has_tag\("([^"\\]*)"\)`)

// expr compiles a formula in a scope.
func (c *compiler) expr(text string, sc *scopeOf) (*expr, error) {
	scope := sc.Scope
	tags := map[string]string{}
	text = hasTagCall.ReplaceAllStringFunc(text, func(call string) string {
		tag := tagName(hasTagCall.FindStringSubmatch(call)[1])
		tags[tagLocal+tag] = tag
		return tagLocal + tag
	})
	if len(tags) > 0 {
		scope.Locals = maps.Clone(scope.Locals)
		for name := range tags {
			scope.Locals[name] = formula.TypeBool
		}
	}
	f, err := formula.ParseScope(text, &scope)
	if err != nil {
		return nil, err
	}
	e := &expr{f: f}
	for _, in := range f.Inputs() {
		s := inputSpec{Name: in.Name, Func: in.Func, Window: in.Window, Ago: in.Ago, Ahead: in.Ahead}
		if s.Func != "" && s.Window == 0 && !s.usual() {
			if s.Window = sc.window; s.Window == 0 {
				return nil, monolith.Invalid("", fmt.Sprintf("%s(%s) has no window", s.Func, s.Name),
					`give the rule a window, or write `+s.Func+`(`+s.Name+`, "15m")`)
			}
		}
		e.inputs = append(e.inputs, c.input(s))
	}
	for _, name := range f.Locals() {
		ref, ok := c.local(name, sc, tags)
		if !ok {
			return nil, monolith.Invalid("", name+" is not known here")
		}
		e.locals = append(e.locals, ref)
	}
	for _, name := range f.RowSets() {
		e.sets = append(e.sets, rowSetIndex(name))
	}
	return e, nil
}

func (c *compiler) local(name string, sc *scopeOf, tags map[string]string) (localRef, bool) {
	if q, ok := sc.lets[name]; ok {
		return localRef{kind: localLet, index: q.index}, true
	}
	if q, ok := c.shared[name]; ok {
		return localRef{kind: localShared, index: q.index}, true
	}
	if i, ok := sc.limits[name]; ok {
		return localRef{kind: localLimit, index: i}, true
	}
	if tag, ok := tags[name]; ok {
		return localRef{kind: localTag, tag: tag}, true
	}
	if name == "window" {
		return localRef{kind: localWindow}, true
	}
	if i := factIndex(name); i >= 0 {
		return localRef{kind: localFact, index: i}, true
	}
	return localRef{}, false
}

// baseScope holds what every formula may name: facts, row sets, shared quantities so far.
func (c *compiler) baseScope(window time.Duration) *scopeOf {
	sc := &scopeOf{lets: map[string]*quantity{}, limits: map[string]int{}, window: window}
	sc.Known = c.known
	sc.Locals = map[string]formula.Type{}
	sc.Rows = map[string]map[string]formula.Type{}
	for _, f := range facts() {
		sc.Locals[f.name] = f.kind
	}
	for _, s := range rowSets() {
		sc.Rows[s.name] = s.schema
	}
	for name, q := range c.shared {
		sc.Locals[name] = q.expr.f.Type()
	}
	return sc
}

// measures are the units that mean one thing only. Where a formula is known to give one of them, the declared unit can't
// be another one. Everything else is a word for what is counted.
func isMeasure(unit string) bool {
	switch unit {
	case "bytes", "bytes/s", "%", "s", "ms", "µs", "ns", "1/s", "days", "h":
		return true
	}
	return false
}

// checkUnit refuses a unit that the formula can't have.
func checkUnit(declared string, f *formula.Formula) error {
	if found := f.Unit(); found != declared && isMeasure(found) && isMeasure(declared) {
		return monolith.Invalid("", fmt.Sprintf("the unit is %s, but the formula gives %s", declared, found), "unit: "+quoted(found))
	}
	return nil
}

// plainName is the form of the names of quantities and limits.
var plainName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func reservedName(name string) bool {
	switch name {
	case "it", "limit", "window", "and", "or", "not", "in", "true", "false", "nil", "matches", "contains", "startsWith", "endsWith", "let", "if", "else":
		return true
	}
	return false
}

// compileLets compiles quantities, which may name earlier ones only: so there are no cycles, and one that is written is
// named as such.
func (c *compiler) compileLets(list letList, sc *scopeOf, shared bool, fail func(path string, err error) error, path string) ([]*quantity, error) {
	var out []*quantity
	later := map[string]bool{}
	for _, l := range list {
		later[l.Name] = true
	}
	for i, l := range list {
		at := path + "." + l.Name
		if !plainName.MatchString(l.Name) || reservedName(l.Name) {
			return nil, fail(at, monolith.Invalid("", quoted(l.Name)+" can't be the name of a quantity", "lower-case letters, digits and _"))
		}
		if strings.TrimSpace(l.Is) == "" {
			return nil, fail(at, monolith.Invalid("", "the quantity has no formula", "is: …"))
		}
		if _, taken := sc.lets[l.Name]; taken {
			return nil, fail(at, monolith.Invalid("", quoted(l.Name)+" is defined twice"))
		}
		e, err := c.expr(l.Is, sc)
		if err != nil {
			if name := namesLater(l.Is, later, list[i:]); name != "" {
				return nil, fail(at+".is", c.cycleOrLater(list, l.Name, name))
			}
			return nil, fail(at+".is", err)
		}
		if err := checkUnit(l.Unit, e.f); err != nil {
			return nil, fail(at+".unit", err)
		}
		q := &quantity{name: l.Name, unit: l.Unit, expr: e, shared: shared, index: i, perRow: c.perRow(e, sc), hidden: l.Show != nil && !*l.Show}
		if q.unit == "" {
			q.unit = e.f.Unit()
		}
		out = append(out, q)
		if shared {
			c.shared[l.Name] = q
		} else {
			sc.lets[l.Name] = q
		}
		sc.Locals[l.Name] = e.f.Type()
	}
	return out, nil
}

// namesLater gives the first quantity that a formula names and that is defined with or after it.
func namesLater(text string, defined map[string]bool, rest letList) string {
	for _, t := range tokens(text) {
		if defined[t] && slices.ContainsFunc(rest, func(l letEntry) bool { return l.Name == t }) {
			return t
		}
	}
	return ""
}

func (c *compiler) cycleOrLater(list letList, from, to string) error {
	text := map[string]string{}
	for _, l := range list {
		text[l.Name] = l.Is
	}
	// Follow what the later one names: does it come back?
	seen := map[string]bool{}
	var reaches func(name string) bool
	reaches = func(name string) bool {
		if name == from {
			return true
		}
		if seen[name] {
			return false
		}
		seen[name] = true
		for _, t := range tokens(text[name]) {
			if _, ok := text[t]; ok && reaches(t) {
				return true
			}
		}
		return false
	}
	if reaches(to) {
		return monolith.Invalid("", fmt.Sprintf("%s and %s are defined by each other: a cycle", from, to), "define one of them without the other")
	}
	return monolith.Invalid("", fmt.Sprintf("%s is defined after %s, which names it", to, from), "write it before")
}

// perRow reports whether an expression depends on the row or instance at hand.
func (c *compiler) perRow(e *expr, sc *scopeOf) bool {
	if e.f.UsesIt() {
		return true
	}
	for _, l := range e.locals {
		if l.kind == localLet {
			for _, q := range sc.lets {
				if q.index == l.index && q.perRow {
					return true
				}
			}
		}
	}
	return false
}

// template compiles a text with formulas in it.
func (c *compiler) template(text string, sc *scopeOf) (*template, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, nil
	}
	pieces, columns, ok := splitTemplate(text)
	if !ok {
		return nil, &monolith.InvalidError{Column: columns[0] + 1, Reason: "a brace is not closed or not opened", Cure: "write {{ and }} for braces themselves"}
	}
	t := &template{}
	for i, p := range pieces {
		if i%2 == 0 {
			if p != "" {
				t.parts = append(t.parts, part{text: p})
			}
			continue
		}
		e, err := c.expr(p, sc)
		if err != nil {
			var inv *monolith.InvalidError
			if errors.As(err, &inv) {
				moved := *inv
				moved.Column = columns[i/2] + max(inv.Column, 1)
				return nil, &moved
			}
			return nil, err
		}
		t.parts = append(t.parts, part{expr: e, unit: c.unitOf(strings.TrimSpace(p), e, sc)})
	}
	if len(t.parts) == 0 {
		t.parts = []part{{}}
	}
	return t, nil
}

// unitOf gives the unit of what a text shows: that of the quantity when it is one, or of the limit's quantity.
func (c *compiler) unitOf(text string, e *expr, sc *scopeOf) string {
	if q, ok := sc.lets[text]; ok {
		return q.unit
	}
	if q, ok := c.shared[text]; ok {
		return q.unit
	}
	if i, ok := sc.limits[text]; ok {
		return sc.rule.limitUnits[i]
	}
	switch text {
	case "server.uptime", "server.down_for", "server.previous_uptime", "server.unread_for", "server.incomplete_for":
		return "s"
	case "server.support_days":
		return "days"
	}
	if text == "server.ram" {
		return "bytes"
	}
	if isNumberOf(text) {
		return unitID
	}
	if u := e.f.Unit(); u != "" {
		return u
	}
	// A sum or difference of quantities of one unit has that unit.
	return c.commonUnit(text, sc)
}

// unitID marks numbers that count nothing: ports, error numbers, threads.
const unitID = "#"

// isNumberOf reports whether a name is that of a number which names something.
func isNumberOf(name string) bool {
	for _, end := range []string{"errno", "port", "_code", ".thread", ".id", "_id", "_position", "log_pos", ".error_end"} {
		if strings.HasSuffix(name, end) && plainPath.MatchString(name) {
			return true
		}
	}
	return false
}

var plainPath = regexp.MustCompile(`^[A-Za-z_.]+$`)

func (c *compiler) commonUnit(text string, sc *scopeOf) string {
	unit, found := "", false
	for _, t := range tokens(text) {
		switch t {
		case "+", "-", "(", ")", ",", "greatest", "least":
			continue
		}
		q, ok := sc.lets[t]
		if !ok {
			if q, ok = c.shared[t]; !ok {
				return ""
			}
		}
		if found && q.unit != unit {
			return ""
		}
		unit, found = q.unit, true
	}
	return unit
}

// need checks that a formula gives true or false, as far as that is known.
func (c *compiler) truth(text string, sc *scopeOf) (*expr, error) {
	e, err := c.expr(text, sc)
	if err != nil {
		return nil, err
	}
	if t := e.f.Type(); t != formula.TypeBool {
		return nil, monolith.Invalid("", "true or false is needed, this gives "+t.String(), "write a comparison")
	}
	return e, nil
}

// judged gives what must have a value for the rule to be judged: inputs of conditions, gate and needs, through the
// quantities that they name.
func (c *compiler) reads(r *Rule, sc *scopeOf, exprs []*expr, into map[int]bool, sets map[int]bool) {
	for _, e := range exprs {
		if e == nil {
			continue
		}
		for _, id := range e.inputs {
			into[id] = true
		}
		for _, s := range e.sets {
			sets[s] = true
		}
		for _, l := range e.locals {
			switch l.kind {
			case localLet:
				c.reads(r, sc, []*expr{r.lets[l.index].expr}, into, sets)
			case localShared:
				for _, q := range c.shared {
					if q.index == l.index {
						c.reads(r, sc, []*expr{q.expr}, into, sets)
					}
				}
			}
		}
	}
}

// limitsOf sorts the limits of a condition into levels.
func (r *Rule) limitsOf(entry *conditionEntry, c *condition) error {
	for _, level := range monolith.Levels {
		given, ok := entry.Limits[level.String()]
		if !ok {
			continue
		}
		values := slices.Repeat([]float64{math.NaN()}, len(r.limits))
		for name, v := range given {
			values[slices.Index(r.limits, "limit."+name)] = finiteOr(v, math.NaN())
		}
		for _, i := range c.used {
			if math.IsNaN(values[i]) {
				return monolith.Invalid("", fmt.Sprintf("the level %s has no %s", level, r.limits[i]), "give each level all limits that the condition names")
			}
		}
		c.levels = append(c.levels, conditionLevel{level: level, values: values})
	}
	return checkSides(r, c, func(k, i int) float64 { return c.levels[k].values[i] })
}

// checkSides refuses limits that make a milder level stricter than a graver one.
func checkSides(r *Rule, c *condition, value func(level, limit int) float64) error {
	for k := 1; k < len(c.levels); k++ {
		for _, i := range c.used {
			mild, grave := value(k-1, i), value(k, i)
			name := strings.TrimPrefix(r.limits[i], "limit.")
			switch d := c.clear.direction[i]; {
			case d > 0 && mild > grave:
				return monolith.Invalid("", fmt.Sprintf("%s: %s for %s is above %s for %s", name, formatNumber(mild, ""), c.levels[k-1].level,
					formatNumber(grave, ""), c.levels[k].level), "the graver the level, the higher this limit")
			case d < 0 && mild < grave:
				return monolith.Invalid("", fmt.Sprintf("%s: %s for %s is below %s for %s", name, formatNumber(mild, ""), c.levels[k-1].level,
					formatNumber(grave, ""), c.levels[k].level), "the graver the level, the lower this limit")
			}
		}
	}
	return nil
}

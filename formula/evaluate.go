package formula

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"monolith"
)

// lack says why a formula has no value at all.
type lack struct {
	why    string
	absent bool // because the server does not have an input by design
}

// inputs is where an evaluation finds its columns.
type inputs interface {
	// find gives the series of a slot's name, one an instance, and the grid that they lie on.
	find(s *slot) ([]*monolith.Series, *grid)
	// isAbsent reports whether the server does not have the name by design.
	isAbsent(name string) bool
	// steps is the length of the result.
	steps() int
	// period names the time looked at, for reasons: "in this range".
	period() string
}

// bound is a unit with its inputs found: what is left is to evaluate it for each instance.
type bound struct {
	unit      *unit
	n         int
	absent    []bool               // by index of unit.elses: the left side is absent, the right one counts
	needed    []bool               // by index of unit.slots: the slot stands in a part that counts
	columns   []map[string]*column // by index of unit.slots, by instance; nil where not needed
	instances []string             // sorted; {""} when there are none
	plural    bool                 // the inputs have instances
}

// bind finds the inputs of a unit. A lack means that the formula is not evaluated at all.
func (u *unit) bind(in inputs) (*bound, *lack) {
	b := &bound{unit: u, n: in.steps(), absent: make([]bool, len(u.elses)), needed: make([]bool, len(u.slots)),
		columns: make([]map[string]*column, len(u.slots))}
	for i, n := range u.elses {
		b.absent[i] = u.isAbsent(n.args[0], in)
	}
	u.walkNeeded(u.root, b.absent, func(n *node) {
		if n.op == opSlot {
			b.needed[n.index] = true
		}
	})
	for i, s := range u.slots {
		if !b.needed[i] {
			continue
		}
		columns, missing := s.columns(in)
		if missing != nil {
			return nil, missing
		}
		b.columns[i] = columns
	}
	return b, b.pair()
}

// walkNeeded visits the nodes that count: of every ?? only the side that was chosen.
func (u *unit) walkNeeded(n *node, absent []bool, visit func(*node)) {
	u.walk(n, func(n *node) bool {
		visit(n)
		if n.op != opElse {
			return true
		}
		side := n.args[0]
		if absent[n.index] {
			side = n.args[1]
		}
		u.walkNeeded(side, absent, visit)
		return false
	})
}

// isAbsent reports whether the node needs a name that the server does not have by design.
func (u *unit) isAbsent(n *node, in inputs) bool {
	switch n.op {
	case opSlot:
		found := false
		u.slots[n.index].names(func(name string) { found = found || in.isAbsent(name) })
		return found
	case opElse:
		return u.isAbsent(n.args[0], in) && u.isAbsent(n.args[1], in)
	}
	return slices.ContainsFunc(n.args, func(a *node) bool { return u.isAbsent(a, in) })
}

// columns works a slot out for each of its instances.
func (s *slot) columns(in inputs) (map[string]*column, *lack) {
	if s.group != nil {
		return s.group.columns(in)
	}
	series, g := in.find(s)
	if len(series) == 0 {
		if in.isAbsent(s.name) {
			return nil, &lack{why: "this server does not have " + s.name, absent: true}
		}
		return nil, &lack{why: "there is no reading for " + s.label() + " " + in.period()}
	}
	out := make(map[string]*column, len(series))
	for _, one := range series {
		out[one.Metric.Instance] = g.column(s, one)
	}
	for _, c := range out {
		if c.why == "" {
			return out, nil
		}
	}
	for _, c := range out {
		return nil, &lack{why: c.why}
	}
	return out, nil
}

// pair settles the instances: those that every input with instances has.
func (b *bound) pair() *lack {
	var common map[string]bool
	var names []string
	for i, columns := range b.columns {
		if columns == nil || single(columns) {
			continue
		}
		b.plural = true
		names = append(names, b.unit.slots[i].label())
		if common == nil {
			common = make(map[string]bool, len(columns))
			for inst := range columns {
				common[inst] = true
			}
			continue
		}
		maps.DeleteFunc(common, func(inst string, _ bool) bool { return columns[inst] == nil })
	}
	if !b.plural {
		b.instances = []string{""}
		return nil
	}
	if len(common) == 0 {
		return &lack{why: fmt.Sprintf("%s and %s have no instance in common", names[0], names[len(names)-1])}
	}
	b.instances = slices.Sorted(maps.Keys(common))
	return nil
}

// single reports whether a slot has one value for all instances.
func single(columns map[string]*column) bool {
	_, ok := columns[""]
	return ok && len(columns) == 1
}

// of gives the columns of one instance, by slot; nil where a slot is not needed.
func (b *bound) of(instance string) []*column {
	out := make([]*column, len(b.columns))
	for i, columns := range b.columns {
		switch {
		case columns == nil:
		case single(columns):
			out[i] = columns[""]
		default:
			out[i] = columns[instance]
		}
	}
	return out
}

// numbers evaluates the unit at every step as a number; true is 1. Where nothing has a value why says the
// reason.
func (b *bound) numbers(slots []*column) (v []float64, why string) {
	if b.unit.columns && !slices.ContainsFunc(slots, func(c *column) bool { return c != nil && c.text != nil }) {
		return b.vector(slots)
	}
	return b.scalar(slots)
}

// vector evaluates over columns.
func (b *bound) vector(slots []*column) ([]float64, string) {
	c := columns{n: b.n, slots: slots, absent: b.absent}
	r := c.eval(b.unit.root)
	out := r.v
	switch {
	case out == nil:
		out = slices.Repeat([]float64{r.all}, b.n)
	case b.plural && (b.unit.root.op == opSlot || b.unit.root.op == opElse):
		out = slices.Clone(out) // the column may serve other lines too
	}
	if b.unit.lazy {
		for _, col := range slots {
			if col == nil {
				continue
			}
			for i, v := range col.num {
				if v != v {
					out[i] = math.NaN()
				}
			}
		}
	}
	return out, b.whyEmpty(out, slots, "")
}

// scalar runs the program step by step; where the inputs are those of the step before, so is the result.
func (b *bound) scalar(slots []*column) ([]float64, string) {
	out := make([]float64, b.n)
	now, before := make([]any, len(slots)), make([]any, len(slots))
	var run runner
	why, ran := "", false
	for i := range out {
		if !fill(now, slots, i) {
			out[i], ran = math.NaN(), false
			continue
		}
		if ran && slices.Equal(now, before) {
			out[i] = out[i-1]
			continue
		}
		var reason string
		if out[i], reason = asResult(run.run(b.unit, now, b.absent)); reason != "" {
			why = reason
		}
		copy(before, now)
		ran = true
	}
	return out, b.whyEmpty(out, slots, why)
}

// fill puts the inputs of step i in; false when one has no value.
func fill(values []any, slots []*column, i int) bool {
	for k, c := range slots {
		if c == nil {
			continue
		}
		if values[k] = c.any(i); values[k] == nil {
			return false
		}
	}
	return true
}

// asResult gives a program's result as a number, or NaN and why it is none.
func asResult(v any, err error) (float64, string) {
	if err != nil {
		return math.NaN(), err.Error()
	}
	switch v := v.(type) {
	case float64:
		return v, ""
	case bool:
		if v {
			return 1, ""
		}
		return 0, ""
	}
	text, _ := v.(string)
	return math.NaN(), "the result is the text " + quote(text)
}

// whyEmpty gives the reason why no step has a value; "" when one has. why is what the program said, if
// it ran.
func (b *bound) whyEmpty(v []float64, slots []*column, why string) string {
	for _, x := range v {
		if x == x {
			return ""
		}
	}
	for i, c := range slots {
		if c == nil {
			continue
		}
		if c.why != "" {
			return c.why
		}
		if c.empty() {
			return b.unit.slots[i].label() + " has no value: a gap, or too few readings"
		}
	}
	if why == "" {
		why = "the inputs never have values at the same time, or the result is no number (x/0)"
	}
	return why
}

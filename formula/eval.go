package formula

import "strings"

// Env feeds one evaluation. The indices count in the lists of the formula: [Formula.Inputs], [Formula.Locals] and
// [Formula.RowSets]. Each thing is asked for once in an evaluation. What an answer without a value says should name what
// is missing: people read it.
type Env interface {
	// Input gives the reading, or what a window function makes of its window. It is not called for inputs with Each set.
	Input(f *Formula, i int) Scalar
	// Instances gives an input of all its instances, for one with Each set: it stands in sum(…) or its like. A name without
	// instances gives one whose name is "". The Scalar counts when it has a lack, else it is any value.
	Instances(f *Formula, i int) ([]Instance, Scalar)
	// Local gives a let, a limit or a fact.
	Local(f *Formula, i int) Scalar
	// RowSet gives the rows of a set. The Scalar counts when it has a lack, which says why they are not there, else it is
	// any value.
	RowSet(f *Formula, i int) ([]Row, Scalar)
	// It gives the row that the rule is about. Where it is nil every field of it is [LackFailed].
	It() Row
}

// Row is one row of a set.
type Row interface {
	// Field gives a field by its place among the scope's fields of the set (or of it) in the order of [Fields].
	Field(i int) Scalar
}

// Instance is an input's value of one instance.
type Instance struct {
	Name  string // "sda"
	Value Scalar
}

// maxWork bounds an evaluation: so many nodes are evaluated for rows and instances, a long text counting for several.
const maxWork = 1 << 20

// Eval evaluates the formula. It allocates nothing where there are up to 16 names, one of them a row set, and no instances,
// no text is made and nothing is missing.
//
// If anything that the formula names is [LackFailed], so is the result, whether or not the result would have depended on
// it; only the side that a ?? did not choose does not count. The other lacks count where evaluation comes to them: not
// behind an and, an or or a ? : that was decided before. Of two the graver one is told. x ?? y is y where x as a whole is
// [LackAbsent], else x. A division by zero is [LackNull]; a text where a number is needed is [LackFailed].
//
// any, all and none follow the rows that decide; where none does, a row whose condition has no value is the result's
// lack. count needs the condition of every row. sum, avg_of, min_of and max_of leave out rows that are NULL, as SQL does;
// without any other they are NULL, except that the sum of no rows is 0.
func (f *Formula) Eval(env Env) Scalar {
	e := evaluation{f: f, unit: f.unit, env: env, work: maxWork}
	if failed := e.load(); failed {
		if v := e.failed(f.unit.root); v.Lack() == LackFailed {
			return v
		}
	}
	return e.eval(f.unit.root)
}

// evaluation is one evaluation of a unit. What it reads lies in the struct itself, which so stays on the stack.
type evaluation struct {
	f    *Formula
	unit *unit
	env  Env
	row  Row // the one at hand, inside a function over rows
	work int // what is left of maxWork

	// The values by the formula's locals, then by its fields of it, then by the unit's slots.
	few    [16]Scalar
	values []Scalar // nil: few
	set    rowList  // of the formula's only row set
	sets   []rowList
	itAt   int
	slotAt int
}

// rowList is a row set, or why it is not there.
type rowList struct {
	rows []Row
	lack Scalar
}

func (e *evaluation) value(i int) Scalar {
	if e.values != nil {
		return e.values[i]
	}
	return e.few[i]
}

func (e *evaluation) put(i int, v Scalar) {
	if e.values != nil {
		e.values[i] = v
		return
	}
	e.few[i] = v
}

func (e *evaluation) rows(set int) *rowList {
	if e.sets != nil {
		return &e.sets[set]
	}
	return &e.set
}

// room makes place for the values that the unit's evaluation needs.
func (e *evaluation) room() {
	e.itAt = len(e.f.names.locals)
	e.slotAt = e.itAt + len(e.f.names.it)
	if n := e.slotAt + len(e.unit.slots); n > len(e.few) {
		e.values = make([]Scalar, n)
	}
}

// load reads everything that the formula names. It reports whether anything failed.
func (e *evaluation) load() (failed bool) {
	e.room()
	names := &e.f.names
	for i, k := range names.kinds {
		v := fit(k, e.env.Local(e.f, i), names.locals[i])
		e.put(i, v)
		failed = failed || v.Lack() == LackFailed
	}
	if len(names.it) > 0 {
		row := e.env.It()
		for i := range names.it {
			v := Nothing(LackFailed, "there is no row for it")
			if row != nil {
				v = fit(names.it[i].kind, row.Field(names.it[i].field), names.it[i].name)
			}
			e.put(e.itAt+i, v)
			failed = failed || v.Lack() == LackFailed
		}
	}
	if len(names.sets) > 0 {
		if len(names.sets) > 1 {
			e.sets = make([]rowList, len(names.sets))
		}
		for i := range names.sets {
			s := e.rows(i)
			s.rows, s.lack = e.env.RowSet(e.f, i)
			failed = failed || s.lack.Lack() == LackFailed
		}
		failed = e.failedField(e.unit.rows) || failed
	}
	// Last: what stands inside sum(…) may name locals and rows too.
	for i, s := range e.unit.slots {
		var v Scalar
		if s.group != nil {
			v = e.group(s.group)
		} else {
			v = fit(slotKind(s), e.env.Input(e.f, s.input), s.name)
		}
		e.put(e.slotAt+i, v)
		failed = failed || v.Lack() == LackFailed
	}
	return failed
}

// failedField reports whether a field that functions over rows name failed in any row.
func (e *evaluation) failedField(uses []*rowUse) bool {
	for _, use := range uses {
		if len(use.fields) == 0 {
			continue
		}
		rows := e.rows(use.set).rows
		if !e.spend(len(rows) * len(use.fields)) {
			return true // failed finds out the same
		}
		for _, row := range rows {
			if row == nil {
				return true
			}
			for _, field := range use.fields {
				if row.Field(field).Lack() == LackFailed {
					return true
				}
			}
		}
	}
	return false
}

// fit holds a value to what its name was declared as, where a wrong one would be taken for another.
func fit(k kind, v Scalar, name string) Scalar {
	if v.form == TypeAny || (v.form == TypeBool) == (k == kindBool) {
		return v
	}
	if k == kindBool {
		return Nothing(LackFailed, name+" is neither true nor false")
	}
	return Nothing(LackFailed, name+" is true or false, a value is needed")
}

// spend takes n from the work that is left; false when there is none.
func (e *evaluation) spend(n int) bool {
	e.work -= min(max(n, 0), maxWork+1)
	return e.work >= 0
}

func tooMuch() Scalar {
	return Nothing(LackFailed, "too much work: the formula has too many rows to look at")
}

// graver gives the lack of the two that counts.
func graver(a, b Scalar) Scalar {
	if b.Lack() > a.Lack() {
		return b
	}
	return a
}

// failed looks for what failed among all that the node names; the zero lack is [LackNone]. It runs only where something
// somewhere did.
func (e *evaluation) failed(n *node) Scalar {
	switch {
	case n.op == opSlot:
		v := e.value(e.slotAt + n.index)
		if s := e.unit.slots[n.index]; v.Lack() == LackFailed && s.group == nil {
			v = named(v, s.name)
		}
		return v
	case n.op == opLocal:
		return e.value(n.index) // a let's reason names what it was made of
	case n.op == opIt:
		return named(e.value(e.itAt+n.index), "it."+n.text)
	case n.op == opField:
		if e.row == nil {
			return Truth(true)
		}
		return named(e.row.Field(n.index), "."+n.text)
	case n.op == opElse:
		if v := e.failed(n.args[0]); v.Lack() == LackFailed || e.eval(n.args[0]).Lack() != LackAbsent {
			return v
		}
		return e.failed(n.args[1])
	case n.rows != nil:
		return e.failedRows(n)
	}
	return e.failedArgs(n)
}

func (e *evaluation) failedArgs(n *node) Scalar {
	for _, a := range n.args {
		if v := e.failed(a); v.Lack() == LackFailed {
			return v
		}
	}
	return Truth(true)
}

func (e *evaluation) failedRows(n *node) Scalar {
	set := e.rows(n.rows.set)
	if set.lack.Lack() == LackFailed {
		return named(set.lack, n.text)
	}
	outer := e.row
	defer func() { e.row = outer }()
	e.row = nil
	if v := e.failedArgs(n); len(set.rows) == 0 || v.Lack() == LackFailed {
		return v
	}
	if !e.spend(len(set.rows) * n.rows.size) {
		return tooMuch()
	}
	for _, row := range set.rows {
		if row == nil {
			return Nothing(LackFailed, "a row of "+n.text+" is missing")
		}
		e.row = row
		if v := e.failedArgs(n); v.Lack() == LackFailed {
			return v
		}
	}
	return Truth(true)
}

// named puts the name before the reason of a lack that does not tell it.
func named(v Scalar, name string) Scalar {
	if v.Lack() == LackFailed && !strings.Contains(v.Why(), name) {
		return Nothing(LackFailed, name+": "+v.Why())
	}
	return v
}

// ExplainEval writes the formula with the value behind each name and each function over rows:
//
//	failed=42 >= limit.failed=30 and count(replicas, .io != "Yes")=1 > 0
//
// A name without a value has the reason's kind there. Text of monitored servers is quoted and cut.
func (f *Formula) ExplainEval(env Env) string {
	e := evaluation{f: f, unit: f.unit, env: env, work: maxWork}
	e.load()
	inside := map[*node]bool{} // what stands in the condition of a function over rows has a value for each row
	e.unit.walk(e.unit.root, func(n *node) bool {
		for _, a := range n.args {
			inside[a] = n.rows != nil || inside[n]
		}
		return true
	})
	return f.unit.print(f.unit.root, func(n *node) string {
		if n.op == opField || n.rows != nil && inside[n] {
			return ""
		}
		return "=" + shown(e.eval(n))
	})
}

// shown writes a value for people.
func shown(v Scalar) string {
	switch v.Lack() {
	case LackNull:
		return "NULL"
	case LackAbsent:
		return "not here"
	case LackLearning:
		return "learning"
	case LackFailed:
		return "failed"
	}
	switch v.form {
	case TypeNumber:
		return rounded(v.num)
	case TypeText:
		return quote(v.text)
	}
	return v.String()
}

package alerts

import (
	"math"
	"reflect"
	"strings"
	"time"

	"monolith"
	"monolith/formula"
)

// evaluator evaluates the formulas of rules for one server at one moment. It implements formula.Env. It is used by one
// goroutine at a time and kept for the next server, so that an evaluation allocates little.
type evaluator struct {
	engine      *Engine
	cat         *Catalogue
	srv         *serverState
	server      *monolith.Server
	state       *monolith.State
	environment string
	at          time.Time

	rule        *Rule
	cur         *expr
	row         *row   // it; nil: none
	instance    string // of the instance at hand
	perInstance bool   // the rule is about instances
	limits      []float64

	lets     []memo
	shared   []memo
	rowLists [][]formula.Row
	rowsRead []bool
}

// memo is a quantity's value, once it was worked out.
type memo struct {
	done  bool
	value formula.Scalar
}

// reset prepares for a server at a moment.
func (ev *evaluator) reset(s *serverState, at time.Time) {
	ev.cat, ev.srv, ev.server, ev.state, ev.environment, ev.at = s.cat, s, s.server, s.state, s.environment, at
	ev.shared = emptied(ev.shared, len(s.cat.shared))
	n := len(rowSets())
	if len(ev.rowLists) < n {
		ev.rowLists, ev.rowsRead = make([][]formula.Row, n), make([]bool, n)
	}
	for i := range ev.rowsRead {
		ev.rowsRead[i] = false
		ev.rowLists[i] = ev.rowLists[i][:0]
	}
}

func emptied(m []memo, n int) []memo {
	if cap(m) < n {
		return make([]memo, n)
	}
	m = m[:n]
	clear(m)
	return m
}

// about turns to an instance of a rule.
func (ev *evaluator) about(r *Rule, it *row, instance string) {
	ev.rule, ev.row, ev.instance, ev.perInstance = r, it, instance, r.set >= 0
	ev.lets = emptied(ev.lets, len(r.lets))
	ev.limits = nil
}

// eval evaluates a formula.
func (ev *evaluator) eval(e *expr) formula.Scalar {
	before := ev.cur
	ev.cur = e
	v := e.f.Eval(ev)
	ev.cur = before
	return v
}

// Input implements formula.Env.
func (ev *evaluator) Input(_ *formula.Formula, i int) formula.Scalar {
	return ev.input(ev.cur.inputs[i], ev.instanceName())
}

func (ev *evaluator) instanceName() string {
	if !ev.perInstance {
		return ""
	}
	return ev.instance
}

// input gives one input of the catalogue.
func (ev *evaluator) input(id int, instance string) formula.Scalar {
	s := &ev.cat.inputs[id]
	name := ev.cat.inputName[id]
	switch {
	case s.Func == "" && s.Ago == 0:
		return ev.reading(name, instance)
	case s.long():
		return ev.longInput(id, s, instance)
	}
	p, instance, lack := ev.find(name, instance)
	if lack.Lack() != formula.LackNone {
		return lack
	}
	if s.Func == "changed" {
		return ev.changed(s, instance)
	}
	r := ev.srv.rings[ringKey{ev.cat.inputRing[id], instance}]
	if r == nil {
		return formula.Nothing(formula.LackLearning, s.Name+" was not read yet")
	}
	if p.text && (s.Func == "rate" || s.Func == "delta") {
		return formula.Nothing(formula.LackFailed, s.Name+" is the text "+quoted(p.slot.now.Texts[p.pos])+", a number is needed")
	}
	if s.Func == "forecast" || s.Func == "slope" {
		slope, level, ok := r.line(ev.at, s.Window)
		switch {
		case !ok:
			return formula.Nothing(formula.LackLearning, "too few readings of "+s.Name+" for a trend yet")
		case s.Func == "slope":
			return formula.Number(slope)
		}
		return formula.Number(level + slope*s.Ahead.Seconds())
	}
	v, covered := r.read(ev.at, s.Window)
	if covered < coverage*s.Window.Seconds() {
		return formula.Nothing(formula.LackLearning, s.Name+": "+inWords(time.Duration(covered)*time.Second)+" of "+inWords(s.Window)+" are covered by readings")
	}
	if own := ev.cat.ownRing[id]; own >= 0 {
		if mine := ev.srv.rings[ringKey{own, ""}]; mine != nil {
			o, _ := mine.read(ev.at, s.Window)
			v = math.Max(0, v-o)
		}
	}
	if s.Func == "rate" {
		v /= covered
	}
	return formula.Number(v)
}

func (ev *evaluator) changed(s *inputSpec, instance string) formula.Scalar {
	c := ev.srv.changes[monolith.Metric{Name: s.Name, Instance: instance}]
	switch {
	case c == nil || !c.known:
		return formula.Nothing(formula.LackLearning, s.Name+" was not read yet")
	case !c.at.IsZero() && ev.at.Sub(c.at) < s.Window:
		return formula.Number(1)
	}
	return formula.Number(0)
}

func (ev *evaluator) longInput(id int, s *inputSpec, instance string) formula.Scalar {
	p, instance, lack := ev.find(ev.cat.inputName[id], instance)
	if p.slot == nil && lack.Lack() != formula.LackLearning {
		return lack
	}
	if v, ok := ev.srv.long[LongKey{s.String(), instance}]; ok {
		return v
	}
	back := max(s.Window, s.Ago)
	if s.usual() {
		back = 7 * 24 * time.Hour
	}
	return formula.Nothing(formula.LackLearning, "the history of "+s.Name+" over "+inWords(back)+" was not read yet")
}

// Instances implements formula.Env.
func (ev *evaluator) Instances(_ *formula.Formula, i int) ([]formula.Instance, formula.Scalar) {
	id := ev.cur.inputs[i]
	name := ev.cat.inputName[id]
	n := &ev.srv.names[name]
	perInstance := ev.perInstance
	ev.perInstance = true
	defer func() { ev.perInstance = perInstance }()
	if n.single.slot == nil && len(n.each) == 0 {
		lack := ev.missing(name, "")
		if lack.Lack() == formula.LackAbsent && ev.comesAndGoes(ev.cat.names[name]) {
			return nil, found // there are none
		}
		return nil, lack
	}
	out := make([]formula.Instance, 0, len(n.each)+1)
	if n.single.slot != nil {
		v := ev.input(id, "")
		if v.Lack() == formula.LackFailed {
			return nil, v
		}
		out = append(out, formula.Instance{Value: v})
	}
	for k := range n.each {
		v := ev.input(id, n.each[k].name)
		if v.Lack() == formula.LackFailed {
			return nil, v
		}
		out = append(out, formula.Instance{Name: n.each[k].name, Value: v})
	}
	return out, found
}

// Local implements formula.Env.
func (ev *evaluator) Local(_ *formula.Formula, i int) formula.Scalar {
	switch ref := ev.cur.locals[i]; ref.kind {
	case localLet:
		return ev.let(ref.index)
	case localShared:
		m := &ev.shared[ref.index]
		if !m.done {
			// Shared quantities know no row.
			row, per := ev.row, ev.perInstance
			ev.row, ev.perInstance = nil, false
			v := ev.eval(ev.cat.shared[ref.index].expr)
			ev.row, ev.perInstance = row, per
			ev.shared[ref.index] = memo{true, v}
		}
		return ev.shared[ref.index].value
	case localLimit:
		if ref.index < len(ev.limits) && !math.IsNaN(ev.limits[ref.index]) {
			return formula.Number(ev.limits[ref.index])
		}
		return formula.Nothing(formula.LackNull, "there is no "+ev.rule.limits[ref.index]+" at this level")
	case localTag:
		return ev.hasTag(ref.tag)
	case localWindow:
		return formula.Text(inWords(ev.rule.window))
	default:
		return facts()[ref.index].get(ev)
	}
}

func (ev *evaluator) let(i int) formula.Scalar {
	if !ev.lets[i].done {
		v := ev.eval(ev.rule.lets[i].expr)
		ev.lets[i] = memo{true, v}
	}
	return ev.lets[i].value
}

// RowSet implements formula.Env.
func (ev *evaluator) RowSet(_ *formula.Formula, i int) ([]formula.Row, formula.Scalar) {
	return ev.rows(ev.cur.sets[i])
}

// rows gives the rows of a set, or why they are not there.
func (ev *evaluator) rows(set int) ([]formula.Row, formula.Scalar) {
	s := rowSets()[set]
	if s.collector == "host" && !ev.hasHost() {
		return nil, formula.Nothing(formula.LackAbsent, noHostSource)
	}
	list, ok := s.list(ev)
	if !ok || ev.srv.lacks(set) {
		return nil, ev.noRows(s.name)
	}
	if p, bad := ev.srv.trouble(s.collector); bad && p.Kind != monolith.ProblemUnsupported {
		return nil, formula.Nothing(formula.LackFailed, "the list "+s.name+" could not be read: "+because(&p))
	}
	if !ev.rowsRead[set] {
		ev.rowsRead[set] = true
		for i := range list.Len() {
			ev.rowLists[set] = append(ev.rowLists[set], newRow(s, list, i, ev))
		}
	}
	return ev.rowLists[set], found
}

func newRow(s *rowSet, list reflect.Value, i int, ev *evaluator) *row {
	v := list.Index(i)
	r := &row{set: s, value: v, index: i, ev: ev}
	if rep, ok := v.Addr().Interface().(*monolith.Replica); ok {
		r.missing = rep.Missing
	}
	return r
}

// noRows tells why a list was not read.
func (ev *evaluator) noRows(set string) formula.Scalar {
	collector := monolith.CollectorOfRows(set)
	if collector == "cnf" {
		return formula.Nothing(formula.LackAbsent, noSourceYet)
	}
	if collector == "host" && !ev.hasHost() {
		return formula.Nothing(formula.LackAbsent, noHostSource)
	}
	if p, ok := ev.srv.trouble(collector); ok {
		if p.Kind == monolith.ProblemUnsupported {
			return formula.Nothing(formula.LackAbsent, p.Text)
		}
		return formula.Nothing(formula.LackFailed, "the list "+set+" could not be read: "+because(&p))
	}
	if why := ev.srv.whyNotGiven(collector); why != "" { // it answered, but not with this
		return formula.Nothing(formula.LackFailed, "the list "+set+" could not be read: "+why)
	}
	if ev.srv.answered(collector, ev.at) {
		return formula.Nothing(formula.LackAbsent, "this server has no list "+set)
	}
	return formula.Nothing(formula.LackLearning, "the list "+set+" was not read yet")
}

// It implements formula.Env.
func (ev *evaluator) It() formula.Row {
	if ev.row == nil {
		return nil
	}
	return ev.row
}

// nameOf gives the name of an instance.
func (ev *evaluator) nameOf(r *Rule, it *row) string {
	if r.name != nil {
		ev.about(r, it, "")
		return shorten(ev.eval(r.name).String(), 200)
	}
	parts := make([]string, len(r.key))
	for i, k := range r.key {
		parts[i] = it.Field(k).String()
	}
	sep := "."
	switch r.each {
	case "account":
		sep = "@"
	case "source":
		sep = ":"
	}
	return shorten(strings.Join(parts, sep), 200)
}

package formula

import (
	"regexp"
	"time"

	"github.com/expr-lang/expr/vm"
)

// kind is what is known about a node's value before anything is read. A name may turn out to be a
// number or a text (kindAny): that is judged value by value.
type kind uint8

const (
	kindAny kind = iota
	kindNumber
	kindText
	kindBool
)

func (k kind) String() string {
	return [...]string{"a value", "a number", "a text", "true or false"}[k]
}

// node is one step of a checked formula.
type node struct {
	op   string // an operator as written ("+", "&&" for and, "||" for or, "!" for not), or one of the op constants
	code code   // the op, for Eval
	kind kind
	pos  int // offset in runes in the formula's text, or what was put around it

	num   float64 // opNumber
	text  string  // opText; opNumber: as it was written, if not as a number; the name of a local, a field or a row set
	index int     // opSlot: place in the unit's slots; opElse: place in its elses; rows and locals: place in the formula's names
	args  []*node // operands; for opIf condition, then, else; for opIn the value and the list's elements

	pattern *regexp.Regexp // opMatches
	rows    *rowUse        // functions over rows
}

// The ops that are not operators of their own spelling.
const (
	opNumber  = "number"
	opText    = "text"
	opBool    = "bool" // num is 1 or 0
	opSlot    = "slot"
	opNegate  = "negate"
	opIf      = "if"
	opElse    = "??"
	opIn      = "in"
	opMatches = "matches"
	opLocal   = "local" // a name of the scope
	opIt      = "it"    // a field of the row that a rule is about
	opField   = "field" // a field of the row at hand, inside a function over rows
	opHas     = "has"
	opLower   = "lower"
	opUpper   = "upper"
	opConcat  = "concat"
	opClamp   = "clamp"
)

// unit is an expression that is evaluated for one instance at a time: a formula, or what stands
// inside sum(…) and its like, whose result is then an input of the formula around it.
type unit struct {
	root  *node
	slots []*slot // what must have a value before the expression runs
	elses []*node // its ?? nodes
	// program compiles the scalar program at the first call; series of numbers never need it.
	program func() (*vm.Program, error)
	// columns reports that every step can be worked out over whole columns of numbers. Texts need the program.
	columns bool
	// lazy reports that not every operand counts for the result (?:, and, or): an input without a value then does
	// not spoil the result by itself, so it is looked for.
	lazy bool
	rows []*rowUse // of its functions over rows
	size int       // nodes
}

// slot is one input of a unit, each different one once.
type slot struct {
	name     string        // the metric's name; "" for a group
	fn       string        // window function, "" for the plain name
	window   time.Duration // its own window, 0: the step's or the caller's
	ahead    time.Duration // forecast: how far beyond the moment
	ago      time.Duration // how far back the moment is moved: week_ago
	optional bool          // each of its places is left of ??
	pos      int
	group    *group // sum(…) and its like
	input    int    // place in the formula's inputs
}

// group makes one value of an expression's instances.
type group struct {
	fn       string // sum, avg_of, min_of, max_of, count_of, only
	instance string // only: the one wanted
	unit     *unit
}

// same reports whether two slots always have the same value.
func (s *slot) same(o *slot) bool {
	return s.group == nil && o.group == nil && s.name == o.name && s.fn == o.fn &&
		s.window == o.window && s.ahead == o.ahead && s.ago == o.ago
}

// names calls yield for every metric name that the slot needs; not for those that stand left of a ??
// inside a group, which are that group's own affair.
func (s *slot) names(yield func(name string)) {
	if s.group == nil {
		yield(s.name)
		return
	}
	s.group.unit.walk(s.group.unit.root, func(n *node) bool {
		if n.op == opElse {
			return false
		}
		if n.op == opSlot {
			s.group.unit.slots[n.index].names(yield)
		}
		return true
	})
}

// walk visits n and what is below it; below a node for which visit gives false it does not go.
func (u *unit) walk(n *node, visit func(*node) bool) {
	if !visit(n) {
		return
	}
	for _, a := range n.args {
		u.walk(a, visit)
	}
}

// reads calls yield for every slot that reads a metric, with each set for those inside groups.
func (u *unit) reads(each bool, yield func(s *slot, each bool)) {
	for _, s := range u.slots {
		if s.group != nil {
			s.group.unit.reads(true, yield)
			continue
		}
		yield(s, each)
	}
}

// Package formula is the one expression language of graphs, rules, export fields and the API:
//
//	rate(status.Com_select) / rate(status.Questions)
//
// means the same wherever it stands. [Parse] checks a text against the language and the name table, [Series]
// evaluates formulas over a range and [Formula.At] at a moment. [ParseScope] adds what only rules name, and
// [Formula.Eval] evaluates a rule's formula from values that somebody holds. docs/formulas.md describes the language
// for people.
//
// The rule above all others: a formula with an input that is missing has no value and says which input
// and why. It is never evaluated with a 0 in the input's place.
package formula

import (
	"slices"
	"time"
)

// Formula is a checked expression. It is immutable and safe for use by several goroutines.
type Formula struct {
	text   string
	unit   *unit
	inputs []Input
	names  scopeNames
	before int // characters that were put before the text: places in the tree count them
}

// Parse reads a formula whose names must stand in the built-in name table. Errors are
// [*monolith.InvalidError] with the 1-based column in characters and, where there is one, a cure.
func Parse(text string) (*Formula, error) { return ParseWith(text, nil) }

// ParseWith is [Parse] with more names: known reports whether a name such as "status.Foo" was seen on a
// watched server. It may be nil.
func ParseWith(text string, known func(name string) bool) (*Formula, error) {
	return parse(text, &Scope{Known: known}, false)
}

// settle makes the list of inputs, and notes for each slot which of them it reads.
func (f *Formula) settle() {
	f.inputs = make([]Input, 0, len(f.unit.slots))
	f.unit.reads(false, func(s *slot, each bool) {
		in := Input{Name: s.name, Func: s.fn, Window: s.window, Ago: s.ago, Ahead: s.ahead, Optional: s.optional, Each: each}
		if s.input = slices.Index(f.inputs, in); s.input < 0 {
			s.input = len(f.inputs)
			f.inputs = append(f.inputs, in)
		}
	})
}

// String gives the formula as it was written, without surrounding space.
func (f *Formula) String() string { return f.text }

// Input is one thing that a formula reads.
type Input struct {
	Name     string        // "status.Questions", without instance
	Func     string        // "rate", "delta", "avg_over", "slope", "usual" …; "" for the plain value
	Window   time.Duration // the function's own window; 0: the step, the rule's or the caller's window
	Ago      time.Duration // how far back the reading lies: a week under week_ago, else 0
	Ahead    time.Duration // forecast: how far beyond the moment
	Optional bool          // it stands left of ??, so a server without it is no error
	Each     bool          // it stands in sum(…) or its like: all its instances are read
}

// Inputs lists what the formula reads, in the order of writing, each once. The caller may keep and change the list.
func (f *Formula) Inputs() []Input { return slices.Clone(f.inputs) }

// Package formula is the one expression language of graphs, rules, export fields and the API.
package formula

import (
	"time"

	"monolith"
)

// Formula is a checked expression. It is immutable and safe for use by several goroutines.
type Formula struct {
	text string
}

// Parse reads a formula whose names must stand in the built-in name table. Errors are
// [*monolith.InvalidError] with the 1-based column and a cure.
func Parse(text string) (*Formula, error) { return ParseWith(text, nil) }

// ParseWith is [Parse] with more names: known reports whether a name such as "status.Foo" was seen on a
// watched server. It may be nil.
func ParseWith(text string, known func(name string) bool) (*Formula, error) {
	return nil, &monolith.InvalidError{Column: 1, Reason: "not ready"}
}

// String gives the formula as it was written, without surrounding space.
func (f *Formula) String() string { return f.text }

// Unit guesses the unit of the result: "bytes/s", "1/s", "%", "s", "bytes", or "" when nothing is known.
func (f *Formula) Unit() string { return "" }

// Input is one thing that a formula reads.
type Input struct {
	Name     string        // "status.Questions", without instance
	Func     string        // "rate", "delta", "avg_over" …; "" for the plain value
	Window   time.Duration // the function's own window; 0: the step, the rule's or the caller's window
	Optional bool          // it stands left of ??, so a server without it is no error
}

// Inputs lists what the formula reads, in the order of writing, each once.
func (f *Formula) Inputs() []Input { return nil }

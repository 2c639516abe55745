package formula

import (
	"maps"
	"slices"

	"monolith"
)

// Type is what an expression gives, as far as it is known before anything is read.
type Type uint8

const (
	TypeAny    Type = iota // a number or a text: the value of a name
	TypeNumber             // a float64
	TypeText               // a string
	TypeBool               // true or false
)

func (t Type) String() string { return kind(t).String() }

// Scope is what a formula may name besides the names of the name table. Nil fields: nothing more. A scope may be
// used for many formulas, by several goroutines; nobody may change it meanwhile.
type Scope struct {
	// Known is as in [ParseWith].
	Known func(name string) bool
	// Locals are names by the whole of what is written: what a rule's let defines ("failed"), limits ("limit.failed")
	// and facts ("server.flavour"). They win over the name table.
	Locals map[string]Type
	// Rows are the row sets and their fields: "replicas" → field → type.
	Rows map[string]map[string]Type
	// It holds the fields of it, the row that a rule is about; nil: there is no it.
	It map[string]Type
}

// Fields gives the names of fields in the order in which [Row.Field] counts them: sorted.
func Fields(fields map[string]Type) []string { return slices.Sorted(maps.Keys(fields)) }

// ParseScope is [Parse] with the names of a scope, and with the functions over rows. A nil scope holds nothing. What
// names something of the scope other than a Known name can be evaluated by [Formula.Eval] alone: it is not for graphs.
func ParseScope(text string, s *Scope) (*Formula, error) {
	if s == nil {
		s = &Scope{}
	}
	return ParseWith(text, s.Known)
}

// Type gives what the formula gives.
func (f *Formula) Type() Type { return Type(f.unit.root.kind) }

// Locals lists the locals that the formula names, each once, in the order of writing. The caller must not change the list.
func (f *Formula) Locals() []string { return nil }

// RowSets lists the row sets that the formula names, each once, in the order of writing. The caller must not change the list.
func (f *Formula) RowSets() []string { return nil }

// UsesIt reports whether the formula reads a field of it.
func (f *Formula) UsesIt() bool { return false }

// VersionNumber gives the number that version("8.0.12") stands for: major·10000 + minor·100 + patch. An unknown version
// has none: it gives nothing, with [LackNull].
func VersionNumber(v monolith.Version) Scalar {
	if v.IsZero() {
		return Nothing(LackNull, "the server's version is unknown")
	}
	return Number(float64(v.Major)*10000 + float64(min(v.Minor, 99))*100 + float64(min(v.Patch, 99)))
}

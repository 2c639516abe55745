package formula

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"monolith"
)

// Type is what an expression gives, as far as it is known before anything is read.
type Type uint8

const (
	TypeAny    Type = Type(kindAny)    // a number or a text: the value of a name
	TypeNumber Type = Type(kindNumber) // a float64
	TypeText   Type = Type(kindText)   // a string
	TypeBool   Type = Type(kindBool)   // true or false
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

// Fields gives the names of fields in the order in which [Row] counts them: sorted.
func Fields(fields map[string]Type) []string { return slices.Sorted(maps.Keys(fields)) }

// ParseScope is [Parse] with the names of a scope, and with what only rules have: the functions over rows, has, it. A
// nil scope holds nothing. A formula that names something of the scope other than a Known name can be evaluated by
// [Formula.Eval] alone; [Series] and [Formula.At] refuse it.
func ParseScope(text string, s *Scope) (*Formula, error) {
	if s == nil {
		s = &Scope{}
	}
	return parse(text, s, true)
}

// Type gives what the formula gives.
func (f *Formula) Type() Type { return Type(f.unit.root.kind) }

// Locals lists the locals that the formula names, each once, in the order of writing. The caller must not change the list.
func (f *Formula) Locals() []string { return f.names.locals }

// RowSets lists the row sets that the formula names, each once, in the order of writing. The caller must not change the list.
func (f *Formula) RowSets() []string { return f.names.sets }

// UsesIt reports whether the formula reads a field of it.
func (f *Formula) UsesIt() bool { return len(f.names.it) > 0 }

// VersionNumber gives the number that version("8.0.12") stands for: major·10000 + minor·100 + patch. An unknown version
// has none: it gives nothing, with [LackNull].
func VersionNumber(v monolith.Version) Scalar {
	if v.IsZero() {
		return Nothing(LackNull, "the server's version is unknown")
	}
	return Number(float64(v.Major)*10000 + float64(min(v.Minor, 99))*100 + float64(min(v.Patch, 99)))
}

// scopeNames is what a formula uses of its scope.
type scopeNames struct {
	locals []string
	kinds  []kind // of locals
	sets   []string
	it     []itField
	need   string // what makes the formula one for Eval alone; "" when nothing does
}

// itField is a field of it.
type itField struct {
	name  string
	field int // its place in the order of Fields
	kind  kind
}

func (s *scopeNames) needScope(what string) {
	if s.need == "" {
		s.need = what
	}
}

func (s *scopeNames) local(name string, k kind) int {
	s.needScope(name)
	if i := slices.Index(s.locals, name); i >= 0 {
		return i
	}
	s.locals, s.kinds = append(s.locals, name), append(s.kinds, k)
	return len(s.locals) - 1
}

func (s *scopeNames) set(name string) int {
	s.needScope(name)
	if i := slices.Index(s.sets, name); i >= 0 {
		return i
	}
	s.sets = append(s.sets, name)
	return len(s.sets) - 1
}

func (s *scopeNames) itField(f itField) int {
	s.needScope("it." + f.name)
	if i := slices.Index(s.it, f); i >= 0 {
		return i
	}
	s.it = append(s.it, f)
	return len(s.it) - 1
}

// only refuses a formula that can be evaluated by Eval alone.
func (f *Formula) only() error {
	if f.names.need == "" {
		return nil
	}
	return &monolith.InvalidError{Reason: fmt.Sprintf("the formula names %s, which only a rule has", f.names.need)}
}

// scopeName gives the node of a name of the scope, or of a constant; nil when it is neither.
func (b *builder) scopeName(n ast.Node) (*node, error) {
	var parts []string
	brackets := false
	written := n
	for {
		m, ok := n.(*ast.MemberNode)
		if !ok {
			break
		}
		p, ok := m.Property.(*ast.StringNode)
		if !ok || m.Optional || m.Method {
			return nil, nil
		}
		brackets = brackets || m.Location() != p.Location()
		parts = append(parts, p.Value)
		n = m.Node
	}
	slices.Reverse(parts)
	rest, pos := strings.Join(parts, "."), n.Location().From
	if p, ok := n.(*ast.PointerNode); ok {
		if p.Name != "" || rest == "" {
			return nil, wrong(pos, ".field", "#%s is not part of the language", p.Name)
		}
		return b.field(rest, pos)
	}
	id, ok := n.(*ast.IdentifierNode)
	if !ok {
		return nil, nil
	}
	if v, ok := constant(id.Value); ok && n == written {
		return &node{op: opNumber, kind: kindNumber, num: v, text: id.Value, pos: pos}, nil
	}
	if !b.scoped {
		return nil, nil
	}
	whole := id.Value
	if rest != "" {
		whole += "." + rest
	}
	if t, ok := b.scope.Locals[whole]; ok && !brackets {
		return &node{op: opLocal, kind: kind(t), text: whole, index: b.names.local(whole, kind(t)), pos: pos}, nil
	}
	if id.Value == "it" && b.scope.It != nil {
		fields := Fields(b.scope.It)
		i, ok := slices.BinarySearch(fields, rest)
		if !ok {
			return nil, noField("it has", "it.", rest, fields, pos)
		}
		t := kind(b.scope.It[rest])
		return &node{op: opIt, kind: t, text: rest, index: b.names.itField(itField{rest, i, t}), pos: pos}, nil
	}
	if _, ok := b.scope.Rows[id.Value]; ok {
		return nil, wrong(pos, "any("+id.Value+", .field > 0)", "%s is a set of rows, not a value", id.Value)
	}
	return nil, nil
}

func noField(who, before, name string, fields []string, pos int) error {
	if name == "" {
		return wrong(pos, before+"field", "a field is missing behind it")
	}
	cure := "the fields are " + strings.Join(fields, ", ")
	if best := Nearest(name, fields); best != "" {
		cure = before + best + "?"
	}
	return wrong(pos, cure, "%s no field %s", who, name)
}

func (b *builder) isLocal(name string) bool {
	if !b.scoped {
		return false
	}
	_, ok := b.scope.Locals[name]
	return ok
}

// scopeWords gives what the scope adds to the names.
func (b *builder) scopeWords() []string {
	if !b.scoped {
		return nil
	}
	words := slices.AppendSeq(Fields(b.scope.Locals), maps.Keys(b.scope.Rows))
	for field := range b.scope.It {
		words = append(words, "it."+field)
	}
	slices.Sort(words)
	return words
}

// nearestScope gives the nearest name of the scope; "" when none is near.
func (b *builder) nearestScope(word string) string { return Nearest(word, b.scopeWords()) }

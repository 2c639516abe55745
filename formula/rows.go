package formula

import (
	"maps"
	"slices"
	"strconv"

	"github.com/expr-lang/expr/ast"

	"monolith"
)

// rowUse is what a node that is a function over rows works on.
type rowUse struct {
	set    int   // place in the formula's row sets
	fields []int // the fields that its arguments name, each once
	size   int   // nodes that are evaluated for each row
}

// rowSet is the row set whose fields a place may name.
type rowSet struct {
	name   string
	fields map[string]Type
	order  []string
	use    *rowUse
}

// isRowSet reports whether the node is the name of a row set and nothing else.
func (b *builder) isRowSet(n ast.Node) bool {
	id, ok := n.(*ast.IdentifierNode)
	if !ok || !b.scoped || b.isLocal(id.Value) {
		return false
	}
	_, ok = b.scope.Rows[id.Value]
	return ok
}

// rows reads a function over rows: its first argument is a set, its others are evaluated for each row.
func (b *builder) rows(f function, n *ast.CallNode, pos int) (*node, error) {
	if !b.scoped {
		return nil, wrong(pos, "count_of(a) and its like work on instances", "%s works on the rows of a rule: there are none here", f.name)
	}
	if !b.isRowSet(n.Arguments[0]) {
		return nil, b.noRowSet(f, n.Arguments[0])
	}
	name := n.Arguments[0].(*ast.IdentifierNode).Value
	set := &rowSet{name: name, fields: b.scope.Rows[name], use: &rowUse{set: b.names.set(name)}}
	set.order = Fields(set.fields)
	out := &node{op: f.name, kind: kindNumber, text: name, rows: set.use, pos: pos}
	outer := b.row
	b.row = set
	defer func() { b.row = outer }()
	for i, a := range n.Arguments[1:] {
		arg, err := b.node(a)
		if err != nil {
			return nil, err
		}
		switch {
		case isFold(f.name):
			err = number(arg)
		case f.name == "names" && i == 1:
			if arg.kind == kindBool {
				err = wrong(arg.pos, f.usage, "a name is a text or a number")
			}
		default:
			err = boolean(arg)
		}
		if err != nil {
			return nil, err
		}
		b.unit.walk(arg, func(*node) bool { set.use.size++; return true })
		out.args = append(out.args, arg)
	}
	switch {
	case isTruth(f.name):
		out.kind = kindBool
	case f.name == "names":
		out.kind = kindText
	}
	return out, nil
}

func isTruth(function string) bool {
	return function == "any" || function == "all" || function == "none"
}

// isFold reports whether the function works on instances and on rows.
func isFold(function string) bool {
	return function == "sum" || function == "avg_of" || function == "min_of" || function == "max_of"
}

func (b *builder) noRowSet(f function, n ast.Node) error {
	sets := slices.Sorted(maps.Keys(b.scope.Rows))
	cure := f.usage
	if id, ok := n.(*ast.IdentifierNode); ok {
		if best := Nearest(id.Value, sets); best != "" {
			cure = best + "?"
		}
		return wrong(n.Location().From, cure, "%s is not a set of rows", id.Value)
	}
	if f.name == "count" {
		cure = "count_of(a) counts instances"
	}
	return wrong(n.Location().From, cure, "the first argument of %s must be a set of rows", f.name)
}

// field gives a field of the row at hand.
func (b *builder) field(name string, pos int) (*node, error) {
	if b.row == nil {
		return nil, wrong(pos, "any(rows, .field > 0)", "a field of a row can stand only inside a function over rows")
	}
	i, ok := slices.BinarySearch(b.row.order, name)
	if !ok {
		return nil, noField("the rows of "+b.row.name+" have", ".", name, b.row.order, pos)
	}
	if !slices.Contains(b.row.use.fields, i) {
		b.row.use.fields = append(b.row.use.fields, i)
	}
	return &node{op: opField, kind: kind(b.row.fields[name]), text: name, index: i, pos: pos}, nil
}

// has reads has(x).
func (b *builder) has(f function, n *ast.CallNode, pos int) (*node, error) {
	if !b.scoped {
		return nil, wrong(pos, "a ?? b stands for what a server does not have", "has is for the formulas of rules")
	}
	b.left++
	arg, err := b.node(n.Arguments[0])
	b.left--
	if err != nil {
		return nil, err
	}
	if !b.optional(arg) {
		return nil, wrong(pos, f.usage, "what stands in has reads nothing that could be missing")
	}
	b.names.needScope("has")
	return &node{op: opHas, kind: kindBool, args: []*node{arg}, pos: pos}, nil
}

// version reads version("8.0.12"), a number.
func version(f function, n *ast.CallNode, pos int) (*node, error) {
	t, ok := n.Arguments[0].(*ast.StringNode)
	if !ok {
		return nil, wrong(n.Arguments[0].Location().From, f.usage, "the version must be written in quotes")
	}
	v := monolith.ParseVersion(t.Value)
	number, ok := VersionNumber(v).Float()
	if !ok || v.Minor > 99 || v.Patch > 99 {
		return nil, wrong(n.Arguments[0].Location().From, f.usage, "%q is not a version", t.Value)
	}
	return &node{op: opNumber, kind: kindNumber, num: number, text: "version(" + strconv.Quote(t.Value) + ")", pos: pos}, nil
}

package formula

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"

	"monolith"
)

const (
	maxText    = 4000 // characters of a formula
	maxNodes   = 1000 // of its syntax tree
	maxName    = 200  // characters of a name
	maxPattern = 500  // characters of a regular expression
	maxWindow  = 366 * 24 * time.Hour
	week       = 7 * 24 * time.Hour
)

// builder turns expr's syntax tree into a unit. Every part that the language does not have is
// refused here: what is not named in this file does not exist.
type builder struct {
	scope  *Scope
	scoped bool // the formula comes from ParseScope: the scope counts, not its Known alone
	names  *scopeNames
	table  *table
	unit   *unit
	left   int // how many ?? the place stands to the left of
	inside bool
	row    *rowSet // of the function over rows that the place stands in
}

func wrong(pos int, cure, format string, args ...any) error {
	return &monolith.InvalidError{Column: pos + 1, Reason: fmt.Sprintf(format, args...), Cure: cure}
}

// parse reads the text and gives its formula, not yet compiled to a program.
func parse(text string, scope *Scope, scoped bool) (*Formula, error) {
	if !utf8.ValidString(text) {
		return nil, wrong(0, "", "the formula is not valid UTF-8")
	}
	if strings.TrimSpace(text) == "" {
		return nil, wrong(0, "such as rate(status.Questions)", "the formula is empty")
	}
	if n := utf8.RuneCountInString(text); n > maxText {
		return nil, wrong(maxText, "", "the formula has %d characters, more than %d", n, maxText)
	}
	root, before, err := syntax(text, scoped)
	f := &Formula{text: strings.TrimSpace(text), unit: &unit{columns: true}, before: before}
	b := &builder{scope: scope, scoped: scoped, names: &f.names, table: nameTable(), unit: f.unit}
	if err == nil {
		_, err = b.build(root)
	}
	if err != nil {
		return nil, moveBack(err, before)
	}
	f.settle()
	return f, nil
}

// parserConfig makes expr's parser see our functions instead of its builtins. The parser only reads it, and a request
// may hold fifty formulas: it is made once.
var parserConfig = sync.OnceValue(func() *conf.Config {
	c := &conf.Config{MaxNodes: maxNodes, DisableIfOperator: true,
		Disabled: make(map[string]bool, len(builtin.Index)), Functions: make(conf.FunctionsTable, 32)}
	for name := range builtin.Index {
		c.Disabled[name] = true
	}
	for _, f := range functionTable() {
		c.Functions[f.name] = &builtin.Function{Name: f.name}
	}
	return c
})

// tokenKind is how expr's parser writes a token: Operator("*").
var tokenKind = regexp.MustCompile(`\w+\(("[^"]*")\)`)

func syntaxError(err error, length int) error {
	var fe *file.Error
	if !errors.As(err, &fe) {
		return wrong(0, "", "the formula can't be read: %v", err)
	}
	reason, cure := fe.Message, ""
	switch {
	case strings.Contains(reason, "maximum allowed nodes"):
		reason = fmt.Sprintf("the formula has more than %d parts", maxNodes)
	case strings.Contains(reason, "coalesce expressions"):
		reason, cure = "?? stands beside another operator", "put parentheses around a ?? b"
	case strings.Contains(reason, "unexpected token EOF"):
		return wrong(length, "", "the formula ends too early")
	}
	return wrong(fe.From, cure, "%s", tokenKind.ReplaceAllString(reason, "$1"))
}

func (b *builder) build(root ast.Node) (*unit, error) {
	n, err := b.node(root)
	if err != nil {
		return nil, err
	}
	b.unit.root = n
	b.unit.program = sync.OnceValues(b.unit.compile)
	b.unit.walk(n, func(n *node) bool {
		n.code = codeOf(n)
		b.unit.size++
		if n.rows != nil {
			b.unit.rows = append(b.unit.rows, n.rows)
		}
		switch n.op {
		case opText, opIn, opMatches, "contains", "startsWith", "endsWith", opLower, opUpper, opConcat:
			b.unit.columns = false
		case opIf, "&&", "||":
			b.unit.lazy = true
		}
		return true
	})
	return b.unit, nil
}

func (b *builder) node(n ast.Node) (*node, error) {
	pos := n.Location().From
	switch n := n.(type) {
	case *ast.IntegerNode:
		return &node{op: opNumber, kind: kindNumber, num: float64(n.Value), pos: pos}, nil
	case *ast.FloatNode:
		return &node{op: opNumber, kind: kindNumber, num: n.Value, pos: pos}, nil
	case *ast.StringNode:
		return &node{op: opText, kind: kindText, text: n.Value, pos: pos}, nil
	case *ast.BoolNode:
		out := &node{op: opBool, kind: kindBool, pos: pos}
		if n.Value {
			out.num = 1
		}
		return out, nil
	case *ast.UnaryNode:
		return b.unary(n, pos)
	case *ast.BinaryNode:
		return b.binary(n, pos)
	case *ast.ConditionalNode:
		return b.conditional(n)
	case *ast.MemberNode, *ast.IdentifierNode:
		if out, err := b.scopeName(n); out != nil || err != nil {
			return out, err
		}
		name, at, err := b.name(n)
		if err != nil {
			return nil, err
		}
		return b.slot(&slot{name: name, pos: at}), nil
	case *ast.PointerNode:
		return nil, wrong(pos, "count(rows, .field > 0)", "a row by itself is no value")
	case *ast.CallNode:
		return b.call(n, pos)
	case *ast.BuiltinNode:
		return nil, b.unknownFunction(n.Name, pos)
	case *ast.ArrayNode:
		return nil, wrong(pos, `name in ["a", "b"]`, "a list may stand only behind in")
	case *ast.NilNode:
		return nil, wrong(pos, "a ?? b stands for what a server does not have", "nil is not part of the language")
	case *ast.VariableDeclaratorNode, *ast.SequenceNode:
		return nil, wrong(pos, "write one expression", "let and ; are not part of the language")
	}
	return nil, wrong(pos, "", "this is not part of the language")
}

func (b *builder) unary(n *ast.UnaryNode, pos int) (*node, error) {
	arg, err := b.node(n.Node)
	if err != nil {
		return nil, err
	}
	switch n.Operator {
	case "-", "+":
		if err := number(arg); err != nil {
			return nil, err
		}
		if n.Operator == "+" {
			// Not dropped: a text must not pass as a number because a sign stands before it.
			zero := &node{op: opNumber, kind: kindNumber, pos: pos}
			return &node{op: "+", kind: kindNumber, args: []*node{zero, arg}, pos: pos}, nil
		}
		return &node{op: opNegate, kind: kindNumber, args: []*node{arg}, pos: pos}, nil
	case "not", "!":
		if err := boolean(arg); err != nil {
			return nil, err
		}
		return &node{op: "!", kind: kindBool, args: []*node{arg}, pos: pos}, nil
	}
	return nil, wrong(pos, "", "the operator %s is not part of the language", n.Operator)
}

func (b *builder) binary(n *ast.BinaryNode, pos int) (*node, error) {
	if n.Operator == "in" {
		return b.in(n, pos)
	}
	if n.Operator == "??" {
		b.left++
	}
	left, err := b.node(n.Left)
	if n.Operator == "??" {
		b.left--
	}
	if err != nil {
		return nil, err
	}
	right, err := b.node(n.Right)
	if err != nil {
		return nil, err
	}
	out := &node{op: n.Operator, kind: kindBool, args: []*node{left, right}, pos: pos}
	check := func(*node) error { return nil }
	switch n.Operator {
	case "+", "-", "*", "/", "%", "**", "^":
		out.kind, check = kindNumber, number
		if n.Operator == "^" {
			out.op = "**"
		}
	case "<", "<=", ">", ">=":
		check = number
	case "==", "!=":
		if left.kind != kindAny && right.kind != kindAny && left.kind != right.kind {
			return nil, wrong(pos, "", "%s and %s are never equal", left.kind, right.kind)
		}
		if (left.kind == kindBool) != (right.kind == kindBool) {
			return nil, wrong(pos, "", "a name is a number or a text, never true or false")
		}
	case "and", "&&":
		out.op, check = "&&", boolean
	case "or", "||":
		out.op, check = "||", boolean
	case "contains", "startsWith", "endsWith":
		check = textual
	case "matches":
		check = textual
		if right.op != opText || len(right.text) > maxPattern {
			return nil, wrong(right.pos, "", "matches needs a pattern in quotes of at most %d characters", maxPattern)
		}
		if out.pattern, err = regexp.Compile(right.text); err != nil {
			return nil, wrong(right.pos, "", "the pattern is wrong: %v", err)
		}
	case "??":
		if !b.optional(left) {
			return nil, wrong(pos, "name ?? value", "what stands left of ?? reads nothing that a server could lack")
		}
		if out.kind, err = common(left, right, pos); err != nil {
			return nil, err
		}
		out.index = len(b.unit.elses)
		b.unit.elses = append(b.unit.elses, out)
	default:
		return nil, wrong(pos, "", "the operator %s is not part of the language", n.Operator)
	}
	for _, a := range out.args {
		if err := check(a); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (b *builder) in(n *ast.BinaryNode, pos int) (*node, error) {
	left, err := b.node(n.Left)
	if err != nil {
		return nil, err
	}
	list, ok := n.Right.(*ast.ArrayNode)
	if !ok || len(list.Nodes) == 0 {
		return nil, wrong(n.Right.Location().From, `name in ["a", "b"]`, "in needs a list in brackets")
	}
	out := &node{op: opIn, kind: kindBool, args: []*node{left}, pos: pos}
	for _, e := range list.Nodes {
		element, err := b.node(e)
		if err != nil {
			return nil, err
		}
		if element.op != opText && element.op != opNumber {
			return nil, wrong(element.pos, `name in ["a", "b"]`, "the list may hold texts and numbers only")
		}
		out.args = append(out.args, element)
	}
	if left.kind == kindBool {
		return nil, wrong(left.pos, "", "true or false stands in no list")
	}
	return out, nil
}

func (b *builder) conditional(n *ast.ConditionalNode) (*node, error) {
	var args []*node
	for _, part := range []ast.Node{n.Cond, n.Exp1, n.Exp2} {
		a, err := b.node(part)
		if err != nil {
			return nil, err
		}
		args = append(args, a)
	}
	if err := boolean(args[0]); err != nil {
		return nil, err
	}
	k, err := common(args[1], args[2], args[2].pos)
	if err != nil {
		return nil, err
	}
	return &node{op: opIf, kind: k, args: args, pos: args[0].pos}, nil
}

// slot gives the node of an input, which stands once in the unit's list however often it is written.
func (b *builder) slot(s *slot) *node {
	s.optional = b.left > 0
	for i, old := range b.unit.slots {
		if old.same(s) {
			old.optional = old.optional && s.optional
			return &node{op: opSlot, kind: slotKind(s), index: i, pos: s.pos}
		}
	}
	b.unit.slots = append(b.unit.slots, s)
	return &node{op: opSlot, kind: slotKind(s), index: len(b.unit.slots) - 1, pos: s.pos}
}

func slotKind(s *slot) kind {
	if s.fn != "" {
		return kindNumber
	}
	if s.group != nil && (s.group.fn != "only" || s.group.unit.root.op != opSlot) {
		return kindNumber
	}
	return kindAny
}

// optional reports whether the node reads a name for which a server may have no value.
func (b *builder) optional(n *node) bool {
	found := false
	b.unit.walk(n, func(n *node) bool {
		switch {
		case n.op == opLocal || n.op == opIt || n.op == opField || n.rows != nil:
			found = true
		case n.op == opSlot:
			b.unit.slots[n.index].names(func(string) { found = true })
		}
		return !found
	})
	return found
}

func number(n *node) error {
	switch n.kind {
	case kindText:
		return wrong(n.pos, "", "a number is needed here, not a text")
	case kindBool:
		return wrong(n.pos, "write condition ? 1 : 0", "a number is needed here, not true or false")
	}
	return nil
}

func boolean(n *node) error {
	if n.kind != kindBool {
		return wrong(n.pos, `write a comparison, such as a > 0 or a == "ON"`, "true or false is needed here, not %s", n.kind)
	}
	return nil
}

func textual(n *node) error {
	if n.kind == kindNumber || n.kind == kindBool {
		return wrong(n.pos, "", "a text is needed here, not %s", n.kind)
	}
	return nil
}

// common gives the kind of a value that comes from one of two places.
func common(a, b *node, pos int) (kind, error) {
	switch {
	case a.kind == b.kind:
		return a.kind, nil
	case a.kind == kindBool || b.kind == kindBool:
		return 0, wrong(pos, "", "both sides must be true or false, or neither")
	case a.kind == kindAny || b.kind == kindAny:
		return kindAny, nil
	}
	return 0, wrong(pos, "", "one side is %s, the other %s", a.kind, b.kind)
}

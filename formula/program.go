package formula

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/builtin"
	"github.com/expr-lang/expr/checker"
	"github.com/expr-lang/expr/compiler"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/vm"

	"monolith"
)

// noValue stops a program: there is no value, for this reason.
type noValue string

func (n noValue) Error() string { return string(n) }

// notNumber stops a program because of a text, which is an input's.
type notNumber string

func (n notNumber) Error() string {
	return "the text " + quote(string(n)) + " stands where a number is needed"
}

// compile makes the scalar program of a unit. Left to itself expr takes a missing number for 0, x/0 for a big
// number and a text for a comparable thing. So the program calls our own function for every operation, and reads
// its inputs from slots that are filled before it runs, all of them or it isn't run.
func (u *unit) compile() (*vm.Program, error) {
	config := conf.New(map[string]any{"slot": []any{}, "absent": []bool{}})
	config.Optimize = false
	config.MaxNodes = 3 * maxNodes // a ?? or a call takes more nodes here than where it was written
	for _, op := range operations() {
		config.Functions[op.Name] = op
	}
	tree := &parser.Tree{Node: u.tree(u.root), Source: file.NewSource("")}
	if _, err := checker.Check(tree, config); err != nil {
		return nil, fmt.Errorf("formula: check: %w", err)
	}
	program, err := compiler.Compile(tree, config)
	if err != nil {
		return nil, fmt.Errorf("formula: compile: %w", err)
	}
	return program, nil
}

// tree writes the node in expr's terms.
func (u *unit) tree(n *node) ast.Node {
	args := make([]ast.Node, len(n.args))
	for i, a := range n.args {
		args[i] = u.tree(a)
	}
	switch n.op {
	case opNumber:
		return &ast.FloatNode{Value: n.num}
	case opText:
		return &ast.StringNode{Value: n.text}
	case opBool:
		return &ast.BoolNode{Value: n.num == 1}
	case opSlot:
		return element("slot", n.index)
	case opElse:
		return &ast.ConditionalNode{Cond: element("absent", n.index), Exp1: args[1], Exp2: args[0]}
	case opIf:
		return &ast.ConditionalNode{Cond: args[0], Exp1: args[1], Exp2: args[2]}
	case "&&", "||":
		return &ast.BinaryNode{Operator: n.op, Left: args[0], Right: args[1]}
	case "!":
		return &ast.UnaryNode{Operator: n.op, Node: args[0]}
	case opMatches:
		return &ast.BinaryNode{Operator: n.op, Left: call("text", args[0]), Right: args[1]}
	}
	return call(n.op, args...)
}

func call(fn string, args ...ast.Node) ast.Node {
	return &ast.CallNode{Callee: &ast.IdentifierNode{Value: fn}, Arguments: args}
}

func element(list string, i int) ast.Node {
	return &ast.MemberNode{Node: &ast.IdentifierNode{Value: list}, Property: &ast.IntegerNode{Value: i}}
}

// operations are the functions that programs call, one for every op that is not expr's own.
func operations() []*builtin.Function {
	var all []*builtin.Function
	add := func(name string, fn func(args ...any) (any, error)) {
		all = append(all, &builtin.Function{Name: name, Func: fn})
	}
	for _, op := range []string{"+", "-", "*", "/", "%", "**", "percent", "greatest", "least", "round", "round_up", "round_down"} {
		add(op, func(args ...any) (any, error) { return arithmetic(op, args) })
	}
	for _, op := range []string{opNegate, "abs", "floor", "ceil"} {
		add(op, func(args ...any) (any, error) {
			a, err := asNumber(args[0])
			return unary(op, a), err
		})
	}
	for _, op := range []string{"<", "<=", ">", ">="} {
		add(op, func(args ...any) (any, error) {
			v, err := arithmetic(op, args)
			return v == 1.0, err
		})
	}
	add("==", func(args ...any) (any, error) { return equal(args[0], args[1]), nil })
	add("!=", func(args ...any) (any, error) { return !equal(args[0], args[1]), nil })
	add(opIn, func(args ...any) (any, error) {
		for _, e := range args[1:] {
			if equal(args[0], e) {
				return true, nil
			}
		}
		return false, nil
	})
	add(opClamp, func(args ...any) (any, error) {
		v, err := arithmetic("greatest", args[:2])
		if err != nil {
			return nil, err
		}
		return arithmetic("least", []any{v, args[2]})
	})
	add(opLower, func(args ...any) (any, error) { return strings.ToLower(asText(args[0])), nil })
	add(opUpper, func(args ...any) (any, error) { return strings.ToUpper(asText(args[0])), nil })
	add(opConcat, func(args ...any) (any, error) {
		text := ""
		for _, a := range args {
			if text += asText(a); len(text) > maxMade {
				return nil, noValue(tooLong)
			}
		}
		return text, nil
	})
	add("text", func(args ...any) (any, error) { return asText(args[0]), nil })
	for op, has := range map[string]func(s, part string) bool{
		"contains": strings.Contains, "startsWith": strings.HasPrefix, "endsWith": strings.HasSuffix,
	} {
		add(op, func(args ...any) (any, error) { return has(asText(args[0]), asText(args[1])), nil })
	}
	return all
}

// arithmetic folds the operation over two or more numbers.
func arithmetic(op string, args []any) (any, error) {
	v, err := asNumber(args[0])
	if err != nil {
		return nil, err
	}
	for _, a := range args[1:] {
		b, err := asNumber(a)
		if err != nil {
			return nil, err
		}
		r := binary(op, v, b)
		if r != r {
			if (op == "/" || op == "%" || op == "percent") && b == 0 {
				return nil, noValue("division by zero")
			}
			return nil, noValue("the result of " + op + " is not a number")
		}
		v = r
	}
	return v, nil
}

const (
	maxMade = 16 << 10 // bytes of a text that a formula makes
	tooLong = "the text that concat makes is too long"
)

func asNumber(v any) (float64, error) {
	if f, ok := v.(float64); ok {
		return f, nil
	}
	s, _ := v.(string)
	return 0, notNumber(s)
}

// asText gives a text, a number as it is written shortest.
func asText(v any) string {
	if f, ok := v.(float64); ok {
		return formatNumber(f)
	}
	s, _ := v.(string)
	return s
}

// equal compares two values. A text and a number are equal when the text is that number: variables
// are texts to some servers and numbers to others.
func equal(a, b any) bool {
	x, isText := a.(string)
	f, isNumber := b.(float64)
	if !isText || !isNumber {
		if x, isText = b.(string); isText {
			f, isNumber = a.(float64)
		}
		if !isText || !isNumber {
			return a == b
		}
	}
	n, ok := monolith.ParseNum([]byte(x))
	return ok && n.Float64() == f
}

// runner runs programs one after the other.
type runner struct {
	vm  vm.VM
	env map[string]any
}

// run gives the value of a unit: a float64, string or bool. An error is the reason why there is none.
func (r *runner) run(u *unit, slots []any, absent []bool) (any, error) {
	if r.env == nil {
		r.env = make(map[string]any, 2)
	}
	r.env["slot"], r.env["absent"] = slots, absent
	program, err := u.program()
	if err != nil {
		return nil, noValue(err.Error())
	}
	out, err := r.vm.Run(program, r.env)
	if err != nil {
		var text notNumber
		if !errors.As(err, &text) {
			var why noValue
			if !errors.As(err, &why) {
				why = noValue("the formula can't be evaluated: " + err.Error())
			}
			return nil, why
		}
		for i, s := range u.slots {
			if slots[i] == string(text) {
				return nil, noValue(s.label() + " is the text " + quote(string(text)) + ", a number is needed")
			}
		}
		return nil, noValue(text.Error())
	}
	return out, nil
}

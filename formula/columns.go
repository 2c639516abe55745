package formula

import "math"

// row is an intermediate result over all steps: one number for all of them, or one a step. In truth
// values 1 is true, 0 false; NaN is no value in both.
type row struct {
	all float64
	v   []float64 // nil: all
}

func (r row) at(i int) float64 {
	if r.v == nil {
		return r.all
	}
	return r.v[i]
}

// columns evaluates a unit over whole columns of numbers, with the same outcome at every step as its
// program has there (FuzzSeriesMatchesScalar holds this true), at a hundredth of the price.
type columns struct {
	n      int
	slots  []*column
	absent []bool
}

func (c *columns) eval(n *node) row {
	switch n.op {
	case opNumber, opBool:
		return row{all: n.num}
	case opSlot:
		return row{v: c.slots[n.index].num}
	case opElse:
		if c.absent[n.index] {
			return c.eval(n.args[1])
		}
		return c.eval(n.args[0])
	case opIf:
		return c.choose(c.eval(n.args[0]), c.eval(n.args[1]), c.eval(n.args[2]))
	case "&&":
		l := c.eval(n.args[0])
		return c.choose(l, c.eval(n.args[1]), l)
	case "||":
		l := c.eval(n.args[0])
		return c.choose(l, l, c.eval(n.args[1]))
	case "!":
		return c.combine("-", row{all: 1}, c.eval(n.args[0]))
	case opNegate, "abs", "floor", "ceil":
		a := c.eval(n.args[0])
		if a.v == nil {
			return row{all: unary(n.op, a.all)}
		}
		out := make([]float64, c.n)
		for i, v := range a.v {
			out[i] = unary(n.op, v)
		}
		return row{v: out}
	}
	if n.op == opClamp {
		return c.combine("least", c.combine("greatest", c.eval(n.args[0]), c.eval(n.args[1])), c.eval(n.args[2]))
	}
	out := c.eval(n.args[0])
	for _, a := range n.args[1:] {
		out = c.combine(n.op, out, c.eval(a))
	}
	return out
}

// choose gives yes where the condition is true and no where it is false.
func (c *columns) choose(cond, yes, no row) row {
	out := make([]float64, c.n)
	for i := range out {
		switch v := cond.at(i); {
		case v != v:
			out[i] = math.NaN()
		case v == 1:
			out[i] = yes.at(i)
		default:
			out[i] = no.at(i)
		}
	}
	return row{v: out}
}

// combine applies an operation of two numbers. The commonest have loops of their own.
func (c *columns) combine(op string, a, b row) row {
	if a.v == nil && b.v == nil {
		return row{all: binary(op, a.all, b.all)}
	}
	out := make([]float64, c.n)
	x, y := a.v, b.v
	switch {
	case op == "+" && x != nil && y != nil:
		for i := range out {
			out[i] = finite(x[i] + y[i])
		}
	case op == "-" && x != nil && y != nil:
		for i := range out {
			out[i] = finite(x[i] - y[i])
		}
	case op == "/" && x != nil && y != nil:
		for i := range out {
			out[i] = finite(x[i] / y[i])
		}
	case op == "*" && x == nil:
		for i := range out {
			out[i] = finite(a.all * y[i])
		}
	default:
		for i := range out {
			out[i] = binary(op, a.at(i), b.at(i))
		}
	}
	return row{v: out}
}

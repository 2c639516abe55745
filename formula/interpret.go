package formula

// code is a node's op as a small number, which Eval can jump by.
type code uint8

const (
	codeFold code = iota // two or more numbers, one after the other, by the function binary
	codeNumber
	codeText
	codeBool
	codeSlot
	codeLocal
	codeIt
	codeField
	codeAdd
	codeSubtract
	codeMultiply
	codeDivide
	codeLess
	codeLessEqual
	codeGreater
	codeGreaterEqual
	codeEqual
	codeNotEqual
	codeAnd
	codeOr
	codeNot
	codeIf
	codeElse
	codeIn
	codeUnary
	codeClamp
	codeHas
	codeTextual
	codeMatches
	codeCase
	codeConcat
	codeRows
)

func codeOf(n *node) code {
	if n.rows != nil {
		return codeRows
	}
	switch n.op {
	case opNumber:
		return codeNumber
	case opText:
		return codeText
	case opBool:
		return codeBool
	case opSlot:
		return codeSlot
	case opLocal:
		return codeLocal
	case opIt:
		return codeIt
	case opField:
		return codeField
	case "+":
		return codeAdd
	case "-":
		return codeSubtract
	case "*":
		return codeMultiply
	case "/":
		return codeDivide
	case "<":
		return codeLess
	case "<=":
		return codeLessEqual
	case ">":
		return codeGreater
	case ">=":
		return codeGreaterEqual
	case "==":
		return codeEqual
	case "!=":
		return codeNotEqual
	case "&&":
		return codeAnd
	case "||":
		return codeOr
	case "!":
		return codeNot
	case opIf:
		return codeIf
	case opElse:
		return codeElse
	case opIn:
		return codeIn
	case opNegate, "abs", "floor", "ceil":
		return codeUnary
	case opClamp:
		return codeClamp
	case opHas:
		return codeHas
	case "contains", "startsWith", "endsWith":
		return codeTextual
	case opMatches:
		return codeMatches
	case opLower, opUpper:
		return codeCase
	case opConcat:
		return codeConcat
	}
	return codeFold
}

// eval gives the value of a node. What it does with numbers it leaves to binary, unary and compare, except for the few
// operations that nearly all rules are made of; TestEvalOperators holds these to them.
func (e *evaluation) eval(n *node) Scalar {
	switch n.code {
	case codeNumber:
		return Scalar{num: n.num, form: TypeNumber}
	case codeText:
		return Scalar{text: n.text, form: TypeText}
	case codeBool:
		return Scalar{num: n.num, form: TypeBool}
	case codeSlot:
		return e.value(e.slotAt + n.index)
	case codeLocal:
		return e.value(n.index)
	case codeIt:
		return e.value(e.itAt + n.index)
	case codeField:
		if e.row == nil {
			return Nothing(LackFailed, "a row is missing")
		}
		return fit(n.kind, e.row.Field(n.index), n.text)
	case codeAdd, codeSubtract, codeMultiply, codeDivide, codeLess, codeLessEqual, codeGreater, codeGreaterEqual:
		a, b := e.eval(n.args[0]), e.eval(n.args[1])
		if a.form != TypeNumber || b.form != TypeNumber {
			return e.noNumbers(n.args[0], a, n.args[1], b)
		}
		return operate(n, a.num, b.num)
	case codeEqual, codeNotEqual:
		a, b := e.eval(n.args[0]), e.eval(n.args[1])
		if a.form == TypeAny || b.form == TypeAny {
			return graver(a, b)
		}
		return Truth(sameScalar(a, b) == (n.code == codeEqual))
	case codeAnd, codeOr:
		if a := e.eval(n.args[0]); a.form != TypeBool || (a.num == 1) == (n.code == codeOr) {
			return a
		}
		return e.eval(n.args[1])
	case codeNot:
		a := e.eval(n.args[0])
		if a.form == TypeBool {
			a.num = 1 - a.num
		}
		return a
	case codeIf:
		switch c := e.eval(n.args[0]); {
		case c.form != TypeBool:
			return c
		case c.num == 1:
			return e.eval(n.args[1])
		}
		return e.eval(n.args[2])
	case codeElse:
		a := e.eval(n.args[0])
		if a.Lack() == LackAbsent {
			return e.eval(n.args[1])
		}
		return a
	case codeHas:
		switch a := e.eval(n.args[0]); a.Lack() {
		case LackNone:
			return Truth(true)
		case LackNull, LackAbsent:
			return Truth(false)
		default:
			return a
		}
	case codeRows:
		return e.overRows(n)
	case codeIn, codeTextual, codeMatches, codeCase:
		return e.ofText(n)
	case codeConcat:
		return e.concat(n)
	case codeUnary:
		a := e.eval(n.args[0])
		if a.form != TypeNumber {
			return e.noNumber(n.args[0], a)
		}
		return Number(unary(n.op, a.num))
	case codeClamp:
		v := e.fold("greatest", n.args[:2])
		hi := e.eval(n.args[2])
		if v.form != TypeNumber || hi.form != TypeNumber {
			return e.noNumbers(n.args[0], v, n.args[2], hi)
		}
		return Number(binary("least", v.num, hi.num))
	}
	return e.fold(n.op, n.args)
}

// operate applies one of the common operations to two numbers.
func operate(n *node, a, b float64) Scalar {
	var v float64
	switch n.code {
	case codeAdd:
		v = a + b
	case codeSubtract:
		v = a - b
	case codeMultiply:
		v = a * b
	case codeDivide:
		v = a / b
	case codeLess:
		return Truth(a < b)
	case codeLessEqual:
		return Truth(a <= b)
	case codeGreater:
		return Truth(a > b)
	case codeGreaterEqual:
		return Truth(a >= b)
	}
	if v-v != 0 {
		return noResult(n.op, b)
	}
	return Scalar{num: v, form: TypeNumber}
}

// fold applies a function of two numbers to two or more.
func (e *evaluation) fold(op string, args []*node) Scalar {
	v := e.eval(args[0])
	for _, a := range args[1:] {
		b := e.eval(a)
		if v.form != TypeNumber || b.form != TypeNumber {
			// Not returned at once: a graver lack may follow.
			if v = e.noNumbers(args[0], v, a, b); v.Lack() == LackFailed {
				return v
			}
			continue
		}
		if r := binary(op, v.num, b.num); r == r {
			v.num = r
		} else {
			v = noResult(op, b.num)
		}
	}
	return v
}

// noResult says why an operation on numbers gave none.
func noResult(op string, b float64) Scalar {
	if b == 0 && (op == "/" || op == "%" || op == "percent") {
		return Nothing(LackNull, "division by zero")
	}
	return Nothing(LackNull, "the result of "+op+" is not a number")
}

// noNumbers says why an operation on the values of two nodes has no result: one of them is no number.
func (e *evaluation) noNumbers(x *node, a Scalar, y *node, b Scalar) Scalar {
	return graver(e.noNumber(x, a), e.noNumber(y, b))
}

// noNumber gives the value of n, or a lack where it is no number.
func (e *evaluation) noNumber(n *node, v Scalar) Scalar {
	if v.form == TypeAny || v.form == TypeNumber {
		return v
	}
	what := "true or false"
	if v.form == TypeText {
		what = "the text " + quote(v.text)
	}
	switch n.op {
	case opSlot, opLocal, opIt, opField:
		name := e.unit.print(n, nothingBehind)
		return Nothing(LackFailed, name+" is "+what+", a number is needed")
	}
	return Nothing(LackFailed, what+" stands where a number is needed")
}

package formula

import (
	"math"
	"strings"
)

// overRows evaluates a function over rows.
func (e *evaluation) overRows(n *node) Scalar {
	set := e.rows(n.rows.set)
	if set.lack.form == TypeAny {
		return set.lack
	}
	if len(n.args) == 0 {
		return Number(float64(len(set.rows)))
	}
	if !e.spend(len(set.rows) * n.rows.size) {
		return tooMuch()
	}
	outer := e.row
	var out Scalar
	switch n.op {
	case "any", "none":
		out = e.anyRow(n, set.rows, true)
		if n.op == "none" && out.form == TypeBool {
			out.num = 1 - out.num
		}
	case "all":
		if out = e.anyRow(n, set.rows, false); out.form == TypeBool {
			out.num = 1 - out.num
		}
	case "count":
		out = e.countRows(n, set.rows)
	case "names":
		out = e.nameRows(n, set.rows)
	default:
		out = e.foldRows(n, set.rows)
	}
	e.row = outer
	return out
}

// anyRow tells whether the condition is as wanted for a row.
func (e *evaluation) anyRow(n *node, rows []Row, wanted bool) Scalar {
	lack := Truth(false)
	for _, e.row = range rows {
		v := e.eval(n.args[0])
		if v.form != TypeBool {
			if lack = graver(lack, v); v.Lack() == LackFailed {
				return v
			}
		} else if (v.num == 1) == wanted {
			return Truth(true)
		}
	}
	return lack
}

func (e *evaluation) countRows(n *node, rows []Row) Scalar {
	lack, count := Truth(true), 0.0
	for _, e.row = range rows {
		v := e.eval(n.args[0])
		if v.form != TypeBool {
			if lack = graver(lack, v); v.Lack() == LackFailed {
				return v
			}
			continue
		}
		count += v.num
	}
	if lack.form == TypeAny {
		return lack
	}
	return Number(count)
}

// foldRows adds up, or finds the mean, least or greatest.
func (e *evaluation) foldRows(n *node, rows []Row) Scalar {
	lack, out, count := Truth(true), 0.0, 0.0
	for _, e.row = range rows {
		v := e.eval(n.args[0])
		if v.form != TypeNumber {
			if v = e.noNumber(n.args[0], v); v.Lack() == LackFailed {
				return v
			}
			lack = graver(lack, v)
			continue
		}
		if count++; count == 1 {
			out = v.num
			continue
		}
		switch n.op {
		case "min_of":
			out = math.Min(out, v.num)
		case "max_of":
			out = math.Max(out, v.num)
		default:
			out += v.num
		}
	}
	switch {
	case lack.Lack() > LackNull:
		return lack
	case count == 0 && (len(rows) > 0 || n.op != "sum"):
		return Nothing(LackNull, "no row of "+n.text+" has a value")
	case n.op == "avg_of":
		out /= count
	}
	return Number(out)
}

const (
	mostNames = 5   // that names lists
	longName  = 100 // characters of one
)

// nameRows lists the rows for which the condition is true: "a, b, c, d, e and 4 more".
func (e *evaluation) nameRows(n *node, rows []Row) Scalar {
	var out strings.Builder
	lack, count := Truth(true), 0
	for _, e.row = range rows {
		v := e.eval(n.args[0])
		if v.form != TypeBool {
			if lack = graver(lack, v); v.Lack() == LackFailed {
				return v
			}
			continue
		}
		if v.num != 1 {
			continue
		}
		if count++; count > mostNames {
			continue
		}
		name := e.eval(n.args[1])
		if name.Lack() == LackFailed {
			return name
		}
		if count > 1 {
			out.WriteString(", ")
		}
		out.WriteString(plainName(name))
	}
	switch {
	case count == 0 && lack.form == TypeAny:
		return lack
	case count > mostNames:
		out.WriteString(" and " + formatNumber(float64(count-mostNames)) + " more")
	}
	return Text(out.String())
}

// plainName makes a text of a server fit to stand in a sentence.
func plainName(v Scalar) string {
	if v.form == TypeAny {
		return "?"
	}
	text := v.String()
	if text == "" {
		return `""`
	}
	count := 0
	for i := range text {
		if count++; count > longName {
			text = text[:i] + "…"
			break
		}
	}
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return ' '
		}
		return r
	}, text)
}

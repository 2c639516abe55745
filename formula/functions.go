package formula

import (
	"math"
	"sync"
)

// class says how a function treats its arguments.
type class uint8

const (
	classWindow  class = iota // first argument a name, then lengths of time: reads history
	classValue                // works on values
	classGroup                // makes one value of all instances, or of all rows
	classRows                 // works on rows alone
	classHas                  // tells whether there is a value
	classText                 // makes a text
	classVersion              // makes a number of a version written in quotes
)

// function is the declaration of one function of the language.
type function struct {
	name     string
	class    class
	min, max int // number of arguments
	usage    string
}

// functionTable gives the functions of the language; docs/formulas.md describes each. Nobody changes it.
var functionTable = sync.OnceValue(func() []function {
	return []function{
		{"rate", classWindow, 1, 2, `rate(name[, "1h"])`},
		{"delta", classWindow, 1, 2, `delta(name[, "1h"])`},
		{"avg_over", classWindow, 1, 2, `avg_over(name[, "1h"])`},
		{"min_over", classWindow, 1, 2, `min_over(name[, "1h"])`},
		{"max_over", classWindow, 1, 2, `max_over(name[, "1h"])`},
		{"changed", classWindow, 1, 2, `changed(name[, "1h"])`},
		{"forecast", classWindow, 1, 3, `forecast(name[, "6h"[, "1d"]])`},
		{"slope", classWindow, 1, 2, `slope(name[, "6h"])`},
		{"usual", classWindow, 1, 1, `usual(name)`},
		{"usual_rate", classWindow, 1, 1, `usual_rate(name)`},
		{"week_ago", classWindow, 1, 1, `week_ago(name)`},
		{"greatest", classValue, 2, 20, `greatest(a, b, …)`},
		{"least", classValue, 2, 20, `least(a, b, …)`},
		{"percent", classValue, 2, 2, `percent(part, whole)`},
		{"abs", classValue, 1, 1, `abs(a)`},
		{"round", classValue, 1, 2, `round(a[, digits])`},
		{"floor", classValue, 1, 1, `floor(a)`},
		{"ceil", classValue, 1, 1, `ceil(a)`},
		{"round_up", classValue, 2, 2, `round_up(a, step)`},
		{"round_down", classValue, 2, 2, `round_down(a, step)`},
		{"clamp", classValue, 3, 3, `clamp(a, least, greatest)`},
		{"lower", classText, 1, 1, `lower(text)`},
		{"upper", classText, 1, 1, `upper(text)`},
		{"concat", classText, 2, 20, `concat(a, b, …)`},
		{"version", classVersion, 1, 1, `version("8.0.12")`},
		{"has", classHas, 1, 1, `has(a)`},
		{"sum", classGroup, 1, 1, `sum(a)`},
		{"avg_of", classGroup, 1, 1, `avg_of(a)`},
		{"min_of", classGroup, 1, 1, `min_of(a)`},
		{"max_of", classGroup, 1, 1, `max_of(a)`},
		{"count_of", classGroup, 1, 1, `count_of(a)`},
		{"only", classGroup, 2, 2, `only(a, "instance")`},
		{"any", classRows, 2, 2, `any(rows, condition)`},
		{"all", classRows, 2, 2, `all(rows, condition)`},
		{"none", classRows, 2, 2, `none(rows, condition)`},
		{"count", classRows, 1, 2, `count(rows[, condition])`},
		{"names", classRows, 3, 3, `names(rows, condition, .field)`},
	}
})

func lookupFunction(name string) (function, bool) {
	for _, f := range functionTable() {
		if f.name == name {
			return f, true
		}
	}
	return function{}, false
}

// constant gives the number that a word stands for.
func constant(word string) (float64, bool) {
	switch word {
	case "KiB":
		return 1 << 10, true
	case "MiB":
		return 1 << 20, true
	case "GiB":
		return 1 << 30, true
	}
	return 0, false
}

// finite gives v, or NaN for what no number may be.
func finite(v float64) float64 {
	if v-v != 0 {
		return math.NaN()
	}
	return v
}

// binary gives the arithmetic of two numbers; NaN is "no value". Nothing else in the package adds,
// divides or compares values of a formula, so columns and programs can't drift apart in it.
func binary(op string, a, b float64) float64 {
	switch op {
	case "+":
		return finite(a + b)
	case "-":
		return finite(a - b)
	case "*":
		return finite(a * b)
	case "/":
		return finite(a / b)
	case "%":
		return finite(math.Mod(a, b))
	case "**":
		// math.Pow gives 1 for a NaN to the power of 0 and for 1 to the power of NaN.
		if a != a || b != b {
			return math.NaN()
		}
		return finite(math.Pow(a, b))
	case "percent":
		return finite(100 * a / b)
	case "greatest":
		return math.Max(a, b) // NaN if one is
	case "least":
		return math.Min(a, b)
	case "round":
		if b == 0 {
			return finite(math.Round(a))
		}
		scale := math.Pow(10, b)
		if r := finite(math.Round(a*scale) / scale); r == r || a != a {
			return r
		}
		return finite(a) // too large to have digits behind the point
	case "round_up", "round_down":
		if !(b > 0) {
			return math.NaN()
		}
		if op == "round_up" {
			return finite(math.Ceil(a/b) * b)
		}
		return finite(math.Floor(a/b) * b)
	}
	return compare(op, a, b)
}

// compare gives 1 for true, 0 for false and NaN when a side has no value.
func compare(op string, a, b float64) float64 {
	if a != a || b != b {
		return math.NaN()
	}
	var yes bool
	switch op {
	case "==":
		yes = a == b
	case "!=":
		yes = a != b
	case "<":
		yes = a < b
	case "<=":
		yes = a <= b
	case ">":
		yes = a > b
	case ">=":
		yes = a >= b
	}
	if yes {
		return 1
	}
	return 0
}

// unary is like [binary] for one number.
func unary(op string, a float64) float64 {
	switch op {
	case opNegate:
		return -a
	case "abs":
		return math.Abs(a)
	case "floor":
		return math.Floor(a)
	case "ceil":
		return math.Ceil(a)
	}
	return math.NaN()
}

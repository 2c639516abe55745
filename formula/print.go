package formula

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// formatNumber writes a number in the shortest form that reads back as the same one, integers
// without exponent.
func formatNumber(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// rounded writes a number for people: six digits.
func rounded(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e15 {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// quote writes a text of a monitored server for people: escaped, and cut where it is long.
func quote(text string) string {
	const most = 60
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most]) + "…"
	}
	return strconv.Quote(text)
}

// formatLength writes a window as formulas do: "1h", "90s", "7d".
func formatLength(d time.Duration) string {
	for _, u := range []struct {
		d    time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d%u.d == 0 {
			return strconv.FormatInt(int64(d/u.d), 10) + u.name
		}
	}
	return d.String()
}

// label writes the slot as in a formula.
func (s *slot) label() string {
	if s.group != nil {
		inner := s.group.unit.print(s.group.unit.root, nothingBehind)
		if s.group.fn == "only" {
			inner += ", " + strconv.Quote(s.group.instance)
		}
		return s.group.fn + "(" + inner + ")"
	}
	text := quotedName(s.name)
	if s.fn != "" {
		text = s.fn + "(" + text
		if s.window > 0 {
			text += `, "` + formatLength(s.window) + `"`
		}
		if s.ahead > 0 {
			text += `, "` + formatLength(s.ahead) + `"`
		}
		text += ")"
	}
	if s.ago > 0 {
		text = "week_ago(" + text + ")"
	}
	return text
}

// quotedName writes a name with brackets where a dot alone can't.
func quotedName(name string) string {
	ns, rest, _ := strings.Cut(name, ".")
	if !plainWords(rest) {
		return ns + "[" + strconv.Quote(rest) + "]"
	}
	return name
}

// member writes a field of it or of a row, "#".
func member(of, field string) string {
	switch {
	case !plainWords(field):
		return of + "[" + strconv.Quote(field) + "]"
	case of == "#":
		return "." + field
	}
	return of + "." + field
}

// plainWords reports whether a name can be written with dots alone.
func plainWords(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		for i, r := range part {
			letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
			if !letter && (i == 0 || r < '0' || r > '9') {
				return false
			}
		}
		if part == "" {
			return false
		}
	}
	return true
}

// strength is how tightly an operator binds, as in expr's grammar.
func strength(op string) int {
	switch op {
	case opIf, opElse: // expr lets ?? bind tightest but not stand beside others: it gets parentheses everywhere
		return 1
	case "||":
		return 10
	case "&&":
		return 15
	case "==", "!=", "<", "<=", ">", ">=", opIn, opMatches, "contains", "startsWith", "endsWith":
		return 20
	case "+", "-":
		return 30
	case "!":
		return 50
	case "*", "/", "%":
		return 60
	case opNegate:
		return 90
	case "**":
		return 100
	}
	return 1000
}

func nothingBehind(*node) string { return "" }

// print writes a node; after gives what stands behind each name and each function over rows, such as "=412.3".
func (u *unit) print(n *node, after func(*node) string) string {
	var out strings.Builder
	put := func(i, least int) {
		text := u.print(n.args[i], after)
		if s := strength(n.args[i].op); s < least {
			text = "(" + text + ")"
		}
		out.WriteString(text)
	}
	s := strength(n.op)
	switch n.op {
	case opNumber:
		if n.text != "" {
			out.WriteString(n.text)
			break
		}
		out.WriteString(formatNumber(n.num))
	case opText:
		out.WriteString(strconv.Quote(n.text))
	case opBool:
		out.WriteString(strconv.FormatBool(n.num == 1))
	case opSlot:
		out.WriteString(u.slots[n.index].label() + after(n))
	case opLocal:
		out.WriteString(n.text + after(n))
	case opIt:
		out.WriteString(member("it", n.text) + after(n))
	case opField:
		out.WriteString(member("#", n.text) + after(n))
	case opIf:
		put(0, s+1)
		out.WriteString(" ? ")
		put(1, s+1)
		out.WriteString(" : ")
		put(2, s+1)
	case opElse:
		put(0, 1000)
		out.WriteString(" ?? ")
		put(1, 1000)
	case "!":
		out.WriteString("not ")
		put(0, s)
	case opNegate:
		out.WriteString("-")
		put(0, s)
	case opIn:
		put(0, s+1)
		out.WriteString(" in [")
		for i := range n.args[1:] {
			if i > 0 {
				out.WriteString(", ")
			}
			put(i+1, 0)
		}
		out.WriteString("]")
	default:
		if s == 1000 {
			u.printCall(n, after, &out)
			break
		}
		left, right := s, s+1
		if n.op == "**" {
			left, right = s+1, s
		}
		put(0, left)
		word := map[string]string{"&&": "and", "||": "or"}[n.op]
		if word == "" {
			word = n.op
		}
		out.WriteString(" " + word + " ")
		put(1, right)
	}
	return out.String()
}

func (u *unit) printCall(n *node, after func(*node) string, out *strings.Builder) {
	out.WriteString(n.op + "(")
	args := n.args
	if n.op == "round" && args[1].op == opNumber && args[1].num == 0 {
		args = args[:1]
	}
	if n.rows != nil {
		out.WriteString(n.text)
	}
	for i, a := range args {
		if i > 0 || n.rows != nil {
			out.WriteString(", ")
		}
		out.WriteString(u.print(a, after))
	}
	out.WriteString(")")
	if n.rows != nil {
		out.WriteString(after(n))
	}
}

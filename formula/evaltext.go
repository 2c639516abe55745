package formula

import (
	"strings"

	"monolith"
)

// sameScalar is like equal for two scalars that have values.
func sameScalar(a, b Scalar) bool {
	if a.form == b.form {
		return a == b
	}
	if a.form == TypeText {
		a, b = b, a
	}
	if a.form != TypeNumber || b.form != TypeText {
		return false
	}
	if len(b.text) > 64 {
		return false // no number is so long
	}
	n, ok := monolith.ParseNum([]byte(b.text))
	return ok && n.Float64() == a.num
}

// ofText evaluates what works on texts. Long ones count as more work.
func (e *evaluation) ofText(n *node) Scalar {
	v := e.eval(n.args[0])
	if v.form == TypeAny {
		return v
	}
	if n.code == codeIn {
		for _, a := range n.args[1:] {
			if sameScalar(v, e.eval(a)) {
				return Truth(true)
			}
		}
		return Truth(false)
	}
	text := v.String()
	switch n.code {
	case codeMatches:
		if !e.spend(len(text) * (1 + len(n.args[1].text)/16)) {
			return tooMuch()
		}
		return Truth(n.pattern.MatchString(text))
	case codeCase:
		if !e.spend(len(text) / 16) {
			return tooMuch()
		}
		if n.op == opUpper {
			return Text(strings.ToUpper(text))
		}
		return Text(strings.ToLower(text))
	}
	b := e.eval(n.args[1])
	if b.form == TypeAny {
		return b
	}
	part := b.String()
	if !e.spend((len(text) + len(part)) / 16) {
		return tooMuch()
	}
	switch n.op {
	case "contains":
		return Truth(strings.Contains(text, part))
	case "startsWith":
		return Truth(strings.HasPrefix(text, part))
	}
	return Truth(strings.HasSuffix(text, part))
}

func (e *evaluation) concat(n *node) Scalar {
	var text strings.Builder
	lack := Truth(true)
	for _, a := range n.args {
		v := e.eval(a)
		if v.form == TypeAny {
			lack = graver(lack, v)
			continue
		}
		text.WriteString(v.String())
		if text.Len() > maxMade || !e.spend(text.Len()/16) {
			return Nothing(LackFailed, tooLong)
		}
	}
	if lack.form == TypeAny {
		return lack
	}
	return Text(text.String())
}

package alerts

import "strings"

// direction finds on which side of a limit the bad values lie: +1 when the condition wants something to be above the
// limit, −1 when below, 0 when it can't be told (equality, or no comparison).
//
// It reads the text: from the limit outwards to the nearest comparison, through parentheses and calls.
func direction(condition, limit string) int8 {
	tokens := tokens(condition)
	for i, t := range tokens {
		if t != limit {
			continue
		}
		sign := int8(1)
		if i > 0 && (tokens[i-1] == "/" || tokens[i-1] == "-") {
			sign = -1
		}
		if d := towards(tokens, i, -1); d != 0 {
			return d * sign * negated(tokens, i)
		}
		if d := towards(tokens, i, +1); d != 0 {
			return -d * sign * negated(tokens, i)
		}
	}
	return 0
}

// towards looks from a token to one side for the comparison it belongs to. It gives +1 for > and >=.
func towards(tokens []string, from, step int) int8 {
	depth, outermost := 0, 0
	for i := from + step; i >= 0 && i < len(tokens); i += step {
		switch tokens[i] {
		case "(", "[":
			depth += step
		case ")", "]":
			depth -= step
		}
		if outermost = min(outermost, depth); depth > outermost {
			continue // inside something that stands beside
		}
		switch tokens[i] {
		case ">", ">=":
			return 1
		case "<", "<=":
			return -1
		case "==", "!=", "and", "or", "&&", "||", "?", ":":
			return 0
		}
	}
	return 0
}

// negated gives −1 when the limit stands in parentheses behind a not.
func negated(tokens []string, at int) int8 {
	depth := 0
	for i := at - 1; i >= 0; i-- {
		switch tokens[i] {
		case ")":
			depth++
		case "(":
			depth--
			if depth < 0 && i > 0 && (tokens[i-1] == "not" || tokens[i-1] == "!") {
				return -1
			}
		}
	}
	return 1
}

// tokens cuts a formula into words, operators and brackets; texts in quotes are one token.
func tokens(text string) []string {
	var out []string
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			i++
		case c == '"' || c == '\'' || c == '`':
			j := i + 1
			for j < len(text) && text[j] != c {
				if text[j] == '\\' {
					j++
				}
				j++
			}
			j = min(j+1, len(text))
			out = append(out, text[i:j])
			i = j
		case isWordByte(c) || c == '.':
			j := i
			for j < len(text) && (isWordByte(text[j]) || text[j] == '.') {
				j++
			}
			out = append(out, text[i:j])
			i = j
		default:
			n := 1
			for _, op := range []string{">=", "<=", "==", "!=", "&&", "||", "??", "**"} {
				if strings.HasPrefix(text[i:], op) {
					n = 2
				}
			}
			out = append(out, text[i:i+n])
			i += n
		}
	}
	return out
}

package poller

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxStatement is how much of a statement text is kept, in bytes; maxMasked is how much of it is
// looked at. A statement may be as long as max_allowed_packet.
const (
	maxStatement = 1024
	maxMasked    = 8 * maxStatement
)

// statementText makes a statement text fit to leave the collector: literals masked unless the server is
// set to keep them, one line, valid and printable, cut to [maxStatement] bytes. Texts that deal with
// passwords are masked in any case.
func statementText(text []byte, keep bool) string {
	if len(text) > maxMasked {
		text = text[:maxMasked]
	}
	s := string(text)
	if !keep || namesSecret(s) {
		s = maskSQL(s)
	}
	return cut(strings.Join(strings.Fields(printable(s)), " "), maxStatement)
}

// secretWords are what statements that carry a password have in common.
var secretWords = []string{"password", "identified", "authentication_string", "secret", "wsrep_sst_auth",
	"aes_", "des_encrypt", "encode", "decode", "passphrase", "token"}

func namesSecret(s string) bool {
	low := strings.ToLower(s)
	for _, w := range secretWords {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}

// maskSQL replaces every literal of a statement by ? and every plain comment by a space; lists of
// literals are collapsed. What is cut off inside a literal or comment counts as part of it.
//
// How a text is divided depends on things nobody can see from here: the sql_mode of the session that
// sent it (NO_BACKSLASH_ESCAPES, ANSI_QUOTES) and whether the server's version takes the content of
// /*!50003 … */ for SQL. Where they matter the text is read in every way, and only what lies outside
// of literals in all of them is shown.
func maskSQL(s string) string {
	hidden := make([]byte, len(s))
	escapes := []reading{{single: true, double: true}}
	if strings.Contains(s, `\`) {
		escapes = append(escapes, reading{single: true}, reading{})
	}
	for _, r := range escapes {
		r.mark(s, hidden)
		if strings.Contains(s, "/*!") || strings.Contains(s, "/*M!") {
			r.skipVersioned = true
			r.mark(s, hidden)
		}
	}
	var out strings.Builder
	out.Grow(len(s))
	for i := 0; i < len(s); {
		if hidden[i] == 0 {
			out.WriteByte(s[i])
			i++
			continue
		}
		literal := false
		for i < len(s) && hidden[i] != 0 {
			literal = literal || hidden[i] == inLiteral
			i++
		}
		if literal {
			out.WriteByte('?')
		} else {
			out.WriteByte(' ')
		}
	}
	return collapseLists(out.String())
}

// What a hidden byte belongs to.
const (
	inLiteral byte = 1
	inComment byte = 2
)

// reading is one way to divide a text into tokens.
type reading struct {
	single, double bool // a backslash escapes within '…' and within "…"
	skipVersioned  bool // /*!50003 … */ is a comment, since the server is older
}

// mark marks the bytes of s that belong to literals and comments. Marks are only added.
func (r reading) mark(s string, hidden []byte) {
	mark := func(from, to int, what byte) {
		for i := from; i < to; i++ {
			if hidden[i] != inLiteral {
				hidden[i] = what
			}
		}
	}
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '\'' || c == '"':
			end := endOfQuoted(s, i, c == '\'' && r.single || c == '"' && r.double)
			mark(i, end, inLiteral)
			i = end
		case c == '`':
			i = endOfQuoted(s, i, false)
		case c == '#', c == '-' && strings.HasPrefix(s[i:], "--") && (i+2 == len(s) || s[i+2] <= ' '):
			end := strings.IndexByte(s[i:], '\n')
			if end < 0 {
				end = len(s) - i
			}
			mark(i, i+end, inComment)
			i += end
		case c == '/' && strings.HasPrefix(s[i:], "/*"):
			if n := executable(s[i:]); n > 0 && (!r.skipVersioned || s[i+2] == '+') {
				i += n // its content is SQL; the closing */ is no token that matters
				continue
			}
			end := strings.Index(s[i+2:], "*/")
			if end < 0 {
				end = len(s)
			} else {
				end += i + 4
			}
			mark(i, end, inComment)
			i = end
		case c >= '0' && c <= '9', c == '.' && i+1 < len(s) && isDigit(s[i+1]) && (i == 0 || !isWord(s[i-1]) && s[i-1] != '`'):
			end := i + 1
			for end < len(s) && (isWord(s[end]) || s[end] == '.' ||
				(s[end] == '+' || s[end] == '-') && (s[end-1] == 'e' || s[end-1] == 'E') && !strings.HasPrefix(s[i:], "0x")) {
				end++
			}
			mark(i, end, inLiteral)
			i = end
		case isWord(c):
			for i < len(s) && isWord(s[i]) {
				i++
			}
		default:
			i++
		}
	}
}

// endOfQuoted gives the place behind the quoted text that begins at i. A doubled quote stands for itself.
func endOfQuoted(s string, i int, backslash bool) int {
	quote := s[i]
	for i++; i < len(s); i++ {
		switch {
		case s[i] == '\\' && backslash:
			i++
		case s[i] == quote:
			if i+1 < len(s) && s[i+1] == quote {
				i++
				continue
			}
			return i + 1
		}
	}
	return len(s)
}

// executable gives the length of the opening of a comment whose content the server reads as SQL or as
// hints (/*!50003, /*M!100100, /*+), or 0 for a plain comment.
func executable(s string) int {
	n := 0
	switch {
	case strings.HasPrefix(s, "/*!"), strings.HasPrefix(s, "/*+"):
		n = 3
	case strings.HasPrefix(s, "/*M!"):
		n = 4
	default:
		return 0
	}
	for s[2] != '+' && n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// isWord reports whether c can stand in an unquoted name. Bytes above 127 can.
func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '_' || c == '$' || c >= 0x80
}

// collapseLists turns "(?, ?, ?), (?, ?, ?)" into "(?, …), …", so that statements which differ only in
// the length of a list read alike.
func collapseLists(s string) string {
	var out strings.Builder
	out.Grow(len(s))
	for i := 0; i < len(s); i++ {
		out.WriteByte(s[i])
		if s[i] != '?' {
			continue
		}
		if end := skipRepeats(s, i+1, "?"); end > i+1 {
			out.WriteString(", …")
			i = end - 1
		}
	}
	s = out.String()
	for _, group := range []string{"(?, …)", "(?)"} {
		i := strings.Index(s, group)
		if i < 0 {
			continue
		}
		if end := skipRepeats(s, i+len(group), group); end > i+len(group) {
			s = s[:i+len(group)] + ", …" + s[end:]
		}
	}
	return s
}

// skipRepeats gives the place behind all ", item" that follow i.
func skipRepeats(s string, i int, item string) int {
	for {
		rest := strings.TrimLeft(s[i:], " \t\r\n")
		rest, comma := strings.CutPrefix(rest, ",")
		rest, again := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), item)
		if !comma || !again {
			return i
		}
		i = len(s) - len(rest)
	}
}

// printable replaces what can't be decoded and what no page, feed or XML document may carry. Line feeds
// and tabs stay.
func printable(s string) string {
	ok := true
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' && c != '\n' && c != '\t' || c >= 0x7f {
			ok = false
			break
		}
	}
	if ok {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return '\n'
		case unicode.IsControl(r), r == 0xFFFE, r == 0xFFFF, unicode.Is(unicode.Bidi_Control, r):
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// cut shortens s to at most limit bytes at the border of a character, with a mark.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	limit -= len("…")
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

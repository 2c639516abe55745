package poller

import (
	"slices"
	"strings"
)

// maxErrorText is how much of a replication error is kept, in bytes.
const maxErrorText = 4096

// errorText makes the text of an applier's error fit to leave the collector. It quotes values of rows and
// whole statements, which are masked unless the server is set to keep them.
func errorText(text string, keepValues bool) string {
	if len(text) > 2*maxErrorText {
		text = text[:2*maxErrorText]
	}
	text = printable(text)
	if !keepValues || namesSecret(text) {
		text = maskError(text)
	}
	return cut(text, maxErrorText)
}

// maskError masks the values inside an error message. A message quotes without escaping, so where a
// quoted value ends can only be told from the words that follow it. Names of tables, keys, columns,
// files and accounts stay: without them the message helps nobody.
func maskError(s string) string {
	query := ""
	if i := strings.Index(s, "Query: '"); i >= 0 {
		query = "Query: '" + maskSQL(strings.TrimSuffix(s[i+len("Query: '"):], "'")) + "'"
		s = s[:i]
	}
	// … Error '…' on query. Default database: '…'.
	before, after := "", ""
	if to := strings.LastIndex(s, "' on query."); to >= 0 {
		if from := strings.Index(s[:to], "Error '"); from >= 0 {
			before, s, after = s[:from]+"Error: ", s[from+len("Error '"):to], s[to+1:]
		}
	}
	for _, v := range errorValues {
		s = maskBetween(s, v.before, v.after)
	}
	return maskQuoted(before) + maskQuoted(s) + maskQuoted(after) + query
}

// errorValues are the places where the server's messages quote values, with what stands around them.
// Without an ending the value runs to the last quote of the text.
var errorValues = []struct {
	before string
	after  []string
}{
	{"Duplicate entry '", []string{"' for key"}},
	{" value: '", []string{"' for column", "' for function"}},
	{"near '", []string{"' at line"}},
	{"partition for value ", []string{", Error_code"}},
}

// maskBetween replaces what stands between before and the last of the endings by ?.
func maskBetween(s, before string, after []string) string {
	i := strings.Index(s, before)
	if i < 0 {
		return s
	}
	from := i + len(before)
	end := -1
	for _, a := range after {
		end = max(end, strings.LastIndex(s[from:], a))
	}
	if end < 0 {
		end = strings.LastIndexByte(s[from:], '\'')
	}
	if end < 0 {
		return s[:from] + "?"
	}
	return s[:from] + "?" + s[from+end:]
}

// nameWords stand before quotes that hold names and places, not values.
var nameWords = []string{"table", "tables", "view", "key", "column", "columns", "index", "database", "database:", "schema",
	"file", "log", "from", "user", "for", "procedure", "function", "trigger", "event", "constraint", "partition", "variable",
	"master", "source", "transaction", "gtid", "engine", "channel", "host", "command", "in", "collation", "charset", "set", "type",
	"definer", "to", "table:", "thread"}

// maskQuoted masks what stands between single or double quotes, save for names after one of nameWords
// and the ? that stands there already. An apostrophe within a word is none; a quote ends a text
// only where no letter follows it. A text that is not closed is masked to its end.
func maskQuoted(s string) string {
	var out strings.Builder
	for i := 0; i < len(s); {
		c := s[i]
		if c != '\'' && c != '"' || i > 0 && isWord(s[i-1]) {
			out.WriteByte(c)
			i++
			continue
		}
		end := i + 1
		for end < len(s) && (s[end] != c || end+1 < len(s) && isWord(s[end+1])) {
			end++
		}
		value := s[i+1 : end]
		out.WriteByte(c)
		if looksLikeName(value) && followsNameWord(s[:i]) {
			out.WriteString(value)
		} else if value != "" {
			out.WriteByte('?')
		}
		if end < len(s) {
			out.WriteByte(c)
			end++
		}
		i = end
	}
	return out.String()
}

func followsNameWord(before string) bool {
	before = strings.ToLower(strings.TrimRight(before[max(0, len(before)-64):], " "))
	word := before[strings.LastIndexAny(before, " (,;.'\"\n\t")+1:]
	return slices.Contains(nameWords, word)
}

// clauses are what the server calls the parts of a statement: "Unknown column 'x' in 'field list'".
var clauses = []string{"field list", "where clause", "on clause", "having clause", "order clause", "group statement"}

// looksLikeName reports whether a text could be the name of a table, file, account or host.
func looksLikeName(s string) bool {
	if slices.Contains(clauses, s) {
		return true
	}
	for i := 0; i < len(s); i++ {
		if !isWord(s[i]) && !strings.ContainsRune(".-/@:#%[]", rune(s[i])) {
			return false
		}
	}
	return len(s) <= 192
}

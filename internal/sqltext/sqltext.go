// Package sqltext finds the SQL that stands in our source and tells whether a server was sent it, for tests: so the list of
// our statements is the source itself, and none can be forgotten.
package sqltext

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Text is a string of the source that is SQL, or a part of a statement.
type Text struct {
	Where string // file:line
	SQL   string
}

var (
	// begins are the words by which a statement, or a part that is put behind another one, is known. They are written in
	// capitals in our source, as no other text is.
	begins = regexp.MustCompile(`^\s*(SELECT|INSERT INTO|UPDATE|DELETE FROM|REPLACE INTO|SHOW|SET (SESSION|autocommit|time_zone|sql_mode|@)|DO|KILL|WITH [a-z]+ AS|` +
		`AND|OR|WHERE|FROM|ORDER BY|GROUP BY|(LEFT )?JOIN|ON DUPLICATE KEY|LIMIT|UNION|HAVING)\s`)
	// privilege are the names of rights that begin like statements.
	privilege = regexp.MustCompile(`^(SELECT|UPDATE|SHOW VIEW.*|SHOW DATABASES|SHOW CREATE ROUTINE)$`)
	space     = regexp.MustCompile(`\s+`)
	verb      = regexp.MustCompile(`%[-+# 0]*[0-9]*(\.[0-9]+)?[a-zA-Z]`)
	minus     = regexp.MustCompile(`([=(,<>] ?)-\?`)
	list      = regexp.MustCompile(`\?( ?, ?\?)+`)
	rows      = regexp.MustCompile(`\(\?\)( ?, ?\(\?\))+`)
	comment   = regexp.MustCompile(`/\*.*?\*/`)
)

// Source gives the SQL in the Go files of a folder, without those of tests and those that are named, without what reads
// SQLite's own tables, and without patterns of statements, which end in "%", in order.
func Source(dir string, without ...string) (texts []Text, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || slices.Contains(without, filepath.Base(file)) {
			continue
		}
		tree, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(lit.Value); err == nil && begins.MatchString(text+" ") && !strings.Contains(text, "sqlite_") && !strings.HasSuffix(text, "%") && !privilege.MatchString(text) {
				at := set.Position(lit.Pos())
				texts = append(texts, Text{fmt.Sprintf("%s:%d", filepath.Base(at.Filename), at.Line), text})
			}
			return true
		})
	}
	return texts, nil
}

// Normal gives a statement with single spaces, without comments, and with ? for each value: what is sent with other values is
// the same. Lists of values are one, and so are rows.
func Normal(sql string) string {
	var out strings.Builder
	for i := 0; i < len(sql); {
		c := sql[i]
		switch {
		case c == '\'' || c == '"':
			i = afterQuote(sql, i)
			out.WriteByte('?')
		case isDigit(c) && (i == 0 || !isWord(sql[i-1])):
			for i < len(sql) && (isWord(sql[i]) || sql[i] == '.') {
				i++
			}
			out.WriteByte('?')
		default:
			out.WriteByte(c)
			i++
		}
	}
	text := strings.ReplaceAll(out.String(), "_binary?", "?")
	text = strings.TrimSpace(space.ReplaceAllString(comment.ReplaceAllString(text, " "), " "))
	text = minus.ReplaceAllString(text, "$1?")
	text = list.ReplaceAllString(text, "?")
	return rows.ReplaceAllString(text, "(?)")
}

// afterQuote gives the place behind the quoted text that begins at i.
func afterQuote(sql string, i int) int {
	quote := sql[i]
	for i++; i < len(sql); i++ {
		switch sql[i] {
		case '\\':
			i++
		case quote:
			return i + 1
		}
	}
	return len(sql)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return isDigit(c) || c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// Sent reports whether one of the statements, which are normal, is made of the text: what stands between its values and
// verbs comes in it in order.
func (t Text) Sent(statements []string) bool {
	parts := t.parts()
	return slices.ContainsFunc(statements, func(s string) bool {
		for _, part := range parts {
			_, after, ok := strings.Cut(s, part)
			if !ok {
				return false
			}
			s = after
		}
		return true
	})
}

func (t Text) parts() (parts []string) {
	for part := range strings.SplitSeq(Normal(openQuotes(verb.ReplaceAllString(t.SQL, "?"))), "?") {
		if part = strings.Trim(part, " ,()"); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// openQuotes drops a quote that the text leaves open, since the value that is put behind it closes it.
func openQuotes(sql string) string {
	if strings.Count(sql, "'")%2 == 1 {
		i := strings.LastIndexByte(sql, '\'')
		return sql[:i] + "?" + sql[i+1:]
	}
	return sql
}

// Aliases gives the names behind AS in a normal statement.
func Aliases(statement string) (names []string) {
	for _, m := range alias.FindAllStringSubmatch(statement, -1) {
		names = append(names, strings.ToLower(m[1]))
	}
	return names
}

var alias = regexp.MustCompile(`\bAS ([A-Za-z_][A-Za-z0-9_]*)\b`)

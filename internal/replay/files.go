package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// kinds of files, by their name.
var kinds = []struct {
	name *regexp.Regexp
	read func(r *Recording, content string) error
}{
	{regexp.MustCompile(`^answers.*\.txt$`), (*Recording).readAnswers},
	{regexp.MustCompile(`names|two-samples|user_statistics`), func(*Recording, string) error { return nil }},
	{regexp.MustCompile(`all_slaves_status.*\.tsv$`), channels("SHOW ALL SLAVES STATUS")},
	{regexp.MustCompile(`replica_status.*\.tsv$`), channels("SHOW REPLICA STATUS")},
	{regexp.MustCompile(`slave[_-]status.*\.(tsv|txt)$`), channels("SHOW SLAVE STATUS")},
	{regexp.MustCompile(`^replication-.*\.tsv$`), channels("SHOW SLAVE STATUS")},
	{regexp.MustCompile(`^status.*\.tsv$`), (*Recording).readStatus},
	{regexp.MustCompile(`^var(iable)?s.*\.tsv$`), (*Recording).readVariables},
	{regexp.MustCompile(`innodb.*\.txt$|^(ytkit|innotop|pt-deadlock|pt-fk).*\.txt$`), (*Recording).readInnoDB},
	{regexp.MustCompile(`processlist.*\.txt$|^recset.*\.txt$`), shown("SHOW FULL PROCESSLIST")},
	{regexp.MustCompile(`^(users|unix-socket|auth-socket|mariadb-10.3-password).*\.tsv$`), shown("ROWS MYSQL.USER")},
	{regexp.MustCompile(`master-status.*\.txt$`), tabbed("SHOW MASTER STATUS", "File", "Position", "Binlog_Do_DB", "Binlog_Ignore_DB", "Executed_Gtid_Set")},
	{regexp.MustCompile(`master-logs.*\.txt$`), tabbed("SHOW BINARY LOGS", "Log_name", "File_size", "Encrypted")},
}

// Load reads a recording from a folder and none below it. By their names it knows files of SHOW GLOBAL STATUS
// (status*.tsv) and SHOW GLOBAL VARIABLES (variables*.tsv, vars*.tsv) as pairs, of the replication status
// (replica_status*.tsv, slave_status*.tsv, all_slaves_status*.tsv) as blocks of pairs, the InnoDB text (*innodb*.txt), the
// process list (*processlist*.txt, recset*.txt) as the client prints it, and answers*.txt, in which each answer
// stands below its statement:
//
//	> SHOW BINARY LOGS
//	Log_name	File_size
//	binlog.000001	157
//	> SHOW GRANTS
//	! 1141 42000 There is no such grant
//	> TABLE mysql.db
//	*************************** 1. row ***************************
//	user: shop
//	host: %
//
// A "TABLE" is the answer to every SELECT from it, "ROWS" are the table's rows, from which a SELECT is computed. In tables with tabs \N is NULL and \n a line's end, as in the
// client's batch mode; in rows of names NULL is NULL. Of two files of a kind the later name wins. Other files are left
// alone; one that can't be read fails the test.
func Load(tb testing.TB, dir string) *Recording {
	tb.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		tb.Fatalf("replay: %v", err)
	}
	var paths []string
	for _, e := range entries {
		if !e.IsDir() {
			paths = append(paths, filepath.Join(dir, e.Name()))
		}
	}
	return LoadFiles(tb, paths...)
}

// LoadFiles is [Load] for single files.
func LoadFiles(tb testing.TB, paths ...string) *Recording {
	tb.Helper()
	r, n := Record(nil, nil), 0
	for _, path := range paths {
		for _, kind := range kinds {
			if !kind.name.MatchString(filepath.Base(path)) {
				continue
			}
			b, err := os.ReadFile(path)
			if err == nil {
				err = kind.read(r, string(b))
			}
			if err != nil {
				tb.Fatalf("replay: %s: %v", path, err)
			}
			n++
			break
		}
	}
	if n == 0 {
		tb.Fatalf("replay: no file of %v is an answer", paths)
	}
	return r.ready()
}

func (r *Recording) readStatus(content string) error {
	r.status = readPairs(content)
	return nil
}

func (r *Recording) readVariables(content string) error {
	r.setVariables(readPairs(content))
	return nil
}

// readPairs reads lines of a name and a value.
func readPairs(content string) []pair {
	var list []pair
	for line := range strings.Lines(content) {
		name, value, ok := strings.Cut(strings.TrimRight(line, "\r\n"), "\t")
		if ok && name != "Variable_name" && !strings.HasPrefix(name, "#") {
			list = append(list, pair{name: name, value: unescape(value)})
		}
	}
	return list
}

var escapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\t`, "\t", `\0`, "\x00")

func unescape(s string) string { return escapes.Replace(s) }

// readInnoDB reads the text alone or with the client's line about the row.
func (r *Recording) readInnoDB(content string) error {
	if _, after, ok := strings.Cut(content, "Status:"); ok && strings.HasPrefix(content, "***") {
		content = after
	}
	r.results["SHOW ENGINE INNODB STATUS"] = Table([]string{"Type", "Name", "Status"}, []string{"InnoDB", "", content})
	return nil
}

func shown(statement string) func(*Recording, string) error {
	return func(r *Recording, content string) error {
		r.results[statement] = readTable(content)
		return nil
	}
}

// channels reads blocks of pairs, or the client's \G.
func channels(statement string) func(*Recording, string) error {
	return func(r *Recording, content string) error {
		read := readVertical
		if first, _, _ := strings.Cut(content, "\n"); strings.Contains(first, "\t") {
			read = readBlocks
		}
		r.results[statement] = read(content)
		return nil
	}
}

func tabbed(statement string, columns ...string) func(*Recording, string) error {
	return func(r *Recording, content string) error {
		result := Table(nil)
		for line := range strings.Lines(content) {
			row := cells(strings.TrimRight(line, "\r\n"))
			for len(result.Columns) < len(row) && len(result.Columns) < len(columns) {
				result.Columns = append(result.Columns, Column{Name: columns[len(result.Columns)]})
			}
			result.Rows = append(result.Rows, row)
		}
		for i, row := range result.Rows {
			if len(row) != len(result.Columns) {
				return fmt.Errorf("line %d has %d columns, another one %d", i+1, len(row), len(result.Columns))
			}
		}
		r.results[statement] = result
		return nil
	}
}

// readAnswers reads answers that stand below their statements.
func (r *Recording) readAnswers(content string) error {
	for i, block := range strings.Split("\n"+content, "\n> ") {
		if i == 0 {
			continue
		}
		statement, body, _ := strings.Cut(block, "\n")
		result := &Result{}
		switch fields := strings.SplitN(strings.TrimSpace(body), " ", 4); {
		case fields[0] == "!" && len(fields) == 4:
			code, err := strconv.ParseUint(fields[1], 10, 16)
			if err != nil {
				return fmt.Errorf("%s: error %q is no number", statement, fields[1])
			}
			result.Err = &Error{uint16(code), fields[2], fields[3]}
		case strings.Contains(body, "\t") || strings.HasPrefix(body, "*") || fields[0] != "":
			result = readTable(body)
		}
		r.results[strings.ToUpper(normal(statement))] = result
	}
	return nil
}

// readTable reads rows in one of the client's forms: the vertical one (\G), the one with frames (-t), or that with
// tabs and a line of names (-B).
func readTable(content string) *Result {
	content = strings.ReplaceAll(content, "\r\n", "\n")
	first, _, _ := strings.Cut(strings.TrimSpace(content), "\n")
	switch {
	case strings.HasPrefix(first, "+-"):
		return readFramed(content)
	case strings.HasPrefix(first, "***"):
		return readVertical(content)
	}
	return readTabs(content)
}

func readTabs(content string) *Result {
	result := &Result{}
	for line := range strings.Lines(strings.TrimRight(content, "\n")) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "#"):
		case result.Columns == nil:
			for _, name := range strings.Split(line, "\t") {
				result.Columns = append(result.Columns, Column{Name: name})
			}
		default:
			row := cells(line)
			for len(row) < len(result.Columns) { // an editor cut the tabs at the end
				row = append(row, []byte{})
			}
			result.Rows = append(result.Rows, row[:len(result.Columns)])
		}
	}
	return result
}

func cells(line string) Row {
	var row Row
	for _, cell := range strings.Split(line, "\t") {
		if cell == `\N` {
			row = append(row, nil)
			continue
		}
		row = append(row, []byte(unescape(cell)))
	}
	return row
}

// rowsBuilder puts rows of pairs together.
type rowsBuilder struct{ result Result }

func (b *rowsBuilder) add(names, values []string) {
	if b.result.Columns == nil {
		for _, name := range names {
			b.result.Columns = append(b.result.Columns, Column{Name: name})
		}
	}
	row := make(Row, len(b.result.Columns)) // a pair that a row does not have is NULL
	for i, name := range names {
		_, at := (&Result{Columns: b.result.Columns}).find(name)
		if at >= 0 && values[i] != "NULL" {
			row[at] = []byte(values[i])
		}
	}
	b.result.Rows = append(b.result.Rows, row)
}

// readBlocks reads pairs with tabs.
func readBlocks(content string) *Result {
	var b rowsBuilder
	for block := range strings.SplitSeq(strings.TrimSpace(content), "\n\n") {
		var names, values []string
		for line := range strings.Lines(block) {
			name, value, ok := strings.Cut(strings.TrimRight(line, "\n"), "\t")
			if ok && !strings.HasPrefix(name, "#") {
				names, values = append(names, name), append(values, unescape(value))
			}
		}
		if names != nil {
			b.add(names, values)
		}
	}
	return &b.result
}

// readVertical reads the client's \G. The colons stand below each other; a line without one there goes on with the
// value above.
func readVertical(content string) *Result {
	var b rowsBuilder
	var names, values []string
	colon := -1
	flush := func() {
		if names != nil {
			b.add(names, values)
		}
		names, values, colon = nil, nil, -1
	}
	for line := range strings.Lines(content) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "***") && strings.Contains(line, ". row ") {
			flush()
			continue
		}
		if colon < 0 {
			colon = strings.IndexByte(line, ':')
		}
		if name := strings.TrimLeft(line[:max(min(colon, len(line)), 0)], " "); colon >= 0 && len(line) > colon && line[colon] == ':' && isName(name) {
			names = append(names, name)
			values = append(values, strings.TrimPrefix(line[colon+1:], " "))
		} else if len(values) > 0 && line != "" {
			values[len(values)-1] += "\n" + line
		}
	}
	flush()
	return &b.result
}

func isName(s string) bool {
	for i := range len(s) {
		if !isWord(s, i) {
			return false
		}
	}
	return s != ""
}

// readFramed reads the client's -t.
func readFramed(content string) *Result {
	result := &Result{}
	for line := range strings.Lines(content) {
		line = strings.TrimRight(line, " \n")
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		var row Row
		for _, cell := range strings.Split(strings.Trim(line, "|"), "|") {
			cell = strings.TrimSpace(cell)
			if cell == "NULL" {
				row = append(row, nil)
				continue
			}
			row = append(row, []byte(cell))
		}
		switch {
		case result.Columns == nil:
			for _, name := range row {
				result.Columns = append(result.Columns, Column{Name: string(name)})
			}
		case len(row) == len(result.Columns):
			result.Rows = append(result.Rows, row)
		}
	}
	return result
}

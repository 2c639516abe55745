package poller

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMaskSQL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{"SELECT 1", "SELECT ?"},
		{"SELECT * FROM t1 WHERE a='x' AND b = \"y\" AND `c'd` = 5", "SELECT * FROM t1 WHERE a=? AND b = ? AND `c'd` = ?"},
		{"SELECT 'it''s', 'a\\'b', \"q\"\"q\"", "SELECT ?, …"},
		{"SELECT x'6162', 0x6162, b'01', N'n', _utf8mb4'u'", "SELECT x?, …, b?, N?, _utf8mb4?"},
		{"SELECT -1.5e-3, .5, 1e5 FROM t WHERE id IN (1, 2,3 ,4)", "SELECT -?, … FROM t WHERE id IN (?, …)"},
		{"INSERT INTO t VALUES (1,'a'),(2,'b'),(3,'c')", "INSERT INTO t VALUES (?, …), …"},
		{"INSERT INTO t VALUES (1),(2)", "INSERT INTO t VALUES (?), …"},
		{"SELECT /* card 4111 */ a -- it's 5\nFROM t # 'x\nWHERE 1", "SELECT a FROM t WHERE ?"},
		{"SELECT /*!40001 SQL_NO_CACHE */ * FROM t WHERE k='v'", "SELECT * FROM t WHERE k=?"},
		{"SELECT /*+ MAX_EXECUTION_TIME(1000) */ a FROM t", "SELECT /*+ MAX_EXECUTION_TIME(?) */ a FROM t"},
		{"SELECT a--1, b FROM t", "SELECT a--?, b FROM t"},
		{"CREATE USER u IDENTIFIED BY 'pw'", "CREATE USER u IDENTIFIED BY ?"},
		{"SET PASSWORD FOR 'u'@'h' = PASSWORD('pw')", "SET PASSWORD FOR ?@? = PASSWORD(?)"},
		{"SELECT 'cut off inside", "SELECT ?"},
		{"SELECT 1 /* cut off 'inside", "SELECT ?"},
		{"SELECT 'bytes \xff\xfe\x00' FROM t", "SELECT ? FROM t"},
	} {
		if got := statementText([]byte(c.in), false); got != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

// TestMaskSQLReadsEveryWay shows that a secret is hidden whatever the sql_mode of its session was.
func TestMaskSQLReadsEveryWay(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`SELECT 'a\' , 'hunter2' , 'b'`,           // NO_BACKSLASH_ESCAPES: three texts
		`SELECT 'a\' hunter2 '`,                   // backslashes escape: one text
		`SELECT "a\", 'hunter2', "b"`,             // ANSI_QUOTES: names in double quotes
		`SELECT "a\" hunter2 "`,                   // no ANSI_QUOTES
		`SELECT /*!99999 don't */ 'hunter2'`,      // too new for the server: a comment
		`SELECT /*!40000 'x */ hunter2 ' */ FROM`, // old enough: SQL
	} {
		if got := maskSQL(in); strings.Contains(got, "hunter2") {
			t.Errorf("%q became %q", in, got)
		}
	}
}

func TestStatementTextKept(t *testing.T) {
	t.Parallel()
	if got := statementText([]byte("SELECT 'x'"), true); got != "SELECT 'x'" {
		t.Errorf("got %q", got)
	}
	if got := statementText([]byte("ALTER USER u IDENTIFIED BY 'hunter2'"), true); strings.Contains(got, "hunter2") {
		t.Errorf("a password is shown: %q", got)
	}
	if got := statementText([]byte("SELECT '\x00\u202e\xff'"), true); !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\u202e") {
		t.Errorf("got %q", got)
	}
	if got := statementText([]byte("SELECT "+strings.Repeat("ä", 5000)), true); len(got) > maxStatement || !strings.HasSuffix(got, "ä…") {
		t.Errorf("got %d bytes ending in %q", len(got), got[len(got)-8:])
	}
}

// quoteAs writes a value as a literal in one of the ways SQL has.
func quoteAs(r *rand.Rand, v string) string {
	q := "'"
	if r.IntN(2) == 0 {
		q = `"`
	}
	v = strings.ReplaceAll(v, `\`, `\\`)
	if r.IntN(2) == 0 {
		v = strings.ReplaceAll(v, q, q+q)
	} else {
		v = strings.ReplaceAll(v, q, `\`+q)
	}
	return []string{"", "N", "_utf8 ", "x"}[r.IntN(4)] + q + v + q
}

// TestNoByteOfALiteralSurvives builds statements whose literals are made of letters that occur nowhere
// else and looks for any of them in the result.
func TestNoByteOfALiteralSurvives(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	secret := []string{"Ж", "Щ", `'`, `"`, `\`, "`", "--Ж ", "#Щ", "/*Ж", "*/Щ", "\n", "/*!Ж", ";", "(Щ", ","}
	plain := []string{"SELECT ", "a, ", "`n` ", "FROM t ", "WHERE ", "x = ", "/* c */ ", "-- c\n", "/*!50000 y */ ", "(", ") ", ", ", "IN (1, 2) "}
	for range 20_000 {
		var s strings.Builder
		for range 1 + r.IntN(6) {
			s.WriteString(plain[r.IntN(len(plain))])
			var v strings.Builder
			for range r.IntN(5) {
				v.WriteString(secret[r.IntN(len(secret))])
			}
			s.WriteString(quoteAs(r, v.String()))
			s.WriteByte(' ')
		}
		if got := maskSQL(s.String()); strings.ContainsAny(got, "ЖЩ") {
			t.Fatalf("%q became %q", s.String(), got)
		}
	}
}

func TestMaskError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ in, want string }{
		{
			"Could not execute Write_rows event on table shop.t; Duplicate entry '5-O'Brien' for key 'PRIMARY', Error_code: 1062; handler error HA_ERR_FOUND_DUPP_KEY; the event's master log binlog.000003, end_log_pos 1234",
			"Could not execute Write_rows event on table shop.t; Duplicate entry '?' for key 'PRIMARY', Error_code: 1062; handler error HA_ERR_FOUND_DUPP_KEY; the event's master log binlog.000003, end_log_pos 1234",
		},
		{
			"Error 'Table 'shop.orders' doesn't exist' on query. Default database: 'shop'. Query: 'INSERT INTO orders VALUES (1,\n 'hunter2')'",
			"Error: Table 'shop.orders' doesn't exist on query. Default database: 'shop'. Query: 'INSERT INTO orders VALUES (?, …)'",
		},
		{
			"Error 'You have an error in your SQL syntax; check the manual near ''hunter2', 'x'' at line 1' on query. Default database: ''. Query: 'bad 'hunter2''",
			"Error: You have an error in your SQL syntax; check the manual near '?' at line 1 on query. Default database: ''. Query: 'bad ?'",
		},
		{"Error 'Incorrect integer value: 'hunter2' for column 'a' at row 1' on query.", "Error: Incorrect integer value: '?' for column 'a' at row 1 on query."},
		{"Something new said 'hunter2 is here' and 'hunter2", "Something new said '?' and '?"},
		{"Table has no partition for value 4711, Error_code: 1526; end_log_pos 9", "Table has no partition for value ?, Error_code: 1526; end_log_pos 9"},
		{"Error 'Table has no partition for value 4711' on query.", "Error: Table has no partition for value ? on query."},
		{"Error 'Unknown column 'x' in 'field list'' on query.", "Error: Unknown column 'x' in 'field list' on query."},
		{"Could not execute Delete_rows event on table a.t; Can't find record in 't', Error_code: 1032", "Could not execute Delete_rows event on table a.t; Can't find record in 't', Error_code: 1032"},
		{"Coordinator stopped because there were error(s) in the worker(s). Worker 1 failed executing transaction '3e11fa47-71ca-11e1-9e33-c80aa9429562:23' at source log binlog.000009, end_log_pos 444.",
			"Coordinator stopped because there were error(s) in the worker(s). Worker 1 failed executing transaction '3e11fa47-71ca-11e1-9e33-c80aa9429562:23' at source log binlog.000009, end_log_pos 444."},
		{"Worker 1 failed executing transaction 'ANONYMOUS' at source log b.000009, end_log_pos 4; Error 'Duplicate entry 'hunter2' for key 't.PRIMARY'' on query. Default database: 'shop'. Query: 'INSERT INTO t VALUES ('hunter2')'",
			"Worker 1 failed executing transaction 'ANONYMOUS' at source log b.000009, end_log_pos 4; Error: Duplicate entry '?' for key 't.PRIMARY' on query. Default database: 'shop'. Query: 'INSERT INTO t VALUES (?)'"},
		{"", ""},
	} {
		if got := errorText(c.in, false); got != c.want {
			t.Errorf("%q\n got %q\nwant %q", c.in, got, c.want)
		}
	}
}

func FuzzMaskSQL(f *testing.F) {
	for _, s := range []string{"SELECT 'a', 1", `"\"`, "/*!", "/*", "--", "`", "0x", "1e", "x'", "?, ?, (?)", "(?), (?)", "\xff'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := statementText([]byte(s), false)
		if !utf8.ValidString(got) || len(got) > maxStatement {
			t.Fatalf("%q became %q", s, got)
		}
		// A literal put in front of anything must not be seen.
		if got := maskSQL("SELECT 'ЖЩ' " + s); strings.ContainsAny(got, "ЖЩ") && !strings.ContainsAny(s, "ЖЩ") {
			t.Fatalf("a literal before %q is shown in %q", s, got)
		}
		_ = errorText(s, false)
	})
}

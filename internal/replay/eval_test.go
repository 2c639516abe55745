package replay

import (
	"fmt"
	"strings"
	"testing"
)

func TestSelectedFromRows(t *testing.T) {
	t.Parallel()
	accounts := readTable("User\tHost\tPassword\tauthentication_string\tPriv\tchanged\n" +
		"root\tlocalhost\t\t\\N\t{\"plugin\":\"unix_socket\",\"auth_or\":[{\"plugin\":\"x\"},{}],\"account_locked\":true,\"access\":18446744073709551615}\t2024-01-02 03:04:05\n" +
		"shop\t%\t*ABC\tdé\t{}\t\\N\n" +
		"shop\t10.%\t*ABC\t\t{}\t\\N\n")
	for _, c := range []struct{ list, want string }{
		{"User AS user, Host FROM t", "root localhost|shop %|shop 10.%"},
		{"DISTINCT User FROM t", "root|shop"},
		{"Password = '' AS empty, CHAR_LENGTH(CONCAT(Password, COALESCE(authentication_string, ''))) AS n FROM t", "1 0|0 6|0 4"},
		{"User AS u, COUNT(*) AS n, SUM(Host = '%') AS any FROM t GROUP BY User", "root 1 0|shop 2 1"},
		{"UNIX_TIMESTAMP(changed) AS c FROM t", "1704164645|NULL|NULL"},
		{"JSON_VALUE(Priv, '$.plugin') AS p, COALESCE(JSON_LENGTH(Priv, '$.auth_or'), 0) AS n, JSON_VALUE(Priv, '$.auth_or[0].plugin') AS w FROM t", "unix_socket 2 x|NULL 0 NULL|NULL 0 NULL"},
		{"CAST(COALESCE(JSON_VALUE(Priv, '$.access'), '0') AS UNSIGNED) AS a FROM t", "18446744073709551615|0|0"},
		{"JSON_VALUE(Priv, '$.account_locked') AS l, FIND_IN_SET('b', 'a,b') > 0 AS f FROM t", "1 1|NULL 1|NULL 1"},
	} {
		r, ok := selected("SELECT "+c.list, accounts)
		if !ok {
			t.Errorf("%s is not computed", c.list)
			continue
		}
		var rows []string
		for _, row := range r.Rows {
			var cells []string
			for _, cell := range row {
				if cell == nil {
					cell = []byte("NULL")
				}
				cells = append(cells, string(cell))
			}
			rows = append(rows, strings.Join(cells, " "))
		}
		if got := strings.Join(rows, "|"); got != c.want {
			t.Errorf("%s gives %s, want %s", c.list, got, c.want)
		}
	}
	for _, list := range []string{"User FROM t WHERE Host = '%'", "MD5(User) FROM t", "absent FROM t", "'open FROM t"} {
		if r, ok := selected("SELECT "+list, accounts); ok {
			t.Errorf("%s gives %v", list, r)
		}
	}
}

// FuzzAnswers reads whatever a file of answers holds.
func FuzzAnswers(f *testing.F) {
	f.Add("> SHOW BINARY LOGS\nLog_name\tFile_size\nb.1\t1\n> X\n! 1064 42000 no\n> Y\n*** 1. row ***\na: b\n")
	f.Add("> T\n+-+\n| a |\n| NULL |\n+-+\n")
	f.Add("> TABLE a.b\n***\n: \n  x: 1\ny\n")
	f.Fuzz(func(t *testing.T, content string) {
		r := Record(nil, nil)
		if r.readAnswers(content) != nil {
			return
		}
		for statement, result := range r.results {
			for i, row := range result.Rows {
				if len(row) != len(result.Columns) {
					t.Fatalf("%q: row %d has %d of %d columns", statement, i, len(row), len(result.Columns))
				}
			}
			if e := encode(result); len(e.bytes) < 5 {
				t.Fatal(fmt.Sprint(statement, e))
			}
		}
	})
}

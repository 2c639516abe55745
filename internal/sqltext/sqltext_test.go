package sqltext

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNormal(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT a,\n\t b1 FROM t WHERE c = 'it''s' AND d IN (1, 2,3)": "SELECT a, b1 FROM t WHERE c = ?? AND d IN (?)",
		`INSERT INTO t (a, b) VALUES (1, _binary'x\'y'), (-2, "z")`:   "INSERT INTO t (a, b) VALUES (?)",
		"/* ours */ SELECT 1e3, x2 FROM y /* more */ WHERE z < -5":    "SELECT ?, x2 FROM y WHERE z < ?",
	} {
		if got := Normal(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestSent(t *testing.T) {
	statements := []string{Normal("SELECT id FROM head WHERE server_id = 7 AND seq > 9 ORDER BY id"), Normal("SHOW VARIABLES WHERE Variable_name IN ('a','b')")}
	for text, want := range map[string]bool{
		"SELECT id FROM head WHERE server_id = ? AND seq > ?": true,
		"AND seq > ? ORDER BY id":                             true,
		"SELECT id FROM head WHERE seq > ?":                   false,
		"SHOW VARIABLES WHERE Variable_name IN ('":            true,
		"SELECT %s FROM head":                                 true,
		"SELECT %s FROM tail":                                 false,
	} {
		if got := (Text{SQL: text}).Sent(statements); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestSourceFindsStatements(t *testing.T) {
	texts, err := Source("../../store", "dialect_sqlite.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) < 50 {
		t.Errorf("only %d statements in the store", len(texts))
	}
}

func TestAliases(t *testing.T) {
	if diff := cmp.Diff([]string{"bytes", "n"}, Aliases("SELECT SUM(a) AS bytes, COUNT(*) AS N FROM t")); diff != "" {
		t.Error(diff)
	}
}

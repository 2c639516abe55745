package alerts

import (
	"strings"
	"testing"
	"time"

	"monolith"
)

// TestReasonsNameTheGrant: who reads why a rule can't be evaluated for want of a right finds the statement that gives it.
func TestReasonsNameTheGrant(t *testing.T) {
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(cat, cat.rules[0], true, &serverEntry{Name: "db1", Version: "8.4.5"})
	w.booted = w.start.Add(-30 * 24 * time.Hour)
	// An account that sees a part of the tables: InnoDB's alone.
	const view, accounts = "GRANT SHOW VIEW ON *.* TO 'm'@'%';", "GRANT SELECT ON mysql.* TO 'm'@'%';"
	w.set("schema.engine_tables[InnoDB]", 5)
	w.set("schema.engine_index_bytes[InnoDB]", 1<<20)
	w.set("variable.key_buffer_size", 8<<20)
	w.set("status.Key_blocks_unused", 100)
	w.set("status.Key_blocks_used", 100)
	w.set("variable.key_cache_block_size", 1024)
	w.rows.Schemas.Hidden = true
	w.notes = []monolith.Problem{{Collector: "sizes", Kind: monolith.ProblemPartial, Text: "tables are missing from all sums", Cure: view},
		{Collector: "accounts", Kind: monolith.ProblemPrivilege, Text: "a privilege is missing", Cure: accounts}}
	why := func(rule string) (state monolith.RuleState, since time.Time, why string) {
		for _, st := range w.engine.States(w.server.ID) {
			if st.Rule == rule {
				return st.State, st.Since, st.Why
			}
		}
		return "", time.Time{}, ""
	}
	for range 5 {
		w.poll()
	}
	_, first, _ := why("key-buffer-too-small")
	for range 5 {
		w.poll()
	}
	for rule, grant := range map[string]string{"key-buffer-too-small": view, "key-buffer-too-large": view, "root-no-password": accounts} {
		if state, since, why := why(rule); state != monolith.StateCannotEvaluate || !strings.HasSuffix(why, grant) || strings.Count(why, "GRANT") != 1 || grant == view && !since.Equal(first) {
			t.Errorf("%s: %s since %s, %s", rule, state, since, why)
		}
	}
}

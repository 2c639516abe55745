package poller

import (
	"context"
	"strings"
	"testing"

	"monolith"
	"monolith/internal/mysqltest"
)

// What the server is told of us, and what it writes down of us.
func TestManners(t *testing.T) {
	t.Parallel()
	db := mysqltest.MariaDB(t, mysqltest.Options(
		"slow_query_log=1", "long_query_time=0", "general_log=1", "log_output=TABLE", "performance_schema=ON",
		"transaction_isolation=SERIALIZABLE", "sql_mode=ANSI", "default_time_zone=+05:00", "autocommit=0"))
	user, password := db.NewUser(t, "PROCESS ON *.*")
	session := map[string]string{}
	ask := &Collector{Name: "ask", Title: "Ask", Schedule: monolith.Slow, Collect: func(ctx context.Context, g *Gather) error {
		return g.Session.Query(ctx, "SHOW SESSION VARIABLES", func(r Row) error {
			session[string(r.Bytes(0))] = string(r.Bytes(1))
			return nil
		})
	}}
	w := follow(t, everySecond(t, db, user, password), func(c *Config) {
		c.Version = "7.8.9"
		c.Collectors = []*Collector{statusCollector(), variablesCollector(), ask}
	})
	first := w.next(t, "a poll", polled)
	// What is read is the server's, not our session's.
	for name, want := range map[string]string{"sql_mode": "ANSI", "time_zone": "+05:00", "autocommit": "OFF", "tx_isolation": "SERIALIZABLE", "long_query_time": "0"} {
		if got := read(first, "variable."+name); !strings.Contains(got, want) {
			t.Errorf("variable %s is %q, want %s", name, got, want)
		}
	}
	before := valueOf(t, w.next(t, "a second poll", polled), "status.Com_insert")
	db.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.t (a INT)", "INSERT INTO shop.t VALUES (1)", "INSERT INTO shop.t VALUES (2)")
	w.next(t, "what others did", func(s *monolith.Snapshot) bool { return s.Polled && valueOf(t, s, "status.Com_insert") == before+2 })
	for name, want := range map[string]string{
		"autocommit": "ON", "tx_isolation": "READ-COMMITTED", "tx_read_only": "ON", "time_zone": "+00:00", "sql_mode": "",
		"lock_wait_timeout": "2", "innodb_lock_wait_timeout": "2", "long_query_time": "31536000.000000",
		"min_examined_row_limit": "4294967295", "max_statement_time": "0.700000", "character_set_client": "utf8mb4",
	} {
		if session[name] != want {
			t.Errorf("our session has %s=%s, want %s", name, session[name], want)
		}
	}

	rows := func(query string, args ...any) (list []string) {
		t.Helper()
		r, err := db.DB(t).QueryContext(t.Context(), query, args...)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		for r.Next() {
			var s string
			if err := r.Scan(&s); err != nil {
				t.Fatal(err)
			}
			list = append(list, s)
		}
		return list
	}
	ours := rows("SELECT argument FROM mysql.general_log WHERE command_type = 'Query' AND user_host LIKE ?", user+"[%")
	if len(ours) < 10 {
		t.Errorf("the server saw only %q", ours)
	}
	for _, s := range ours {
		if !strings.HasPrefix(s, "/* monolith */ ") {
			t.Errorf("a statement without our mark: %s", s)
		}
	}
	for _, s := range rows("SELECT sql_text FROM mysql.slow_log WHERE user_host LIKE ?", user+"[%") {
		// Until the session is set up, the server's own limit holds for it.
		if strings.Contains(s, "STATUS") || strings.Contains(s, "SELECT") {
			t.Errorf("in the slow log: %s", s)
		}
	}
	attributes := "SELECT attr_value FROM performance_schema.session_connect_attrs a JOIN performance_schema.threads t USING (processlist_id) " +
		"WHERE t.processlist_user = ? AND attr_name = ?"
	if got := rows(attributes, user, "program_name"); len(got) != 1 || got[0] != "monolith" {
		t.Errorf("program_name %q", got)
	}
	if got := rows(attributes, user, "program_version"); len(got) != 1 || got[0] != "7.8.9" {
		t.Errorf("program_version %q", got)
	}
}

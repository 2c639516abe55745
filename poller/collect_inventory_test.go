package poller

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
	"monolith/internal/mysqltest"
)

func TestDatabases(t *testing.T) {
	t.Parallel()
	rows := func(names ...string) *fakeSession {
		a := answer{columns: []string{"name"}}
		for _, n := range names {
			a.rows = append(a.rows, []string{n})
		}
		return &fakeSession{answers: map[string]answer{"SELECT SCHEMA_NAME AS name": a}}
	}
	all := func(g *Gather) { g.rights = rights{known: true, held: map[string]bool{"SHOW VIEW": true}} }
	few := func(g *Gather) { g.rights = rights{known: true, held: map[string]bool{"PROCESS": true}} }
	for _, c := range []struct {
		name      string
		f         *fakeSession
		rights    func(*Gather)
		databases string
		test      string
		problems  string
	}{
		{"test", rows("mysql", "test", "shop", "information_schema"), all, "2", "1", "[]"},
		{"another with test in its name", rows("test_orders", "TEST", "information_schema"), all, "2", "0", "[]"},
		{"none of people", rows("information_schema", "sys"), all, "0", "0", "[]"},
		{"hidden", rows("information_schema"), few, "absent", "absent", "[partial]"},
		{"hidden but for test", rows("test", "information_schema"), few, "absent", "1", "[partial]"},
		{"rights unknown", rows("test"), func(*Gather) {}, "1", "1", "[]"},
		{"rights unknown, nothing seen", rows("information_schema"), func(*Gather) {}, "absent", "absent", "[partial]"},
	} {
		snap, err := collect(t, databasesCollector(), server("8.4.0", ""), c.f, c.rights)
		if err != nil || problemKinds(snap) != c.problems || snap.Databases == nil {
			t.Errorf("%s: %v, %v", c.name, err, snap.Problems)
		}
		wants(t, snap, map[string]string{"server.databases": c.databases, "server.test_database": c.test})
	}
}

func TestPlugins(t *testing.T) {
	t.Parallel()
	list := answer{columns: []string{"name", "type", "status", "version"}, rows: [][]string{
		{"InnoDB", "STORAGE ENGINE", "ACTIVE", "10.11"}, {"simple_password_check", "PASSWORD VALIDATION", "ACTIVE", "1.0"}, {"cracklib", "PASSWORD VALIDATION", "DISABLED", "1.0"}}}
	const statement = "SELECT PLUGIN_NAME AS name"
	f := &fakeSession{answers: map[string]answer{statement: list}}
	snap, err := collect(t, pluginsCollector(), server("10.11.6-MariaDB", ""), f)
	if err != nil || len(f.refused) > 0 || len(snap.Plugins) != 3 || !snap.Plugins[1].Validator || snap.Plugins[2].Validator {
		t.Errorf("%+v, %v", snap.Plugins, err)
	}
	wants(t, snap, map[string]string{"server.password_validators": "1", "server.plugins": "3"})
	list.rows = list.rows[:1]
	f = &fakeSession{answers: map[string]answer{statement: list,
		"SELECT component_urn": {columns: []string{"urn"}, rows: [][]string{{"file://component_validate_password"}, {"file://component_keyring_file"}}}}}
	snap, err = collect(t, pluginsCollector(), server("8.4.0", ""), f)
	if err != nil || len(snap.Plugins) != 3 || !snap.Plugins[1].Validator || !snap.Plugins[1].Component || snap.Plugins[2].Validator {
		t.Errorf("%+v, %v", snap.Plugins, err)
	}
	wants(t, snap, map[string]string{"server.password_validators": "1"})
	// A validator that may be hidden is not missing.
	f.answers["SELECT component_urn"] = refuse(1142, "SELECT command denied")
	if snap, err = collect(t, pluginsCollector(), server("8.4.0", ""), f); err != nil || problemKinds(snap) != "[privilege]" {
		t.Errorf("%v, %v", snap.Problems, err)
	}
	wants(t, snap, map[string]string{"server.password_validators": "absent", "server.plugins": "1"})
}

func TestPersisted(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{"SELECT VARIABLE_NAME AS name": {columns: []string{"name", "value"}, rows: [][]string{
		{"max_connections", "500"}, {"innodb_buffer_pool_size", "1073741824"}, {"general_log", "1"}, {"old_thing", "x"}, {"init_connect", "SET @a = 'hunter2'"}}}}}
	snap, err := collect(t, persistedCollector(), server("8.4.0", ""), f, func(g *Gather) {
		g.Variables = variablesOf(map[string]string{"max_connections": "400", "innodb_buffer_pool_size": "1073741824", "general_log": "ON", "init_connect": secretSet})
	})
	want := []monolith.PersistedVariable{{Name: "max_connections", Value: "500", Running: "400", Differs: true},
		{Name: "innodb_buffer_pool_size", Value: "1073741824", Running: "1073741824"}, {Name: "general_log", Value: "1", Running: "ON"},
		{Name: "old_thing", Value: "x"}, {Name: "init_connect", Value: secretSet, Running: secretSet}}
	if diff := cmp.Diff(want, snap.Persisted); diff != "" || err != nil {
		t.Error(diff, err)
	}
	wants(t, snap, map[string]string{"server.persisted_variables": "5", "server.persisted_differing": "1"})
	if ok, why := persistedCollector().Applies(&Gather{Identity: server("8.4.0", ""), Variables: variablesOf(map[string]string{"performance_schema": "OFF"})}); ok || !strings.Contains(why, "performance_schema=OFF") {
		t.Error(why)
	}
}

// TestOldTransactions: whose they are, which of them may take their time, and who holds up whom.
func TestOldTransactions(t *testing.T) {
	t.Parallel()
	columns := []string{"id", "state", "seconds", "thread", "lock_wait", "modified", "locked", "tables_locked", "isolation", "query"}
	trx := func(id, state, seconds, thread, wait, modified, query string) []string {
		return []string{id, state, seconds, thread, wait, modified, "0", "1", "REPEATABLE READ", query}
	}
	threads := answer{columns: []string{"id", "user", "host", "db", "command", "time"}, rows: [][]string{
		{"7", "app", "10.0.0.9:1", "shop", "Sleep", "2390"}, {"8", "dump", "localhost", "", "Query", "7000"}, {"9", "system user", "", "", "Connect", "9"},
		{"10", "app", "10.0.0.9:2", "shop", "Query", "30"}}}
	f := &fakeSession{answers: map[string]answer{
		"SELECT trx_id AS id": {columns: columns, rows: [][]string{
			trx("91", "RUNNING", "9000", "9", null, "5000", null), trx("81", "RUNNING", "7200", "8", null, "0", "SELECT /*!40001 SQL_NO_CACHE */ * FROM t"),
			trx("71", "RUNNING", "2400", "7", null, "12", null), trx("5", "RUNNING", "100", "0", null, "1", null),
			trx("101", "LOCK WAIT", "40", "10", "30", "0", "UPDATE t SET a = 'hunter2' WHERE id = 5"), trx("6", "RUNNING", "99999", "42", null, "0", "SELECT 1")}},
		"SELECT ID AS id, USER AS user":       threads,
		"SELECT w.requesting_trx_id":          {columns: []string{"requesting", "thread"}, rows: [][]string{{"101", "7"}, {"101", "7"}, {"77", "1"}}},
		"SELECT w.REQUESTING_ENGINE_TRANSACT": {columns: []string{"requesting", "thread"}, rows: [][]string{{"101", "7"}}},
	}}
	for version, tables := range map[string][]string{"5.5.62": {"information_schema.PROCESSLIST", "INNODB_LOCK_WAITS"}, "8.4.0": {"performance_schema.processlist", "data_lock_waits"},
		"10.11.6-MariaDB": {"information_schema.PROCESSLIST", "INNODB_LOCK_WAITS"}} {
		f.sent = nil
		snap, err := collect(t, transactionsCollector(), server(version, ""), f, func(g *Gather) {
			g.Server.BackupUsers = []string{"dump"}
			g.Variables = variablesOf(map[string]string{"performance_schema": "ON"})
		})
		if err != nil || len(f.refused) > 0 || len(snap.Transactions) != 6 || len(f.sent) != 3 || !strings.Contains(f.sent[1], tables[0]) || !strings.Contains(f.sent[2], tables[1]) {
			t.Fatalf("%s: %v, %q, %q", version, err, f.refused, f.sent)
		}
		by := map[string]monolith.Transaction{}
		for _, x := range snap.Transactions {
			by[x.ID] = x
		}
		if x := by["71"]; !x.Idle || x.IdleSeconds != 2390 || x.RowsModified != 12 || x.Blocks != 1 || x.User != "app" || x.LockWait != nil {
			t.Errorf("%+v", x)
		}
		if x := by["101"]; x.Idle || x.LockWait == nil || *x.LockWait != 30 || !slices.Equal(x.BlockedBy, []uint64{7}) || strings.Contains(x.Statement, "hunter2") {
			t.Errorf("%+v", x)
		}
		if !by["91"].Applier || !by["81"].Backup || !by["6"].Own || by["5"].User != "" {
			t.Errorf("%+v", by)
		}
		wants(t, snap, map[string]string{"server.transactions_longest_seconds": "2400", "server.transactions_idle_longest_seconds": "2400",
			"server.transactions_idle_changed_seconds": "2400", "server.lock_waits_longest_seconds": "30"})
	}
}

func TestKeysOfRealTables(t *testing.T) {
	t.Parallel()
	for _, f := range []struct {
		name  string
		start func(testing.TB, ...mysqltest.Option) *mysqltest.Server
	}{{"MariaDB", mysqltest.MariaDB}, {"MySQL 5.6", mysqltest.MySQL56}} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := f.start(t)
			s.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.pk (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, a INT) ENGINE=InnoDB AUTO_INCREMENT=1932735284",
				"CREATE TABLE shop.signed (id INT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB AUTO_INCREMENT=1932735284",
				"CREATE TABLE shop.tiny (id TINYINT AUTO_INCREMENT, x INT, KEY (id)) ENGINE=InnoDB AUTO_INCREMENT=121", "CREATE TABLE shop.big (id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB",
				"CREATE TABLE shop.unique_key (a INT NOT NULL, b INT NOT NULL, UNIQUE (a, b)) ENGINE=InnoDB", "CREATE TABLE shop.nullable (a INT NOT NULL, b INT, UNIQUE (a, b)) ENGINE=InnoDB",
				"CREATE TABLE shop.bare (a INT) ENGINE=InnoDB", "CREATE TABLE shop.old (a INT) ENGINE=MyISAM", "CREATE VIEW shop.v AS SELECT * FROM shop.bare")
			w := watch(t, s, "root", "")
			w.poll(t)
			bare := map[string]string{}
			for _, x := range w.state.TablesWithoutKey {
				bare[x.Table] = x.Engine
			}
			if diff := cmp.Diff(map[string]string{"tiny": "InnoDB", "nullable": "InnoDB", "bare": "InnoDB", "old": "MyISAM"}, bare); diff != "" {
				t.Error(diff)
			}
			share := map[string]float64{}
			for _, c := range w.state.AutoIncrements {
				share[c.Table] = float64(int(c.Share*100)) / 100
			}
			if diff := cmp.Diff(map[string]float64{"signed": 90, "tiny": 94.48}, share); diff != "" {
				t.Errorf("%s: %+v", diff, w.state.AutoIncrements)
			}
			snap := w.run(t, keysCollector())
			wants(t, snap, map[string]string{"schema.tables_without_key": "3", "schema.large_tables_without_key": "0"})
			// Without a right on columns their types are hidden, and no share is 0.
			user, password := s.NewUser(t, "SHOW VIEW")
			few := watch(t, s, user, password)
			few.poll(t, "replication innodb transactions deadlock accounts binlogs position")
			snap = few.run(t, keysCollector())
			if snap.AutoIncrements != nil || len(snap.TablesWithoutKey) != 4 || find(snap, "schema.auto_increment_highest_share", "") != "absent" || !strings.Contains(snap.Problems[0].Cure, "GRANT REFERENCES") {
				t.Errorf("%+v, %v", snap.AutoIncrements, snap.Problems)
			}
		})
	}
}

func TestAutoIncrementGrowth(t *testing.T) {
	t.Parallel()
	for typ, want := range map[[2]string]float64{{"tinyint", "tinyint(4)"}: 127, {"smallint", "smallint"}: 32767, {"mediumint", "mediumint unsigned"}: 16777215,
		{"int", "int(10) unsigned"}: 4294967295, {"bigint", "bigint"}: 1<<63 - 1, {"bigint", "bigint unsigned zerofill"}: 1<<64 - 1, {"decimal", "decimal"}: 0} {
		if got := highestOf(typ[0], typ[1]); got != want {
			t.Errorf("%v ends at %v, want %v", typ, got, want)
		}
	}
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	old := monolith.AutoIncrement{Column: "id", Value: 1000, Max: 2000, Taken: now.Add(-48 * time.Hour)}
	c := monolith.AutoIncrement{Column: "id", Value: 1200, Max: 2000, Taken: now}
	if grow(&c, old); c.PerDay == nil || *c.PerDay != 100 || c.DaysLeft == nil || *c.DaysLeft != 8 {
		t.Errorf("%+v", c)
	}
	again := monolith.AutoIncrement{Column: "id", Value: 1200, Max: 2000, Taken: now.Add(time.Minute)}
	if grow(&again, c); again.PerDay == nil || *again.PerDay != 100 || *again.DaysLeft != 8 {
		t.Errorf("a minute later: %+v", again)
	}
	still := monolith.AutoIncrement{Column: "id", Value: 1000, Max: 2000, Taken: now}
	if grow(&still, old); still.PerDay == nil || *still.PerDay != 0 || still.DaysLeft != nil {
		t.Errorf("nothing grew: %+v", still)
	}
	for name, other := range map[string]monolith.AutoIncrement{"another column": {Column: "x", Value: 1, Taken: now}, "begun anew": {Column: "id", Value: 1, Taken: now}} {
		if grow(&other, old); other.PerDay != nil {
			t.Errorf("%s: %+v", name, other)
		}
	}
}

// TestRealPerformanceSchema reads what is there only with performance_schema=ON.
func TestRealPerformanceSchema(t *testing.T) {
	t.Parallel()
	for _, f := range []struct {
		name  string
		start func(testing.TB, ...mysqltest.Option) *mysqltest.Server
		more  []string
	}{{"MariaDB", mysqltest.MariaDB, []string{"performance-schema-consumer-statements-digest=ON"}}, {"MySQL 5.6", mysqltest.MySQL56, nil}} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := f.start(t, mysqltest.Options(append(f.more, "performance-schema=ON")...))
			s.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY, v VARCHAR(30)) ENGINE=InnoDB", "INSERT INTO shop.t VALUES (1, 'a'), (2, 'b')",
				"SELECT COUNT(*) FROM shop.t WHERE v = 'hunter2'", "CREATE TABLE shop.heartbeat (ts VARCHAR(26), server_id INT UNSIGNED)")
			user, password := s.NewUser(t, "PROCESS", "REPLICATION CLIENT", "SHOW VIEW, REFERENCES", "SELECT ON performance_schema.*", "SELECT ON mysql.*", "SELECT ON shop.*")
			w := watch(t, s, user, password)
			w.server.HeartbeatTable = "shop.heartbeat"
			w.poll(t, "replication")
			snap, _ := w.poll(t, "replication")
			if n := value(t, snap, "server.performance_schema_bytes", ""); !(n > 1<<20) {
				t.Errorf("performance_schema takes %v bytes", n)
			}
			found := false
			for _, d := range snap.Digests {
				if strings.Contains(d.Text, "hunter2") || d.Count < 1 || d.Digest == "" || d.LastSeen.IsZero() {
					t.Errorf("%+v", d)
				}
				found = found || strings.Contains(strings.ReplaceAll(d.Text, "`", ""), "WHERE v = ?") && d.NoIndex >= 1 && d.RowsExamined >= 2
			}
			// Of all that was sent, what the test itself sent counts as people's.
			texts, err := s.DB(t).QueryContext(t.Context(), "SELECT LOWER(DIGEST_TEXT) FROM performance_schema.events_statements_summary_by_digest WHERE "+ofPeople())
			if err != nil {
				t.Fatal(err)
			}
			defer texts.Close()
			for texts.Next() {
				var text string
				if err := texts.Scan(&text); err != nil {
					t.Fatal(err)
				}
				verb, _, _ := strings.Cut(text, " ")
				if verb == "select" && (!strings.Contains(text, "shop") || strings.Contains(text, "heartbeat")) || verb == "show" || verb == "set" || verb == "kill" {
					t.Errorf("a statement of ours is among those of people: %s", text)
				}
			}
			if err := texts.Err(); err != nil {
				t.Fatal(err)
			}
			if !found {
				t.Errorf("the scan is not among %+v", snap.Digests)
			}
			if snap.HostCache == nil || len(w.refused) > 0 && f.name != "MariaDB" {
				t.Errorf("host cache %v, refused %q", snap.HostCache, w.refused)
			}
		})
	}
}

// TestBinaryLogsGrowOld: the server does not tell how old its files are.
func TestBinaryLogsGrowOld(t *testing.T) {
	t.Parallel()
	list := func(rows ...[]string) *fakeSession {
		return &fakeSession{answers: map[string]answer{"SHOW BINARY LOGS": {columns: []string{"Log_name", "File_size"}, rows: rows}}}
	}
	now := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	var state *monolith.State
	poll := func(at time.Time, f *fakeSession) *monolith.Snapshot {
		t.Helper()
		snap, err := collect(t, binlogsCollector(), server("8.4.0", ""), f, func(g *Gather) { g.Now, g.State = at, state })
		if err != nil {
			t.Fatal(err)
		}
		snap.At = at
		state = state.With(snap)
		return snap
	}
	wants(t, poll(now, list([]string{"b.1", "100"})), map[string]string{"server.binary_log_oldest_seconds": "absent"})
	wants(t, poll(now.Add(time.Hour), list([]string{"b.1", "200"}, []string{"b.2", "10"})), map[string]string{"server.binary_log_oldest_seconds": "absent"})
	wants(t, poll(now.Add(3*time.Hour), list([]string{"b.2", "20"}, []string{"b.3", "10"})), map[string]string{"server.binary_log_oldest_seconds": "7200"})
	// RESET MASTER begins with the same names.
	wants(t, poll(now.Add(4*time.Hour), list([]string{"b.2", "5"})), map[string]string{"server.binary_log_oldest_seconds": "0"})
}

// TestDigestsOfAnySize: sums outgrow 64 bits after a while. A row with a number that can't be read is left out and said so, and the
// others stay.
func TestDigestsOfAnySize(t *testing.T) {
	t.Parallel()
	columns := []string{"schema_name", "digest", "text", "count", "wait", "examined", "sent", "no_index", "full_joins", "tmp_tables", "tmp_disk_tables", "merge_passes", "last_seen", "cpu"}
	row := func(digest, wait string) []string {
		return []string{"shop", digest, "SELECT ?", "5", wait, "10", "10", "0", "0", "0", "0", "0", "1700000000", "1000000000000"}
	}
	f := &fakeSession{answers: map[string]answer{"(SELECT SCHEMA_NAME": {columns: columns,
		rows: [][]string{row("a", "2000000000000"), row("b", "83505516706205592384"), row("c", "n/a"), row("d", "10607806269779284266"), row("e", null)}}}}
	snap, err := collect(t, digestsCollector(), server("8.4.0", ""), f)
	if err != nil || problemKinds(snap) != "[partial]" || !strings.Contains(snap.Problems[0].Text, "2 of the statement digests") {
		t.Fatalf("%v, %v", snap.Problems, err)
	}
	got := ""
	for _, d := range snap.Digests {
		got += fmt.Sprintf("%s %.0f; ", d.Digest, d.Seconds)
	}
	if want := "b 83505517; d 10607806; a 2; "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

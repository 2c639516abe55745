package poller

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
	"monolith/internal/mysqltest"
)

// TestEachGrantMakesItsCollectorWork starts with nothing but USAGE: some collectors work, the others say
// what is missing, and the statement that they print mends exactly that.
func TestEachGrantMakesItsCollectorWork(t *testing.T) {
	t.Parallel()
	for _, f := range []struct {
		name  string
		start func(testing.TB, ...mysqltest.Option) *mysqltest.Server
		// needing are the collectors that read nothing without a right, absent those that the server does not have.
		needing, absent []string
		problems        string // of those that read less than there is
	}{
		{"MariaDB", mysqltest.MariaDB, []string{"replication", "innodb", "transactions", "deadlock", "accounts", "binlogs"},
			[]string{"aurora", "certificate", "digests", "group", "hostcache", "members", "memory", "persisted", "pfs", "position"},
			"[partial partial partial privilege partial]"},
		{"MySQL 5.6", mysqltest.MySQL56, []string{"replication", "innodb", "transactions", "deadlock", "accounts", "binlogs", "position"},
			[]string{"aurora", "certificate", "digests", "group", "gtids", "hostcache", "members", "memory", "persisted", "pfs"},
			"[partial partial partial partial]"},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := f.start(t)
			s.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.t (a INT)")
			user, password := s.NewUser(t)
			const all = "replication innodb transactions deadlock accounts binlogs processes sizes origins position"
			w := watch(t, s, user, password)
			snap, failed := w.poll(t, all)
			if got := sortedKeys(w.absent); !slices.Equal(got, f.absent) {
				t.Errorf("not applicable: %v, want %v", w.absent, f.absent)
			}
			for _, name := range f.needing {
				if failed[name] == nil {
					t.Errorf("%s works without a right", name)
				}
			}
			if len(failed) != len(f.needing) {
				t.Errorf("failed: %v", failed)
			}
			if snap.Processes == nil || snap.Replicas != nil || snap.Accounts != nil {
				t.Error("what could not be read is taken for nothing")
			}
			// root's connections make the difference that shows that something is hidden.
			if !snap.Processes.OnlyOwn || problemKinds(snap) != f.problems {
				t.Errorf("own threads are taken for all: %+v, %v", snap.Processes, snap.Problems)
			}
			for _, c := range Collectors() {
				if failed[c.Name] == nil {
					continue
				}
				if c.Grant == nil {
					t.Errorf("%s failed and names no right: %v", c.Name, failed[c.Name])
					continue
				}
				grant := c.Grant(w.session.identity, w.session.account)
				if !strings.Contains(grant, "TO '"+user+"'@'%'") {
					t.Errorf("%s prints %q", c.Name, grant)
				}
				s.Exec(t, grant)
			}
			for _, p := range snap.Problems {
				s.Exec(t, p.Cure)
			}
			w = watch(t, s, user, password)
			snap, failed = w.poll(t)
			wants(t, snap, map[string]string{"schema.tables[shop]": "1"})
			if err := (&use{s: w.session, limit: 10 * time.Second}).Query(t.Context(), "SELECT * FROM shop.t", func(Row) error { return nil }); err == nil {
				t.Error("the printed grants let Monolith read people's data")
			}
			if len(failed) > 0 || len(snap.Problems) > 0 || snap.Processes.OnlyOwn {
				t.Errorf("with all printed grants: failed %v, problems %v", failed, snap.Problems)
			}
		})
	}
}

// TestNoStatementIsRefused: a server of a known version is sent nothing that it refuses, whatever its sql_mode.
func TestNoStatementIsRefused(t *testing.T) {
	t.Parallel()
	for _, start := range []func(testing.TB, ...mysqltest.Option) *mysqltest.Server{mysqltest.MariaDB, mysqltest.MySQL56} {
		s := start(t)
		for _, mode := range []string{"", "ANSI", "ANSI,NO_BACKSLASH_ESCAPES,PIPES_AS_CONCAT,IGNORE_SPACE,STRICT_ALL_TABLES,ONLY_FULL_GROUP_BY"} {
			s.Exec(t, "SET GLOBAL sql_mode = '"+mode+"'", "CREATE DATABASE IF NOT EXISTS `it's``\\odd`", "CREATE TABLE IF NOT EXISTS `it's``\\odd`.t (a INT)")
			w := watch(t, s, "root", "")
			snap, _ := w.poll(t)
			wants(t, snap, map[string]string{"schema.tables[it's`\\odd]": "1"})
			if len(w.refused) > 0 {
				t.Errorf("%v refused %q", w.session.identity, w.refused)
			}
		}
	}
}

func TestRealReplication(t *testing.T) {
	t.Parallel()
	for _, f := range []struct {
		name  string
		start func(testing.TB, ...mysqltest.Option) *mysqltest.Server
	}{{"MariaDB", mysqltest.MariaDB}, {"MySQL 5.6", mysqltest.MySQL56}} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			primary := f.start(t)
			replica := mysqltest.Replica(t, primary)
			primary.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY, v VARCHAR(30)) ENGINE=InnoDB")
			// Two heartbeats as pt-heartbeat writes them, one of them the replica's own.
			primary.Exec(t, "CREATE TABLE shop.heartbeat (ts VARCHAR(26) NOT NULL, server_id INT UNSIGNED NOT NULL PRIMARY KEY)",
				"INSERT INTO shop.heartbeat VALUES (DATE_FORMAT(UTC_TIMESTAMP() - INTERVAL 100 SECOND, '%Y-%m-%dT%H:%i:%s.5'), @@server_id)")
			replica.CatchUp(t, primary)
			replica.Exec(t, "INSERT INTO shop.heartbeat VALUES (DATE_FORMAT(UTC_TIMESTAMP(), '%Y-%m-%dT%H:%i:%s.5'), @@server_id)")
			w := watch(t, replica, "root", "")
			w.server.HeartbeatTable = "shop.heartbeat"
			if snap, _ := w.poll(t); value(t, snap, "replica.heartbeat_lag", "") < 98 || value(t, snap, "replica.heartbeat_lag", "") > 200 {
				t.Errorf("a heartbeat of 100 s ago gives %v s", value(t, snap, "replica.heartbeat_lag", ""))
			}
			state := func() monolith.Replica {
				t.Helper()
				snap, _ := w.poll(t)
				if len(snap.Replicas) != 1 {
					t.Fatalf("%d channels", len(snap.Replicas))
				}
				return snap.Replicas[0]
			}
			// until polls until a state is reached: threads start and stop in their own time.
			until := func(what string, ok func(monolith.Replica) bool) monolith.Replica {
				t.Helper()
				deadline := time.After(30 * time.Second)
				tick := time.NewTicker(100 * time.Millisecond)
				defer tick.Stop()
				for {
					r := state()
					if ok(r) {
						return r
					}
					select {
					case <-deadline:
						t.Fatalf("%s: still %+v", what, r)
					case <-tick.C:
					}
				}
			}
			r := until("running", func(r monolith.Replica) bool { return r.Lag != nil && *r.Lag == 0 })
			if r.IO != monolith.ThreadYes || r.SQL != monolith.ThreadYes || r.SourcePort != primary.Port || len(r.Missing) > 0 || r.ReadLogPos == 0 || r.DelayBy != monolith.ByHeartbeat {
				t.Errorf("healthy: %+v", r)
			}
			replica.Exec(t, "STOP SLAVE SQL_THREAD")
			r = until("SQL thread stopped", func(r monolith.Replica) bool { return r.SQL == monolith.ThreadNo })
			if r.IO != monolith.ThreadYes || r.Lag != nil || r.Delay != nil || r.DelayBy != "" {
				t.Errorf("SQL thread stopped: %+v", r)
			}
			// A row that is there already breaks the applier; the value must not be shown.
			replica.Exec(t, "INSERT INTO shop.t VALUES (4711, 'here')", "START SLAVE SQL_THREAD")
			primary.Exec(t, "INSERT INTO shop.t VALUES (4711, 'hunter2')")
			r = until("duplicate key", func(r monolith.Replica) bool { return r.SQLErrno == 1062 })
			if strings.Contains(r.SQLError, "hunter2") || strings.Contains(r.SQLError, "'4711'") || !strings.Contains(r.SQLError, "PRIMARY") {
				t.Errorf("the error reads %q", r.SQLError)
			}
			t.Logf("masked: %s", r.SQLError)
			// The source is seen from its own side too.
			p := watch(t, primary, "root", "")
			p.poll(t)
			snap, _ := p.poll(t)
			wants(t, snap, map[string]string{"replica.connected_replicas": "1"})

			// Up to here the relay log is applied; then the source goes away, and nobody knows how far behind it is.
			replica.Exec(t, "DELETE FROM shop.t WHERE id = 4711", "STOP SLAVE", "START SLAVE")
			until("running again", func(r monolith.Replica) bool { return r.Delay != nil })
			primary.Kill(t)
			r = until("the source is gone", func(r monolith.Replica) bool { return r.IO != monolith.ThreadYes })
			if r.SQL != monolith.ThreadYes || r.Delay != nil {
				t.Errorf("without its source: %+v", r)
			}
			snap, _ = w.poll(t)
			wants(t, snap, map[string]string{"replica.lag": "none", "replica.delay": "none", "replica.sql_running": "1"})
			if f.name == "MariaDB" {
				// A second source, with a name: both are seen, and one of them goes.
				replica.Exec(t, "CHANGE MASTER 'dr' TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='nobody'")
				snap, _ := w.poll(t)
				if len(snap.Replicas) != 2 || snap.Replicas[0].Channel != "" || snap.Replicas[1].Channel != "dr" || snap.Replicas[1].IO != monolith.ThreadNo || snap.Replicas[1].Lag != nil {
					t.Errorf("two sources: %+v", snap.Replicas)
				}
				replica.Exec(t, "RESET SLAVE 'dr' ALL")
			}
			replica.Exec(t, "STOP SLAVE", "RESET SLAVE ALL")
			if snap, _ := w.poll(t); snap.Replicas == nil || len(snap.Replicas) != 0 {
				t.Errorf("after RESET SLAVE ALL: %+v", snap.Replicas)
			}
		})
	}
}

// TestMariaDBAlternatives reads an account that may log in by password or by socket.
func TestMariaDBAlternatives(t *testing.T) {
	t.Parallel()
	s := mysqltest.MariaDB(t)
	s.Exec(t, "CREATE USER two@localhost IDENTIFIED VIA mysql_native_password USING PASSWORD('hunter2') OR unix_socket",
		"CREATE USER empty@localhost", "CREATE USER old@localhost IDENTIFIED BY 'x' PASSWORD EXPIRE ACCOUNT LOCK", "CREATE ROLE readers", "GRANT readers TO two@localhost",
		"GRANT SELECT ON *.* TO empty@localhost WITH GRANT OPTION", "GRANT SUPER ON *.* TO readers", "SET DEFAULT ROLE readers FOR two@localhost",
		"CREATE USER far@'%' IDENTIFIED BY 'x' REQUIRE X509 PASSWORD EXPIRE INTERVAL 10 DAY", "GRANT SELECT ON `test\\_%`.* TO PUBLIC")
	w := watch(t, s, "root", "")
	snap, _ := w.poll(t)
	by := accountsByName(snap)
	two := by["two@localhost"]
	want := []monolith.AuthWay{{Plugin: "mysql_native_password", AuthLength: 41}, {Plugin: "unix_socket", AuthEmpty: true}}
	if diff := cmp.Diff(want, two.Alternatives); diff != "" || two.Roles != 1 {
		t.Errorf("%+v\n%s", two, diff)
	}
	if a := by["empty@localhost"]; !a.AuthEmpty || !a.GrantGlobal || a.Expired || !cmp.Equal(a.Privileges, []string{"GRANT OPTION", "SELECT"}) {
		t.Errorf("%+v", a)
	}
	if a := by["old@localhost"]; !a.Expired || !a.Locked || a.AuthEmpty {
		t.Errorf("%+v", a)
	}
	if a := by["readers@"]; !a.IsRole {
		t.Errorf("%+v", a)
	}
	if a := by["far@%"]; a.SSLType != "X509" || a.PasswordDays == nil || *a.PasswordDays < 9 || *a.PasswordDays > 10.1 || a.Local || !a.UsageOnly {
		t.Errorf("%+v", a)
	}
	if !two.Usable || two.Passwordless || !slices.Contains(two.AdminPowers, "SUPER") || !by["empty@localhost"].Passwordless || by["old@localhost"].Usable {
		t.Errorf("derived: %+v, %+v, %+v", two, by["empty@localhost"], by["old@localhost"])
	}
	if !slices.ContainsFunc(snap.OpenGrants, func(o monolith.OpenGrant) bool { return o.User == "PUBLIC" && o.Test }) {
		t.Errorf("open grants %+v", snap.OpenGrants)
	}
	if a := by["mariadb.sys@localhost"]; !a.Reserved || a.Expired {
		t.Errorf("%+v", a)
	}
}

// TestGrantsAreThoseOfTheProblem: a problem that names its own statement is mended by it, not by the collector's usual one.
func TestGrantsAreThoseOfTheProblem(t *testing.T) {
	t.Parallel()
	const usual, own = "GRANT SHOW VIEW ON *.* TO 'm'@'%';", "GRANT PROCESS ON *.* TO 'm'@'%';"
	for _, c := range []struct{ cure, usual, want string }{
		{own, usual, own}, {usual, usual, usual}, {"ask somebody", usual, usual}, {"", usual, usual}, {own, "", ""},
		{"GRANT it; the next try is in 5m", usual, usual},
	} {
		if got := grantFor(monolith.Problem{Cure: c.cure}, c.usual); got != c.want {
			t.Errorf("%q beside %q gives %q", c.cure, c.usual, got)
		}
	}
	if got := addGrant(addGrant(addGrant("", usual), own), usual); got != usual+"\n"+own {
		t.Errorf("both are %q", got)
	}
}

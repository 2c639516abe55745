package poller

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

// flavours are the servers that tests of rights run on.
var flavours = []struct {
	name  string
	start func(testing.TB, ...mysqltest.Option) *mysqltest.Server
}{{"MariaDB", mysqltest.MariaDB}, {"MySQL 5.6", mysqltest.MySQL56}}

// TestWhatAnAccountCannotSeeIsNotZero: without a right the answers are smaller and no error says so. Nothing of it may
// become a number.
func TestWhatAnAccountCannotSeeIsNotZero(t *testing.T) {
	t.Parallel()
	for _, f := range flavours {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := f.start(t)
			s.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.t (a INT) ENGINE=InnoDB", "CREATE VIEW shop.v AS SELECT a FROM shop.t",
				"CREATE DATABASE hidden", "CREATE TABLE hidden.m (a INT) ENGINE=MyISAM")
			const mayFail = "replication innodb transactions deadlock accounts binlogs position"

			user, password := s.NewUser(t)
			w := watch(t, s, user, password)
			snap, failed := w.poll(t, mayFail)
			wants(t, snap, map[string]string{"schema.total_data_bytes": "none", "schema.total_index_bytes": "none", "schema.total_free_bytes": "none",
				"schema.total_tables": "none", "schema.engine_tables[MyISAM]": "absent", "server.processes_total": "absent",
				"server.binary_logs": "absent", "server.accounts": "absent", "replica.channels": "absent", "innodb.transactions": "absent"})
			if snap.Schemas != nil || snap.Replicas != nil || snap.Accounts != nil || snap.BinaryLogs != nil {
				t.Errorf("what can't be seen is listed as nothing: %+v", snap.Rows)
			}
			if p := problemOf(snap, "sizes"); p == nil || !strings.Contains(p.Text, "in no schema") || p.Cure != grantGlobal("SHOW VIEW", user+"@%") {
				t.Errorf("the sizes say %+v", p)
			}
			for _, name := range []string{"replication", "innodb", "accounts", "binlogs"} {
				if failed[name] == nil {
					t.Errorf("%s says nothing of the right that it lacks", name)
				}
			}

			// A right on one schema: its tables are measured, and that there are others is said.
			s.Exec(t, "GRANT SHOW VIEW ON shop.* TO '"+user+"'@'%'")
			snap, _ = watch(t, s, user, password).poll(t, mayFail)
			wants(t, snap, map[string]string{"schema.total_tables": "1", "schema.tables[shop]": "1", "schema.tables[hidden]": "absent",
				"schema.engine_tables[MyISAM]": "absent", "schema.engine_tables[Aria]": "absent"})
			if p := problemOf(snap, "sizes"); p == nil || !strings.Contains(p.Text, "only 1 schema:") || !snap.Schemas.Hidden {
				t.Errorf("a part is taken for all: %+v, %+v", p, snap.Schemas)
			}

			s.Exec(t, "GRANT SHOW VIEW ON *.* TO '"+user+"'@'%'")
			snap, _ = watch(t, s, user, password).poll(t, mayFail)
			wants(t, snap, map[string]string{"schema.total_tables": "2", "schema.engine_tables[MyISAM]": "1", "schema.engine_tables[Aria]": "0"})
			if z := snap.Schemas; z.Hidden || z.Tables != 2 || z.Views != 1 || z.Listed != 3 {
				t.Errorf("tables and views are not told apart: %+v", z)
			}
			// The session from before the grant goes on seeing nothing, whatever the server's list of rights says by now.
			snap, _ = w.poll(t, mayFail)
			wants(t, snap, map[string]string{"schema.tables[hidden]": "absent", "schema.engine_tables[MyISAM]": "absent"})
			if problemOf(snap, "sizes") == nil {
				t.Error("a session without the right says that it sees everything")
			}
		})
	}
}

// TestOwnThreadsAreNotAllWhenNobodyElseIsConnected: threads of the server itself are hidden too, and are not counted as connected.
func TestOwnThreadsAreNotAllWhenNobodyElseIsConnected(t *testing.T) {
	t.Parallel()
	rows := answer{columns: []string{"Id", "User", "Host", "db", "Command", "Time", "State", "Info"},
		rows: [][]string{{"42", "monolith", "h:1", null, "Query", "0", "init", "SHOW FULL PROCESSLIST"}}}
	connected := answer{columns: []string{"Variable_name", "Value"}, rows: [][]string{{"Threads_connected", "1"}}}
	for _, c := range []struct {
		change func(*Gather)
		status answer
		own    bool
	}{
		{holds(), connected, true}, {holds("PROCESS"), connected, false}, {holds("ALL PRIVILEGES"), connected, false},
		{func(*Gather) {}, connected, false}, // the rights are not known
		{func(*Gather) {}, answer{columns: connected.columns}, true},
	} {
		f := &fakeSession{answers: map[string]answer{"SHOW FULL PROCESSLIST": rows, "SHOW GLOBAL STATUS LIKE 'Threads_connected'": c.status}}
		snap, err := collect(t, processesCollector(), server("10.11.6-MariaDB", ""), f, c.change)
		if err != nil || snap.Processes.OnlyOwn != c.own || (problemKinds(snap) == "[partial]") != c.own {
			t.Errorf("%v, %+v, %v, want %v", err, snap.Processes, snap.Problems, c.own)
		}
		if got := find(snap, "server.processes_total", ""); (got == "absent") != c.own {
			t.Errorf("counted %s", got)
		}
	}
}

func TestRightsOfARoleCount(t *testing.T) {
	t.Parallel()
	s := mysqltest.MariaDB(t)
	user, password := s.NewUser(t)
	s.Exec(t, "CREATE ROLE watchers", "GRANT SHOW VIEW, PROCESS ON *.* TO watchers", "GRANT watchers TO '"+user+"'@'%'",
		"SET DEFAULT ROLE watchers FOR '"+user+"'@'%'", "CREATE DATABASE shop", "CREATE TABLE shop.t (a INT)")
	w := watch(t, s, user, password)
	snap, _ := w.poll(t, "replication accounts binlogs")
	wants(t, snap, map[string]string{"schema.total_tables": "1"})
	if p := problemOf(snap, "sizes"); p != nil || snap.Schemas.Hidden || snap.Processes.OnlyOwn {
		t.Errorf("a role's rights are not seen: %+v, %+v", p, w.session.rights)
	}
	if len(w.refused) > 0 && strings.Contains(fmt.Sprint(w.refused), "ROLE") {
		t.Errorf("refused: %q", w.refused)
	}
}

// TestGrantedRightsWorkFromTheNextPollOn: a session keeps the rights of its login, so that "poll everything now" after the
// GRANT has to log in again, and does it only then.
func TestGrantedRightsWorkFromTheNextPollOn(t *testing.T) {
	t.Parallel()
	for name, start := range bothServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := start(t)
			db.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.t (a INT)")
			user, password := db.NewUser(t)
			w := follow(t, spaced(2*time.Second, everySecond(t, db, user, password)))
			lacks := func() (n int) {
				for _, c := range w.Collectors(1) {
					if c.Grant != "" {
						n++
					}
				}
				return n
			}
			w.next(t, "every collector", func(*monolith.Snapshot) bool { return everyOneRan(w) })
			if lacks() < 4 {
				t.Fatalf("at first only %d collectors want rights", lacks())
			}
			for _, c := range w.Collectors(1) {
				if c.Grant != "" {
					db.Exec(t, strings.Split(c.Grant, "\n")...)
				}
			}
			before := w.Stats().Connects
			if err := w.PollNow(1); err != nil {
				t.Fatal(err)
			}
			s := w.next(t, "the sizes", func(s *monolith.Snapshot) bool { return s.Schemas != nil })
			wants(t, s, map[string]string{"schema.total_tables": "1"})
			w.next(t, "all rights", func(*monolith.Snapshot) bool { return lacks() == 0 })
			if err := w.PollNow(1); err != nil {
				t.Fatal(err)
			}
			w.next(t, "one more poll of everything", func(s *monolith.Snapshot) bool { return s.Schemas != nil })
			if n := w.Stats().Connects - before; n != 1 {
				t.Errorf("logged in %d times", n)
			}
		})
	}
}

// TestRevokedRightsAreMissedAtOnce: what needs a right that was taken away says so at the next tick of the slow schedule, though
// its own turn may be an hour away and nothing else stumbles over it.
func TestRevokedRightsAreMissedAtOnce(t *testing.T) {
	t.Parallel()
	for name, start := range bothServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := start(t)
			user, password := db.NewUser(t, "PROCESS, REPLICATION CLIENT ON *.*", "SELECT ON mysql.*")
			w := follow(t, spaced(2*time.Second, everySecond(t, db, user, password)), func(c *Config) { c.rightsShare = 1 })
			w.next(t, "every collector", func(*monolith.Snapshot) bool { return everyOneRan(w) })
			w.next(t, "a poll of the fast collectors alone", func(s *monolith.Snapshot) bool { return s.Polled && costOf(s, "accounts") == nil })
			before := w.Stats().Connects
			db.Exec(t, "REVOKE SELECT ON mysql.* FROM '"+user+"'@'%'")
			s := w.next(t, "the accounts again", func(s *monolith.Snapshot) bool { return costOf(s, "accounts") != nil })
			if p := problemOf(s, "accounts"); p == nil || p.Kind != monolith.ProblemPrivilege || !strings.HasPrefix(p.Cure, "GRANT SELECT ON mysql.*") {
				t.Errorf("the accounts say %+v", p)
			}
			db.Exec(t, "GRANT SELECT ON mysql.* TO '"+user+"'@'%'")
			w.next(t, "the accounts when they may be read again", func(s *monolith.Snapshot) bool { return s.Accounts != nil })
			db.Exec(t, "REVOKE PROCESS ON *.* FROM '"+user+"'@'%'")
			s = w.next(t, "the transactions' denial", func(s *monolith.Snapshot) bool { return problemOf(s, "transactions") != nil })
			if p := problemOf(s, "transactions"); p.Kind != monolith.ProblemPrivilege {
				t.Errorf("the transactions say %+v", p)
			}
			if n := w.Stats().Connects - before; n != 3 {
				t.Errorf("logged in %d times for three changes", n)
			}
		})
	}
}

func costOf(s *monolith.Snapshot, collector string) *monolith.Cost {
	for i := range s.Costs {
		if s.Costs[i].Collector == collector {
			return &s.Costs[i]
		}
	}
	return nil
}

// TestDoubtsAboutRights: they are looked at as often as they cost little.
func TestDoubtsAboutRights(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, c := range []struct {
		all, slow, denial bool
		at                time.Time
		took              time.Duration
		want              bool
	}{
		{},
		{slow: true, want: true},
		{slow: true, at: ago(time.Minute), took: 20 * time.Millisecond, want: true},
		{slow: true, at: ago(time.Minute), took: 200 * time.Millisecond},
		{slow: true, at: ago(4 * time.Minute), took: 200 * time.Millisecond, want: true},
		{slow: true, at: ago(11 * time.Minute), took: time.Minute, want: true},
		{denial: true, at: now, took: time.Minute, want: true},
		{all: true, at: now, took: time.Minute, want: true},
	} {
		p := poll{all: c.all, slow: c.slow, t: &target{p: &Poller{}}}
		p.t.poll.denial, p.t.poll.rightsAt, p.t.poll.rightsTook = c.denial, c.at, c.took
		if got := p.doubtsRights(now); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	p := poll{t: &target{poll: newPollState()}}
	c := accountsCollector()
	p.noteDenial(c, false)
	if p.t.poll.denial {
		t.Error("a good run makes doubts")
	}
	p.noteDenial(c, true)
	if !p.t.poll.denial {
		t.Error("a denial makes none")
	}
	p.t.poll.denial = false
	p.noteDenial(c, true)
	if p.t.poll.denial {
		t.Error("the same denial makes doubts again")
	}
}

func TestRightsFromGrants(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		lines   string
		process bool
		all     bool
	}{
		{"GRANT USAGE ON *.* TO `m`@`%`", false, false},
		{"GRANT PROCESS, REPLICATION CLIENT, SHOW VIEW ON *.* TO `m`@`%`\nGRANT BACKUP_ADMIN ON *.* TO `m`@`%`", true, true},
		{"GRANT ALL PRIVILEGES ON *.* TO 'root'@'localhost' WITH GRANT OPTION", true, true},
		{"GRANT SELECT ON `shop`.* TO `m`@`%`\nGRANT SELECT (`a`) ON `s`.`t` TO `m`@`%`\nGRANT PROXY ON ''@'' TO 'm'@'%'", false, false},
		{"GRANT SELECT ON *.* TO `m`@`%`\nREVOKE SELECT ON `shop`.* FROM `m`@`%`", false, false},
		{"GRANT SELECT, SHOW VIEW ON *.* TO `m`@`%`\nREVOKE SELECT ON `shop`.* FROM `m`@`%`", false, true},
		{"GRANT SELECT ON *.* TO `m`@`%`\nREVOKE SELECT ON `mysql`.* FROM `m`@`%`", false, true},
		{"GRANT `PROCESS ON *.* TO `@`%` TO `m`@`%`", false, false},
		{"GRANT USAGE ON `SELECT ON *.* TO `.* TO `m`@`%`", false, false},
	} {
		r := rights{known: true, held: map[string]bool{}}
		for line := range strings.Lines(c.lines) {
			r.addGrant(strings.TrimSuffix(line, "\n"))
		}
		if r.has("PROCESS") != c.process || r.seesAllTables() != c.all {
			t.Errorf("%q gives %+v", c.lines, r)
		}
	}
}

func FuzzRightsFromGrants(f *testing.F) {
	f.Add("GRANT SELECT, SHOW VIEW ON *.* TO `m`@`%`")
	f.Add("REVOKE SELECT ON `shop`.* FROM `m`@`%`")
	f.Fuzz(func(t *testing.T, line string) {
		r := rights{held: map[string]bool{}}
		r.addGrant(line)
		if len(r.held) > 0 && !strings.HasPrefix(line, "GRANT ") || len(r.lessOn) > 0 && !strings.HasPrefix(line, "REVOKE ") {
			t.Errorf("%q gives %+v", line, r)
		}
	})
}

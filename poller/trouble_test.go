package poller

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

// ownThreads gives the ids of an account's threads as root sees them.
func ownThreads(tb testing.TB, db *sql.DB, user string) []int64 {
	tb.Helper()
	rows, err := db.QueryContext(tb.Context(), "SELECT id FROM information_schema.processlist WHERE user = ?", user)
	if err != nil {
		tb.Fatal(err)
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			tb.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return ids
}

func TestRestartBeginsANewRun(t *testing.T) {
	t.Parallel()
	db := mysqltest.MariaDB(t)
	user, password := db.NewUser(t, "PROCESS ON *.*")
	w := follow(t, everySecond(t, db, user, password))
	before := w.next(t, "a poll with some uptime", func(s *monolith.Snapshot) bool { return s.Polled && valueOf(t, s, "status.Uptime") >= 4 })
	db.Restart(t)
	after := w.next(t, "a poll after the restart", func(s *monolith.Snapshot) bool { return s.Restart })
	if !after.Polled || after.Run != before.Run+1 {
		t.Errorf("run %d after run %d", after.Run, before.Run)
	}
	if after.Seq <= before.Seq {
		t.Errorf("seq %d after %d", after.Seq, before.Seq)
	}
	later := w.next(t, "one more poll", polled)
	if later.Restart || later.Run != after.Run {
		t.Errorf("the poll after: restart %v, run %d", later.Restart, later.Run)
	}
	// What the server is was read anew, not only its status.
	w.next(t, "the variables again", func(s *monolith.Snapshot) bool {
		return after.Section("variables") != nil || s.Section("variables") != nil
	})
}

func TestServerGoneAndBack(t *testing.T) {
	t.Parallel()
	db := mysqltest.MariaDB(t)
	user, password := db.NewUser(t, "PROCESS ON *.*")
	w := follow(t, everySecond(t, db, user, password))
	w.next(t, "a poll", polled)
	db.Stop(t)
	gone := w.next(t, "a poll that fails", func(s *monolith.Snapshot) bool {
		p := problemOf(s, "")
		if p == nil {
			p = problemOf(s, "status")
		}
		return !s.Polled && !s.Up && p != nil && p.Kind == monolith.ProblemUnreachable
	})
	if up := valueOf(t, gone, "server.up"); up != 0 {
		t.Errorf("server.up = %v", up)
	}
	gone = w.next(t, "a refused connection", func(s *monolith.Snapshot) bool {
		p := problemOf(s, "")
		return p != nil && strings.Contains(p.Text, "refuses")
	})
	if gone.Section("status") != nil {
		t.Error("a server that is gone has a status")
	}
	db.Start(t)
	back := w.next(t, "a poll of the server that is back", polled)
	if !back.Restart || valueOf(t, back, "server.up") != 1 {
		t.Errorf("back: %+v", describe(back))
	}
	if st := w.State(1); len(st.Problems) != 0 && st.Problems[0].Collector == "" {
		t.Errorf("problems stay: %+v", st.Problems)
	}
}

// A server that hangs costs its own polls only, is never given a third connection, and what our lost
// connection left running there is ended afterwards.
func TestServerHangs(t *testing.T) {
	t.Parallel()
	sick, well := mysqltest.MariaDB(t), mysqltest.MariaDB(t)
	user, password := sick.NewUser(t, "PROCESS ON *.*")
	user2, password2 := well.NewUser(t, "PROCESS ON *.*")
	w := follow(t, everySecond(t, sick, user, password))
	other := everySecond(t, well, user2, password2)
	other.ID, other.Name = 2, "well"
	w.Apply([]monolith.Server{w.server, other}, nil)
	w.next(t, "a poll of each", func(s *monolith.Snapshot) bool {
		return w.State(1) != nil && w.State(2) != nil && w.State(1).OK && w.State(2).OK
	})
	sick.Signal(t, syscall.SIGSTOP)
	hung := w.next(t, "a timeout", func(s *monolith.Snapshot) bool { return s.Server == 1 && !s.Polled && !s.Up })
	p := problemOf(hung, "status")
	if p == nil {
		p = problemOf(hung, "")
	}
	if p == nil || p.Kind != monolith.ProblemTimeout {
		t.Errorf("hung: %+v", describe(hung))
	}
	began := time.Now()
	for i := range 4 {
		s := w.next(t, "polls of the other server", func(s *monolith.Snapshot) bool { return s.Server == 2 })
		if !s.Polled || i > 0 && s.Elapsed > 6*time.Second { // with room for a machine under load
			t.Errorf("the other server suffers: %+v after %v", describe(s), s.Elapsed)
		}
	}
	if d := time.Since(began); d > 20*time.Second {
		t.Errorf("four polls of the other server took %v", d)
	}
	if p := w.State(1).Problems; len(p) == 0 {
		t.Error("the state of the server that hangs names no problem")
	}
	sick.Signal(t, syscall.SIGCONT)
	back := w.next(t, "the server again", func(s *monolith.Snapshot) bool { return s.Server == 1 && s.Polled })
	if back.Restart {
		t.Error("a server that hung was not restarted")
	}
	if ids := ownThreads(t, sick.DB(t), user); len(ids) > 2 {
		t.Errorf("%d threads of ours: %v", len(ids), ids)
	}
}

// A statement that outlives our patience is ended at the server by the next connection.
func TestOrphanIsKilled(t *testing.T) {
	t.Parallel()
	db := mysqltest.MariaDB(t)
	user, password := db.NewUser(t, "PROCESS ON *.*")
	// MariaDB's own limit would end the statement first; this one is of a kind that knows no limit.
	slow := &Collector{Name: "slow", Title: "Slow", Schedule: monolith.Fast, Timeout: 300 * time.Millisecond,
		Collect: sleeper}
	w := follow(t, everySecond(t, db, user, password), func(c *Config) {
		c.Collectors = []*Collector{statusCollector(), slow}
	})
	first := w.next(t, "a poll with a collector that takes too long", func(s *monolith.Snapshot) bool { return problemOf(s, "slow") != nil })
	p := problemOf(first, "slow")
	if p.Kind != monolith.ProblemTimeout || !first.Polled || !strings.Contains(p.Cure, "the next try is in") {
		t.Errorf("%+v, polled %v", p, first.Polled)
	}
	next := w.next(t, "the next poll", func(s *monolith.Snapshot) bool { return s.Polled })
	if problemOf(next, "slow") != nil {
		t.Error("the slow collector does not back off")
	}
	eventually(t, "the orphan to be gone", func() bool { return len(ownThreads(t, db.DB(t), user)) == 1 })
	for _, c := range w.Collectors(1) {
		if c.Name == "slow" && (c.Works != monolith.CollectorWaiting || c.Until.IsZero() || c.Timeouts == 0) {
			t.Errorf("status of the slow collector: %+v", c)
		}
	}
}

// eventually waits for a condition of the outside world.
func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			tb.Fatalf("waited in vain for %s", what)
		case <-tick.C:
		}
	}
}

func TestConnectionTroubles(t *testing.T) {
	t.Parallel()
	db := mysqltest.MariaDB(t)
	user, password := db.NewUser(t, "PROCESS ON *.*")
	good := everySecond(t, db, user, password)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := closed.Addr().(*net.TCPAddr).Port
	closed.Close()
	blackhole, _ := ParseDSN("u:secret-word@tcp(" + mysqltest.Blackhole(t) + ")/")

	for _, c := range []struct {
		name   string
		change func(*monolith.Server)
		kind   monolith.ProblemKind
		code   int
		up     bool
		text   string // a part of the words
	}{
		{"wrong password", func(s *monolith.Server) { s.Endpoint.Password = "wr0ng-canary" }, monolith.ProblemRefused, 1045, true, user},
		{"unknown host", func(s *monolith.Server) { s.Endpoint.Host, s.Endpoint.Port = "no-such-host.invalid", 0 }, monolith.ProblemUnreachable, 0, false, "no-such-host.invalid"},
		{"refused", func(s *monolith.Server) { s.Endpoint.Port = port }, monolith.ProblemUnreachable, 0, false, "refuses"},
		{"says nothing", func(s *monolith.Server) { *s = spaced(2*time.Second, *s); s.Endpoint = blackhole }, monolith.ProblemTimeout, 0, false, "says nothing"},
		{"no socket", func(s *monolith.Server) {
			s.Endpoint = monolith.Endpoint{Socket: "/nonexistent/mysqld.sock", User: user}
		}, monolith.ProblemUnreachable, 0, false, "no socket"},
		{"TLS wanted", func(s *monolith.Server) { s.Endpoint.TLS = "required" }, monolith.ProblemRefused, 0, true, "TLS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := spaced(10*time.Second, good)
			c.change(&server)
			w := follow(t, server)
			s := w.next(t, "a failing poll", func(s *monolith.Snapshot) bool { return true })
			p := problemOf(s, "")
			if p == nil || p.Kind != c.kind || p.Code != c.code || !strings.Contains(p.Text, c.text) || p.Cure == "" || s.Up != c.up || s.Polled {
				t.Fatalf("up %v, problems %+v", s.Up, s.Problems)
			}
			if strings.Contains(fmt.Sprint(s.Problems), "canary") {
				t.Error("the password is in the words")
			}
			if s.Section("self") == nil || s.Section("server") == nil {
				t.Error("a failing poll says nothing of itself")
			}
			report := w.Test(t.Context(), server)
			if report.OK || report.Up != c.up {
				t.Errorf("the connection test says ok %v, up %v", report.OK, report.Up)
			}
			failed := 0
			for _, step := range report.Steps {
				if step.Result == monolith.StepFailed {
					failed++
					if step.Cure == "" || step.Text == "" {
						t.Errorf("step %+v does not explain itself", step)
					}
				}
			}
			if failed != 1 {
				t.Errorf("%d failed steps: %+v", failed, report.Steps)
			}
		})
	}
}

// A server that is full is up.
func TestServerIsFull(t *testing.T) {
	t.Parallel()
	db := mysqltest.MariaDB(t, mysqltest.Options("max_connections=10"))
	user, password := db.NewUser(t, "PROCESS ON *.*")
	filler, fillerPassword := db.NewUser(t)
	pool, err := sql.Open("mysql", db.DSN(filler, fillerPassword))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	for {
		c, err := pool.Conn(t.Context())
		if err != nil {
			break
		}
		defer c.Close()
	}
	w := follow(t, spaced(10*time.Second, everySecond(t, db, user, password)))
	full := w.next(t, "a poll", func(*monolith.Snapshot) bool { return true })
	p := problemOf(full, "")
	if p == nil || p.Code != 1040 || p.Kind != monolith.ProblemRefused || !full.Up || full.Polled {
		t.Fatalf("%+v", describe(full))
	}
	if valueOf(t, full, "server.up") != 1 {
		t.Error("a full server counts as down")
	}
	pool.Close()
}

// An idle connection that was killed, or that the server closed, is made again without a word.
func TestIdleConnectionKilled(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, ...mysqltest.Option) *mysqltest.Server{"MariaDB": mysqltest.MariaDB, "MySQL 5.6": mysqltest.MySQL56} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := start(t)
			user, password := db.NewUser(t, "PROCESS ON *.*")
			w := follow(t, spaced(2*time.Second, everySecond(t, db, user, password)), func(c *Config) { c.Collectors = []*Collector{statusCollector()} })
			w.next(t, "a poll", polled)
			for range 2 {
				for _, id := range ownThreads(t, db.DB(t), user) {
					db.Exec(t, fmt.Sprintf("KILL %d", id))
				}
				for range 2 {
					s := w.next(t, "a poll", func(*monolith.Snapshot) bool { return true })
					if !s.Polled || len(s.Problems) > 0 || s.Run != 1 {
						t.Fatalf("after the kill: %+v", describe(s))
					}
				}
			}
		})
	}
}

// A poll interval longer than wait_timeout neither loses the connection nor counts aborted clients.
func TestIdleLongerThanWaitTimeout(t *testing.T) {
	t.Parallel()
	db := mysqltest.MariaDB(t, mysqltest.Options("wait_timeout=1"))
	user, password := db.NewUser(t, "PROCESS ON *.*")
	server := everySecond(t, db, user, password)
	server.Schedules[monolith.Fast] = "@every 3s"
	w := follow(t, server, func(c *Config) { c.Collectors = []*Collector{statusCollector()} })
	w.next(t, "a poll", polled)
	before := ownThreads(t, db.DB(t), user)
	s := w.next(t, "a poll after a pause", func(*monolith.Snapshot) bool { return true })
	if !s.Polled || len(s.Problems) > 0 {
		t.Errorf("%+v", describe(s))
	}
	if after := ownThreads(t, db.DB(t), user); len(before) != 1 || len(after) != 1 || before[0] != after[0] {
		t.Errorf("connections before %v, after %v", before, after)
	}
}

// An account without any right reads what it may and says what it lacks.
func TestUsageOnlyAccount(t *testing.T) {
	t.Parallel()
	for name, start := range bothServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			usageOnly(t, start(t))
		})
	}
}

func usageOnly(t *testing.T, db *mysqltest.Server) {
	user, password := db.NewUser(t)
	server := spaced(10*time.Second, everySecond(t, db, user, password))
	w := follow(t, server)
	s := w.next(t, "a poll", polled)
	if s.Section("status") == nil || s.Section("variables") == nil {
		t.Error("status and variables need no right")
	}
	eventually(t, "every collector's report", func() bool {
		for _, c := range w.Collectors(1) {
			if c.Name != "host" && c.Runs == 0 && c.Works == monolith.CollectorWaiting {
				return false
			}
		}
		return true
	})
	lacking := map[string]string{}
	for _, c := range w.Collectors(1) {
		if c.Grant != "" {
			lacking[c.Name] = c.Grant
		}
	}
	for _, name := range []string{"replication", "accounts"} {
		if !strings.HasPrefix(lacking[name], "GRANT ") {
			t.Errorf("%s names no GRANT: %v", name, lacking)
		}
	}
	// What is switched off has no problem any more.
	off := w.server
	off.CollectorsOff = []string{"replication"}
	w.Apply([]monolith.Server{off}, nil)
	eventually(t, "the problem of a collector that is off to go", func() bool {
		return !slices.ContainsFunc(w.State(1).Problems, func(p monolith.Problem) bool { return p.Collector == "replication" })
	})
	for _, c := range w.Collectors(1) {
		if c.Name == "replication" && (c.Works != monolith.CollectorOff || !strings.Contains(c.Why, "switched off")) {
			t.Errorf("%+v", c)
		}
	}
	report := w.Test(t.Context(), server)
	if !report.OK || len(report.Grants) == 0 {
		t.Fatalf("report: %+v", report)
	}
	// Each statement, run as it is printed, mends what it was printed for.
	for _, grant := range report.Grants {
		db.Exec(t, strings.TrimSuffix(grant, ";"))
	}
	report = w.Test(t.Context(), server)
	if len(report.Grants) != 0 {
		t.Errorf("after all grants the account still lacks %v", report.Grants)
	}
}

// sleeper is a collector whose statement takes longer than anybody waits.
func sleeper(ctx context.Context, g *Gather) error {
	if err := g.Session.Exec(ctx, "SET SESSION max_statement_time=0"); err != nil {
		return err
	}
	return g.Session.Query(ctx, "SELECT SLEEP(90)", func(Row) error { return nil })
}

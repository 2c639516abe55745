package poller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

// bothServers are the real servers that there are.
var bothServers = map[string]func(testing.TB, ...mysqltest.Option) *mysqltest.Server{
	"MariaDB": mysqltest.MariaDB, "MySQL 5.6": mysqltest.MySQL56,
}

// On a server that nobody else uses, what happened is exactly what our own statements added.
func TestOwnLoadIsSubtracted(t *testing.T) {
	t.Parallel()
	for name, start := range bothServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := start(t)
			user, password := db.NewUser(t, "PROCESS ON *.*")
			server := spaced(2*time.Second, everySecond(t, db, user, password))
			server.Schedules[monolith.Slow] = "@every 4s"
			w := follow(t, server, func(c *Config) { c.Collectors = []*Collector{statusCollector(), variablesCollector()} })
			w.next(t, "the measuring poll", polled)
			first := w.next(t, "a second poll", polled)
			var last *monolith.Snapshot
			for range 5 {
				last = w.next(t, "more polls", polled)
			}
			for _, n := range []string{"Questions", "Com_select", "Com_show_status", "Com_show_variables", "Handler_read_rnd_next", "Bytes_sent", "Created_tmp_tables", "Select_scan"} {
				all := valueOf(t, last, "status."+n) - valueOf(t, first, "status."+n)
				own := valueOf(t, last, "self."+n) - valueOf(t, first, "self."+n)
				// The number of digits in an answer changes, and so its bytes.
				if all != own && !(n == "Bytes_sent" && math.Abs(all-own) < all/100) {
					t.Errorf("%s: the server counted %v, our own share is %v", n, all, own)
				}
				if n == "Questions" && own < 5 {
					t.Errorf("our own Questions grew by %v", own)
				}
			}
		})
	}
}

// What our statements add is a counter like the server's of the same name, or rates could not be subtracted.
func TestOwnCountersAreCounters(t *testing.T) {
	t.Parallel()
	self := newCoreNames().self
	for i := range self.Len() {
		name := strings.TrimPrefix(self.At(i).Name, "self.")
		if name[0] >= 'A' && name[0] <= 'Z' && (!self.Kind(i).Accumulates() || self.Kind(i) != monolith.KindOf("status."+name)) {
			t.Errorf("self.%s is a %s, status.%s a %s", name, self.Kind(i), name, monolith.KindOf("status."+name))
		}
	}
}

// logged keeps what is logged.
type logged struct {
	mu   sync.Mutex
	text []string
}

func (l *logged) Enabled(context.Context, slog.Level) bool { return true }
func (l *logged) WithAttrs([]slog.Attr) slog.Handler       { return l }
func (l *logged) WithGroup(string) slog.Handler            { return l }
func (l *logged) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := r.Message
	r.Attrs(func(a slog.Attr) bool { line += " " + a.String(); return true })
	l.text = append(l.text, line)
	return nil
}

func (l *logged) with(part string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.text), func(s string) bool { return !strings.Contains(s, part) })
}

// On the versions that the tables know no statement is refused, and the password is in no line of the log.
func TestRealServersRefuseNothing(t *testing.T) {
	t.Parallel()
	for name, start := range bothServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := start(t)
			user, password := db.NewUser(t, "ALL ON *.*")
			log := &logged{}
			w := follow(t, everySecond(t, db, user, password), func(c *Config) { c.Log = slog.New(log) })
			w.next(t, "every collector", func(*monolith.Snapshot) bool {
				return !slices.ContainsFunc(w.Collectors(1), func(c monolith.CollectorStatus) bool { return c.Works == monolith.CollectorWaiting })
			})
			report := w.Test(t.Context(), w.server)
			if !report.OK || !report.Up || report.Identity.IsZero() || !strings.HasPrefix(report.Account, user+"@") || len(report.Grants) > 0 {
				t.Errorf("report %+v", report)
			}
			for _, s := range report.Steps {
				if s.Result == monolith.StepFailed {
					t.Errorf("step %+v", s)
				}
			}
			for _, line := range log.with("refused") {
				t.Error(line)
			}
			for _, line := range log.with(password) {
				t.Error("the password is in the log: " + line)
			}
		})
	}
}

// A rename keeps the connection; another password makes a new one.
func TestRenameKeepsTheConnection(t *testing.T) {
	t.Parallel()
	db := mysqltest.MariaDB(t)
	user, password := db.NewUser(t, "PROCESS ON *.*")
	w := follow(t, spaced(2*time.Second, everySecond(t, db, user, password)), func(c *Config) { c.Collectors = []*Collector{statusCollector()} })
	w.next(t, "a poll", polled)
	before := ownThreads(t, db.DB(t), user)
	s := w.server
	s.Name, s.Group, s.Position = "renamed", "acme/prod", 3
	w.Apply([]monolith.Server{s}, nil)
	w.next(t, "a poll", polled)
	w.next(t, "a poll", polled)
	if after := ownThreads(t, db.DB(t), user); len(after) != 1 || !slices.Equal(before, after) {
		t.Errorf("connections before %v, after %v", before, after)
	}
	s.Endpoint.Password = "no longer right"
	w.Apply([]monolith.Server{s}, nil)
	bad := w.next(t, "a refused login", func(s *monolith.Snapshot) bool { return !s.Polled })
	if p := problemOf(bad, ""); p == nil || p.Code != 1045 {
		t.Errorf("%+v", bad.Problems)
	}
	s.Endpoint.Password = monolith.Secret(password)
	w.Apply([]monolith.Server{s}, nil)
	good := w.next(t, "a poll", polled)
	if good.Restart || good.Run != 1 {
		t.Errorf("a new login is no restart: %+v", describe(good))
	}
	if st := w.State(1); len(st.Problems) > 0 {
		t.Errorf("problems stay: %+v", st.Problems)
	}
}

// An answer that is too large costs the connection and nothing else.
func TestAnswerTooLarge(t *testing.T) {
	t.Parallel()
	db := mysqltest.MariaDB(t)
	user, password := db.NewUser(t, "PROCESS ON *.*")
	large := &Collector{Name: "large", Title: "Large", Schedule: monolith.Slow, MaxBytes: 100_000,
		Collect: func(ctx context.Context, g *Gather) error {
			return g.Session.Query(ctx, "SELECT REPEAT('x', 10000) FROM information_schema.collations a JOIN information_schema.collations b LIMIT 1000", func(Row) error { return nil })
		}}
	second := &Collector{Name: "second", Title: "Second", Schedule: monolith.Slow,
		Collect: func(ctx context.Context, g *Gather) error {
			return g.Session.Query(ctx, "SELECT 1", func(Row) error { return nil })
		}}
	w := follow(t, spaced(10*time.Second, everySecond(t, db, user, password)), func(c *Config) { c.Collectors = []*Collector{statusCollector(), large, second} })
	s := w.next(t, "a poll", polled)
	p := problemOf(s, "large")
	if p == nil || p.Kind != monolith.ProblemAnswer || !strings.Contains(p.Text, "larger than allowed") {
		t.Fatalf("%+v", describe(s))
	}
	if problemOf(s, "second") != nil || !slices.ContainsFunc(s.Costs, func(c monolith.Cost) bool { return c.Collector == "second" && c.Rows == 1 }) {
		t.Errorf("the next collector did not go on: %+v, %+v", describe(s), s.Costs)
	}
	for _, c := range s.Costs {
		if c.Collector == "large" && (c.Bytes < 90_000 || c.Bytes > 110_000) {
			t.Errorf("the answer was cut off at %d bytes", c.Bytes)
		}
	}
}

// At a second's interval the others of the fast schedule run every ten seconds only.
func TestEachSecondOnlyStatusAndReplication(t *testing.T) {
	t.Parallel()
	db := mysqltest.MariaDB(t)
	user, password := db.NewUser(t, "PROCESS ON *.*", "REPLICA MONITOR ON *.*")
	w := follow(t, everySecond(t, db, user, password))
	w.next(t, "the first poll, which runs everything", polled)
	ran := map[string]int{}
	for range 5 {
		for _, c := range w.next(t, "a poll", polled).Costs {
			ran[c.Collector]++
		}
	}
	if ran["status"] != 5 || ran["replication"] != 5 || ran["innodb"] > 1 {
		t.Errorf("in five seconds: %v", ran)
	}
}

// A collector that panics is a problem of its own.
func TestCollectorPanics(t *testing.T) {
	t.Parallel()
	db := mysqltest.MariaDB(t)
	user, password := db.NewUser(t)
	bad := &Collector{Name: "bad", Title: "Bad", Schedule: monolith.Slow, Collect: func(ctx context.Context, g *Gather) error {
		return g.Session.Query(ctx, "SELECT 1", func(r Row) error { _ = r.values[7]; return nil })
	}}
	w := follow(t, spaced(3*time.Second, everySecond(t, db, user, password)), func(c *Config) {
		c.Collectors = []*Collector{statusCollector(), bad}
		c.Log = nil
	})
	s := w.next(t, "a poll", polled)
	if p := problemOf(s, "bad"); p == nil || p.Kind != monolith.ProblemAnswer {
		t.Errorf("%+v", s.Problems)
	}
	if s := w.next(t, "the next poll", func(*monolith.Snapshot) bool { return true }); !s.Polled {
		t.Errorf("after the panic: %+v", describe(s))
	}
}

// While a long statement runs, polls wait for their turn or say what they wait for; its result comes later.
func TestLongCollectorSharesTheConnection(t *testing.T) {
	t.Parallel()
	db := mysqltest.MariaDB(t)
	user, password := db.NewUser(t)
	long := &Collector{Name: "long", Title: "Long", Schedule: monolith.Sizes, Timeout: 20 * time.Second, Collect: func(ctx context.Context, g *Gather) error {
		for range 20 { // a scan in pieces, each shorter than a poll
			if err := g.Session.Query(ctx, "SELECT SLEEP(0.4)", func(Row) error { return nil }); err != nil {
				return err
			}
		}
		g.Snapshot().Schemas = &monolith.SchemaSizes{Tables: 42}
		return nil
	}}
	w := follow(t, spaced(2*time.Second, everySecond(t, db, user, password)), func(c *Config) { c.Collectors = []*Collector{statusCollector(), long} })
	between, failed := 0, 0
	s := w.next(t, "the long collector's result", func(s *monolith.Snapshot) bool {
		if s.Schemas == nil && s.Polled {
			between++
		}
		if !s.Polled {
			failed++ // as every one would if it had to wait for the collector; some may on a machine under load
			t.Logf("a poll beside the long collector failed: %+v", describe(s))
		}
		return s.Schemas != nil
	})
	if between < 3 || failed > between || s.Schemas.Tables != 42 {
		t.Errorf("%d polls beside a collector of eight seconds, and %d that failed", between, failed)
	}
	if ids := ownThreads(t, db.DB(t), user); len(ids) != 1 {
		t.Errorf("%d connections", len(ids))
	}
}

// A single statement of a long collector may hold up the polls for a while, but not for so long that
// the counters have a gap.
func TestLongStatementIsEnded(t *testing.T) {
	t.Parallel()
	db := mysqltest.MariaDB(t)
	user, password := db.NewUser(t)
	long := &Collector{Name: "long", Title: "Long", Schedule: monolith.Sizes, Timeout: 5 * time.Minute, Collect: func(ctx context.Context, g *Gather) error {
		return g.Session.Query(ctx, "SELECT SLEEP(100)", func(Row) error { return nil })
	}}
	w := follow(t, everySecond(t, db, user, password), func(c *Config) { c.Collectors = []*Collector{statusCollector(), long} })
	w.next(t, "a poll", polled)
	held := w.next(t, "a poll that is held up", func(s *monolith.Snapshot) bool {
		p := problemOf(s, "status")
		return !s.Polled && p != nil && strings.Contains(p.Text, "another statement")
	})
	if !held.Up {
		t.Errorf("%+v", describe(held))
	}
	good := w.next(t, "the status again", polled)
	if good.Elapsed > (monolith.MaxGap+7)*time.Second { // with room for a machine under load
		t.Errorf("the polls were held up for %v", good.Elapsed)
	}
	if good.Run != 1 {
		t.Errorf("run %d", good.Run)
	}
	eventually(t, "the statement to be gone", func() bool { return len(ownThreads(t, db.DB(t), user)) == 1 })
	eventually(t, "the long collector's back-off", func() bool {
		c := w.Collectors(1)[1]
		return c.Works == monolith.CollectorWaiting && c.Timeouts == 1 && !c.Until.IsZero()
	})
}

// What only looks like a server is told from one.
func TestHostileGreetings(t *testing.T) {
	t.Parallel()
	for name, greeting := range map[string]string{
		"http":      "HTTP/1.1 400 Bad Request\r\n\r\n",
		"empty":     "",
		"short":     "\x01\x00\x00\x00\x0a",
		"no ending": "\x05\x00\x00\x00\x0a5.5.",
		"huge":      "\xff\xff\xff\x00" + strings.Repeat("x", 2<<20),
		"x":         "\x05\x00\x00\x00\x0b\x08\x05\x1a\x00",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					conn.Write([]byte(greeting))
					conn.Close()
				}
			}()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			e := monolith.Endpoint{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, User: "u", Password: "canary"}
			s, err := openSession(ctx, e, openOptions{load: newQuietLoad(), counts: &counters{statement: func(int64) {}, received: func(int64) {}}})
			var failed *connectError
			if s != nil || !errors.As(err, &failed) {
				t.Fatalf("%v, %v", s, err)
			}
			p, up := explain(err, scene{endpoint: e})
			if up || p.Text == "" || p.Cure == "" || p.Kind != monolith.ProblemAnswer && p.Kind != monolith.ProblemUnreachable {
				t.Errorf("up %v, %+v from %v", up, p, err)
			}
			if strings.Contains(fmt.Sprint(p), "canary") {
				t.Error("the password is in the words")
			}
		})
	}
}

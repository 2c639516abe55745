package poller

import (
	"context"
	"log/slog"
	"maps"
	"testing"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

// follower is a poller that watches one server, with the snapshots that come out of it.
type follower struct {
	*Poller
	server    monolith.Server
	snapshots chan *monolith.Snapshot
}

// follow polls a server at a short interval until the test ends.
func follow(tb testing.TB, server monolith.Server, change ...func(*Config)) *follower {
	tb.Helper()
	w := &follower{server: server, snapshots: make(chan *monolith.Snapshot, 1000)}
	cfg := Config{
		Collectors: Collectors(),
		Handle:     []func(context.Context, *monolith.Snapshot){func(_ context.Context, s *monolith.Snapshot) { w.snapshots <- s }},
		Log:        slog.New(slog.NewTextHandler(tb.Output(), nil)),
	}
	for _, c := range change {
		c(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	w.Poller = p
	if w.server.ID == 0 {
		w.server.ID = 1
	}
	if w.server.Name == "" {
		w.server.Name = tb.Name()
	}
	p.Apply([]monolith.Server{w.server}, nil)
	ctx, cancel := context.WithCancel(tb.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := p.Run(ctx); err != nil {
			tb.Error(err)
		}
	}()
	tb.Cleanup(func() {
		cancel()
		select {
		case <-ended:
		case <-time.After(30 * time.Second):
			tb.Error("the poller does not stop")
		}
	})
	return w
}

// next waits for a snapshot of which ok holds and gives it.
func (w *follower) next(tb testing.TB, what string, ok func(*monolith.Snapshot) bool) *monolith.Snapshot {
	tb.Helper()
	deadline := time.After(40 * time.Second)
	var last *monolith.Snapshot
	for {
		select {
		case s := <-w.snapshots:
			if last = s; ok(s) {
				return s
			}
		case <-deadline:
			tb.Fatalf("%s did not come; the last snapshot was %+v", what, describe(last))
		}
	}
}

func describe(s *monolith.Snapshot) any {
	if s == nil {
		return "none"
	}
	return struct {
		Up, Polled, Restart bool
		Run                 uint32
		Problems            []monolith.Problem
	}{s.Up, s.Polled, s.Restart, s.Run, s.Problems}
}

func polled(s *monolith.Snapshot) bool { return s.Polled }

// everySecond is a server reached as an account, polled each second.
func everySecond(tb testing.TB, s *mysqltest.Server, user, password string) monolith.Server {
	tb.Helper()
	e, err := ParseDSN(s.DSN(user, password))
	if err != nil {
		tb.Fatal(err)
	}
	return monolith.Server{ID: 1, Name: "db", Endpoint: e, Schedules: map[string]string{monolith.Fast: "@every 1s", monolith.Slow: "@every 5s"}}
}

// spaced is a server polled at another interval. Nine tenths of it are all the time that a poll has, so a test whose
// polls must do all they have to, on a machine under load too, takes one of several seconds; the first poll comes at
// once all the same.
func spaced(interval time.Duration, s monolith.Server) monolith.Server {
	s.Schedules = maps.Clone(s.Schedules)
	s.Schedules[monolith.Fast] = "@every " + interval.String()
	return s
}

func valueOf(tb testing.TB, s *monolith.Snapshot, name string) float64 {
	tb.Helper()
	for _, sec := range s.Sections {
		if i := sec.NumNames.Index(monolith.Metric{Name: name}); i >= 0 && !sec.Nums[i].IsNone() {
			return sec.Nums[i].Float64()
		}
	}
	tb.Fatalf("the snapshot has no %s", name)
	return 0
}

func problemOf(s *monolith.Snapshot, collector string) *monolith.Problem {
	for i := range s.Problems {
		if s.Problems[i].Collector == collector {
			return &s.Problems[i]
		}
	}
	return nil
}

func TestPollReadsEverythingAtOnce(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB, ...mysqltest.Option) *mysqltest.Server{"MariaDB": mysqltest.MariaDB, "MySQL 5.6": mysqltest.MySQL56} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := start(t)
			user, password := db.NewUser(t, "ALL ON *.*")
			const interval = 3 * time.Second
			w := follow(t, spaced(interval, everySecond(t, db, user, password)))
			first := w.next(t, "a first poll", polled)
			if first.Seq != 1 || first.Run != 1 || !first.Up || first.Identity.IsZero() || first.Restart {
				t.Errorf("first snapshot: %+v", describe(first))
			}
			for _, s := range []string{"status", "variables", "server", "self"} {
				if first.Section(s) == nil {
					t.Errorf("the first poll has no section %s", s)
				}
			}
			if first.Replicas == nil {
				t.Error("the first poll does not say that there is no replication")
			}
			for _, p := range first.Problems {
				t.Errorf("problem: %+v", p)
			}
			w.next(t, "a second poll, at the server's own place", polled)
			second := w.next(t, "a third poll", polled)
			if second.Elapsed < 100*time.Millisecond || second.Elapsed > 5*interval {
				t.Errorf("elapsed %v", second.Elapsed)
			}
			if second.ClockGap == 0 || second.ClockGap.Abs() > 2*time.Second {
				t.Errorf("clock gap %v", second.ClockGap)
			}
			if got := second.At.UnixMilli() % interval.Milliseconds(); time.Duration(got)*time.Millisecond != offsetOf(1, interval) {
				t.Errorf("At = %v does not lie at the server's own place %v", second.At, offsetOf(1, interval))
			}
			w.next(t, "what may take longer than a poll", func(*monolith.Snapshot) bool {
				st := w.State(1)
				return st.Schemas != nil && st.Processes != nil && st.Accounts != nil
			})
			for _, c := range w.Collectors(1) {
				if c.Works != monolith.CollectorWorks {
					t.Logf("%s: %s, %s", c.Name, c.Works, c.Why)
				}
			}
		})
	}
}

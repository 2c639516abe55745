package poller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"monolith"
)

// taken is one fake poll.
type taken struct {
	id    monolith.ServerID
	began time.Time
	work  job
}

// fakePolls is a poller whose polls only note that they ran, or hang.
type fakePolls struct {
	*Poller
	mu    sync.Mutex
	polls []taken
}

func newFakePolls(tb testing.TB, hangs func(monolith.ServerID) bool, change ...func(*Config)) *fakePolls {
	tb.Helper()
	cfg := Config{Collectors: []*Collector{
		{Name: statusName, Title: "Status", Schedule: monolith.Fast, Collect: nothing},
		{Name: "variables", Title: "Variables", Schedule: monolith.Slow, Collect: nothing},
	}}
	for _, c := range change {
		c(&cfg)
	}
	p, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	f := &fakePolls{Poller: p}
	p.run = func(t *target, ctx context.Context, w job, server *monolith.Server) *monolith.Snapshot {
		f.mu.Lock()
		f.polls = append(f.polls, taken{t.id, time.Now(), w})
		f.mu.Unlock()
		t.mu.Lock()
		budget := pollBudget(t.interval())
		t.mu.Unlock()
		if hangs != nil && hangs(t.id) {
			select {
			case <-ctx.Done():
			case <-time.After(3 * budget): // worse than any deadline lets happen
			}
		}
		t.poll.seq++
		return &monolith.Snapshot{Server: t.id, Seq: t.poll.seq, At: w.at, Polled: true, Up: true, Run: 1}
	}
	return f
}

func nothing(context.Context, *Gather) error { return nil }

// of gives the polls of a server.
func (f *fakePolls) of(id monolith.ServerID) []taken {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.polls), func(p taken) bool { return p.id != id })
}

// during runs the poller for a while of fake time.
func (f *fakePolls) during(d time.Duration, then ...func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); f.Run(ctx) }()
	pass(d)
	for _, t := range then {
		t()
	}
	cancel()
	<-ended
}

// pass lets fake time pass.
func pass(d time.Duration) { <-time.After(d) }

func servers(n int, schedules map[string]string) []monolith.Server {
	var list []monolith.Server
	for i := range n {
		list = append(list, monolith.Server{ID: monolith.ServerID(i + 1), Name: fmt.Sprintf("db%d", i+1),
			Endpoint: monolith.Endpoint{Host: "h"}, Schedules: schedules})
	}
	return list
}

// Twenty of five hundred servers hang: the others are polled at their own places, each time.
func TestHangingServersHoldUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := func(id monolith.ServerID) bool { return id%25 == 0 }
		f := newFakePolls(t, hangs)
		f.Apply(servers(500, nil), nil)
		if n := len(f.planner.entries); n != len(monolith.ScheduleNames) {
			t.Errorf("%d cron entries for %d schedules", n, len(monolith.ScheduleNames))
		}
		f.during(101 * time.Second)
		for id := monolith.ServerID(1); id <= 500; id++ {
			polls := f.of(id)
			if !polls[0].work.all {
				t.Fatalf("the first poll of %d is not for every collector", id)
			}
			if hangs(id) {
				if len(polls) < 3 || len(polls) > 6 {
					t.Errorf("server %d hangs and was polled %d times", id, len(polls))
				}
				continue
			}
			if len(polls) < 10 {
				t.Fatalf("server %d was polled %d times in 101 s", id, len(polls))
			}
			for i, p := range polls[1:] {
				slip := p.began.Sub(p.work.at)
				if slip < 0 || slip > 500*time.Millisecond {
					t.Fatalf("poll %d of server %d slipped by %v", i, id, slip)
				}
				if i > 0 && p.work.at.Sub(polls[i].work.at) != 10*time.Second {
					t.Fatalf("server %d: %v follows %v", id, p.work.at, polls[i].work.at)
				}
			}
		}
		if s := f.Stats(); s.Skipped < 40 || s.InFlight != 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

// A thousand servers each second: each has its place, and none is skipped.
func TestThousandServersEachSecond(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakePolls(t, nil)
		f.Apply(servers(1000, map[string]string{monolith.Fast: "@every 1s"}), nil)
		f.during(20500 * time.Millisecond)
		if s := f.Stats(); s.Skipped != 0 || s.Polls < 20_000 || s.Polls > 22_000 {
			t.Errorf("%+v", s)
		}
	})
}

// The slow schedule rides on the fast one's polls.
func TestSchedulesShareOnePoll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakePolls(t, nil)
		f.Apply(servers(1, nil), nil)
		f.during(181 * time.Second)
		slow := 0
		for _, p := range f.of(1) {
			if p.work.due[monolith.Slow] {
				slow++
				if !p.work.due[monolith.Fast] {
					t.Error("a slow poll without the fast one's collectors")
				}
			}
		}
		if slow != 3 && slow != 2 {
			t.Errorf("%d polls of three minutes were slow ones", slow)
		}
	})
}

// Where people made the fast schedule the rarer one, the slow one is not held up by it.
func TestSlowMayBeTheQuickerOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakePolls(t, nil)
		f.Apply(servers(1, map[string]string{monolith.Fast: "@every 1h", monolith.Slow: "@every 10s"}), nil)
		f.during(61 * time.Second)
		if n := len(f.of(1)); n < 6 {
			t.Errorf("%d polls in a minute", n)
		}
	})
}

func TestApplyStartsStopsAndMoves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakePolls(t, nil)
		list := servers(3, nil)
		f.Apply(list[:2], nil)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); f.Run(ctx) }()
		pass(15 * time.Second)

		f.Apply(list, nil)
		synctest.Wait()
		if n := len(f.of(3)); n != 1 || !f.of(3)[0].work.all {
			t.Errorf("a server that was added is polled %d times at once", n)
		}
		before := len(f.of(1))
		f.Apply(list, nil)
		list[0].Name, list[0].Position, list[0].Group = "renamed", 9, "acme"
		f.Apply(list, nil)
		synctest.Wait()
		if n := len(f.of(1)); n != before {
			t.Errorf("a rename polled the server %d times", n-before)
		}
		list[0].Endpoint.Host = "other"
		f.Apply(list, nil)
		synctest.Wait()
		if polls := f.of(1); len(polls) != before+1 || !polls[before].work.all {
			t.Errorf("a new address was not polled at once")
		}
		list[1].Paused = true
		f.Apply(list, nil)
		if err := f.PollNow(2); !errors.Is(err, monolith.ErrNotFound) || f.State(2) != nil || f.Collectors(2) != nil {
			t.Errorf("a paused server is still there: %v", err)
		}
		n := len(f.of(2))
		pass(30 * time.Second)
		if len(f.of(2)) != n {
			t.Error("a paused server is polled")
		}
		list[1].Paused = false
		list[2].Schedules = map[string]string{monolith.Fast: "@every 2s"}
		f.Apply(list, nil)
		n3 := len(f.of(3))
		pass(20 * time.Second)
		if got := len(f.of(3)) - n3; got < 9 || got > 11 {
			t.Errorf("%d polls in 20 s at a new interval of 2 s", got)
		}
		if len(f.of(2)) == n {
			t.Error("a server that goes on is not polled")
		}
		before = len(f.of(1))
		if err := f.PollNow(1); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if polls := f.of(1); len(polls) != before+1 || !polls[before].work.all {
			t.Error("poll now did nothing")
		}
		f.Apply(nil, nil)
		if len(f.planner.entries) != 0 || f.Stats().Servers != 0 {
			t.Error("without servers there are schedules left")
		}
		cancel()
		<-ended
	})
}

// A panic ends neither the poller nor the server's later polls.
func TestPanicsAreCaught(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		after := 0
		f := newFakePolls(t, nil, func(c *Config) {
			c.Handle = []func(context.Context, *monolith.Snapshot){
				func(context.Context, *monolith.Snapshot) { panic("handler") },
				func(context.Context, *monolith.Snapshot) { after++ },
			}
		})
		run, n := f.run, 0
		f.run = func(t *target, ctx context.Context, w job, s *monolith.Server) *monolith.Snapshot {
			if n++; n == 2 {
				panic("poll")
			}
			return run(t, ctx, w, s)
		}
		f.Apply(servers(1, nil), nil)
		f.during(45 * time.Second)
		if len(f.of(1)) < 3 || after != len(f.of(1)) || f.Stats().Panics != uint64(after+1) {
			t.Errorf("%d polls, %d reached the second handler, %+v", len(f.of(1)), after, f.Stats())
		}
	})
}

// History says where it stands before anything is polled: no seq is given twice.
func TestResumeComesFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, tries := time.Now(), 0
		var first *monolith.Snapshot
		f := newFakePolls(t, nil, func(c *Config) {
			c.Resume = func(context.Context, monolith.ServerID) (uint64, uint32, error) {
				if tries++; tries < 4 {
					return 0, 0, monolith.ErrUnavailable
				}
				return 4711, 3, nil
			}
			c.Handle = []func(context.Context, *monolith.Snapshot){func(_ context.Context, s *monolith.Snapshot) {
				if first == nil {
					first = s
				}
			}}
		})
		f.Apply(servers(1, nil), nil)
		f.during(20 * time.Second)
		if first == nil || first.Seq != 4712 {
			t.Fatalf("first snapshot %+v", first)
		}
		if d := f.of(1)[0].began.Sub(began); d != 7*time.Second {
			t.Errorf("the first poll came after %v", d)
		}
	})
}

// A server that is paused and goes on at once has one poll in flight, and its numbers go on.
func TestPauseAndGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seqs []uint64
		f := newFakePolls(t, nil, func(c *Config) {
			c.Resume = func(context.Context, monolith.ServerID) (uint64, uint32, error) { return 0, 0, nil } // it lags behind
			c.Handle = []func(context.Context, *monolith.Snapshot){func(_ context.Context, s *monolith.Snapshot) { seqs = append(seqs, s.Seq) }}
		})
		running, most := 0, 0
		run := f.run
		f.run = func(t *target, ctx context.Context, w job, s *monolith.Server) *monolith.Snapshot {
			running++
			most = max(most, running)
			defer func() { running-- }()
			pass(500 * time.Millisecond) // a poll that does not notice at once that it should end
			return run(t, ctx, w, s)
		}
		list := servers(1, nil)
		f.Apply(list, nil)
		f.during(35*time.Second, func() {
			for range 3 {
				f.PollNow(1)
				synctest.Wait()
				f.Apply(nil, nil)
				f.Apply(list, nil)
				pass(3 * time.Second)
			}
		})
		if most != 1 {
			t.Errorf("%d polls of one server at the same time", most)
		}
		for i, seq := range seqs {
			if i > 0 && seq <= seqs[i-1] {
				t.Fatalf("the numbers are %v", seqs)
			}
		}
		if len(seqs) < 6 {
			t.Errorf("only %d polls", len(seqs))
		}
	})
}

// A schedule that cron has lost is found by the watchdog and goes on.
func TestWatchdogRevivesASchedule(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFakePolls(t, nil)
		f.Apply(servers(1, nil), nil)
		lost := 0
		f.during(25*time.Second, func() {
			for _, e := range f.planner.entries {
				f.planner.cron.Remove(e.id)
			}
			lost = len(f.of(1))
			pass(60 * time.Second)
		})
		if n := len(f.of(1)) - lost; n < 3 {
			t.Errorf("%d polls in the minute after the schedule was lost", n)
		}
	})
}

// A server restarted, or exchanged, while Monolith was stopped begins a new run.
func TestRememberedState(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(-time.Hour)
	names := monolith.NewNames([]monolith.Metric{{Name: "status.Uptime"}})
	snap := &monolith.Snapshot{Server: 1, Seq: 99, At: at, Run: 4, Polled: true, Identity: monolith.Identity{Flavour: monolith.MariaDB, Hostname: "a", ServerID: 1},
		Sections: []monolith.Section{{Collector: "status", NumNames: names, Nums: []monolith.Num{monolith.Uint(500)}}}}
	ps := newPollState()
	ps.remember((*monolith.State)(nil).With(snap))
	if ps.seq != 99 || !sameServer(ps.identity, snap.Identity) {
		t.Errorf("seq %d, identity %+v", ps.seq, ps.identity)
	}
	now := at.Add(time.Hour)
	if !restarted(ps.uptime, ps.uptimeAt, monolith.Uint(600), now) {
		t.Error("ten minutes of uptime after an hour are no restart")
	}
	if restarted(ps.uptime, ps.uptimeAt, monolith.Uint(4100), now) {
		t.Error("a server that lived on was restarted")
	}
}

func TestSlowdown(t *testing.T) {
	t.Parallel()
	var s slowdown
	const base = 10 * time.Second
	for i := range 9 {
		if s.observe(600*time.Millisecond, base) {
			t.Fatalf("judged after %d polls", i+1)
		}
	}
	if !s.observe(600*time.Millisecond, base) || s.factor() != 2 || s.why() == "" {
		t.Fatalf("0.6 s of 10 s: factor %d", s.factor())
	}
	for range 30 { // 0.6 s of 20 s are 3 %: neither too much nor little
		if s.observe(600*time.Millisecond, base) {
			t.Fatal("the interval changes without need")
		}
	}
	for range 20 {
		s.observe(20*time.Millisecond, base)
	}
	if s.factor() != 1 || s.why() != "" {
		t.Errorf("a server that is quick again: factor %d, %q", s.factor(), s.why())
	}
	for range 1000 {
		s.observe(time.Hour, base)
	}
	if s.factor() != maxFactor {
		t.Errorf("factor %d", s.factor())
	}
}

func TestBackoffDoubles(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	var b backoff
	for _, want := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute} {
		if got := b.failed(now, 10*time.Second, time.Minute); got != want || !b.holds(now.Add(want-1)) || b.holds(now.Add(want)) {
			t.Errorf("pause %v, want %v", got, want)
		}
	}
	if got := b.failed(now, time.Hour, time.Minute); got != time.Hour {
		t.Errorf("a pause shorter than the schedule: %v", got)
	}
	var none *backoff
	if none.holds(now) {
		t.Error("no back-off holds")
	}
}

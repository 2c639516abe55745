package alerts

import (
	"slices"
	"sync"
	"testing"
	"time"

	"monolith"
)

// TestThousandServersSurviveARestart saves and restores the memory of 1,000 servers: the next polls must open and close
// nothing.
func TestThousandServersSurviveARestart(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: 1,000 servers in short mode")
	}
	const servers = 1000
	var some []File
	for _, f := range BuiltinFiles() {
		switch f.Name {
		case "rules/quantities.yaml", "rules/availability.yaml", "rules/memory.yaml", "rules/accounts.yaml":
			some = append(some, f)
		}
	}
	cat, err := Load(some...)
	if err != nil {
		t.Fatal(err)
	}
	b := newBusyWith(cat, time.Minute)
	states := make([]*monolith.State, servers)
	server := func(i int) *monolith.Server {
		s := *b.server
		s.ID = monolith.ServerID(i + 1)
		return &s
	}
	all := make([]*monolith.Server, servers)
	for i := range all {
		all[i] = server(i)
	}
	poll := func(e *Engine) (events []Transition) {
		snap := b.snapshot()
		for i, s := range all {
			one := *snap
			one.Server = s.ID
			states[i] = states[i].With(&one)
			events = append(events, e.Observe(s, states[i], &one)...)
		}
		return events
	}
	e := b.engine
	first := len(poll(e))
	if first == 0 {
		t.Fatal("nothing opens at all: the test shows nothing")
	}
	poll(e)
	if late := poll(e); len(late) > 0 {
		t.Fatalf("%d events before the restart: %+v", len(late), late[0].Key)
	}
	next := NewEngine(b.cat)
	total := 0
	for _, s := range all {
		blob, err := e.Save(s.ID)
		if err != nil {
			t.Fatal(err)
		}
		total += len(blob)
		if err := next.Restore(s.ID, blob); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d alerts are open; a server's memory takes %d bytes", first, total/servers)
	// Monolith was away for a moment, and for an hour.
	for _, away := range []time.Duration{0, time.Hour} {
		b.at = b.at.Add(away)
		if events := poll(next); len(events) > 0 {
			rules := map[string]int{}
			for _, e := range events {
				rules[e.Key.Rule+" "+string(e.Kind)+" "+e.Unknown]++
			}
			t.Fatalf("after %s away: %v", away, rules)
		}
	}
}

// TestServiceFromManySides polls, asks and changes from several goroutines: the race detector and the clock judge.
func TestServiceFromManySides(t *testing.T) {
	f := newFleet(t, "db1", "db2", "db3", "db4")
	f.worlds[0].set("variable.flush_time", 1800)
	var mu sync.Mutex
	f.service.cfg.State = func(id monolith.ServerID) *monolith.State {
		mu.Lock()
		defer mu.Unlock()
		return f.states[id]
	}
	f.service.now = time.Now
	var wg sync.WaitGroup
	for i, w := range f.worlds {
		wg.Go(func() {
			for n := range 90 {
				if i > 0 && n == 30 {
					w.problem = &monolith.Problem{Kind: monolith.ProblemUnreachable, Text: "gone"}
				}
				snap := w.take()
				mu.Lock()
				f.states[w.server.ID] = w.state
				mu.Unlock()
				f.service.Handle(t.Context(), snap)
			}
		})
	}
	for range 3 {
		wg.Go(func() {
			for n := range 30 {
				for _, a := range f.service.Open() {
					f.service.Acknowledge(t.Context(), a.ID, "kim", "")
				}
				f.service.Statuses(1)
				f.service.RuleStatuses("flush-time-nonzero")
				off := n%2 == 0
				f.service.PutRuleSettings(t.Context(), []monolith.RuleSetting{{Rule: "flush-time-nonzero", Enabled: &off}})
				f.service.lookAfter(t.Context())
			}
		})
	}
	wg.Wait()
	for _, a := range f.service.Open() {
		if a.ID == 0 {
			t.Errorf("%v is open and has no id", a.AlertKey)
		}
	}
	if ids := slices.Sorted(func(yield func(int64) bool) {
		for _, e := range f.store.events {
			if !yield(e.ID) {
				return
			}
		}
	}); len(ids) != len(slices.Compact(ids)) {
		t.Error("an event was written twice")
	}
}

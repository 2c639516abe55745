package alerts

import (
	"testing"
	"time"

	"monolith"
)

// TestSinceStays: as long as a rule says the same of a server, it says since when.
func TestSinceStays(t *testing.T) {
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(cat, cat.rules[0], true, &serverEntry{Name: "db1", Version: "8.4.5"})
	w.booted = w.start.Add(-30 * 24 * time.Hour)
	type said struct {
		state monolith.RuleState
		since time.Time
	}
	last := map[monolith.AlertKey]said{}
	whole := map[monolith.RuleState]int{} // states of rules about instances, of which there are none
	for minute := range 10 {
		w.poll()
		for _, st := range w.engine.States(w.server.ID) {
			was, there := last[st.AlertKey]
			if there && was.state == st.State && !was.since.Equal(st.Since) {
				t.Errorf("minute %d: %s is %s since %s, before it was since %s", minute, st.Rule, st.State, st.Since, was.since)
			}
			last[st.AlertKey] = said{st.State, st.Since}
			if minute == 9 && cat.byID[st.Rule].set >= 0 && st.Instance == "" {
				whole[st.State]++
			}
		}
	}
	if whole[monolith.StateNotApplicable] < 5 || whole[monolith.StateOK] < 3 {
		t.Errorf("of rules about instances are in states without one: %v", whole)
	}
	// With a channel the rules about channels turn to it; without one they stand for the whole again.
	lag := int64(0)
	w.rows.Replicas = []monolith.Replica{{SourceHost: "db2", SourcePort: 3306, IO: "No", IOErrno: 1236, SQL: "Yes", Lag: &lag, Delay: &lag}}
	for range 10 {
		w.poll()
	}
	open := 0
	for _, st := range w.engine.States(w.server.ID) {
		if st.Rule == "replica-io-thread-stopped" && st.State == monolith.StateOpen && st.Instance == "" {
			open++
		}
	}
	if open != 1 {
		t.Fatalf("%d alerts of the channel are open", open)
	}
	w.rows.Replicas = []monolith.Replica{}
	w.events = nil
	w.poll()
	closed := 0
	for _, e := range w.events {
		if e.Kind == monolith.EventClosed && e.Key.Rule == "replica-io-thread-stopped" {
			closed++
		}
	}
	if closed != 1 {
		t.Errorf("%d alerts closed with the channel: %v", closed, w.events)
	}
}

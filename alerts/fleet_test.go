package alerts

import (
	"testing"
	"time"

	"monolith"
)

// TestNetworkAlertOverRestart starts Monolith anew while most servers are gone: the alert about its network goes on, and the
// single ones stay untold, although the servers are polled one after the other.
func TestNetworkAlertOverRestart(t *testing.T) {
	f := newFleet(t, "db1", "db2", "db3", "db4")
	f.run(3 * time.Minute)
	f.lose("db1", "db2", "db3")
	f.run(5 * time.Minute)
	if err := f.service.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.states = map[monolith.ServerID]*monolith.State{}
	single := f.store.told(RuleUnreachable)
	f.start()
	f.service.lookAfter(t.Context())
	f.run(5 * time.Minute)
	if got := f.store.told(RuleNetwork); got != "opened" {
		t.Errorf("the monitor's own alert: %q", got)
	}
	if got := f.store.told(RuleUnreachable); got != single {
		t.Errorf("the single ones: %q, before %q", got, single)
	}
	f.back()
	f.run(5 * time.Minute)
	if got := f.store.told(RuleNetwork); got != "opened, closed" {
		t.Errorf("afterwards: %q", got)
	}
}

// TestNetworkAlertOfPollsThatHang hands in polls that began before those of other servers, as of servers that say nothing.
func TestNetworkAlertOfPollsThatHang(t *testing.T) {
	f := newFleet(t, "db1", "db2", "db3", "db4")
	f.run(3 * time.Minute)
	f.lose("db2", "db3", "db4")
	late := make([]*monolith.Snapshot, len(f.worlds))
	for range 30 {
		for i, w := range f.worlds {
			snap := w.take()
			if i > 0 {
				snap, late[i] = late[i], snap
			}
			if snap != nil {
				f.states[w.server.ID] = w.state
				f.service.Handle(t.Context(), snap)
			}
		}
	}
	if got := f.store.told(RuleNetwork); got != "opened" {
		t.Errorf("the monitor's own alert: %q", got)
	}
}

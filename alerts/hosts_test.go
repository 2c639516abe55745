package alerts

import (
	"strings"
	"testing"
	"time"

	"monolith"
)

const loadRule = "load-average-high"

// onOneHost is a fleet whose servers share a machine.
func onOneHost(t *testing.T, names ...string) *fleetOf {
	f := newFleet(t, names...)
	for _, w := range f.worlds {
		w.server.Host, w.server.Updated = "local", w.start
		w.set("host.hostname", "vm1")
		w.set("host.cores", 4)
	}
	f.load(1)
	f.apply()
	f.run(2 * time.Minute)
	return f
}

func (f *fleetOf) load(tasks float64) {
	for _, w := range f.worlds {
		w.set("host.load15", tasks)
		w.set("host.load5", tasks)
	}
}

// roots gives the servers whose alert of a rule stands for itself, and how many stand under another one.
func (f *fleetOf) roots(rule string) (roots []string, under int) {
	for _, a := range f.service.Open() {
		switch {
		case a.Rule != rule:
		case a.Parent == 0:
			roots = append(roots, a.ServerName)
		default:
			under++
		}
	}
	return roots, under
}

func (f *fleetOf) wantRoot(rule, root string, under int) {
	f.t.Helper()
	if roots, n := f.roots(rule); len(roots) != 1 || roots[0] != root || n != under {
		f.t.Errorf("alerts of %s stand for themselves on %v, %d under others; want %s, %d", rule, roots, n, root, under)
	}
}

// loud counts the events of a rule that people are told of.
func (f *fleetOf) loud(rule string) (list []string) {
	for _, e := range strings.Split(f.store.told(rule), ", ") {
		if e != "" && !strings.Contains(e, "(") {
			list = append(list, e)
		}
	}
	return list
}

func TestOneAlertForAMachine(t *testing.T) {
	f := onOneHost(t, "db1", "db2", "db3")
	f.load(9)
	f.run(20 * time.Minute)
	roots, _ := f.roots(loadRule)
	if len(roots) != 1 {
		t.Fatalf("stand for themselves: %v", roots)
	}
	first := roots[0]
	f.wantRoot(loadRule, first, 2)
	for _, a := range f.service.Open() {
		if a.Rule == loadRule && !strings.Contains(a.Text, `On the same host "vm1": db`) {
			t.Errorf("the machine is not named: %s", a.Text)
		}
	}
	if got := f.loud(loadRule); len(got) != 1 {
		t.Fatalf("told: %q", f.store.told(loadRule))
	}

	// Monolith starts anew, with its memory and without it.
	if err := f.service.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.start()
	f.wantRoot(loadRule, first, 2)
	f.run(2 * time.Minute)
	f.wantRoot(loadRule, first, 2)
	clear(f.store.states)
	f.start()
	f.run(10 * time.Minute)
	f.wantRoot(loadRule, first, 2)
	if got := f.loud(loadRule); len(got) != 1 {
		t.Errorf("told after starts: %q", f.store.told(loadRule))
	}

	// It is over: the one that was told closes, the others go with it.
	f.load(1)
	f.run(30 * time.Minute)
	if roots, under := f.roots(loadRule); len(roots)+under > 0 {
		t.Errorf("still open on %v and %d others", roots, under)
	}
	if got := f.loud(loadRule); len(got) != 2 || got[1] != first+" closed" {
		t.Errorf("told at the end: %q", f.store.told(loadRule))
	}
}

func TestMachineOfAServerThatGoes(t *testing.T) {
	for _, how := range []string{"removed", "paused"} {
		t.Run(how, func(t *testing.T) {
			f := onOneHost(t, "db1", "db2", "db3")
			f.load(9)
			f.run(20 * time.Minute)
			roots, _ := f.roots(loadRule)
			var rest []*world
			for _, w := range f.worlds {
				switch {
				case w.server.Name != roots[0]:
					rest = append(rest, w)
				case how == "paused":
					paused := *w.server
					paused.Paused, paused.Updated = true, w.at()
					w.server = &paused
				}
			}
			if how == "removed" {
				f.worlds = rest
			}
			f.apply()
			next, under := f.roots(loadRule)
			if len(next) != 1 || next[0] == roots[0] || under != 1 {
				t.Fatalf("stand for themselves: %v, under others: %d", next, under)
			}
			f.worlds = rest
			f.run(5 * time.Minute)
			f.wantRoot(loadRule, next[0], 1)
			if got := f.loud(loadRule); len(got) != 3 || got[2] != next[0]+" unsilenced" {
				t.Errorf("told: %q", f.store.told(loadRule))
			}
			// All at once: nobody is told that it goes on.
			f.service.SetServers(t.Context(), nil, nil)
			if got := f.loud(loadRule); len(got) != 4 {
				t.Errorf("told at the end: %q", f.store.told(loadRule))
			}
		})
	}
}

// TestMachineWithOwnLimits: an alert that is graver than the one that speaks is not hidden under it, and one whose own limit
// is still passed when the other is over is told.
func TestMachineWithOwnLimits(t *testing.T) {
	f := onOneHost(t, "db1", "db2")
	strict := map[string]map[string]float64{"info": {"long": 0.5}, "warn": {"long": 1}}
	if err := f.service.PutRuleSettings(t.Context(), []monolith.RuleSetting{{Rule: loadRule, RuleScope: monolith.RuleScope{Server: 2}, Limits: strict}}); err != nil {
		t.Fatal(err)
	}
	f.load(6.4) // 1.6 a core: info on db1, warn on db2
	f.run(20 * time.Minute)
	f.wantRoot(loadRule, "db2", 1)
	f.load(4.4) // over on db1
	f.run(30 * time.Minute)
	f.wantRoot(loadRule, "db2", 0)

	f = onOneHost(t, "db1", "db2")
	if err := f.service.PutRuleSettings(t.Context(), []monolith.RuleSetting{{Rule: loadRule, RuleScope: monolith.RuleScope{Server: 2}, Limits: map[string]map[string]float64{"info": {"long": 0.5}}}}); err != nil {
		t.Fatal(err)
	}
	f.load(9)
	f.run(20 * time.Minute)
	roots, _ := f.roots(loadRule)
	if roots[0] != "db1" {
		f.worlds[1].set("host.load15", 1.0) // db1 shall be the one that speaks
		f.run(30 * time.Minute)
		f.load(9)
		f.run(20 * time.Minute)
	}
	f.wantRoot(loadRule, "db1", 1)
	f.load(3) // over on db1, 0.75 a core on db2
	f.run(40 * time.Minute)
	f.wantRoot(loadRule, "db2", 0)
	if got := f.loud(loadRule); got[len(got)-1] != "db2 unsilenced" {
		t.Errorf("told: %q", f.store.told(loadRule))
	}
}

// TestMachineInMaintenance: who is told of one server is not left in the dark by the maintenance of another.
func TestMachineInMaintenance(t *testing.T) {
	f := onOneHost(t, "db1", "db2")
	for _, quiet := range []monolith.ServerID{1, 2} {
		now := f.worlds[0].at()
		f.service.windows = nil
		if err := f.service.PutMaintenanceWindow(t.Context(), &monolith.MaintenanceWindow{Title: "upgrade", Server: quiet, Start: now, Duration: 40 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		f.load(9)
		f.run(20 * time.Minute)
		f.wantRoot(loadRule, f.worlds[2-quiet].server.Name, 1)
		f.load(1)
		f.run(40 * time.Minute)
		f.store.windows = nil
	}
}

func TestUnreachableMachine(t *testing.T) {
	f := newFleet(t, "db1", "db2", "db3", "db4", "db5", "db6", "db7")
	for _, w := range f.worlds[:3] {
		w.server.Endpoint.Host, w.server.Updated = "vm1.example", w.start
	}
	f.apply()
	f.run(2 * time.Minute)
	f.lose("db1", "db2")
	f.run(5 * time.Minute)
	if roots, under := f.roots(RuleUnreachable); len(roots) != 2 || under != 0 {
		t.Fatalf("the machine lives, and %v stand for themselves, %d under others", roots, under)
	}
	f.back()
	f.run(10 * time.Minute)
	before := len(f.loud(RuleUnreachable))
	f.lose("db1", "db2", "db3")
	f.run(5 * time.Minute)
	f.wantRoot(RuleUnreachable, "db1", 2)
	if got := f.loud(RuleUnreachable); len(got) != before+2 { // opened and raised
		t.Errorf("told: %q", f.store.told(RuleUnreachable))
	}
	if a := f.service.Open()[0]; !strings.Contains(a.Text, `On the same host "vm1.example": `) {
		t.Errorf("the machine is not named: %s", a.Text)
	}
	if err := f.service.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.start()
	f.service.lookAfter(t.Context())
	f.wantRoot(RuleUnreachable, "db1", 2)
	f.run(5 * time.Minute)
	f.wantRoot(RuleUnreachable, "db1", 2)
	f.back()
	f.run(10 * time.Minute)
	if roots, under := f.roots(RuleUnreachable); len(roots)+under > 0 {
		t.Errorf("still open on %v and %d others", roots, under)
	}
	if got := f.loud(RuleUnreachable); len(got) != before+3 {
		t.Errorf("told at the end: %q", f.store.told(RuleUnreachable))
	}
}

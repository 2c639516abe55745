package alerts

import (
	"slices"
	"strings"
	"testing"
	"time"

	"monolith"
)

// fleetOf is a service with servers that are polled together.
type fleetOf struct {
	t       *testing.T
	store   *memoryStore
	service *Service
	worlds  []*world
	states  map[monolith.ServerID]*monolith.State
}

func newFleet(t *testing.T, names ...string) *fleetOf {
	t.Helper()
	f := &fleetOf{t: t, store: newMemoryStore(), states: map[monolith.ServerID]*monolith.State{}}
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		w := newWorld(cat, cat.rules[0], true, &serverEntry{Name: name, Version: "8.4.5"})
		w.interval = 10 * time.Second
		w.booted = w.start.Add(-30 * 24 * time.Hour)
		w.server.ID, w.server.Endpoint = monolith.ServerID(i+1), monolith.Endpoint{Host: name, Port: 3306}
		w.id.Hostname, w.id.UUID, w.id.ServerID = name, "uuid-"+name, uint32(i+1)
		f.worlds = append(f.worlds, w)
	}
	f.start()
	return f
}

// start makes the service, as a start of Monolith does.
func (f *fleetOf) start() {
	f.t.Helper()
	s, err := NewService(ServiceConfig{Store: f.store, State: func(id monolith.ServerID) *monolith.State { return f.states[id] },
		Now: func() time.Time { return f.worlds[0].at() }})
	if err != nil {
		f.t.Fatal(err)
	}
	if err := s.Load(f.t.Context()); err != nil {
		f.t.Fatal(err)
	}
	f.service = s
	f.apply()
}

func (f *fleetOf) apply() {
	var servers []monolith.Server
	for _, w := range f.worlds {
		servers = append(servers, *w.server)
	}
	f.service.SetServers(f.t.Context(), servers, nil)
}

// run polls all servers for a time.
func (f *fleetOf) run(d time.Duration) {
	for range int(d / (10 * time.Second)) {
		for _, w := range f.worlds {
			snap := w.take()
			f.states[w.server.ID] = w.state
			f.service.Handle(f.t.Context(), snap)
		}
		if f.worlds[0].now.Second() == 0 {
			f.service.lookAfter(f.t.Context())
		}
	}
}

func (f *fleetOf) lose(names ...string) {
	for _, w := range f.worlds {
		if slices.Contains(names, w.server.Name) {
			w.problem = &monolith.Problem{Kind: monolith.ProblemUnreachable, Code: 2003, Text: "connection refused"}
		}
	}
}

func (f *fleetOf) back() {
	for _, w := range f.worlds {
		w.problem = nil
	}
}

func TestServiceTellsAndKeeps(t *testing.T) {
	f := newFleet(t, "db1")
	f.worlds[0].set("variable.flush_time", 1800)
	f.run(20 * time.Minute)
	open := f.service.Open()
	if len(open) == 0 || open[0].Rule != "flush-time-nonzero" || open[0].ID == 0 || open[0].ServerName != "db1" {
		t.Fatalf("open: %+v", open)
	}
	id := open[0].ID
	if a, err := f.service.Acknowledge(t.Context(), id, "kim", "known"); err != nil || a.AckedBy != "kim" {
		t.Fatal(a, err)
	}
	if a, err := f.service.Take(t.Context(), id, "kim"); err != nil || a.Owner != "kim" {
		t.Fatal(a, err)
	}
	if _, err := f.service.AddAlertNote(t.Context(), id, "kim", "looking"); err != nil {
		t.Fatal(err)
	}
	// Monolith is started anew: the alert goes on, with what people noted.
	if err := f.service.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.start()
	f.run(10 * time.Minute)
	if a, err := f.service.Alert(t.Context(), id); err != nil || !a.Open() || a.Owner != "kim" || a.AckNote != "known" {
		t.Fatal(a, err)
	}
	f.worlds[0].set("variable.flush_time", 0)
	f.run(30 * time.Minute)
	if got, want := f.store.told("flush-time-nonzero"), "db1 opened, db1 acknowledged, db1 taken, db1 note, db1 closed"; got != want {
		t.Errorf("got %q, expected %q", got, want)
	}
	if _, err := f.service.Acknowledge(t.Context(), id, "kim", ""); !isConflict(err) {
		t.Errorf("acknowledged a closed alert: %v", err)
	}
	if _, err := f.service.AddAlertNote(t.Context(), id, "kim", "it was the backup"); err != nil {
		t.Errorf("a note on a closed alert: %v", err)
	}
}

func isConflict(err error) bool { return err != nil && strings.Contains(err.Error(), "conflict") }

func TestStoreThatIsAway(t *testing.T) {
	f := newFleet(t, "db1")
	f.run(2 * time.Minute)
	f.store.down = true
	f.worlds[0].set("variable.flush_time", 1800)
	f.run(30 * time.Minute)
	if len(f.service.Open()) == 0 {
		t.Fatal("nothing is open in memory")
	}
	f.worlds[0].set("variable.flush_time", 0)
	f.run(30 * time.Minute)
	if got := f.store.told("flush-time-nonzero"); got != "" {
		t.Fatalf("told while the store was away: %q", got)
	}
	f.store.down = false
	f.run(time.Minute)
	if got := f.store.told("flush-time-nonzero"); got != "db1 opened, db1 closed" {
		t.Errorf("got %q", got)
	}
	n := 0
	for _, a := range f.store.alerts {
		if a.Rule == "flush-time-nonzero" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("there are %d alerts of one episode", n)
	}
}

func TestUnreachableHidesItsRest(t *testing.T) {
	f := newFleet(t, "db1", "db2", "db3", "db4", "db5", "db6")
	lag := int64(0)
	f.worlds[1].rows.Replicas = []monolith.Replica{{Channel: "", SourceHost: "db1", SourcePort: 3306, IO: "Yes", SQL: "Yes", Lag: &lag, Delay: &lag}}
	f.worlds[0].set("variable.flush_time", 1800)
	f.run(20 * time.Minute)
	f.lose("db1")
	f.worlds[1].rows.Replicas[0].IO = monolith.ThreadConnecting
	f.worlds[1].rows.Replicas[0].IOErrno = 2003
	f.run(20 * time.Minute)
	var down, hidden, channel monolith.Alert
	for _, a := range f.service.Open() {
		switch {
		case a.Rule == RuleUnreachable:
			down = a
		case a.Rule == "flush-time-nonzero":
			hidden = a
		case a.Rule == "replica-io-thread-stopped":
			channel = a
		}
	}
	if down.ID == 0 || down.ServerName != "db1" || !strings.Contains(down.Text, "It is the source of db2") {
		t.Fatalf("the server's own alert: %+v", down)
	}
	if hidden.Parent != down.ID || hidden.Unknown == "" {
		t.Errorf("what was open before: parent %d, unknown %q", hidden.Parent, hidden.Unknown)
	}
	if channel.ID == 0 || channel.Parent != down.ID {
		t.Errorf("the replica's channel: %+v", channel)
	}
	if got := f.store.told("replica-io-thread-stopped"); !strings.Contains(got, "told by") {
		t.Errorf("the replica's channel was told: %q", got)
	}
	f.back()
	f.worlds[1].rows.Replicas[0].IO, f.worlds[1].rows.Replicas[0].IOErrno = monolith.ThreadYes, 0
	f.run(20 * time.Minute)
	for _, a := range f.service.Open() {
		if a.Rule == RuleUnreachable || a.Parent != 0 || a.Rule == "replica-io-thread-stopped" {
			t.Errorf("after it came back: %+v", a)
		}
	}
}

func TestMostServersGone(t *testing.T) {
	f := newFleet(t, "db1", "db2", "db3", "db4")
	f.run(3 * time.Minute)
	f.lose("db1", "db2", "db3")
	f.run(5 * time.Minute)
	if got, want := f.store.told(RuleNetwork), "opened"; got != want {
		t.Fatalf("the monitor's own alert: %q", got)
	}
	if got := f.store.told(RuleUnreachable); strings.Count(got, "opened (told by") != 3 || strings.Count(got, "opened") != 3 {
		t.Errorf("the single ones: %q", got)
	}
	f.back()
	f.run(5 * time.Minute)
	if got := f.store.told(RuleNetwork); got != "opened, closed" {
		t.Errorf("afterwards: %q", got)
	}
	if n := len(f.service.Open()); n != 0 {
		t.Errorf("%d are still open", n)
	}
}

func TestQuietTimes(t *testing.T) {
	f := newFleet(t, "db1")
	f.run(time.Minute)
	now := f.worlds[0].at()
	if err := f.service.PutMaintenanceWindow(t.Context(), &monolith.MaintenanceWindow{Title: "upgrade", Server: 1, Start: now, Duration: 30 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	f.worlds[0].set("variable.flush_time", 1800)
	f.run(20 * time.Minute)
	if got := f.store.told("flush-time-nonzero"); got != "db1 opened (maintenance: upgrade)" {
		t.Fatalf("in maintenance: %q", got)
	}
	f.run(15 * time.Minute)
	if got := f.store.told("flush-time-nonzero"); got != "db1 opened (maintenance: upgrade), db1 unsilenced" {
		t.Fatalf("after maintenance: %q", got)
	}
	id := f.service.Open()[0].ID
	if _, err := f.service.SilenceAlert(t.Context(), id, f.worlds[0].at().Add(10*time.Minute), "kim", "later"); err != nil {
		t.Fatal(err)
	}
	f.run(15 * time.Minute)
	if got := f.store.told("flush-time-nonzero"); !strings.HasSuffix(got, "db1 silenced, db1 unsilenced") {
		t.Errorf("after the silence: %q", got)
	}
}

func TestOwnRulesAndSettings(t *testing.T) {
	f := newFleet(t, "db1", "db2")
	f.run(2 * time.Minute)
	if _, err := f.service.PutOwnRule(t.Context(), strings.ReplaceAll(threeLevels, "id: running", "id: flush-time-nonzero"), "kim"); !isConflict(err) {
		t.Errorf("a built-in rule's id: %v", err)
	}
	if _, err := f.service.PutOwnRule(t.Context(), strings.ReplaceAll(threeLevels, "Threads_running >=", "Treads_running >="), "kim"); err == nil || !strings.Contains(err.Error(), "Threads_running") {
		t.Errorf("a wrong name: %v", err)
	}
	if _, err := f.service.PutOwnRule(t.Context(), threeLevels, "kim"); err != nil {
		t.Fatal(err)
	}
	f.worlds[0].set("status.Threads_running", 15)
	f.worlds[1].set("status.Threads_running", 15)
	if err := f.service.PutRuleSettings(t.Context(), []monolith.RuleSetting{{Rule: "running", RuleScope: monolith.RuleScope{Server: 2}, Limits: map[string]map[string]float64{"info": {"running": 18}}}}); err != nil {
		t.Fatal(err)
	}
	if err := f.service.PutRuleSettings(t.Context(), []monolith.RuleSetting{{Rule: "running", Limits: map[string]map[string]float64{"info": {"running": 50}}}}); err == nil {
		t.Error("an info limit above the critical one was taken")
	}
	// 18 holds for db2: a warn limit of 15 for all would contradict it, though it fits the others.
	if err := f.service.PutRuleSettings(t.Context(), []monolith.RuleSetting{{Rule: "running", Limits: map[string]map[string]float64{"warn": {"running": 15}}}}); err == nil || !strings.Contains(err.Error(), "db2") {
		t.Errorf("a limit that contradicts a server's own: %v", err)
	}
	f.run(3 * time.Minute)
	if got := f.store.told("running"); got != "db1 opened" {
		t.Errorf("got %q", got)
	}
	eff, err := f.service.EffectiveRule(2, "running")
	if err != nil || eff.Limits[0].Value != 18 || eff.Limits[0].From != "server" || eff.Limits[0].BuiltIn != 10 || eff.Limits[1].From != "built-in" {
		t.Errorf("in force: %+v %v", eff, err)
	}
	if err := f.service.CopyRuleSettings(t.Context(), 2, []monolith.ServerID{1}, "kim"); err != nil {
		t.Fatal(err)
	}
	if eff, _ := f.service.EffectiveRule(1, "running"); eff.Limits[0].Value != 18 {
		t.Errorf("copied: %+v", eff)
	}
	if err := f.service.DeleteOwnRule(t.Context(), "running"); err != nil {
		t.Fatal(err)
	}
	f.run(2 * time.Minute)
	if got := f.store.told("running"); got != "db1 opened, db1 closed" {
		t.Errorf("after it was deleted: %q", got)
	}
	// A paused server closes its alerts.
	f.worlds[0].set("variable.flush_time", 1800)
	f.run(20 * time.Minute)
	paused := *f.worlds[0].server
	paused.Paused, paused.Updated = true, f.worlds[0].at()
	f.worlds[0].server = &paused
	f.apply()
	if got := f.store.told("flush-time-nonzero"); got != "db1 opened, db1 closed" {
		t.Errorf("paused: %q", got)
	}
	if len(f.service.Statuses(2)) < 100 {
		t.Errorf("%d states of the other server", len(f.service.Statuses(2)))
	}
}

// What a message says of a server's role: what it replicates, and of one that nothing replicates from what it is there for.
func TestRoleOfSubject(t *testing.T) {
	f := newFleet(t, "db1", "db2")
	for i, role := range []string{"primary", "replica"} {
		f.worlds[i].server.Role, f.worlds[i].server.Updated = role, f.worlds[i].at()
	}
	f.apply()
	f.run(time.Minute)
	for id, want := range map[monolith.ServerID]string{1: "primary", 2: ""} {
		if got := f.service.Subject(id).Role; got != want {
			t.Errorf("server %d: %q, want %q", id, got, want)
		}
	}
}

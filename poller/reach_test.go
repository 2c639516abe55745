package poller

import (
	"slices"
	"strings"
	"testing"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

// everyOneRan reports whether no collector waits for its first run.
func everyOneRan(w *follower) bool {
	return !slices.ContainsFunc(w.Collectors(1), func(c monolith.CollectorStatus) bool { return c.Works == monolith.CollectorWaiting })
}

// A server that could not be read at first is read with every collector as soon as its endpoint is right, however
// rare their schedules are.
func TestCorrectedEndpointRunsEverything(t *testing.T) {
	t.Parallel()
	db := mysqltest.MariaDB(t)
	user, password := db.NewUser(t, "ALL ON *.*")
	right := everySecond(t, db, user, password)
	right.Schedules = map[string]string{monolith.Fast: "@every 1s"}
	unread := func(s *monolith.Snapshot) bool { return !s.Polled }
	for name, spoil := range map[string]func(*monolith.Endpoint){
		"password": func(e *monolith.Endpoint) { e.Password = "wrong" },
		"silent":   func(e *monolith.Endpoint) { e.Host, e.Port = "127.0.0.1", blackholePort(t) },
	} {
		wrong := right
		spoil(&wrong.Endpoint)
		w := follow(t, wrong)
		for range 3 {
			w.next(t, name+": a poll that fails", unread)
		}
		for _, c := range w.Collectors(1) {
			if c.Works == monolith.CollectorWaiting && c.Runs == 0 && !strings.Contains(c.Why, "can't be read") {
				t.Errorf("%s: %s waits without a reason: %q", name, c.Name, c.Why)
			}
		}
		w.Apply([]monolith.Server{right}, nil)
		w.next(t, name+": every collector", func(*monolith.Snapshot) bool { return everyOneRan(w) })
	}
}

func blackholePort(t *testing.T) int {
	t.Helper()
	e, err := ParseDSN("u@tcp(" + mysqltest.Blackhole(t) + ")/")
	if err != nil {
		t.Fatal(err)
	}
	return e.Port
}

// A change of the endpoint travels with the server that has it: the poll that began before neither consumes it nor
// leaves the old connection to the next one.
func TestChangedEndpointIsForTheNextPoll(t *testing.T) {
	t.Parallel()
	p, err := New(Config{Collectors: Collectors()})
	if err != nil {
		t.Fatal(err)
	}
	server := monolith.Server{ID: 1, Name: "db", Endpoint: monolith.Endpoint{Host: "old", Port: 3306}}
	tg := newTarget(p, &server, planFor(&server, nil))
	before, old, _ := tg.take()
	changed := server
	changed.Endpoint.Host = "new"
	tg.change(&changed, planFor(&changed, nil))
	after, now, ok := tg.take()
	if before.renewed || old.Endpoint.Host != "old" || !ok || !after.renewed || !after.all || now.Endpoint.Host != "new" {
		t.Errorf("before %+v of %s, after %+v of %s", before, old.Endpoint.Host, after, now.Endpoint.Host)
	}
}

// The first login after a change of the endpoint and each other server behind it make everything run, whatever was
// asked for before.
func TestFirstLoginRunsEverything(t *testing.T) {
	t.Parallel()
	p, err := New(Config{Collectors: Collectors()})
	if err != nil {
		t.Fatal(err)
	}
	server := monolith.Server{ID: 1, Name: "db"}
	tg := newTarget(p, &server, planFor(&server, nil))
	poll := &poll{t: tg, server: &server, snap: &monolith.Snapshot{}}
	login := func(host string) map[string]bool {
		clear(tg.poll.due)
		poll.adopt(&session{identity: monolith.Identify(map[string]string{"version": "8.4.0", "hostname": host})})
		return tg.poll.due
	}
	if due := login("a"); !due["sizes"] || !due["origins"] || !due["accounts"] || !due["variables"] || due["host"] {
		t.Errorf("at the first login %v", due)
	}
	if due := login("a"); len(due) > 0 {
		t.Errorf("at a further login %v", due)
	}
	if due := login("b"); !due["sizes"] || !due["origins"] || !due["accounts"] {
		t.Errorf("at another server %v", due)
	}
	clear(tg.poll.due)
	poll.newRun()
	if due := tg.poll.due; due["sizes"] || !due["origins"] || !due["accounts"] {
		t.Errorf("after a restart %v", due)
	}
}

// Who looks at a variable that was just changed sees where its value comes from, and not where the one before came
// from; a server whose variables change all the time is not asked all the time.
func TestChangedVariableHasItsOrigin(t *testing.T) {
	t.Parallel()
	db := mysqltest.MariaDB(t, mysqltest.Options("max_connections=100"))
	user, password := db.NewUser(t, "PROCESS ON *.*")
	server := spaced(2*time.Second, everySecond(t, db, user, password))
	server.Schedules[monolith.Slow] = "@every 2s"
	w := follow(t, server, func(c *Config) {
		c.Collectors = []*Collector{statusCollector(), variablesCollector(), originsCollector()}
	})
	origin := func(s *monolith.Snapshot) monolith.VariableOrigin {
		for _, v := range s.Variables {
			if v.Name == "max_connections" {
				return v.Origin
			}
		}
		return ""
	}
	first := w.next(t, "the first origins", func(s *monolith.Snapshot) bool { return s.Variables != nil })
	if o := origin(first); o != monolith.OriginCommand {
		t.Fatalf("at first from %q", o)
	}
	db.Exec(t, "SET GLOBAL max_connections = 101")
	changed := w.next(t, "the changed value", has101)
	if changed.Variables == nil { // it may have no time of its own in that poll
		changed = w.next(t, "its origin", func(s *monolith.Snapshot) bool { return s.Variables != nil })
	}
	if o := origin(changed); o != monolith.OriginSet {
		t.Errorf("after the change from %q", o)
	}
	db.Exec(t, "SET GLOBAL max_connections = 102")
	for range 4 {
		if s := w.next(t, "a poll", polled); s.Variables != nil {
			t.Error("origins are read again within ten minutes")
		}
	}
}

func has101(s *monolith.Snapshot) bool {
	section := s.Section(variablesName)
	if section == nil {
		return false
	}
	for i, text := range section.Texts {
		if section.TextNames.At(i).Name == "variable.max_connections" {
			return text == "101"
		}
	}
	return false
}

// A change that came within the rest is not forgotten.
func TestOriginsRest(t *testing.T) {
	t.Parallel()
	p, err := New(Config{Collectors: Collectors()})
	if err != nil {
		t.Fatal(err)
	}
	server := monolith.Server{ID: 1}
	tg := newTarget(p, &server, planFor(&server, nil))
	poll := &poll{t: tg, server: &server, snap: &monolith.Snapshot{}}
	tg.poll.stale, tg.poll.originsAt = true, time.Now().Add(-originsRest+time.Minute)
	if poll.refreshOrigins(); tg.poll.due[originsName] || !tg.poll.stale {
		t.Error("asked again too early, or forgotten")
	}
	tg.poll.originsAt = time.Now().Add(-originsRest)
	if poll.refreshOrigins(); !tg.poll.due[originsName] {
		t.Error("not asked after the rest")
	}
}

// Who runs all that the connection test prints misses nothing afterwards, sizes included, though these are not
// measured in the test.
func TestPrintedGrantsAreEnough(t *testing.T) {
	t.Parallel()
	for name, start := range bothServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := start(t)
			db.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.t (a INT)")
			user, password := db.NewUser(t)
			server := everySecond(t, db, user, password)
			p, err := New(Config{Collectors: Collectors()})
			if err != nil {
				t.Fatal(err)
			}
			report := p.Test(t.Context(), server)
			if !slices.ContainsFunc(report.Grants, func(g string) bool { return strings.Contains(g, "SHOW VIEW") }) {
				t.Errorf("SHOW VIEW is not among %q", report.Grants)
			}
			db.Exec(t, report.Grants...)
			if report = p.Test(t.Context(), server); len(report.Grants) > 0 {
				t.Errorf("still printed: %q", report.Grants)
			}
			if i := slices.IndexFunc(report.Steps, func(s monolith.TestStep) bool { return s.Name == "sizes" }); i < 0 || !strings.Contains(report.Steps[i].Text, "not measured") {
				t.Errorf("the sizes were measured, or not looked at: %+v", report.Steps)
			}
			w := follow(t, server)
			w.next(t, "every collector", func(*monolith.Snapshot) bool { return everyOneRan(w) })
			for _, c := range w.Collectors(1) {
				if c.Grant != "" {
					t.Errorf("Monitoring wants %s for %s: %s", c.Grant, c.Name, c.Why)
				}
			}
		})
	}
}

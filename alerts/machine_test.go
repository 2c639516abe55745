package alerts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"monolith"
)

// ownCatalogue compiles one rule without the built-in ones.
func ownCatalogue(t *testing.T, text string) *Catalogue {
	t.Helper()
	cat, err := load(base{}, []monolith.OwnRule{{Source: text}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// play runs a rule against a gauge: each value holds for as long as it says. It gives what happened, one event a word with
// the minute.
func play(t *testing.T, cat *Catalogue, values ...any) (*world, string) {
	t.Helper()
	w := newWorld(cat, cat.rules[0], false, &serverEntry{})
	w.booted = w.start.Add(-24 * time.Hour)
	for i := 0; i+1 < len(values); i += 2 {
		w.problem = nil
		switch v := values[i].(type) {
		case string:
			w.problem = &monolith.Problem{Kind: monolith.ProblemKind(v), Text: "lost"}
		default:
			if err := w.set("status.Threads_running", v); err != nil {
				t.Fatal(err)
			}
		}
		for range values[i+1].(int) {
			w.poll()
		}
	}
	return w, w.told()
}

// told writes the events so far.
func (w *world) told() string {
	var out []string
	for _, e := range w.events {
		minute := int(e.At.Sub(w.start) / time.Minute)
		kind := string(e.Kind)
		if kind == "" {
			kind = "known"
			if e.Unknown != "" {
				kind = "unknown"
			}
		}
		word := fmt.Sprintf("%d %s", minute, kind)
		if e.Kind == monolith.EventOpened || e.Kind == monolith.EventRaised || e.Kind == monolith.EventLowered {
			word += " " + e.To.String()
		}
		out = append(out, word)
	}
	return strings.Join(out, ", ")
}

const threeLevels = `
id: running
title: Running
each: server
when:
- if: status.Threads_running >= limit.running
  limits:
    info: {running: 10}
    warn: {running: 20}
    critical: {running: 40}
  for: {info: 0, warn: 5m, critical: 2m}
  clear: {after: 10m, factor: 0.5}
summary: "{status.Threads_running} running, limit {limit.running}"
says: "{status.Threads_running} run."
`

func TestLevels(t *testing.T) {
	cat := ownCatalogue(t, threeLevels)
	for _, c := range []struct {
		name   string
		values []any
		want   string
	}{
		{"below", []any{9, 20}, ""},
		{"opens at the first level and is raised in place", []any{5, 3, 25, 12}, "4 opened info, 9 raised warn"},
		{"the graver level has its own hold", []any{5, 3, 50, 12}, "4 opened info, 6 raised critical"},
		{"a spike below the hold", []any{5, 3, 25, 3, 12, 3, 25, 3}, "4 opened info"},
		{"lowered only after the clear time, to what is not back past half", []any{50, 5, 12, 15}, "1 opened info, 3 raised critical, 16 lowered warn"},
		{"closed only after the clear time", []any{15, 5, 2, 15}, "1 opened info, 16 closed"},
		{"between the limit and half of it it stays", []any{15, 5, 6, 60}, "1 opened info"},
		{"back above half in between starts the clear time anew", []any{15, 5, 2, 9, 6, 1, 2, 12}, "1 opened info, 26 closed"},
		{"from critical to nothing in one step", []any{50, 5, 1, 15}, "1 opened info, 3 raised critical, 16 closed"},
		{"just at half it stays", []any{15, 5, 5, 30}, "1 opened info"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, got := play(t, cat, c.values...); got != c.want {
				t.Errorf("got %q, expected %q", got, c.want)
			}
		})
	}
}

func TestLowIsBad(t *testing.T) {
	cat := ownCatalogue(t, `
id: hit
title: Hit
let:
  hit: {is: "greatest(0, status.Threads_running)", unit: "%"}
when:
- if: hit < limit.hit
  limits: {info: {hit: 90}, warn: {hit: 80}}
  clear: {after: 0, factor: 0.9}
summary: "{hit}"
says: "{hit}"
`)
	// Clears above 90 + 0.1 × 10 = 91, and 80 + 0.1 × 20 = 82.
	if _, got := play(t, cat, 95, 2, 89, 2, 90.5, 3, 91.5, 2, 79, 2, 81, 2, 83, 2, 92, 2); got != "3 opened info, 8 closed, 10 opened warn, 14 lowered info, 16 closed" {
		t.Errorf("got %q", got)
	}
}

func TestUnknownKeepsAnAlertOpen(t *testing.T) {
	cat := ownCatalogue(t, threeLevels)
	w, got := play(t, cat, 15, 5, "timeout", 120, 2, 5)
	if want := "1 opened info, 6 unknown, 126 known"; got != want {
		t.Errorf("got %q, expected %q", got, want)
	}
	if s := w.engine.Status(1, "running")[0]; s.State != monolith.StateOpen {
		t.Errorf("after the server came back the state is %s", s.State)
	}
	// What had been counting before the gap does not count: the clear time begins anew.
	w.set("status.Threads_running", 2)
	for range 7 {
		w.poll()
	}
	if got := w.told(); !strings.HasSuffix(got, "136 closed") {
		t.Errorf("got %q, expected it to close ten minutes after the gap", got)
	}
	// And a pending one does not open by a gap.
	if _, got := play(t, cat, 5, 2, 25, 2, "timeout", 60, 25, 4); got != "3 opened info, 5 unknown, 65 known" {
		t.Errorf("pending over a gap: got %q", got)
	}
}

// TestPendingWhileAnotherConditionLearns: a condition counts by itself, also while another one makes the rule learn; and
// what it counted before a gap does not count after it.
func TestPendingWhileAnotherConditionLearns(t *testing.T) {
	cat := ownCatalogue(t, `
id: two
title: Two
warmup: 0
when:
- if: status.Threads_running > 10
  level: warn
  for: 10m
- if: changed(status.Uptime, "1m") == 1 and delta(status.Questions, "24h") > 1
  level: info
summary: "x"
says: "x"
`)
	w := newWorld(cat, cat.rules[0], false, &serverEntry{})
	w.booted = w.start.Add(-time.Hour)
	w.grow("status.Questions", 60, time.Minute)
	w.set("status.Threads_running", 15)
	for range 5 {
		w.poll()
	}
	if s := w.engine.Status(1, "two")[0]; s.State != monolith.StateLearning {
		t.Fatalf("got %s", s.State)
	}
	w.now = w.now.Add(time.Hour)
	for range 9 {
		w.poll()
	}
	if got := w.told(); got != "" {
		t.Errorf("ten minutes have not passed since the gap: %q", got)
	}
	for range 3 {
		w.poll()
	}
	if got := w.told(); !strings.Contains(got, "opened warn") {
		t.Errorf("got %q", got)
	}
	// Nor does a condition that still learns keep open what another one opened.
	w.set("status.Threads_running", 2)
	w.poll()
	if got := w.told(); !strings.HasSuffix(got, "closed") {
		t.Errorf("it is over: %q", got)
	}
	if s := w.engine.Status(1, "two")[0]; s.State != monolith.StateLearning {
		t.Errorf("closed, it is %s", s.State)
	}
}

func TestFlapping(t *testing.T) {
	cat := ownCatalogue(t, strings.ReplaceAll(threeLevels, "clear: {after: 10m, factor: 0.5}", "clear: {after: 0}"))
	var values []any
	for range 10 {
		values = append(values, 15, 2, 1, 2)
	}
	values = append(values, 1, 100)
	_, got := play(t, cat, values...)
	if n := strings.Count(got, "opened"); n != 5 {
		t.Errorf("it opened %d times, expected 5: %q", n, got)
	}
	if n := strings.Count(got, "flapping"); n != 1 {
		t.Errorf("it was marked %d times: %q", n, got)
	}
	events := strings.Split(got, ", ")
	if last := events[len(events)-1]; last != "99 closed" {
		t.Errorf("the last event is %q, expected it to close an hour after it went quiet (minute 39)", last)
	}
}

func TestWarmup(t *testing.T) {
	cat := ownCatalogue(t, `
id: rate-of-questions
title: Questions
window: 15m
when:
- if: rate(status.Questions) > limit.rate
  limits: {warn: {rate: 1}}
summary: "{rate(status.Questions)}"
says: "x"
`)
	w := newWorld(cat, cat.rules[0], false, &serverEntry{})
	w.booted = w.start.Add(-time.Hour)
	w.grow("status.Questions", 60000, 15*time.Minute)
	state := func() monolith.RuleState { return w.engine.Status(1, "rate-of-questions")[0].State }
	for i := range 14 {
		w.poll()
		if i < 10 && state() != monolith.StateLearning {
			t.Fatalf("poll %d: %s with an uncovered window", i+1, state())
		}
	}
	if state() != monolith.StateOpen {
		t.Fatalf("covered: %s", state())
	}
	// After a restart of the server rates are not judged for ten minutes, and the alert stays.
	w.run++
	w.booted, w.restarted = w.now, true
	for i := range 9 {
		w.poll()
		if state() != monolith.StateLearning {
			t.Fatalf("%d minutes after the restart: %s", i+1, state())
		}
	}
	for range 8 {
		w.poll()
	}
	if state() != monolith.StateOpen || strings.Contains(w.told(), "closed") {
		t.Errorf("after the restart: %s, %s", state(), w.told())
	}
}

func TestInstancesThatVanish(t *testing.T) {
	cat := ownCatalogue(t, `
id: channel-down
title: Channel
each: replica
every: poll
when:
- if: it.io == "No"
  level: critical
summary: "channel {it.channel}"
says: "x"
`)
	w := newWorld(cat, cat.rules[0], false, &serverEntry{})
	channels := func(names ...string) {
		w.rows.Replicas = []monolith.Replica{}
		for _, n := range names {
			w.rows.Replicas = append(w.rows.Replicas, monolith.Replica{Channel: n, IO: monolith.ThreadNo, SQL: monolith.ThreadYes})
		}
		w.poll()
	}
	channels("eu", "us")
	channels("us")
	channels()
	var got []string
	for _, e := range w.events {
		got = append(got, string(e.Kind)+" "+e.Key.Instance+" "+string(e.Reason))
	}
	want := []string{"opened eu ", "opened us ", "closed eu not_applicable", "closed us not_applicable"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, expected %q", got, want)
	}
	if s := w.engine.Status(1, "channel-down"); len(s) != 1 || s[0].State != monolith.StateNotApplicable {
		t.Errorf("without channels: %+v", s)
	}
	// While the list can't be read, what is open stays open.
	channels("eu")
	w.refused["replication"] = monolith.ProblemPrivilege
	w.poll()
	if s := w.engine.Status(1, "channel-down"); len(s) != 1 || s[0].State != monolith.StateCannotEvaluate || s[0].Instance != "eu" {
		t.Errorf("unreadable: %+v", s)
	}
	if last := w.events[len(w.events)-1]; last.Unknown == "" || last.Kind != "" {
		t.Errorf("the last event is %+v", last)
	}
}

// TestOneBrokenChannelOfMany: however many channels there are, the broken one has one alert, which names it.
func TestOneBrokenChannelOfMany(t *testing.T) {
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 3, 10} {
		w := newWorld(cat, cat.Rule("replica-sql-thread-stopped"), false, &serverEntry{})
		w.rows.Replicas = []monolith.Replica{}
		for i := range n {
			w.rows.Replicas = append(w.rows.Replicas, monolith.Replica{Channel: fmt.Sprint("ch", i), IO: monolith.ThreadYes, SQL: monolith.ThreadYes})
		}
		if n > 0 {
			w.rows.Replicas[n-1].SQL = monolith.ThreadNo
		}
		for range 10 {
			w.poll()
		}
		want, got := []string{}, []string{}
		if n > 0 {
			want = append(want, fmt.Sprintf("opened ch%d", n-1))
		}
		for _, e := range w.events {
			got = append(got, string(e.Kind)+" "+e.Key.Instance)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d channels: %q, want %q", n, got, want)
		}
		if states := w.engine.Status(1, "replica-sql-thread-stopped"); len(states) != max(1, n) {
			t.Errorf("%d channels have %d states", n, len(states))
		}
		w.rows.Replicas = []monolith.Replica{}
		w.poll()
		if n == 0 {
			continue
		}
		if e := w.events[len(w.events)-1]; len(w.events) != 2 || e.Kind != monolith.EventClosed || e.Reason != monolith.ClosedNotApplicable || e.Text != "the server is no longer a replica" {
			t.Errorf("without replication: %d events, the last one %+v", len(w.events), e)
		}
	}
}

func TestSwitchedOffWhileOpen(t *testing.T) {
	cat := ownCatalogue(t, threeLevels)
	w, _ := play(t, cat, 15, 3)
	off := false
	w.engine.SetSettings([]monolith.RuleSetting{{Rule: "running", RuleScope: monolith.RuleScope{Server: 1}, Enabled: &off}})
	w.poll()
	last := w.events[len(w.events)-1]
	if last.Kind != monolith.EventClosed || last.Reason != monolith.ClosedDisabled {
		t.Errorf("got %+v", last)
	}
	if s := w.engine.Status(1, "running")[0]; s.State != monolith.StateNotApplicable || s.Why != "switched off (server)" {
		t.Errorf("got %+v", s)
	}
	w.engine.SetSettings(nil)
	w.poll()
	if got := w.told(); !strings.HasSuffix(got, "5 opened info") {
		t.Errorf("switched on again: %q", got)
	}
}

// TestRestartOfMonolith saves and restores after each poll: nothing may open or close that would not have without.
func TestRestartOfMonolith(t *testing.T) {
	cat := ownCatalogue(t, threeLevels)
	values := []any{5, 3, 25, 12, 12, 4, 50, 3, 6, 20, 2, 15, 15, 3, "timeout", 10, 15, 5}
	_, want := play(t, cat, values...)
	w := newWorld(cat, cat.rules[0], false, &serverEntry{})
	w.booted = w.start.Add(-24 * time.Hour)
	for i := 0; i+1 < len(values); i += 2 {
		w.problem = nil
		if kind, ok := values[i].(string); ok {
			w.problem = &monolith.Problem{Kind: monolith.ProblemKind(kind), Text: "lost"}
		} else {
			w.set("status.Threads_running", values[i])
		}
		for range values[i+1].(int) {
			w.poll()
			blob, err := w.engine.Save(1)
			if err != nil {
				t.Fatal(err)
			}
			w.engine = NewEngine(w.cat)
			if err := w.engine.Restore(1, blob); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got := w.told(); got != want {
		t.Errorf("with restarts %q, without %q", got, want)
	}
}

func TestDamagedStateIsRefused(t *testing.T) {
	cat := ownCatalogue(t, threeLevels)
	w, _ := play(t, cat, 15, 5)
	blob, err := w.engine.Save(1)
	if err != nil {
		t.Fatal(err)
	}
	for i := range blob {
		bad := slices.Clone(blob)
		bad[i] ^= 0x40
		if err := NewEngine(cat).Restore(1, bad); err == nil {
			t.Fatalf("byte %d of %d changed, and the state was taken", i, len(blob))
		}
	}
	for n := range len(blob) {
		if err := NewEngine(cat).Restore(1, blob[:n]); err == nil {
			t.Fatalf("%d of %d bytes were taken", n, len(blob))
		}
	}
	// Without its memory, but with the open alert from the store, the engine opens no second one and closes the first.
	e := NewEngine(w.cat)
	e.Adopt(&monolith.Alert{AlertKey: monolith.AlertKey{Server: 1, Rule: "running"}, Level: monolith.LevelInfo, Opened: w.now})
	w.engine, w.events = e, nil
	w.poll()
	if got := w.told(); got != "" {
		t.Errorf("adopted: %q", got)
	}
	w.set("status.Threads_running", 1)
	for range 12 {
		w.poll()
	}
	if got := w.told(); got != "16 closed" && got != "17 closed" {
		t.Errorf("adopted and over: %q", got)
	}
}

// TestSchedules reads variables every five minutes and the host every ten seconds at polls of one: neither is old.
func TestSchedules(t *testing.T) {
	cat := ownCatalogue(t, `
id: slow
title: Slow
when:
- if: variable.flush_time > 0 or host.load1 > 100 or rate(host.swap_in_bytes_total, "1m") > 1e9
  level: warn
summary: "x"
says: "x"
`)
	w := newWorld(cat, cat.rules[0], false, &serverEntry{})
	w.interval = time.Second
	w.booted = w.start.Add(-time.Hour)
	w.set("variable.flush_time", 0)
	w.set("host.load1", 1)
	w.grow("host.swap_in_bytes_total", 0, time.Minute)
	w.engine.SetEvery(func(_ monolith.ServerID, metric string) time.Duration {
		if strings.HasPrefix(metric, "variable.") {
			return 5 * time.Minute
		}
		return 0
	})
	for i := range 800 {
		w.idle = map[string]bool{"variables": i%300 != 0, "host": i%10 != 0}
		w.poll()
		if s := w.engine.Status(1, "slow")[0]; i > 120 && s.State != monolith.StateOK {
			t.Fatalf("second %d: %s %s", i, s.State, s.Why)
		}
	}
}

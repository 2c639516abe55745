package alerts

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"monolith"
)

// judgeable runs the first phase of the first test of a rule that ends in a judgement, and gives the world after it.
func judgeable(t *testing.T, cat *Catalogue, r *Rule) *world {
	t.Helper()
	for i := range r.entry.Tests {
		test := r.entry.Tests[i]
		if s := monolith.RuleState(test.Phase.State); s != monolith.StateOK && s != monolith.StateOpen && s != monolith.StatePending || test.All || test.Phase.Problem != nil {
			continue
		}
		test.Then = nil
		w, err := playTest(cat, r, &test, &TestResult{})
		if err != nil {
			t.Fatalf("%s: %v", test.Name, err)
		}
		return w
	}
	return nil
}

// verdictAfter polls twice and gives what the rule says of everything then.
func verdictAfter(w *world) []monolith.RuleStatus {
	w.poll()
	w.poll()
	return w.engine.Status(w.server.ID, w.rule.id)
}

// hushed gives the states that do not say that something is missing. An alert that is open by what can be read is loud
// enough.
func hushed(states []monolith.RuleStatus) []string {
	var out []string
	for _, s := range states {
		if s.State != monolith.StateCannotEvaluate && s.State != monolith.StateOpen {
			out = append(out, s.Instance+": "+string(s.State)+" "+s.Why)
		}
	}
	return out
}

// onlyTheConnection ends the test of a rule that no test of its own judges by readings: only the one about the connection may be so.
func onlyTheConnection(t *testing.T, r *Rule) {
	t.Helper()
	if r.ID() != "server-unreachable" {
		t.Fatal("no test of the rule ends in a judgement by readings")
	}
	t.Skip("it goes by the connection alone, which its own tests take away")
}

// TestNeverSilent takes each thing that a rule reads away, as a renamed column, a lost privilege and a collector that is
// off do: within two polls the rule must say that it can't be evaluated.
func TestNeverSilent(t *testing.T) {
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range cat.Rules() {
		t.Run(r.ID(), func(t *testing.T) {
			t.Parallel()
			w := judgeable(t, cat, r)
			if w == nil {
				onlyTheConnection(t, r)
			}
			collectors := map[string]bool{}
			for _, name := range presentInputs(w) {
				w := judgeable(t, cat, r)
				w.lost = map[string]bool{name: true}
				ev := &evaluator{state: w.state}
				if c := monolith.CollectorOf(name); c != "server" {
					collectors[c] = true
				}
				if ev.comesAndGoes(name) || name == "server.up" || name == "server.polled" {
					continue
				}
				if bad := hushed(verdictAfter(w)); len(bad) > 0 {
					t.Errorf("%s is gone, and the rule says %q", name, bad)
				}
			}
			for _, set := range readSets(w) {
				collectors[set.collector] = true
			}
			for _, c := range slices.Sorted(maps.Keys(collectors)) {
				if c == "cnf" || c == "self" {
					continue
				}
				for _, kind := range []monolith.ProblemKind{monolith.ProblemPrivilege, monolith.ProblemTimeout, monolith.ProblemAnswer} {
					w := judgeable(t, cat, r)
					w.refused[c] = kind
					if bad := hushed(verdictAfter(w)); len(bad) > 0 {
						t.Errorf("the collector %s fails (%s), and the rule says %q", c, kind, bad)
					}
				}
				w := judgeable(t, cat, r)
				off := *w.server
				off.CollectorsOff = []string{c}
				w.server = &off
				w.refused[c] = monolith.ProblemOff
				if bad := hushed(verdictAfter(w)); len(bad) > 0 {
					t.Errorf("the collector %s is off, and the rule says %q", c, bad)
				}
			}
		})
	}
}

// presentInputs gives the names that the rule judges by and that the world has.
func presentInputs(w *world) []string {
	present := map[string]bool{}
	for m := range w.signals {
		present[m.Name] = true
	}
	for m := range w.derived() {
		present[m.Name] = true
	}
	var out []string
	for _, id := range w.rule.inputs {
		if name := w.cat.inputs[id].Name; present[name] && !slices.Contains(out, name) && !strings.HasPrefix(name, "self.") {
			out = append(out, name)
		}
	}
	return out
}

// readSets gives the lists that the rule judges by.
func readSets(w *world) []*rowSet {
	var out []*rowSet
	if w.rule.set >= 0 {
		out = append(out, rowSets()[w.rule.set])
	}
	for _, set := range w.rule.sets {
		out = append(out, rowSets()[set])
	}
	return out
}

// TestUnreachable loses the server: no rule that reads it may go on as if it were there.
func TestUnreachable(t *testing.T) {
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range cat.Rules() {
		t.Run(r.ID(), func(t *testing.T) {
			t.Parallel()
			w := judgeable(t, cat, r)
			if w == nil || !slices.ContainsFunc(presentInputs(w), func(n string) bool { return strings.HasPrefix(n, "status.") || strings.HasPrefix(n, "variable.") }) {
				return
			}
			w.problem = &monolith.Problem{Kind: monolith.ProblemTimeout, Text: "no answer"}
			if bad := hushed(verdictAfter(w)); len(bad) > 0 {
				t.Errorf("the server is unreachable, and the rule says %q", bad)
			}
			w.problem = nil
			for range int(30 * time.Minute / w.interval) {
				w.poll()
			}
			for _, s := range w.engine.Status(w.server.ID, r.ID()) {
				if s.State == monolith.StateCannotEvaluate {
					t.Errorf("half an hour after the server came back: %+v", s)
				}
			}
		})
	}
}

// TestServerJustBorn judges a server that was started a second ago and has counted nothing yet, at each rule: nothing is divided by
// that nothing, and nobody is told of a ratio that is none.
func TestServerJustBorn(t *testing.T) {
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range cat.Rules() {
		t.Run(r.ID(), func(t *testing.T) {
			t.Parallel()
			old := judgeable(t, cat, r)
			if old == nil {
				onlyTheConnection(t, r)
			}
			w := newWorld(cat, r, false, &serverEntry{})
			w.server, w.id, w.rows, w.interval = old.server, old.id, old.rows, time.Second
			counts := false
			for m, s := range old.signals {
				w.signals[m] = s
				if !s.isText && strings.HasPrefix(m.Name, "status.") {
					w.signals[m], counts = &signal{since: w.start, counter: s.counter}, counts || s.counter
				}
			}
			w.booted = w.start.Add(-time.Second)
			for range 3 {
				w.poll()
			}
			for _, e := range w.events {
				if counts && e.Kind == monolith.EventOpened {
					t.Errorf("%s: %s", e.To, e.Key.Instance)
				}
			}
			for _, s := range w.engine.Status(w.server.ID, r.ID()) {
				if text := s.Text + s.Why; strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || strings.Contains(text, "%!") {
					t.Errorf("%s: %q", s.State, text)
				}
			}
		})
	}
}

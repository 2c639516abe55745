package alerts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"monolith"
	"monolith/formula"
)

// TestResult is how one test of a rule ended.
type TestResult struct {
	Rule        string
	Name        string
	MustNotFire bool
	Err         error // nil: as expected
	// State, Level, Summary and Text are what came out at the end.
	State   monolith.RuleState
	Level   monolith.Level
	Why     string
	Summary string
	Text    string
}

// RunTests runs the tests that stand beside a rule: polls with synthetic time go through windows, rule and states, as on
// a real server.
func RunTests(cat *Catalogue, r *Rule) []TestResult {
	out := make([]TestResult, 0, len(r.entry.Tests))
	for i := range r.entry.Tests {
		t := &r.entry.Tests[i]
		res := TestResult{Rule: r.id, Name: t.Name, MustNotFire: t.MustNotFire}
		res.Err = runTest(cat, r, t, &res)
		out = append(out, res)
	}
	return out
}

func runTest(cat *Catalogue, r *Rule, t *testEntry, res *TestResult) error {
	_, err := playTest(cat, r, t, res)
	return err
}

// playTest runs a test and gives the world after it.
func playTest(cat *Catalogue, r *Rule, t *testEntry, res *TestResult) (*world, error) {
	w := newWorld(cat, r, t.All, &t.Phase.Server)
	if t.At != "" {
		day, err := time.Parse(time.DateOnly, t.At)
		if err != nil {
			return nil, fmt.Errorf("at: %q is not a day such as 2026-11-30", t.At)
		}
		w.start = day
	}
	switch t.Source {
	case "":
	case sourceHost:
		w.server.Host = "local"
	case sourceCnf:
		w.engine.server(w.server.ID).cnf = []cnfDifference{}
	default:
		return nil, fmt.Errorf("source: %q is neither host nor cnf", t.Source)
	}
	if t.Interval != nil {
		w.interval = time.Duration(*t.Interval)
	}
	phases := append([]phaseEntry{t.Phase}, t.Then...)
	uptime := 30 * 24 * time.Hour
	if t.Uptime != nil {
		uptime = time.Duration(*t.Uptime)
	}
	first := w.lengthOf(&phases[0])
	if t.Interval == nil {
		w.interval = intervalFor(first)
	}
	// The uptime is that at the end of the first phase: a server that is up for less was not polled before.
	first = min(first, max(uptime, w.interval))
	w.booted = w.start.Add(first - uptime)
	for i := range phases {
		p := &phases[i]
		length := first
		if i > 0 {
			length = w.lengthOf(p)
		}
		if p.Gap != nil {
			w.now = w.at().Add(time.Duration(*p.Gap))
		}
		if err := w.begin(p, length, i == 0); err != nil {
			return nil, err
		}
		for end := w.at().Add(length); w.at().Before(end); {
			w.poll()
		}
		if err := w.check(p, t.MustNotFire, res); err != nil {
			if len(phases) > 1 {
				return nil, fmt.Errorf("phase %d: %w", i+1, err)
			}
			return nil, err
		}
	}
	return w, nil
}

// intervalFor gives a distance between polls at which a test of a long window takes no more than a few hundred.
func intervalFor(length time.Duration) time.Duration {
	return max(time.Minute, (length/300 + time.Minute - 1).Truncate(time.Minute))
}

// lengthOf is how long a phase goes on: as the test says, or as long as windows and holds need.
func (w *world) lengthOf(p *phaseEntry) time.Duration {
	if p.Held != nil {
		return max(time.Duration(*p.Held), w.interval)
	}
	var window, hold time.Duration
	for _, id := range w.rule.inputs {
		if in := w.cat.inputs[id]; in.Func != "" && !in.long() {
			window = max(window, in.Window)
		}
	}
	for _, c := range w.rule.conditions {
		for _, l := range monolith.Levels {
			hold = max(hold, c.hold[l])
		}
	}
	return window + hold + 2*time.Minute
}

// begin makes what a phase says hold.
func (w *world) begin(p *phaseEntry, length time.Duration, first bool) error {
	w.serverFacts(&p.Server, first)
	for _, name := range slices.Sorted(maps.Keys(p.Set)) {
		if err := w.setOrLine(name, p.Set[name], length); err != nil {
			return fmt.Errorf("set: %w", err)
		}
	}
	if p.Adds != nil || first {
		w.stopCounters()
	}
	over := w.rule.window
	if p.Over != nil {
		over = time.Duration(*p.Over)
	}
	if over <= 0 {
		over = w.windowOf()
	}
	for _, name := range slices.Sorted(maps.Keys(p.Adds)) {
		if err := w.grow(name, p.Adds[name], over); err != nil {
			return fmt.Errorf("adds: %w", err)
		}
	}
	if err := w.setRows(p.Rows); err != nil {
		return err
	}
	for key, v := range p.History {
		s, err := historyValue(v)
		if err != nil {
			return fmt.Errorf("history: %s: %w", key, err)
		}
		known := w.cat.LongInputs()
		if !slices.Contains(known, key) {
			return fmt.Errorf("history: no rule reads %q; over long windows rules read %s", key, strings.Join(known, "; "))
		}
		w.history[key] = s
	}
	for name, r := range p.Ramp {
		if err := w.set(name, r.To-r.PerDay*length.Hours()/24); err != nil {
			return fmt.Errorf("ramp: %w", err)
		}
		m, _ := parseMetric(name)
		w.signals[m].slope = r.PerDay / 86400
	}
	for name, saw := range p.Saw {
		if err := w.set(name, saw.Low); err != nil {
			return fmt.Errorf("saw: %w", err)
		}
		m, _ := parseMetric(name)
		w.signals[m].saw = &saw
	}
	if p.Usual != nil {
		w.usual = p.Usual
	}
	if w.problem = nil; p.Problem != nil {
		w.problem = &monolith.Problem{Kind: monolith.ProblemKind(p.Problem.Kind), Code: p.Problem.Code, Text: p.Problem.Text}
	}
	if p.Refuse != nil {
		w.refused = map[string]monolith.ProblemKind{}
		for c, kind := range p.Refuse {
			w.refused[c] = monolith.ProblemKind(kind)
		}
	}
	if p.Restart {
		w.run++
		w.booted, w.restarted = w.at(), true
		for m, s := range w.signals {
			if s.counter && m.Namespace() == "status" {
				s.base, s.since = 0, w.at()
			}
		}
	}
	return nil
}

// windowOf is the longest window in memory that the rule reads.
func (w *world) windowOf() time.Duration {
	window := time.Minute
	for _, id := range w.rule.inputs {
		if in := w.cat.inputs[id]; in.Func != "" && !in.long() {
			window = max(window, in.Window)
		}
	}
	return window
}

func (w *world) stopCounters() {
	for _, s := range w.signals {
		if s.counter {
			s.settle(w.at())
			s.slope = 0
		}
	}
}

// setOrLine sets a value, or with {from, to} a line over the phase.
func (w *world) setOrLine(name string, v any, length time.Duration) error {
	line, ok := v.(map[string]any)
	if !ok {
		return w.set(name, v)
	}
	from, ok1 := number(line["from"])
	to, ok2 := number(line["to"])
	if !ok1 || !ok2 || len(line) != 2 {
		return fmt.Errorf("%s: a line is {from: number, to: number}", name)
	}
	if err := w.set(name, from); err != nil {
		return err
	}
	m, _ := parseMetric(name)
	w.signals[m].slope = (to - from) / length.Seconds()
	return nil
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func historyValue(v any) (formula.Scalar, error) {
	if n, ok := number(v); ok {
		return formula.Number(n), nil
	}
	switch v := v.(type) {
	case nil:
		return formula.Nothing(formula.LackLearning, "the history does not reach that far"), nil
	case string:
		return formula.Text(v), nil
	}
	return formula.Scalar{}, fmt.Errorf("%v is neither a number nor a text", v)
}

// check compares what came out with what is expected at the end of a phase.
func (w *world) check(p *phaseEntry, mustNotFire bool, res *TestResult) error {
	got, summary, text, remedy, err := w.outcome(p.Instance)
	if err != nil {
		return err
	}
	res.State, res.Level, res.Why, res.Summary, res.Text = got.State, got.Level, got.Why, summary, text
	level := got.Level
	if got.State != monolith.StateOpen && got.State != monolith.StatePending {
		level = monolith.LevelOK
	}
	said := fmt.Sprintf("%s %s", got.State, level)
	if got.Why != "" {
		said += " (" + got.Why + ")"
	}
	if summary != "" {
		said += fmt.Sprintf("; summary %q", summary)
	}
	switch {
	case p.State == "" && p.Level == "" && p.Says == "" && p.Shows == "" && p.Why == "" && p.Remedy == "":
		return nil
	case p.State != "" && !slices.Contains(monolith.RuleStates, monolith.RuleState(p.State)):
		return fmt.Errorf("%q is not a state", p.State)
	case p.State != "" && string(got.State) != p.State:
		return fmt.Errorf("expected %s, got %s", p.State, said)
	case p.Level != "" && level.String() != p.Level:
		return fmt.Errorf("expected level %s, got %s", p.Level, said)
	case p.Says != "" && !strings.Contains(text, p.Says):
		return fmt.Errorf("expected the message to hold %q, got %q", p.Says, text)
	case p.Remedy != "" && !strings.Contains(remedy, p.Remedy):
		return fmt.Errorf("expected the remedy to hold %q, got %q", p.Remedy, remedy)
	case p.Shows != "" && !strings.Contains(summary, p.Shows):
		return fmt.Errorf("expected the summary to hold %q, got %q", p.Shows, summary)
	case p.Why != "" && !strings.Contains(got.Why, p.Why):
		return fmt.Errorf("expected the reason to hold %q, got %q", p.Why, got.Why)
	case mustNotFire && got.State == monolith.StateOpen && p.State != string(monolith.StateOpen):
		return fmt.Errorf("it must not fire, but got %s", said)
	}
	return nil
}

// outcome gives the state that is asked for, and its texts as they are now.
func (w *world) outcome(instance *string) (status monolith.RuleStatus, summary, text, remedy string, err error) {
	states := w.engine.Status(w.server.ID, w.rule.id)
	var names []string
	at := -1
	for i, s := range states {
		names = append(names, fmt.Sprintf("%q (%s)", s.Instance, s.State))
		if instance != nil && s.Instance == *instance || instance == nil && (len(states) == 1 || s.Instance == "") {
			at = i
		}
	}
	if at < 0 && instance != nil {
		// "" asks for the worst; an instance that is gone is as the rule as a whole.
		if at = worstOf(states); *instance != "" && (at < 0 || len(states) > 1 || states[at].Instance != "") {
			at = -1
		}
	}
	switch {
	case at >= 0:
	case len(states) == 0:
		return status, "", "", "", fmt.Errorf("the rule was never judged")
	case instance == nil:
		return status, "", "", "", fmt.Errorf("there are several instances, say which: %s", strings.Join(names, ", "))
	default:
		return status, "", "", "", fmt.Errorf("there is no instance %q, but %s", *instance, strings.Join(names, ", "))
	}
	s := states[at]
	text, remedy = w.engine.message(w.server.ID, s.AlertKey)
	return s, s.Text, text, remedy, nil
}

// worstOf gives the state that people must look at first.
func worstOf(states []monolith.RuleStatus) int {
	best := -1
	for i := range states {
		if best < 0 || rank(&states[i]) < rank(&states[best]) {
			best = i
		}
	}
	return best
}

func rank(s *monolith.RuleStatus) int {
	return 10*slices.Index(monolith.RuleStates, s.State) - int(s.Level)
}

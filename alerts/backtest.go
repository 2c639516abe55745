package alerts

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"monolith"
)

// The bounds of a back-test.
const (
	backTestServers = 100
	backTestSteps   = 3000 // evaluations of one server
)

// BackTest tells what a rule would have said over a time that is past: history is turned into polls, and these go through
// windows, rule and states as real ones do. It ends early when ctx does.
func (s *Service) BackTest(ctx context.Context, t monolith.BackTest) (*monolith.BackTestResult, error) {
	if s.cfg.History == nil {
		return nil, fmt.Errorf("alerts: back-test: there is no history: %w", monolith.ErrUnavailable)
	}
	if t.To.IsZero() {
		t.To = s.now()
	}
	switch {
	case (t.Source == "") == (t.Rule == ""):
		return nil, monolith.Invalid("rule", "exactly one of a rule's text and the id of one is needed")
	case !t.From.Before(t.To):
		return nil, monolith.Invalid("from", "the time must begin before it ends")
	case t.To.Sub(t.From) > monolith.MaxBackTest:
		return nil, monolith.Invalid("from", "a back-test goes over 92 days at most", "ask for a shorter range")
	}
	cat := s.engine.Catalogue()
	r := cat.Rule(t.Rule)
	if t.Source != "" {
		var err error
		if r, cat, err = s.builtin.Check(t.Source, s.cfg.Known); err != nil {
			return nil, asInvalid(err)
		}
	}
	if r == nil {
		return nil, fmt.Errorf("alerts: back-test: rule %s: %w", quoted(t.Rule), monolith.ErrNotFound)
	}
	servers, settings, err := s.backTestServers(&t, r, cat)
	if err != nil {
		return nil, err
	}
	out := &monolith.BackTestResult{Rule: r.id, From: t.From, To: t.To, Step: stepOf(t.To.Sub(t.From)), Servers: []monolith.BackTestServer{}}
	for _, srv := range servers {
		one, err := s.backTest(ctx, cat, r, srv, settings, &t, out.Step)
		if err != nil {
			return nil, err
		}
		out.Servers = append(out.Servers, *one)
	}
	return out, nil
}

// stepOf gives the distance between two evaluations.
func stepOf(length time.Duration) time.Duration {
	step := time.Minute
	for length/step > backTestSteps {
		step *= 2
	}
	return step
}

// backTestServers gives the servers to test, in a fixed order, and the settings that are in force with the limits that
// are tried.
func (s *Service) backTestServers(t *monolith.BackTest, r *Rule, cat *Catalogue) ([]*monolith.Server, []monolith.RuleSetting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var servers []*monolith.Server
	for id, srv := range s.servers {
		if len(t.Servers) == 0 || slices.Contains(t.Servers, id) {
			servers = append(servers, srv)
		}
	}
	slices.SortFunc(servers, func(a, b *monolith.Server) int { return cmp.Compare(a.ID, b.ID) })
	if len(servers) > backTestServers {
		return nil, nil, monolith.Invalid("servers", fmt.Sprintf("a back-test is for %d servers at most", backTestServers), "choose some")
	}
	settings := slices.DeleteFunc(slices.Clone(s.settings), func(x monolith.RuleSetting) bool { return x.Rule != r.id })
	for i := range settings {
		settings[i].Enabled = nil // what is switched off can be tried too
	}
	if len(t.Limits) == 0 {
		return servers, settings, nil
	}
	for _, srv := range servers {
		tried := monolith.RuleSetting{Rule: r.id, Limits: t.Limits}
		tried.Server = srv.ID
		if err := cat.CheckSetting(&tried, settings, srv.Group); err != nil {
			return nil, nil, err
		}
		settings = append(slices.DeleteFunc(settings, func(x monolith.RuleSetting) bool { return x.Server == srv.ID }), tried)
	}
	return servers, settings, nil
}

// backTest tests one server.
func (s *Service) backTest(ctx context.Context, cat *Catalogue, r *Rule, srv *monolith.Server, settings []monolith.RuleSetting, t *monolith.BackTest, step time.Duration) (*monolith.BackTestServer, error) {
	out := &monolith.BackTestServer{Server: srv.ID, Name: srv.Name, Episodes: []monolith.BackTestEpisode{}}
	if note := noHistoryOf(r); note != "" {
		out.Note, out.Unknown = note, t.To.Sub(t.From)
		return out, nil
	}
	one := cat.single(r)
	names := one.readNames(one.rules[0])
	// Windows begin before the time that is asked for.
	from := t.From.Add(-min(one.longestOf(one.rules[0]), longestWindow)).Truncate(step)
	rng, err := s.cfg.History.Read(ctx, monolith.Query{Server: srv.ID, Metrics: names, From: from, To: t.To, Step: step})
	if err != nil {
		return nil, fmt.Errorf("alerts: back-test of %s: %w", srv.Name, err)
	}
	p := newReplayed(one, srv, s.cfg.State(srv.ID), rng)
	p.engine.SetSettings(settings)
	if inputs := one.longInputsOf(one.rules[0]); len(inputs) > 0 {
		if p.long, err = readPastLong(ctx, s.cfg.History, inputs, srv.ID, from, t.To); err != nil {
			return nil, err
		}
	}
	for i := range rng.N {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("alerts: back-test: %w", context.Cause(ctx))
		}
		at := rng.Start.Add(time.Duration(i+1) * rng.Step)
		if at.After(t.To) {
			break
		}
		events := p.poll(i, at)
		if at.Before(t.From) {
			p.noteEpisodes(out, events, t.From) // what is open then has begun by then
			continue
		}
		p.noteEpisodes(out, events, at)
		p.note(out, at, rng.Step)
	}
	out.Episodes = slices.DeleteFunc(out.Episodes, func(e monolith.BackTestEpisode) bool { return e.To.Equal(t.From) }) // over by then
	out.Lines = p.lines
	if out.Note == "" && out.Unknown > (t.To.Sub(t.From))/2 {
		out.Note = "for more than half of the time the rule could not be judged: " + p.why
	}
	return out, nil
}

// noHistoryOf says why history can't tell what a rule would have said; "" when it can.
func noHistoryOf(r *Rule) string {
	const kept = ": history keeps metrics and how variables changed, of lists only what they are now"
	if r.set >= 0 {
		return "the rule judges each row of the list " + rowSets()[r.set].name + kept
	}
	for _, set := range r.sets {
		return "the rule goes by the list " + rowSets()[set].name + kept
	}
	return ""
}

// readNames gives the metrics that the rule reads, through facts too.
func (c *Catalogue) readNames(r *Rule) []string {
	names := []string{"status.Uptime", "server.up", "server.polled"}
	names = append(names, factInputs[:]...)
	for _, id := range r.inputs {
		names = append(names, c.inputs[id].Name)
		if c.ownRing[id] >= 0 {
			names = append(names, c.rings[c.ownRing[id]].name)
		}
	}
	for _, q := range r.lets {
		for _, id := range q.expr.inputs {
			names = append(names, c.inputs[id].Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// longestOf is the longest window in memory that the rule reads.
func (c *Catalogue) longestOf(r *Rule) time.Duration {
	longest := 2 * time.Minute
	for _, id := range r.inputs {
		if in := c.inputs[id]; in.Func != "" && !in.long() {
			longest = max(longest, in.Window)
		}
	}
	return longest
}

// replayed is a server that is polled out of history.
type replayed struct {
	engine *Engine
	rule   *Rule
	server *monolith.Server
	id     monolith.Identity
	rng    *monolith.Range
	names  map[string]*monolith.Names
	totals []float64 // of the counters so far
	state  *monolith.State
	long   *pastLong // nil: the rule reads nothing over long windows
	longAt int       // number of the values in force
	open   map[monolith.AlertKey]int
	lines  []monolith.BackTestLine
	why    string
}

func newReplayed(cat *Catalogue, srv *monolith.Server, now *monolith.State, rng *monolith.Range) *replayed {
	p := &replayed{engine: NewEngine(cat), rule: cat.rules[0], server: srv, rng: rng, names: map[string]*monolith.Names{},
		totals: make([]float64, len(rng.Series)), open: map[monolith.AlertKey]int{}, longAt: -1 << 30}
	if now != nil {
		p.id = now.Identity
	}
	for _, q := range p.rule.compared() {
		p.lines = append(p.lines, monolith.BackTestLine{Name: q.name, Unit: q.unit})
	}
	return p
}

// compared gives the quantities that the conditions of a rule compare with limits, in the order of the conditions.
func (r *Rule) compared() []*quantity {
	var out []*quantity
	add := func(name string) {
		i := slices.IndexFunc(r.lets, func(q *quantity) bool { return q.name == name && !q.hidden })
		if i >= 0 && !slices.Contains(out, r.lets[i]) {
			out = append(out, r.lets[i])
		}
	}
	for i, c := range r.conditions {
		add(c.value)
		for _, cmp := range r.info.When[i].Compares {
			add(cmp.Name)
		}
	}
	return out
}

// poll makes a poll of a step of history and judges it.
func (p *replayed) poll(i int, at time.Time) []Transition {
	snap := &monolith.Snapshot{Server: p.server.ID, Seq: uint64(i + 1), At: at, Taken: at, Interval: p.rng.Step, Elapsed: p.rng.Step, Run: 1, Identity: p.id}
	nums, texts := map[string][]monolith.Metric{}, map[string][]monolith.Metric{}
	values, words := map[string][]monolith.Num{}, map[string][]string{}
	for k := range p.rng.Series {
		s := &p.rng.Series[k]
		c := monolith.CollectorOf(s.Metric.Name)
		if text, ok := textAt(s, at); ok {
			texts[c], words[c] = append(texts[c], s.Metric), append(words[c], text)
			continue
		}
		v := math.NaN()
		switch {
		case s.Increase != nil && i < len(s.Increase) && s.Avg == nil:
			// A counter: its total since the beginning. Where nothing was covered it has none, which makes a gap.
			if inc := s.Increase[i]; inc == inc {
				p.totals[k] += inc
				v = p.totals[k]
			}
		case s.Last != nil && i < len(s.Last):
			v = s.Last[i]
		case s.Avg != nil && i < len(s.Avg):
			v = s.Avg[i]
		}
		if v != v {
			continue
		}
		if s.Metric.Name == "server.polled" && v > 0 {
			snap.Polled, snap.Up = true, true
		}
		nums[c], values[c] = append(nums[c], s.Metric), append(values[c], monolith.Float(v))
	}
	for _, c := range append(monolith.CollectorNames(), "server", "self") { // history lets values hold between their runs
		if !snap.Polled && !atEase(c) {
			continue
		}
		snap.Costs = append(snap.Costs, monolith.Cost{Collector: c})
	}
	for c := range nums {
		p.section(snap, c, nums[c], values[c], texts[c], words[c])
	}
	for c := range texts {
		if nums[c] == nil {
			p.section(snap, c, nil, nil, texts[c], words[c])
		}
	}
	if !snap.Polled {
		snap.Problems = append(snap.Problems, monolith.Problem{Kind: monolith.ProblemUnreachable, Text: "the server was not read"})
	}
	p.state = p.state.With(snap)
	if p.long != nil {
		if values, number := p.long.at(at); number != p.longAt {
			p.longAt = number
			p.engine.SetLong(p.server.ID, values)
		}
	}
	return p.engine.Observe(p.server, p.state, snap)
}

func (p *replayed) section(snap *monolith.Snapshot, collector string, nums []monolith.Metric, values []monolith.Num, texts []monolith.Metric, words []string) {
	snap.Sections = append(snap.Sections, monolith.Section{Collector: collector, NumNames: p.layout(nums), Nums: values, TextNames: p.layout(texts), Texts: words})
}

func (p *replayed) layout(list []monolith.Metric) *monolith.Names {
	var b strings.Builder
	for _, m := range list {
		b.WriteString(m.String())
		b.WriteByte('\n')
	}
	n := p.names[b.String()]
	if n == nil {
		n = monolith.NewNames(list)
		p.names[b.String()] = n
	}
	return n
}

// textAt gives the text in force at a moment.
func textAt(s *monolith.Series, at time.Time) (string, bool) {
	text, found := "", false
	for _, step := range s.Steps {
		if step.At.After(at) {
			break
		}
		text, found = step.Text, true
	}
	return text, found
}

// noteEpisodes takes down which alerts one evaluation opened, raised and closed.
func (p *replayed) noteEpisodes(out *monolith.BackTestServer, events []Transition, at time.Time) {
	for _, t := range events {
		switch t.Kind {
		case monolith.EventOpened:
			p.open[t.Key] = len(out.Episodes)
			out.Episodes = append(out.Episodes, monolith.BackTestEpisode{Instance: t.Key.Instance, Level: t.To, From: at, Summary: t.Text})
		case monolith.EventRaised:
			if k, ok := p.open[t.Key]; ok {
				out.Episodes[k].Level = max(out.Episodes[k].Level, t.To)
			}
		case monolith.EventClosed:
			if k, ok := p.open[t.Key]; ok {
				out.Episodes[k].To = at
				delete(p.open, t.Key)
			}
		}
	}
}

// note takes down what stands after an evaluation.
func (p *replayed) note(out *monolith.BackTestServer, at time.Time, step time.Duration) {
	if len(p.open) > 0 {
		out.Open += step
	}
	for i := range p.lines {
		p.lines[i].Value = append(p.lines[i].Value, math.NaN())
	}
	for _, st := range p.engine.Status(p.server.ID, p.rule.id) {
		if unknowable(st.State) {
			out.Unknown += step
			p.why = st.Why
		}
		for _, v := range st.Values {
			if i := slices.IndexFunc(p.lines, func(l monolith.BackTestLine) bool { return l.Name == v.Name }); i >= 0 && v.Num != nil {
				p.lines[i].Value[len(out.Times)] = *v.Num
			}
		}
	}
	out.Times = append(out.Times, at.Unix())
}

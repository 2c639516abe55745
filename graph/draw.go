package graph

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"monolith"
	"monolith/formula"
)

// Target is the server that a graph is drawn for.
type Target struct {
	ID   monolith.ServerID
	Name string
	// State is what is known of the server now: When conditions and flavours are judged on it. nil
	// draws everything that history has.
	State *monolith.State
}

// Request is the range to draw.
type Request struct {
	From, To time.Time
	Step     time.Duration
	Ago      time.Duration // lay the values of so long before behind the lines; 0: no
}

// Draw puts numbers into graphs of one server with one read of its history (two with Ago), and gives
// one drawing a graph, in order. A graph that does not apply to the server says why in its Note.
func Draw(ctx context.Context, src formula.Source, target Target, req Request, graphs ...*Graph) ([]*Drawing, error) {
	d := &drawer{ctx: ctx, now: stateSource{target.State}, target: target, places: map[string]int{}}
	for _, g := range graphs {
		d.choose(g)
	}
	results, err := formula.Series(ctx, src, formula.Request{Server: target.ID, From: req.From, To: req.To, Step: req.Step}, d.formulas...)
	if err != nil {
		return nil, fmt.Errorf("graph: draw: %w", err)
	}
	var before []formula.Result
	if req.Ago > 0 {
		before, err = formula.Series(ctx, src, formula.Request{Server: target.ID,
			From: req.From.Add(-req.Ago), To: req.To.Add(-req.Ago), Step: req.Step}, d.formulas...)
		if err != nil {
			return nil, fmt.Errorf("graph: draw the time before: %w", err)
		}
	}
	drawings := make([]*Drawing, len(graphs))
	for i, g := range graphs {
		drawings[i] = d.draw(g, req, results, before)
	}
	return drawings, nil
}

// Applies reports whether a server in this state has anything of what the graph shows, so that a page which chooses
// graphs for a server can leave the others out. Where the state is nil or does not tell, the graph applies. What history
// has from former times does not count.
func (g *Graph) Applies(ctx context.Context, state *monolith.State) bool {
	if state == nil {
		return true
	}
	d := &drawer{ctx: ctx, now: stateSource{state}, target: Target{State: state}}
	if !d.applies(g.when) {
		return false
	}
	for i := range g.Panels {
		if !d.applies(g.Panels[i].when) {
			continue
		}
		for j := range g.Panels[i].Series {
			s := &g.Panels[i].Series[j]
			if d.wanted(s) && slices.ContainsFunc(s.exprs, func(f *formula.Formula) bool { return !d.lacks(f) }) {
				return true
			}
		}
	}
	return false
}

// drawer collects the formulas of all graphs of one call, each once.
type drawer struct {
	ctx      context.Context
	now      stateSource
	target   Target
	formulas []*formula.Formula
	places   map[string]int // formula text → place in formulas
}

// choose notes the formulas that a graph needs.
func (d *drawer) choose(g *Graph) {
	if !d.applies(g.when) {
		return
	}
	for i := range g.Panels {
		if !d.applies(g.Panels[i].when) {
			continue
		}
		for j := range g.Panels[i].Series {
			s := &g.Panels[i].Series[j]
			if !d.wanted(s) {
				continue
			}
			for _, f := range s.exprs {
				if _, dup := d.places[f.String()]; !dup {
					d.places[f.String()] = len(d.formulas)
					d.formulas = append(d.formulas, f)
				}
			}
		}
	}
}

// applies reports whether a condition holds now. One that can't be evaluated does not hide a graph.
func (d *drawer) applies(when *formula.Formula) bool {
	if when == nil || d.target.State == nil {
		return true
	}
	v, err := when.At(d.ctx, d.now, d.target.ID, d.now.state.At, 0)
	if err != nil {
		return true
	}
	if v.Why != "" {
		return !d.lacks(when)
	}
	return v.Num != 0
}

// lacks reports whether a condition has no value because the server does not have one of its names.
func (d *drawer) lacks(when *formula.Formula) bool {
	for _, in := range when.Inputs() {
		if !in.Optional && d.now.absent(in.Name) {
			return true
		}
	}
	return false
}

func (d *drawer) wanted(s *Series) bool {
	if s.For != "" && d.target.State != nil && !d.target.State.Identity.IsZero() {
		if (s.For == "mariadb") != d.target.State.Identity.Flavour.IsMariaDB() {
			return false
		}
	}
	return d.applies(s.when)
}

// draw builds one drawing from the results of all formulas.
func (d *drawer) draw(g *Graph, req Request, results, before []formula.Result) *Drawing {
	dr := &Drawing{ID: g.ID, Title: g.Title, Server: d.target.Name, From: req.From, To: req.To, Step: int64(req.Step / time.Second), Marks: []monolith.Mark{}}
	for _, r := range results {
		if len(r.Lines) > 0 {
			dr.setAxis(r)
			break
		}
	}
	if !d.applies(g.when) {
		dr.Note = d.say(g.None)
		return dr
	}
	for i := range g.Panels {
		p := &g.Panels[i]
		nothing := func() {
			if p.None != "" {
				dr.Panels = append(dr.Panels, PanelDrawing{Title: p.Title, Unit: p.Unit, Lines: []Line{}, Note: d.say(p.None)})
			}
		}
		if !d.applies(p.when) {
			nothing()
			continue
		}
		pd := PanelDrawing{Title: p.Title, Unit: p.Unit, Right: p.Right, Min: p.Min, Max: p.Max, Log: p.Log, Lines: []Line{}}
		absent, why := true, ""
		for j := range p.Series {
			s := &p.Series[j]
			if !d.wanted(s) {
				continue
			}
			place := d.pick(s, results)
			if place < 0 {
				continue
			}
			absent = false
			r := results[place]
			why = cmp.Or(why, r.Why)
			var ago []formula.Line
			if before != nil {
				ago = before[place].Lines
			}
			pd.Lines = append(pd.Lines, lines(p, s, d.formulas[place], r, ago)...)
		}
		if absent {
			nothing()
			continue
		}
		if len(pd.Lines) == 0 {
			pd.Note = cmp.Or(why, "no values in this range")
		}
		dr.Panels = append(dr.Panels, pd)
	}
	if len(dr.Panels) == 0 {
		dr.Note = d.say(g.None)
	}
	return dr
}

// pick gives the place of the first alternative that this server has, or −1.
func (d *drawer) pick(s *Series, results []formula.Result) int {
	for _, f := range s.exprs {
		if place := d.places[f.String()]; !results[place].Absent {
			return place
		}
	}
	return -1
}

func (d *drawer) say(none string) string {
	who := "This server"
	if d.target.State != nil && !d.target.State.Identity.IsZero() {
		who = d.target.State.Identity.String()
	}
	if none == "" {
		return who + " does not have what this graph shows."
	}
	return strings.ReplaceAll(none, "{server}", who)
}

func (dr *Drawing) setAxis(r formula.Result) {
	dr.Tier, dr.Step = r.Tier, int64(r.Step/time.Second)
	dr.Times = make([]int64, len(r.Lines[0].V))
	for i := range dr.Times {
		dr.Times[i] = r.Start.Unix() + int64(i)*dr.Step
	}
}

// lines makes the lines of one series: one, or one an instance.
func lines(p *Panel, s *Series, f *formula.Formula, r formula.Result, ago []formula.Line) []Line {
	expr, inputs, newest := f.String(), inputNames(nil, f), newestSteps(f, r.Step)
	unit := p.Unit
	if s.Axis == "right" {
		unit = p.Right
	}
	out := make([]Line, 0, len(r.Lines))
	for _, l := range r.Lines {
		line := Line{Name: s.Name, Instance: l.Instance, Unit: unit, Style: cmp.Or(s.Style, StyleLine),
			Right: s.Axis == "right", Hidden: s.Hidden, States: s.stateWords(), Below: s.Below, Expr: expr, Inputs: inputs, V: withoutDust(l.V), Min: l.Min, Max: l.Max}
		if s.Floor != nil {
			line.V = above(line.V, *s.Floor)
		}
		for _, a := range ago {
			if a.Instance == l.Instance && len(a.V) == len(l.V) {
				line.Ago = a.V
			}
		}
		line.Stats = statsOf(line.V, newest)
		if s.Quiet != nil && (line.Stats.Max == nil || *line.Stats.Max <= *s.Quiet) {
			line.Hidden = true
		}
		out = append(out, line)
	}
	if s.Top > 0 && len(out) > s.Top {
		out = topLines(out, s.Top, newest)
	}
	return out
}

// dust is what no value of any unit is as small as: differences of sums leave it where they should be 0.
const dust = 1e-9

// withoutDust gives the values with 0 in the place of dust. v itself is not changed.
func withoutDust(v monolith.Floats) monolith.Floats {
	copied := false
	for i, x := range v {
		if x == 0 || math.Abs(x) >= dust || math.IsNaN(x) {
			continue
		}
		if !copied {
			v, copied = slices.Clone(v), true
		}
		v[i] = 0
	}
	return v
}

// above gives a copy without the values below floor.
func above(v monolith.Floats, floor float64) monolith.Floats {
	out := slices.Clone(v)
	for i, x := range out {
		if x < floor {
			out[i] = math.NaN()
		}
	}
	return out
}

// topLines keeps the n lines with the largest mean and adds the rest up under "others".
func topLines(all []Line, n, newest int) []Line {
	mean := func(l Line) float64 {
		if l.Stats.Mean == nil {
			return math.Inf(-1)
		}
		return *l.Stats.Mean
	}
	slices.SortStableFunc(all, func(a, b Line) int { return cmp.Compare(mean(b), mean(a)) })
	kept, rest := all[:n], all[n:]
	others := rest[0]
	others.Instance, others.Min, others.Max, others.Ago = "others", nil, nil, nil
	others.V = slices.Clone(rest[0].V)
	for _, l := range rest[1:] {
		for i, v := range l.V {
			switch {
			case math.IsNaN(others.V[i]):
				others.V[i] = v
			case !math.IsNaN(v):
				others.V[i] += v
			}
		}
	}
	others.Stats = statsOf(others.V, newest)
	return append(kept, others)
}

// lastSteps is in how many of the newest steps a value still counts as the last one: the step that is
// under way may have none yet, and a poll may come late.
const lastSteps = 3

// newestSteps gives lastSteps, or more where a formula takes the growth of a counter that is read less often than each
// poll: until its next reading there is none.
func newestSteps(f *formula.Formula, step time.Duration) int {
	steps := lastSteps
	for _, in := range f.Inputs() {
		schedule := monolith.ScheduleOf(in.Name)
		if schedule != monolith.Fast && monolith.KindOf(in.Name) == monolith.Counter && step > 0 {
			steps = max(steps, int(2*monolith.DefaultInterval(schedule)/step))
		}
	}
	return steps
}

// statsOf gives the figures of a line; gaps do not count. A line that ended has no last value: the delay
// of a replica that stopped is not what it was before.
func statsOf(v monolith.Floats, newest int) Stats {
	var st Stats
	low, high, sum, n := math.Inf(1), math.Inf(-1), 0.0, 0
	for i, x := range v {
		if math.IsNaN(x) {
			continue
		}
		low, high, sum, n = min(low, x), max(high, x), sum+x, n+1
		if i >= len(v)-newest {
			last := x
			st.Last = &last
		}
	}
	if n > 0 {
		mean := sum / float64(n)
		st.Min, st.Max, st.Mean = &low, &high, &mean
	}
	return st
}

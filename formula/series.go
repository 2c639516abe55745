package formula

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"monolith"
)

// Source answers queries from history. The store implements it.
type Source interface {
	Read(ctx context.Context, q monolith.Query) (*monolith.Range, error)
}

// Request says for which server, range and step formulas are evaluated.
type Request struct {
	Server   monolith.ServerID
	From, To time.Time
	Step     time.Duration
}

// Result is one formula over a range.
type Result struct {
	Start time.Time     // where step 0 begins
	Step  time.Duration // as history answered: it may be coarser than asked for
	Tier  string        // "raw", "10m" or "1h"; "" when nothing was read
	// Lines holds one line, or one an instance, sorted by instance, all of one length. It is empty if and
	// only if no line would have a value; then Why says the reason and names the input.
	Lines []Line
	Why   string
	// Absent is set when the reason is that this server does not have an input by design.
	Absent bool
}

// Line is one series of values; NaN means "no value".
type Line struct {
	Instance string // "" for formulas over names without instances
	V        monolith.Floats
	Min, Max monolith.Floats // the band, see [Series]; nil where there is none
}

// maxSteps bounds what one call may ask of history, windows included.
const maxSteps = 500_000

// Series evaluates formulas over a range, with one read of the history for all of them. What windows need before
// From is read with it and cut off again. Only week_ago and windows longer than the range have reads of
// their own, so that one of them does not lengthen the read of everything else; very long windows are
// read in steps of at most 1/2000 of them, where these are longer than the range's. The results are in the
// order of the formulas and share one grid, which begins at the step that holds From.
//
// A formula with instances gives one line for each instance that all its inputs have; inputs without
// instances count for each.
//
// A line has a band where its formula has a single input, a plain name or rate(name) over the step, and a step
// stands for several readings: the formula of the least and of the greatest of these. With several inputs
// nobody knows which extremes came together, and there is none.
//
// An error is the source's, or a bad request ([monolith.InvalidError]); inputs without values are no error.
func Series(ctx context.Context, src Source, req Request, formulas ...*Formula) ([]Result, error) {
	if req.Step <= 0 {
		return nil, monolith.Invalid("step", "the step must be longer than nothing")
	}
	if !req.From.Before(req.To) {
		return nil, monolith.Invalid("from", "the range must begin before it ends")
	}
	for _, f := range formulas {
		if err := f.only(); err != nil {
			return nil, err
		}
	}
	r, err := read(ctx, src, req, formulas)
	if err != nil {
		return nil, err
	}
	results := make([]Result, len(formulas))
	for i, f := range formulas {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("formula: series: %w", err)
		}
		results[i] = r.evaluate(f.unit)
	}
	return results, nil
}

// reader holds what a call has read. It implements inputs.
type reader struct {
	start   time.Time
	step    time.Duration
	n       int
	tier    string
	near    time.Duration // the length of the range: windows up to it are read with the range
	sources map[readKey]*source
}

// readKey sorts inputs by the read that serves them.
type readKey struct {
	ago  time.Duration
	back time.Duration // of a window that is longer than the range; 0 for all others
}

func (r *reader) key(s *slot) readKey {
	if s.window > r.near {
		return readKey{s.ago, s.window}
	}
	return readKey{ago: s.ago}
}

// source is one answer of history, indexed.
type source struct {
	rng    *monolith.Range
	grid   *grid
	series map[string][]*monolith.Series
	absent map[string]bool
}

func newSource(rng *monolith.Range) (*source, error) {
	if rng == nil || rng.Step <= 0 {
		return nil, fmt.Errorf("formula: history answered without a grid")
	}
	s := &source{rng: rng, series: make(map[string][]*monolith.Series), absent: make(map[string]bool, len(rng.Absent))}
	for i := range rng.Series {
		name := rng.Series[i].Metric.Name
		s.series[name] = append(s.series[name], &rng.Series[i])
	}
	for _, name := range rng.Absent {
		s.absent[name] = true
	}
	return s, nil
}

// demand is what has to be read: names, and how far before the range's beginning.
type demand struct {
	names []string
	back  time.Duration
}

func (d *demand) add(s *slot, step time.Duration) {
	if !slices.Contains(d.names, s.name) {
		d.names = append(d.names, s.name)
	}
	back := s.window
	if s.fn == "changed" {
		back += step // compares with the reading before the window
	}
	d.back = max(d.back, back)
}

func read(ctx context.Context, src Source, req Request, formulas []*Formula) (*reader, error) {
	r := &reader{near: req.To.Sub(req.From), sources: map[readKey]*source{}}
	wanted := map[readKey]*demand{}
	var order []readKey
	for _, f := range formulas {
		f.unit.reads(false, func(s *slot, _ bool) {
			key := r.key(s)
			d := wanted[key]
			if d == nil {
				d = &demand{}
				wanted[key] = d
				order = append(order, key)
			}
			d.add(s, req.Step)
		})
	}
	// The plain range comes first: it gives the grid.
	slices.SortFunc(order, func(a, b readKey) int {
		return cmp.Or(cmp.Compare(a.back, b.back), cmp.Compare(a.ago, b.ago))
	})
	for i, key := range order {
		part := req
		if key.back > 0 {
			part.Step = max(req.Step, coarse(key.back/2000))
		}
		got, err := fetch(ctx, src, part, wanted[key], key.ago)
		if err != nil {
			return nil, err
		}
		r.sources[key] = got
		if i == 0 && key.back == 0 {
			r.step, r.tier = got.rng.Step, got.rng.Tier
			before := req.From.Add(-key.ago).Sub(got.rng.Start) / r.step
			r.start, r.n = got.rng.Start.Add(before*r.step+key.ago), max(got.rng.N-int(before), 0)
		}
	}
	if r.step == 0 { // constants and long windows only: nothing says how the range is divided
		r.step = req.Step
		r.start = time.Unix(0, req.From.UnixNano()-req.From.UnixNano()%int64(r.step)).UTC()
		r.n = int((req.To.Sub(r.start) + r.step - 1) / r.step)
		for _, s := range r.sources {
			r.tier = s.rng.Tier
		}
	}
	for key, s := range r.sources {
		s.grid = newGrid(s.rng, r.start.Add(-key.ago), r.step, r.n)
	}
	return r, nil
}

// coarse gives the longest of a few round steps that is not longer than limit, but at least 10 s.
func coarse(limit time.Duration) time.Duration {
	step := 10 * time.Second
	for _, longer := range []time.Duration{time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour} {
		if longer <= limit {
			step = longer
		}
	}
	return step
}

func fetch(ctx context.Context, src Source, req Request, d *demand, ago time.Duration) (*source, error) {
	back := (d.back + req.Step - 1) / req.Step * req.Step
	q := monolith.Query{Server: req.Server, Metrics: d.names,
		From: req.From.Add(-ago - back), To: req.To.Add(-ago), Step: req.Step}
	if q.To.Sub(q.From)/q.Step > maxSteps {
		return nil, monolith.Invalid("step", "the range has too many steps of this length", "a longer step or a shorter range")
	}
	rng, err := src.Read(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("formula: read history: %w", err)
	}
	return newSource(rng)
}

func (r *reader) find(s *slot) ([]*monolith.Series, *grid) {
	from := r.sources[r.key(s)]
	return from.series[s.name], from.grid
}

func (r *reader) isAbsent(name string) bool {
	for _, s := range r.sources {
		if s.absent[name] {
			return true
		}
	}
	return false
}

func (r *reader) steps() int     { return r.n }
func (r *reader) period() string { return "in this range" }

// evaluate gives the result of one unit.
func (r *reader) evaluate(u *unit) Result {
	out := Result{Start: r.start, Step: r.step, Tier: r.tier}
	if r.n <= 0 {
		out.Why = "there is no history in this range"
		return out
	}
	b, missing := u.bind(r)
	if missing != nil {
		out.Why, out.Absent = missing.why, missing.absent
		return out
	}
	why, any := "", false
	for _, instance := range b.instances {
		slots := b.of(instance)
		line := Line{Instance: instance}
		var reason string
		if line.V, reason = b.numbers(slots); reason == "" {
			any = true
			line.Min, line.Max = b.band(slots, line.V)
		} else if why == "" {
			why = reason
		}
		out.Lines = append(out.Lines, line)
	}
	if !any {
		out.Lines, out.Why = nil, why
	}
	return out
}

// band evaluates the unit with the least and the greatest readings of its only input.
func (b *bound) band(slots []*column, v []float64) (low, high monolith.Floats) {
	if len(slots) != 1 || !b.unit.columns || b.unit.root.kind == kindBool {
		return nil, nil
	}
	c := slots[0]
	if c == nil || c.lo == nil || c.hi == nil || c.text != nil {
		return nil, nil
	}
	low, _ = b.vector([]*column{{num: c.lo}})
	high, _ = b.vector([]*column{{num: c.hi}})
	wide := false
	for i, x := range v {
		// A formula may turn the readings round (100 - x), or have its extreme in between.
		a, z := min(low[i], high[i], x), max(low[i], high[i], x) // NaN if one is
		low[i], high[i] = a, z
		wide = wide || a < z
	}
	if !wide {
		return nil, nil
	}
	return low, high
}

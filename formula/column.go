package formula

import (
	"math"
	"time"

	"monolith"
)

// column is one input of one instance at every step of the result.
type column struct {
	num    []float64 // NaN: no number there
	text   []string  // nil when the input is nowhere a text
	isText []bool
	lo, hi []float64 // least and greatest of the readings in the step; nil where that is not known
	why    string    // why there can't be a value, when that is certain for every step
}

func newColumn(n int) *column {
	c := &column{num: make([]float64, n)}
	for i := range c.num {
		c.num[i] = math.NaN()
	}
	return c
}

// any gives the value of step i: a float64, a string, or nil for none.
func (c *column) any(i int) any {
	if c.isText != nil && c.isText[i] {
		return c.text[i]
	}
	if v := c.num[i]; v == v {
		return v
	}
	return nil
}

func (c *column) empty() bool {
	for i, v := range c.num {
		if v == v || c.isText != nil && c.isText[i] {
			return false
		}
	}
	return true
}

// grid lays the steps of a result over the steps of one answer of history.
type grid struct {
	rng   *monolith.Range
	start time.Time     // of result step 0, moved back by the slot's ago; the moment itself
	step  time.Duration // of the result; 0 for a moment
	n     int           // steps of the result
	first int           // the source step in which result step 0 ends
	// moment is set when the result is one moment, not a series: plain names then have their last
	// value of at most stale before it, functions without a window use window.
	moment bool
	stale  time.Duration
	window time.Duration
	strict bool // somebody named that window: it must be covered
}

// newGrid lays n steps over rng. A step of 0 makes a moment of it, with n = 1.
func newGrid(rng *monolith.Range, start time.Time, step time.Duration, n int) *grid {
	g := &grid{rng: rng, start: start, step: step, n: n, moment: step == 0}
	g.first = g.find(0)
	return g
}

// at gives the source step in which the result's step i ends; it may lie outside the source.
func (g *grid) at(i int) int {
	if g.step == g.rng.Step {
		return g.first + i
	}
	return g.find(i)
}

func (g *grid) find(i int) int {
	d := g.start.Add(time.Duration(i+1)*g.step - 1).Sub(g.rng.Start)
	k := d / g.rng.Step
	if d < 0 && d%g.rng.Step != 0 {
		k--
	}
	return int(k)
}

// column works the slot out for one series at every step of the result.
func (g *grid) column(s *slot, series *monolith.Series) *column {
	switch s.fn {
	case "rate", "delta":
		return g.increase(s, series)
	case "avg_over", "min_over", "max_over":
		return g.over(s, series)
	case "changed":
		return g.changed(s, series)
	case "forecast", "slope":
		return g.trend(s, series)
	}
	return g.plain(s, series)
}

// plain gives the value itself: the mean of a step's readings, or at a moment the last one.
func (g *grid) plain(s *slot, series *monolith.Series) *column {
	c := newColumn(g.n)
	values, ok := series.Avg, true
	if g.moment || values == nil {
		values = series.Last
	}
	if values == nil {
		values = series.Avg
	}
	if ok = values != nil; ok {
		for i := range c.num {
			k := g.at(i)
			if g.moment {
				k = lastValue(values, k, int(g.stale/g.rng.Step))
			}
			if k >= 0 && k < len(values) {
				c.num[i] = finite(values[k])
			}
		}
		if !g.moment && series.Min != nil && series.Max != nil {
			c.lo, c.hi = g.pick(series.Min), g.pick(series.Max)
		}
	}
	g.texts(c, series, ok)
	if !ok && c.text == nil {
		c.why = "history keeps only the increase of " + s.name + ": write rate(" + s.name + ") or delta(" + s.name + ")"
	}
	return c
}

// lastValue goes back from k by at most back steps to the last one that has a value.
func lastValue(values []float64, k, back int) int {
	for i := min(k, len(values)-1); i >= 0 && i >= k-back; i-- {
		if values[i] == values[i] {
			return i
		}
	}
	return -1
}

// pick copies a source row to the result's steps.
func (g *grid) pick(values []float64) []float64 {
	out := make([]float64, g.n)
	for i := range out {
		out[i] = math.NaN()
		if k := g.at(i); k >= 0 && k < len(values) {
			out[i] = finite(values[k])
		}
	}
	return out
}

// texts puts in the text in force at the end of each step that has no number. Where the text is a number the
// gauge says when it was read; hasGauge tells that there is one.
func (g *grid) texts(c *column, series *monolith.Series, hasGauge bool) {
	if len(series.Steps) == 0 {
		return
	}
	next := 0
	for i := range c.num {
		end := g.end(i)
		for next < len(series.Steps) && !series.Steps[next].At.After(end) {
			next++
		}
		if next == 0 || c.num[i] == c.num[i] {
			continue
		}
		text := series.Steps[next-1].Text
		if n, ok := monolith.ParseNum([]byte(text)); ok {
			if !hasGauge {
				c.num[i] = finite(n.Gauge())
			}
			continue
		}
		if c.text == nil {
			c.text, c.isText = make([]string, g.n), make([]bool, g.n)
		}
		c.text[i], c.isText[i] = text, true
	}
}

// end gives the last moment that belongs to the result's step i.
func (g *grid) end(i int) time.Time {
	if g.moment {
		return g.start
	}
	return g.start.Add(time.Duration(i+1)*g.step - 1)
}

// span tells how a window that ends with source step k lies on the source: steps first … k whole, and the
// part of the step before first that frac gives. Of a window shorter than a step first is k+1, and frac
// its part of step k.
func (g *grid) span(window time.Duration, k int) (first int, frac float64) {
	whole, rest := window/g.rng.Step, window%g.rng.Step
	return k + 1 - int(whole), float64(rest) / float64(g.rng.Step)
}

// windowOf gives the window that counts for a slot, and whether it must be covered: one that somebody
// named must, the step must not.
func (g *grid) windowOf(s *slot) (w time.Duration, strict bool) {
	if s.window > 0 {
		return s.window, true
	}
	return g.window, g.strict
}

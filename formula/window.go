package formula

import (
	"math"
	"time"

	"monolith"
)

// coverage is the part of a named window that readings must cover for there to be a value.
const coverage = 0.8

// increase works out delta and rate. Windows add up what they cover and divide afterwards; the step at a
// window's beginning counts by the part that lies inside.
func (g *grid) increase(s *slot, series *monolith.Series) *column {
	c := newColumn(g.n)
	inc, sec := series.Increase, series.Seconds
	if inc == nil || sec == nil {
		c.why = s.name + " does not accumulate: " + s.fn + " works on counters"
		if series.Avg == nil && series.Last == nil && len(series.Steps) > 0 {
			c.why = s.name + " is a text"
		}
		return c
	}
	window, strict := g.windowOf(s)
	strict = strict || s.fn == "delta" // half of an increase is no increase
	if window == 0 {                   // the step itself
		for i := range c.num {
			if k := g.at(i); k >= 0 && k < len(inc) && k < len(sec) && sec[k] > 0 {
				c.num[i] = inc[k]
				if s.fn == "rate" {
					c.num[i] /= sec[k]
				}
				c.num[i] = finite(c.num[i])
			}
		}
		if s.fn == "rate" && series.RateMin != nil && series.RateMax != nil {
			c.lo, c.hi = g.pick(series.RateMin), g.pick(series.RateMax)
		}
		return c
	}
	increases, seconds := newSums(inc), newSums(sec)
	for i := range c.num {
		k := g.at(i)
		if g.moment && k > 0 && k < len(inc) && inc[k] != inc[k] && inc[k-1] == inc[k-1] {
			k-- // this step's poll is still to come: the window ends with the last one
		}
		if k < 0 || k >= len(inc) {
			continue
		}
		first, frac := g.span(window, k)
		if step := g.rng.Step.Seconds(); g.moment && sec[k] < step {
			// The last reading lies inside this step: the window ends there, and so begins earlier.
			if frac += 1 - sec[k]/step; frac >= 1 {
				first, frac = first-1, frac-1
			}
		}
		d, covered := increases.part(first, k, frac), seconds.part(first, k, frac)
		if covered <= 0 || strict && covered < coverage*window.Seconds() {
			continue
		}
		if s.fn == "rate" {
			d /= covered
		}
		c.num[i] = finite(d)
	}
	return c
}

// over works out avg_over, min_over and max_over of a gauge. A step that lies partly in the window counts whole.
func (g *grid) over(s *slot, series *monolith.Series) *column {
	c := newColumn(g.n)
	values := map[string][]float64{"avg_over": series.Avg, "min_over": series.Min, "max_over": series.Max}[s.fn]
	if values == nil {
		if values = series.Avg; values == nil {
			values = series.Last
		}
	}
	if values == nil {
		c.why = s.name + " is a text"
		if series.Increase != nil {
			c.why = s.name + " is a counter: " + s.fn + " works on gauges, write rate(" + s.name + ")"
		}
		return c
	}
	window, _ := g.windowOf(s)
	for i := range c.num {
		k := g.at(i)
		if k < 0 || k >= len(values) {
			continue
		}
		first := k
		if window > 0 {
			var frac float64
			if first, frac = g.span(window, k); frac > 0 {
				first--
			}
		}
		c.num[i] = fold(s.fn, values[max(first, 0):k+1])
	}
	return c
}

// fold gives mean, least or greatest of the values that are there; NaN when none is.
func fold(fn string, values []float64) float64 {
	out, n := math.NaN(), 0
	for _, v := range values {
		switch {
		case v != v:
			continue
		case n == 0:
			out = v
		case fn == "min_over":
			out = min(out, v)
		case fn == "max_over":
			out = max(out, v)
		default:
			out += v
		}
		n++
	}
	if fn == "avg_over" && n > 0 {
		out /= float64(n)
	}
	return finite(out)
}

// changed gives 1 where the value became another one inside the window, 0 where it did not, and no
// value where nothing is known about the window.
func (g *grid) changed(s *slot, series *monolith.Series) *column {
	c := newColumn(g.n)
	window, _ := g.windowOf(s)
	if window == 0 {
		window = g.step
	}
	gauge := series.Last
	if gauge == nil {
		gauge = series.Avg
	}
	for i := range c.num {
		k := g.at(i)
		if k < 0 || k >= g.rng.N {
			continue
		}
		first, frac := g.span(window, k)
		if frac > 0 {
			first--
		}
		first = max(first, 0)
		switch {
		case len(series.Steps) > 0:
			c.num[i] = changedText(series.Steps, g.end(i).Add(-window), g.end(i))
		case gauge != nil:
			c.num[i] = changedNumber(series, gauge, first, k)
		case series.Increase != nil:
			if d := fold("max_over", series.Increase[first:k+1]); d == d {
				c.num[i] = compare(">", d, 0)
			}
		}
	}
	return c
}

func changedText(steps []monolith.TextStep, from, to time.Time) float64 {
	known := math.NaN()
	for j, step := range steps {
		if step.At.After(to) {
			break
		}
		known = 0
		// The first text is where knowledge begins, not a change.
		if j > 0 && step.At.After(from) && step.Text != steps[j-1].Text {
			return 1
		}
	}
	return known
}

// changedNumber compares the readings of the steps from first to last, and the one before them.
func changedNumber(series *monolith.Series, gauge []float64, first, last int) float64 {
	before, known := math.NaN(), math.NaN()
	if first > 0 {
		before = gauge[first-1]
	}
	for j := first; j <= last && j < len(gauge); j++ {
		v := gauge[j]
		if v != v {
			continue
		}
		known = 0
		inside := series.Min != nil && series.Max != nil && series.Min[j] != series.Max[j]
		if inside || before == before && v != before {
			return 1
		}
		before = v
	}
	return known
}

// trend lays the line of [Trend] through the window's readings and gives its slope per second, or its value ahead of the
// moment. Three readings, spread over half the window, are the least.
func (g *grid) trend(s *slot, series *monolith.Series) *column {
	c := newColumn(g.n)
	values := series.Avg
	if values == nil {
		values = series.Last
	}
	if values == nil {
		c.why = s.name + " is not a gauge: " + s.fn + " works on gauges"
		return c
	}
	step := g.rng.Step.Seconds()
	ahead := s.ahead.Seconds() / step
	var x, y []float64
	for i := range c.num {
		k := g.at(i)
		if k < 0 || k >= len(values) {
			continue
		}
		first, _ := g.span(s.window, k)
		x, y = x[:0], y[:0]
		for j := max(first, 0); j <= k; j++ {
			if v := values[j]; v == v {
				x, y = append(x, float64(j-k)), append(y, v)
			}
		}
		if len(x) < 3 || -x[0]*step < s.window.Seconds()/2 {
			continue
		}
		switch slope, level, ok := Trend(x, y); {
		case !ok:
		case s.fn == "slope":
			c.num[i] = finite(slope / step)
		default:
			c.num[i] = finite(level + slope*ahead)
		}
	}
	return c
}

// sums adds up parts of a row in which NaN counts for nothing. Sums of blocks make long windows
// cheap without the loss of digits that running totals have.
type sums struct {
	values []float64
	blocks []float64
}

const block = 32

func newSums(values []float64) *sums {
	s := &sums{values: values, blocks: make([]float64, (len(values)+block-1)/block)}
	for i, v := range values {
		if v == v {
			s.blocks[i/block] += v
		}
	}
	return s
}

// part adds up steps first … last and frac of the step before first.
func (s *sums) part(first, last int, frac float64) float64 {
	total := 0.0
	if before := first - 1; frac > 0 && before >= 0 && before < len(s.values) {
		if v := s.values[before]; v == v {
			total = frac * v
		}
	}
	for i := max(first, 0); i <= last && i < len(s.values); {
		if i%block == 0 && i+block-1 <= last {
			total += s.blocks[i/block]
			i += block
			continue
		}
		if v := s.values[i]; v == v {
			total += v
		}
		i++
	}
	return total
}

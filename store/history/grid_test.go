package history

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

var (
	aCounter = monolith.Metric{Name: "status.Com_select"}
	aGauge   = monolith.Metric{Name: "status.Threads_running"}
	untyped  = monolith.Metric{Name: "status.Nobody_knows"}
)

// on lays columns of blocks out on a grid.
func on(from, to int64, step time.Duration, m monolith.Metric, o LineOptions, parts ...*memory) monolith.Series {
	g := NewGrid(time.UnixMilli(from), time.UnixMilli(to), step)
	l := g.Line(m, o)
	for _, p := range parts {
		g.Rows(p.rows)
		l.Column(p.columns[0])
	}
	s, _ := l.Series()
	return s
}

// single makes polls of one metric with id 0.
func single(rows []Row, value func(i int) monolith.Num) *memory {
	m := &memory{rows: rows, ids: []MetricID{0}, columns: map[MetricID][]monolith.Num{}}
	for i := range rows {
		m.columns[0] = append(m.columns[0], value(i))
	}
	return m
}

func rates(s monolith.Series) []float64 {
	var out []float64
	for i := range s.Increase {
		out = append(out, s.Increase[i]/s.Seconds[i])
	}
	return out
}

var nan = math.NaN()

// exactly compares numbers, NaN being like NaN.
func exactly(t *testing.T, what string, got, want []float64) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b float64) bool {
		return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) < 1e-9*math.Abs(a)+1e-9
	})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestConstantCounterHasAConstantRate(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{time.Second, 7 * time.Second, 10 * time.Second, 15 * time.Second, time.Minute} {
		for skip := range 3 { // polls skipped in the middle
			var rows []Row
			for i, r := range beat(60, nil) {
				if i >= 30 && i < 30+skip {
					continue
				}
				if i == 30+skip {
					r.Elapsed = int64(skip+1) * 10_000
				}
				r.At += 3700 // the server's offset
				rows = append(rows, r)
			}
			p := single(rows, func(i int) monolith.Num { return monolith.Uint(uint64(rows[i].Seq) * 50) })
			s := on(rows[0].At, rows[len(rows)-1].At, step, aCounter, LineOptions{}, p)
			for i, r := range rates(s) {
				if math.Abs(r-5) > 1e-9 {
					t.Errorf("step %v, %d polls skipped: rate %v in step %d of %d", step, skip, r, i, len(s.Increase))
					break
				}
			}
			sum := 0.0
			for _, x := range s.Increase {
				sum += x
			}
			if math.Abs(sum-59*50) > 1e-6 {
				t.Errorf("step %v: the steps' increases add up to %v, want %v", step, sum, 59*50)
			}
			if s.Avg != nil || s.Last != nil {
				t.Error("a counter has the figures of a gauge")
			}
		}
	}
}

func TestGapRestartAndResetAreNoValue(t *testing.T) {
	t.Parallel()
	const s10 = 10 * time.Second
	end := traceStart + 80_000
	for name, c := range map[string]struct {
		rows  []Row
		value func(i int) uint64
		want  []float64
	}{
		"restart of the server": {beat(8, func(i int, r *Row) {
			if i >= 4 {
				r.Run = 2
			}
		}), func(i int) uint64 { return uint64(i * 20) }, []float64{nan, 2, 2, 2, nan, 2, 2, 2}},
		"FLUSH STATUS": {beat(8, nil), func(i int) uint64 {
			if i >= 4 {
				return uint64(i - 4)
			}
			return uint64(i * 20)
		}, []float64{nan, 2, 2, 2, nan, .1, .1, .1}},
		"restart of Monolith": {beat(8, func(i int, r *Row) {
			if i == 4 {
				r.Elapsed = 0
			}
		}), func(i int) uint64 { return uint64(i * 20) }, []float64{nan, 2, 2, 2, nan, 2, 2, 2}},
		"gap of more than three intervals": {slices.Delete(beat(8, func(i int, r *Row) {
			if i == 6 {
				r.Elapsed = 50_000
			}
		}), 2, 6), func(i int) uint64 {
			return []uint64{0, 20, 120, 140}[i]
		}, []float64{nan, 2, nan, nan, nan, nan, nan, 2}},
	} {
		p := single(c.rows, func(i int) monolith.Num { return monolith.Uint(c.value(i)) })
		exactly(t, name, rates(on(traceStart, end, s10, aCounter, LineOptions{}, p)), c.want)
	}
}

func TestGaugeSpeaksForTheIntervalBefore(t *testing.T) {
	t.Parallel()
	rows := beat(6, nil)
	p := single(slices.Delete(rows, 2, 3), func(i int) monolith.Num { return monolith.Uint(uint64(i)) })
	s := on(traceStart, traceStart+60_000, 5*time.Second, aGauge, LineOptions{}, p)
	exactly(t, "values", s.Avg, []float64{0, 0, 1, 1, nan, nan, 2, 2, 3, 3, 4, 4})
	if s.Increase != nil {
		t.Error("a gauge has an increase")
	}
	s = on(traceStart, traceStart+60_000, 20*time.Second, aGauge, LineOptions{}, p)
	exactly(t, "averages", s.Avg, []float64{.5, 2, 3.5})
	exactly(t, "minima", s.Min, []float64{0, 2, 3})
	exactly(t, "maxima", s.Max, []float64{1, 2, 4})
	exactly(t, "last ones", s.Last, []float64{1, 2, 4})
}

func TestSlowGaugeIsHeld(t *testing.T) {
	t.Parallel()
	p := single(beat(18, nil), func(i int) monolith.Num {
		if i == 2 || i == 8 {
			return monolith.Uint(uint64(i))
		}
		return monolith.Num{}
	})
	s := on(traceStart, traceStart+180_000, 10*time.Second, aGauge, LineOptions{Hold: 70 * time.Second}, p)
	exactly(t, "held", s.Avg, []float64{nan, nan, 2, 2, 2, 2, 2, 2, 8, 8, 8, 8, 8, 8, 8, 8, nan, nan})
	// A reading from before the grid is held into it.
	s = on(traceStart+50_000, traceStart+80_000, 10*time.Second, aGauge, LineOptions{Hold: 70 * time.Second}, p)
	exactly(t, "from before", s.Avg, []float64{2, 2, 2})
	s = on(traceStart+100_000, traceStart+180_000, 10*time.Second, aGauge, LineOptions{Hold: 70 * time.Second}, p)
	exactly(t, "none within", s.Avg, []float64{8, 8, 8, 8, 8, 8, nan, nan})
}

func TestSlowCounterWithItsScheduleKnown(t *testing.T) {
	t.Parallel()
	p := single(beat(18, nil), func(i int) monolith.Num {
		if i%6 == 0 {
			return monolith.Uint(uint64(i))
		}
		return monolith.Num{}
	})
	s := on(traceStart, traceStart+180_000, 30*time.Second, aCounter, LineOptions{Every: time.Minute}, p)
	exactly(t, "rates", rates(s), []float64{.1, .1, .1, .1, .1, nan})
	s = on(traceStart, traceStart+180_000, 30*time.Second, aCounter, LineOptions{}, p)
	if s.Increase != nil {
		t.Errorf("of three readings of an unknown schedule: %v", rates(s))
	}
}

func TestSmallNegativesInUnsignedClothing(t *testing.T) {
	t.Parallel()
	p := single(beat(2, nil), func(i int) monolith.Num { return monolith.Uint(math.MaxUint64 - uint64(i)) })
	exactly(t, "values", on(traceStart, traceStart+20_000, 10*time.Second, aGauge, LineOptions{}, p).Last, []float64{-1, -2})
}

func TestClockSetBackLosesNoIncrease(t *testing.T) {
	t.Parallel()
	rows := beat(100, func(i int, r *Row) {
		if i >= 50 {
			r.At -= 300_000
		}
	})
	p := single(rows, func(i int) monolith.Num { return monolith.Uint(uint64(i)) })
	s := on(traceStart, traceStart+1000_000, 10*time.Second, untyped, LineOptions{}, p)
	sum, seconds := 0.0, 0.0
	for i := range s.Increase {
		if s.Seconds[i] > 0 {
			sum, seconds = sum+s.Increase[i], seconds+s.Seconds[i]
		}
	}
	if sum != 99 || seconds != 990 {
		t.Errorf("the increase is %v in %v s, want 99 in 990 s", sum, seconds)
	}
}

func TestVariableFillsTheTimeItWasInForce(t *testing.T) {
	t.Parallel()
	g := NewGrid(time.UnixMilli(traceStart), time.UnixMilli(traceStart+60_000), 10*time.Second)
	l := g.Line(monolith.Metric{Name: "variable.max_connections"}, LineOptions{})
	at := func(s int64) time.Time { return time.UnixMilli(traceStart + s*1000) }
	l.Steps([]monolith.TextStep{{At: at(-3600), Text: "100"}, {At: at(15), Text: "300"}, {At: at(30), Text: "many"}, {At: at(40), Text: "7"}}, at(50))
	s, ok := l.Series()
	if !ok || len(s.Steps) != 4 {
		t.Fatalf("%v, %d steps", ok, len(s.Steps))
	}
	exactly(t, "averages", s.Avg, []float64{100, 200, 300, nan, 7, nan})
	exactly(t, "minima", s.Min, []float64{100, 100, 300, nan, 7, nan})
	exactly(t, "last ones", s.Last, []float64{100, 300, 300, nan, 7, nan})

	l = g.Line(monolith.Metric{Name: "variable.version_comment"}, LineOptions{})
	l.Steps([]monolith.TextStep{{At: at(0), Text: "none"}}, at(50))
	if s, ok := l.Series(); !ok || s.Avg != nil || len(s.Steps) != 1 {
		t.Errorf("a text: %+v, %v", s, ok)
	}
	if _, ok := g.Line(aGauge, LineOptions{}).Series(); ok {
		t.Error("a line with nothing on it is a series")
	}
}

func TestGridCoversTheRange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, start, n int64 }{
		{0, 60, 0, 6}, {1, 60, 0, 6}, {9, 61, 0, 7}, {10, 10, 10, 0}, {-5, 5, -10, 2}, {60, 0, 60, 0},
	} {
		r := NewGrid(time.Unix(c.from, 0), time.Unix(c.to, 0), 10*time.Second).Range()
		if r.Start.Unix() != c.start || int64(r.N) != c.n || r.Step != 10*time.Second {
			t.Errorf("%d to %d: %+v", c.from, c.to, r)
		}
	}
}

// plainGrid is the grid in its plainest form: of every step, every reading and pair is looked at.
func plainGrid(g *Grid, rows []Row, nums []monolith.Num, m monolith.Metric) (avg, most, increase, rateMax []float64) {
	var c clock
	positions := c.all(rows)
	for k := range g.n {
		begin, end := g.start+int64(k)*g.step, g.start+int64(k+1)*g.step
		var sum, count, grown, top = 0.0, 0.0, nan, nan
		fill, highest := nan, nan
		p := newPairs(m, 0)
		last := -1
		for i, n := range nums {
			if n.IsNone() {
				continue
			}
			at, v := rows[i].At, n.Gauge()
			if at > begin && at <= end {
				sum, count = sum+v, count+1
				highest = max(v, highest)
				if math.IsNaN(highest) {
					highest = v
				}
			} else if at > end && at-rows[i].Interval < end && math.IsNaN(fill) {
				fill = v
			}
			x, elapsed, verdict := p.next(n, &positions[i])
			if verdict == pairValid {
				from := rows[last].At
				if d := at - from; d <= 0 || max(d-elapsed, elapsed-d)*2 > elapsed {
					from = at - elapsed
				}
				if overlap := min(at, end) - max(from, begin); overlap > 0 {
					if math.IsNaN(grown) {
						grown, top = 0, 0
					}
					grown += x * float64(overlap) / float64(at-from)
					top = max(top, finite(x/(float64(elapsed)/1000)))
				}
			}
			last = i
		}
		if count == 0 {
			sum, count, highest = fill, 1, fill
		}
		avg, most = append(avg, sum/count), append(most, highest)
		increase, rateMax = append(increase, grown), append(rateMax, top)
	}
	return avg, most, increase, rateMax
}

// complete fills the gaps of most columns, and turns some into columns of other forms.
func complete(rng *rand.Rand, column []monolith.Num) {
	form := rng.IntN(5)
	if form == 0 {
		return
	}
	level := rng.Int64N(1000)
	for i, n := range column {
		switch {
		case form == 1: // all the same
			column[i] = monolith.Int(level)
		case form == 2: // of both signs
			column[i] = monolith.Int(rng.Int64N(1000) - 500)
		case form == 3: // decimals
			column[i] = monolith.Float(float64(rng.IntN(1000)-500) / 100)
		case n.IsNone() && i == 0:
			column[i] = monolith.Uint(1000)
		case n.IsNone():
			column[i] = column[i-1]
		}
	}
}

func TestGridIsThePlainOne(t *testing.T) {
	t.Parallel()
	each(t, 1000, func(t *testing.T, rng *rand.Rand) {
		polls := wholePolls(rng, 2+rng.IntN(150))
		complete(rng, polls.columns[0])
		forward := !slices.ContainsFunc(polls.rows[1:], func(r Row) bool { return r.Seq == 0 }) && slices.IsSortedFunc(polls.rows, func(a, b Row) int {
			return int(min(max(a.At-b.At, -1), 1))
		})
		first := polls.rows[0].At
		from := first + rng.Int64N(600_000) - 100_000
		step := time.Duration(1+rng.IntN(40_000)) * time.Millisecond
		to := from + 1 + rng.Int64N(1_500_000)
		cut := 1 + rng.IntN(len(polls.rows)-1)
		g := NewGrid(time.UnixMilli(from), time.UnixMilli(to), step)
		m := []monolith.Metric{untyped, aGauge, aCounter}[rng.IntN(3)]
		l := g.Line(m, LineOptions{})
		for _, part := range []*memory{polls.part(0, cut), polls.part(cut, len(polls.rows))} {
			if rng.IntN(2) == 0 {
				g.Rows(part.rows)
				l.Column(part.columns[0])
				continue
			}
			skip := 0 // rows that an opened block has and the grid is not told of
			block := part
			if part.rows[0] != polls.rows[0] {
				if skip = rng.IntN(cut); skip > 0 {
					block = polls.part(cut-skip, len(polls.rows))
				}
			}
			g.Rows(part.rows)
			if err := l.Feed(mustOpen(t, mustMarshal(t, block)), 0, skip); err != nil {
				t.Fatal(err)
			}
		}
		s, ok := l.Series()
		avg, most, increase, rateMax := plainGrid(g, polls.rows, polls.columns[0], m)
		if s.Increase != nil {
			exactly(t, "increases", s.Increase, increase)
			exactly(t, "greatest rates", s.RateMax, rateMax)
		}
		if s.Avg != nil && forward { // fillings depend on the order when the clock went back
			exactly(t, "averages", s.Avg, avg)
			exactly(t, "maxima", s.Max, most)
		}
		if m == aGauge {
			increase = nil
		} else if m == aCounter {
			avg = nil
		}
		if !ok && slices.ContainsFunc(append(avg, increase...), func(v float64) bool { return !math.IsNaN(v) }) {
			t.Error("there is no series")
		}
	})
}

// TestTiersAgreeWithRaw draws a day from readings, 10 minutes and hours.
func TestTiersAgreeWithRaw(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 5))
	rows := beat(8640, func(i int, r *Row) {
		if i >= 5000 {
			r.Run = 2
		}
	})
	for id := range MetricID(3) {
		m, _ := nameByID(id)
		sum := uint64(0)
		p := single(rows, func(i int) monolith.Num {
			if i%1000 == 700 {
				sum = 0
			}
			sum += rng.Uint64N(100)
			return monolith.Uint(sum)
		})
		ten := mustRollup(t, nil, &memory{rows: rows, ids: []MetricID{id}, columns: map[MetricID][]monolith.Num{id: p.columns[0]}}, 10*time.Minute)
		hour, err := ten.Coarsen(time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		end := rows[len(rows)-1].At
		raw := on(traceStart, end, 2*time.Hour, m, LineOptions{}, p)
		for _, tier := range []*Tier{ten, hour} {
			l := NewGrid(time.UnixMilli(traceStart), time.UnixMilli(end), 2*time.Hour).Line(m, LineOptions{})
			l.Cells(tier.Step(), tier.Cells(id))
			s, _ := l.Series()
			exactly(t, "averages", s.Avg, raw.Avg)
			exactly(t, "minima", s.Min, raw.Min)
			exactly(t, "maxima", s.Max, raw.Max)
			exactly(t, "last ones", s.Last, raw.Last)
			exactly(t, "increases", s.Increase, raw.Increase)
			exactly(t, "seconds", s.Seconds, raw.Seconds)
			for i := range s.RateMax {
				if s.RateMax[i] < raw.RateMax[i] || s.RateMax[i] > raw.RateMax[i]*1.001 || s.RateMin[i] > raw.RateMin[i] {
					t.Errorf("rates from %v to %v, want %v to %v", s.RateMin[i], s.RateMax[i], raw.RateMin[i], raw.RateMax[i])
				}
			}
		}
	}
}

func TestCellsOfSlowReadings(t *testing.T) {
	t.Parallel()
	g := NewGrid(time.UnixMilli(traceStart), time.UnixMilli(traceStart+6*3600_000), time.Hour)
	l := g.Line(untyped, LineOptions{Hold: 4 * time.Hour})
	l.Cells(10*time.Minute, []Cell{
		{At: traceStart + 3600_000 - 600_000, N: 1, Sum: 5, Min: 5, Max: 5, Last: 5},
		{At: traceStart + 4*3600_000 - 600_000, N: 1, Sum: 8, Min: 8, Max: 8, Last: 8, Pairs: 1, Increase: 3, Covered: 3 * 3600_000, RateMin: 1, RateMax: 1},
	})
	s, _ := l.Series()
	exactly(t, "held", s.Avg, []float64{5, 5, 5, 8, 8, 8})
	exactly(t, "spread", s.Increase, []float64{nan, 1, 1, 1, nan, nan})
}

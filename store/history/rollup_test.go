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

// nameByID gives ids in turn a counter, a gauge, an untyped number and a counter of the host.
func nameByID(id MetricID) (monolith.Metric, bool) {
	return monolith.Metric{Name: []string{"status.Com_select", "status.Threads_running", "status.Nobody_knows", "host.cpu_total"}[id%4]}, true
}

func mustRollup(tb testing.TB, before, p Polls, step time.Duration) *Tier {
	tb.Helper()
	t, err := Rollup(before, p, nameByID, step)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// plainRollup is Rollup in its plainest form: one metric, every pair looked at anew.
func plainRollup(rows []Row, nums []monolith.Num, m monolith.Metric, step int64) map[int64]Cell {
	var c clock
	positions := c.all(rows)
	p := newPairs(m, 0)
	kind := monolith.KindOf(m.Name)
	cells := map[int64]Cell{}
	rates := map[int64][]float64{}
	for i, n := range nums {
		if n.IsNone() {
			continue
		}
		at := int64(math.Floor(float64(rows[i].At-1)/float64(step))) * step
		cell := cells[at]
		cell.At = at
		if kind != monolith.Counter {
			v := n.Gauge()
			if cell.N == 0 {
				cell.Min, cell.Max = v, v
			}
			cell.N++
			cell.Sum = finite(cell.Sum + v)
			cell.Min, cell.Max, cell.Last = math.Min(cell.Min, v), math.Max(cell.Max, v), v
		}
		if kind == monolith.Counter || kind == monolith.Untyped {
			increase, elapsed, v := p.next(n, &positions[i])
			switch v {
			case pairValid:
				cell.Pairs++
				cell.Increase = finite(cell.Increase + increase)
				cell.Covered += elapsed
				rates[at] = append(rates[at], finite(increase/(float64(elapsed)/1000)))
			case pairBroken:
				cell.Breaks++
			}
		}
		cells[at] = cell
	}
	for at, cell := range cells {
		if r := rates[at]; len(r) > 0 {
			cell.RateMin, cell.RateMax = rounded(slices.Min(r), -1), rounded(slices.Max(r), 1)
		}
		cells[at] = cell
		if cell.N == 0 && cell.Pairs == 0 && cell.Breaks == 0 {
			delete(cells, at)
		}
	}
	return cells
}

func TestRollupIsThePlainOne(t *testing.T) {
	t.Parallel()
	each(t, 100, func(t *testing.T, rng *rand.Rand) {
		polls := randomPolls(rng, 1+rng.IntN(300), 12)
		tier := mustRollup(t, nil, polls, time.Minute)
		for _, id := range polls.ids {
			m, _ := nameByID(id)
			want := plainRollup(polls.rows, polls.columns[id], m, 60_000)
			got := map[int64]Cell{}
			for i, c := range tier.Cells(id) {
				got[c.At] = c
				if i > 0 && tier.Cells(id)[i-1].At >= c.At {
					t.Fatal("cells are not in order of time")
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%v (-want +got):\n%s", m, diff)
			}
		}
	})
}

// nearly lets sums of floats that were added in another order pass.
func nearly(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) || math.Abs(a-b) < 1e-6
}

// alike compares cells, their sums nearly. Last is left out when the clock went back: which reading is the
// last one then depends on where the parts are cut.
func alike(rows []Row) func(a, b Cell) bool {
	backwards := false
	for i := 1; i < len(rows); i++ {
		backwards = backwards || rows[i].At < rows[i-1].At
	}
	return func(a, b Cell) bool {
		for _, f := range [][2]*float64{{&a.Sum, &b.Sum}, {&a.Min, &b.Min}, {&a.Max, &b.Max}, {&a.Last, &b.Last},
			{&a.Increase, &b.Increase}, {&a.RateMin, &b.RateMin}, {&a.RateMax, &b.RateMax}} {
			if nearly(*f[0], *f[1]) || backwards && f[0] == &a.Last {
				*f[1] = *f[0]
			}
		}
		return a == b
	}
}

// wholePolls is like randomPolls, without numbers so large that adding them in another order shows.
func wholePolls(rng *rand.Rand, n int) *memory {
	m := &memory{rows: randomRows(rng, n), columns: map[MetricID][]monolith.Num{}}
	for id := range MetricID(12) {
		c := make([]monolith.Num, n)
		sum := rng.Uint64N(1e6)
		for i := range c {
			switch sum += rng.Uint64N(1000); {
			case rng.IntN(50) == 0:
				sum = rng.Uint64N(1000) // FLUSH STATUS
				c[i] = monolith.Uint(sum)
			case rng.IntN(30) == 0:
			default:
				c[i] = monolith.Uint(sum)
			}
		}
		m.ids, m.columns[id] = append(m.ids, id), c
	}
	return m
}

func TestRollupInPartsIsRollupOfTheWhole(t *testing.T) {
	t.Parallel()
	each(t, 50, func(t *testing.T, rng *rand.Rand) {
		polls := wholePolls(rng, 50+rng.IntN(300))
		// A part before the border must hold a metric's two last distances and its last reading.
		var reader *TierReader
		var before Polls
		for from := 0; from < len(polls.rows); {
			to := min(from+40+rng.IntN(80), len(polls.rows))
			part := polls.part(from, to)
			block, err := MarshalTier(reader, mustRollup(t, before, part, time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			if reader, err = OpenTier(block); err != nil {
				t.Fatal(err)
			}
			before, from = part, to
		}
		whole := mustRollup(t, nil, polls, time.Minute)
		sameCells(t, reader, whole, alike(polls.rows))
	})
}

func sameCells(t *testing.T, got *TierReader, want *Tier, same func(a, b Cell) bool) {
	t.Helper()
	if !slices.Equal(want.IDs(), got.IDs()) {
		t.Fatalf("ids %v, want %v", got.IDs(), want.IDs())
	}
	for _, id := range want.IDs() {
		cells, err := got.Cells(id, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(want.Cells(id), cells, same) {
			t.Fatalf("metric %d (-want +got):\n%s", id, cmp.Diff(want.Cells(id), cells))
		}
	}
}

func TestHourOfTenMinutesIsHourOfReadings(t *testing.T) {
	t.Parallel()
	each(t, 40, func(t *testing.T, rng *rand.Rand) {
		polls := wholePolls(rng, 1000)
		hours, err := mustRollup(t, nil, polls, 10*time.Minute).Coarsen(time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		direct := mustRollup(t, nil, polls, time.Hour)
		for _, id := range polls.ids {
			if !slices.EqualFunc(direct.Cells(id), hours.Cells(id), alike(polls.rows)) {
				t.Fatalf("metric %d (-direct +by ten minutes):\n%s", id, cmp.Diff(direct.Cells(id), hours.Cells(id)))
			}
			// The average of an hour is the average of its readings, its maximum the greatest of them.
			var sum, count, most float64
			for i, n := range polls.columns[id] {
				if !n.IsNone() && len(hours.Cells(id)) > 0 && bucketOf(polls.rows[i].At, 3600_000) == hours.Cells(id)[0].At {
					sum, count, most = sum+n.Gauge(), count+1, max(most, n.Gauge())
				}
			}
			if c := hours.Cells(id); len(c) > 0 && c[0].N > 0 && (math.Abs(c[0].Sum/float64(c[0].N)-sum/count) > 1e-6 || c[0].Max != most) {
				t.Fatalf("metric %d: average %v and maximum %v, want %v and %v", id, c[0].Sum/float64(c[0].N), c[0].Max, sum/count, most)
			}
		}
	})
}

func TestResetIsABreakAndNoIncrease(t *testing.T) {
	t.Parallel()
	rows := beat(60, func(i int, r *Row) {
		if i >= 40 {
			r.Run = 2 // restart
		}
	})
	var flushed, kept []monolith.Num
	for i := range rows {
		v := uint64(1000 + 10*i)
		kept = append(kept, monolith.Uint(v))
		if i >= 20 {
			v -= 1200
		}
		flushed = append(flushed, monolith.Uint(v))
	}
	polls := &memory{rows: rows, ids: []MetricID{0, 3, 4}, columns: map[MetricID][]monolith.Num{0: flushed, 3: kept, 4: kept}}
	tier := mustRollup(t, nil, polls, 10*time.Minute)
	if want := []Cell{{At: traceStart, Pairs: 57, Breaks: 2, Increase: 570, Covered: 570_000, RateMin: 1, RateMax: 1}}; !slices.Equal(tier.Cells(0), want) {
		t.Errorf("flushed and restarted: got %+v", tier.Cells(0))
	}
	if want := []Cell{{At: traceStart, Pairs: 58, Breaks: 1, Increase: 580, Covered: 580_000, RateMin: 1, RateMax: 1}}; !slices.Equal(tier.Cells(4), want) {
		t.Errorf("restarted: got %+v", tier.Cells(4))
	}
	if want := []Cell{{At: traceStart, Pairs: 59, Increase: 590, Covered: 590_000, RateMin: 1, RateMax: 1}}; !slices.Equal(tier.Cells(3), want) {
		t.Errorf("of the host: got %+v", tier.Cells(3))
	}
}

func TestSlowCounterPairsFromItsFourthReading(t *testing.T) {
	t.Parallel()
	rows := beat(60, nil)
	nums := make([]monolith.Num, 60)
	for i := 5; i < 60; i += 6 {
		nums[i] = monolith.Uint(uint64(i))
	}
	polls := &memory{rows: rows, ids: []MetricID{0}, columns: map[MetricID][]monolith.Num{0: nums}}
	got := mustRollup(t, nil, polls, 10*time.Minute).Cells(0)
	if want := []Cell{{At: traceStart, Pairs: 7, Breaks: 2, Increase: 42, Covered: 420_000, RateMin: 0.1, RateMax: 0.1}}; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestStepThatDoesNotDivideADayIsRefused(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{0, -time.Minute, time.Millisecond, 7 * time.Minute, 48 * time.Hour} {
		if _, err := Rollup(nil, &memory{}, nameByID, step); err == nil {
			t.Errorf("a step of %v was taken", step)
		}
	}
	tier := mustRollup(t, nil, &memory{}, 10*time.Minute)
	for _, step := range []time.Duration{time.Minute, 15 * time.Minute, 48 * time.Hour} {
		if _, err := tier.Coarsen(step); err == nil {
			t.Errorf("10 minutes were made %v", step)
		}
	}
}

func TestRatesAreRoundedOutward(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ v, down, up float64 }{
		{0, 0, 0}, {1, 1, 1}, {1234, 1234, 1234}, {12345, 12340, 12350}, {0.1, 0.1, 0.1}, {1.0 / 3, 0.3333, 0.3334},
		{99999, 99990, 100000}, {1e-7 / 3, 3.333e-8, 3.334e-8},
	} {
		if got := rounded(c.v, -1); got != c.down {
			t.Errorf("%v down: %v, want %v", c.v, got, c.down)
		}
		if got := rounded(c.v, 1); got != c.up {
			t.Errorf("%v up: %v, want %v", c.v, got, c.up)
		}
	}
	each(t, 1000, func(t *testing.T, rng *rand.Rand) {
		v := math.Exp(rng.NormFloat64() * 20)
		down, up := rounded(v, -1), rounded(v, 1)
		if down > v || up < v || (up-down)/v > 1.001e-3 {
			t.Errorf("%v lies between %v and %v", v, down, up)
		}
		if rounded(down, -1) != down || rounded(up, 1) != up {
			t.Errorf("%v and %v are not rounded", down, up)
		}
	})
}

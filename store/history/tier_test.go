package history

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// randomTier makes cells without any sense in them.
func randomTier(rng *rand.Rand, buckets int) *Tier {
	t := &Tier{step: 600_000, cells: map[MetricID][]Cell{}}
	figure := func() float64 {
		v := randomNum(rng).Gauge()
		if math.IsNaN(v) {
			return 0
		}
		return v
	}
	for id := range MetricID(20) {
		if id == 7 {
			id = math.MaxUint32
		}
		sort := rng.IntN(4)
		constant := float64(rng.IntN(1000))
		for b := range buckets {
			if sort == 3 && rng.IntN(3) == 0 {
				continue
			}
			c := Cell{At: traceStart + int64(b)*t.step}
			switch {
			case sort == 0: // a gauge that never changes
				c.N, c.Min, c.Max, c.Last, c.Sum = 60, constant, constant, constant, 60*constant
			case rng.IntN(3) > 0:
				c.N, c.Min, c.Max, c.Last, c.Sum = 1+rng.Uint32N(60), figure(), figure(), figure(), figure()
			}
			switch {
			case sort == 0:
				c.Pairs, c.Covered = 60, 600_000
			case rng.IntN(3) > 0 || c.N == 0:
				c.Pairs, c.Covered = 1+rng.Uint32N(60), 1+rng.Int64N(1e6)
				c.Increase, c.RateMin, c.RateMax = math.Abs(figure()), math.Abs(figure()), math.Abs(figure())
			}
			if rng.IntN(20) == 0 {
				c.Breaks = 1 + rng.Uint32N(3)
			}
			t.cells[id] = append(t.cells[id], c)
		}
	}
	for id, cells := range t.cells {
		if len(cells) == 0 {
			delete(t.cells, id)
		}
	}
	return t
}

func mustTier(tb testing.TB, old *TierReader, add *Tier) *TierReader {
	tb.Helper()
	b, err := MarshalTier(old, add)
	if err != nil {
		tb.Fatal(err)
	}
	r, err := OpenTier(b)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestTierGivesBackWhatWasPacked(t *testing.T) {
	t.Parallel()
	each(t, 40, func(t *testing.T, rng *rand.Rand) {
		tier := randomTier(rng, 1+rng.IntN(200))
		r := mustTier(t, nil, tier)
		if r.Step() != 10*time.Minute {
			t.Fatalf("step %v", r.Step())
		}
		from, to, _ := tier.Span()
		if f, e := r.Span(); !f.Equal(from) || !e.Equal(to) {
			t.Fatalf("span %v to %v, want %v to %v", f, e, from, to)
		}
		if !slices.Equal(tier.IDs(), r.IDs()) {
			t.Fatalf("ids %v, want %v", r.IDs(), tier.IDs())
		}
		var got []Cell
		for _, id := range tier.IDs() {
			var err error
			if got, err = r.Cells(id, got); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, tier.Cells(id)) { // exactly
				t.Fatalf("metric %d:\n%s", id, cmp.Diff(tier.Cells(id), got))
			}
		}
		if got, err := r.Cells(1000, got); err != nil || len(got) != 0 {
			t.Fatalf("a metric that is not there: %v, %v", got, err)
		}
	})
}

func TestTierWithinIsItsPart(t *testing.T) {
	t.Parallel()
	each(t, 20, func(t *testing.T, rng *rand.Rand) {
		tier := randomTier(rng, 100)
		border := time.UnixMilli(traceStart + 40*tier.step)
		far := border.AddDate(1, 0, 0)
		early, late := tier.Within(time.UnixMilli(0), border), tier.Within(border, far)
		if _, to, ok := early.Span(); ok && to.After(border) {
			t.Fatalf("the early part ends at %v", to)
		}
		// Both parts, written one after the other, are the whole.
		sameCells(t, mustTier(t, mustTier(t, nil, early), late), tier, alike(nil))
		sameCells(t, mustTier(t, mustTier(t, nil, late), early), tier, alike(nil))
	})
}

func TestCellsOfOneBucketAreMerged(t *testing.T) {
	t.Parallel()
	a := Cell{At: 5, N: 2, Sum: 10, Min: 4, Max: 6, Last: 6, Pairs: 1, Increase: 10, Covered: 10_000, RateMin: 1, RateMax: 1, Breaks: 1}
	b := Cell{At: 5, N: 1, Sum: 3, Min: 3, Max: 3, Last: 3, Pairs: 2, Increase: 60, Covered: 20_000, RateMin: 2, RateMax: 4}
	want := Cell{At: 5, N: 3, Sum: 13, Min: 3, Max: 6, Last: 3, Pairs: 3, Increase: 70, Covered: 30_000, RateMin: 1, RateMax: 4, Breaks: 1}
	c := a
	if c.Merge(b); c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
	c = Cell{At: 5}
	if c.Merge(a); c != a {
		t.Errorf("an empty cell with another is %+v", c)
	}
	if c.Merge(Cell{At: 5}); c != a {
		t.Errorf("a cell with an empty one is %+v", c)
	}
}

func TestTierIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := MarshalTier(nil, &Tier{step: 600_000}); err == nil {
		t.Error("a block without cells was made")
	}
	hour := &Tier{step: 3600_000, cells: map[MetricID][]Cell{1: {{N: 1}}}}
	if _, err := MarshalTier(mustTier(t, nil, hour), &Tier{step: 600_000}); err == nil {
		t.Error("cells of different steps were put together")
	}
	far := &Tier{step: 3600_000, cells: map[MetricID][]Cell{1: {{N: 1}, {At: 3600_000 * maxBuckets, N: 1}}}}
	if _, err := MarshalTier(nil, far); err == nil {
		t.Error("a block was made that nobody can open")
	}
	if _, err := OpenTier(mustMarshal(t, syntheticTrace(10).tail(t, 0, 10))); !errors.Is(err, ErrCorrupt) {
		t.Errorf("a raw block opened as a tier: %v", err)
	}
	again := mustTier(t, mustTier(t, nil, hour), &Tier{step: 3600_000})
	if got, _ := again.Cells(1, nil); !slices.Equal(got, hour.Cells(1)) {
		t.Errorf("after adding nothing: %v", got)
	}
}

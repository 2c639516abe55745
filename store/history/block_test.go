package history

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"monolith"
)

func mustMarshal(tb testing.TB, p Polls) []byte {
	tb.Helper()
	b, err := Marshal(p)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func mustOpen(tb testing.TB, b []byte) *Reader {
	tb.Helper()
	r, err := Open(b)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func TestBlockGivesBackWhatWasPacked(t *testing.T) {
	t.Parallel()
	each(t, 100, func(t *testing.T, rng *rand.Rand) {
		polls := randomPolls(rng, 1+rng.IntN(400), 1+rng.IntN(60))
		samePolls(t, mustOpen(t, mustMarshal(t, polls)), polls)
	})
}

func TestBlockOfOnePollAndOfTheMost(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{1, 2, 3, MaxRows} {
		polls := randomPolls(rng, n, 20)
		samePolls(t, mustOpen(t, mustMarshal(t, polls)), polls)
	}
	for _, n := range []int{0, MaxRows + 1} {
		if _, err := Marshal(&memory{rows: make([]Row, n)}); err == nil {
			t.Errorf("a block of %d rows was made", n)
		}
	}
}

func TestBlockOfRowsWithoutMetrics(t *testing.T) {
	t.Parallel()
	polls := randomPolls(rand.New(rand.NewPCG(1, 1)), 50, 0)
	samePolls(t, mustOpen(t, mustMarshal(t, polls)), polls)
}

func TestColumnThatIsNotThereIsEmpty(t *testing.T) {
	t.Parallel()
	polls := &memory{rows: make([]Row, 2), ids: []MetricID{5}, columns: map[MetricID][]monolith.Num{5: {monolith.Uint(1), monolith.Uint(2)}}}
	r := mustOpen(t, mustMarshal(t, polls))
	if got, err := r.Column(4, make([]monolith.Num, 7)); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestColumnUsesTheMemoryItIsGiven(t *testing.T) {
	t.Parallel()
	polls := syntheticTrace(360).tail(t, 0, 360)
	r := mustOpen(t, mustMarshal(t, polls))
	dst := make([]monolith.Num, 360)
	for _, id := range r.IDs() {
		got, err := r.Column(id, dst)
		if err != nil {
			t.Fatal(err)
		}
		if &got[0] != &dst[0] {
			t.Fatalf("column %d has memory of its own", id)
		}
	}
}

func TestRelatedColumnsCostNextToNothing(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 9))
	one := &memory{rows: randomRows(rng, 360), columns: map[MetricID][]monolith.Num{}}
	many := &memory{rows: one.rows, columns: map[MetricID][]monolith.Num{}}
	sum := uint64(0)
	for range 360 {
		sum += rng.Uint64N(5000)
		one.columns[1] = append(one.columns[1], monolith.Uint(sum))
		for id := range MetricID(20) { // pages, bytes, the same counter under other names
			many.columns[id+1] = append(many.columns[id+1], monolith.Uint(sum<<id+uint64(id)))
		}
	}
	one.ids = []MetricID{1}
	for id := range MetricID(20) {
		many.ids = append(many.ids, id+1)
	}
	a, b := len(mustMarshal(t, one)), len(mustMarshal(t, many))
	if b > a+19*12 {
		t.Errorf("one column takes %d bytes, and twenty multiples of it %d", a, b)
	}
}

func TestDamagedBlockIsNamedSo(t *testing.T) {
	t.Parallel()
	b := mustMarshal(t, syntheticTrace(100).tail(t, 0, 100))
	for name, damage := range map[string]func([]byte) []byte{
		"no block":  func(b []byte) []byte { return b[:5] },
		"is no":     func(b []byte) []byte { b[0] = 'X'; return b },
		"of kind":   func(b []byte) []byte { b[2] = kindTier; return b },
		"checksum ": func(b []byte) []byte { b[len(b)/2] ^= 4; return b },
		"checksum":  func(b []byte) []byte { return b[:len(b)-1] },
	} {
		_, err := Open(damage(slices.Clone(b)))
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%q: got the error %v", name, err)
		}
	}
	b[3]++
	if _, err := Open(b); err == nil || !strings.Contains(err.Error(), "newer") {
		t.Errorf("a newer form: got the error %v", err)
	}
}

func TestReaderServesSeveralAtOnce(t *testing.T) {
	t.Parallel()
	tail := syntheticTrace(360).tail(t, 0, 360)
	r := mustOpen(t, mustMarshal(t, tail))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var nums, want []monolith.Num
			for _, id := range r.IDs() {
				var err error
				if nums, err = r.Column(id, nums); err != nil {
					t.Error(err)
				}
				if want, _ = tail.Column(id, want); !slices.Equal(nums, want) {
					t.Errorf("column %d differs", id)
				}
			}
		})
	}
	wg.Wait()
}

// What readers say of their size is what bounds the memory that a cache of them takes.
func TestSizeIsWhatAReaderTakes(t *testing.T) {
	tr := syntheticTrace(360)
	raw := mustMarshal(t, tr.tail(t, 0, 360))
	rolled := mustRollup(t, nil, tr.tail(t, 0, 360), time.Minute)
	tier, err := MarshalTier(nil, rolled)
	if err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() int{
		"raw": func() int { return mustOpen(t, raw).Size() },
		"tier": func() int {
			r, err := OpenTier(tier)
			if err != nil {
				t.Fatal(err)
			}
			return r.Size()
		},
	} {
		var before, after runtime.MemStats
		const times = 50
		runtime.ReadMemStats(&before)
		for range times {
			open()
		}
		runtime.ReadMemStats(&after)
		// Opening takes some memory that is not kept: the unpacked directory.
		if said, took := open(), int(after.TotalAlloc-before.TotalAlloc)/times; said < took/3 || said > took {
			t.Errorf("%s: it says %d bytes, and opening takes %d", name, said, took)
		}
	}
}

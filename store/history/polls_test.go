package history

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

// memory is the plainest form of [Polls].
type memory struct {
	rows    []Row
	ids     []MetricID
	columns map[MetricID][]monolith.Num
}

func (m *memory) Rows() []Row { return m.rows }

func (m *memory) IDs() []MetricID { return m.ids }

func (m *memory) Column(id MetricID, dst []monolith.Num) ([]monolith.Num, error) {
	return append(dst[:0], m.columns[id]...), nil
}

// part gives the rows [from, to).
func (m *memory) part(from, to int) *memory {
	p := &memory{rows: m.rows[from:to], columns: map[MetricID][]monolith.Num{}}
	for _, id := range m.ids {
		if c := m.columns[id][from:to]; slices.ContainsFunc(c, func(n monolith.Num) bool { return !n.IsNone() }) {
			p.ids, p.columns[id] = append(p.ids, id), c
		}
	}
	return p
}

// each runs a property with many random sources; a failure names the seed.
func each(t *testing.T, times uint64, property func(t *testing.T, rng *rand.Rand)) {
	t.Helper()
	for seed := range times {
		property(t, rand.New(rand.NewPCG(seed, 7)))
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

// randomNum gives numbers of all forms, the extreme ones often.
func randomNum(rng *rand.Rand) monolith.Num {
	switch rng.IntN(14) {
	case 0:
		return monolith.Num{}
	case 1:
		return monolith.Uint(math.MaxUint64 - rng.Uint64N(3))
	case 2:
		return monolith.Uint(1<<63 + rng.Uint64N(3) - 1)
	case 3:
		return monolith.Int(math.MinInt64 + rng.Int64N(3))
	case 4:
		return monolith.Int(-1 - rng.Int64N(300))
	case 5:
		return monolith.Float([]float64{0, math.Copysign(0, -1), math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1, 1e15, 1 << 53}[rng.IntN(8)])
	case 6:
		return monolith.Float(math.Float64frombits(rng.Uint64()))
	case 7:
		return monolith.Float(float64(rng.IntN(100000)) / 100)
	case 8:
		return monolith.Uint(rng.Uint64())
	}
	return monolith.Uint(rng.Uint64N(1000))
}

// randomColumn gives a column of one of the sorts that servers have, or of plain noise.
func randomColumn(rng *rand.Rand, n int, others [][]monolith.Num) []monolith.Num {
	c := make([]monolith.Num, n)
	start := rng.Uint64N(1 << rng.UintN(40))
	if rng.IntN(20) == 0 {
		start = math.MaxUint64 - rng.Uint64N(5000) // wraps
	}
	rate := rng.Uint64N(1 << rng.UintN(20))
	rate++
	unit := uint64(1) << rng.UintN(16)
	decimals := math.Pow10(rng.IntN(7))
	sort := rng.IntN(10)
	var other []monolith.Num
	if len(others) > 0 {
		other = others[rng.IntN(len(others))]
	}
	sum := start
	for i := range c {
		switch sort {
		case 0: // constant
			c[i] = monolith.Uint(start)
		case 1: // steady counter
			sum += rate
			c[i] = monolith.Uint(sum)
		case 2: // noisy counter
			sum += rng.Uint64N(rate) * unit
			c[i] = monolith.Uint(sum)
		case 3: // gauge of both signs
			c[i] = monolith.Int(rng.Int64N(int64(rate)) - int64(rate/2))
		case 4: // decimals
			c[i] = monolith.Float(math.Round(rng.NormFloat64()*1e6) / decimals)
		case 5: // noise
			c[i] = randomNum(rng)
		case 6: // as another one, or in proportion
			if other != nil {
				b, isFloat, _, ok := other[i].Bits()
				if ok && !isFloat {
					c[i] = monolith.Uint(b*unit + start)
					continue
				}
			}
			c[i] = monolith.Uint(start)
		case 7: // read at every sixth poll
			if i%6 == 1 {
				sum += rng.Uint64N(rate)
				c[i] = monolith.Uint(sum)
			}
		case 8: // a rate that drifts
			rate += rng.Uint64N(3)
			sum += rate
			c[i] = monolith.Uint(sum)
		case 9: // floats that no decimals make integers
			c[i] = monolith.Float(rng.NormFloat64())
		}
	}
	if rng.IntN(4) == 0 { // a collector that failed now and then
		for i := range c {
			if rng.IntN(5) == 0 {
				c[i] = monolith.Num{}
			}
		}
	}
	return c
}

func randomRows(rng *rand.Rand, n int) []Row {
	rows := make([]Row, n)
	at, seq, run := int64(1.7e12)+rng.Int64N(1e9), rng.Uint64N(1e6), rng.Uint32N(5)
	interval := int64(10_000)
	for i := range rows {
		elapsed := interval + rng.Int64N(9) - 4
		at += interval
		seq++
		switch rng.IntN(30) {
		case 0:
			at -= rng.Int64N(100_000) // the wall clock was set
		case 1:
			run++
		case 2:
			skipped := rng.Int64N(6)
			at, elapsed, seq = at+skipped*interval, elapsed+skipped*interval, seq+uint64(skipped)
		case 3:
			elapsed = 0
		case 4:
			interval = 1000 * (1 + rng.Int64N(20))
		}
		rows[i] = Row{At: at, Elapsed: elapsed, Interval: interval, Seq: seq, Run: run, Polled: rng.IntN(20) > 0}
	}
	return rows
}

func randomPolls(rng *rand.Rand, n, metrics int) *memory {
	m := &memory{rows: randomRows(rng, n), columns: map[MetricID][]monolith.Num{}}
	var all [][]monolith.Num
	id := MetricID(rng.Uint32N(3))
	for range metrics {
		c := randomColumn(rng, n, all)
		all = append(all, c)
		if slices.ContainsFunc(c, func(n monolith.Num) bool { return !n.IsNone() }) {
			m.ids, m.columns[id] = append(m.ids, id), c
		}
		id += 1 + MetricID(rng.Uint32N(3))
	}
	if rng.IntN(10) == 0 && len(m.ids) > 0 {
		last := m.ids[len(m.ids)-1]
		m.columns[math.MaxUint32] = slices.Clone(m.columns[last])
		m.ids = append(m.ids, math.MaxUint32)
	}
	return m
}

// samePolls compares all that two [Polls] say.
func samePolls(t *testing.T, got, want Polls) {
	t.Helper()
	if diff := cmp.Diff(want.Rows(), got.Rows()); diff != "" {
		t.Fatalf("rows (-want +got):\n%s", diff)
	}
	if !slices.Equal(want.IDs(), got.IDs()) {
		t.Fatalf("ids: want %v, got %v", want.IDs(), got.IDs())
	}
	for _, id := range want.IDs() {
		a, err := want.Column(id, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := got.Column(id, nil)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a, b) {
			t.Fatalf("column %d:\nwant %v\ngot  %v", id, a, b)
		}
	}
}

package monolith

import (
	"math"
	"testing"
	"time"
)

func TestIncrease(t *testing.T) {
	t.Parallel()
	at := func(run uint32, clock time.Duration) Point {
		return Point{Run: run, Clock: clock, Interval: 10 * time.Second}
	}
	for _, c := range []struct {
		name      string
		prev, cur Num
		from, to  Point
		want      float64
		ok        bool
	}{
		{"ordinary", Uint(1000), Uint(1010), at(1, 0), at(1, 10*time.Second), 10, true},
		{"standing still", Uint(7), Uint(7), at(1, 0), at(1, 10*time.Second), 0, true},
		{"exact above 2^53", Uint(1<<63 + 1), Uint(1<<63 + 2), at(1, 0), at(1, 10*time.Second), 1, true},
		{"restart", Uint(71191), Uint(80000), at(1, 0), at(2, 10*time.Second), 0, false},
		{"fell: FLUSH STATUS, never a wrap", Uint(math.MaxUint64), Uint(0), at(1, 0), at(1, 10*time.Second), 0, false},
		{"missing before", Num{}, Uint(5), at(1, 0), at(1, 10*time.Second), 0, false},
		{"missing now", Uint(5), Num{}, at(1, 0), at(1, 10*time.Second), 0, false},
		{"time stood still", Uint(5), Uint(6), at(1, 5), at(1, 5), 0, false},
		{"two polls missed", Uint(5), Uint(6), at(1, 0), at(1, 30*time.Second), 1, true},
		{"a gap", Uint(5), Uint(6), at(1, 0), at(1, 36*time.Second), 0, false},
		{"negatives", Int(-10), Int(-4), at(1, 0), at(1, 10*time.Second), 6, true},
		{"across zero", Int(-10), Uint(4), at(1, 0), at(1, 10*time.Second), 14, true},
		{"decimals", Float(1.5), Float(2), at(1, 0), at(1, 10*time.Second), 0.5, true},
		{"beyond all numbers", Float(-math.MaxFloat64), Float(math.MaxFloat64), at(1, 0), at(1, 10*time.Second), 0, false},
		{"beyond all numbers per second", Uint(0), Float(math.MaxFloat64), at(1, 0), at(1, 100*time.Millisecond), 0, false},
		{"decimal fell", Float(2), Float(1.5), at(1, 0), at(1, 10*time.Second), 0, false},
	} {
		got, _, ok := Increase(c.prev, c.cur, c.from, c.to)
		if got != c.want || ok != c.ok {
			t.Errorf("%s: %v, %v; want %v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestHostCountersLiveOnOverARestart(t *testing.T) {
	t.Parallel()
	if RunOf("host", 3) != RunOf("host", 4) || RunOf("self", 3) != RunOf("self", 4) || RunOf("status", 3) == RunOf("status", 4) {
		t.Error("RunOf mixes up whose run counts")
	}
}

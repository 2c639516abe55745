package history

import (
	"math/rand/v2"
	"testing"
	"time"

	"monolith"
)

// TestPairsAreThoseOfIncrease compares with monolith.Increase, called with points made in the plainest way.
func TestPairsAreThoseOfIncrease(t *testing.T) {
	t.Parallel()
	var valid, broken int
	each(t, 300, func(t *testing.T, rng *rand.Rand) {
		m := monolith.Metric{Name: []string{"status.Questions", "host.cpu_total", "self.polls_total"}[rng.IntN(3)]}
		every := time.Duration(rng.IntN(2)*rng.IntN(100)) * time.Second
		p := newPairs(m, every)
		var last monolith.Num
		var at position
		have := false
		var d1, d2 int64
		for range 100 {
			to := position{clock: at.clock + rng.Int64N(40_000), interval: 1000 * rng.Int64N(12), run: at.run, chain: at.chain}
			switch rng.IntN(20) {
			case 0:
				to.run++
			case 1:
				to.chain++
			case 2: // exactly the longest gap, or just not
				to.clock = at.clock + to.interval*7/2 + rng.Int64N(2)
			case 3:
				to.clock = at.clock - rng.Int64N(2)
			}
			n := randomNum(rng)
			if b, f, neg, ok := last.Bits(); ok && !f && !neg && rng.IntN(4) > 0 {
				n = monolith.Uint(b + rng.Uint64N(1000))
			}
			if n.IsNone() {
				continue
			}
			increase, elapsed, got := p.next(n, &to)
			want, wantIncrease := pairNone, 0.0
			if have {
				want = pairBroken
				if to.chain == at.chain {
					distance := to.clock - at.clock
					usual := min(d1, d2)
					if every > 0 {
						usual = every.Milliseconds()
					}
					from := monolith.Point{Run: monolith.RunOf(m.Namespace(), at.run), Clock: time.Duration(at.clock) * time.Millisecond,
						Interval: time.Duration(max(at.interval, usual)) * time.Millisecond}
					now := monolith.Point{Run: monolith.RunOf(m.Namespace(), to.run), Clock: time.Duration(to.clock) * time.Millisecond,
						Interval: time.Duration(max(to.interval, usual)) * time.Millisecond}
					if x, e, ok := monolith.Increase(last, n, from, now); ok {
						want, wantIncrease = pairValid, x
						if e.Milliseconds() != elapsed {
							t.Errorf("elapsed %d, want %v", elapsed, e)
						}
					}
					d1, d2 = distance, d1
				}
			}
			if got != want || increase != wantIncrease {
				t.Errorf("%v → %v over %d ms: got %d with %v, want %d with %v", last, n, to.clock-at.clock, got, increase, want, wantIncrease)
				return
			}
			switch got {
			case pairValid:
				valid++
			case pairBroken:
				broken++
			}
			last, at, have = n, to, true
		}
	})
	if valid < 1000 || broken < 1000 {
		t.Errorf("only %d valid and %d broken pairs were tried", valid, broken)
	}
}

// beat makes rows 10 s apart, each changed by the function.
func beat(n int, change func(i int, r *Row)) []Row {
	rows := make([]Row, n)
	for i := range rows {
		rows[i] = Row{At: traceStart + int64(i+1)*10_000, Elapsed: 10_000, Interval: 10_000, Seq: uint64(i + 1), Run: 1, Polled: true}
		if change != nil {
			change(i, &rows[i])
		}
	}
	return rows
}

// distances gives the rows' distances on the clock in seconds; −1 where it is unknown.
func distances(rows []Row) []int {
	var c clock
	p := c.all(rows)
	var out []int
	for i := 1; i < len(p); i++ {
		if p[i].chain != p[i-1].chain {
			out = append(out, -1)
		} else {
			out = append(out, int(p[i].clock-p[i-1].clock)/1000)
		}
	}
	return out
}

func TestClock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(i int, r *Row)
		want   []int
	}{
		"steady": {nil, []int{10, 10, 10, 10}},
		"wall clock set back an hour": {func(i int, r *Row) {
			if i >= 2 {
				r.At -= 3600_000
			}
		}, []int{10, 10, 10, 10}},
		"wall clock set forward an hour": {func(i int, r *Row) {
			if i >= 2 {
				r.At += 3600_000
			}
		}, []int{10, 10, 10, 10}},
		"Monolith restarted": {func(i int, r *Row) {
			if i == 2 {
				r.Elapsed = 0
			}
		}, []int{10, -1, 10, 10}},
		"one poll skipped": {func(i int, r *Row) {
			if i >= 2 {
				r.At += 10_000
				r.Seq++
			}
			if i == 2 {
				r.Elapsed = 20_000
			}
		}, []int{10, 20, 10, 10}},
		"a block is missing": {func(i int, r *Row) {
			if i >= 2 {
				r.At += 3600_000
				r.Seq += 360
			}
		}, []int{10, 3610, 10, 10}},
		"the server did not answer twice": {func(i int, r *Row) {
			switch i {
			case 1, 2:
				r.Polled, r.Elapsed = false, 0
			case 3:
				r.Elapsed = 30_000
			}
		}, []int{10, 10, 10, 10}},
		"it never answered": {func(i int, r *Row) { r.Polled, r.Elapsed = false, 0 }, []int{10, 10, 10, 10}},
	} {
		got := distances(beat(5, c.change))
		for i := range c.want {
			if got[i] != c.want[i] {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
				break
			}
		}
	}
}

// TestSkippedPairsAreRemembered compares the state after a column on a grid with that after each reading in turn.
func TestSkippedPairsAreRemembered(t *testing.T) {
	t.Parallel()
	each(t, 200, func(t *testing.T, rng *rand.Rand) {
		polls := wholePolls(rng, 1+rng.IntN(60))
		g := NewGrid(time.UnixMilli(polls.rows[0].At), time.UnixMilli(polls.rows[0].At+600_000), time.Duration(1+rng.IntN(60))*time.Second)
		l := g.Line(aCounter, LineOptions{})
		want := newPairs(aCounter, 0)
		var c clock
		for i, p := range c.all(polls.rows) {
			if n := polls.columns[0][i]; !n.IsNone() {
				want.next(n, &p)
			}
		}
		g.Rows(polls.rows)
		l.Column(polls.columns[0])
		if l.pairs != want {
			t.Errorf("got %+v, want %+v", l.pairs, want)
		}
	})
}

package history

import (
	"time"

	"monolith"
)

// position is where a row lies on the clock of its server, see [Row].
type position struct {
	at       int64 // ms since 1970
	clock    int64 // ms, only differences mean something
	interval int64 // ms
	run      uint32
	chain    uint32 // rows of different chains have no known distance
}

// clock gives rows their positions, one after another.
type clock struct {
	started, polled bool
	last            position // of the last row
	lastPolled      position // of the last polled row
	seq             uint64   // of the last polled row
}

func (c *clock) next(r *Row) position {
	p := position{at: r.At, interval: r.Interval, run: r.Run, chain: c.last.chain}
	if c.started {
		p.clock = c.last.clock + c.advance(r)
		if r.Polled && r.Elapsed == 0 {
			p.chain++
		}
	}
	c.started, c.last = true, p
	if r.Polled {
		c.polled, c.lastPolled, c.seq = true, p, r.Seq
	}
	return p
}

// advance gives how far the row lies after the last one, at least 1 ms.
func (c *clock) advance(r *Row) int64 {
	if !r.Polled || !c.polled || r.Elapsed == 0 {
		if d := r.At - c.last.at; d > 0 {
			return d
		}
		return max(r.Interval, 1) // the wall clock was set back
	}
	d := r.Elapsed
	if r.Seq != c.seq+1 {
		d = max(d, r.At-c.lastPolled.at)
	}
	return max(d-(c.last.clock-c.lastPolled.clock), 1)
}

// verdict is what became of a pair of readings.
type verdict uint8

const (
	pairNone   verdict = iota // there was no reading before this one
	pairValid                 // the increase is a value
	pairBroken                // restart, reset, gap
)

// pairs follows the readings of one counter and subtracts each from the one before.
type pairs struct {
	ownRun bool  // the counter lives on when the database server restarts, see [monolith.RunOf]
	every  int64 // ms between readings by the schedule, 0 not known

	started   bool
	num       monolith.Num
	from      position
	distances [2]int64 // of the last two pairs, 0 not known
}

func newPairs(m monolith.Metric, every time.Duration) pairs {
	return pairs{ownRun: monolith.RunOf(m.Namespace(), 1) == 0, every: every.Milliseconds()}
}

// usual is the distance between readings that is to be expected, 0 when not known. Without a schedule it is the
// lesser of the last two distances, so that one gap does not make the next one look usual.
func (p *pairs) usual() int64 {
	if p.every > 0 {
		return p.every
	}
	return min(p.distances[0], p.distances[1])
}

// next takes the next reading, which must have a value.
func (p *pairs) next(n monolith.Num, to *position) (increase float64, elapsed int64, v verdict) {
	if p.started {
		increase, elapsed, v = p.subtract(n, to)
	}
	p.started, p.num, p.from = true, n, *to
	return increase, elapsed, v
}

func (p *pairs) subtract(n monolith.Num, to *position) (increase float64, elapsed int64, v verdict) {
	if p.from.chain != to.chain {
		return 0, 0, pairBroken
	}
	elapsed = to.clock - p.from.clock
	interval := max(p.from.interval, to.interval, p.usual())
	p.distances[0], p.distances[1] = elapsed, p.distances[0]

	if increase, ok := grown(p.num, n); ok && p.from.run == to.run && near(elapsed, interval) {
		return increase, elapsed, pairValid
	}
	increase, _, ok := monolith.Increase(p.num, n, p.point(&p.from, interval), p.point(to, interval))
	if !ok {
		return 0, elapsed, pairBroken
	}
	return increase, elapsed, pairValid
}

// grown and near are what monolith.Increase says in the common case, unsigned integers that grew: two
// values of the same run are a valid pair when both hold.
func grown(from, to monolith.Num) (increase float64, ok bool) {
	before, wasFloat, wasNegative, was := from.Bits()
	now, isFloat, isNegative, is := to.Bits()
	if !was || !is || wasFloat || isFloat || wasNegative || isNegative || now < before {
		return 0, false
	}
	return float64(now - before), true
}

func near(elapsed, interval int64) bool {
	return elapsed > 0 && 2*elapsed <= (2*monolith.MaxGap+1)*interval
}

// skip does what next does for each of the rows but the first, where the last reading was, when their pairs are known to be
// valid. n is the last row's reading.
func (p *pairs) skip(n monolith.Num, rows []gridRow) {
	last := len(rows) - 1
	p.distances[1] = p.distances[0]
	if last > 1 {
		p.distances[1] = rows[last-1].clock - rows[last-2].clock
	}
	p.distances[0] = rows[last].clock - rows[last-1].clock
	p.num, p.from = n, rows[last].position
}

func (p *pairs) point(at *position, interval int64) monolith.Point {
	pt := monolith.Point{
		Run: at.run, Clock: time.Duration(at.clock) * time.Millisecond,
		Interval: time.Duration(interval) * time.Millisecond,
	}
	if p.ownRun {
		pt.Run = 0
	}
	return pt
}

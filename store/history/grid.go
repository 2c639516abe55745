package history

import (
	"slices"
	"time"

	"monolith"
)

// Grid lays readings out in equal steps. It and its lines are not safe for concurrent use.
type Grid struct {
	start, step int64 // ms
	n           int
	clock       clock
	last        oneBucket // the bucket that was asked for last
	rows        []gridRow // of the block being laid out
	seconds     []float64 // of the pair of each of them with the row before, where it is plain
	pairs       []pairRun
	reads       []readRun
	integers    []uint64 // of a column of these rows
	floats      []float64
}

// oneBucket is a bucket and the milliseconds that belong to it.
type oneBucket struct {
	from, to int64 // (from, to]
	bucket   int
}

// gridRow is a row of the block with what all lines need to know of it.
type gridRow struct {
	position
	bucket int // of the reading; −1 before and n after the grid
	fill   int // the first bucket that the reading speaks for
}

// pairRun is a run of rows whose pairs with the row before are plain and end in the same bucket. A pair is plain when
// integers that did not fall make it valid, by the rows alone, and it lies on the grid, in one bucket and at most the one
// before. Nearly all pairs are.
type pairRun struct {
	from, to int // rows [from, to)
	bucket   int
	lead     float64 // the share of the first pair that lies in the bucket before; the others lie in this one
	seconds  float64 // of all of them, without the lead
}

// readRun is a run of rows in the same bucket of which all but the first speak for no other one.
type readRun struct {
	from, to int // rows [from, to)
	bucket   int
}

// NewGrid makes a grid of steps that are multiples of step since 1970 and cover [from, to). step is at
// least a millisecond. The caller bounds the number of steps, and lets to be no later than now, where
// values are held.
func NewGrid(from, to time.Time, step time.Duration) *Grid {
	g := &Grid{step: max(step.Milliseconds(), 1)}
	g.start = floor(from.UnixMilli(), g.step)
	if length := to.UnixMilli() - g.start; length > 0 {
		g.n = int((length-1)/g.step) + 1
	}
	return g
}

// Range gives the grid's Start, Step and N, with no series yet.
func (g *Grid) Range() monolith.Range {
	return monolith.Range{Start: time.UnixMilli(g.start), Step: time.Duration(g.step) * time.Millisecond, N: g.n}
}

// Rows tells the grid the rows of the next raw block. Blocks come oldest first; the rows before and after the
// grid that make the pairs which cross its ends should be among them. [Line.Column] and [Line.Feed] calls follow.
func (g *Grid) Rows(rows []Row) {
	g.rows = slices.Grow(g.rows[:0], len(rows))[:len(rows)]
	g.seconds = slices.Grow(g.seconds[:0], len(rows))[:len(rows)]
	g.pairs, g.reads = g.pairs[:0], g.reads[:0]
	for i := range rows {
		r := &g.rows[i]
		*r = gridRow{position: g.clock.next(&rows[i])}
		r.bucket, r.fill = g.bucket(r.at), g.bucket(r.at-r.interval+1)
		if r.bucket < 0 || r.bucket >= g.n {
			continue
		}
		if n := len(g.reads); n > 0 && g.reads[n-1].to == i && g.reads[n-1].bucket == r.bucket && r.fill == r.bucket {
			g.reads[n-1].to++
		} else {
			g.reads = append(g.reads, readRun{i, i + 1, r.bucket})
		}
		if i > 0 {
			g.pair(i)
		}
	}
}

// pair adds the pair of row i with the row before to the runs, if it is plain.
func (g *Grid) pair(i int) {
	from, to := &g.rows[i-1], &g.rows[i]
	elapsed := to.clock - from.clock
	if from.chain != to.chain || from.run != to.run || !near(elapsed, max(from.interval, to.interval)) {
		return
	}
	length := span(from.at, to.at, elapsed)
	early := g.start + int64(to.bucket)*g.step - (to.at - length) // ms before this bucket
	if early > g.step || early > 0 && to.bucket == 0 {
		return
	}
	seconds := float64(elapsed) / 1000
	g.seconds[i] = seconds
	if n := len(g.pairs); n > 0 && early <= 0 && g.pairs[n-1].to == i && g.pairs[n-1].bucket == to.bucket {
		g.pairs[n-1].to++
		g.pairs[n-1].seconds += seconds
		return
	}
	lead := float64(max(early, 0)) / float64(length)
	g.pairs = append(g.pairs, pairRun{i, i + 1, to.bucket, lead, seconds * (1 - lead)})
}

// span gives how long a pair is on the axis of time: as far as its rows are apart there, unless the wall
// clock was set in between.
func span(from, to, elapsed int64) int64 {
	length := to - from
	if off := length - elapsed; length <= 0 || max(off, -off)*2 > elapsed {
		return elapsed
	}
	return length
}

// bucket gives the step to which the millisecond before t belongs; −1 before and n after the grid.
func (g *Grid) bucket(t int64) int {
	if t > g.last.from && t <= g.last.to { // times come in order mostly
		return g.last.bucket
	}
	d := t - 1 - g.start
	if d < 0 {
		return -1
	}
	n := d / g.step
	if n >= int64(g.n) {
		return g.n
	}
	g.last = oneBucket{g.start + n*g.step, g.start + (n+1)*g.step, int(n)}
	return int(n)
}

// LineOptions says what the caller knows of a metric's schedule.
type LineOptions struct {
	// Hold is how long after a reading a gauge keeps its value where no other reading came: the schedule's
	// distance and a bit more, for what is read less often than each poll. 0: a reading speaks only for the
	// poll interval before it.
	Hold time.Duration
	// Every is the schedule's distance of a counter that is read less often than each poll; 0: not known.
	Every time.Duration
}

// Line begins a metric.
func (g *Grid) Line(m monolith.Metric, o LineOptions) *Line {
	l := &Line{grid: g, metric: m, kind: monolith.KindOf(m.Name), hold: o.Hold.Milliseconds()}
	l.accumulates, l.reads = l.kind.Accumulates(), l.kind == monolith.Untyped || l.kind == monolith.Gauge || l.kind == monolith.HighWater
	l.pairs = newPairs(m, o.Every)
	return l
}

// Cells adds cells of a tier with the step, in order of time. Cells and columns may follow each other, as long as no
// time is given twice.
func (l *Line) Cells(step time.Duration, cells []Cell) {
	length := step.Milliseconds()
	for i := range cells {
		c := &cells[i]
		end := c.At + length
		bucket := l.grid.bucket(end)
		if l.reads && c.N > 0 {
			l.readCell(c, end, bucket)
		}
		if l.accumulates && c.Pairs > 0 {
			from := c.At
			if c.Covered > length+length/2 { // readings further apart than the step
				from = end - c.Covered
			}
			l.grow(growth{from: from, to: end, bucket: bucket,
				increase: c.Increase, seconds: float64(c.Covered) / 1000, rateMin: c.RateMin, rateMax: c.RateMax})
		}
	}
}

// Steps adds a variable's or text's steps, oldest first. Texts that are numbers fill the gauge slices, the
// last one up to until; the average is weighted by time.
func (l *Line) Steps(steps []monolith.TextStep, until time.Time) {
	l.steps = append(l.steps, steps...)
	for i, s := range steps {
		end := until.UnixMilli()
		if i+1 < len(steps) {
			end = min(end, steps[i+1].At.UnixMilli())
		}
		if n, ok := monolith.ParseNum([]byte(s.Text)); ok {
			l.force(s.At.UnixMilli(), end, n.Gauge())
		}
	}
}

// Series gives the result. ok is false when nothing fell on the grid.
func (l *Line) Series() (s monolith.Series, ok bool) {
	s = monolith.Series{Metric: l.metric, Kind: l.kind, Steps: l.steps}
	if l.any {
		l.holdUntil(int64(l.grid.n))
	}
	if l.level.weight != nil {
		s.Avg, s.Min, s.Max, s.Last = l.level.finish()
	}
	if l.total.seconds != nil {
		s.Increase, s.Seconds, s.RateMin, s.RateMax = l.total.finish()
	}
	return s, s.Avg != nil || s.Increase != nil || len(s.Steps) > 0
}

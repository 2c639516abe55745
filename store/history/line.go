package history

import (
	"math"

	"monolith"
)

// Line collects one metric on a grid.
type Line struct {
	grid               *Grid
	metric             monolith.Metric
	kind               monolith.Kind
	reads, accumulates bool // it has the figures of a gauge; of a counter
	hold               int64
	pairs              pairs
	level              level
	total              total
	steps              []monolith.TextStep

	any  bool // there was a reading
	last reading
}

// reading is a gauge's value and the steps that it speaks for.
type reading struct {
	at     int64
	bucket int
	fill   int
	value  float64
}

// level holds the gauge figures of each step; nil slices until there is one.
type level struct {
	weight              []float64 // of the readings in the step; 0 where the value is only filled in
	sum, min, max, last []float64
}

func (v *level) make(n int) {
	if v.weight != nil {
		return
	}
	v.weight = make([]float64, n)
	v.sum, v.min, v.max, v.last = gaps(n)
}

// gaps makes four rows of no values.
func gaps(n int) (a, b, c, d []float64) {
	all := make([]float64, 4*n)
	for i := range all {
		all[i] = math.NaN()
	}
	return all[:n:n], all[n : 2*n : 2*n], all[2*n : 3*n : 3*n], all[3*n:]
}

func (v *level) add(i int, weight, sum, least, most, last float64) {
	if v.weight[i] == 0 {
		v.weight[i], v.sum[i], v.min[i], v.max[i], v.last[i] = weight, sum, least, most, last
		return
	}
	v.weight[i] += weight
	v.sum[i] += sum
	v.min[i], v.max[i], v.last[i] = min(v.min[i], least), max(v.max[i], most), last
}

// fill puts a value into the steps [from, to) that have none.
func (v *level) fill(from, to int, value float64) {
	for i := max(from, 0); i < min(to, len(v.weight)); i++ {
		if math.IsNaN(v.sum[i]) {
			v.sum[i], v.min[i], v.max[i], v.last[i] = value, value, value, value
		}
	}
}

// finish turns sums into averages.
func (v *level) finish() (avg, least, most, last []float64) {
	for i, w := range v.weight {
		if w > 0 {
			v.sum[i] /= w
		}
	}
	return v.sum, v.min, v.max, v.last
}

// read adds a gauge's reading.
func (l *Line) read(r reading) {
	if r.bucket >= 0 && r.bucket < l.grid.n {
		l.level.make(l.grid.n)
		l.level.add(r.bucket, 1, r.value, r.value, r.value, r.value)
	}
	l.spreadReading(r)
}

// spreadReading lets a reading speak for the time before it, and the one before it for the time up to there.
func (l *Line) spreadReading(r reading) {
	if r.fill < r.bucket && r.bucket >= 0 && r.fill < l.grid.n {
		l.level.make(l.grid.n)
		l.level.fill(r.fill, r.bucket, r.value)
	}
	if l.any && l.hold > 0 {
		l.holdUntil(int64(r.bucket))
	}
	l.any, l.last = true, r
}

// holdUntil holds the last reading's value forward, up to a step.
func (l *Line) holdUntil(bucket int64) {
	to := min(int64(l.grid.bucket(l.last.at+l.hold))+1, bucket)
	if l.hold > 0 && to > int64(l.last.bucket)+1 && to > 0 {
		l.level.make(l.grid.n)
		l.level.fill(l.last.bucket+1, int(to), l.last.value)
	}
}

// readCell adds a tier's cell: readings that end with the cell.
func (l *Line) readCell(c *Cell, end int64, bucket int) {
	if bucket >= 0 && bucket < l.grid.n {
		l.level.make(l.grid.n)
		l.level.add(bucket, float64(c.N), c.Sum, c.Min, c.Max, c.Last)
	}
	l.spreadReading(reading{at: end, bucket: bucket, fill: l.grid.bucket(c.At + 1), value: c.Sum / float64(c.N)})
}

// force adds a value that is in force in [from, to).
func (l *Line) force(from, to int64, value float64) {
	g := l.grid
	from, to = max(from, g.start), min(to, g.start+int64(g.n)*g.step)
	for from < to {
		l.level.make(g.n)
		i := (from - g.start) / g.step
		end := min(to, g.start+(i+1)*g.step)
		w := float64(end - from)
		l.level.add(int(i), w, w*value, value, value, value)
		from = end
	}
}

// growth is what a counter grew by in (from, to].
type growth struct {
	from, to         int64
	bucket           int // of to
	increase         float64
	seconds          float64
	rateMin, rateMax float64
}

// total holds the counter figures of each step; nil slices until there is one.
type total struct {
	increase, seconds, rateMin, rateMax []float64
}

func (t *total) make(n int) {
	if t.seconds == nil {
		t.increase, t.seconds, t.rateMin, t.rateMax = gaps(n)
	}
}

func (t *total) finish() (increase, seconds, rateMin, rateMax []float64) {
	return t.increase, t.seconds, t.rateMin, t.rateMax
}

func (t *total) add(i int, increase, seconds, rateMin, rateMax float64) {
	if t.seconds[i] > 0 {
		t.increase[i] += increase
		t.seconds[i] += seconds
		t.rateMin[i], t.rateMax[i] = min(t.rateMin[i], rateMin), max(t.rateMax[i], rateMax)
		return
	}
	t.increase[i], t.seconds[i], t.rateMin[i], t.rateMax[i] = increase, seconds, rateMin, rateMax
}

// grow spreads a growth evenly over the time that it took.
func (l *Line) grow(w growth) {
	g := l.grid
	if w.bucket < 0 || w.from >= g.start+int64(g.n)*g.step {
		return
	}
	l.total.make(g.n)
	if w.bucket < g.n && w.from >= g.start+int64(w.bucket)*g.step {
		l.total.add(w.bucket, w.increase, w.seconds, w.rateMin, w.rateMax)
		return
	}
	length := float64(w.to - w.from)
	for i := max(g.bucket(w.from+1), 0); i <= min(w.bucket, g.n-1); i++ {
		begin := g.start + int64(i)*g.step
		share := float64(min(w.to, begin+g.step)-max(w.from, begin)) / length
		l.total.add(i, w.increase*share, w.seconds*share, w.rateMin, w.rateMax)
	}
}

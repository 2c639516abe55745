package history

import (
	"slices"

	"monolith"
)

// Column adds the metric's column of the rows last given to [Grid.Rows]. An empty column is a block
// that does not have the metric.
func (l *Line) Column(nums []monolith.Num) {
	if len(nums) == 0 {
		return
	}
	if l.accumulates {
		if integers, ok := l.grid.unsigned(nums); ok {
			l.accumulate(integers, false)
		} else {
			l.accumulateSome(nums)
		}
	}
	if l.reads {
		if floats, ok := l.grid.gauge(nums); ok {
			l.readAll(floats, false)
		} else {
			l.readSome(nums)
		}
	}
}

// Feed adds the metric's column of an opened block whose rows from skip on were last given to [Grid.Rows]: the same as
// [Line.Column] with what [Reader.Column] gives, at half the price. A block that does not have the metric adds
// nothing. An error means that the block is damaged though its checksum is right; then nothing was added.
func (l *Line) Feed(r *Reader, id MetricID, skip int) error {
	i, ok := slices.BinarySearch(r.ids, id)
	if !ok {
		return nil
	}
	s := r.table.scratch()
	defer scratches.Put(s)
	col := &r.table.columns[i+facts]
	if col.mask != 0 || col.form == formMixed || l.accumulates && col.form != formUnsigned {
		var err error
		if s.nums, err = r.table.fill(col, s, s.nums); err != nil {
			return err
		}
		l.Column(s.nums[skip:])
		return nil
	}
	values, err := r.table.decode(col, s)
	if err != nil {
		return err
	}
	values = values[skip:]
	if l.accumulates {
		l.accumulate(values, col.coding == nil)
	}
	if l.reads {
		s.floats = col.gauge(values, s.floats)
		l.readAll(s.floats, col.coding == nil)
	}
	return nil
}

// gauge turns values of the column's form, which is not mixed, into what [monolith.Num.Gauge] gives.
func (col *column) gauge(values []uint64, dst []float64) []float64 {
	dst = slices.Grow(dst[:0], len(values))[:len(values)]
	if col.form == formDecimal {
		divisor := power10[col.exponent]
		for i, v := range values {
			dst[i] = float64(int64(v)) / divisor
		}
		return dst
	}
	for i, v := range values { // an unsigned integer of 2^63 or more is a small negative one as a gauge
		dst[i] = float64(int64(v))
	}
	return dst
}

// unsigned gives a column as integers, when all of them are there and none is negative or a decimal.
func (g *Grid) unsigned(nums []monolith.Num) ([]uint64, bool) {
	g.integers = slices.Grow(g.integers[:0], len(nums))[:len(nums)]
	for i, n := range nums {
		bits, isFloat, isNegative, ok := n.Bits()
		if !ok || isFloat || isNegative {
			return nil, false
		}
		g.integers[i] = bits
	}
	return g.integers, true
}

// gauge gives a column as a gauge's readings, when all of them are there.
func (g *Grid) gauge(nums []monolith.Num) ([]float64, bool) {
	g.floats = slices.Grow(g.floats[:0], len(nums))[:len(nums)]
	for i, n := range nums {
		if n.IsNone() {
			return nil, false
		}
		g.floats[i] = n.Gauge()
	}
	return g.floats, true
}

// readSome takes a gauge's readings one by one.
func (l *Line) readSome(nums []monolith.Num) {
	for i := range nums {
		if !nums[i].IsNone() {
			l.readRow(i, nums[i].Gauge())
		}
	}
}

func (l *Line) readRow(i int, v float64) {
	r := &l.grid.rows[i]
	l.read(reading{at: r.at, bucket: r.bucket, fill: r.fill, value: v})
}

// readAll takes a gauge's readings of all rows. Those that share a step are gathered before they are added to it. flat says
// that they are all the same.
func (l *Line) readAll(values []float64, flat bool) {
	rows, runs := l.grid.rows, l.grid.reads
	for i := 0; i < len(values); {
		if len(runs) == 0 || i < runs[0].from {
			l.readRow(i, values[i])
			i++
			continue
		}
		run := runs[0]
		runs = runs[1:]
		l.readRow(i, values[i])
		if i = run.to; run.to-run.from < 2 {
			continue
		}
		more := values[run.from+1 : run.to]
		sum, least, most := 0.0, more[0], more[0]
		if flat {
			sum = more[0] * float64(len(more))
		} else {
			for _, v := range more {
				sum += v
				least, most = min(least, v), max(most, v)
			}
		}
		v := more[len(more)-1]
		l.level.add(run.bucket, float64(len(more)), sum, least, most, v)
		l.last = reading{at: rows[i-1].at, bucket: run.bucket, fill: run.bucket, value: v}
	}
}

// accumulateSome takes the pairs of a counter's readings one by one.
func (l *Line) accumulateSome(nums []monolith.Num) {
	for i := range nums {
		if !nums[i].IsNone() {
			l.pairRow(i, nums[i])
		}
	}
}

func (l *Line) pairRow(i int, n monolith.Num) {
	r := &l.grid.rows[i]
	before := l.pairs.from.at
	increase, elapsed, v := l.pairs.next(n, &r.position)
	if v != pairValid {
		return
	}
	seconds := float64(elapsed) / 1000
	rate := finite(increase / seconds)
	l.grow(growth{from: r.at - span(before, r.at, elapsed), to: r.at, bucket: r.bucket,
		increase: increase, seconds: seconds, rateMin: rate, rateMax: rate})
}

// accumulate takes the pairs of a counter's readings of all rows. flat says that they are all the same.
func (l *Line) accumulate(values []uint64, flat bool) {
	runs := l.grid.pairs
	for i := 0; i < len(values); {
		for len(runs) > 0 && runs[0].from < i {
			runs = runs[1:]
		}
		first := i
		for len(runs) > 0 && runs[0].from == i && l.pairRun(&runs[0], values, flat) {
			i, runs = runs[0].to, runs[1:]
		}
		if i > first {
			l.pairs.skip(monolith.Uint(values[i-1]), l.grid.rows[first-1:i])
			continue
		}
		l.pairRow(i, monolith.Uint(values[i]))
		i++
	}
}

// pairRun takes a run of plain pairs, in one loop without anything else. When the counter fell it does nothing and
// reports false.
func (l *Line) pairRun(run *pairRun, values []uint64, flat bool) bool {
	l.total.make(l.grid.n)
	if flat {
		l.total.add(run.bucket, 0, run.seconds, 0, 0)
		if run.lead > 0 {
			l.total.add(run.bucket-1, 0, l.grid.seconds[run.from]*run.lead, 0, 0)
		}
		return true
	}
	before, now := values[run.from-1], values[run.from]
	if now < before {
		return false
	}
	seconds := l.grid.seconds[run.from:run.to]
	increase := float64(now - before)
	rate := increase / seconds[0]
	first, firstRate := increase, rate
	sum, least, most := increase*(1-run.lead), rate, rate
	for i, now := range values[run.from+1 : run.to] {
		before = values[run.from+i]
		if now < before {
			return false
		}
		increase = float64(now - before)
		rate = increase / seconds[i+1]
		sum += increase
		least, most = min(least, rate), max(most, rate)
	}
	if run.lead > 0 {
		l.total.add(run.bucket-1, first*run.lead, seconds[0]*run.lead, firstRate, firstRate)
	}
	l.total.add(run.bucket, sum, run.seconds, least, most)
	return true
}

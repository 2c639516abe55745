package history

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"monolith"
)

// Rollup makes cells of polls. before are the polls that end where p begins, or nil: they only give
// the first halves of the pairs that cross the border. name says what a metric is; ids
// for which it gives false are left out. step is at least a second and divides a day.
func Rollup(before, p Polls, name func(MetricID) (monolith.Metric, bool), step time.Duration) (*Tier, error) {
	if step < time.Second || 24*time.Hour%step != 0 {
		return nil, fmt.Errorf("history: roll up: a step of %v is not at least a second and a part of a day", step)
	}
	r := rollup{step: step.Milliseconds()}
	var c clock
	if before != nil {
		r.before = before
		r.earlier = c.all(before.Rows())
	}
	r.now = c.all(p.Rows())
	t := &Tier{step: r.step, cells: make(map[MetricID][]Cell)}
	for _, id := range p.IDs() {
		m, ok := name(id)
		kind := monolith.KindOf(m.Name)
		if !ok || kind == monolith.Text {
			continue
		}
		var err error
		if r.nums, err = p.Column(id, r.nums); err != nil {
			return nil, fmt.Errorf("history: roll up %v: %w", m, err)
		}
		if len(r.nums) != len(r.now) {
			return nil, errors.New("history: roll up: a column is not as long as the rows")
		}
		cells, err := r.column(id, m, kind)
		if err != nil {
			return nil, err
		}
		if len(cells) > 0 {
			t.cells[id] = cells
		}
	}
	return t, nil
}

// all gives the positions of rows.
func (c *clock) all(rows []Row) []position {
	out := make([]position, len(rows))
	for i := range rows {
		out[i] = c.next(&rows[i])
	}
	return out
}

// rollup is what [Rollup] works with.
type rollup struct {
	step         int64
	before       Polls
	earlier, now []position
	nums         []monolith.Num // of the metric
	first        []monolith.Num // of the metric in before
}

// column makes the cells of one metric.
func (r *rollup) column(id MetricID, m monolith.Metric, kind monolith.Kind) ([]Cell, error) {
	accumulates, isGauge := kind.Accumulates(), kind != monolith.Counter
	p := newPairs(m, 0)
	if accumulates && r.before != nil {
		var err error
		if r.first, err = r.before.Column(id, r.first); err != nil {
			return nil, fmt.Errorf("history: roll up %v: %w", m, err)
		}
		for i, n := range r.first {
			if !n.IsNone() {
				p.next(n, &r.earlier[i])
			}
		}
	}
	var cells []Cell
	cell := -1
	for i, n := range r.nums {
		if n.IsNone() {
			continue
		}
		pos := &r.now[i]
		if at := bucketOf(pos.at, r.step); cell < 0 || cells[cell].At != at {
			cells, cell = cellAt(cells, at)
		}
		if isGauge {
			cells[cell].read(n.Gauge())
		}
		if accumulates {
			switch increase, elapsed, v := p.next(n, pos); v {
			case pairValid:
				cells[cell].pair(increase, elapsed)
			case pairBroken:
				cells[cell].Breaks++
			}
		}
	}
	for i := range cells {
		c := &cells[i]
		c.RateMin, c.RateMax = rounded(c.RateMin, -1), rounded(c.RateMax, 1)
	}
	return slices.DeleteFunc(cells, func(c Cell) bool { return c.N == 0 && c.Pairs == 0 && c.Breaks == 0 }), nil
}

// bucketOf gives the begin of the bucket to which a reading at t belongs.
func bucketOf(t, step int64) int64 { return floor(t-1, step) }

// floor gives the greatest multiple of step that is not greater than t.
func floor(t, step int64) int64 {
	r := t % step
	if r < 0 {
		r += step
	}
	return t - r
}

// cellAt finds or makes the cell of a bucket. It is the last one unless the clock was set back.
func cellAt(cells []Cell, at int64) ([]Cell, int) {
	i := len(cells)
	for i > 0 && cells[i-1].At > at {
		i--
	}
	if i > 0 && cells[i-1].At == at {
		return cells, i - 1
	}
	return slices.Insert(cells, i, Cell{At: at}), i
}

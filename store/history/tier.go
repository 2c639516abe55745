package history

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Tier holds cells of many metrics in buckets of one step. It is not safe for concurrent use.
type Tier struct {
	step  int64 // ms
	cells map[MetricID][]Cell
}

// Step gives the length of the buckets.
func (t *Tier) Step() time.Duration { return time.Duration(t.step) * time.Millisecond }

// IDs gives the metrics that have cells, ascending.
func (t *Tier) IDs() []MetricID { return slices.Sorted(maps.Keys(t.cells)) }

// Cells gives a metric's cells in order of time. Buckets without a figure have none. The slice belongs
// to the tier.
func (t *Tier) Cells(id MetricID) []Cell { return t.cells[id] }

// Span gives the begin of the first bucket and the end of the last one; ok is false for an empty tier.
func (t *Tier) Span() (from, to time.Time, ok bool) {
	first, last, ok := t.bounds()
	return time.UnixMilli(first), time.UnixMilli(last + t.step), ok
}

// bounds gives the begins of the first and the last bucket.
func (t *Tier) bounds() (first, last int64, ok bool) {
	first, last = math.MaxInt64, math.MinInt64
	for _, cells := range t.cells {
		first, last = min(first, cells[0].At), max(last, cells[len(cells)-1].At)
	}
	return first, last, len(t.cells) > 0
}

// Within gives the part whose buckets begin in [from, to). It shares memory with t.
func (t *Tier) Within(from, to time.Time) *Tier {
	part := &Tier{step: t.step, cells: make(map[MetricID][]Cell)}
	for id, cells := range t.cells {
		i, j := search(cells, from.UnixMilli()), search(cells, to.UnixMilli())
		if i < j {
			part.cells[id] = cells[i:j:j]
		}
	}
	return part
}

// search gives the place of the first cell that does not begin before at.
func search(cells []Cell, at int64) int {
	i, _ := slices.BinarySearchFunc(cells, at, func(c Cell, at int64) int { return int(min(max(c.At-at, -1), 1)) })
	return i
}

// Coarsen makes the cells of a longer step, a multiple of this one's that divides a day. Nothing is lost on
// the way: the average of an hour is that of its readings, its maximum theirs.
func (t *Tier) Coarsen(step time.Duration) (*Tier, error) {
	if step < t.Step() || step%t.Step() != 0 || 24*time.Hour%step != 0 {
		return nil, fmt.Errorf("history: coarsen: steps of %v can't be made of %v", step, t.Step())
	}
	out := &Tier{step: step.Milliseconds(), cells: make(map[MetricID][]Cell, len(t.cells))}
	for id, cells := range t.cells {
		var coarse []Cell
		for _, c := range cells {
			c.At = floor(c.At, out.step)
			if n := len(coarse); n > 0 && coarse[n-1].At == c.At {
				coarse[n-1].Merge(c)
			} else {
				coarse = append(coarse, c)
			}
		}
		out.cells[id] = coarse
	}
	return out, nil
}

// mergeCells appends old and later to dst in order of time; cells of the same bucket become one.
func mergeCells(dst, old, later []Cell) []Cell {
	for len(old) > 0 && len(later) > 0 {
		switch a, b := old[0], later[0]; {
		case a.At < b.At:
			dst, old = append(dst, a), old[1:]
		case a.At > b.At:
			dst, later = append(dst, b), later[1:]
		default:
			a.Merge(b)
			dst, old, later = append(dst, a), old[1:], later[1:]
		}
	}
	return append(append(dst, old...), later...)
}

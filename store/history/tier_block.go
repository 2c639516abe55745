package history

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"monolith"
)

const (
	kindTier = 't'
	// maxBuckets is the most buckets that one tier block spans.
	maxBuckets = 8192
)

// The keys of a tier block's own columns.
const (
	factStart   = iota // the begin of the first bucket, in every row
	factStep           // in every row
	factCount          // N of most metrics
	factPairs          // Pairs of most metrics
	factCovered        // Covered of most metrics
	tierFacts
)

// The fields of a cell. A metric with readings has fieldMin and one with valid pairs fieldIncrease; the other fields
// are left out where they hold what they usually do, so that a metric that never changes has two columns and no residuals.
const (
	fieldMin      = iota // of the buckets with readings
	fieldCount           // N; left out: factCount
	fieldMaxOver         // Max − Min; left out: 0
	fieldMax             // instead of it, where floats make the difference inexact
	fieldLastOver        // Last − Min; left out: 0
	fieldLast            // instead of it
	fieldSumOver         // Sum − N·Min; left out: 0
	fieldSum             // instead of it
	fieldIncrease        // of the buckets with valid pairs
	fieldPairs           // left out: factPairs
	fieldCovered         // left out: factCovered
	fieldRateMin         // left out: 0
	fieldRateMax         // left out: 0
	fieldBreaks          // of the buckets with any; left out: none
	fields
)

// MarshalTier packs cells, added to those of old where that is not nil: cells of the same bucket are
// merged, add's being the later part. It works a metric at a time and never holds all cells of a block in memory.
// It fails when there is no cell, or when the steps differ.
func MarshalTier(old *TierReader, add *Tier) ([]byte, error) {
	first, last, ok := add.bounds()
	ids := add.IDs()
	if old != nil {
		if old.step != add.step {
			return nil, fmt.Errorf("history: marshal tier: steps of %v and %v", old.Step(), add.Step())
		}
		oldLast := old.start + int64(old.table.rows-1)*old.step
		if !ok {
			first, last = old.start, oldLast
		}
		first, last, ok = min(first, old.start), max(last, oldLast), true
		ids = append(ids, old.ids...)
		slices.Sort(ids)
		ids = slices.Compact(ids)
	}
	if !ok {
		return nil, errors.New("history: marshal tier: there is no cell")
	}
	if (last-first)/add.step >= maxBuckets {
		return nil, fmt.Errorf("history: marshal tier: more than %d buckets", maxBuckets)
	}
	w := tierWriter{old: old, add: add, first: first, step: add.step, rows: int((last-first)/add.step) + 1}
	w.table = newTableWriter(w.rows)
	if err := w.facts(ids); err != nil {
		return nil, err
	}
	for _, id := range ids {
		cells, err := w.cells(id)
		if err != nil {
			return nil, err
		}
		w.metric(id, cells)
	}
	return w.table.finish(kindTier)
}

// tierWriter is what [MarshalTier] works with.
type tierWriter struct {
	old         *TierReader
	add         *Tier
	first, step int64
	rows        int
	table       *tableWriter

	count, pairs, covered []monolith.Num // the usual ones
	oldCells, merged      []Cell
	nums                  []monolith.Num
}

// cells gives a metric's old and new cells, valid until the next call.
func (w *tierWriter) cells(id MetricID) ([]Cell, error) {
	w.oldCells = w.oldCells[:0]
	if w.old != nil {
		var err error
		if w.oldCells, err = w.old.Cells(id, w.oldCells); err != nil {
			return nil, fmt.Errorf("history: marshal tier: %w", err)
		}
	}
	w.merged = mergeCells(w.merged[:0], w.oldCells, w.add.Cells(id))
	return w.merged, nil
}

// facts writes the block's own columns. The metrics with the most readings and pairs show what is usual.
func (w *tierWriter) facts(ids []MetricID) error {
	for key, v := range []int64{factStart: w.first, factStep: w.step} {
		w.table.add(uint64(key), slices.Repeat([]monolith.Num{monolith.Int(v)}, w.rows))
	}
	var readings, pairs MetricID
	var mostReadings, mostPairs uint64
	for _, id := range ids {
		var n, p uint64
		for _, c := range w.add.Cells(id) {
			n, p = n+uint64(c.N), p+uint64(c.Pairs)
		}
		if n > mostReadings {
			readings, mostReadings = id, n
		}
		if p > mostPairs {
			pairs, mostPairs = id, p
		}
	}
	usual := func(id MetricID, most uint64, key uint64, value func(*Cell) monolith.Num) (nums []monolith.Num, err error) {
		nums = make([]monolith.Num, w.rows)
		if most == 0 {
			return nums, nil
		}
		cells, err := w.cells(id)
		if err != nil {
			return nil, err
		}
		for i := range cells {
			nums[w.row(&cells[i])] = value(&cells[i])
		}
		w.table.add(key, nums)
		return nums, nil
	}
	var err, err1, err2 error
	w.count, err = usual(readings, mostReadings, factCount, countOf)
	w.pairs, err1 = usual(pairs, mostPairs, factPairs, pairsOf)
	w.covered, err2 = usual(pairs, mostPairs, factCovered, coveredOf)
	return errors.Join(err, err1, err2)
}

func (w *tierWriter) row(c *Cell) int { return int((c.At - w.first) / w.step) }

// What the fields hold in a cell; no value where the field does not apply.
func countOf(c *Cell) monolith.Num   { return when(c.N > 0, monolith.Uint(uint64(c.N))) }
func pairsOf(c *Cell) monolith.Num   { return when(c.Pairs > 0, monolith.Uint(uint64(c.Pairs))) }
func coveredOf(c *Cell) monolith.Num { return when(c.Pairs > 0, monolith.Int(c.Covered)) }

func when(applies bool, n monolith.Num) monolith.Num {
	if !applies {
		return monolith.Num{}
	}
	return n
}

// metric writes the columns of one metric, those that are not as usual.
func (w *tierWriter) metric(id MetricID, cells []Cell) {
	var has [fields]bool
	for i := range cells {
		c := &cells[i]
		row := w.row(c)
		if c.N > 0 {
			has[fieldMin] = true
			has[fieldCount] = has[fieldCount] || countOf(c) != w.count[row]
			has[fieldMaxOver] = has[fieldMaxOver] || c.Max != c.Min
			has[fieldLastOver] = has[fieldLastOver] || c.Last != c.Min
			has[fieldSumOver] = has[fieldSumOver] || c.Sum != sumGround(c)
		}
		if c.Pairs > 0 {
			has[fieldIncrease] = true
			has[fieldPairs] = has[fieldPairs] || pairsOf(c) != w.pairs[row]
			has[fieldCovered] = has[fieldCovered] || coveredOf(c) != w.covered[row]
			has[fieldRateMin] = has[fieldRateMin] || c.RateMin != 0
			has[fieldRateMax] = has[fieldRateMax] || c.RateMax != 0
		}
		has[fieldBreaks] = has[fieldBreaks] || c.Breaks > 0
	}
	put := func(field uint64, value func(*Cell) monolith.Num) {
		w.nums = slices.Grow(w.nums[:0], w.rows)[:w.rows]
		clear(w.nums)
		for i := range cells {
			w.nums[w.row(&cells[i])] = value(&cells[i])
		}
		w.table.add(keyOf(id, field), w.nums)
	}
	// over writes a figure as what it is over another one, when that gives it back exactly in all cells.
	over := func(field uint64, figure, ground func(*Cell) float64) {
		exact := true
		for i := range cells {
			f, g := figure(&cells[i]), ground(&cells[i])
			exact = exact && !math.IsInf(f-g, 0) && g+(f-g) == f
		}
		if exact {
			put(field, func(c *Cell) monolith.Num { return when(c.N > 0, monolith.Float(figure(c)-ground(c))) })
			return
		}
		put(field+1, func(c *Cell) monolith.Num { return when(c.N > 0, monolith.Float(figure(c))) })
	}
	lowest := func(c *Cell) float64 { return c.Min }
	for field := range uint64(fields) {
		if !has[field] {
			continue
		}
		switch field {
		case fieldMin:
			put(field, func(c *Cell) monolith.Num { return when(c.N > 0, monolith.Float(c.Min)) })
		case fieldCount:
			put(field, countOf)
		case fieldMaxOver:
			over(field, func(c *Cell) float64 { return c.Max }, lowest)
		case fieldLastOver:
			over(field, func(c *Cell) float64 { return c.Last }, lowest)
		case fieldSumOver:
			over(field, func(c *Cell) float64 { return c.Sum }, sumGround)
		case fieldIncrease:
			put(field, func(c *Cell) monolith.Num { return when(c.Pairs > 0, monolith.Float(c.Increase)) })
		case fieldPairs:
			put(field, pairsOf)
		case fieldCovered:
			put(field, coveredOf)
		case fieldRateMin:
			put(field, func(c *Cell) monolith.Num { return when(c.Pairs > 0, monolith.Float(c.RateMin)) })
		case fieldRateMax:
			put(field, func(c *Cell) monolith.Num { return when(c.Pairs > 0, monolith.Float(c.RateMax)) })
		case fieldBreaks:
			put(field, func(c *Cell) monolith.Num { return when(c.Breaks > 0, monolith.Uint(uint64(c.Breaks))) })
		}
	}
}

// sumGround is what Sum is written over.
func sumGround(c *Cell) float64 { return finite(float64(c.N) * c.Min) }

// TierReader reads a tier block. It is safe for concurrent use.
type TierReader struct {
	table       *table
	start, step int64
	ids         []MetricID
	facts       [tierFacts][]monolith.Num
}

// OpenTier checks a tier block's head and checksum. The reader keeps b, which must not change.
func OpenTier(b []byte) (*TierReader, error) {
	t, err := openTable(b, kindTier, maxBuckets)
	if err != nil {
		return nil, err
	}
	r := &TierReader{table: t}
	for i, key := range t.keys {
		if key >= tierFacts {
			break
		}
		if r.facts[key], err = t.column(i, nil); err != nil {
			return nil, err
		}
	}
	for key := factCount; key < tierFacts; key++ {
		if r.facts[key] == nil {
			r.facts[key] = make([]monolith.Num, t.rows)
		}
	}
	if r.facts[factStart] == nil || r.facts[factStep] == nil {
		return nil, corrupt("the tier's facts are not complete")
	}
	r.start, r.step = integer(r.facts[factStart][0]), integer(r.facts[factStep][0])
	const most = 1 << 53
	if r.step < 1000 || r.step > most/maxBuckets || r.start < -most || r.start > most || r.start != floor(r.start, r.step) {
		return nil, corrupt("the tier's facts make no sense")
	}
	for _, key := range t.keys {
		if id, field := metricOf(key); key >= keyOf(0, 0) && (len(r.ids) == 0 || r.ids[len(r.ids)-1] != id) {
			if key != keyOf(id, field) || field >= fields {
				return nil, corrupt("directory: key %d is of no metric", key)
			}
			r.ids = append(r.ids, id)
		}
	}
	return r, nil
}

// integer gives the value of an integer that the writer put there, 0 for anything else.
func integer(n monolith.Num) int64 {
	bits, isFloat, _, ok := n.Bits()
	if !ok || isFloat {
		return 0
	}
	return int64(bits)
}

// Size gives about how many bytes the reader takes beside the block that it keeps.
func (r *TierReader) Size() int { return r.table.size() + 16*tierFacts*r.table.rows + 4*len(r.ids) }

// Step gives the length of the buckets.
func (r *TierReader) Step() time.Duration { return time.Duration(r.step) * time.Millisecond }

// Span gives the begin of the first bucket and the end of the last one.
func (r *TierReader) Span() (from, to time.Time) {
	return time.UnixMilli(r.start), time.UnixMilli(r.start + int64(r.table.rows)*r.step)
}

// IDs gives the metrics that have cells, ascending. The slice belongs to the reader.
func (r *TierReader) IDs() []MetricID { return r.ids }

// Cells gives a metric's cells in order of time, in dst's memory where that is large enough. A metric
// that is not there gives an empty slice.
func (r *TierReader) Cells(id MetricID, dst []Cell) ([]Cell, error) {
	t := r.table
	first, _ := t.find(keyOf(id, 0))
	dst = slices.Grow(dst[:0], t.rows)[:t.rows]
	clear(dst)
	var nums []monolith.Num
	found := [fields]bool{}
	for i := first; i < len(t.keys); i++ {
		owner, field := metricOf(t.keys[i])
		if owner != id {
			break
		}
		if field >= fields {
			return dst[:0], corrupt("directory: key %d is of no metric", t.keys[i])
		}
		var err error
		if nums, err = t.column(i, nums); err != nil {
			return dst[:0], err
		}
		found[field] = true
		r.fill(dst, field, nums)
	}
	return r.complete(dst, &found), nil
}

// fill puts a field's numbers into the cells. Fields come in the order of their numbers.
func (r *TierReader) fill(cells []Cell, field uint64, nums []monolith.Num) {
	for i, n := range nums {
		if n.IsNone() {
			continue
		}
		c := &cells[i]
		switch field {
		case fieldMin:
			v := n.Float64()
			c.Min, c.Max, c.Last, c.N = v, v, v, uint32(integer(r.facts[factCount][i]))
		case fieldCount:
			c.N = uint32(integer(n))
		case fieldMaxOver:
			c.Max = c.Min + n.Float64()
		case fieldMax:
			c.Max = n.Float64()
		case fieldLastOver:
			c.Last = c.Min + n.Float64()
		case fieldLast:
			c.Last = n.Float64()
		case fieldSumOver:
			c.Sum = sumGround(c) + n.Float64()
		case fieldSum:
			c.Sum = n.Float64()
		case fieldIncrease:
			c.Increase = n.Float64()
			c.Pairs, c.Covered = uint32(integer(r.facts[factPairs][i])), integer(r.facts[factCovered][i])
		case fieldPairs:
			c.Pairs = uint32(integer(n))
		case fieldCovered:
			c.Covered = integer(n)
		case fieldRateMin:
			c.RateMin = n.Float64()
		case fieldRateMax:
			c.RateMax = n.Float64()
		case fieldBreaks:
			c.Breaks = uint32(integer(n))
		}
	}
}

// complete makes what was left out and drops the buckets in which nothing is.
func (r *TierReader) complete(cells []Cell, found *[fields]bool) []Cell {
	out := cells[:0]
	for i := range cells {
		c := cells[i]
		if c.N == 0 && c.Pairs == 0 && c.Breaks == 0 {
			continue
		}
		c.At = r.start + int64(i)*r.step
		if !found[fieldSumOver] && !found[fieldSum] {
			c.Sum = sumGround(&c)
		}
		out = append(out, c)
	}
	return out
}

package history

import (
	"errors"
	"fmt"
	"slices"

	"monolith"
)

// MaxRows is the most polls that one raw block holds.
const MaxRows = 8192

const kindRaw = 'r'

// The keys of a raw block's own columns.
const (
	factAt = iota
	factElapsed
	factInterval
	factSeq
	factRun
	factPolled
	facts
)

// fact gives one of a row's facts as a number of a column.
func (r *Row) fact(key int) monolith.Num {
	switch key {
	case factAt:
		return monolith.Int(r.At)
	case factElapsed:
		return monolith.Int(r.Elapsed)
	case factInterval:
		return monolith.Int(r.Interval)
	case factSeq:
		return monolith.Uint(r.Seq)
	case factRun:
		return monolith.Uint(uint64(r.Run))
	}
	return monolith.Bool(r.Polled)
}

func (r *Row) setFact(key int, bits uint64) {
	switch key {
	case factAt:
		r.At = int64(bits)
	case factElapsed:
		r.Elapsed = int64(bits)
	case factInterval:
		r.Interval = int64(bits)
	case factSeq:
		r.Seq = bits
	case factRun:
		r.Run = uint32(bits)
	case factPolled:
		r.Polled = bits == 1
	}
}

// Marshal packs polls into a raw block. It fails when there are no rows, or more than [MaxRows].
func Marshal(p Polls) ([]byte, error) {
	rows := p.Rows()
	if len(rows) == 0 || len(rows) > MaxRows {
		return nil, fmt.Errorf("history: marshal block: %d rows, not 1 to %d", len(rows), MaxRows)
	}
	w := newTableWriter(len(rows))
	nums := make([]monolith.Num, len(rows))
	for key := range facts {
		for i := range rows {
			nums[i] = rows[i].fact(key)
		}
		w.add(uint64(key), nums)
	}
	for _, id := range p.IDs() {
		var err error
		if nums, err = p.Column(id, nums); err != nil {
			return nil, fmt.Errorf("history: marshal block: %w", err)
		}
		if len(nums) != len(rows) {
			return nil, errors.New("history: marshal block: a column is not as long as the rows")
		}
		w.add(keyOf(id, 0), nums)
	}
	return w.finish(kindRaw)
}

// Reader reads a raw block. It is safe for concurrent use.
type Reader struct {
	table *table
	rows  []Row
	ids   []MetricID
}

var _ Polls = (*Reader)(nil)

// Open checks a raw block's head and checksum and reads its rows. The reader keeps b, which must not change.
func Open(b []byte) (*Reader, error) {
	t, err := openTable(b, kindRaw, MaxRows)
	if err != nil {
		return nil, err
	}
	r := &Reader{table: t, rows: make([]Row, t.rows)}
	s := t.scratch()
	defer scratches.Put(s)
	for key := range facts {
		if key >= len(t.keys) || t.keys[key] != uint64(key) || t.columns[key].mask != 0 {
			return nil, corrupt("the rows' facts are not complete")
		}
		values, err := t.decode(&t.columns[key], s)
		if err != nil {
			return nil, err
		}
		for i, v := range values {
			r.rows[i].setFact(key, v)
		}
	}
	r.ids = make([]MetricID, len(t.keys)-facts)
	for i, key := range t.keys[facts:] {
		if r.ids[i], _ = metricOf(key); key != keyOf(r.ids[i], 0) {
			return nil, corrupt("directory: key %d is of no metric", key)
		}
	}
	return r, nil
}

// Size gives about how many bytes the reader takes beside the block that it keeps.
func (r *Reader) Size() int { return r.table.size() + 48*len(r.rows) + 4*len(r.ids) }

// Rows implements [Polls].
func (r *Reader) Rows() []Row { return r.rows }

// IDs implements [Polls].
func (r *Reader) IDs() []MetricID { return r.ids }

// Column implements [Polls]. An error means that the block is damaged though its checksum is right.
func (r *Reader) Column(id MetricID, dst []monolith.Num) ([]monolith.Num, error) {
	i, ok := slices.BinarySearch(r.ids, id)
	if !ok {
		return dst[:0], nil
	}
	return r.table.column(i+facts, dst)
}

package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"monolith"
)

// Tail replays head payloads into columns. It takes 16 bytes a value, so to have the last hour of many
// servers at hand keep their payloads, and replay them for each read into a Tail of the metrics that are asked
// for: that takes well under a millisecond. It is not safe for concurrent use while payloads are appended.
type Tail struct {
	want map[MetricID]bool // nil: all

	expected int // rows, see Expect
	rows     []Row
	number   byte
	broken   bool // a payload is missing or damaged: only a key payload can follow
	slots    []tailSlot
	columns  map[MetricID]*tailColumn
	ids      []MetricID // sorted, of columns with a value; nil: to be made again

	sections []int // the slots of the payload being read
}

var _ Polls = (*Tail)(nil)

type tailSlot struct {
	ids  []MetricID
	last []monolith.Num
	keep []int // the positions that are wanted
	to   []*tailColumn
}

type tailColumn struct {
	nums  []monolith.Num // up to the last row in which its section came
	value bool           // there is at least one
}

var (
	errPayload = fmt.Errorf("history: replay: %w: the payload makes no sense", ErrCorrupt)
	errSum     = fmt.Errorf("history: replay: %w: the checksum does not match", ErrCorrupt)
	errMissing = errors.New("history: replay: the payload before this one is missing")
)

// NewTail makes an empty tail. With ids only these metrics are kept, which is what a graph wants;
// without, all are.
func NewTail(want ...MetricID) *Tail {
	t := &Tail{columns: make(map[MetricID]*tailColumn)}
	if len(want) > 0 {
		t.want = make(map[MetricID]bool, len(want))
		for _, id := range want {
			t.want[id] = true
		}
	}
	return t
}

// Expect says about how many payloads are to come, so that memory for them is taken once.
func (t *Tail) Expect(payloads int) {
	t.expected = len(t.rows) + payloads
	t.rows = slices.Grow(t.rows, payloads)
}

// Append replays the next payload. The first one must be a key payload; later ones may be (they begin anew
// without losing the rows before). An error says that a payload is damaged or that the one before is missing: then
// no row is added, and payloads are refused up to the next key payload.
func (t *Tail) Append(payload []byte) error {
	c := cursor{data: payload}
	flags, number := c.byte(), c.byte()
	if flags&headSum != 0 { // payloads of before there were checksums have none
		if c.bytes(sumTo - sumFrom); c.failed || binary.LittleEndian.Uint32(payload[sumFrom:]) != sumOf(payload) {
			t.broken = true
			return errSum
		}
	}
	key := flags&headKey != 0
	next := t.number + 1
	if next == 0 {
		next = 1
	}
	switch {
	case c.failed, flags&^headKnown != 0, key && number != 0:
		t.broken = true
		return errPayload
	case key:
		t.slots = t.slots[:0]
	case len(t.rows) == 0, t.broken, number != next:
		t.broken = true
		return errMissing
	}
	row := t.readRow(&c, flags)
	t.sections = t.sections[:0]
	for !c.failed && c.left() > 0 {
		t.readSection(&c)
	}
	t.number, t.broken = number, c.failed
	if t.broken {
		return errPayload
	}
	t.rows = append(t.rows, row)
	t.extend()
	return nil
}

func (t *Tail) readRow(c *cursor, flags byte) Row {
	var last Row
	if flags&headKey == 0 {
		last = t.rows[len(t.rows)-1]
	}
	row := Row{Interval: last.Interval, Run: last.Run, Seq: last.Seq + 1, Polled: flags&headPolled != 0}
	if flags&headInterval != 0 {
		row.Interval = c.varint()
	}
	row.At = last.At + row.Interval + c.varint()
	row.Elapsed = row.At - last.At + c.varint()
	if flags&headRun != 0 {
		row.Run = uint32(c.uvarint())
	}
	if flags&headSeq != 0 {
		row.Seq = last.Seq + c.uvarint()
	}
	return row
}

// readSection reads one collector's part into its slot.
func (t *Tail) readSection(c *cursor) {
	token := c.uvarint()
	index := int(min(token>>1, maxSlots))
	isNew := token&1 != 0
	if isNew != (index == len(t.slots)) || index >= maxSlots || index > len(t.slots) || slices.Contains(t.sections, index) {
		c.fail() // also when a collector came twice
		return
	}
	if isNew {
		t.slots = append(t.slots, t.newSlot(c))
	}
	t.sections = append(t.sections, index)
	last := t.slots[index].last
	for at := 0; at < len(last) && !c.failed; at++ {
		token := c.uvarint()
		gap := token >> 2
		if gap >= uint64(len(last)-at) {
			if gap > uint64(len(last)-at) || token&3 != 0 {
				c.fail()
			}
			return
		}
		at += int(gap)
		last[at] = c.change(token&3, last[at])
	}
}

func (t *Tail) newSlot(c *cursor) tailSlot {
	n := c.uvarint()
	if n == 0 || n > uint64(c.left()) { // an id takes a byte at least
		c.fail()
		return tailSlot{}
	}
	s := tailSlot{ids: make([]MetricID, n), last: make([]monolith.Num, n)}
	next := int64(0)
	for i := range s.ids {
		id := next + c.varint()
		if id < 0 || id > 1<<32-1 {
			c.fail()
			return tailSlot{}
		}
		s.ids[i] = MetricID(id)
		next = id + 1
	}
	return s
}

// extend adds the values of the row's sections to the columns.
func (t *Tail) extend() {
	row := len(t.rows) - 1
	for _, index := range t.sections {
		s := &t.slots[index]
		if s.to == nil {
			t.attach(s)
		}
		for i, position := range s.keep {
			n := s.last[position]
			col := s.to[i]
			if n.IsNone() {
				continue
			}
			if !col.value {
				col.value, t.ids = true, nil
				col.nums = make([]monolith.Num, 0, max(t.expected, row+1))
			}
			for len(col.nums) < row {
				col.nums = append(col.nums, monolith.Num{})
			}
			if len(col.nums) > row {
				col.nums = col.nums[:row] // the id came before in this row: the last one counts
			}
			col.nums = append(col.nums, n)
		}
	}
}

// attach connects a slot's wanted positions with their columns.
func (t *Tail) attach(s *tailSlot) {
	s.to = []*tailColumn{}
	for position, id := range s.ids {
		if t.want != nil && !t.want[id] {
			continue
		}
		col := t.columns[id]
		if col == nil {
			col = &tailColumn{}
			t.columns[id] = col
		}
		s.keep, s.to = append(s.keep, position), append(s.to, col)
	}
}

// Rows implements [Polls].
func (t *Tail) Rows() []Row { return t.rows }

// IDs implements [Polls].
func (t *Tail) IDs() []MetricID {
	if t.ids == nil {
		t.ids = make([]MetricID, 0, len(t.columns))
		for id, col := range t.columns {
			if col.value {
				t.ids = append(t.ids, id)
			}
		}
		slices.Sort(t.ids)
	}
	return t.ids
}

// Column implements [Polls]. It gives no error.
func (t *Tail) Column(id MetricID, dst []monolith.Num) ([]monolith.Num, error) {
	col := t.columns[id]
	if col == nil || !col.value {
		return dst[:0], nil
	}
	dst = append(slices.Grow(dst[:0], len(t.rows)), col.nums...)
	for len(dst) < len(t.rows) {
		dst = append(dst, monolith.Num{})
	}
	return dst, nil
}

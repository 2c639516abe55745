package history

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"

	"monolith"
)

// A head payload is
//
//	flags    1 byte, see below
//	number   1 byte: 0 in a key payload, then one more (modulo 255, never 0) than in the payload before
//	checksum 4 bytes where the flags say so, as all do that are written now: CRC-32C of what stands before and behind it
//	facts    varints: At against the one before less Interval, Elapsed less the distance in At; Interval, Run and
//	         Seq where the flags say that they are not as expected
//	sections of each collector that ran: its slot, the ids where the slot is new, the changes
//
// A slot is a list of ids with their last values. A change is a token, gap<<2 | op, and what the op
// needs; gap positions before it are unchanged. A gap up to the end of the slot ends the section.
const (
	headKey      = 1 << iota // every slot before is forgotten
	headPolled               // Row.Polled
	headInterval             // Interval follows
	headRun                  // Run follows
	headSeq                  // Seq is not one more; the difference follows
	headKnown    = headKey | headPolled | headInterval | headRun | headSeq | headSum

	// headSum says that there is a checksum. It is two bits, both set or both clear: a damaged one must not
	// switch the check off.
	headSum = 3 << 5
)

// Where the checksum stands in a payload that has one.
const (
	sumFrom = 2
	sumTo   = sumFrom + 4
)

// sumOf gives the checksum that a payload should have.
func sumOf(payload []byte) uint32 {
	return crc32.Update(crc32.Checksum(payload[:sumFrom], castagnoli), castagnoli, payload[sumTo:])
}

const (
	changeUp   = iota // an unsigned integer grew; from no value it grows from 0
	changeDown        // an unsigned integer fell
	changeTo          // a negative integer or a decimal, or an unsigned integer after one
	changeNone        // there is no value any more
)

// What a changeTo begins with.
const (
	toUnsigned = iota
	toNegative
	toFloat
)

// maxSlots bounds the slots of an encoder: a server whose names change all the time starts anew.
const maxSlots = 256

// Encoder writes the head payloads of one server. It is not safe for concurrent use.
type Encoder struct {
	started bool
	number  byte
	row     Row
	slots   []slot
}

// slot is a list of metrics that come together, and their last values.
type slot struct {
	ids  []MetricID
	last []monolith.Num
	used bool // by the payload being written
}

// NewEncoder makes an encoder whose first payload is a key payload: it needs nothing before it.
func NewEncoder() *Encoder { return &Encoder{} }

// Append appends the payload of a poll to dst: what changed since the payload before. An id that stands
// in several sections has the last of their values; a section with the very ids of one before it is left out.
// The encoder keeps the IDs slices, which must not change afterwards, and nothing of Nums.
func (e *Encoder) Append(dst []byte, row Row, sections []Section) []byte {
	if len(e.slots)+len(sections) > maxSlots {
		e.Reset()
	}
	begin, flags := len(dst), byte(headSum)
	if !e.started {
		e.started, e.number, e.row = true, 0, Row{}
		flags |= headKey
	} else if e.number++; e.number == 0 {
		e.number = 1
	}
	dst = e.appendRow(dst, flags, row)
	for i := range e.slots {
		e.slots[i].used = false
	}
	for _, s := range sections {
		if len(s.IDs) > 0 {
			dst = e.appendSection(dst, s)
		}
	}
	payload := dst[begin:]
	binary.LittleEndian.PutUint32(payload[sumFrom:], sumOf(payload))
	return dst
}

// Reset makes the next payload a key payload. Call it where a new block begins, so that the rows
// before can be deleted, and whenever a payload was made and not stored.
func (e *Encoder) Reset() {
	e.started = false
	clear(e.slots)
	e.slots = e.slots[:0]
}

// Key reports whether the next payload will be a key payload.
func (e *Encoder) Key() bool { return !e.started }

// IsKey reports whether a payload needs no other before it.
func IsKey(payload []byte) bool { return len(payload) > 0 && payload[0]&headKey != 0 }

func (e *Encoder) appendRow(dst []byte, flags byte, row Row) []byte {
	last := e.row
	e.row = row
	if row.Polled {
		flags |= headPolled
	}
	if row.Interval != last.Interval {
		flags |= headInterval
	}
	if row.Run != last.Run {
		flags |= headRun
	}
	if row.Seq != last.Seq+1 {
		flags |= headSeq
	}
	dst = append(dst, flags, e.number, 0, 0, 0, 0) // the checksum comes last
	if flags&headInterval != 0 {
		dst = binary.AppendVarint(dst, row.Interval)
	}
	dst = binary.AppendVarint(dst, row.At-last.At-row.Interval)
	dst = binary.AppendVarint(dst, row.Elapsed-(row.At-last.At))
	if flags&headRun != 0 {
		dst = binary.AppendUvarint(dst, uint64(row.Run))
	}
	if flags&headSeq != 0 {
		dst = binary.AppendUvarint(dst, row.Seq-last.Seq)
	}
	return dst
}

func (e *Encoder) appendSection(dst []byte, s Section) []byte {
	i := e.find(s.IDs)
	isNew := i < 0
	if isNew {
		i = len(e.slots)
		e.slots = append(e.slots, slot{ids: s.IDs, last: make([]monolith.Num, len(s.IDs)), used: true})
		dst = binary.AppendUvarint(dst, uint64(i)<<1|1)
		dst = binary.AppendUvarint(dst, uint64(len(s.IDs)))
		next := int64(0)
		for _, id := range s.IDs {
			dst = binary.AppendVarint(dst, int64(id)-next)
			next = int64(id) + 1
		}
	} else {
		if e.slots[i].used {
			return dst
		}
		e.slots[i].used = true
		dst = binary.AppendUvarint(dst, uint64(i)<<1)
	}
	last := e.slots[i].last
	at := 0 // the position after the last change
	for j, n := range s.Nums[:len(last)] {
		if n == last[j] {
			continue
		}
		dst = appendChange(dst, uint64(j-at), last[j], n)
		last[j] = n
		at = j + 1
	}
	if at < len(last) {
		dst = binary.AppendUvarint(dst, uint64(len(last)-at)<<2)
	}
	return dst
}

// find gives the slot of a list of ids: the very slice, or one with the same content.
func (e *Encoder) find(ids []MetricID) int {
	for i := range e.slots {
		if s := e.slots[i].ids; len(s) == len(ids) && &s[0] == &ids[0] {
			return i
		}
	}
	for i := range e.slots {
		if slices.Equal(e.slots[i].ids, ids) {
			e.slots[i].ids = ids
			return i
		}
	}
	return -1
}

func appendChange(dst []byte, gap uint64, from, to monolith.Num) []byte {
	bits, isFloat, isNegative, ok := to.Bits()
	if !ok {
		return binary.AppendUvarint(dst, gap<<2|changeNone)
	}
	before, wasFloat, wasNegative, was := from.Bits()
	switch {
	case isFloat:
		dst = append(binary.AppendUvarint(dst, gap<<2|changeTo), toFloat)
		return binary.LittleEndian.AppendUint64(dst, bits)
	case isNegative:
		dst = append(binary.AppendUvarint(dst, gap<<2|changeTo), toNegative)
		return binary.AppendUvarint(dst, -bits)
	case was && (wasFloat || wasNegative):
		dst = append(binary.AppendUvarint(dst, gap<<2|changeTo), toUnsigned)
		return binary.AppendUvarint(dst, bits)
	case bits < before:
		dst = binary.AppendUvarint(dst, gap<<2|changeDown)
		return binary.AppendUvarint(dst, before-bits)
	}
	dst = binary.AppendUvarint(dst, gap<<2+changeUp)
	return binary.AppendUvarint(dst, bits-before)
}

// change reads what follows a token of the op.
func (c *cursor) change(op uint64, from monolith.Num) monolith.Num {
	before, wasFloat, wasNegative, _ := from.Bits()
	switch op {
	case changeUp, changeDown:
		if wasFloat || wasNegative {
			c.fail()
		}
		v := c.uvarint()
		if op == changeDown {
			return monolith.Uint(before - v)
		}
		return monolith.Uint(before + v)
	case changeTo:
		switch c.byte() {
		case toUnsigned:
			return monolith.Uint(c.uvarint())
		case toNegative:
			return monolith.NumFromBits(-c.uvarint(), false, true)
		case toFloat:
			if b := c.bytes(8); b != nil {
				return monolith.Float(math.Float64frombits(binary.LittleEndian.Uint64(b)))
			}
		}
		c.fail()
	}
	return monolith.Num{}
}

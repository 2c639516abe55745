package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"monolith"
)

// A table is what raw and tier blocks are written as: rows without names, and columns of numbers under integer keys.
//
//	magic     4 bytes: "Mh", the kind of block, the version of the form
//	checksum  4 bytes: CRC-32C of what follows
//	lengths   uvarints: rows; the directory, and the same packed; the data
//	directory zstd: which rows have values (masks); of each column its key, form, prediction, first value …
//	data      the residuals of the columns, in the directory's order; padding
//
// A column that never changes, follows another exactly or grows steadily has no residuals and stands in the directory
// only. A reader unpacks the directory, and then decodes only the columns that it is asked for.

// ErrCorrupt is inside every error about bytes that are not what this package wrote.
var ErrCorrupt = errors.New("corrupt")

// The forms of a column's values.
const (
	formUnsigned uint8 = iota // integers from 0
	formSigned                // integers of both signs, below 2^63
	formDecimal               // decimals that are integers when multiplied by a power of ten
	formMixed                 // anything: 64 bits each, and a number that says what they are
)

// What the 64 bits of a value of formMixed are.
const (
	isUnsigned = iota
	isBelowZero
	isFloating
)

// codeSparse is set in the byte that holds a code's k when the code is sparse, and another byte follows.
const codeSparse = 1 << 6

// A column's shape byte holds its form, its prediction and whether
const (
	shapeMasked = 1 << (iota + 5) // only some rows have a value
	shapeCoded                    // there are residuals
	shapeKnown  = 1<<7 - 1
)

const (
	tableVersion = 1
	// maxDirectory bounds what a hostile block can make us allocate.
	maxDirectory = 64 << 20
	// maxExponent is the most decimals for which a column of decimals is tried as integers.
	maxExponent = 9
)

// keyOf makes a column's key of a metric and one of up to 16 fields. Keys below 16 are the table's own.
func keyOf(id MetricID, field uint64) uint64 { return (uint64(id)+1)<<4 | field }

func metricOf(key uint64) (id MetricID, field uint64) { return MetricID(key>>4 - 1), key & 15 }

// coders are zstd's, shared by all: both are made to be used by several goroutines at once.
type coders struct {
	enc *zstd.Encoder
	dec *zstd.Decoder
}

var shared = sync.OnceValues(func() (c coders, err error) {
	c.enc, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithEncoderCRC(false), zstd.WithSingleSegment(true), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return c, err
	}
	c.dec, err = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxDirectory), zstd.WithDecoderLowmem(true))
	return c, err
})

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// tableWriter builds a table. Columns are added in ascending order of their keys.
type tableWriter struct {
	rows    int
	masks   [][]byte
	maskOf  map[string]int
	last    uint64
	columns int

	keys, shapes, firsts, rest []byte // the directory, by field, since like compresses with like

	data []byte

	chooser chooser
	values  []uint64 // of the column being added, where it has one
	forms   []uint64 // of each of them, as in isUnsigned and so on
	present []byte
}

func newTableWriter(rows int) *tableWriter {
	return &tableWriter{rows: rows, maskOf: make(map[string]int), present: make([]byte, (rows+7)/8)}
}

// add writes a column; one without any value is left out.
func (w *tableWriter) add(key uint64, nums []monolith.Num) {
	mask := w.gather(nums)
	if len(w.values) == 0 {
		return
	}
	form, exponent := w.reform()
	s, residuals := w.chooser.choose(w.values, w.columns, mask)

	w.keys = binary.AppendUvarint(w.keys, key-w.last)
	w.last = key
	shape := form | s.method<<2
	if mask > 0 {
		shape |= shapeMasked
		w.rest = binary.AppendUvarint(w.rest, uint64(mask))
	}
	if s.coded {
		shape |= shapeCoded
	}
	w.shapes = append(w.shapes, shape)
	switch {
	case s.method == predictLevel:
	case form == formUnsigned:
		w.firsts = binary.AppendUvarint(w.firsts, s.first)
	default:
		w.firsts = binary.AppendVarint(w.firsts, int64(s.first))
	}
	if form == formDecimal {
		w.rest = append(w.rest, exponent)
	}
	if s.method != predictConstant {
		w.rest = binary.AppendVarint(w.rest, s.offset)
		if s.method != predictLevel {
			w.rest = binary.AppendUvarint(w.rest, s.unit)
		}
		if s.method == predictOther {
			w.rest = binary.AppendUvarint(w.rest, uint64(w.columns-s.base))
			w.rest = binary.AppendVarint(w.rest, s.ratio)
		}
	}
	if s.coded {
		w.append(residuals, s.code)
	}
	if form == formMixed {
		by, _ := w.chooser.plan(w.forms)
		w.append(w.forms, by)
	}
	w.columns++
}

// append writes numbers to the data, and to the directory how to read them.
func (w *tableWriter) append(numbers []uint64, by code) {
	before := len(w.data)
	w.data = w.chooser.appendNumbers(w.data, numbers, by)
	if by.sparse {
		w.rest = append(w.rest, by.k|codeSparse, by.runsK)
	} else {
		w.rest = append(w.rest, by.k)
	}
	w.rest = binary.AppendUvarint(w.rest, uint64(len(w.data)-before))
}

// gather puts the values that are there into w.values and w.forms, and gives the number of the mask
// that says which rows they are of: 0 is all rows.
func (w *tableWriter) gather(nums []monolith.Num) (mask int) {
	w.values, w.forms = w.values[:0], w.forms[:0]
	clear(w.present)
	for i, n := range nums {
		bits, isFloat, isNegative, ok := n.Bits()
		if !ok {
			continue
		}
		w.present[i>>3] |= 1 << (i & 7)
		form := uint64(isUnsigned)
		if isFloat {
			form = isFloating
		} else if isNegative {
			form = isBelowZero
		}
		w.values, w.forms = append(w.values, bits), append(w.forms, form)
	}
	if len(w.values) == w.rows || len(w.values) == 0 {
		return 0
	}
	mask, known := w.maskOf[string(w.present)]
	if !known {
		w.masks = append(w.masks, slices.Clone(w.present))
		mask = len(w.masks)
		w.maskOf[string(w.present)] = mask
	}
	return mask
}

// reform finds the narrowest form of the gathered values and turns w.values into it.
func (w *tableWriter) reform() (form, exponent uint8) {
	floats, signed, below := 0, true, false
	for i, f := range w.forms {
		negative := int64(w.values[i]) < 0
		if f == isFloating {
			floats++
		} else if negative != (f == isBelowZero) {
			signed = false
		}
		below = below || f == isBelowZero
	}
	switch {
	case floats == 0 && !below:
		return formUnsigned, 0
	case floats == 0 && signed:
		return formSigned, 0
	case floats == len(w.values):
		if e, ok := decimals(w.values); ok {
			for i, v := range w.values {
				w.values[i] = uint64(int64(math.Round(math.Float64frombits(v) * power10[e])))
			}
			return formDecimal, e
		}
	}
	return formMixed, 0
}

var power10 = [maxExponent + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// decimals gives the least number of decimals with which all floats, given as bits, are exact.
func decimals(floats []uint64) (e uint8, ok bool) {
	exact := func(bits uint64) bool {
		scaled := math.Round(math.Float64frombits(bits) * power10[e])
		return math.Abs(scaled) < 1<<53 && math.Float64bits(scaled/power10[e]) == bits && (scaled != 0 || bits == 0)
	}
	for _, f := range floats {
		for !exact(f) {
			if e++; e > maxExponent {
				return 0, false
			}
		}
	}
	for _, f := range floats { // a large one may not bear the decimals that a later one needed
		if !exact(f) {
			return 0, false
		}
	}
	return e, true
}

// finish gives the table.
func (w *tableWriter) finish(kind byte) ([]byte, error) {
	z, err := shared()
	if err != nil {
		return nil, fmt.Errorf("history: marshal block: %w", err)
	}
	directory := binary.AppendUvarint(nil, uint64(len(w.masks)))
	for _, m := range w.masks {
		directory = append(directory, m...)
	}
	directory = binary.AppendUvarint(directory, uint64(w.columns))
	for _, part := range [][]byte{w.keys, w.firsts, w.rest} {
		directory = binary.AppendUvarint(directory, uint64(len(part)))
	}
	for _, part := range [][]byte{w.keys, w.shapes, w.firsts, w.rest} {
		directory = append(directory, part...)
	}
	packed := z.enc.EncodeAll(directory, nil)

	dst := make([]byte, 0, len(packed)+len(w.data)+64)
	dst = append(dst, 'M', 'h', kind, tableVersion, 0, 0, 0, 0)
	for _, v := range []int{w.rows, len(directory), len(packed), len(w.data)} {
		dst = binary.AppendUvarint(dst, uint64(v))
	}
	dst = append(dst, packed...)
	dst = append(dst, w.data...)
	dst = append(dst, make([]byte, padding)...)
	binary.LittleEndian.PutUint32(dst[4:], crc32.Checksum(dst[8:], castagnoli))
	return dst, nil
}

package history

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/bits"

	"github.com/klauspost/compress/zstd"
)

// table is an opened table. Nothing of it changes.
type table struct {
	rows    int
	masks   []mask
	keys    []uint64
	columns []column
	data    []byte // with the padding
}

// mask says which rows a column has values in.
type mask struct {
	bits  []byte
	count int
}

// column is a directory entry. Most are constants: what only the others have is kept apart.
type column struct {
	first          uint64
	coding         *coding // nil: a constant
	mask           int32
	form, exponent uint8
}

// coding is how the values of a column are written that are not all the same.
type coding struct {
	series
	residualsIn extent
	formsIn     extent // of formMixed
	formsCode   code
}

// extent is a column's part of the data.
type extent struct{ from, to uint32 }

// size gives about how many bytes the directory takes that was read.
func (t *table) size() int {
	n := len(t.columns) * (8 + 24) // its key and itself
	for i := range t.columns {
		if t.columns[i].coding != nil {
			n += 88
		}
	}
	for _, m := range t.masks {
		n += 32 + len(m.bits)
	}
	return n
}

func corrupt(format string, args ...any) error {
	return fmt.Errorf("history: open block: %w: "+format, append([]any{ErrCorrupt}, args...)...)
}

// openTable checks a table and reads its directory. It keeps b.
func openTable(b []byte, kind byte, maxRows int) (*table, error) {
	if len(b) < 8 || b[0] != 'M' || b[1] != 'h' {
		return nil, corrupt("this is no block")
	}
	if b[2] != kind {
		return nil, corrupt("this is a block of kind %q, not %q", b[2], kind)
	}
	if b[3] != tableVersion {
		return nil, fmt.Errorf("history: open block: its form %d is newer than this program's %d", b[3], tableVersion)
	}
	if sum := crc32.Checksum(b[8:], castagnoli); sum != binary.LittleEndian.Uint32(b[4:]) {
		return nil, corrupt("the checksum does not match")
	}
	c := cursor{data: b[8:]}
	rows, rawLen, packedLen, dataLen := c.uvarint(), c.uvarint(), c.uvarint(), c.uvarint()
	if c.failed || rows == 0 || rows > uint64(maxRows) || rawLen > maxDirectory || dataLen > math.MaxUint32-padding {
		return nil, corrupt("its head makes no sense")
	}
	t := &table{rows: int(rows)}
	packed := c.bytes(packedLen)
	t.data = c.bytes(dataLen + padding)
	if c.failed || c.left() > 0 {
		return nil, corrupt("its lengths do not add up")
	}
	directory, err := unpack(packed, int(rawLen))
	if err != nil {
		return nil, corrupt("directory: %v", err)
	}
	if err := t.readDirectory(directory); err != nil {
		return nil, err
	}
	return t, nil
}

// spareBytes of room behind what it writes let the decompressor take its faster path.
const spareBytes = 64

// unpack decompresses what must be size bytes long, and allocates no more than that.
func unpack(packed []byte, size int) ([]byte, error) {
	var h zstd.Header
	if err := h.Decode(packed); err != nil {
		return nil, err
	}
	if !h.HasFCS || h.FrameContentSize != uint64(size) {
		return nil, fmt.Errorf("%d bytes where %d should be", h.FrameContentSize, size)
	}
	z, err := shared()
	if err != nil {
		return nil, err
	}
	data, err := z.dec.DecodeAll(packed, make([]byte, 0, size+spareBytes))
	if err != nil {
		return nil, err
	}
	if len(data) != size {
		return nil, fmt.Errorf("%d bytes where %d should be", len(data), size)
	}
	return data, nil
}

func (t *table) readDirectory(directory []byte) error {
	c := cursor{data: directory}
	bitmap := uint64(t.rows+7) / 8
	n := c.uvarint()
	if n > uint64(c.left())/bitmap {
		return corrupt("directory: %d masks", n)
	}
	t.masks = make([]mask, n+1)
	t.masks[0].count = t.rows
	for i := range n {
		m := mask{bits: c.bytes(bitmap)}
		for _, b := range m.bits {
			m.count += bits.OnesCount8(b)
		}
		if tail := t.rows & 7; m.count == 0 || tail != 0 && m.bits[bitmap-1]>>tail != 0 {
			return corrupt("directory: mask %d makes no sense", i)
		}
		t.masks[i+1] = m
	}
	columns := c.uvarint()
	keysLen, firstsLen, restLen := c.uvarint(), c.uvarint(), c.uvarint()
	keys, shapes, firsts, rest := cursor{data: c.bytes(keysLen)}, c.bytes(columns), cursor{data: c.bytes(firstsLen)}, cursor{data: c.bytes(restLen)}
	if c.failed || c.left() > 0 {
		return corrupt("directory: its lengths do not add up")
	}
	t.keys, t.columns = make([]uint64, columns), make([]column, columns)
	varying := 0
	for _, shape := range shapes {
		if !isConstant(shape) {
			varying++
		}
	}
	codings := make([]coding, varying)
	var key, at uint64
	for i, shape := range shapes {
		step := keys.uvarint()
		if key+step <= key && i > 0 {
			return corrupt("directory: keys do not ascend")
		}
		key += step
		t.keys[i] = key
		col := &t.columns[i]
		if shape == 0 { // nearly all are constant integers
			col.first = firsts.uvarint()
			continue
		}
		if !isConstant(shape) {
			col.coding, codings = &codings[0], codings[1:]
		}
		if err := col.read(shape, &firsts, &rest, &at); err != nil {
			return err
		}
		if int(col.mask) >= len(t.masks) || col.coding != nil && col.coding.method == predictOther && !t.mayFollow(i) {
			return corrupt("directory: column %d refers to what is not there", i)
		}
	}
	if keys.failed || firsts.failed || rest.failed || keys.left()+firsts.left()+rest.left() > 0 {
		return corrupt("directory: it does not end with its last column")
	}
	if at != uint64(len(t.data)-padding) {
		return corrupt("the data is not as long as its columns")
	}
	return nil
}

// isConstant reports whether a column of the shape is nothing but its first value.
func isConstant(shape byte) bool { return shape>>2&7 == predictConstant && shape&3 != formMixed }

// read reads a column's entry. at is where its part of the data begins, and then where it ends.
func (col *column) read(shape byte, firsts, rest *cursor, at *uint64) error {
	method := shape >> 2 & 7
	col.form = shape & 3
	if method >= predictions || shape > shapeKnown {
		return corrupt("directory: shape %#x is not known", shape)
	}
	if shape&shapeMasked != 0 {
		col.mask = int32(min(rest.uvarint(), 1<<30))
	}
	switch {
	case method == predictLevel:
	case col.form == formUnsigned:
		col.first = firsts.uvarint()
	default:
		col.first = uint64(firsts.varint())
	}
	if col.form == formDecimal {
		if col.exponent = rest.byte(); col.exponent > maxExponent {
			return corrupt("directory: %d decimals", col.exponent)
		}
	}
	if col.coding == nil {
		return nil
	}
	c := col.coding
	c.method, c.first = method, col.first
	if method != predictConstant {
		c.offset = rest.varint()
		if method != predictLevel {
			c.unit = rest.uvarint()
		}
		if method == predictOther {
			c.base = int(min(rest.uvarint(), 1<<30)) // how far back; made absolute by mayFollow
			c.ratio = rest.varint()
		}
	}
	ok := true
	if c.coded = shape&shapeCoded != 0; c.coded {
		c.code, c.residualsIn, ok = rest.extent(at)
	}
	if col.form == formMixed && ok {
		c.formsCode, c.formsIn, ok = rest.extent(at)
	}
	if !ok {
		return corrupt("directory: a code makes no sense")
	}
	return nil
}

// extent reads how numbers are coded, and how many bytes of the data from at on they take.
func (c *cursor) extent(at *uint64) (by code, e extent, ok bool) {
	b := c.byte()
	by = code{k: b & maxK, sparse: b&codeSparse != 0}
	if by.sparse {
		by.runsK = c.byte()
	}
	n := c.uvarint()
	if b&^(maxK|codeSparse) != 0 || by.runsK > maxK || n > math.MaxUint32-*at {
		return by, e, false
	}
	e = extent{uint32(*at), uint32(*at + n)}
	*at += n
	return by, e, true
}

// mayFollow makes column i's reference absolute and checks that it leads to an earlier column of the same rows whose
// own references end soon.
func (t *table) mayFollow(i int) bool {
	c := t.columns[i].coding
	if c.base <= 0 || c.base > i {
		return false
	}
	c.base = i - c.base
	for range maxDepth + 1 {
		b := &t.columns[c.base]
		if b.mask != t.columns[i].mask || b.coding == nil {
			return false
		}
		switch c = b.coding; c.method {
		case predictLevel, predictConstant:
			return false
		case predictDelta, predictDouble:
			return true
		}
	}
	return false
}

package history

import (
	"math"
	"slices"
	"sync"

	"monolith"
)

// scratch are the buffers of decoding columns. They remember what other columns of the same table are predicted from: a
// graph asks for one after another, and many of them follow the same few.
type scratch struct {
	table    *table
	bases    map[*coding][]int64
	spare    [][]int64
	integers []int64
	values   []uint64
	nums     []monolith.Num
	floats   []float64
}

// maxKept bounds what a scratch remembers.
const maxKept = 64

var scratches = sync.Pool{New: func() any { return &scratch{bases: make(map[*coding][]int64)} }}

// scratch gives buffers for decoding columns of the table; they go back into scratches.
func (t *table) scratch() *scratch {
	s := scratches.Get().(*scratch)
	if s.table != t {
		for c, b := range s.bases {
			s.spare = append(s.spare, b)
			delete(s.bases, c)
		}
		s.table = t
	}
	return s
}

func grown64(b []int64, n int) []int64 { return slices.Grow(b[:0], n)[:n] }

// base gives the differences of a column that another one is predicted from.
func (t *table) base(c *coding, n int, s *scratch) ([]int64, error) {
	if kept, ok := s.bases[c]; ok {
		return kept, nil
	}
	var out []int64
	if last := len(s.spare) - 1; last >= 0 {
		out, s.spare = s.spare[last], s.spare[:last]
	}
	out, err := t.differences(grown64(out, n), c, s)
	if err != nil {
		return nil, err
	}
	if len(s.bases) < maxKept {
		s.bases[c] = out
	}
	return out, nil
}

// residuals decodes a column's residuals into dst, with the offset added to each.
func (t *table) residuals(dst []int64, c *coding, offset int64) error {
	if !c.coded {
		for i := range dst {
			dst[i] = offset
		}
		return nil
	}
	return t.numbers(dst, c.residualsIn, c.code, offset)
}

func (t *table) numbers(dst []int64, in extent, by code, offset int64) error {
	r := bitReader{data: t.data, pos: uint(in.from) * 8, end: uint(in.to) * 8}
	if !readNumbers(dst, r, by, offset) {
		return corrupt("a column is longer than its data")
	}
	return nil
}

// find gives the place of a key.
func (t *table) find(key uint64) (int, bool) { return slices.BinarySearch(t.keys, key) }

// differences decodes the differences, in units, of a column that is predicted by them, into out.
func (t *table) differences(out []int64, c *coding, s *scratch) ([]int64, error) {
	var base []int64
	if c.method == predictOther {
		var err error
		if base, err = t.base(t.columns[c.base].coding, len(out), s); err != nil {
			return nil, err
		}
	}
	if err := t.residuals(out, c, c.offset); err != nil {
		return nil, err
	}
	switch c.method {
	case predictOther:
		for i, x := range base {
			out[i] += proportional(x, c.ratio)
		}
	case predictDouble:
		// The offset is in each residual, and must be in the first difference only.
		d := c.offset
		for i, r := range out {
			d += r - c.offset
			out[i] = d
		}
	}
	return out, nil
}

// decode gives the values of a column in the rows that have one, as 64 bits in its form.
func (t *table) decode(col *column, s *scratch) ([]uint64, error) {
	n := t.masks[col.mask].count
	s.values = slices.Grow(s.values[:0], n)[:n]
	c := col.coding
	switch {
	case c == nil || c.method == predictConstant:
		for i := range s.values {
			s.values[i] = col.first
		}
	case c.method == predictLevel:
		s.integers = grown64(s.integers, n)
		out := s.integers
		if err := t.residuals(out, c, c.offset); err != nil {
			return nil, err
		}
		for i, v := range out {
			s.values[i] = uint64(v)
		}
	default:
		s.integers = grown64(s.integers, n-1)
		d, err := t.differences(s.integers, c, s)
		if err != nil {
			return nil, err
		}
		c.sum(s.values, d)
	}
	return s.values, nil
}

// column decodes column i, one number a row, into dst's memory where that is large enough.
func (t *table) column(i int, dst []monolith.Num) ([]monolith.Num, error) {
	s := t.scratch()
	defer scratches.Put(s)
	return t.fill(&t.columns[i], s, dst)
}

func (t *table) fill(col *column, s *scratch, dst []monolith.Num) ([]monolith.Num, error) {
	values, err := t.decode(col, s)
	if err != nil {
		return dst[:0], err
	}
	dst = slices.Grow(dst[:0], t.rows)[:t.rows]
	nums := dst[:len(values)]
	switch col.form {
	case formUnsigned:
		for i, v := range values {
			nums[i] = monolith.Uint(v)
		}
	case formSigned:
		for i, v := range values {
			nums[i] = monolith.Int(int64(v))
		}
	case formDecimal:
		divisor := power10[col.exponent]
		for i, v := range values {
			nums[i] = monolith.Float(float64(int64(v)) / divisor)
		}
	case formMixed:
		s.integers = grown64(s.integers, len(values))
		forms := s.integers
		if err := t.numbers(forms, col.coding.formsIn, col.coding.formsCode, 0); err != nil {
			return dst[:0], err
		}
		for i, v := range values {
			switch zigzag(forms[i]) {
			case isFloating:
				nums[i] = monolith.Float(math.Float64frombits(v)) // NaN, which nobody wrote, is no value
			case isBelowZero:
				nums[i] = monolith.NumFromBits(v, false, true)
			default:
				nums[i] = monolith.Uint(v)
			}
		}
	}
	if col.mask > 0 {
		spread(dst, len(values), t.masks[col.mask].bits)
	}
	return dst, nil
}

// spread moves the n numbers at the front of dst to the rows that the mask names, from the back so that
// none is overwritten before it moved.
func spread(dst []monolith.Num, n int, present []byte) {
	for row := len(dst) - 1; row >= 0; row-- {
		if present[row>>3]>>(row&7)&1 == 0 {
			dst[row] = monolith.Num{}
			continue
		}
		n--
		dst[row] = dst[n]
	}
}

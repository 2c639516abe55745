package history

import (
	"math"
	"slices"
	"sync"

	"monolith"
)

// scratch are the buffers of decoding one column.
type scratch struct {
	integers [maxDepth + 2][]int64 // by the number of references on the way
	values   []uint64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (s *scratch) room(depth, n int) []int64 {
	s.integers[depth] = slices.Grow(s.integers[depth][:0], n)[:n]
	return s.integers[depth]
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

// differences decodes the n differences, in units, of a column that is predicted by them. depth counts the references that
// led here.
func (t *table) differences(c *coding, n int, s *scratch, depth int) ([]int64, error) {
	var base []int64
	if c.method == predictOther {
		var err error
		base, err = t.differences(t.columns[c.base].coding, n, s, depth+1)
		if err != nil || !c.coded && c.offset == 0 && c.ratio == 1<<ratioBits {
			return base, err
		}
	}
	out := s.room(depth, n)
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
		out := s.room(0, n)
		if err := t.residuals(out, c, c.offset); err != nil {
			return nil, err
		}
		for i, v := range out {
			s.values[i] = uint64(v)
		}
	default:
		d, err := t.differences(c, n-1, s, 0)
		if err != nil {
			return nil, err
		}
		c.sum(s.values, d)
	}
	return s.values, nil
}

// column decodes column i, one number a row, into dst's memory where that is large enough.
func (t *table) column(i int, dst []monolith.Num) ([]monolith.Num, error) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	col := &t.columns[i]
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
		forms := s.room(0, len(values))
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

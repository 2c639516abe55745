package history

import (
	"math"
	"slices"
	"sync"

	"monolith"
)

// scratch are the buffers of decoding one column.
type scratch struct {
	differences [maxDepth + 1][]int64
	values      []uint64
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (s *scratch) at(depth, n int) []int64 {
	s.differences[depth] = slices.Grow(s.differences[depth][:0], n)[:n]
	return s.differences[depth]
}

// planesOf gives the residual bytes of a column: two slices of its frame's parts, each with what follows.
func (t *table) planesOf(col *column) (low, high []byte, err error) {
	if col.width == 0 && col.form != formMixed {
		return nil, nil, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f := &t.frames[col.frame]
	if f.data == nil && f.err == nil {
		f.data, f.err = unpack(f.packed, f.low+f.high)
		if f.err != nil {
			f.err = corrupt("frame %d: %v", col.frame, f.err)
		}
	}
	if f.err != nil {
		return nil, nil, f.err
	}
	return f.data[col.low:f.low], f.data[f.low+int(col.high):], nil
}

// find gives the place of a key.
func (t *table) find(key uint64) (int, bool) { return slices.BinarySearch(t.keys, key) }

// differences decodes the differences, in units, of a column that is predicted by them.
func (t *table) differences(col *column, s *scratch, depth int) ([]int64, error) {
	low, high, err := t.planesOf(col)
	if err != nil {
		return nil, err
	}
	out := s.at(depth, col.residuals(t.masks[col.mask].count))
	switch col.method {
	case predictDelta:
		readPlanes(out, low, high, col.width, col.offset)
	case predictDouble:
		readPlanes(out, low, high, col.width, 0)
		d := col.offset
		for i, r := range out {
			d += r
			out[i] = d
		}
	case predictOther:
		base, err := t.differences(&t.columns[col.base], s, depth+1)
		if err != nil {
			return nil, err
		}
		if col.width == 0 && col.offset == 0 && col.ratio == 1<<ratioBits {
			return base, nil
		}
		readPlanes(out, low, high, col.width, col.offset)
		for i, x := range base {
			out[i] += proportional(x, col.ratio)
		}
	}
	return out, nil
}

// decode gives the values of a column in the rows that have one, as 64 bits in its form.
func (t *table) decode(col *column, s *scratch) ([]uint64, error) {
	n := t.masks[col.mask].count
	s.values = slices.Grow(s.values[:0], n)[:n]
	switch col.method {
	case predictConstant:
		for i := range s.values {
			s.values[i] = col.first
		}
	case predictLevel:
		low, high, err := t.planesOf(col)
		if err != nil {
			return nil, err
		}
		out := s.at(0, n)
		readPlanes(out, low, high, col.width, col.offset)
		for i, v := range out {
			s.values[i] = uint64(v)
		}
	default:
		d, err := t.differences(col, s, 0)
		if err != nil {
			return nil, err
		}
		col.sum(s.values, d)
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
		_, high, err := t.planesOf(col)
		if err != nil {
			return dst[:0], err
		}
		forms := high[col.residuals(len(values))*max(int(col.width)-1, 0):]
		for i, v := range values {
			if nums[i] = monolith.NumFromBits(v, forms[i] == 2, forms[i] == 1); forms[i] == 2 {
				nums[i] = monolith.Float(math.Float64frombits(v)) // NaN, which nobody wrote, is no value
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

package monolith

import (
	"math"
	"strconv"
)

// Floats is a row of values in which NaN means "no value"; JSON shows those as null.
type Floats []float64

// MarshalJSON writes the shortest text that reads back as the same number; NaN and ±Inf become null.
func (f Floats) MarshalJSON() ([]byte, error) {
	return f.AppendJSON(make([]byte, 0, 2+8*len(f))), nil
}

// AppendJSON appends what MarshalJSON gives: encoding/json reads every byte of that once more, which
// is half the price of an answer of many values.
func (f Floats) AppendJSON(out []byte) []byte {
	if f == nil {
		return append(out, "null"...)
	}
	out = append(out, '[')
	for i, v := range f {
		if i > 0 {
			out = append(out, ',')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			out = append(out, "null"...)
		} else if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			out = strconv.AppendInt(out, int64(v), 10)
		} else {
			out = strconv.AppendFloat(out, v, 'g', -1, 64)
		}
	}
	return append(out, ']')
}

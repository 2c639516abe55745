package monolith

import (
	"math"
	"strconv"
)

// Floats is a row of values in which NaN means "no value"; JSON shows those as null.
type Floats []float64

// floatDigits is how many significant digits a fraction is written with. Quotients of counters have seventeen, of which
// nobody can say what the last ones mean; they would be half of every answer and most of the time to write it.
const floatDigits = 12

// MarshalJSON writes whole numbers as they are and fractions with at most twelve significant digits; NaN and ±Inf
// become null.
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
		switch {
		case math.IsNaN(v) || math.IsInf(v, 0):
			out = append(out, "null"...)
		case v != math.Trunc(v):
			out = strconv.AppendFloat(out, v, 'g', floatDigits, 64)
		case math.Abs(v) < 1<<53:
			out = strconv.AppendInt(out, int64(v), 10)
		default:
			out = strconv.AppendFloat(out, v, 'g', -1, 64)
		}
	}
	return append(out, ']')
}

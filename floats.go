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

// MarshalJSON writes integers below 10^15 as they are and other numbers with at most twelve significant digits; NaN
// and ±Inf become null.
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
			out = appendFraction(out, v)
		}
	}
	return append(out, ']')
}

var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// pairs are the numbers from 00 to 99.
const pairs = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960" +
	"616263646566676869707172737475767778798081828384858687888990919293949596979899"

// appendFraction appends a number that is no integer. Those of common size become an integer first, of which the digits are
// written with the point between them: a third of the price of strconv's way, which is exact for all numbers.
func appendFraction(out []byte, v float64) []byte {
	size := math.Abs(v)
	if size < 1e-3 || size >= tens[floatDigits-1] {
		return strconv.AppendFloat(out, v, 'g', floatDigits, 64)
	}
	place := 0 // of the first digit that is not 0, before the point
	switch {
	case size < 1e-2:
		place = -3
	case size < 1e-1:
		place = -2
	case size < 1:
		place = -1
	default:
		// 1233/4096 is a bit less than log10(2): this is the place, or one below.
		if place = (int(math.Float64bits(size)>>52) - 1023) * 1233 >> 12; size >= tens[place+1] {
			place++
		}
	}
	decimals := floatDigits - 1 - place
	scaled := uint64(math.RoundToEven(size * tens[decimals]))

	var digits [16]byte
	for end := 8; end <= 16; end += 8 {
		part := uint32(scaled / 1e8)
		if end == 16 {
			part = uint32(scaled % 1e8)
		}
		for i := end - 2; i >= end-8; i -= 2 {
			pair := part % 100 * 2
			part /= 100
			digits[i], digits[i+1] = pairs[pair], pairs[pair+1]
		}
	}
	point := len(digits) - decimals
	first, last := point-1-max(place, 0), len(digits)
	if first > 0 && digits[first-1] != '0' { // it was rounded up to one digit more
		first--
	}
	for last > point && digits[last-1] == '0' {
		last--
	}
	if v < 0 {
		out = append(out, '-')
	}
	out = append(out, digits[first:point]...)
	if last > point {
		out = append(append(out, '.'), digits[point:last]...)
	}
	return out
}

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
			out = appendFraction(out, v)
		case math.Abs(v) < 1<<53:
			out = strconv.AppendInt(out, int64(v), 10)
		default:
			out = strconv.AppendFloat(out, v, 'g', -1, 64)
		}
	}
	return append(out, ']')
}

// tens are the powers of ten that a fraction of middling size is multiplied by. All are exact.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16}

// appendFraction writes what strconv.AppendFloat(out, v, 'g', floatDigits, 64) does, in less than half the time: most
// fractions are near enough to one that all their digits fit into one integer.
func appendFraction(out []byte, v float64) []byte {
	a := math.Abs(v)
	if a < 1e-4 || a >= 1e11 {
		return strconv.AppendFloat(out, v, 'g', floatDigits, 64)
	}
	// The power of two gives that of ten, or one less: the logarithm of 2 is a little more than 77/256.
	power := (int(math.Float64bits(a)>>52) - 1023) * 77 >> 8
	places := floatDigits - 1 - power // behind the point
	scaled := a * tens[places]
	if scaled >= tens[floatDigits] {
		places--
		scaled = a * tens[places]
	}
	whole := uint64(scaled)
	// The product is off by a ten-thousandth at most: only near the middle may it be rounded to the wrong side.
	switch rest := scaled - float64(whole); {
	case rest > 0.501:
		whole++
	case rest >= 0.499:
		return strconv.AppendFloat(out, v, 'g', floatDigits, 64)
	}
	if whole == uint64(tens[floatDigits]) { // 9.99… became 10
		whole, places = whole/10, places-1
	}
	var digits [floatDigits]byte
	for i, half := range [2]uint32{uint32(whole / 1e6), uint32(whole % 1e6)} {
		for at := 6*i + 5; at >= 6*i; at-- {
			digits[at] = '0' + byte(half%10)
			half /= 10
		}
	}
	if v < 0 {
		out = append(out, '-')
	}
	last := floatDigits
	for digits[last-1] == '0' {
		last--
	}
	point := floatDigits - places
	if point <= 0 {
		out = append(out, "0.000"[:2-point]...)
		return append(out, digits[:last]...)
	}
	out = append(out, digits[:point]...)
	if last > point {
		out = append(out, '.')
		out = append(out, digits[point:last]...)
	}
	return out
}

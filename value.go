package monolith

import (
	"math"
	"strconv"
)

// Num is one numeric reading as the server gave it: an integer from −2^63 to 2^64−1, a decimal, or
// nothing. Integers are kept exact, since differences of counters are taken exactly. The zero Num is
// "no value": it is never 0 and never "fine".
type Num struct {
	bits uint64
	form form
}

type form uint8

const (
	formNone  form = iota // no value
	formUint              // 0 … 2^64−1
	formInt               // negative integers only
	formFloat             // everything with a fraction or an exponent
)

// Uint makes a Num of an unsigned integer.
func Uint(v uint64) Num { return Num{v, formUint} }

// Int makes a Num of a signed integer.
func Int(v int64) Num {
	if v >= 0 {
		return Num{uint64(v), formUint}
	}
	return Num{uint64(v), formInt}
}

// Float makes a Num of a decimal. NaN and ±Inf give no value.
func Float(v float64) Num {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Num{}
	}
	return Num{math.Float64bits(v), formFloat}
}

// Bool makes 1 of true and 0 of false.
func Bool(v bool) Num {
	if v {
		return Uint(1)
	}
	return Uint(0)
}

// IsNone reports whether there is no value.
func (n Num) IsNone() bool { return n.form == formNone }

// IsFloat reports whether the value was a decimal.
func (n Num) IsFloat() bool { return n.form == formFloat }

// Float64 gives the value as a float64; NaN when there is none. Integers above 2^53 lose their last
// bits, as every number on a graph may.
func (n Num) Float64() float64 {
	switch n.form {
	case formUint:
		return float64(n.bits)
	case formInt:
		return float64(int64(n.bits))
	case formFloat:
		return math.Float64frombits(n.bits)
	}
	return math.NaN()
}

// Gauge gives the value for use as a gauge: an integer of 2^63 or more is a small negative number
// in unsigned clothing (InnoDB's page gauges do that on MySQL 5.5 to 8.0) and is returned as such.
func (n Num) Gauge() float64 {
	if n.form == formUint && n.bits >= 1<<63 {
		return float64(int64(n.bits))
	}
	return n.Float64()
}

// Bits gives the raw 64 bits and whether they hold a float64, a negative integer or an unsigned one,
// for codecs. ok is false when there is no value.
func (n Num) Bits() (bits uint64, isFloat, isNegative, ok bool) {
	return n.bits, n.form == formFloat, n.form == formInt, n.form != formNone
}

// NumFromBits is the inverse of [Num.Bits] for a value that is there.
func NumFromBits(bits uint64, isFloat, isNegative bool) Num {
	switch {
	case isFloat:
		return Num{bits, formFloat}
	case isNegative:
		return Num{bits, formInt}
	}
	return Num{bits, formUint}
}

// String prints the value as the server wrote it, or "" when there is none.
func (n Num) String() string {
	switch n.form {
	case formUint:
		return strconv.FormatUint(n.bits, 10)
	case formInt:
		return strconv.FormatInt(int64(n.bits), 10)
	case formFloat:
		f := math.Float64frombits(n.bits)
		if a := math.Abs(f); a >= 1e21 || a != 0 && a < 1e-9 {
			return strconv.FormatFloat(f, 'g', -1, 64) // written out it would not be read back as a number
		}
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return ""
}

// ParseNum reads a status or variable value strictly. ok is false for everything that is not wholly
// a number: the empty text, "ON", "NULL", lists, dates, hexadecimal, NaN and Inf stay text.
// Decimals beyond 2^64−1 (Performance Schema sums) become floats.
func ParseNum(b []byte) (n Num, ok bool) {
	if len(b) == 0 || len(b) > 64 {
		return Num{}, false
	}
	i, neg := 0, false
	if b[0] == '-' {
		neg, i = true, 1
		if len(b) == 1 {
			return Num{}, false
		}
	}
	var v uint64
	for ; i < len(b); i++ {
		c := b[i] - '0'
		if c > 9 {
			return parseDecimal(b)
		}
		hi := v
		v = v*10 + uint64(c)
		if hi > math.MaxUint64/10 || v < uint64(c) {
			return parseDecimal(b)
		}
	}
	if neg {
		if v > 1<<63 {
			return parseDecimal(b)
		}
		return Int(-int64(v)), true
	}
	return Uint(v), true
}

// parseDecimal reads what is not a plain integer: digits, one point, an exponent, nothing else.
func parseDecimal(b []byte) (Num, bool) {
	digits := false
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9':
			digits = true
		case c == '.' || c == 'e' || c == 'E':
			if !digits && c != '.' {
				return Num{}, false
			}
		case (c == '-' || c == '+') && (i == 0 || b[i-1] == 'e' || b[i-1] == 'E'):
		default:
			return Num{}, false
		}
	}
	if !digits {
		return Num{}, false
	}
	f, err := strconv.ParseFloat(string(b), 64)
	if err != nil || math.IsInf(f, 0) {
		return Num{}, false
	}
	return Float(f), true
}

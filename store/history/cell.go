package history

import "math"

// Cell holds the figures of one metric over one bucket of time. Gauges fill N to Last, counters Pairs
// to RateMax, untyped numbers both. Figures that mean nothing are 0.
type Cell struct {
	At int64 // the bucket's begin, ms since 1970, a multiple of the tier's step

	N                   uint32  // readings; 0: the figures beside it mean nothing
	Sum, Min, Max, Last float64 // Sum ÷ N is the average

	Pairs    uint32  // valid pairs that end in the bucket; 0: the figures after Breaks mean nothing
	Breaks   uint32  // pairs that end in the bucket and are not valid: restart, reset, gap
	Increase float64 // over the valid pairs
	Covered  int64   // ms that the valid pairs span; more than the step where readings are further apart
	// RateMin and RateMax are the least and greatest rate per second of a pair, rounded outward to four
	// significant digits.
	RateMin, RateMax float64
}

// Merge adds the figures of another part of the same bucket. later must hold the later readings.
func (c *Cell) Merge(later Cell) {
	if later.N > 0 {
		if c.N == 0 {
			c.Min, c.Max = later.Min, later.Max
		}
		c.N += later.N
		c.Sum = finite(c.Sum + later.Sum)
		c.Min, c.Max, c.Last = min(c.Min, later.Min), max(c.Max, later.Max), later.Last
	}
	if later.Pairs > 0 {
		if c.Pairs == 0 {
			c.RateMin, c.RateMax = later.RateMin, later.RateMax
		}
		c.Pairs += later.Pairs
		c.Increase = finite(c.Increase + later.Increase)
		c.Covered += later.Covered
		c.RateMin, c.RateMax = min(c.RateMin, later.RateMin), max(c.RateMax, later.RateMax)
	}
	c.Breaks += later.Breaks
}

// read adds a gauge's reading.
func (c *Cell) read(v float64) {
	if c.N == 0 {
		c.Min, c.Max = v, v
	}
	c.N++
	c.Sum = finite(c.Sum + v)
	c.Min, c.Max, c.Last = min(c.Min, v), max(c.Max, v), v
}

// pair adds a valid pair of a counter's readings. The rates are rounded when the cell is complete.
func (c *Cell) pair(increase float64, elapsed int64) {
	rate := finite(increase / (float64(elapsed) / 1000))
	if c.Pairs == 0 {
		c.RateMin, c.RateMax = rate, rate
	}
	c.Pairs++
	c.Increase = finite(c.Increase + increase)
	c.Covered += elapsed
	c.RateMin, c.RateMax = min(c.RateMin, rate), max(c.RateMax, rate)
}

// finite keeps sums of absurd readings within what a float64 can be: NaN and Inf mean "no value" elsewhere.
func finite(v float64) float64 { return max(-math.MaxFloat64, min(v, math.MaxFloat64)) }

// rounded gives the number of four significant digits next to v in the direction: −1 down, 1 up. Digits
// beyond are noise of the timing, and cost more than everything else in a tier.
func rounded(v float64, direction float64) float64 {
	if v == 0 {
		return v
	}
	exponent := 3 - int(math.Floor(math.Log10(math.Abs(v))))
	if exponent > 300 || exponent < -300 {
		return v
	}
	// A product or quotient of integers below 2^53 and a power of ten is the float64 next to the decimal.
	unscale := func(digits float64) float64 {
		if exponent >= 0 {
			return digits / math.Pow10(exponent)
		}
		return digits * math.Pow10(-exponent)
	}
	digits := math.Round(v * math.Pow10(exponent))
	if r := unscale(digits); r == v || (r-v)*direction > 0 {
		return r
	}
	return unscale(digits + direction)
}

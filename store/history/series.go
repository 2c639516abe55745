package history

import (
	"math"
	"slices"
)

// The ways in which a series of integers is predicted. What the prediction misses, the residual, is
// what costs bytes. All arithmetic is modulo 2^64, so every value comes back exactly.
const (
	predictConstant uint8 = iota // every value is the first one
	predictLevel                 // value = offset + residual: a gauge that trembles around a level
	predictDelta                 // difference = offset + residual: a counter with a steady rate
	predictDouble                // difference = the difference before + residual, at first offset: a rate that drifts
	predictOther                 // difference = another series' difference × ratio + offset + residual
	predictions
)

// ratioBits is the precision of the ratio of predictOther.
const ratioBits = 16

// maxDepth is how many references may follow each other until a series that needs none, not counting one to
// the very same differences.
const maxDepth = 3

// series says how one series of integers is coded. The differences of predictDelta, predictDouble and
// predictOther are those of the values divided by unit.
type series struct {
	method uint8
	coded  bool   // the residuals are not all 0
	code   code   // of the residuals
	first  uint64 // the first value; not used by predictLevel
	unit   uint64 // at least 1
	offset int64
	base   int   // predictOther: the series whose differences are used
	ratio  int64 // predictOther: in 2^-ratioBits
}

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// proportional is the prediction of predictOther before its offset.
func proportional(difference, ratio int64) int64 {
	return (difference*ratio + 1<<(ratioBits-1)) >> ratioBits
}

// base is a series that later ones may be predicted from.
type base struct {
	index       int // its place in the table
	mask        int // which rows it has values in
	depth       int // references until a series that needs none
	differences []int64
}

// chooser finds the cheapest coding for one series after another. Its buffers are used again.
type chooser struct {
	bases       []base
	exact       map[uint64]int // hash of differences → place in bases
	differences []int64
	residuals   []int64
	sorted      []int64

	chosen         series // the cheapest so far
	cost           int    // its bits
	numbers, trial []uint64
	runs, others   []uint64
}

// The search for a series to predict from looks at this many of the latest candidates, and at about
// this many differences of each, evenly spread; only the winner is worked out in full.
const (
	maxCandidates = 128
	sampleSize    = 60
	// referencePrice in bits is what a reference costs more than a plain series: directory and reading time.
	referencePrice = 64
)

// choose gives the coding of values (at least one) and the zigzag residuals, valid until the next call. index is
// the number under which later series may refer to this one; mask is equal for series of the same rows.
func (c *chooser) choose(values []uint64, index, mask int) (series, []uint64) {
	unit := c.difference(values)
	if unit == 0 {
		return series{method: predictConstant, first: values[0], unit: 1}, nil
	}
	d := c.differences
	c.cost = math.MaxInt
	if b, ok := c.same(d, mask); ok {
		return series{method: predictOther, first: values[0], unit: unit, base: b.index, ratio: 1 << ratioBits}, nil
	}

	offset := c.median(d)
	c.residuals = subtract(c.residuals[:0], d, offset)
	c.try(series{method: predictDelta, first: values[0], unit: unit, offset: offset}, 0)

	c.residuals = append(c.residuals[:0], 0)
	for i := 1; i < len(d); i++ {
		c.residuals = append(c.residuals, d[i]-d[i-1])
	}
	c.try(series{method: predictDouble, first: values[0], unit: unit, offset: d[0]}, 0)

	c.residuals = c.residuals[:0]
	for _, v := range values {
		c.residuals = append(c.residuals, int64(v))
	}
	offset = c.median(c.residuals)
	c.residuals = subtract(c.residuals[:0], c.residuals, offset)
	c.try(series{method: predictLevel, unit: 1, offset: offset}, 0)

	depth := 0
	if b, ok := c.nearest(d, mask); ok {
		ratio := fit(b.differences, d)
		c.residuals = c.residuals[:0]
		for i, x := range b.differences {
			c.residuals = append(c.residuals, d[i]-proportional(x, ratio))
		}
		offset := c.median(c.residuals)
		c.residuals = subtract(c.residuals[:0], c.residuals, offset)
		s := series{method: predictOther, first: values[0], unit: unit, offset: offset, base: b.index, ratio: ratio}
		if c.try(s, referencePrice) {
			depth = b.depth + 1
		}
	}
	if c.chosen.method != predictLevel && len(d) > 3 {
		c.remember(base{index: index, mask: mask, depth: depth, differences: slices.Clone(d)})
	}
	return c.chosen, c.numbers
}

// try takes s and c.residuals when they are cheaper than what is chosen.
func (c *chooser) try(s series, extra int) bool {
	c.trial = c.trial[:0]
	for _, r := range c.residuals {
		u := zigzag(r)
		s.coded = s.coded || u != 0
		c.trial = append(c.trial, u)
	}
	cost := extra
	if s.coded {
		var bits int
		s.code, bits = c.plan(c.trial)
		cost += bits
	}
	if cost >= c.cost {
		return false
	}
	c.chosen, c.cost = s, cost
	c.numbers, c.trial = c.trial, c.numbers
	return true
}

// difference puts the differences of values into c.differences, divided by their greatest common
// divisor, which it returns; 0 when they are all 0.
func (c *chooser) difference(values []uint64) (unit uint64) {
	d := c.differences[:0]
	for i := 1; i < len(values); i++ {
		x := int64(values[i] - values[i-1])
		d = append(d, x)
		if x != 0 && unit != 1 {
			unit = gcd(unit, magnitude(x))
		}
	}
	c.differences = d
	if unit > 1 {
		if unit >= 1<<62 { // the magnitude of the least integer is no int64
			return 1
		}
		for i := range d {
			d[i] /= int64(unit)
		}
	}
	return unit
}

// remember makes a series available to later ones.
func (c *chooser) remember(b base) {
	h := hash(b.differences)
	if c.exact == nil {
		c.exact = make(map[uint64]int)
	}
	if _, known := c.exact[h]; !known {
		c.exact[h] = len(c.bases)
	}
	c.bases = append(c.bases, b)
}

// same gives the remembered series with the very same differences.
func (c *chooser) same(d []int64, mask int) (base, bool) {
	i, ok := c.exact[hash(d)]
	if !ok || c.bases[i].mask != mask || !slices.Equal(c.bases[i].differences, d) {
		return base{}, false
	}
	return c.bases[i], true
}

// nearest gives the remembered series whose multiple leaves least in the sample.
func (c *chooser) nearest(d []int64, mask int) (found base, ok bool) {
	stride := len(d)/sampleSize + 1
	least := math.Inf(1)
	for i := max(0, len(c.bases)-maxCandidates); i < len(c.bases); i++ {
		b := c.bases[i]
		if b.mask != mask || b.depth >= maxDepth {
			continue
		}
		var xy, xx float64
		for j := 0; j < len(d); j += stride {
			x := float64(b.differences[j])
			xy += x * float64(d[j])
			xx += x * x
		}
		if xx == 0 {
			continue
		}
		k := xy / xx
		var misses float64
		for j := 0; j < len(d); j += stride {
			misses += math.Abs(float64(d[j]) - k*float64(b.differences[j]))
		}
		if misses < least {
			least, found, ok = misses, b, true
		}
	}
	return found, ok
}

// fit gives the ratio by which x must be multiplied to come nearest to y.
func fit(x, y []int64) int64 {
	var xy, xx float64
	for i := range x {
		xy += float64(x[i]) * float64(y[i])
		xx += float64(x[i]) * float64(x[i])
	}
	r := math.Round(xy / xx * (1 << ratioBits))
	if !(math.Abs(r) < 1<<46) {
		return 0
	}
	return int64(r)
}

// median gives about the middle value of v, which stays as it is: of a long v that of an evenly spread part.
func (c *chooser) median(v []int64) int64 {
	c.sorted = c.sorted[:0]
	for i := 0; i < len(v); i += len(v)/256 + 1 {
		c.sorted = append(c.sorted, v[i])
	}
	slices.Sort(c.sorted)
	return c.sorted[len(c.sorted)/2]
}

func subtract(dst, v []int64, offset int64) []int64 {
	for _, x := range v {
		dst = append(dst, x-offset)
	}
	return dst
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// hash is FNV-1a over whole integers: good enough to find equal series, which are then compared.
func hash(v []int64) uint64 {
	h := uint64(14695981039346656037)
	for _, x := range v {
		h = (h ^ uint64(x)) * 1099511628211
		h ^= h >> 29
	}
	return h
}

// sum turns differences in units into values.
func (s *series) sum(dst []uint64, differences []int64) {
	v := s.first
	dst[0] = v
	for i, d := range differences {
		v += uint64(d) * s.unit
		dst[i+1] = v
	}
}

package history

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// randomNumbers gives numbers of a size, and now and then zeros or anything.
func randomNumbers(rng *rand.Rand, n int) []uint64 {
	out := make([]uint64, n)
	width, zeros := rng.UintN(65), rng.IntN(3)*40
	for i := range out {
		switch {
		case rng.IntN(100) < zeros:
		case rng.IntN(50) == 0:
			out[i] = rng.Uint64() >> rng.UintN(64)
		case width == 64:
			out[i] = math.MaxUint64 - rng.Uint64N(2)
		default:
			out[i] = rng.Uint64() & (1<<width - 1)
		}
	}
	return out
}

func TestNumbersComeBackFromTheirCode(t *testing.T) {
	t.Parallel()
	each(t, 500, func(t *testing.T, rng *rand.Rand) {
		var c chooser
		numbers := randomNumbers(rng, 1+rng.IntN(200))
		by, length := c.plan(numbers)
		if rng.IntN(4) == 0 { // any other code must do too
			by, length = code{sparse: rng.IntN(2) == 0, k: uint8(rng.UintN(maxK + 1)), runsK: uint8(rng.UintN(maxK + 1))}, -1
		}
		before := []byte("before")
		data := c.appendNumbers(slices.Clone(before), numbers, by)
		size := len(data) - len(before)
		if length >= 0 && size != (length+7)/8 {
			t.Fatalf("%d bytes, planned were %d bits", size, length)
		}
		data = append(data, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
		got := make([]int64, len(numbers))
		offset := rng.Int64N(1000)
		r := bitReader{data: data, pos: uint(len(before)) * 8, end: uint(len(before)+size) * 8}
		if !readNumbers(got, r, by, offset) {
			t.Fatal("they do not fit what was written")
		}
		for i, u := range numbers {
			if zigzag(got[i]-offset) != u {
				t.Fatalf("number %d is %d, want %d", i, zigzag(got[i]-offset), u)
			}
		}
		// One byte less, and the reader notices that it left the data, unless the last byte was filling.
		r.end = uint(len(before)) * 8
		if size > 0 && readNumbers(got, r, by, 0) && !slices.Equal(numbers, make([]uint64, len(numbers))) {
			t.Fatal("numbers were read from no data")
		}
	})
}

func TestPlanIsNearTheBestCode(t *testing.T) {
	t.Parallel()
	each(t, 100, func(t *testing.T, rng *rand.Rand) {
		var c chooser
		numbers := randomNumbers(rng, 100)
		_, length := c.plan(numbers)
		for k := range uint8(maxK + 1) {
			if n := riceLength(numbers, k); n+n/8 < length {
				t.Fatalf("%d bits, and with k=%d %d", length, k, n)
			}
		}
	})
}

func TestSeriesAreChosenAsTheyShould(t *testing.T) {
	t.Parallel()
	make64 := func(n int, f func(i int) uint64) []uint64 {
		v := make([]uint64, n)
		for i := range v {
			v[i] = f(i)
		}
		return v
	}
	rng := rand.New(rand.NewPCG(2, 2))
	noise := make64(200, func(int) uint64 { return rng.Uint64N(1000) })
	sum := uint64(0)
	load := make64(200, func(i int) uint64 { sum += noise[i]; return sum })
	speed, way := uint64(1<<30), uint64(0)
	for name, c := range map[string]struct {
		values []uint64
		method uint8
		coded  bool
	}{
		"constant":          {make64(200, func(int) uint64 { return 7 }), predictConstant, false},
		"steady":            {make64(200, func(i int) uint64 { return uint64(i) * 12345 }), predictDelta, false},
		"wraps":             {make64(200, func(i int) uint64 { return math.MaxUint64 - 500 + uint64(i)*10 }), predictDelta, false},
		"trembles":          {noise, predictLevel, true},
		"as the load":       {make64(200, func(i int) uint64 { return load[i] + 99 }), predictOther, false},
		"pages of the load": {make64(200, func(i int) uint64 { return load[i] << 14 }), predictOther, false},
		"third of the load": {make64(200, func(i int) uint64 { return load[i]/3 + uint64(i%2) }), predictOther, true},
		"speeding up":       {make64(200, func(int) uint64 { speed += 1 << 20; way += speed; return way }), predictDouble, true},
	} {
		var ch chooser
		if s, _ := ch.choose(load, 0, 0); s.method != predictDelta || !s.coded {
			t.Fatalf("the load: method %d", s.method)
		}
		s, _ := ch.choose(c.values, 1, 0)
		if s.method != c.method || s.coded != c.coded {
			t.Errorf("%s: method %d, coded %v; want %d, %v", name, s.method, s.coded, c.method, c.coded)
		}
	}
}

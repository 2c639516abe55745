package monolith

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestFloatsAreWrittenAsJSON(t *testing.T) {
	for want, f := range map[string]Floats{
		"null":                              nil,
		"[]":                                {},
		"[null,null,null]":                  {math.NaN(), math.Inf(1), math.Inf(-1)},
		"[0,0,-1,123456789012345]":          {0, math.Copysign(0, -1), -1, 123456789012345},
		"[0.1,-2.5,153.4,0.001]":            {0.1, -2.5, 153.4, 0.001},
		"[0.333333333333,66.6666666667]":    {1.0 / 3, 200.0 / 3},
		"[1,10,1000000]":                    {math.Nextafter(1, 0), math.Nextafter(10, 11), 999999.9999999999},
		"[99999999999.5,1.23456789012e+14]": {99999999999.5, 123456789012345.5 - 1.0/64},
		"[0.00123456789012,0.000123456789]": {0.00123456789012, 0.000123456789},
		"[1e+20,1.8446744073709552e+19,9.007199254740992e+15]": {1e20, math.MaxUint64, 1 << 53},
		"[4.94065645841e-324,1.7976931348623157e+308]":         {math.SmallestNonzeroFloat64, math.MaxFloat64},
		"[-0.00999999999999,-0.01,0.100001]":                   {-0.00999999999999, -0.01, 0.100001},
	} {
		got, err := json.Marshal(f)
		if err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

// A whole number reads back as itself, a fraction with the digits that it is written with.
func TestFloatsReadBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		v := rng.NormFloat64() * math.Pow10(rng.IntN(40)-20)
		text := string(Floats{v}.AppendJSON(nil))
		var back []float64
		if err := json.Unmarshal([]byte(text), &back); err != nil {
			t.Fatalf("%v is written as %s: %v", v, text, err)
		}
		allowed := 0.0
		if v != math.Trunc(v) {
			allowed = math.Abs(v) * 0.51e-11
		}
		if math.Abs(back[0]-v) > allowed {
			t.Fatalf("%v is written as %s", v, text)
		}
	}
}

// Fractions are written by a short cut, which must not show.
func FuzzFraction(f *testing.F) {
	for _, v := range []float64{0.1, 1.0 / 3, 1e-4, 0.5e-4, 99999999999.5, 0.1234567890125, 12345678.90125, 999999.9999995, 9.9999999999995, 1e11 - 0.5} {
		f.Add(v)
		f.Add(math.Nextafter(v, 0))
		f.Add(-math.Nextafter(v, math.Inf(1)))
	}
	f.Fuzz(func(t *testing.T, v float64) {
		if v != math.Trunc(v) {
			checkFraction(t, v)
		}
	})
}

func TestFractionsAreWrittenAsStrconvDoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500_000 {
		size := math.Pow10(rng.IntN(18) - 5)
		for _, v := range []float64{
			rng.Float64() * size,                                 // any
			math.Round(rng.Float64()*1e4) / 1e4 * size,           // few digits
			(math.Floor(rng.Float64()*1e12) + 0.5) / 1e12 * size, // halfway between two
			math.Nextafter(size, float64(rng.IntN(2))*2*size),    // next to a power of ten
		} {
			if v != math.Trunc(v) {
				checkFraction(t, v)
			}
		}
	}
}

func checkFraction(t *testing.T, v float64) {
	t.Helper()
	if math.IsNaN(v) {
		return
	}
	got, want := string(appendFraction(nil, v)), strconv.FormatFloat(v, 'g', floatDigits, 64)
	if got != want {
		t.Fatalf("%v is written as %s, want %s", v, got, want)
	}
}

func BenchmarkFloats(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	f := make(Floats, 720)
	for i := range f {
		f[i] = math.Exp(rng.Float64()*20) / 1000
	}
	out := make([]byte, 0, 1<<16)
	b.ReportAllocs()
	for b.Loop() {
		out = f.AppendJSON(out[:0])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(f)), "ns/value")
}

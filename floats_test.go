package monolith

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
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
		"[1e+20,4.94065645841e-324,1.79769313486e+308]": {1e20, math.SmallestNonzeroFloat64, math.MaxFloat64},
		"[-0.00999999999999,-0.01,0.100001]":            {-0.00999999999999, -0.01, 0.100001},
	} {
		got, err := json.Marshal(f)
		if err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}

// What is written is valid, as near as its digits allow, and has no more of them.
func TestFloatsKeepTwelveDigits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		v := rng.NormFloat64() * math.Pow10(rng.IntN(40)-20)
		if rng.IntN(2) == 0 { // a decimal that fits
			v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', 1+rng.IntN(floatDigits), 64), 64)
		}
		text := string(Floats{v}.AppendJSON(nil))
		var back []float64
		if err := json.Unmarshal([]byte(text), &back); err != nil {
			t.Fatalf("%v is written as %s: %v", v, text, err)
		}
		if off := math.Abs(back[0] - v); off > math.Abs(v)*0.51e-11 {
			t.Fatalf("%v is written as %s", v, text)
		}
		digits := strings.TrimLeft(strings.ReplaceAll(strings.Trim(text, "[-]"), ".", ""), "0")
		if e := strings.IndexByte(digits, 'e'); e >= 0 {
			digits = digits[:e]
		}
		if v != math.Trunc(v) && len(digits) > floatDigits {
			t.Fatalf("%v is written as %s", v, text)
		}
		if short := strconv.FormatFloat(v, 'g', floatDigits, 64); v != math.Trunc(v) {
			if exact, _ := strconv.ParseFloat(short, 64); exact == v && back[0] != v {
				t.Fatalf("%v fits into the digits and is written as %s", v, text)
			}
		}
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

package formula

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// readings gives n readings, the last at 0.
func readings(n int, value func(i int) float64) (x, y []float64) {
	for i := range n {
		x, y = append(x, float64(i-n+1)), append(y, value(i))
	}
	return x, y
}

func TestTrend(t *testing.T) {
	for name, c := range map[string]struct {
		n            int
		value        func(i int) float64
		slope, level float64
	}{
		"three":     {3, func(i int) float64 { return float64(5 * i) }, 5, 10},
		"straight":  {360, func(i int) float64 { return 1000 + 2*float64(i) }, 2, 1000 + 2*359},
		"flat":      {100, func(int) float64 { return 7 }, 0, 7},
		"one spike": {101, func(i int) float64 { return float64(i) + map[bool]float64{true: 1e6}[i == 50] }, 1, 100},
		"spike now": {101, func(i int) float64 { return float64(i) + map[bool]float64{true: 1e6}[i == 100] }, 1, 100},
		// Binary logs were purged: it still grows by 1, from where it is now. Least squares would see it shrink.
		"purged": {300, func(i int) float64 { return float64(i) - map[bool]float64{true: 190}[i >= 240] }, 1, 299 - 190},
	} {
		slope, level, ok := Trend(readings(c.n, c.value))
		if !ok || math.Abs(slope-c.slope) > 0.02*math.Abs(c.slope) || math.Abs(level-c.level) > 0.02*math.Abs(c.level)+1e-9 {
			t.Errorf("%s: slope %v, level %v, %v, want %v and %v", name, slope, level, ok, c.slope, c.level)
		}
	}
	for _, n := range []int{0, 1, 2} {
		if _, _, ok := Trend(readings(n, func(int) float64 { return 1 })); ok {
			t.Errorf("a trend of %d readings", n)
		}
	}
	if _, _, ok := Trend([]float64{1, 1, 1}, []float64{1, 2, 3}); ok {
		t.Error("a trend of one moment")
	}
}

// With few points the slope is exactly the median of all pairs' slopes; it follows scale and shift.
func TestTrendProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 3 + r.IntN(trendPoints-2)
		x, y := readings(n, func(int) float64 { return float64(r.IntN(1000)) })
		var all []float64
		for i := range x {
			for j := i + 1; j < n; j++ {
				all = append(all, (y[j]-y[i])/(x[j]-x[i]))
			}
		}
		slices.Sort(all)
		want := all[len(all)/2]
		if len(all)%2 == 0 {
			want = (want + all[len(all)/2-1]) / 2
		}
		slope, level, _ := Trend(x, y)
		if math.Abs(slope-want) > 1e-9 {
			t.Fatalf("slope %v of %v, want %v", slope, y, want)
		}
		for i := range y {
			y[i] = 3*y[i] - 40
		}
		if s, l, _ := Trend(x, y); math.Abs(s-3*slope) > 1e-6 || math.Abs(l-(3*level-40)) > 1e-6 {
			t.Fatalf("scaled: %v and %v, want %v and %v", s, l, 3*slope, 3*level-40)
		}
	}
}

// A purge in the window doesn't turn a forecast round.
func TestForecastAfterPurge(t *testing.T) {
	h := ten()
	var used []float64
	for i := range 61 {
		v := 1000 + 10*float64(i)
		if i >= 40 {
			v -= 350
		}
		used = append(used, v)
	}
	h.gauge("host.used", used...)
	v := at(t, h, `forecast(host.used, "10m", "10m")`, noon.Add(10*time.Minute), 0)
	if want := 1000 + 600 - 350 + 600.0; math.Abs(v.Num-want) > 15 {
		t.Errorf("forecast %v, want %v: %s", v.Num, want, v.Why)
	}
}

func TestSlope(t *testing.T) {
	h := ten()
	var used []float64
	for i := range 61 {
		used = append(used, 1e9+50*float64(i))
	}
	h.gauge("host.used", used...)
	for _, text := range []string{`slope(host.used, "10m")`, `slope(host.used, "5m")`} {
		if v := at(t, h, text, noon.Add(10*time.Minute), 0); math.Abs(v.Num-5) > 1e-6 {
			t.Errorf("%s: %v %s, want 5 a second", text, v.Num, v.Why)
		}
		if r := over(t, h, text, 10*time.Second, 60); len(r.Lines) != 1 || math.Abs(r.Lines[0].V[59]-5) > 1e-6 {
			t.Errorf("%s in a series: %v %s", text, r.Lines, r.Why)
		}
	}
	if v := at(t, h, "slope(host.used)", noon.Add(10*time.Minute), 0); v.Num == v.Num {
		t.Errorf("of 10 minutes of six hours: %v", v.Num)
	}
	if u := mustParse(t, "slope(host.mount_used_bytes) * 3600").Unit(); u != "bytes/s" {
		t.Errorf("unit %s", u)
	}
}

func BenchmarkTrend(b *testing.B) {
	x, y := readings(2160, func(i int) float64 { return float64(i * 7919 % 1000) })
	b.ReportAllocs()
	for b.Loop() {
		Trend(x, y)
	}
}

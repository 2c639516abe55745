package graph

import (
	"math"
	"testing"
	"time"
)

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{math.NaN(), "bytes", "–"}, {math.Inf(1), "", "–"},
		{0, "bytes", "0 B"}, {512, "bytes", "512 B"}, {1536, "bytes", "1.5 KiB"}, {1538.635 * (1 << 30), "bytes", "1.5 TiB"},
		{2 << 20, "bytes/s", "2 MiB/s"},
		{99.5, "%", "99.5 %"}, {100, "%", "100 %"}, {0.25, "%", "0.25 %"}, {99.96, "%", "99.96 %"}, {0, "%", "0 %"}, {33.333, "%", "33.33 %"},
		{0.0042, "s", "4.2 ms"}, {412, "s", "6.87 min"}, {12, "ms", "12 ms"}, {90000, "s", "25 h"}, {0.0009, "days", "77.8 s"}, {12.5, "days", "12.5 d"},
		{1234, "queries/s", "1234/s"}, {12345, "1/s", "12.3 k/s"}, {3, "1/h", "3/h"},
		{151, "connections", "151"}, {-40, "pages", "-40"}, {2_500_000, "", "2.5 M"},
	} {
		if got := Format(c.v, c.unit); got != c.want {
			t.Errorf("Format(%v, %q) = %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 59 * time.Second: "59 s", 3 * time.Minute: "3 min", 5*time.Hour + 20*time.Minute: "5 h 20 min",
		26 * time.Hour: "1 d 2 h", 400 * 24 * time.Hour: "400 d",
	} {
		if got := Age(d); got != want {
			t.Errorf("Age(%v) = %q, want %q", d, got, want)
		}
	}
}

package graph

import (
	"encoding/json"
	"math"
	"os"
	"testing"
	"time"
)

// The script's test reads the same file: a page says the same whoever draws it.
func TestFormat(t *testing.T) {
	text, err := os.ReadFile("testdata/format.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases [][3]any
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		v, ok := c[0].(float64)
		if !ok {
			v = math.NaN()
		}
		if got := Format(v, c[1].(string)); got != c[2] {
			t.Errorf("Format(%v, %q) = %q, want %q", v, c[1], got, c[2])
		}
	}
}

func TestNoNegativeNothing(t *testing.T) {
	for v, want := range map[float64]string{math.Copysign(0, -1): "0 %", -0.001: "0 %", -0.25: "-0.25 %", 99.996: "100 %"} {
		if got := Format(v, "%"); got != want {
			t.Errorf("Format(%v) = %q, want %q", v, got, want)
		}
	}
	hundred := 100.0
	for _, tick := range newScale(0, 80, "%", nil, &hundred, false).ticks {
		if math.Signbit(tick) {
			t.Errorf("there is a tick at %v", tick)
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

package graph

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"monolith"
)

func TestScaleBeginsAtZeroAndEndsRound(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		unit      string
		wantHigh  float64
	}{
		{3, 97, "", 100}, {0, 0, "", 1}, {0, 151, "", 200}, {1, 900 << 20, "bytes", 1 << 30}, {0, 0.004, "s", 0.004},
	} {
		s := newScale(c.low, c.high, c.unit, nil, nil, false)
		if s.low != 0 || s.high < c.wantHigh*0.999 || s.high > c.wantHigh*1.001 {
			t.Errorf("values to %v %s: axis %v…%v, want 0…%v", c.high, c.unit, s.low, s.high, c.wantHigh)
		}
		if len(s.ticks) < 2 || len(s.ticks) > 9 {
			t.Errorf("values to %v: %d ticks", c.high, len(s.ticks))
		}
	}
	if s := newScale(-40, 10, "", nil, nil, false); s.low > -40 {
		t.Errorf("negative values are cut off: %v", s.low)
	}
}

// In autumn one hour comes twice: the two labels must differ; in spring none is made up.
func TestTimeTicksAcrossDaylightSaving(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	autumn := time.Date(2024, 10, 26, 23, 0, 0, 0, time.UTC)
	labels := map[string]int{}
	for _, tick := range timeTicks(autumn, autumn.Add(5*time.Hour), 12, berlin) {
		labels[tick.label]++
		if tick.at.Minute()%30 != 0 {
			t.Errorf("a tick at %v", tick.at)
		}
	}
	for label, n := range labels {
		if n > 1 {
			t.Errorf("%d ticks say %s", n, label)
		}
	}
	spring := time.Date(2024, 3, 30, 22, 0, 0, 0, time.UTC)
	for _, tick := range timeTicks(spring, spring.Add(48*time.Hour), 10, berlin) {
		if h := tick.at.In(berlin).Hour(); h%6 != 0 || tick.at.In(berlin).Minute() != 0 {
			t.Errorf("a tick of a two-day graph at %v", tick.at.In(berlin))
		}
	}
}

// A constant rate is a line without a step over the nights on which clocks are changed: days of 25 and of 23 hours have as many steps.
func TestGraphsAcrossDaylightSaving(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for day, hours := range map[time.Time]int{time.Date(2024, 10, 27, 0, 0, 0, 0, berlin): 25, time.Date(2024, 3, 31, 0, 0, 0, 0, berlin): 23} {
		ds, err := Draw(t.Context(), history{"status.Questions": 600, "self.Questions": 0}, Target{ID: 1, State: state(monolith.MySQL, "8.4.0", nil)},
			Request{From: day, To: day.AddDate(0, 0, 1), Step: time.Minute}, Find("query-rate"))
		if err != nil {
			t.Fatal(err)
		}
		d := ds[0]
		if len(d.Times) != hours*60 {
			t.Errorf("%v has %d minutes", day, len(d.Times))
		}
		l := d.Panels[0].Lines[0]
		for i := range d.Times {
			if i > 0 && d.Times[i]-d.Times[i-1] != 60 || l.V[i] != 10 {
				t.Fatalf("%v: step %d at %d is %v", day, i, d.Times[i], l.V[i])
			}
		}
		var csv, svg bytes.Buffer
		if err := errors.Join(d.CSV(&csv), d.SVG(&svg, Picture{Zone: berlin})); err != nil {
			t.Fatal(err)
		}
		times := map[string]bool{}
		for line := range strings.Lines(csv.String()) {
			at, _, _ := strings.Cut(line, ",")
			if times[at] {
				t.Errorf("%v: two rows say %s", day, at)
			}
			times[at] = true
		}
	}
}

func TestTimeTicksAreFewForEveryRange(t *testing.T) {
	for _, span := range []time.Duration{time.Minute, time.Hour, 26 * time.Hour, 9 * 24 * time.Hour, 400 * 24 * time.Hour, 5 * 366 * 24 * time.Hour} {
		ticks := timeTicks(start, start.Add(span), 8, time.UTC)
		if len(ticks) < 2 || len(ticks) > 10 {
			t.Errorf("%v: %d ticks", span, len(ticks))
		}
	}
}

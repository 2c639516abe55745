package graph

import (
	"math"
	"slices"
	"time"
)

// scale maps values to a pixel axis.
type scale struct {
	low, high   float64 // values at the ends
	from, to    float64 // pixels at the ends
	ticks       []float64
	unit        string
	logarithmic bool
	mirrored    bool // what is below zero is drawn there only: its labels have no sign
}

// newScale chooses ends and ticks for values between low and high: from 0 on, unless something is
// below it, to a round number above the highest.
func newScale(low, high float64, unit string, fixedLow, fixedHigh *float64, logarithmic bool) scale {
	low, high = math.Min(low, 0), math.Max(high, 0)
	if fixedLow != nil {
		low = *fixedLow
	}
	if fixedHigh != nil {
		high = *fixedHigh
	}
	if high <= low || math.IsInf(low, 0) || math.IsInf(high, 0) {
		low, high = 0, 1
	}
	s := scale{low: low, high: high, unit: unit, logarithmic: logarithmic && high > 1}
	if s.logarithmic {
		s.low, s.high = 0, math.Log10(math.Pow(10, math.Ceil(math.Log10(high))))
		for e := 0.0; e <= s.high; e++ {
			s.ticks = append(s.ticks, math.Pow(10, e))
		}
		return s
	}
	step := tickDistance((high-low)/4, unit)
	if fixedHigh == nil {
		s.high = math.Ceil(high/step-1e-9) * step
	}
	if fixedLow == nil {
		s.low = math.Floor(low/step+1e-9) * step
	}
	for i := math.Ceil(s.low/step - 1e-9); i*step <= s.high+step*1e-9; i++ {
		s.ticks = append(s.ticks, i*step+0) // -0 becomes 0
	}
	return s
}

// labels names the ticks. On a logarithmic axis each has its own unit.
func (s scale) labels() []string {
	ticks := slices.Clone(s.ticks)
	if s.mirrored {
		for i, v := range ticks {
			ticks[i] = math.Abs(v)
		}
	}
	if !s.logarithmic {
		return axisLabels(ticks, s.unit)
	}
	labels := make([]string, len(ticks))
	for i, v := range ticks {
		labels[i] = tickLabel(v, s.unit)
	}
	return labels
}

// niceStep rounds a distance up to 1, 2, 2.5 or 5 times a power of ten.
func niceStep(raw float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if raw <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// at gives the pixel of a value.
func (s scale) at(v float64) float64 {
	if s.logarithmic {
		v = math.Log10(math.Max(v, 1))
	}
	return s.from + (v-s.low)/(s.high-s.low)*(s.to-s.from)
}

// timeTick is a labelled moment on the time axis.
type timeTick struct {
	at    time.Time
	label string
}

// tickSteps are the distances that people read easily.
var tickSteps = []time.Duration{time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute,
	2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour,
	3 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 48 * time.Hour, 7 * 24 * time.Hour, 14 * 24 * time.Hour,
	30 * 24 * time.Hour, 91 * 24 * time.Hour, 365 * 24 * time.Hour}

// timeTicks gives at most about n ticks in a zone. They fall on round wall-clock times also across a
// change of daylight saving time, and the two 02:30 of autumn carry their offset.
func timeTicks(from, to time.Time, n int, zone *time.Location) []timeTick {
	span := to.Sub(from)
	step := tickSteps[len(tickSteps)-1]
	for _, s := range tickSteps {
		if span/s <= time.Duration(n) {
			step = s
			break
		}
	}
	var ticks []timeTick
	if step >= 24*time.Hour {
		days := int(step / (24 * time.Hour))
		y, m, d := from.In(zone).Date()
		for t := time.Date(y, m, d, 0, 0, 0, 0, zone); !t.After(to); t = time.Date(t.Year(), t.Month(), t.Day()+days, 0, 0, 0, 0, zone) {
			if !t.Before(from) {
				ticks = append(ticks, timeTick{t, t.Format("2 Jan")})
			}
		}
		return ticks
	}
	layout := "15:04"
	if step < time.Minute {
		layout = "15:04:05"
	}
	local := from.In(zone)
	y, m, d := local.Date()
	seen := map[string]bool{}
	for t := time.Date(y, m, d, 0, 0, 0, 0, zone); !t.After(to); t = t.Add(step) {
		if t.Before(from) {
			continue
		}
		// After a change of the clock, fall back on the round wall-clock time.
		if _, offset := t.Zone(); step >= time.Hour {
			wall := t.Add(time.Duration(offset) * time.Second).UTC()
			t = t.Add(-wall.Sub(wall.Truncate(step)))
			if t.Before(from) || len(ticks) > 0 && !t.After(ticks[len(ticks)-1].at) {
				t = t.Add(step)
			}
		}
		label := t.Format(layout)
		switch {
		case t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0:
			label = t.Format("2 Jan")
		case seen[label] && span < 24*time.Hour+time.Hour:
			label = t.Format(layout + " -07")
		}
		seen[label] = true
		if !t.After(to) {
			ticks = append(ticks, timeTick{t, label})
		}
	}
	return ticks
}

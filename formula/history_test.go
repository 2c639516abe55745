package formula

import (
	"context"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"monolith"
)

// history is a Source that keeps readings in memory and answers as the store does, with the increase
// taken by monolith.Increase.
type history struct {
	interval time.Duration
	metrics  []*recorded
	absent   []string
	reads    atomic.Int64
	queries  []monolith.Query
	step     time.Duration // answered instead of what was asked for, when not 0
}

type recorded struct {
	metric   monolith.Metric
	kind     monolith.Kind
	readings []reading
	texts    []monolith.TextStep
}

type reading struct {
	at  time.Time
	num monolith.Num
	run uint32
}

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// add records numbers one interval apart, the first at noon; NaN is a failed poll.
func (h *history) add(name, instance string, kind monolith.Kind, values ...float64) *recorded {
	r := &recorded{metric: monolith.Metric{Name: name, Instance: instance}, kind: kind}
	for i, v := range values {
		if v != v {
			continue
		}
		n := monolith.Float(v)
		if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
			n = monolith.Int(int64(v))
		}
		r.readings = append(r.readings, reading{noon.Add(time.Duration(i) * h.interval), n, 1})
	}
	h.metrics = append(h.metrics, r)
	return r
}

func (h *history) counter(name string, values ...float64) *recorded {
	return h.add(name, "", monolith.Counter, values...)
}

func (h *history) gauge(name string, values ...float64) *recorded {
	return h.add(name, "", monolith.Gauge, values...)
}

// text records a text from noon + the given number of intervals on.
func (h *history) text(name string, steps ...any) *recorded {
	r := &recorded{metric: monolith.Metric{Name: name}, kind: monolith.Text}
	for i := 0; i < len(steps); i += 2 {
		at := noon.Add(time.Duration(steps[i].(int)) * h.interval)
		r.texts = append(r.texts, monolith.TextStep{At: at, Text: steps[i+1].(string)})
	}
	h.metrics = append(h.metrics, r)
	return r
}

func (h *history) Read(_ context.Context, q monolith.Query) (*monolith.Range, error) {
	h.reads.Add(1)
	h.queries = append(h.queries, q)
	step := q.Step
	if h.step > 0 {
		step = h.step
	}
	start := q.From.Truncate(step)
	out := &monolith.Range{Start: start, Step: step, N: int((q.To.Sub(start) + step - 1) / step), Tier: "raw"}
	for _, name := range q.Metrics {
		if slices.Contains(h.absent, name) {
			out.Absent = append(out.Absent, name)
		}
	}
	for _, m := range h.metrics {
		if !slices.Contains(q.Metrics, m.metric.Name) {
			continue
		}
		out.Series = append(out.Series, h.series(m, out, q.To))
	}
	return out, nil
}

func empty(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

func (h *history) series(m *recorded, rng *monolith.Range, to time.Time) monolith.Series {
	s := monolith.Series{Metric: m.metric, Kind: m.kind}
	for _, t := range m.texts {
		if t.At.Before(to) {
			s.Steps = append(s.Steps, t)
		}
	}
	if m.kind == monolith.Text {
		return s
	}
	n := rng.N
	place := func(at time.Time) int {
		if at.Before(rng.Start) || !at.Before(to) {
			return -1
		}
		return int(at.Sub(rng.Start) / rng.Step)
	}
	if m.kind != monolith.Counter {
		s.Avg, s.Min, s.Max, s.Last = empty(n), empty(n), empty(n), empty(n)
		count := make([]float64, n)
		for _, r := range m.readings {
			i := place(r.at)
			if i < 0 {
				continue
			}
			v := r.num.Gauge()
			if count[i] == 0 {
				s.Avg[i], s.Min[i], s.Max[i] = 0, v, v
			}
			count[i]++
			s.Avg[i] += (v - s.Avg[i]) / count[i]
			s.Min[i], s.Max[i], s.Last[i] = min(s.Min[i], v), max(s.Max[i], v), v
		}
	}
	if m.kind.Accumulates() {
		s.Increase, s.Seconds, s.RateMin, s.RateMax = empty(n), empty(n), empty(n), empty(n)
		for j := 1; j < len(m.readings); j++ {
			a, b := m.readings[j-1], m.readings[j]
			i := place(b.at)
			from := monolith.Point{Run: a.run, Clock: a.at.Sub(noon), Interval: h.interval}
			till := monolith.Point{Run: b.run, Clock: b.at.Sub(noon), Interval: h.interval}
			inc, elapsed, ok := monolith.Increase(a.num, b.num, from, till)
			if i < 0 || !ok {
				continue
			}
			rate := inc / elapsed.Seconds()
			if s.Increase[i] != s.Increase[i] {
				s.Increase[i], s.Seconds[i], s.RateMin[i], s.RateMax[i] = 0, 0, rate, rate
			}
			s.Increase[i] += inc
			s.Seconds[i] += elapsed.Seconds()
			s.RateMin[i], s.RateMax[i] = min(s.RateMin[i], rate), max(s.RateMax[i], rate)
		}
	}
	return s
}

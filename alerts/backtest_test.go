package alerts

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"monolith"
)

// madeHistory answers with what functions of time say.
type madeHistory struct {
	gauges   map[string]func(time.Time) float64
	counters map[string]func(time.Time) float64 // per second
	texts    map[string][]monolith.TextStep
	reads    int
}

func (h *madeHistory) Read(ctx context.Context, q monolith.Query) (*monolith.Range, error) {
	h.reads++
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &monolith.Range{Start: q.From, Step: q.Step, N: int(q.To.Sub(q.From) / q.Step), Tier: "raw"}
	for _, name := range q.Metrics {
		s := monolith.Series{Metric: monolith.Metric{Name: name}}
		switch {
		case h.gauges[name] != nil:
			for i := range r.N {
				s.Last = append(s.Last, h.gauges[name](r.Start.Add(time.Duration(i+1)*r.Step)))
			}
			s.Avg = s.Last
		case h.counters[name] != nil:
			for i := range r.N {
				rate, covered := h.counters[name](r.Start.Add(time.Duration(i+1)*r.Step)), r.Step.Seconds()
				s.Increase = append(s.Increase, rate*covered)
				if math.IsNaN(rate) {
					covered = 0
				}
				s.Seconds = append(s.Seconds, covered)
			}
		case h.texts[name] != nil:
			s.Steps = h.texts[name]
		default:
			r.Absent = append(r.Absent, name)
			continue
		}
		r.Series = append(r.Series, s)
	}
	return r, nil
}

// backTestFleet is a service with one server and a history in which questions are asked from 10:00 to 11:00.
func backTestFleet(t *testing.T) (*fleetOf, *madeHistory, time.Time) {
	t.Helper()
	day := testStart()
	h := &madeHistory{
		gauges: map[string]func(time.Time) float64{
			"server.polled":            func(time.Time) float64 { return 1 },
			"status.Uptime":            func(at time.Time) float64 { return at.Sub(day).Seconds() + 1e6 },
			"status.Threads_running":   func(at time.Time) float64 { return map[bool]float64{true: 30, false: 2}[at.Hour() == 10] },
			"status.Threads_connected": func(at time.Time) float64 { return 5 },
		},
		counters: map[string]func(time.Time) float64{
			"status.Questions": func(at time.Time) float64 { return map[bool]float64{true: 200, false: 1}[at.Hour() == 10] },
		},
		texts: map[string][]monolith.TextStep{"variable.flush_time": {{At: day, Text: "0"}, {At: day.Add(5 * time.Hour), Text: "1800"}, {At: day.Add(6 * time.Hour), Text: "0"}}},
	}
	f := newFleet(t, "db1")
	f.run(time.Minute)
	f.service.cfg.History = h
	return f, h, day
}

func TestBackTest(t *testing.T) {
	f, _, day := backTestFleet(t)
	run := func(b monolith.BackTest) *monolith.BackTestServer {
		t.Helper()
		b.From, b.To = day, day.Add(24*time.Hour)
		got, err := f.service.BackTest(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Servers) != 1 {
			t.Fatalf("%d servers", len(got.Servers))
		}
		return &got.Servers[0]
	}
	busy := `
id: many-questions
title: Many
window: 15m
let:
  asked: {is: rate(status.Questions), unit: 1/s}
when:
- if: asked > limit.asked
  limits: {warn: {asked: 100}, critical: {asked: 1000}}
  for: 5m
  clear: {after: 10m, factor: 0.9}
summary: "{asked}"
says: "{asked}"
`
	got := run(monolith.BackTest{Source: busy})
	if len(got.Episodes) != 1 || got.Episodes[0].Level != monolith.LevelWarn || len(got.Lines) != 1 || got.Lines[0].Name != "asked" || got.Lines[0].Unit != "1/s" {
		t.Fatalf("got %+v", got)
	}
	// The window is over 100/s from 10:08 on, for five minutes more until it opens; it falls below 90/s at 11:08 and stays
	// open for ten.
	e := got.Episodes[0]
	if from := e.From.Sub(day); from < 10*time.Hour+12*time.Minute || from > 10*time.Hour+16*time.Minute {
		t.Errorf("it opened at %s", from)
	}
	if to := e.To.Sub(day); to < 11*time.Hour+17*time.Minute || to > 11*time.Hour+21*time.Minute {
		t.Errorf("it closed at %s", to)
	}
	if open := e.To.Sub(e.From); got.Open < open-time.Minute || got.Open > open+time.Minute {
		t.Errorf("open for %s, the episode is %s", got.Open, open)
	}
	if v := got.Lines[0].Value; len(got.Times) < 1400 || len(got.Times) != len(v) || math.Abs(slices.Max(v)-200) > 1 {
		t.Errorf("%d times, %d values, the highest is %v", len(got.Times), len(v), slices.Max(v))
	}
	// Other limits, while they are being moved.
	if got := run(monolith.BackTest{Source: busy, Limits: map[string]map[string]float64{"warn": {"asked": 300}}}); len(got.Episodes) != 0 {
		t.Errorf("with a higher limit: %+v", got.Episodes)
	}
	if _, err := f.service.BackTest(t.Context(), monolith.BackTest{Source: busy, Limits: map[string]map[string]float64{"warn": {"asked": 5000}}, From: day, To: day.Add(time.Hour)}); !errors.Is(err, monolith.ErrInvalid) {
		t.Errorf("a limit on the wrong side: %v", err)
	}
	// A built-in rule, by a text.
	if got := run(monolith.BackTest{Rule: "flush-time-nonzero"}); len(got.Episodes) != 1 || got.Episodes[0].To.Sub(got.Episodes[0].From) < 45*time.Minute {
		t.Errorf("flush_time: %+v", got)
	}
	// What history does not keep.
	if got := run(monolith.BackTest{Rule: "root-no-password"}); got.Note == "" || got.Unknown != 24*time.Hour {
		t.Errorf("accounts: %+v", got)
	}
}

func TestBackTestEnds(t *testing.T) {
	f, _, day := backTestFleet(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.service.BackTest(ctx, monolith.BackTest{Rule: "flush-time-nonzero", From: day, To: day.Add(time.Hour)}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for name, b := range map[string]monolith.BackTest{
		"nothing":     {From: day, To: day.Add(time.Hour)},
		"both":        {Rule: "replica-lag", Source: "x", From: day, To: day.Add(time.Hour)},
		"backwards":   {Rule: "flush-time-nonzero", From: day, To: day.Add(-time.Hour)},
		"too long":    {Rule: "flush-time-nonzero", From: day, To: day.AddDate(1, 0, 0)},
		"a bad limit": {Rule: "flush-time-nonzero", From: day, To: day.Add(time.Hour), Limits: map[string]map[string]float64{"info": {"x": 1}}},
	} {
		if _, err := f.service.BackTest(t.Context(), b); !errors.Is(err, monolith.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := f.service.BackTest(t.Context(), monolith.BackTest{Rule: "no-such-rule", From: day, To: day.Add(time.Hour)}); !errors.Is(err, monolith.ErrNotFound) {
		t.Errorf("an unknown rule: %v", err)
	}
	if got := stepOf(92 * 24 * time.Hour); got < 30*time.Minute || got > 2*time.Hour {
		t.Errorf("three months in steps of %s", got)
	}
}

// TestBackTestGoesByWhatWasThere: an hourly value that history lacks is not known at once, as if its collector had run in vain,
// and an alert that was open already when the time begins is told.
func TestBackTestGoesByWhatWasThere(t *testing.T) {
	f, h, day := backTestFleet(t)
	h.gauges["server.databases"] = func(at time.Time) float64 {
		if at.Hour() == 10 {
			return math.NaN()
		}
		return 5
	}
	const many = `
id: many-databases
title: Many
window: 15m
let:
  there: {is: server.databases}
when:
- if: there > limit.there && (rate(status.Questions) ?? 0) >= 0
  limits: {warn: {there: 3}}
  clear: {after: 1m}
summary: "{there}"
says: "{there}"
`
	got, err := f.service.BackTest(t.Context(), monolith.BackTest{From: day.Add(8 * time.Hour), To: day.Add(12 * time.Hour), Source: many})
	if err != nil {
		t.Fatal(err)
	}
	one := got.Servers[0]
	if one.Unknown < 55*time.Minute || one.Unknown > 65*time.Minute {
		t.Errorf("unknown for %s of an hour", one.Unknown)
	}
	// It was open before the time that is asked for, and stays so.
	if len(one.Episodes) != 1 || !one.Episodes[0].From.Equal(got.From) || !one.Episodes[0].To.IsZero() || one.Open < 235*time.Minute {
		t.Errorf("open for %s: %+v", one.Open, one.Episodes)
	}
	// What closed before it is not told.
	h.gauges["server.databases"] = func(at time.Time) float64 {
		return map[bool]float64{true: 5, false: 1}[at.Before(day.Add(8*time.Hour-90*time.Second))]
	}
	if got, err = f.service.BackTest(t.Context(), monolith.BackTest{From: day.Add(8 * time.Hour), To: day.Add(12 * time.Hour), Source: many}); err != nil {
		t.Fatal(err)
	}
	if one := got.Servers[0]; len(one.Episodes) != 0 || one.Open != 0 {
		t.Errorf("over before: open for %s: %+v", one.Open, one.Episodes)
	}
}

package alerts

import (
	"math"
	"strings"
	"testing"
	"time"

	"monolith"
)

// unusual is a rule whose values come from long windows: of days, of a week ago, and of this hour on other days.
const unusual = `
id: more-than-usual
title: More than usual
window: 15m
let:
  asked: {is: rate(status.Questions), unit: 1/s}
  usual: {is: usual_rate(status.Questions), unit: 1/s}
  before: {is: 'week_ago(rate(status.Questions, "1h"))', unit: 1/s}
  days: {is: 'rate(status.Questions, "3d")', unit: 1/s}
when:
- if: asked > limit.times * usual and asked > before and asked > days
  limits: {warn: {times: 3}}
  for: 5m
  clear: {after: 10m}
summary: "{asked}, usually {usual}"
says: "{asked}, {usual} at this hour, {before} a week ago, {days} on average"
`

func TestBackTestOverLongWindows(t *testing.T) {
	f, h, day := backTestFleet(t)
	// 100/s, and twenty times that from 10 to 11 on the second day of the test.
	h.counters["status.Questions"] = func(at time.Time) float64 {
		if at = at.Add(-time.Second); at.Hour() == 10 && at.Sub(day) > 24*time.Hour && at.Sub(day) < 48*time.Hour {
			return 2000
		}
		return 100
	}
	run := func(b monolith.BackTest, days int) *monolith.BackTestServer {
		t.Helper()
		b.From, b.To = day, day.Add(time.Duration(days)*24*time.Hour)
		got, err := f.service.BackTest(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		return &got.Servers[0]
	}
	got := run(monolith.BackTest{Source: unusual}, 3)
	if len(got.Episodes) != 1 || got.Note != "" || got.Unknown > time.Hour {
		t.Fatalf("got %+v", got.Episodes)
	}
	if from := got.Episodes[0].From.Sub(day) - 24*time.Hour; from < 10*time.Hour || from > 10*time.Hour+30*time.Minute {
		t.Errorf("it opened at %s of the second day", from)
	}
	if s := got.Episodes[0].Summary; !strings.Contains(s, "usually 100/s") {
		t.Errorf("it says %q", s)
	}
	if got := run(monolith.BackTest{Source: unusual, Limits: map[string]map[string]float64{"warn": {"times": 3000}}}, 3); len(got.Episodes) != 0 {
		t.Errorf("with another limit: %+v", got.Episodes)
	}
	// History that begins with the test knows nothing of other days yet.
	old := h.counters["status.Questions"]
	h.counters["status.Questions"] = func(at time.Time) float64 {
		if at.Before(day) {
			return math.NaN()
		}
		return old(at)
	}
	if got := run(monolith.BackTest{Source: unusual}, 2); len(got.Episodes) != 0 || got.Unknown < 40*time.Hour || !strings.Contains(got.Note, "could not be judged") {
		t.Errorf("without the days before: %+v, %s, %q", got.Episodes, got.Unknown, got.Note)
	}
	// Built-in rules over days, and three months of them in a bounded number of values.
	h.reads = 0
	if got := run(monolith.BackTest{Rule: "innodb-buffer-too-large"}, 92); strings.Contains(got.Note, "more than a day") || h.reads > 20 {
		t.Errorf("a built-in rule: %q after %d reads", got.Note, h.reads)
	}
}

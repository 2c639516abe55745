package poller

import (
	"errors"
	"strings"
	"testing"
	"time"

	"monolith"
)

func TestParseSchedule(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 28, 12, 0, 3, 500, time.UTC)
	for _, c := range []struct{ expr, zone, next string }{
		{"@every 10s", "", "2026-03-28T12:00:10Z"},
		{"@every 1s", "Europe/Berlin", "2026-03-28T12:00:04Z"},
		{" @every 1h ", "", "2026-03-28T13:00:00Z"},
		{"@every 6h", "", "2026-03-28T18:00:00Z"},
		{"@hourly", "", "2026-03-28T13:00:00Z"},
		{"*/5 * * * *", "", "2026-03-28T12:05:00Z"},
		{"*/15 * * * * *", "", "2026-03-28T12:00:15Z"},
		{"0 3 * * *", "", "2026-03-29T03:00:00Z"},
		{"0 3 * * *", "Europe/Berlin", "2026-03-29T01:00:00Z"}, // summer time begins that night
		{"CRON_TZ=Asia/Tokyo 0 3 * * *", "Europe/Berlin", "2026-03-28T18:00:00Z"},
		{"TZ=Asia/Tokyo 0 0 3 * * *", "", "2026-03-28T18:00:00Z"},
	} {
		s, err := ParseSchedule(c.expr, c.zone)
		if err != nil {
			t.Errorf("%q: %v", c.expr, err)
			continue
		}
		if next := s.Next(at).UTC().Format(time.RFC3339); next != c.next {
			t.Errorf("%q in %q comes at %s, want %s", c.expr, c.zone, next, c.next)
		}
	}
}

func TestParseScheduleRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ expr, zone, reason string }{
		{"", "", "empty"},
		{"@every 500ms", "", "shorter than a second"},
		{"@every 1500ms", "", "whole number of seconds"},
		{"@every 0s", "", "not longer than nothing"},
		{"@every -5s", "", "not a length of time"},
		{"@every", "", "not longer than nothing"},
		{"@sometimes", "", "not a schedule"},
		{"* * *", "", "not a schedule"},
		{"61 * * * *", "", "not a schedule"},
		{", * * * *", "", "never comes"},
		{"0 0 31 2 *", "", "never comes"},
		{"TZ=UTC", "", "no schedule"},
		{"CRON_TZ= * * * * *", "", "no schedule"},
		{"CRON_TZ=Mars/Olympus * * * * *", "", "unknown time zone"},
		{"CRON_TZ=UTC CRON_TZ=UTC * * * * *", "", "once"},
		{"0 3 * * *", "Mars/Olympus", "unknown time zone"},
		{"0 3 * * *", "Local", "must be named"},
		{strings.Repeat("1,", 200) + "1 * * * *", "", "longer than"},
	} {
		_, err := ParseSchedule(c.expr, c.zone)
		if !errors.Is(err, monolith.ErrInvalid) || !strings.Contains(err.Error(), c.reason) {
			t.Errorf("%q in %q: %v, want it to say %q", c.expr, c.zone, err, c.reason)
		}
	}
}

func FuzzParseSchedule(f *testing.F) {
	for _, s := range []string{"@every 10s", "0 3 * * *", "*/10 * * * * *", "TZ=UTC", "CRON_TZ=UTC 1 2 3 4 5", "@daily", "1-5/2 * ? * MON"} {
		f.Add(s, "UTC")
	}
	f.Fuzz(func(t *testing.T, expr, zone string) {
		s, err := ParseSchedule(expr, zone)
		if err != nil {
			if !errors.Is(err, monolith.ErrInvalid) {
				t.Fatalf("%q: %v is not an invalid input", expr, err)
			}
			return
		}
		now := time.Date(2026, 1, 1, 0, 0, 0, 1, time.UTC)
		next := s.Next(now)
		if !next.After(now) || next.Nanosecond() != 0 {
			t.Fatalf("%q: after %v comes %v", expr, now, next)
		}
		if again := s.Next(next); again.Sub(next) < time.Second && !again.IsZero() {
			t.Fatalf("%q fires twice within a second: %v, %v", expr, next, again)
		}
	})
}

func TestDefaultSchedulesAreGood(t *testing.T) {
	t.Parallel()
	for name, expr := range monolith.DefaultSchedules {
		if _, err := ParseSchedule(expr, ""); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range monolith.ScheduleNames {
		if monolith.DefaultSchedules[name] == "" {
			t.Errorf("%s has no default", name)
		}
	}
}

func TestPlanForTakesTheNearest(t *testing.T) {
	t.Parallel()
	groups := []monolith.Group{
		{Path: "acme", TimeZone: "Europe/Berlin", Schedules: map[string]string{monolith.Fast: "@every 30s", monolith.Daily: "0 3 * * *"}},
		{Path: "acme/prod", Schedules: map[string]string{monolith.Fast: "@every 5s"}},
		{Path: "other", Schedules: map[string]string{monolith.Slow: "@every 2s"}},
	}
	s := monolith.Server{Name: "db", Group: "acme/prod/eu", Schedules: map[string]string{monolith.Hourly: "@every 30m", monolith.Sizes: "rubbish"}}
	p := planFor(&s, groups)
	for name, want := range map[string]string{
		monolith.Fast: "every 5s", monolith.Slow: "every 60s", monolith.Hourly: "every 30m", monolith.Sizes: "every 6h",
		monolith.Daily: "0 3 * * * (Europe/Berlin)",
	} {
		if got := p.specs[name].words(); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if len(p.problems) != 1 || !strings.Contains(p.problems[0].Text, "rubbish") {
		t.Errorf("problems: %+v", p.problems)
	}
}

func TestOffsetsAreSpread(t *testing.T) {
	t.Parallel()
	const within = 10 * time.Second
	var slots [10]int
	for id := range monolith.ServerID(1000) {
		o := offsetOf(id, within)
		if o < 0 || o >= within || o != offsetOf(id, within) {
			t.Fatalf("offset of %d is %v", id, o)
		}
		slots[o/time.Second]++
	}
	for i, n := range slots {
		if n < 60 || n > 140 {
			t.Errorf("second %d has %d of 1000 servers", i, n)
		}
	}
}

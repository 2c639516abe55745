package monolith

import (
	"errors"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 29, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"now": now, "-2h": now.Add(-2 * time.Hour), "-1w": now.Add(-7 * 24 * time.Hour), "0": time.Unix(0, 0), "1700000000": time.Unix(1700000000, 0),
		"2026-03-29T12:00:00Z": now, "2026-03-29T14:00:00.5+02:00": now.Add(500 * time.Millisecond), "2026-03-29T12:00Z": now,
	} {
		if got, err := ParseTime("from", text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q is %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "-", "-5", "--2h", "2026-13-01T00:00:00Z", "999999999999999", "-1", "2026-03-29"} {
		var invalid *InvalidError
		if _, err := ParseTime("from", text, now); !errors.As(err, &invalid) || invalid.Field != "from" || invalid.Cure == "" && text != "999999999999999" {
			t.Errorf("%q gave %v", text, err)
		}
	}
}

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * 24 * time.Hour, "1w": 7 * 24 * time.Hour, "1.5h": 90 * time.Minute,
		"250ms": 250 * time.Millisecond,
	} {
		if got, err := ParseDuration("step", text); err != nil || got != want {
			t.Errorf("%q is %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0s", "5", "s", "-5s", "1y", "5 m", "1e9h", "999999999999w", "1h1", "100w100000w", "1..5h"} {
		if got, err := ParseDuration("step", text); !errors.Is(err, ErrInvalid) {
			t.Errorf("%q gave %v, %v", text, got, err)
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, s := range []string{"1s", "1h30m", "7d", "0.001ms", "9999999w", "1", "", "1.5.5s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDuration("x", s)
		if err == nil && (d <= 0 || d > 100*366*24*time.Hour) || err != nil && !errors.Is(err, ErrInvalid) {
			t.Fatalf("%q gave %v, %v", s, d, err)
		}
		if _, err := ParseTime("x", "-"+s, time.Unix(0, 0)); (err == nil) != (d > 0) && err == nil {
			t.Fatalf("-%s is a time though %s is no length of time", s, s)
		}
	})
}

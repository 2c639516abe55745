package alerts

import (
	"errors"
	"testing"
	"time"

	"monolith"
)

// TestQuietTimesOfFarYears refuses what would end after the year 9999, which no answer to a program can write.
func TestQuietTimesOfFarYears(t *testing.T) {
	far := time.Date(9999, 12, 31, 23, 59, 0, 0, time.UTC)
	near := far.AddDate(-7000, 0, 0)
	for _, w := range []monolith.MaintenanceWindow{
		{Title: "far", Start: far, Duration: time.Hour, Every: "month"},
		{Title: "until far", Start: near, Until: far.AddDate(10, 0, 0), Duration: time.Hour, Every: "month"},
	} {
		if err := w.Validate(); !errors.Is(err, monolith.ErrInvalid) {
			t.Errorf("%s: %v", w.Title, err)
		}
	}
	for _, s := range []monolith.Silence{{Server: 1, From: far, To: far.Add(24 * time.Hour)}, {Alert: 1, From: far}} {
		if err := s.Validate(near); !errors.Is(err, monolith.ErrInvalid) {
			t.Errorf("%+v: %v", s, err)
		}
	}
	if err := (&monolith.MaintenanceWindow{Title: "near", Start: near, Duration: time.Hour}).Validate(); err != nil {
		t.Error(err)
	}
}

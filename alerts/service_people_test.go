package alerts

import (
	"errors"
	"strings"
	"testing"
	"time"

	"monolith"
)

// What people may say is counted in characters, as they are told, whatever their alphabet.
func TestNotesAreCountedInCharacters(t *testing.T) {
	f := newFleet(t, "db1")
	for _, c := range []struct {
		by, note string
		want     error
	}{
		{"kim", strings.Repeat("ü", maxNote), monolith.ErrNotFound}, // taken so far: there is no such alert
		{"kim", strings.Repeat("ü", maxNote+1), monolith.ErrInvalid},
		{strings.Repeat("й", maxBy), "x", monolith.ErrNotFound},
		{strings.Repeat("й", maxBy+1), "x", monolith.ErrInvalid},
	} {
		if _, err := f.service.AddAlertNote(t.Context(), 99, c.by, c.note); !errors.Is(err, c.want) {
			t.Errorf("%d and %d bytes: %v, want %v", len(c.by), len(c.note), err, c.want)
		}
	}
	w := monolith.MaintenanceWindow{Title: strings.Repeat("ü", 200), Start: time.Unix(1_800_000_000, 0), Duration: monolith.MaxMaintenance}
	if err := w.Validate(); err != nil {
		t.Error(err)
	}
	w.Duration += time.Second
	if err := w.Validate(); !errors.Is(err, monolith.ErrInvalid) {
		t.Errorf("a window longer than it may be: %v", err)
	}
}

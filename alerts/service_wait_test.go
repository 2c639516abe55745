package alerts

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"monolith"
)

// opened is a fleet of two servers that can't be reached, with the alert of the first.
func opened(t *testing.T) (*fleetOf, monolith.AlertID) {
	t.Helper()
	f := newFleet(t, "db1", "db2", "db3", "db4", "db5")
	f.run(time.Minute)
	f.lose("db1")
	f.run(2 * time.Minute)
	for _, a := range f.service.Open() {
		if a.Server == 1 && a.Rule == RuleUnreachable && a.ID != 0 {
			return f, a.ID
		}
	}
	t.Fatal("nothing opened")
	return nil, 0
}

// While somebody waits for a store that hangs, others are told soon that it does not answer, and nothing was changed.
func TestNobodyWaitsForOthersForEver(t *testing.T) {
	f, id := opened(t)
	synctest.Test(t, func(t *testing.T) {
		f.service.writing, f.service.changing = newBaton(), newBaton()
		f.service.writing.wait()
		f.service.changing.wait()
		for name, try := range map[string]func(context.Context) error{
			"acknowledge": func(ctx context.Context) error { _, err := f.service.Acknowledge(ctx, id, "eve", ""); return err },
			"silence":     func(ctx context.Context) error { return f.service.DeleteSilence(ctx, 7) },
			"own rule":    func(ctx context.Context) error { return f.service.DeleteOwnRule(ctx, "x") },
			"the end":     f.service.Flush,
		} {
			began := time.Now()
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
			err := try(ctx)
			stop()
			if took := time.Since(began); !errors.Is(err, monolith.ErrUnavailable) || took != 5*time.Second {
				t.Errorf("%s: %v after %s", name, err, took)
			}
		}
		f.service.writing.give()
	})
	if a, err := f.service.Alert(t.Context(), id); err != nil || a.AckedBy != "" {
		t.Errorf("%+v %v", a, err)
	}
}

// What people do is refused while the store takes nothing, and taken back in memory; what happened meanwhile is written when it
// can be.
func TestPeopleAreToldThatNothingIsKept(t *testing.T) {
	f, id := opened(t)
	f.store.down = true
	if _, err := f.service.Acknowledge(t.Context(), id, "eve", ""); !errors.Is(err, monolith.ErrUnavailable) {
		t.Errorf("acknowledge: %v", err)
	}
	f.back()
	f.run(5 * time.Minute)
	if _, err := f.service.Acknowledge(t.Context(), id, "eve", ""); err == nil {
		t.Error("a closed alert was acknowledged")
	}
	f.store.down = false
	f.run(2 * time.Minute)
	if a := f.store.alerts[id]; a.Open() || a.AckedBy != "" {
		t.Errorf("kept: %+v", a)
	}
	if err := f.service.Flush(t.Context()); err != nil || len(f.service.waiting) != 0 {
		t.Errorf("%d wait: %v", len(f.service.waiting), err)
	}
}

// One batch that no store takes holds up no other.
func TestWhatIsNeverTakenHoldsUpNothing(t *testing.T) {
	f, id := opened(t)
	f.store.never = func(b *Batch) bool {
		for _, e := range b.Events {
			if e.Kind == monolith.EventNote {
				return true
			}
		}
		return false
	}
	if _, err := f.service.AddAlertNote(t.Context(), id, "eve", "poison"); !errors.Is(err, monolith.ErrInvalid) {
		t.Errorf("a note that can't be kept: %v", err)
	}
	// The same from within, where nobody waits for the answer.
	f.service.writing.wait()
	b, _ := f.service.touched(id, monolith.EventNote, "", "poison", func(*monolith.Alert) {})
	f.service.commit(t.Context(), b)
	f.service.writing.give()
	if a, err := f.service.Acknowledge(t.Context(), id, "eve", ""); err != nil || a.AckedBy != "eve" {
		t.Errorf("acknowledge: %+v %v", a, err)
	}
}

package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

func TestAlertsWaitForALockedFile(t *testing.T) {
	t.Parallel()
	b := newBench(t, Config{Path: filepath.Join(t.TempDir(), "monolith.db")})
	s := b.server("db1")
	other, _, _, err := openSQLite(t.Context(), b.config)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	lock, err := other.Beginx() // as a backup would
	if err != nil {
		t.Fatal(err)
	}
	// No poll is held up: the first one waits for a moment, the others not at all once it is known that the store is away.
	var batches []*monolith.AlertBatch
	var a *monolith.Alert
	for i := range 5 {
		var e *monolith.AlertBatchEvent
		at := origin.Add(time.Duration(i) * time.Minute)
		if a == nil || i == 3 {
			a, e = newAlert(s.ID, "r", monolith.LevelWarn, at)
		} else {
			e = &monolith.AlertBatchEvent{AlertEvent: monolith.AlertEvent{At: at, Kind: monolith.EventRaised}, Of: a}
		}
		batch := &monolith.AlertBatch{At: at, Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{e}, States: map[monolith.ServerID][]byte{s.ID: []byte(at.String())}}
		start := time.Now()
		if err := b.db.Commit(t.Context(), batch); err != nil || a.ID == 0 || e.ID == 0 {
			t.Fatalf("while the file is locked: %v, ids %d and %d", err, a.ID, e.ID)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("the batch was taken after %v", took)
		}
		batches = append(batches, batch)
	}
	if n := b.db.alerting.len(); n != 5 {
		t.Errorf("%d batches wait", n)
	}
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	b.flushAlerts()
	events, err := b.db.EventsAfter(t.Context(), 0, 0)
	if err != nil || len(events) != 5 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	for i, e := range events {
		if e.ID != batches[i].Events[0].ID || e.Alert != batches[i].Alerts[0].ID {
			t.Errorf("event %d is %+v", i, e)
		}
	}
	if states, err := b.db.EngineStates(t.Context()); err != nil || string(states[s.ID]) != batches[4].At.String() {
		t.Errorf("the memory is %q, %v", states[s.ID], err)
	}
	if n := count(t, b.db, "SELECT COUNT(*) FROM alert"); n != 2 {
		t.Errorf("%d alerts", n)
	}
}

func TestAlertsThatWaitAreBounded(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := b.server("db1")
		b.db.alerting.failing.Store(true)
		b.db.alerting.limit = 100_000
		taken := 0
		for i := range 1000 {
			a, e := newAlert(s.ID, "r", monolith.LevelWarn, origin.Add(time.Duration(i)*time.Minute))
			a.Text = strings.Repeat("x", 1000)
			err := b.db.Commit(t.Context(), &monolith.AlertBatch{At: origin, Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{e}})
			if err == nil {
				taken++
				continue
			}
			if !errors.Is(err, monolith.ErrUnavailable) || a.ID != 0 || e.ID != 0 {
				t.Fatalf("%v, ids %d and %d", err, a.ID, e.ID)
			}
		}
		if taken < 20 || taken > 200 || b.db.alerting.bytes > 100_000 {
			t.Errorf("%d batches were taken, %d bytes", taken, b.db.alerting.bytes)
		}
		b.flushAlerts()
		if n := count(t, b.db, "SELECT COUNT(*) FROM alert"); n != taken || b.db.alerting.bytes != 0 || b.db.alerting.len() != 0 {
			t.Errorf("%d of %d alerts are there, %d bytes wait", n, taken, b.db.alerting.bytes)
		}
		// The memory of a server waits once, however often it came.
		b.db.alerting.failing.Store(true)
		for range 1000 {
			if err := b.db.Commit(t.Context(), &monolith.AlertBatch{At: origin, States: map[monolith.ServerID][]byte{s.ID: make([]byte, 500)}}); err != nil {
				t.Fatal(err)
			}
		}
		if b.db.alerting.len() > 1 {
			t.Errorf("%d batches wait", b.db.alerting.len())
		}
	})
}

func TestBatchThatTheStoreDoesNotTakeHoldsUpNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := b.server("db1")
		b.db.alerting.failing.Store(true)
		for i := range 5 {
			a, e := newAlert(s.ID, "r", monolith.LevelWarn, origin)
			if err := b.db.Commit(t.Context(), &monolith.AlertBatch{At: origin, Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{e}}); err != nil {
				t.Fatal(err)
			}
			if i == 2 {
				b.db.alerting.waiting[i].alerts[0].row[1] = nil // NOT NULL
			}
		}
		b.flushAlerts()
		for _, table := range []string{"alert", "alert_event"} {
			if n := count(t, b.db, "SELECT COUNT(*) FROM "+table); n != 4 {
				t.Errorf("%s has %d rows, want 4", table, n)
			}
		}
		if !strings.Contains(b.log.String(), "a batch of alerts is given up") {
			t.Error("nobody was told")
		}
	})
}

func TestOpenAlertThatTheEngineLostIsWrittenAgain(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := b.server("db1")
		open, e := newAlert(s.ID, "r", monolith.LevelWarn, origin)
		closed, _ := newAlert(s.ID, "r", monolith.LevelWarn, origin)
		b.commit(&monolith.AlertBatch{At: origin, Alerts: []*monolith.Alert{open, closed}, Events: []*monolith.AlertBatchEvent{e}})
		if _, err := b.db.w.Exec("DELETE FROM alert"); err != nil {
			t.Fatal(err)
		}
		open.Level, closed.Closed = monolith.LevelCritical, origin.Add(time.Hour)
		b.commit(&monolith.AlertBatch{At: origin, Alerts: []*monolith.Alert{open, closed}})
		all, err := b.db.Alerts(t.Context(), monolith.AlertQuery{Open: true, Closed: true})
		if err != nil || len(all) != 1 || all[0].ID != open.ID || all[0].Level != monolith.LevelCritical {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// TestConnectionsThatBreakWhileAlertsAreCommitted breaks them at any moment, also between a commit and the word that it
// was done.
func TestConnectionsThatBreakWhileAlertsAreCommitted(t *testing.T) {
	t.Parallel()
	server := mysqltest.Shared(t)
	relay := mysqltest.NewRelay(t, server, nil)
	b := newBench(t, Config{DSN: relay.DSN(t, server.NewDatabase(t)), KeyFile: filepath.Join(t.TempDir(), "key"), Migrate: true})
	s := b.server("db1")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(3 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			<-tick.C
			if rand.IntN(3) == 0 {
				relay.To(server) // cuts what there is
			}
		}
	}()
	const rounds = 60
	broke := 0
	for i := range rounds {
		at := origin.Add(time.Duration(i) * time.Minute)
		a, e := newAlert(s.ID, "r", monolith.LevelWarn, at)
		d := &monolith.AlertBatchDelivery{Delivery: monolith.Delivery{Channel: 1}, Of: []*monolith.Alert{a}, About: e}
		batch := &monolith.AlertBatch{At: at, Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{e}, Deliveries: []*monolith.AlertBatchDelivery{d}}
		if err := b.db.Commit(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(time.Minute)
		for b.db.alerting.len() > 0 {
			err := b.db.flushAlerts(t.Context())
			if err != nil {
				broke++
			}
			if err != nil && !errors.Is(err, monolith.ErrUnavailable) || time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
	}
	stop()
	<-done
	t.Logf("%d commits broke", broke)
	for _, table := range []string{"alert", "alert_event", "delivery", "delivery_alert"} {
		if n := count(t, b.db, "SELECT COUNT(*) FROM "+table); n != rounds {
			t.Errorf("%s has %d rows, want %d", table, n, rounds)
		}
	}
}

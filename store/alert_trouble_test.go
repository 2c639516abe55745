package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

func TestAlertsOfALockedFileMayBeGivenAgain(t *testing.T) {
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
	a, e := newAlert(s.ID, "r", monolith.LevelWarn, origin)
	batch := &monolith.AlertBatch{At: origin, Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{e}}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := b.db.Commit(ctx, batch); !errors.Is(err, monolith.ErrUnavailable) || a.ID != 0 || e.ID != 0 {
		t.Errorf("while the file is locked: %v, ids %d and %d", err, a.ID, e.ID)
	}
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	b.commit(batch)
	if n := count(t, b.db, "SELECT COUNT(*) FROM alert_event"); n != 1 {
		t.Errorf("%d events", n)
	}
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
	broke, unsure := 0, 0
	for i := range rounds {
		at := origin.Add(time.Duration(i) * time.Minute)
		a, e := newAlert(s.ID, "r", monolith.LevelWarn, at)
		d := &monolith.AlertBatchDelivery{Delivery: monolith.Delivery{Channel: 1}, Of: []*monolith.Alert{a}, About: e}
		batch := &monolith.AlertBatch{At: at, Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{e}, Deliveries: []*monolith.AlertBatchDelivery{d}}
		deadline := time.Now().Add(time.Minute)
		for {
			err := b.db.Commit(t.Context(), batch)
			if err == nil {
				break
			}
			if broke++; len(b.db.alerting.unsure.events) > 0 {
				unsure++
			}
			if !errors.Is(err, monolith.ErrUnavailable) || time.Now().After(deadline) {
				t.Fatal(err)
			}
		}
	}
	stop()
	<-done
	t.Logf("%d commits broke, %d of them at their end", broke, unsure)
	for _, table := range []string{"alert", "alert_event", "delivery", "delivery_alert"} {
		if n := count(t, b.db, "SELECT COUNT(*) FROM "+table); n != rounds {
			t.Errorf("%s has %d rows, want %d", table, n, rounds)
		}
	}
}

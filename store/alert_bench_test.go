package store

import (
	"fmt"
	"testing"
	"time"

	"monolith"
)

// alertYear fills a store with what a fleet leaves behind in a year: 1,000 servers, 100,000 episodes, one open alert a
// server.
func alertYear(b *testing.B, s *bench) {
	b.Helper()
	tx := s.db.w.MustBegin()
	for i := range 1000 {
		tx.MustExec(insertInto("server", []string{"name", "group_path", "sort_order", "address", "attributes", "created_ms", "updated_ms"}),
			fmt.Sprint("db", i), fmt.Sprint("g", i%50), i, "x", "{}", 0, 0)
	}
	body, err := alertBody(func() *monolith.Alert { a, _ := newAlert(1, "r", monolith.LevelWarn, origin); return a }())
	if err != nil {
		b.Fatal(err)
	}
	alerts := newInserter(b.Context(), tx, "alert", append([]string{"id"}, alertColumns...)...)
	events := newInserter(b.Context(), tx, "alert_event", "id", "alert_id", "server_id", "at_ms", "kind", "level", "grade", "made_by", "body", "quiet")
	const episodes = 100_000
	for i := range int64(episodes) {
		at, closed, level := origin.Add(time.Duration(i)*5*time.Minute).UnixMilli(), int64(0), 1+i/1000%100/60+i/1000%100/90
		if i < episodes-1000 {
			closed = at + 600_000
		}
		alerts.add(i+1, 1+i%1000, fmt.Sprint("rule", i%103), "", "x", level, level, at, at, closed, "", 0, body)
		events.add(2*i+1, i+1, 1+i%1000, at, "opened", level, level, "", "41.5 of 40", "")
		events.add(2*i+2, i+1, 1+i%1000, at+600_000, "closed", 0, level, "", "", "")
	}
	for _, err := range []error{alerts.done(), events.done(), tx.Commit()} {
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAlertQueries is what pages and feeds ask for.
func BenchmarkAlertQueries(b *testing.B) {
	benchEngines(b, func(b *testing.B, s *bench) {
		alertYear(b, s)
		ctx := b.Context()
		run := func(name string, want int, ask func() (int, error)) {
			b.Run(name, func(b *testing.B) {
				for b.Loop() {
					if n, err := ask(); err != nil || n != want {
						b.Fatalf("%d rows, %v", n, err)
					}
				}
			})
		}
		run("open", 1000, func() (int, error) { a, err := s.db.OpenAlerts(ctx); return len(a), err })
		run("open-page", 200, func() (int, error) { a, err := s.db.Alerts(ctx, monolith.AlertQuery{}); return len(a), err })
		run("of-server", 100, func() (int, error) {
			a, err := s.db.Alerts(ctx, monolith.AlertQuery{Open: true, Closed: true, Servers: []monolith.ServerID{7}})
			return len(a), err
		})
		for _, level := range monolith.Levels {
			run("feed-"+level.String(), 100, func() (int, error) {
				e, err := s.db.NewestEvents(ctx, monolith.AlertEventQuery{Levels: []monolith.Level{level}})
				return len(e), err
			})
			run("feed-of-group-"+level.String(), 100, func() (int, error) {
				e, err := s.db.NewestEvents(ctx, monolith.AlertEventQuery{Levels: []monolith.Level{level}, Group: "g7"})
				return len(e), err
			})
		}
		run("nothing-due", 0, func() (int, error) { d, err := s.db.ClaimDeliveries(ctx, origin, "w", 10); return len(d), err })
	})
}

// BenchmarkCommitAlerts is the first minute with a fleet: each server opens some alerts, with their messages and the engine's
// memory.
func BenchmarkCommitAlerts(b *testing.B) {
	benchEngines(b, func(b *testing.B, s *bench) {
		id := s.server("db").ID
		state := make([]byte, 4096)
		for b.Loop() {
			batch := &monolith.AlertBatch{At: origin, States: map[monolith.ServerID][]byte{id: state}}
			for range 3 {
				a, e := newAlert(id, "r", monolith.LevelWarn, origin)
				batch.Alerts, batch.Events = append(batch.Alerts, a), append(batch.Events, e)
				batch.Deliveries = append(batch.Deliveries, &monolith.AlertBatchDelivery{Delivery: monolith.Delivery{Channel: 1, Payload: state[:1000]}, Of: []*monolith.Alert{a}, About: e})
			}
			if err := s.db.Commit(b.Context(), batch); err != nil {
				b.Fatal(err)
			}
		}
		b.StopTimer()
		s.flushAlerts()
	})
}

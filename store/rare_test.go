package store

import (
	"testing"

	"monolith"
)

// Statements that only rare moments need.

func TestEstimateOfABudgetBelowWhatIsThere(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		for range 6 {
			b.play(s, 361)
			b.pack()
		}
		b.sql("UPDATE history_block SET bytes = 8388608 WHERE tier = 0") // so large that a budget can be less
		r := monolith.DefaultRetention()
		all, err := b.db.Estimate(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		raw := count(t, b.db, "SELECT SUM(bytes) FROM history_block WHERE tier = 0")
		r.RawBytes = int64(raw / 2)
		half, err := b.db.Estimate(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		was, will := all.Tiers[0], half.Tiers[0]
		if will.Deletes < int64(raw-raw/2) || was.Deletes != 0 || !will.NewOldest.After(was.Oldest) || !will.NewOldest.Before(s.at) {
			t.Errorf("of %d bytes all give %+v, half give %+v", raw, was, will)
		}
	})
}

func TestUnknownOutcomeOfACommitOfAlerts(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		a, e := newAlert(b.server("a").ID, "x", monolith.LevelWarn, origin)
		d := &monolith.AlertBatchDelivery{Delivery: monolith.Delivery{Channel: 1, Kind: monolith.NoticeProblem, Key: "k", Payload: []byte("{}")}, Of: []*monolith.Alert{a}, About: e}
		b.commit(&monolith.AlertBatch{At: origin, Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{e}, Deliveries: []*monolith.AlertBatchDelivery{d}})
		for name, of := range map[string]func(there bool) alertAttempt{
			"event": func(there bool) alertAttempt {
				return alertAttempt{events: map[*monolith.AlertBatchEvent]int64{e: id(int64(e.ID), there)}}
			},
			"alert": func(there bool) alertAttempt {
				return alertAttempt{alerts: map[*monolith.Alert]monolith.AlertID{a: id(a.ID, there)}}
			},
			"delivery": func(there bool) alertAttempt {
				return alertAttempt{deliveries: map[*monolith.AlertBatchDelivery]int64{d: id(int64(d.ID), there)}}
			},
		} {
			for _, there := range []bool{true, false} {
				b.db.alerting.unsure = of(there)
				known, err := b.db.settleAlerts(t.Context())
				if n := len(known.alerts) + len(known.events) + len(known.deliveries); err != nil || (n == 1) != there {
					t.Errorf("%s, there %v: %d are known, %v", name, there, n, err)
				}
			}
		}
		b.db.alerting.unsure = alertAttempt{}
		found, err := b.db.AlertsByID(t.Context(), []monolith.AlertID{a.ID, a.ID + 1})
		if err != nil || len(found) != 1 || found[a.ID].Rule != "x" {
			t.Errorf("found %v, %v", found, err)
		}
	})
}

// id gives the id, or one that nothing has.
func id[T ~int64](of T, there bool) T {
	if there {
		return of
	}
	return of + 1000
}

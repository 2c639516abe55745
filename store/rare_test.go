package store

import (
	"testing"

	"github.com/jmoiron/sqlx"

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
		for _, there := range []bool{true, false} {
			for name, w := range map[string]*alertWork{
				"event":    {events: []eventWrite{{id: id(e.ID, there)}}},
				"alert":    {alerts: []alertWrite{{id: int64(id(a.ID, there)), fresh: true}}},
				"delivery": {deliveries: []deliveryWrite{{id: id(d.ID, there)}}},
			} {
				w.tried = true
				err := b.db.inTx(t.Context(), func(tx *sqlx.Tx) error {
					got, err := w.there(t.Context(), tx)
					if got != there {
						t.Errorf("%s is there: %v, want %v", name, got, there)
					}
					return err
				})
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
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

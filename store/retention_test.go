package store

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

func TestRetentionIsEditedAndKept(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		got, err := b.db.Retention(ctx)
		if err != nil || got != monolith.DefaultRetention() {
			t.Errorf("at first: %+v, %v", got, err)
		}
		bad := got
		bad.RawDays = 0
		if err := b.db.SetRetention(ctx, bad); !isInvalid(err) {
			t.Errorf("no days: %v", err)
		}
		want := monolith.Retention{RawDays: 3, TenMinuteDays: 30, HourDays: 300, RawBytes: 1 << 30, AlertDays: 400, DeliveryDays: 30}
		if err := b.db.SetRetention(ctx, want); err != nil {
			t.Fatal(err)
		}
		b.reopen()
		if got, err := b.db.Retention(ctx); err != nil || got != want {
			t.Errorf("after a start: %+v, %v", got, err)
		}
	})
}

func TestPurgeDeletesWhatIsTooOldAndNoMore(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		s := newSource(b.server("a").ID)
		for range 3 * 24 { // three days
			b.play(s, 360)
			b.pack()
		}
		usage, err := b.db.Usage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		raw := usage.Tiers[1]
		if raw.Tier != "raw" || raw.Bytes == 0 || !raw.Oldest.Equal(origin.Add(pollEvery)) || usage.Servers[0].Bytes <= raw.Bytes || usage.BytesPerDay <= 0 {
			t.Errorf("usage %+v", usage)
		}
		r := monolith.Retention{RawDays: 1, TenMinuteDays: 30, HourDays: 300, RawBytes: 1 << 30, AlertDays: 400, DeliveryDays: 30}
		e, err := b.db.Estimate(ctx, r)
		if err != nil {
			t.Fatal(err)
		}
		if got := float64(e.Tiers[0].Deletes) / float64(raw.Bytes); got < 0.55 || got > 0.75 || e.Tiers[1].Deletes != 0 {
			t.Errorf("of three days, one kept, the estimate deletes %.2f: %+v", got, e)
		}
		if day := e.Tiers[0].BytesPerDay * 3 / float64(raw.Bytes); day < 0.8 || day > 1.3 {
			t.Errorf("the estimate has %v bytes a day, %d were written in three", e.Tiers[0].BytesPerDay, raw.Bytes)
		}
		if err := b.db.SetRetention(ctx, r); err != nil {
			t.Fatal(err)
		}
		if err := b.db.purge(ctx); err != nil {
			t.Fatal(err)
		}
		after, err := b.db.Usage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if freed := raw.Bytes - after.Tiers[1].Bytes; freed != e.Tiers[0].Deletes {
			t.Errorf("%d bytes were deleted, estimated %d", freed, e.Tiers[0].Deletes)
		}
		if diff := cmp.Diff(usage.Tiers[2:], after.Tiers[2:]); diff != "" {
			t.Errorf("the roll-ups changed: %s", diff)
		}
		if texts, err := b.db.TextsAt(ctx, s.id, "variable", s.at); err != nil || len(texts) != 3 {
			t.Errorf("texts in force: %v, %v", texts, err)
		}
		// The whole time is still there, from the coarser tier.
		line := series(t, b.read(monolith.Query{Server: s.id, Metrics: []string{"status.Questions"}, From: origin, To: s.at, Step: time.Hour}), "status.Questions", "")
		for i, v := range line.Increase {
			if v < 0.9*360*50 {
				t.Fatalf("hour %d has an increase of %v", i, v)
			}
		}
		// The disk budget comes first when it is smaller.
		if err := b.db.purgeBudget(ctx, raw.Bytes/10); err != nil {
			t.Fatal(err)
		}
		if after, err = b.db.Usage(ctx); err != nil || after.Tiers[1].Bytes > raw.Bytes/10 || after.Tiers[1].Bytes == 0 {
			t.Errorf("%d bytes with a budget of %d, %v", after.Tiers[1].Bytes, raw.Bytes/10, err)
		}
	})
}

func TestTimelineKeepsTheTextInForceAtItsEdge(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		b.play(s, 6)
		s.variables["max_connections"] = "200"
		b.play(s, 6)
		b.clock.set(origin.AddDate(6, 0, 0))
		if err := b.db.purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := count(t, b.db, "SELECT COUNT(*) FROM text_change"); n != 3 {
			t.Errorf("%d changes are left, want the three in force", n)
		}
		if n := count(t, b.db, "SELECT COUNT(*) FROM time_mark"); n != 0 {
			t.Errorf("%d marks are left", n)
		}
	})
}

func TestDeletedServerLeavesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		gone, stays := newSource(b.server("gone").ID), newSource(b.server("stays").ID)
		for range 2 {
			b.play(gone, 400)
			b.play(stays, 400)
			b.pack()
		}
		b.db.Append(gone.next())
		if err := b.db.DeleteServer(ctx, gone.id); err != nil {
			t.Fatal(err)
		}
		b.db.Append(gone.next()) // a poll that was still under way
		b.flush()
		if err := b.db.DeleteServer(ctx, gone.id); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("deleting it again: %v", err)
		}
		if _, err := b.db.Read(ctx, monolith.Query{Server: gone.id, Metrics: []string{"status.Questions"}, From: origin, To: gone.at, Step: time.Minute}); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("reading it: %v", err)
		}
		if err := b.db.purge(ctx); err != nil {
			t.Fatal(err)
		}
		for table, columns := range tables(t, b) {
			if table == "head" || strings.HasPrefix(table, "v_") {
				continue // the head goes with its key
			}
			for _, c := range columns {
				if c == "server_id" {
					if n := count(t, b.db, "SELECT COUNT(*) FROM "+table+" WHERE server_id = ?", int64(gone.id)); n != 0 {
						t.Errorf("%s has %d rows of the deleted server", table, n)
					}
				}
			}
		}
		checkRaw(t, b, stays, 1, 800)
		b.reopen()
		checkRaw(t, b, stays, 1, 800)
		again := b.server("gone")
		if again.ID == gone.id {
			t.Error("the id of a deleted server was given again")
		}
	})
}

func TestSavedGraphsAndSettings(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		g := monolith.SavedGraph{Title: "mine", Definition: "title: mine\n", Servers: []monolith.ServerID{3, 4}, Page: "overview"}
		if err := b.db.PutGraph(ctx, &g); err != nil || g.ID == 0 {
			t.Fatal(err)
		}
		g.Title = "mine 🎈"
		if err := b.db.PutGraph(ctx, &g); err != nil {
			t.Fatal(err)
		}
		everywhere := monolith.SavedGraph{Title: "all", Definition: "x"}
		if err := b.db.PutGraph(ctx, &everywhere); err != nil {
			t.Fatal(err)
		}
		got, err := b.db.Graphs(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]monolith.SavedGraph{g, everywhere}, got); diff != "" {
			t.Error(diff)
		}
		if err := b.db.PutGraph(ctx, &monolith.SavedGraph{ID: 99, Title: "x"}); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("an unknown graph: %v", err)
		}
		if err := b.db.DeleteGraph(ctx, g.ID); err != nil {
			t.Error(err)
		}
		if err := b.db.DeleteGraph(ctx, g.ID); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("deleting it again: %v", err)
		}
		for _, v := range []string{"one", "zwei ß"} {
			if err := b.db.SetSetting(ctx, "theme", v); err != nil {
				t.Fatal(err)
			}
			if got, err := b.db.Setting(ctx, "theme"); err != nil || got != v {
				t.Errorf("setting %q, %v", got, err)
			}
		}
		if _, err := b.db.Setting(ctx, "none"); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("an unknown setting: %v", err)
		}
	})
}

func TestYoungStoreTellsWhatItKnowsOfItsSize(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		w := newWide(b.server("a").ID)
		look := func() (monolith.Estimate, monolith.Usage) {
			t.Helper()
			b.flush()
			e, err := b.db.Estimate(ctx, monolith.DefaultRetention())
			if err != nil {
				t.Fatal(err)
			}
			u, err := b.db.Usage(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return e, u
		}
		play := func(polls int) {
			for range polls {
				b.db.Append(w.next())
				b.clock.set(w.at)
			}
		}
		play(30)
		e, u := look()
		text, err := json.Marshal(struct {
			E monolith.Estimate
			U monolith.Usage
		}{e, u})
		if err != nil {
			t.Fatal(err)
		}
		if e.Known || e.Tiers[0].Known || strings.Contains(string(text), "bytes_per_day") || strings.Contains(string(text), "budget_days") {
			t.Errorf("after five minutes: %s", text)
		}
		play(90)
		first, u := look()
		if !first.Known || first.BudgetDays <= 0 || u.BytesPerDay <= 0 || u.Servers[0].BytesPerDay != u.BytesPerDay {
			t.Errorf("after twenty minutes: %+v, %v a day", first, u.BytesPerDay)
		}
		for range 12 {
			play(360)
			b.flush()
			b.pack()
		}
		measured, _ := look()
		for i, tier := range measured.Tiers {
			// A synthetic server: the shares were measured on real ones.
			if share := first.Tiers[i].BytesPerDay / tier.BytesPerDay; !tier.Known || share < 0.3 || share > 3 {
				t.Errorf("%s: estimated %.0f bytes a day, measured %.0f", tier.Tier, first.Tiers[i].BytesPerDay, tier.BytesPerDay)
			}
		}
	})
}

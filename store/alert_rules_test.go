package store

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

func (b *bench) put(settings ...monolith.RuleSetting) {
	b.t.Helper()
	if err := b.db.PutRuleSettings(b.t.Context(), settings); err != nil {
		b.t.Fatal(err)
	}
}

func TestRuleSettings(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		s := b.server("db1")
		if err := b.db.PutGroup(ctx, monolith.Group{Path: "acme/prod"}); err != nil {
			t.Fatal(err)
		}
		off, on := false, true
		global := monolith.RuleSetting{Rule: "a", Enabled: &off, By: "eve", At: origin}
		group := monolith.RuleSetting{Rule: "a", RuleScope: monolith.RuleScope{Group: "acme/prod"}, Enabled: &on, Runbook: "https://wiki/a"}
		server := monolith.RuleSetting{Rule: "a", RuleScope: monolith.RuleScope{Server: s.ID}, Limits: map[string]map[string]float64{"warn": {"failed": 50.25}}}
		other := monolith.RuleSetting{Rule: "b", Runbook: "https://wiki/b"}
		b.put(other, server, group, global)
		check := func(want ...monolith.RuleSetting) {
			t.Helper()
			got, err := b.db.RuleSettings(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
		check(global, group, server, other)
		global.Enabled, global.Runbook = &on, "x"
		b.put(global, monolith.RuleSetting{Rule: "b"}, monolith.RuleSetting{Rule: "never there"})
		check(global, group, server)

		// All or nothing.
		for _, c := range []struct {
			bad  monolith.RuleSetting
			want error
		}{
			{monolith.RuleSetting{Rule: "b", Runbook: "x", RuleScope: monolith.RuleScope{Server: 99}}, monolith.ErrNotFound},
			{monolith.RuleSetting{Rule: "b", Runbook: "x", RuleScope: monolith.RuleScope{Group: "nowhere"}}, monolith.ErrNotFound},
			{monolith.RuleSetting{Rule: "b", Runbook: "x", RuleScope: monolith.RuleScope{Server: s.ID, Group: "acme"}}, monolith.ErrInvalid},
			{monolith.RuleSetting{Rule: "b", Limits: map[string]map[string]float64{"warn": {"x": math.NaN()}}}, monolith.ErrInvalid},
			{monolith.RuleSetting{Runbook: "x"}, monolith.ErrInvalid},
		} {
			if err := b.db.PutRuleSettings(ctx, []monolith.RuleSetting{other, c.bad}); !errors.Is(err, c.want) {
				t.Errorf("%+v: %v, want %v", c.bad, err, c.want)
			}
			check(global, group, server)
		}

		// They follow their group and go with it, and with their server.
		if err := b.db.MoveGroup(ctx, "acme", "emca"); err != nil {
			t.Fatal(err)
		}
		group.Group = "emca/prod"
		check(global, group, server)
		if err := b.db.DeleteServer(ctx, s.ID); err != nil {
			t.Fatal(err)
		}
		check(global, group)
		if err := b.db.DeleteGroup(ctx, "emca/prod"); err != nil {
			t.Fatal(err)
		}
		check(global)
	})
}

func TestOwnRulesKeepTheirVersions(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		put := func(id, source string) {
			t.Helper()
			if err := b.db.PutOwnRule(ctx, monolith.OwnRule{ID: id, Source: source, By: "eve", At: origin}); err != nil {
				t.Fatal(err)
			}
		}
		check := func(want ...monolith.OwnRule) {
			t.Helper()
			got, err := b.db.OwnRules(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
		put("b", "id: b\n")
		put("a", "id: a\n")
		put("b", "id: b\r\ntitle: \"ß 😀\x00\"\n")
		one := monolith.OwnRule{ID: "a", Source: "id: a\n", Version: 1, By: "eve", At: origin}
		two := monolith.OwnRule{ID: "b", Source: "id: b\r\ntitle: \"ß 😀\x00\"\n", Version: 2, By: "eve", At: origin}
		check(one, two)
		b.put(monolith.RuleSetting{Rule: "b", Runbook: "x"}, monolith.RuleSetting{Rule: "a", Runbook: "x"})
		if err := b.db.DeleteOwnRule(ctx, "b"); err != nil {
			t.Fatal(err)
		}
		check(one)
		if settings, err := b.db.RuleSettings(ctx); err != nil || len(settings) != 1 || settings[0].Rule != "a" {
			t.Errorf("settings %+v, %v", settings, err)
		}
		if err := b.db.DeleteOwnRule(ctx, "b"); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("deleting it again: %v", err)
		}
		put("b", "id: b\n# again\n")
		versions, err := b.db.OwnRuleVersions(ctx, "b")
		if err != nil || len(versions) != 4 || versions[0].Version != 4 || versions[1].Source != "" || versions[3].Source != "id: b\n" {
			t.Errorf("versions %+v, %v", versions, err)
		}
		for _, bad := range []monolith.OwnRule{{Source: "x"}, {ID: "x"}, {ID: "x", Source: "\xff"}} {
			if err := b.db.PutOwnRule(ctx, bad); !errors.Is(err, monolith.ErrInvalid) {
				t.Errorf("%+v: %v", bad, err)
			}
		}
	})
}

func TestSilencesAndMaintenance(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		s := b.server("db1")
		a, e := newAlert(s.ID, "r", monolith.LevelWarn, origin)
		b.commit(&monolith.AlertBatch{At: origin, Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{e}})
		byAlert := monolith.Silence{Alert: a.ID, From: origin, By: "eve", Reason: "known"}
		byServer := monolith.Silence{Server: s.ID, Rule: "r", From: origin, To: origin.Add(time.Hour)}
		past := monolith.Silence{Rule: "r", From: origin.Add(-time.Hour), To: origin}
		for _, silence := range []*monolith.Silence{&byAlert, &byServer, &past} {
			if err := b.db.PutSilence(ctx, silence); err != nil || silence.ID == 0 {
				t.Fatal(err)
			}
		}
		check := func(at time.Time, want ...monolith.Silence) {
			t.Helper()
			got, err := b.db.Silences(ctx, at)
			if err != nil {
				t.Fatal(err)
			}
			if len(want) == 0 && len(got) == 0 {
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		}
		check(origin, byAlert, byServer)
		check(origin.Add(-time.Minute), byAlert, byServer, past)
		byServer.To = origin.Add(2 * time.Hour)
		if err := b.db.PutSilence(ctx, &byServer); err != nil {
			t.Fatal(err)
		}
		check(origin.Add(time.Hour), byAlert, byServer)
		// What lasts until the alert closes ends with it.
		a.Closed = origin.Add(time.Minute)
		b.commit(&monolith.AlertBatch{At: a.Closed, Alerts: []*monolith.Alert{a}})
		check(origin.Add(time.Hour), byServer)
		for _, bad := range []monolith.Silence{{To: origin}, {From: origin}, {From: origin, To: origin}, {From: origin, To: origin.Add(1), Server: 1, Group: "x"}} {
			if err := b.db.PutSilence(ctx, &bad); !errors.Is(err, monolith.ErrInvalid) {
				t.Errorf("%+v: %v", bad, err)
			}
		}
		if err := b.db.PutSilence(ctx, &monolith.Silence{ID: 99, From: origin, To: origin.Add(time.Hour)}); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("an unknown silence: %v", err)
		}
		if err := b.db.DeleteSilence(ctx, past.ID); err != nil {
			t.Error(err)
		}
		if err := b.db.DeleteSilence(ctx, past.ID); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("deleting it again: %v", err)
		}

		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		w := monolith.MaintenanceWindow{Title: "patch day", Server: s.ID, Start: time.Date(2026, 3, 29, 1, 30, 0, 0, berlin), Duration: 2 * time.Hour, Zone: "Europe/Berlin",
			Every: "week", Weekdays: []time.Weekday{time.Sunday, time.Tuesday}, Until: origin.AddDate(1, 0, 0), By: "eve"}
		all := monolith.MaintenanceWindow{Title: "everything", Start: origin, Duration: time.Minute}
		for _, window := range []*monolith.MaintenanceWindow{&w, &all, &w} {
			if err := b.db.PutMaintenanceWindow(ctx, window); err != nil || window.ID == 0 {
				t.Fatal(err)
			}
		}
		windows, err := b.db.MaintenanceWindows(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]monolith.MaintenanceWindow{w, all}, windows, cmp.Comparer(func(a, b time.Time) bool { return a.Equal(b) })); diff != "" {
			t.Error(diff)
		}
		if err := b.db.DeleteServer(ctx, s.ID); err != nil {
			t.Fatal(err)
		}
		check(origin)
		if windows, err := b.db.MaintenanceWindows(ctx); err != nil || len(windows) != 1 || windows[0].ID != all.ID {
			t.Errorf("windows %+v, %v", windows, err)
		}
		if err := b.db.DeleteMaintenanceWindow(ctx, all.ID); err != nil {
			t.Error(err)
		}
		if err := b.db.DeleteMaintenanceWindow(ctx, all.ID); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("deleting it again: %v", err)
		}
	})
}

func TestOldAlertsAndMessagesGo(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		s := b.server("db1")
		var batch monolith.AlertBatch
		for i := range 3 {
			for range 120 {
				a, e := newAlert(s.ID, "r", monolith.LevelInfo, origin)
				if i < 2 { // closed long ago, closed lately, open all the time
					a.Closed = origin.Add(time.Duration(i)*300*24*time.Hour + time.Hour)
				}
				batch.Alerts, batch.Events = append(batch.Alerts, a), append(batch.Events, e)
			}
		}
		b.commit(&batch)
		var list []*monolith.Delivery
		for range 250 {
			list = append(list, &monolith.Delivery{State: monolith.DeliverySent, Done: origin, Created: origin, Alerts: []monolith.AlertID{1, 2}})
		}
		waits, late := &monolith.Delivery{Created: origin, Alerts: []monolith.AlertID{1}}, &monolith.Delivery{State: monolith.DeliveryFailed, Created: origin, Done: origin.AddDate(0, 0, 395)}
		told := &monolith.Delivery{State: monolith.DeliverySent, Done: origin, Created: origin, Alerts: []monolith.AlertID{batch.Alerts[300].ID}} // it is still open
		if err := b.db.AddDeliveries(ctx, append(list, waits, late, told)); err != nil {
			t.Fatal(err)
		}
		for _, silence := range []monolith.Silence{{Alert: batch.Alerts[0].ID, From: origin}, {Alert: batch.Alerts[300].ID, From: origin},
			{Rule: "r", From: origin, To: origin.Add(time.Hour)}, {Rule: "r", From: origin, To: origin.AddDate(0, 0, 396)}} {
			if err := b.db.PutSilence(ctx, &silence); err != nil {
				t.Fatal(err)
			}
		}
		b.clock.set(origin.AddDate(0, 0, 399))
		check := func(alerts, events, deliveries, links int) {
			t.Helper()
			if err := b.db.purge(ctx); err != nil {
				t.Fatal(err)
			}
			for table, want := range map[string]int{"alert": alerts, "alert_event": events, "delivery": deliveries, "delivery_alert": links} {
				if n := count(t, b.db, "SELECT COUNT(*) FROM "+table); n != want {
					t.Errorf("%s has %d rows, want %d", table, n, want)
				}
			}
		}
		check(360, 360, 3, 2)
		b.clock.set(origin.AddDate(0, 0, 401))
		check(240, 240, 3, 2)
		r := monolith.DefaultRetention()
		r.AlertDays, r.DeliveryDays = 7, 1
		if err := b.db.SetRetention(ctx, r); err != nil {
			t.Fatal(err)
		}
		check(120, 120, 2, 2)
		if n := count(t, b.db, "SELECT COUNT(*) FROM silence"); n != 2 {
			t.Errorf("%d silences are left, want that of the open alert and the one that ended lately", n)
		}
	})
}

func TestDeletedServerTakesItsAlertsAlong(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		gone, stays := b.server("gone"), b.server("stays")
		var batch monolith.AlertBatch
		for _, id := range []monolith.ServerID{gone.ID, stays.ID} {
			a, e := newAlert(id, "r", monolith.LevelWarn, origin)
			batch.Alerts, batch.Events = append(batch.Alerts, a), append(batch.Events, e)
		}
		batch.States = map[monolith.ServerID][]byte{gone.ID: []byte("x"), stays.ID: []byte("y")}
		b.commit(&batch)
		if err := b.db.DeleteServer(ctx, gone.ID); err != nil {
			t.Fatal(err)
		}
		// It is out of sight at once, though its rows are still there.
		open, err := b.db.OpenAlerts(ctx)
		if err != nil || len(open) != 1 || open[0].Server != stays.ID {
			t.Errorf("open %+v, %v", open, err)
		}
		if _, err := b.db.Alert(ctx, batch.Alerts[0].ID); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("its alert: %v", err)
		}
		if events, err := b.db.NewestEvents(ctx, monolith.AlertEventQuery{}); err != nil || len(events) != 1 {
			t.Errorf("events %+v, %v", events, err)
		}
		check := func() {
			t.Helper()
			if err := b.db.purge(ctx); err != nil {
				t.Fatal(err)
			}
			for _, table := range []string{"alert", "alert_event", "alert_state"} {
				if n := count(t, b.db, "SELECT COUNT(*) FROM "+table+" WHERE server_id = ?", int64(gone.ID)); n != 0 {
					t.Errorf("%s has %d rows of the deleted server", table, n)
				}
				if n := count(t, b.db, "SELECT COUNT(*) FROM "+table); n != 1 {
					t.Errorf("%s has %d rows", table, n)
				}
			}
		}
		check()
		// What the engine says of it afterwards does not stay either.
		a := batch.Alerts[0]
		a.Closed, a.Reason = origin.Add(time.Hour), monolith.ClosedRemoved
		end := &monolith.AlertBatchEvent{AlertEvent: monolith.AlertEvent{At: a.Closed, Kind: monolith.EventClosed}, Of: a}
		b.commit(&monolith.AlertBatch{Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{end}})
		check()
		fresh, e := newAlert(gone.ID, "r", monolith.LevelWarn, origin)
		b.commit(&monolith.AlertBatch{Alerts: []*monolith.Alert{fresh}, Events: []*monolith.AlertBatchEvent{e}, States: map[monolith.ServerID][]byte{gone.ID: []byte("x")}})
		check()
	})
}

func TestMovedGroupIsFollowedByLists(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		if err := b.db.PutGroup(ctx, monolith.Group{Path: "acme/prod"}); err != nil {
			t.Fatal(err)
		}
		c := b.channel("ops")
		s := monolith.Subscription{Name: "x", Channel: c.ID, Groups: []string{"acme/prod", "acmeX", "acme"}, Servers: []monolith.ServerID{4}, PerHour: 3}
		if err := b.db.PutSubscription(ctx, &s); err != nil {
			t.Fatal(err)
		}
		p := monolith.ExportProfile{Name: "x", Fields: []string{"server"}, Groups: []string{"acme/prod"}}
		if err := b.db.PutExportProfile(ctx, &p); err != nil {
			t.Fatal(err)
		}
		w := monolith.MaintenanceWindow{Title: "x", Group: "acme", Start: origin}
		if err := b.db.PutMaintenanceWindow(ctx, &w); err != nil {
			t.Fatal(err)
		}
		if err := b.db.MoveGroup(ctx, "acme", "new/place"); err != nil {
			t.Fatal(err)
		}
		s.Groups = []string{"new/place/prod", "acmeX", "new/place"}
		if all, err := b.db.Subscriptions(ctx); err != nil || !cmp.Equal(all, []monolith.Subscription{s}) {
			t.Errorf("%v %s", err, cmp.Diff(all, []monolith.Subscription{s}))
		}
		if all, err := b.db.ExportProfiles(ctx); err != nil || all[0].Groups[0] != "new/place/prod" {
			t.Errorf("%+v, %v", all, err)
		}
		if all, err := b.db.MaintenanceWindows(ctx); err != nil || all[0].Group != "new/place" {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

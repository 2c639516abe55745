package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"

	"monolith"
)

// newAlert makes a new alert and its event.
func newAlert(server monolith.ServerID, rule string, level monolith.Level, at time.Time) (*monolith.Alert, *monolith.AlertBatchEvent) {
	value, most := 41.5, 40.0
	a := &monolith.Alert{AlertKey: monolith.AlertKey{Server: server, Rule: rule, Instance: "root@%"}, Title: "Title of " + rule, Category: "connections",
		Level: level, Peak: level, Summary: "41.5 of 40", Text: "In the last 15 minutes …", Formula: "41.5 >= 40",
		Values: []monolith.AlertValue{{Name: "failed", Num: &value, Limit: &most, Text: "41.5 %", Unit: "%", From: "group acme", Is: "1 + 40.5"}},
		Remedy: &monolith.Remedy{Text: "Look.", Settings: []monolith.Setting{{Variable: "max_connections", From: "151", To: "300", Dynamic: true}}, SQL: []string{"SELECT 1;"}},
		Opened: at, Changed: at}
	return a, &monolith.AlertBatchEvent{AlertEvent: monolith.AlertEvent{At: at, Kind: monolith.EventOpened, Level: level, Text: a.Summary}, Of: a, Tell: true}
}

func (b *bench) commit(batch *monolith.AlertBatch) {
	b.t.Helper()
	if err := b.db.Commit(b.t.Context(), batch); err != nil {
		b.t.Fatal(err)
	}
	b.flushAlerts()
}

func (b *bench) flushAlerts() {
	b.t.Helper()
	if err := b.db.flushAlerts(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func TestAlertsAreReadAsTheyWereWritten(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		s := b.server("db1")
		a, e := newAlert(s.ID, "connection-failures", monolith.LevelWarn, origin)
		own, ownEvent := newAlert(0, "network-lost", monolith.LevelCritical, origin) // the monitor itself
		ownEvent.Tell, ownEvent.Quiet = false, "maintenance: new switch"
		d := &monolith.AlertBatchDelivery{Delivery: monolith.Delivery{Channel: 3, Subscription: 4, Kind: monolith.NoticeProblem, Key: "k", Payload: []byte("{}")},
			Of: []*monolith.Alert{a, own}, About: e}
		batch := &monolith.AlertBatch{At: origin, Alerts: []*monolith.Alert{a, own}, Events: []*monolith.AlertBatchEvent{e, ownEvent},
			Deliveries: []*monolith.AlertBatchDelivery{d}, States: map[monolith.ServerID][]byte{0: []byte("zero"), s.ID: {0, 1, 0xff}}}
		b.commit(batch)
		if a.ID == 0 || own.ID <= a.ID || e.ID == 0 || ownEvent.ID <= e.ID || d.ID == 0 || e.Alert != a.ID || d.Event != e.ID {
			t.Fatalf("ids %d %d, events %d %d, delivery %d of %d", a.ID, own.ID, e.ID, ownEvent.ID, d.ID, d.Event)
		}
		want := *a
		want.ServerName = "db1"
		for range 2 {
			got, err := b.db.Alert(ctx, a.ID)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			open, err := b.db.OpenAlerts(ctx)
			if err != nil || len(open) != 2 || open[1].ID != own.ID {
				t.Fatalf("%d open alerts, %v", len(open), err)
			}
			states, err := b.db.EngineStates(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(batch.States, states); diff != "" {
				t.Error(diff)
			}
			b.kill()
			b.open()
		}
		events, err := b.db.EventsAfter(ctx, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		told, quiet := e.AlertEvent, ownEvent.AlertEvent
		quiet.Quiet = "maintenance: new switch"
		if diff := gocmp.Diff([]monolith.AlertEvent{told, quiet}, events); diff != "" {
			t.Error(diff)
		}

		// It is changed in place; an empty state goes.
		a.Level, a.Closed, a.Reason, a.AckedBy, a.AckedAt, a.AckNote = monolith.LevelInfo, origin.Add(time.Hour), monolith.ClosedCleared, "eve", origin.Add(time.Minute), "known"
		closing := &monolith.AlertBatchEvent{AlertEvent: monolith.AlertEvent{At: a.Closed, Kind: monolith.EventClosed}, Of: a}
		b.commit(&monolith.AlertBatch{At: a.Closed, Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{closing}, States: map[monolith.ServerID][]byte{s.ID: nil}})
		want = *a
		want.ServerName = "db1"
		got, err := b.db.Alert(ctx, a.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if events, err := b.db.AlertEvents(ctx, a.ID); err != nil || len(events) != 2 || events[1].ID != closing.ID {
			t.Errorf("events %+v, %v", events, err)
		}
		if states, _ := b.db.EngineStates(ctx); len(states) != 1 {
			t.Errorf("states of %d", len(states))
		}
		if _, err := b.db.Alert(ctx, 999); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("an unknown alert: %v", err)
		}
		// Its opening and its end stand on the time axis; the monitor's own do not: no graph is its.
		marks, err := b.db.Marks(ctx, monolith.MarkQuery{Kinds: []monolith.MarkKind{monolith.MarkAlert}})
		if err != nil || len(marks) != 2 || marks[0].Text != "warn: Title of connection-failures: root@%: 41.5 of 40" || !strings.HasPrefix(marks[1].Text, "over: ") {
			t.Errorf("marks %+v, %v", marks, err)
		}
	})
}

func TestFailedBatchOfAlertsStaysAsItWas(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := b.server("db1")
		a, e := newAlert(s.ID, "r", monolith.LevelWarn, origin)
		d := &monolith.AlertBatchDelivery{Delivery: monolith.Delivery{Channel: 1, Payload: make([]byte, maxPayload+1)}, Of: []*monolith.Alert{a}}
		batch := &monolith.AlertBatch{At: origin, Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{e}, Deliveries: []*monolith.AlertBatchDelivery{d}}
		if err := b.db.Commit(t.Context(), batch); !errors.Is(err, monolith.ErrInvalid) {
			t.Fatalf("a notice that is too long: %v", err)
		}
		if a.ID != 0 || e.ID != 0 || e.Alert != 0 || d.ID != 0 || d.Alerts != nil {
			t.Errorf("ids %d %d %d %d", a.ID, e.ID, e.Alert, d.ID)
		}
		for _, table := range []string{"alert", "alert_event", "delivery", "time_mark", "delivery_alert"} {
			if n := count(t, b.db, "SELECT COUNT(*) FROM "+table); n != 0 {
				t.Errorf("%s has %d rows", table, n)
			}
		}
		d.Payload = nil
		b.commit(batch)
	})
}

func TestUnknownOutcomeOfAlertsStoresNothingTwice(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := b.server("db1")
		for i, happened := range []bool{true, false} {
			a, e := newAlert(s.ID, "r", monolith.LevelWarn, origin)
			d := &monolith.AlertBatchDelivery{Delivery: monolith.Delivery{Channel: 1, Kind: monolith.NoticeProblem}, Of: []*monolith.Alert{a}, About: e}
			b.db.alerting.failing.Store(true) // so that it waits
			if err := b.db.Commit(t.Context(), &monolith.AlertBatch{At: origin, Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{e},
				Deliveries: []*monolith.AlertBatchDelivery{d}}); err != nil {
				t.Fatal(err)
			}
			// The connection breaks while it commits: the program sees an error.
			part := b.db.alerting.front(1)
			if happened {
				if err := b.db.writeAlerts(t.Context(), part); err != nil {
					t.Fatal(err)
				}
			}
			part[0].tried = true
			// More has come since, and what was there was sent.
			a.Level = monolith.LevelCritical
			raised := &monolith.AlertBatchEvent{AlertEvent: monolith.AlertEvent{At: origin.Add(time.Minute), Kind: monolith.EventRaised, Level: a.Level}, Of: a}
			if err := b.db.Commit(t.Context(), &monolith.AlertBatch{At: raised.At, Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{raised}}); err != nil {
				t.Fatal(err)
			}
			if happened {
				sent := d.Delivery
				sent.State = monolith.DeliverySent
				if err := b.db.FinishDelivery(t.Context(), "w", sent); err != nil {
					t.Fatal(err)
				}
			}
			b.flushAlerts()
			for _, table := range []string{"alert", "delivery"} {
				if n := count(t, b.db, "SELECT COUNT(*) FROM "+table); n != i+1 {
					t.Errorf("happened %v: %d rows in %s", happened, n, table)
				}
			}
			got, err := b.db.Alert(t.Context(), a.ID)
			if err != nil || got.Level != monolith.LevelCritical {
				t.Errorf("happened %v: %v, %v", happened, got.Level, err)
			}
			events, err := b.db.AlertEvents(t.Context(), a.ID)
			if err != nil || len(events) != 2 || events[0].ID != e.ID || events[1].ID != raised.ID {
				t.Errorf("happened %v: %+v, %v", happened, events, err)
			}
			if d, err := b.db.Delivery(t.Context(), d.ID); err != nil || (d.State == monolith.DeliverySent) != happened {
				t.Errorf("happened %v: the message is %s, %v", happened, d.State, err)
			}
		}
	})
}

// What people did is kept when they are told so, however fast it came after the rest.
func TestWhatPeopleDidIsKeptAtOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		a, e := newAlert(b.server("db1").ID, "r", monolith.LevelWarn, origin)
		b.commit(&monolith.AlertBatch{At: origin, Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{e}})
		for i, kind := range []monolith.AlertEventKind{monolith.EventAcknowledged, monolith.EventTaken, monolith.EventNote} {
			said := &monolith.AlertBatchEvent{AlertEvent: monolith.AlertEvent{At: origin, Kind: kind, By: "eve"}, Of: a}
			if err := b.db.Commit(t.Context(), &monolith.AlertBatch{At: origin, Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{said}}); err != nil {
				t.Fatal(err)
			}
			if events, err := b.db.AlertEvents(t.Context(), a.ID); err != nil || len(events) != 2+i {
				t.Errorf("%s: %d events, %v", kind, len(events), err)
			}
		}
	})
}

func TestIDsAreNeverGivenAgain(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := b.server("db1")
		var alert monolith.AlertID
		var event, delivery int64
		for range 3 {
			a, e := newAlert(s.ID, "r", monolith.LevelWarn, origin)
			d := &monolith.AlertBatchDelivery{Delivery: monolith.Delivery{Channel: 1}, Of: []*monolith.Alert{a}}
			b.commit(&monolith.AlertBatch{At: origin, Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{e}, Deliveries: []*monolith.AlertBatchDelivery{d}})
			test := &monolith.Delivery{Channel: 1}
			if err := b.db.AddDeliveries(t.Context(), []*monolith.Delivery{test}); err != nil {
				t.Fatal(err)
			}
			if a.ID <= alert || e.ID <= event || d.ID <= delivery || test.ID <= d.ID {
				t.Errorf("ids %d %d %d %d after %d %d %d", a.ID, e.ID, d.ID, test.ID, alert, event, delivery)
			}
			alert, event, delivery = a.ID, e.ID, test.ID
			// The rows go, and with them the highest id.
			for _, table := range []string{"alert", "alert_event", "delivery"} {
				if _, err := b.db.w.Exec("DELETE FROM " + table); err != nil {
					t.Fatal(err)
				}
			}
			b.kill()
			b.open()
		}
	})
}

func TestAlertsArePagedInAStableOrder(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		r := rand.New(rand.NewPCG(1, 2))
		groups := map[monolith.ServerID]string{0: ""}
		ids := []monolith.ServerID{0}
		for i, g := range []string{"", "acme", "acme/prod", "acmeX", "a_me"} {
			s := monolith.Server{Name: fmt.Sprint("db", i), Group: g, Endpoint: monolith.Endpoint{Host: "x"}}
			if err := b.db.AddServer(ctx, &s); err != nil {
				t.Fatal(err)
			}
			ids, groups[s.ID] = append(ids, s.ID), g
		}
		var all []*monolith.Alert
		for i := range 120 {
			a, _ := newAlert(ids[r.IntN(len(ids))], fmt.Sprint("r", r.IntN(3)), monolith.Level(1+r.IntN(3)), origin.Add(time.Duration(i)*time.Minute))
			if r.IntN(2) == 0 {
				a.Closed = a.Opened.Add(time.Duration(1+r.IntN(40)) * time.Minute)
			}
			all = append(all, a)
		}
		b.commit(&monolith.AlertBatch{At: origin, Alerts: all})
		for i := range 60 {
			q := monolith.AlertQuery{Open: r.IntN(2) == 0, Closed: r.IntN(2) == 0, Limit: 1 + r.IntN(20)}
			if r.IntN(3) == 0 {
				q.Levels = []monolith.Level{monolith.LevelCritical, monolith.LevelInfo}
			}
			if r.IntN(3) == 0 {
				q.Servers = []monolith.ServerID{ids[1], ids[3]}
			}
			if r.IntN(3) == 0 {
				q.Group = []string{"acme", "a_me", "acme/prod"}[r.IntN(3)]
			}
			if r.IntN(3) == 0 {
				q.Rule = "r1"
			}
			if r.IntN(3) == 0 {
				q.From = origin.Add(time.Duration(r.IntN(100)) * time.Minute)
				q.To = q.From.Add(20 * time.Minute)
			}
			onlyOpen := !q.Closed
			var want []monolith.AlertID
			sorted := slices.Clone(all)
			slices.SortFunc(sorted, func(a, b *monolith.Alert) int {
				if onlyOpen && a.Level != b.Level {
					return cmp.Compare(b.Level, a.Level)
				}
				return cmp.Compare(b.ID, a.ID)
			})
			for _, a := range sorted {
				state := a.Open() && (q.Open || onlyOpen) || !a.Open() && q.Closed
				span := (q.To.IsZero() || a.Opened.Before(q.To)) && (q.From.IsZero() || a.Open() || a.Closed.After(q.From))
				if state && span && (len(q.Levels) == 0 || slices.Contains(q.Levels, a.Level)) && (len(q.Servers) == 0 || slices.Contains(q.Servers, a.Server)) &&
					(q.Group == "" || groups[a.Server] != "" && monolith.InGroup(groups[a.Server], q.Group)) && (q.Rule == "" || a.Rule == q.Rule) {
					want = append(want, a.ID)
				}
			}
			var got []monolith.AlertID
			for {
				part, err := b.db.Alerts(ctx, q)
				if err != nil {
					t.Fatal(err)
				}
				for _, a := range part {
					got = append(got, a.ID)
				}
				if len(part) < q.Limit {
					break
				}
				q.Before = part[len(part)-1].ID
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatalf("query %d %+v:\n%s", i, q, diff)
			}
		}
	})
}

func TestNewestEventsOfFeeds(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		r := rand.New(rand.NewPCG(3, 4))
		var servers []monolith.Server
		for i := range 6 {
			s := monolith.Server{Name: fmt.Sprint("db", i), Group: []string{"acme", "acme/prod", "other"}[i%3], Endpoint: monolith.Endpoint{Host: "x"}}
			if err := b.db.AddServer(ctx, &s); err != nil {
				t.Fatal(err)
			}
			servers = append(servers, s)
		}
		var all []*monolith.AlertBatchEvent
		var grades []monolith.Level
		for i := range 200 {
			a, e := newAlert(servers[r.IntN(len(servers))].ID, "r", monolith.Level(1+r.IntN(3)), origin.Add(time.Duration(i)*time.Minute))
			grades = append(grades, e.Level)
			if r.IntN(3) == 0 {
				e.Kind, e.Level = monolith.EventClosed, monolith.LevelOK // and still one of the level it had
			}
			b.commit(&monolith.AlertBatch{At: origin, Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{e}})
			all = append(all, e)
		}
		for _, q := range []monolith.AlertEventQuery{
			{}, {Levels: []monolith.Level{monolith.LevelWarn}}, {Levels: []monolith.Level{monolith.LevelWarn, monolith.LevelInfo}, Group: "acme", Limit: 7},
			{Servers: []monolith.ServerID{servers[0].ID, servers[5].ID}, Limit: 9}, {Kinds: []monolith.AlertEventKind{monolith.EventClosed}, Group: "other"},
			{Group: "nowhere"}, {Group: "acme/prod", Servers: []monolith.ServerID{servers[0].ID}}, {Levels: []monolith.Level{monolith.LevelCritical}, Before: all[150].ID, Limit: 11},
		} {
			var want []int64
			for i := len(all) - 1; i >= 0 && len(want) < limit(q.Limit, defaultEvents); i-- {
				e := all[i]
				at := slices.IndexFunc(servers, func(s monolith.Server) bool { return s.ID == e.Of.Server })
				if (len(q.Levels) == 0 || slices.Contains(q.Levels, grades[i])) && (len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Kind)) &&
					(len(q.Servers) == 0 || slices.Contains(q.Servers, e.Of.Server)) && (q.Group == "" || monolith.InGroup(servers[at].Group, q.Group)) && (q.Before == 0 || e.ID < q.Before) {
					want = append(want, e.ID)
				}
			}
			events, err := b.db.NewestEvents(ctx, q)
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			for _, e := range events {
				got = append(got, e.ID)
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("%+v:\n%s", q, diff)
			}
		}
	})
}

// FuzzAlertTexts keeps an alert that says anything and reads it back: what fits comes back to the byte, and the engine
// is never made to refuse the batch.
func FuzzAlertTexts(f *testing.F) {
	for _, s := range []string{"", "plain", "a\x00b", "\xff\xfe", "😀' OR 1=1 --", strings.Repeat("é", 2000), strings.Repeat("x", maxText+1), "a\r\n\u2028b", `{"x":"\ud800"}`} {
		f.Add(s, 1.5)
	}
	f.Add("x", math.NaN())
	f.Add("x", math.Inf(1))
	b := newBench(f, Config{Path: filepath.Join(f.TempDir(), "monolith.db")})
	s := b.server("db")
	f.Fuzz(func(t *testing.T, text string, n float64) {
		a, e := newAlert(s.ID, text, monolith.LevelWarn, origin)
		a.Instance, a.Category, a.Title, a.Summary, a.Text, a.Formula, a.Unknown, a.Owner, a.AckNote = text, text, text, text, text, text, text, text, text
		a.Values = []monolith.AlertValue{{Name: text, Text: text, Num: &n, Limit: &n}}
		a.Remedy = &monolith.Remedy{Text: text, SQL: []string{text}}
		e.Text, e.By = text, text
		if err := b.db.Commit(context.Background(), &monolith.AlertBatch{At: origin, Alerts: []*monolith.Alert{a}, Events: []*monolith.AlertBatchEvent{e}}); err != nil {
			t.Fatal(err)
		}
		if err := b.db.flushAlerts(context.Background()); err != nil {
			t.Fatal(err)
		}
		got, err := b.db.Alert(context.Background(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got.Text != boundText(text) || got.Instance != boundText(text) || !utf8.ValidString(got.Title) || utf8.RuneCountInString(got.Title) > maxLine {
			t.Errorf("%q is read as %q", text, got.Text)
		}
		if utf8.ValidString(text) && utf8.RuneCountInString(text) <= 64 && (got.Title != text || got.Rule != text || got.Category != text || got.Owner != text || got.Remedy.SQL[0] != text) {
			t.Errorf("%q is read as %+v", text, got)
		}
		if num := got.Values[0].Num; math.IsNaN(n) || math.IsInf(n, 0) {
			if num != nil {
				t.Errorf("%v is read as %v", n, *num)
			}
		} else if *num != n {
			t.Errorf("%v is read as %v", n, *num)
		}
		events, err := b.db.AlertEvents(context.Background(), a.ID)
		if err != nil || len(events) != 1 || events[0].Text != boundText(text) {
			t.Errorf("%q: events %+v, %v", text, events, err)
		}
	})
}

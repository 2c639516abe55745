package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

func (b *bench) channel(name string) monolith.Channel {
	b.t.Helper()
	c := monolith.Channel{Name: name, Kind: "mail", Enabled: true, Config: map[string]string{"host": "mx"}}
	if err := b.db.PutChannel(b.t.Context(), &c); err != nil {
		b.t.Fatal(err)
	}
	return c
}

func TestDeliveriesAreReadAsTheyWereWritten(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		d := monolith.Delivery{Channel: 7, Subscription: 8, Kind: monolith.NoticeDigest, Alerts: []monolith.AlertID{5, 3, 9}, Event: 2, Key: "monolith-5",
			State: monolith.DeliveryPending, Created: origin, Next: origin.Add(time.Minute), Payload: []byte("{\"x\":\"\x00\xff\"}")}
		test := monolith.Delivery{Channel: 6, Kind: monolith.NoticeTest, State: monolith.DeliverySent, Created: origin, Done: origin.Add(time.Second), Attempts: 1, Answer: "250 ok"}
		if err := b.db.AddDeliveries(ctx, []*monolith.Delivery{&d, &test}); err != nil {
			t.Fatal(err)
		}
		got, err := b.db.Delivery(ctx, d.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(d, got); diff != "" {
			t.Error(diff)
		}
		if _, err := b.db.Delivery(ctx, 99); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("an unknown one: %v", err)
		}
		d.Payload = nil // lists are without
		for _, c := range []struct {
			q    monolith.DeliveryQuery
			want []monolith.Delivery
		}{
			{monolith.DeliveryQuery{}, []monolith.Delivery{test, d}},
			{monolith.DeliveryQuery{Alert: 3}, []monolith.Delivery{d}},
			{monolith.DeliveryQuery{Alert: 4}, []monolith.Delivery{}},
			{monolith.DeliveryQuery{Channel: 6}, []monolith.Delivery{test}},
			{monolith.DeliveryQuery{Subscription: 8, To: origin.Add(time.Hour)}, []monolith.Delivery{d}},
			{monolith.DeliveryQuery{States: []monolith.DeliveryState{monolith.DeliverySent, monolith.DeliveryFailed}, From: origin}, []monolith.Delivery{test}},
			{monolith.DeliveryQuery{From: origin.Add(time.Second)}, []monolith.Delivery{}},
			{monolith.DeliveryQuery{Before: test.ID, Limit: 1}, []monolith.Delivery{d}},
		} {
			got, err := b.db.Deliveries(ctx, c.q)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%+v:\n%s", c.q, diff)
			}
		}
		if next, err := b.db.NextDelivery(ctx); err != nil || !next.Equal(d.Next) {
			t.Errorf("the next is due at %v, %v", next, err)
		}
	})
}

func TestClaimedDeliveryIsNobodyElsesUntilTheLeaseEnds(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		c := b.channel("ops")
		d := monolith.Delivery{Channel: c.ID, Kind: monolith.NoticeProblem, Alerts: []monolith.AlertID{1}}
		later := monolith.Delivery{Channel: c.ID, Next: origin.Add(time.Hour)}
		if err := b.db.AddDeliveries(ctx, []*monolith.Delivery{&d, &later}); err != nil {
			t.Fatal(err)
		}
		claim := func(at time.Time, worker string) []monolith.Delivery {
			t.Helper()
			got, err := b.db.ClaimDeliveries(ctx, at, worker, 10)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		got := claim(origin, "one")
		if len(got) != 1 || got[0].ID != d.ID || got[0].Attempts != 1 || !slices.Equal(got[0].Alerts, d.Alerts) {
			t.Fatalf("claimed %+v", got)
		}
		if got := claim(origin.Add(DeliveryLease-time.Millisecond), "two"); len(got) != 0 {
			t.Errorf("claimed twice: %+v", got)
		}
		// The program dies; the lease runs out.
		b.kill()
		b.open()
		got = claim(origin.Add(DeliveryLease), "two")
		if len(got) != 1 || got[0].ID != d.ID || got[0].Attempts != 2 {
			t.Fatalf("after the lease: %+v", got)
		}
		// The first one comes back: what failed is not its business any more, what was acknowledged counts.
		bad := got[0]
		bad.State, bad.Answer = monolith.DeliveryFailed, "550 no such user"
		if err := b.db.FinishDelivery(ctx, "one", bad); !errors.Is(err, monolith.ErrConflict) {
			t.Errorf("an old worker's failure: %v", err)
		}
		sent := got[0]
		sent.State, sent.Answer, sent.Done = monolith.DeliverySent, "250 ok", origin.Add(6*time.Minute)
		for range 2 { // it may be said again
			if err := b.db.FinishDelivery(ctx, "one", sent); err != nil {
				t.Error(err)
			}
		}
		if err := b.db.FinishDelivery(ctx, "two", bad); !errors.Is(err, monolith.ErrConflict) {
			t.Errorf("failing what was acknowledged: %v", err)
		}
		if got := claim(origin.Add(30*time.Minute), "two"); len(got) != 0 {
			t.Errorf("what was acknowledged is sent again: %+v", got)
		}
		if err := b.db.FinishDelivery(ctx, "one", monolith.Delivery{ID: 99, State: monolith.DeliverySent}); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("an unknown one: %v", err)
		}
		if err := b.db.RetryDelivery(ctx, d.ID); !errors.Is(err, monolith.ErrConflict) {
			t.Errorf("retrying what was acknowledged: %v", err)
		}
	})
}

func TestChannelShowsHowItFares(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		c := b.channel("ops")
		d := monolith.Delivery{Channel: c.ID}
		if err := b.db.AddDeliveries(ctx, []*monolith.Delivery{&d}); err != nil {
			t.Fatal(err)
		}
		at := origin
		try := func(state monolith.DeliveryState, answer string) monolith.Channel {
			t.Helper()
			b.clock.set(at)
			got, err := b.db.ClaimDeliveries(ctx, at, "w", 1)
			if err != nil || len(got) != 1 {
				t.Fatalf("claimed %+v, %v", got, err)
			}
			got[0].State, got[0].Answer, got[0].Next, got[0].Done = state, answer, at.Add(time.Minute), at
			if err := b.db.FinishDelivery(ctx, "w", got[0]); err != nil {
				t.Fatal(err)
			}
			at = at.Add(time.Minute)
			c, err := b.db.Channel(ctx, c.ID)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		if got := try(monolith.DeliveryPending, "421 busy"); got.Failing != "421 busy" || !got.FailingSince.Equal(origin) || !got.LastSent.IsZero() {
			t.Errorf("after the first failure: %+v", got)
		}
		if got := try(monolith.DeliveryFailed, "550 gone"); got.Failing != "550 gone" || !got.FailingSince.Equal(origin) {
			t.Errorf("after the second failure: %+v", got)
		}
		if err := b.db.RetryDelivery(ctx, d.ID); err != nil {
			t.Fatal(err)
		}
		if got := try(monolith.DeliverySent, "250 ok"); got.Failing != "" || !got.FailingSince.IsZero() || !got.LastSent.Equal(origin.Add(2*time.Minute)) {
			t.Errorf("after it worked: %+v", got)
		}
		if err := b.db.FinishDelivery(ctx, "w", monolith.Delivery{ID: d.ID, State: monolith.DeliveryPending}); !errors.Is(err, monolith.ErrInvalid) {
			t.Errorf("a retry without a time: %v", err)
		}
	})
}

// TestOutboxLosesNothingAndRepeatsNoAcknowledgement lets workers claim, die, fail and send in any order.
func TestOutboxLosesNothingAndRepeatsNoAcknowledgement(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		c := b.channel("ops")
		var list []*monolith.Delivery
		for i := range 60 {
			list = append(list, &monolith.Delivery{Channel: c.ID, Key: fmt.Sprint(i), Created: origin, Next: origin.Add(time.Duration(i) * time.Second)})
		}
		if err := b.db.AddDeliveries(ctx, list); err != nil {
			t.Fatal(err)
		}
		var mu sync.Mutex
		acknowledged := map[int64]int{}
		at := origin
		for round := 0; ; round++ {
			at = at.Add(DeliveryLease / 2)
			if round == 5 {
				b.kill() // in the middle of everything
				b.open()
			}
			var wg sync.WaitGroup
			for w := range 3 {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(uint64(round), uint64(w)))
					worker := fmt.Sprint("w", w)
					got, err := b.db.ClaimDeliveries(ctx, at, worker, 1+r.IntN(10))
					if err != nil {
						t.Error(err)
					}
					for _, d := range got {
						mu.Lock()
						if acknowledged[d.ID] > 0 {
							t.Errorf("delivery %d was given again after it was acknowledged", d.ID)
						}
						mu.Unlock()
						switch r.IntN(4) {
						case 0: // the worker dies
							continue
						case 1:
							d.State, d.Next, d.Answer = monolith.DeliveryPending, at.Add(time.Minute), "again"
						default:
							d.State, d.Done = monolith.DeliverySent, at
						}
						if err := b.db.FinishDelivery(ctx, worker, d); err != nil {
							t.Error(err)
						}
						mu.Lock()
						if d.State == monolith.DeliverySent {
							acknowledged[d.ID]++
						}
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			if next, err := b.db.NextDelivery(ctx); err != nil || next.IsZero() {
				if err != nil {
					t.Fatal(err)
				}
				break
			}
			if round > 500 {
				t.Fatal("it does not end")
			}
		}
		if len(acknowledged) != len(list) {
			t.Errorf("%d of %d were sent", len(acknowledged), len(list))
		}
		for id, n := range acknowledged {
			if n != 1 {
				t.Errorf("delivery %d was acknowledged %d times", id, n)
			}
		}
	})
}

func TestChannelsAndSubscriptions(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		const password, token = monolith.Secret("hunter2-in-the-mail"), monolith.Secret("tok-€-en")
		c := monolith.Channel{Name: "ops", Kind: "mail", Enabled: true, Config: map[string]string{"host": "mx", "to": "a@example.org, b@example.org"},
			Secrets: map[string]monolith.Secret{"password": password, "token": token}}
		if err := b.db.PutChannel(ctx, &c); err != nil {
			t.Fatal(err)
		}
		read := func() monolith.Channel {
			t.Helper()
			got, err := b.db.Channel(ctx, c.ID)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		if diff := cmp.Diff(c, read()); diff != "" {
			t.Error(diff)
		}
		var raw []byte
		if err := b.db.r.Get(&raw, "SELECT secrets FROM notify_channel"); err != nil || len(raw) == 0 {
			t.Fatal(err)
		}
		for _, s := range []monolith.Secret{password, token} {
			if bytes.Contains(raw, []byte(s.Reveal())) {
				t.Error("a secret is kept in the open")
			}
		}
		// One that is left out stays, an empty one goes, and so nothing of the rest.
		b.clock.set(origin.Add(time.Hour))
		c.Secrets = map[string]monolith.Secret{"token": ""}
		c.Config["host"], c.Enabled = "mx2", false
		if err := b.db.PutChannel(ctx, &c); err != nil {
			t.Fatal(err)
		}
		got := read()
		if diff := cmp.Diff(map[string]monolith.Secret{"password": password}, got.Secrets); diff != "" || got.Config["host"] != "mx2" || got.Enabled || !got.Created.Equal(origin) || got.Updated.Equal(origin) {
			t.Errorf("%s %+v", diff, got)
		}
		twin := monolith.Channel{Name: "ops", Kind: "mail"}
		if err := b.db.PutChannel(ctx, &twin); !errors.Is(err, monolith.ErrConflict) {
			t.Errorf("a name that is taken: %v", err)
		}
		if err := b.db.PutChannel(ctx, &monolith.Channel{ID: 77, Name: "x", Kind: "mail"}); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("an unknown channel: %v", err)
		}
		// Sealed secrets belong to their row.
		twin.Name, twin.Secrets = "other", map[string]monolith.Secret{"password": "x"}
		if err := b.db.PutChannel(ctx, &twin); err != nil {
			t.Fatal(err)
		}
		if _, err := b.db.w.Exec("UPDATE notify_channel SET secrets = ? WHERE id = ?", raw, twin.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := b.db.Channel(ctx, twin.ID); err == nil {
			t.Error("secrets of another channel open")
		}
		if err := b.db.DeleteChannel(ctx, twin.ID); err != nil {
			t.Fatal(err)
		}

		s := monolith.Subscription{Name: "nights", Channel: c.ID, Enabled: true, Levels: []monolith.Level{monolith.LevelWarn, monolith.LevelCritical}, Groups: []string{"acme/prod"},
			Servers: []monolith.ServerID{3}, Rules: []string{"r"}, Hours: "mon-fri 18:00-08:00", Zone: "Europe/Berlin", Delay: time.Minute, Repeat: time.Hour, Digest: 5 * time.Minute,
			PerHour: 7, Recovery: true, Quiet: "08:00"}
		if err := b.db.PutSubscription(ctx, &s); err != nil {
			t.Fatal(err)
		}
		s.PerHour = 8
		if err := b.db.PutSubscription(ctx, &s); err != nil {
			t.Fatal(err)
		}
		all, err := b.db.Subscriptions(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]monolith.Subscription{s}, all); diff != "" {
			t.Error(diff)
		}
		if err := b.db.PutSubscription(ctx, &monolith.Subscription{Name: "x", Channel: 99}); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("an unknown channel: %v", err)
		}
		if err := b.db.DeleteChannel(ctx, c.ID); !errors.Is(err, monolith.ErrConflict) {
			t.Errorf("a channel in use: %v", err)
		}
		// What waits goes with the subscription.
		d := monolith.Delivery{Channel: c.ID, Subscription: s.ID}
		if err := b.db.AddDeliveries(ctx, []*monolith.Delivery{&d}); err != nil {
			t.Fatal(err)
		}
		keep := "CREATE TRIGGER keep BEFORE DELETE ON subscription FOR EACH ROW SIGNAL SQLSTATE '45000'"
		if b.config.Path != "" {
			keep = "CREATE TRIGGER keep BEFORE DELETE ON subscription BEGIN SELECT RAISE(ABORT, 'kept'); END"
		}
		b.sql(keep)
		if err := b.db.DeleteSubscription(ctx, s.ID); err == nil {
			t.Error("removed what can't be removed")
		}
		b.sql("DROP TRIGGER keep")
		if all, err := b.db.Deliveries(ctx, monolith.DeliveryQuery{}); err != nil || len(all) != 1 || all[0].State != monolith.DeliveryPending {
			t.Errorf("half of the removal: %+v, %v", all, err)
		}
		if err := b.db.DeleteSubscription(ctx, s.ID); err != nil {
			t.Fatal(err)
		}
		if err := b.db.DeleteSubscription(ctx, s.ID); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("removing it again: %v", err)
		}
		list, err := b.db.Deliveries(ctx, monolith.DeliveryQuery{})
		if err != nil || len(list) != 1 || list[0].State != monolith.DeliveryDropped || list[0].Answer == "" {
			t.Errorf("%+v, %v", list, err)
		}
		if err := b.db.DeleteChannel(ctx, c.ID); err != nil {
			t.Error(err)
		}
	})
}

func TestTemplatesAndExportProfiles(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		ctx := t.Context()
		m := monolith.MessageTemplate{Name: "mail.text", Source: "{{.Server}} 😀\r\n", By: "eve"}
		for range 2 {
			if err := b.db.PutMessageTemplate(ctx, &m); err != nil {
				t.Fatal(err)
			}
		}
		templates, err := b.db.MessageTemplates(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]monolith.MessageTemplate{m}, templates); diff != "" {
			t.Error(diff)
		}
		if err := b.db.PutMessageTemplate(ctx, &monolith.MessageTemplate{Name: "x", Source: "\xff"}); !errors.Is(err, monolith.ErrInvalid) {
			t.Errorf("broken UTF-8: %v", err)
		}
		if err := b.db.DeleteMessageTemplate(ctx, "mail.text"); err != nil {
			t.Error(err)
		}
		if err := b.db.DeleteMessageTemplate(ctx, "mail.text"); !errors.Is(err, monolith.ErrNotFound) {
			t.Errorf("deleting it again: %v", err)
		}
		p := monolith.ExportProfile{Name: "tickets", Fields: []string{"server", "rate(status.Questions)"}, Servers: []monolith.ServerID{2}, Groups: []string{"acme"}, From: "-2h", Step: "1m"}
		if err := b.db.PutExportProfile(ctx, &p); err != nil {
			t.Fatal(err)
		}
		p.To = "now"
		if err := b.db.PutExportProfile(ctx, &p); err != nil {
			t.Fatal(err)
		}
		profiles, err := b.db.ExportProfiles(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]monolith.ExportProfile{p}, profiles); diff != "" {
			t.Error(diff)
		}
		if err := b.db.PutExportProfile(ctx, &monolith.ExportProfile{Name: "tickets"}); !errors.Is(err, monolith.ErrConflict) {
			t.Errorf("a name that is taken: %v", err)
		}
		if err := b.db.DeleteExportProfile(ctx, "tickets"); err != nil {
			t.Error(err)
		}
	})
}

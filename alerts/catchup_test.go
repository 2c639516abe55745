package alerts

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"monolith"
)

// seen makes alerts that opened before anybody subscribed.
func (d *desk) seen(age time.Duration, alerts ...*monolith.Alert) {
	for _, a := range alerts {
		a.Opened, a.Changed = d.now.Add(-age), d.now.Add(-age)
	}
}

// put changes a subscription as it is kept.
func (d *desk) put(id int64, change func(*monolith.Subscription)) {
	d.t.Helper()
	s, err := d.tell.Subscription(d.t.Context(), id)
	if err != nil {
		d.t.Fatal(err)
	}
	change(&s)
	if err := d.tell.PutSubscription(d.t.Context(), &s); err != nil {
		d.t.Fatal(err)
	}
	d.send()
}

// Who subscribes is told of what is open already, in one message, and then of its end as of everything else; never twice, also
// after a start.
func TestOpenAlreadyIsTold(t *testing.T) {
	d := newDesk(t)
	a, b := d.made(1, "lag", crit), d.made(2, "disk", warn)
	d.seen(time.Hour, a, b)
	id := d.subscribe(monolith.Subscription{Recovery: true})
	d.send()
	d.want("12:00:00 people: [CRIT] 2 alerts")
	d.pass(2 * time.Minute)
	d.start()
	d.pass(2 * time.Minute)
	d.put(id, func(s *monolith.Subscription) { s.Name = "renamed" })
	d.pass(2 * time.Minute)
	d.want()
	d.close(a, monolith.ClosedCleared)
	d.want("12:06:00 people: [OK] acme/db1 lag")
	if list := d.box.deliveries; len(list) != 2 || list[0].Kind != monolith.NoticeDigest || len(list[0].Alerts) != 2 || !strings.Contains(string(list[0].Payload), `"already":true`) {
		t.Errorf("%+v", list)
	}
}

// One alert is told as itself; a program gets each by itself.
func TestOpenAlreadyIsToldAsItIs(t *testing.T) {
	d := newDesk(t)
	d.seen(time.Hour, d.made(1, "lag", crit), d.made(1, "disk", warn))
	d.subscribe(monolith.Subscription{Rules: []string{"lag"}})
	d.subscribe(monolith.Subscription{Channel: 2})
	d.send()
	d.want("12:00:00 people: [CRIT] acme/db1 lag", "12:00:00 program: problem [CRIT] acme/db1 lag", "12:00:00 program: problem [WARN] acme/db1 disk")
}

// Hours, delay, digests, levels and whatever keeps an alert from being told hold for what is open already too.
func TestOpenAlreadyObeysTheSubscription(t *testing.T) {
	d := newDesk(t)
	open := d.made(1, "lag", crit)
	for _, quiet := range []func(a *monolith.Alert){
		func(a *monolith.Alert) { a.Level = warn },
		func(a *monolith.Alert) { a.Silenced = d.now.Add(time.Hour) },
		func(a *monolith.Alert) { a.Maintenance = true },
		func(a *monolith.Alert) { a.AckedAt, a.AckedBy = d.now, "eve" },
		func(a *monolith.Alert) { a.TakenAt, a.Owner = d.now, "eve" },
		func(a *monolith.Alert) { a.Parent = open.ID },
	} {
		quiet(d.made(1, "quiet", crit))
	}
	d.seen(30*time.Minute, d.alerts...)
	d.subscribe(monolith.Subscription{Name: "at night", Levels: []monolith.Level{crit}, Hours: "daily 22:00-06:00"})
	d.subscribe(monolith.Subscription{Name: "later", Levels: []monolith.Level{crit}, Delay: time.Hour})
	d.subscribe(monolith.Subscription{Name: "gathered", Levels: []monolith.Level{crit}, Digest: 10 * time.Minute})
	d.pass(40 * time.Minute)
	d.want("12:10:00 people: [CRIT] 1 alert", "12:30:00 people: [CRIT] acme/db1 lag")
	for _, a := range d.alerts[1:] {
		a.Closed = d.now
	}
	d.now = monday.Add(10 * time.Hour)
	d.pass(time.Minute)
	d.want("22:00:10 people: [CRIT] acme/db1 lag")
}

// A subscription that is made wider, or switched on again with its channel, catches up on what it missed only.
func TestOpenAlreadyAfterAChange(t *testing.T) {
	d := newDesk(t)
	id := d.subscribe(monolith.Subscription{Levels: []monolith.Level{crit}})
	told := d.open(1, "lag", crit)
	d.open(2, "disk", warn)
	d.pass(time.Minute)
	d.want("12:00:00 people: [CRIT] acme/db1 lag")
	d.put(id, func(s *monolith.Subscription) { s.Levels = nil })
	d.want("12:01:00 people: [WARN] acme/db2 disk")

	d.put(id, func(s *monolith.Subscription) { s.Enabled = false })
	d.open(3, "full", crit)
	d.pass(time.Minute)
	d.want()
	d.put(id, func(s *monolith.Subscription) { s.Enabled = true })
	d.want("12:02:00 people: [CRIT] acme/db3 full")

	// What waits while the channel is switched off is dropped, and told when it is on again.
	d.put(id, func(s *monolith.Subscription) { s.Delay = time.Minute })
	d.open(4, "late", crit)
	channel := d.box.channels[0]
	channel.Enabled, channel.Updated = false, d.now
	if err := d.tell.PutChannel(t.Context(), &channel); err != nil {
		t.Fatal(err)
	}
	d.pass(2 * time.Minute)
	d.want()
	channel.Enabled, channel.Updated = true, d.now
	if err := d.tell.PutChannel(t.Context(), &channel); err != nil {
		t.Fatal(err)
	}
	d.send()
	d.want("12:04:00 people: [CRIT] acme/db4 late")
	d.level(told, warn)
	d.pass(time.Minute)
	d.want()
}

// failingAdd is an outbox that takes nothing for a time.
type failingAdd struct {
	*memoryOutbox
	fails bool
}

func (f *failingAdd) AddDeliveries(ctx context.Context, list []*monolith.Delivery) error {
	if f.fails {
		return monolith.ErrUnavailable
	}
	return f.memoryOutbox.AddDeliveries(ctx, list)
}

// What could not be written is told later, once.
func TestOpenAlreadyWhenTheStoreIsAway(t *testing.T) {
	d := newDesk(t)
	box := &failingAdd{memoryOutbox: d.box, fails: true}
	d.tell.cfg.Store = box
	d.seen(time.Hour, d.made(1, "lag", crit))
	d.subscribe(monolith.Subscription{})
	d.pass(time.Minute)
	d.want()
	box.fails = false
	d.pass(time.Minute)
	d.want("12:01:10 people: [CRIT] acme/db1 lag")
}

// What people are shown before they keep a subscription, and on an alert's page, is what happens.
func TestOpenAlreadyIsForetold(t *testing.T) {
	d := newDesk(t)
	a, b := d.made(1, "lag", crit), d.made(2, "disk", warn)
	d.seen(time.Hour, a, b)
	b.AckedAt = d.now
	s := monolith.Subscription{Name: "night", Channel: 1, Enabled: true, Hours: "daily 22:00-06:00"}
	want := map[string]string{"lag": "22:00 it is open already; when its hours begin, if it is still open", "disk": "00:00 it was acknowledged"}
	for _, f := range d.tell.Foretell(&s) {
		if got := f.At.Format("15:04 ") + f.Why; got != want[f.Rule] {
			t.Errorf("%s: %s", f.Rule, got)
		}
		delete(want, f.Rule)
	}
	if len(want) != 0 {
		t.Errorf("nothing of %v", want)
	}
	id := d.subscribe(s)
	d.now = d.now.Add(10*time.Hour + time.Minute)
	d.send()
	d.want("22:01:00 people: [CRIT] acme/db1 lag")
	s.ID = id
	if i := slices.IndexFunc(d.tell.Foretell(&s), func(f monolith.Foretold) bool { return f.Why == "it was told already" && f.Rule == "lag" }); i < 0 {
		t.Errorf("%+v", d.tell.Foretell(&s))
	}
	who, err := d.tell.Who(t.Context(), b.ID)
	if err != nil || len(who) != 1 || who[0].Why != "not told: it was acknowledged" {
		t.Errorf("%+v %v", who, err)
	}
}

package alerts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"monolith"
)

const (
	info = monolith.LevelInfo
	warn = monolith.LevelWarn
	crit = monolith.LevelCritical
)

func TestProblemAndRecoveryAreTold(t *testing.T) {
	d := newDesk(t)
	d.subscribe(monolith.Subscription{Recovery: true})
	d.subscribe(monolith.Subscription{Channel: 2})
	a := d.open(1, "lag", warn)
	d.pass(time.Minute)
	d.level(a, crit)
	d.pass(time.Minute)
	d.level(a, warn)
	a.AckedBy, a.AckedAt = "kim", d.now
	d.happen(event(a, monolith.EventAcknowledged))
	d.pass(time.Minute)
	d.close(a, monolith.ClosedCleared)
	d.pass(10 * time.Minute)
	d.want(
		"12:00:00 people: [WARN] acme/db1 lag", "12:00:00 program: problem [WARN] acme/db1 lag",
		"12:01:00 people: [CRIT] acme/db1 lag", "12:01:00 program: problem [CRIT] acme/db1 lag",
		"12:02:00 people: [WARN] acme/db1 lag", "12:02:00 program: lowered [WARN] acme/db1 lag",
		"12:02:00 program: acknowledged [ACK] acme/db1 lag",
		"12:03:00 people: [OK] acme/db1 lag", "12:03:00 program: recovery [OK] acme/db1 lag")
}

func TestSubscriptionsChoose(t *testing.T) {
	d := newDesk(t)
	d.subscribe(monolith.Subscription{Name: "critical", Levels: []monolith.Level{crit}, Recovery: true})
	d.subscribe(monolith.Subscription{Name: "db2", Servers: []monolith.ServerID{2}})
	d.subscribe(monolith.Subscription{Name: "lag", Rules: []string{"lag"}})
	d.subscribe(monolith.Subscription{Name: "group", Groups: []string{"acme"}, Levels: []monolith.Level{info}})
	d.subscribe(monolith.Subscription{Name: "elsewhere", Groups: []string{"other"}})
	who := func(a *monolith.Alert) string {
		list, err := d.tell.Who(t.Context(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		var told []string
		for _, w := range list {
			if w.Why == "" {
				t.Errorf("%s: no reason", w.Name)
			}
			if w.Told {
				told = append(told, w.Name)
			}
		}
		return strings.Join(told, " ")
	}
	for _, c := range []struct {
		server monolith.ServerID
		rule   string
		level  monolith.Level
		want   string
	}{{1, "x", crit, "critical"}, {2, "x", warn, "db2"}, {1, "lag", info, "group lag"}, {3, "x", warn, ""}, {0, "monitor-network", crit, "critical db2 elsewhere"}} {
		if got := who(d.open(c.server, c.rule, c.level)); got != c.want {
			t.Errorf("%+v: told %q", c, got)
		}
		d.pass(time.Minute)
	}
	// One that becomes critical is told then to who wants critical ones, and only they hear of its end.
	a := d.open(3, "x", warn)
	d.pass(time.Minute)
	d.mu.Lock()
	d.got = nil
	d.mu.Unlock()
	d.level(a, crit)
	d.pass(time.Minute)
	d.close(a, monolith.ClosedCleared)
	d.want("12:06:00 people: [CRIT] acme/db3 x", "12:07:00 people: [OK] acme/db3 x")
}

func TestDelay(t *testing.T) {
	d := newDesk(t)
	d.subscribe(monolith.Subscription{Delay: 10 * time.Minute, Recovery: true})
	short := d.open(1, "short", warn)
	long := d.open(1, "long", warn)
	d.pass(9 * time.Minute)
	d.close(short, monolith.ClosedCleared)
	d.level(long, crit)
	d.pass(5 * time.Minute)
	d.want("12:10:00 people: [CRIT] acme/db1 long")
	if dropped := d.box.deliveries[0]; dropped.State != monolith.DeliveryDropped || !strings.Contains(dropped.Answer, "over before") {
		t.Errorf("the short one: %+v", dropped)
	}
	d.close(long, monolith.ClosedCleared)
	d.want("12:14:00 people: [OK] acme/db1 long")
}

func TestHours(t *testing.T) {
	d := newDesk(t)
	d.subscribe(monolith.Subscription{Hours: "mon-fri 08:00-18:00", Zone: "Europe/Berlin", Recovery: true})
	d.now = time.Date(2026, 3, 27, 17, 30, 0, 0, time.UTC) // Friday, 18:30 in Berlin; the clock changes on Sunday
	stays, goes := d.open(1, "stays", warn), d.open(2, "goes", crit)
	d.pass(time.Hour)
	d.close(goes, monolith.ClosedCleared)
	d.want()
	d.now = time.Date(2026, 3, 30, 5, 59, 0, 0, time.UTC) // Monday, 07:59 in Berlin
	d.send()
	d.want()
	d.pass(time.Minute)
	d.want("06:00:00 people: [WARN] acme/db1 stays")
	d.close(stays, monolith.ClosedCleared)
	d.want("06:00:00 people: [OK] acme/db1 stays")
}

func TestReminders(t *testing.T) {
	d := newDesk(t)
	d.subscribe(monolith.Subscription{Repeat: time.Hour})
	a := d.open(1, "lag", warn)
	d.want("12:00:00 people: [WARN] acme/db1 lag")
	d.pass(2*time.Hour + 30*time.Minute)
	d.want("13:00:00 people: [STILL WARN] acme/db1 lag", "14:00:00 people: [STILL WARN] acme/db1 lag")
	// A start in between neither repeats nor forgets.
	d.start()
	d.pass(40 * time.Minute)
	d.want("15:00:00 people: [STILL WARN] acme/db1 lag")
	a.AckedAt, a.AckedBy = d.now, "kim"
	d.happen(event(a, monolith.EventAcknowledged))
	d.pass(3 * time.Hour)
	d.want()
}

func TestSilenceAndMaintenance(t *testing.T) {
	d := newDesk(t)
	d.subscribe(monolith.Subscription{Recovery: true})
	a := d.made(1, "lag", warn)
	a.Silenced = d.now.Add(time.Hour)
	quiet := func(kind monolith.AlertEventKind) *BatchEvent {
		e := event(a, kind)
		e.Tell, e.Quiet = false, "silenced"
		return e
	}
	d.happen(quiet(monolith.EventOpened))
	d.pass(time.Hour)
	d.want()
	// It is over, and the alert still open.
	a.Silenced = time.Time{}
	d.happen(event(a, monolith.EventUnsilenced))
	d.pass(2 * time.Minute)
	d.want("13:01:00 people: [WARN] acme/db1 lag")
	// Told before it became quiet: it is not told again after that.
	a.Maintenance = true
	d.happen(quiet(monolith.EventSilenced))
	d.pass(time.Minute)
	a.Maintenance = false
	d.happen(event(a, monolith.EventUnsilenced))
	d.pass(5 * time.Minute)
	d.want()
	d.close(a, monolith.ClosedCleared)
	d.want("13:08:00 people: [OK] acme/db1 lag")

	// One that ends in its silence was never told, and its end neither.
	b := d.made(1, "scan", warn)
	b.Maintenance = true
	e := event(b, monolith.EventOpened)
	e.Tell, e.Quiet = false, "maintenance"
	d.happen(e)
	b.Closed = d.now
	d.happen(event(b, monolith.EventClosed))
	d.pass(time.Hour)
	d.want()

	// One that is silenced while its delay lasts is dropped when it is due.
	d.subscribe(monolith.Subscription{Name: "late", Delay: 10 * time.Minute, Rules: []string{"late"}})
	c := d.open(1, "late", warn)
	d.want("14:08:00 people: [WARN] acme/db1 late")
	c.Silenced = d.now.Add(time.Hour)
	d.pass(20 * time.Minute)
	d.want()
}

func TestDisabledRulesNeverSpeak(t *testing.T) {
	d := newDesk(t)
	d.subscribe(monolith.Subscription{Recovery: true})
	d.subscribe(monolith.Subscription{Recovery: true, Delay: 10 * time.Minute})
	a := d.open(1, "lag", warn)
	d.want("12:00:00 people: [WARN] acme/db1 lag")
	d.pass(time.Minute)
	d.close(a, monolith.ClosedDisabled)
	d.pass(time.Hour)
	d.want()
}

func TestWhatHappensTogetherIsToldTogether(t *testing.T) {
	d := newDesk(t)
	d.subscribe(monolith.Subscription{Recovery: true})
	d.subscribe(monolith.Subscription{Channel: 2})
	one, two := d.made(1, "one", warn), d.made(1, "two", crit)
	d.happen(event(one, monolith.EventOpened), event(two, monolith.EventOpened))
	d.want("12:00:00 people: [CRIT] acme/db1 two", "12:00:00 program: problem [WARN] acme/db1 one", "12:00:00 program: problem [CRIT] acme/db1 two")
	// Other servers at the same moment: a list.
	var events []*BatchEvent
	for id := monolith.ServerID(1); id <= 200; id++ {
		events = append(events, event(d.made(id, "three", warn), monolith.EventOpened))
	}
	d.box.subs = d.box.subs[:1]
	d.start()
	d.happen(events...)
	d.want("12:00:00 people: [WARN] 200 alerts")
}

// A host with many alerts dies: what is about the host speaks for all of them, and they are told once it is back.
func TestHostThatDiesSendsOneMessage(t *testing.T) {
	d := newDesk(t)
	d.subscribe(monolith.Subscription{Recovery: true, Repeat: 10 * time.Minute})
	cause := d.made(1, RuleUnreachable, warn)
	events := []*BatchEvent{event(cause, monolith.EventOpened)}
	for i := range 30 {
		a := d.made(1, fmt.Sprintf("rule-%02d", i), crit)
		a.Parent = cause.ID
		e := event(a, monolith.EventOpened)
		e.Tell, e.Quiet, e.Cause = false, "told by another alert", cause
		events = append(events, e)
	}
	d.happen(events...)
	d.pass(40 * time.Second)
	d.level(cause, crit)
	d.pass(9 * time.Minute)
	d.want("12:00:50 people: [CRIT] acme/db1 server-unreachable")
	// It is back: most are over a moment later, the rest comes in one message.
	events = nil
	cause.Closed = d.now
	events = append(events, event(cause, monolith.EventClosed))
	for _, a := range d.alerts[1:] {
		a.Parent = 0
		events = append(events, event(a, monolith.EventUnsilenced))
	}
	d.happen(events...)
	d.pass(20 * time.Second)
	for _, a := range d.alerts[3:] {
		d.close(a, monolith.ClosedCleared)
	}
	d.pass(2 * time.Minute)
	d.want("12:09:40 people: [OK] acme/db1 server-unreachable", "12:10:40 people: [CRIT] acme/db1 rule-00")
}

// Who is told of the replica only is told of it, since nobody tells them of the source that speaks for it.
func TestCauseThatIsNotTold(t *testing.T) {
	d := newDesk(t)
	d.subscribe(monolith.Subscription{Servers: []monolith.ServerID{2}})
	cause := d.made(1, RuleUnreachable, crit)
	a := d.made(2, "replica-io-thread-stopped", warn)
	a.Parent = cause.ID
	e := event(a, monolith.EventOpened)
	e.Tell, e.Quiet, e.Cause = false, "told by another alert", cause
	d.happen(event(cause, monolith.EventOpened), e)
	d.pass(5 * time.Minute)
	d.want("12:00:00 people: [WARN] acme/db2 replica-io-thread-stopped")
}

func TestLimitPerHourMakesADigest(t *testing.T) {
	d := newDesk(t)
	d.subscribe(monolith.Subscription{PerHour: 3, Recovery: true})
	var last *monolith.Alert
	for i := range 10 {
		last = d.open(1, fmt.Sprintf("rule-%d", i), warn)
		d.pass(time.Minute)
	}
	d.want("12:00:00 people: [WARN] acme/db1 rule-0", "12:01:00 people: [WARN] acme/db1 rule-1", "12:02:00 people: [WARN] acme/db1 rule-2")
	who, err := d.tell.Who(t.Context(), last.ID)
	if err != nil || len(who) != 1 || !who[0].Told || !strings.Contains(who[0].Why, "in a digest since there were 3 messages within an hour") {
		t.Errorf("who is told: %+v, %v", who, err)
	}
	d.close(last, monolith.ClosedCleared)
	// A start in between keeps both the limit and the digest.
	d.start()
	d.pass(20 * time.Minute)
	d.open(2, "more", crit)
	d.pass(40 * time.Minute)
	d.want("13:00:00 people: [CRIT] 8 alerts, 1 over")
	if n := len(d.box.deliveries); n != 11 {
		t.Errorf("%d deliveries", n)
	}
}

func TestDigest(t *testing.T) {
	d := newDesk(t)
	d.subscribe(monolith.Subscription{Digest: 15 * time.Minute, Recovery: true})
	a := d.open(1, "one", warn)
	d.pass(time.Minute)
	d.open(2, "two", crit)
	d.pass(time.Minute)
	d.close(a, monolith.ClosedCleared)
	d.pass(20 * time.Minute)
	d.want("12:15:00 people: [CRIT] 2 alerts, 1 over")
	d.close(d.alerts[1], monolith.ClosedCleared)
	d.pass(20 * time.Minute)
	d.want("12:37:00 people: [OK] 1 alert over")
}

func TestDailyLine(t *testing.T) {
	d := newDesk(t)
	d.subscribe(monolith.Subscription{Quiet: "08:00", Zone: "Europe/Berlin", Levels: []monolith.Level{crit}})
	d.pass(10 * time.Hour)
	d.want() // it was made after eight
	d.now = time.Date(2026, 3, 17, 6, 59, 0, 0, time.UTC)
	d.pass(2 * time.Minute)
	d.start()
	d.pass(3 * time.Hour)
	d.want("07:00:00 people: [OK] all quiet")
	d.open(1, "lag", crit)
	d.open(1, "scan", warn)
	d.want("10:01:00 people: [CRIT] acme/db1 lag")
	d.now = time.Date(2026, 3, 18, 9, 30, 0, 0, time.UTC) // Monolith was down at eight
	d.pass(time.Minute)
	d.want("09:30:10 people: [CRIT] 1 critical open")
}

func TestReceiverThatFails(t *testing.T) {
	d := newDesk(t)
	d.subscribe(monolith.Subscription{Recovery: true})
	d.status = 500
	a := d.open(1, "lag", warn)
	d.pass(5 * time.Minute)
	d.want()
	if st := d.tell.TellingStatus(); st.Level != crit || len(st.Failing) != 1 || st.Waiting != 1 {
		t.Errorf("status %+v", st)
	}
	d.close(a, monolith.ClosedCleared)
	d.pass(time.Minute)
	if st := d.box.deliveries; st[0].State != monolith.DeliveryPending || st[0].Answer == "" || st[0].Attempts < 4 || st[1].State != monolith.DeliveryPending {
		t.Errorf("%+v", st)
	}
	d.mu.Lock()
	d.status = 0
	d.mu.Unlock()
	d.pass(time.Hour)
	if len(d.got) != 2 || !strings.Contains(d.got[0], "[WARN]") || !strings.Contains(d.got[1], "[OK]") {
		t.Errorf("%q: a recovery comes behind its problem", d.got)
	}
	if st := d.tell.TellingStatus(); st.Level != monolith.LevelOK || st.Waiting != 0 {
		t.Errorf("status %+v", st)
	}
}

// What is refused for good is given up; its end is not told, and people may have it sent again.
func TestGivenUp(t *testing.T) {
	d := newDesk(t)
	d.subscribe(monolith.Subscription{Channel: 2})
	d.status = 400
	a := d.open(1, "lag", warn)
	d.pass(time.Minute)
	first := &d.box.deliveries[0]
	if first.State != monolith.DeliveryFailed || first.Attempts != 1 || !strings.Contains(first.Answer, "400") {
		t.Fatalf("%+v", first)
	}
	d.mu.Lock()
	d.status = 0
	d.mu.Unlock()
	d.close(a, monolith.ClosedCleared)
	d.pass(time.Minute)
	d.want()
	if err := d.tell.RetryDelivery(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	d.send()
	d.want("12:02:00 program: problem [WARN] acme/db1 lag")

	// A receiver that is away for days.
	d.status = 503
	b := d.open(1, "days", warn)
	d.now = d.now.Add(71 * time.Hour)
	for range 8 {
		d.now = d.now.Add(40 * time.Minute)
		d.send()
	}
	if last := d.box.deliveries[len(d.box.deliveries)-1]; last.State != monolith.DeliveryFailed || last.Alerts[0] != b.ID {
		t.Errorf("%+v", last)
	}
}

// The store is away while a message goes out: it is told later that the message was taken, and the message is not sent
// again.
func TestStoreThatIsAwayWhileSending(t *testing.T) {
	d := newDesk(t)
	d.subscribe(monolith.Subscription{})
	claimed := false
	d.tell.cfg.Now = nil
	d.tell.now = func() time.Time { return d.now }
	box := d.box
	d.tell.cfg.Store = &failingFinish{memoryOutbox: box, fails: func() bool { claimed = true; return d.now.Before(monday.Add(20 * time.Minute)) }}
	d.open(1, "lag", warn)
	d.pass(30 * time.Minute) // longer than the lease
	d.want("12:00:00 people: [WARN] acme/db1 lag")
	if !claimed || box.deliveries[0].State != monolith.DeliverySent {
		t.Errorf("%+v", box.deliveries[0])
	}
}

// A digest that is sent again, because Monolith was stopped before it knew that the first was taken, is the same one to who
// gets it: a mail has the same id.
func TestDigestSentAgainIsTheSame(t *testing.T) {
	d := newDesk(t)
	d.subscribe(monolith.Subscription{Digest: 15 * time.Minute})
	d.open(1, "lag", warn)
	d.open(2, "lag", warn)
	d.now = d.now.Add(20 * time.Minute)
	first := d.tell.prepare(t.Context(), slices.Clone(d.box.deliveries), false)
	d.now = d.now.Add(6 * time.Minute)
	d.start()
	again := d.tell.prepare(t.Context(), slices.Clone(d.box.deliveries), false)
	if first.notice == nil || again.notice == nil || first.notice.Key != again.notice.Key || !first.notice.At.Equal(again.notice.At) || len(again.notice.Others) != 2 {
		t.Errorf("first %+v\nagain %+v", first.notice, again.notice)
	}
}

package alerts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"monolith"
)

// Whatever happens in whatever order, with starts in between: an end is told only to who was told the problem, and to all of
// them; nobody gets more messages in an hour than they want; nothing is told twice; and what stays open is told in the end.
func TestNoiseRulesHoldWhateverHappens(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			d := newDesk(t)
			sub := monolith.Subscription{Recovery: true, PerHour: 3 + r.IntN(20)}
			if r.IntN(2) == 0 {
				sub.Delay = time.Duration(r.IntN(20)) * time.Minute
			}
			if r.IntN(3) == 0 {
				sub.Hours = "daily 08:00-13:00\ndaily 14:00-24:00"
			}
			if r.IntN(3) == 0 {
				sub.Levels = []monolith.Level{warn, crit}
			}
			people := d.subscribe(sub)
			sub.Channel = 2
			program := d.subscribe(sub)
			for range 60 {
				turn(d, r)
				d.pass(time.Duration(r.IntN(12)) * 20 * time.Second)
				if r.IntN(10) == 0 {
					d.start()
				}
			}
			for _, a := range d.alerts { // nothing is quiet any more
				if a.Open() && a.Silenced.After(d.now) {
					a.Silenced = time.Time{}
					d.happen(event(a, monolith.EventUnsilenced))
				}
			}
			d.status = 0
			for range 8 * 6 {
				d.now = d.now.Add(10 * time.Minute)
				d.send()
			}
			invariants(t, d, sub, people, program)
		})
	}
}

// turn lets one thing happen.
func turn(d *desk, r *rand.Rand) {
	var open []*monolith.Alert
	for _, a := range d.alerts {
		if a.Open() {
			open = append(open, a)
		}
	}
	levels := []monolith.Level{info, warn, crit}
	if len(open) == 0 || r.IntN(3) == 0 {
		var events []*BatchEvent
		for range 1 + r.IntN(3) {
			events = append(events, event(d.made(monolith.ServerID(1+r.IntN(3)), fmt.Sprintf("rule-%d", len(d.alerts)), levels[r.IntN(3)]), monolith.EventOpened))
		}
		d.happen(events...)
		return
	}
	a := open[r.IntN(len(open))]
	quiet := a.Silenced.After(d.now)
	tell := func(kind monolith.AlertEventKind) {
		e := event(a, kind)
		if e.Tell = !quiet; quiet {
			e.Quiet = "silenced"
		}
		d.happen(e)
	}
	switch r.IntN(6) {
	case 0, 1:
		a.Closed, a.Reason = d.now, monolith.ClosedCleared
		tell(monolith.EventClosed)
	case 2, 3:
		before := a.Level
		a.Level = levels[r.IntN(3)]
		switch {
		case a.Level > before:
			tell(monolith.EventRaised)
		case a.Level < before:
			tell(monolith.EventLowered)
		}
	case 4:
		if quiet {
			a.Silenced, quiet = time.Time{}, false
			tell(monolith.EventUnsilenced)
		} else {
			a.Silenced, quiet = d.now.Add(100*time.Hour), true
			tell(monolith.EventSilenced)
		}
	case 5:
		d.mu.Lock()
		d.status = []int{0, 0, 503}[r.IntN(3)]
		d.mu.Unlock()
	}
}

// invariants looks at the outbox when nothing waits any more.
func invariants(t *testing.T, d *desk, sub monolith.Subscription, people, program int64) {
	t.Helper()
	for _, id := range []int64{people, program} {
		s := d.tell.plan.subscriber(id)
		told := map[monolith.AlertID]bool{}
		over := map[monolith.AlertID]bool{}
		digests := map[string]bool{}
		var planned []time.Time
		for _, m := range d.box.deliveries {
			if m.Subscription != id {
				continue
			}
			if m.Done.IsZero() {
				t.Errorf("delivery %d still waits: %+v", m.ID, m)
			}
			if m.State != monolith.DeliverySent {
				continue
			}
			if e, err := unpack(m.Payload); err == nil && (!gathered(&m) || !digests[m.Key]) {
				planned = append(planned, e.Due)
			}
			digests[m.Key] = true
			for _, a := range m.Alerts {
				switch {
				case isOpening(m.Kind) || m.Kind == monolith.NoticeDigest:
					told[a] = true
				case m.Kind == monolith.NoticeRecovery && over[a]:
					t.Errorf("%s: the end of %d is told twice", s.channel.Name, a)
				case m.Kind == monolith.NoticeRecovery:
					if over[a] = true; !told[a] {
						t.Errorf("%s: the end of %d is told, and it was not", s.channel.Name, a)
					}
				}
			}
		}
		for _, a := range d.alerts {
			if a.Open() && s.Declines(a) == "" && !told[a.ID] {
				t.Errorf("%s: %d is open at %s and was not told", s.channel.Name, a.ID, a.Level)
			}
			if id == program && !a.Open() && told[a.ID] && !over[a.ID] {
				t.Errorf("%s: %d is over and that was not told", s.channel.Name, a.ID)
			}
		}
		// Those that a delay puts off are counted when they are planned: a few more than wanted may meet.
		slices.SortFunc(planned, time.Time.Compare)
		for i := range planned {
			if last := i + 2*sub.PerHour; id == people && last < len(planned) && planned[last].Sub(planned[i]) < time.Hour {
				t.Errorf("more than %d messages in the hour after %s", 2*sub.PerHour, planned[i])
			}
		}
	}
}

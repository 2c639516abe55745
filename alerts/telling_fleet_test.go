package alerts

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"monolith"
)

// tellingStore is the engine's store and the outbox in one, as a store is.
type tellingStore struct {
	*memoryStore
	box *memoryOutbox
}

func (s *tellingStore) Commit(ctx context.Context, b *Batch) error {
	if err := s.memoryStore.Commit(ctx, b); err != nil {
		return err
	}
	s.box.take(b)
	return nil
}

// toldFleet is a fleet whose alerts are told to a desk.
func toldFleet(t *testing.T, names ...string) (*fleetOf, *desk) {
	t.Helper()
	f, d := newFleet(t, names...), newDesk(t)
	d.now = f.worlds[0].at()
	d.tell.cfg.Open = func() []monolith.Alert { return f.service.Open() }
	d.tell.cfg.Alert = func(ctx context.Context, id monolith.AlertID) (monolith.Alert, error) {
		return f.service.Alert(ctx, id)
	}
	d.tell.cfg.Subject = nil
	s, err := NewService(ServiceConfig{Store: &tellingStore{f.store, d.box}, State: func(id monolith.ServerID) *monolith.State { return f.states[id] },
		Plan: d.tell.Plan, Now: func() time.Time { return f.worlds[0].at() }})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.service = s
	f.apply()
	return f, d
}

// runTold polls for a time and sends what is due.
func runTold(f *fleetOf, d *desk, length time.Duration) {
	for range int(length / (10 * time.Second)) {
		f.run(10 * time.Second)
		d.now = f.worlds[0].at()
		d.tell.lookAfter(d.t.Context())
		d.send()
	}
}

// said gives what arrived about a rule's title, without the time.
func (d *desk) said(part string) (out []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, line := range d.got {
		if strings.Contains(line, part) {
			out = append(out, line)
		}
	}
	return out
}

func TestFleetThatGoesOutOfReachSendsOneMessage(t *testing.T) {
	names := make([]string, 200)
	for i := range names {
		names[i] = fmt.Sprintf("db%03d", i)
	}
	f, d := toldFleet(t, names...)
	d.subscribe(monolith.Subscription{Recovery: true, Levels: []monolith.Level{warn, crit}})
	runTold(f, d, time.Minute)
	d.mu.Lock()
	d.got = nil
	d.mu.Unlock()
	f.lose(names...)
	runTold(f, d, 3*time.Minute)
	if got := d.said(""); len(got) != 1 || !strings.Contains(got[0], "200 of 200 servers") {
		t.Errorf("arrived: %q", got)
	}
	f.back()
	runTold(f, d, 3*time.Minute)
	if got := d.said(""); len(got) != 2 || !strings.Contains(got[1], "[OK]") {
		t.Errorf("arrived: %q", got)
	}
}

// A value that swings round its limit for a day opens once and is told once, however it swings.
func TestValueThatSwingsRoundItsLimitIsToldOnce(t *testing.T) {
	for _, period := range []time.Duration{3 * time.Minute, 40 * time.Minute} {
		t.Run(period.String(), func(t *testing.T) {
			t.Parallel()
			f, d := toldFleet(t, "db1")
			d.subscribe(monolith.Subscription{Recovery: true, Rules: []string{"max-used-connections-high"}})
			w := f.worlds[0]
			w.set("variable.max_connections", 1000)
			began := w.at()
			for w.at().Sub(began) < 24*time.Hour {
				// 81 % to 89 % round a limit of 85 %, after a while in which it stays above.
				turn := 2 * math.Pi * w.at().Sub(began).Seconds() / period.Seconds()
				value := 850 + 40*math.Sin(turn)
				if w.at().Sub(began) < 15*time.Minute {
					value = 880
				}
				w.set("status.Threads_connected", value)
				runTold(f, d, 10*time.Second)
			}
			opened := strings.Count(f.store.told("max-used-connections-high"), "opened")
			if got := d.said(""); opened != 1 || len(got) != 1 {
				t.Errorf("opened %d times, told %q", opened, got)
			}
		})
	}
}

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"monolith"
	"monolith/alerts"
	"monolith/internal/mysqltest"
	"monolith/store"
)

// The environment by which TestMain plays the process that tells people and is killed.
const (
	envTeller      = "MONOLITH_TEST_TELLER"       // the store's file
	envTellerSince = "MONOLITH_TEST_TELLER_SINCE" // when the test began, in unix milliseconds
	envTellerDrain = "MONOLITH_TEST_TELLER_DRAIN" // nothing new happens; it ends when all is sent
)

// fastClock runs 200 times as fast as time, so that waiting for the next try takes a moment. It goes on over restarts.
func fastClock(since time.Time) func() time.Time {
	return func() time.Time { return monday.Add(200 * time.Since(since)) }
}

var monday = time.Date(2026, 3, 16, 12, 0, 0, 0, time.UTC)

// teller joins a store and a Telling without rules: alerts are made up.
type teller struct {
	db   *store.DB
	tell *alerts.Telling
	now  func() time.Time

	mu   sync.Mutex
	open []*monolith.Alert
}

func newTeller(ctx context.Context, c store.Config, now func() time.Time) (*teller, error) {
	c.Now = now
	db, err := store.Open(ctx, c)
	if err != nil {
		return nil, err
	}
	x := &teller{db: db, now: now}
	open, err := db.OpenAlerts(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	for i := range open {
		x.open = append(x.open, &open[i])
	}
	x.tell = alerts.NewTelling(alerts.TellingConfig{Store: db, Instance: "test", Now: now, Alert: db.Alert, Open: func() []monolith.Alert {
		x.mu.Lock()
		defer x.mu.Unlock()
		var list []monolith.Alert
		for _, a := range x.open {
			list = append(list, *a)
		}
		return list
	}})
	if err := x.tell.Load(ctx); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return x, nil
}

// commit writes events with what they mean for people.
func (x *teller) commit(ctx context.Context, b *monolith.AlertBatch) error {
	x.tell.Plan(ctx, b)
	if err := x.db.Commit(ctx, b); err != nil {
		return err
	}
	x.tell.Wake()
	return nil
}

// happen opens a new alert and now and then closes an old one.
func (x *teller) happen(ctx context.Context) error {
	now := x.now()
	x.mu.Lock()
	a := &monolith.Alert{AlertKey: monolith.AlertKey{Rule: "made-up", Instance: strconv.FormatInt(now.UnixNano(), 36)}, Title: "made up", Category: "test",
		Level: monolith.LevelWarn, Peak: monolith.LevelWarn, Opened: now, Changed: now}
	b := &monolith.AlertBatch{At: now}
	if n := len(x.open); n > 0 && rand.IntN(2) == 0 {
		i := rand.IntN(n)
		old := x.open[i]
		x.open = append(x.open[:i:i], x.open[i+1:]...)
		old.Closed, old.Reason = now, monolith.ClosedCleared
		b.Alerts = append(b.Alerts, old)
		b.Events = append(b.Events, &monolith.AlertBatchEvent{Of: old, Tell: true, AlertEvent: monolith.AlertEvent{At: now, Kind: monolith.EventClosed, Level: old.Level}})
	}
	x.mu.Unlock()
	b.Alerts = append(b.Alerts, a)
	b.Events = append(b.Events, &monolith.AlertBatchEvent{Of: a, Tell: true, AlertEvent: monolith.AlertEvent{At: now, Kind: monolith.EventOpened, Level: a.Level}})
	if err := x.commit(ctx, b); err != nil {
		return err
	}
	x.mu.Lock()
	x.open = append(x.open, a)
	x.mu.Unlock()
	return nil
}

// tellUntilKilled is the process that is killed.
func tellUntilKilled() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute) // nobody kills it: end
	defer cancel()
	since, err := strconv.ParseInt(os.Getenv(envTellerSince), 10, 64)
	if err != nil {
		return err
	}
	path := os.Getenv(envTeller)
	x, err := newTeller(ctx, store.Config{Path: path, KeyFile: path + ".key"}, fastClock(time.UnixMilli(since)))
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	var parts sync.WaitGroup
	parts.Go(func() { _ = x.db.Run(running) })
	parts.Go(func() { _ = x.tell.Run(running) })
	drain := os.Getenv(envTellerDrain) != ""
	fmt.Println("ready") // from now on it may be killed
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for range tick.C {
		if !drain {
			if err := x.happen(ctx); err != nil {
				return err
			}
			continue
		}
		x.tell.Wake()
		if next, err := x.db.NextDelivery(ctx); err != nil || next.IsZero() || ctx.Err() != nil {
			stop()
			parts.Wait()
			return errors.Join(err, ctx.Err(), x.db.Close())
		}
	}
	return nil
}

// moody is a receiver that takes, fails, hangs and refuses at random, and counts what it took.
type moody struct {
	mu     sync.Mutex
	got    map[string]int // by path, kind and key
	early  []string       // ends that came before their beginning
	active atomic.Int32   // requests that are being answered
}

func (m *moody) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.active.Add(1)
	defer m.active.Add(-1)
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed
	}
	var said struct{ Kind, Key string }
	if err := json.Unmarshal(body, &said); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	mood := rand.IntN(20)
	switch {
	case mood < 2:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case mood < 3:
		w.WriteHeader(http.StatusTooManyRequests)
		return
	case mood < 4: // hangs up
		panic(http.ErrAbortHandler)
	case mood < 5: // hangs until the sender is gone, or for a while
		select {
		case <-r.Context().Done():
		case <-time.After(150 * time.Millisecond):
		}
		panic(http.ErrAbortHandler)
	}
	m.mu.Lock()
	m.got[r.URL.Path+" "+said.Kind+" "+said.Key]++
	if said.Kind == "recovery" && m.got[r.URL.Path+" problem "+said.Key] == 0 {
		m.early = append(m.early, said.Key)
	}
	m.mu.Unlock()
	if mood < 6 { // it took the message, and its answer is late
		select {
		case <-r.Context().Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// deliveriesOf reads the whole outbox of a store that nobody else has open.
func deliveriesOf(t *testing.T, c store.Config) (list []monolith.Delivery, events []monolith.AlertEvent) {
	t.Helper()
	db, err := store.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for before := int64(0); ; before = list[len(list)-1].ID {
		part, err := db.Deliveries(t.Context(), monolith.DeliveryQuery{Before: before, Limit: 5000})
		if err != nil {
			t.Fatal(err)
		}
		if list = append(list, part...); len(part) < 5000 {
			break
		}
	}
	for after := int64(0); ; after = events[len(events)-1].ID {
		part, err := db.EventsAfter(t.Context(), after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if events = append(events, part...); len(part) < 1000 {
			return list, events
		}
	}
}

// TestKilledWhileTelling kills the process that tells people, again and again and at any moment, while its receivers fail, hang
// and refuse. Every event arrives, a recovery behind its problem, and nothing arrives again whose acknowledgement was kept.
func TestKilledWhileTelling(t *testing.T) {
	t.Parallel()
	rounds := 10
	if text := os.Getenv("MONOLITH_TORTURE"); text != "" {
		var err error
		if rounds, err = strconv.Atoi(text); err != nil {
			t.Fatalf("MONOLITH_TORTURE: %v", err)
		}
	}
	m := &moody{got: map[string]int{}}
	srv := httptest.NewServer(m)
	defer srv.Close()
	path := filepath.Join(t.TempDir(), "monolith.db")
	config := store.Config{Path: path, KeyFile: path + ".key"}
	since := time.Now()
	x, err := newTeller(t.Context(), config, fastClock(since))
	if err != nil {
		t.Fatal(err)
	}
	paths := map[int64]string{}
	for _, name := range []string{"/one", "/two"} {
		c := monolith.Channel{Name: name, Kind: "webhook", Enabled: true, Config: map[string]string{"url": srv.URL + name}}
		if err := x.tell.PutChannel(t.Context(), &c); err != nil {
			t.Fatal(err)
		}
		paths[c.ID] = name
		if err := x.tell.PutSubscription(t.Context(), &monolith.Subscription{Name: name, Channel: c.ID, Enabled: true, Recovery: true}); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.db.Close(); err != nil {
		t.Fatal(err)
	}
	word := func(d *monolith.Delivery) string { return paths[d.Channel] + " " + string(d.Kind) + " " + d.Key }
	acknowledged := map[string]int{} // what was kept as sent at a kill, and how often it had arrived by then
	run := func(more ...string) *exec.Cmd {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(append(os.Environ(), envTeller+"="+path, envTellerSince+"="+strconv.FormatInt(since.UnixMilli(), 10)), more...)
		cmd.Stderr = os.Stderr
		said, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// How long it takes to begin says how busy the machine is, and nothing about what is tested.
		if line, err := bufio.NewReader(said).ReadString('\n'); err != nil {
			t.Fatalf("it said %q and ended: %v", line, err)
		}
		return cmd
	}
	for range rounds {
		cmd := run()
		life := time.NewTimer(time.Duration(100+rand.IntN(500)) * time.Millisecond)
		<-life.C
		if err := cmd.Process.Kill(); err != nil {
			t.Fatalf("it ended before it was killed: %v", err)
		}
		_ = cmd.Wait() // it was killed
		until(t, "the receiver is done", func() bool { return m.active.Load() == 0 })
		list, _ := deliveriesOf(t, config)
		m.mu.Lock()
		for i := range list {
			if w := word(&list[i]); list[i].State == monolith.DeliverySent {
				if n, before := acknowledged[w]; before && m.got[w] != n {
					t.Errorf("%s arrived again after its acknowledgement", w)
				}
				acknowledged[w] = m.got[w]
			}
		}
		m.mu.Unlock()
	}
	if err := run(envTellerDrain + "=1").Wait(); err != nil {
		t.Fatalf("the last run: %v", err)
	}
	until(t, "the receiver is done", func() bool { return m.active.Load() == 0 })
	list, events := deliveriesOf(t, config)
	if len(events) < 2*rounds || len(list) != 2*len(events) {
		t.Errorf("%d events and %d messages", len(events), len(list))
	}
	again := 0
	for i := range list {
		w := word(&list[i])
		switch n := m.got[w]; {
		case list[i].State != monolith.DeliverySent || n == 0:
			t.Errorf("%s is %s (%s) and arrived %d times", w, list[i].State, list[i].Answer, n)
		case acknowledged[w] > 0 && n != acknowledged[w]:
			t.Errorf("%s arrived again after its acknowledgement", w)
		case n > 1:
			again++
		}
	}
	if len(m.early) > 0 {
		t.Errorf("%d recoveries came before their problems", len(m.early))
	}
	t.Logf("%d events, %d messages, %d arrived more than once because their acknowledgement was lost, %d were kept as sent at a kill", len(events), len(list), again, len(acknowledged))
}

// What happens is told on either store, once, by one of two who look into the outbox at the same time.
func TestTellingOnBothStores(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]func() store.Config{
		"sqlite":  func() store.Config { return store.Config{Path: filepath.Join(t.TempDir(), "monolith.db")} },
		"mariadb": func() store.Config { return store.Config{DSN: mysqltest.Shared(t).NewDatabase(t), Migrate: true} },
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			got := map[string]int{}
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var said struct{ Kind, Key string }
				if err := json.NewDecoder(r.Body).Decode(&said); err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				got[said.Kind+" "+said.Key]++
			}))
			defer srv.Close()
			c := config()
			c.KeyFile = filepath.Join(t.TempDir(), "key")
			ctx, stop := context.WithCancel(t.Context())
			x, err := newTeller(ctx, c, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			hook := monolith.Channel{Name: "hook", Kind: "webhook", Enabled: true, Config: map[string]string{"url": srv.URL}, Secrets: map[string]monolith.Secret{"key": "s3cret"}}
			if err := x.tell.PutChannel(ctx, &hook); err != nil {
				t.Fatal(err)
			}
			if err := x.tell.PutSubscription(ctx, &monolith.Subscription{Name: "all", Channel: hook.ID, Enabled: true, Recovery: true}); err != nil {
				t.Fatal(err)
			}
			var parts sync.WaitGroup
			parts.Go(func() { _ = x.db.Run(ctx) })
			parts.Go(func() { _ = x.tell.Run(ctx) })
			for range 40 {
				if err := x.happen(ctx); err != nil {
					t.Fatal(err)
				}
				if _, err := x.db.ClaimDeliveries(ctx, time.Now().Add(-time.Hour), "another", 10); err != nil {
					t.Fatal(err)
				}
			}
			until(t, "everything is sent", func() bool {
				list, err := x.db.Deliveries(ctx, monolith.DeliveryQuery{States: []monolith.DeliveryState{monolith.DeliverySent}, Limit: 5000})
				events, err2 := x.db.EventsAfter(ctx, 0, 1000)
				return err == nil && err2 == nil && len(events) >= 40 && len(list) == len(events)
			})
			mu.Lock()
			for what, n := range got {
				if n != 1 {
					t.Errorf("%s arrived %d times", what, n)
				}
			}
			mu.Unlock()
			kept, err := x.tell.Channel(ctx, hook.ID)
			if err != nil || kept.LastSent.IsZero() || kept.Failing != "" {
				t.Errorf("%+v %v", kept, err)
			}
			stop()
			parts.Wait()
			if err := x.db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// playTeller runs the process that is killed when the environment asks for it.
func playTeller() {
	if os.Getenv(envTeller) == "" {
		return
	}
	if err := tellUntilKilled(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

package poller

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"monolith"
)

// target is one watched server. One goroutine polls it; what only that goroutine uses needs no lock.
type target struct {
	p      *Poller
	id     monolith.ServerID
	cancel context.CancelFunc // ends its goroutine; set by start, under p.mu
	state  atomic.Pointer[monolith.State]
	wake   chan struct{} // holds at most one token: there may be work
	before *target       // the same server's target before it was paused or removed; nil: none
	ended  chan struct{} // closed when its goroutine has ended

	mu       sync.Mutex
	server   *monolith.Server // replaced as a whole, never written to
	plan     plan
	work     job  // what the next poll is for
	busy     bool // a poll is running
	skipped  uint64
	ticks    uint64
	slowdown slowdown
	reports  map[string]*monolith.CollectorStatus

	// Of the polling goroutine alone.
	poll pollState
}

// job is what the next poll is for.
type job struct {
	wanted bool
	at     time.Time       // its scheduled moment; zero: now
	due    map[string]bool // schedule names
	all    bool            // every collector, whatever its schedule
	// renewed says that the endpoint changed: connect anew. It travels with the server that has the new one, lest
	// a poll that began with the old one takes the old connection for the new.
	renewed bool
}

func newTarget(p *Poller, server *monolith.Server, plan plan) *target {
	s := *server
	return &target{
		p: p, id: server.ID, server: &s, plan: plan,
		wake:    make(chan struct{}, 1),
		ended:   make(chan struct{}),
		work:    job{wanted: true, all: true},
		reports: map[string]*monolith.CollectorStatus{},
		poll:    newPollState(),
	}
}

// change takes over what people changed. Only another way of reaching the server costs the connection.
func (t *target) change(server *monolith.Server, plan plan) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !plan.equal(t.plan) {
		t.slowdown = slowdown{} // judged anew for the new interval
	}
	t.plan = plan
	if reflect.DeepEqual(*server, *t.server) {
		return
	}
	collect := t.server.Endpoint != server.Endpoint || !slices.Equal(t.server.CollectorsOff, server.CollectorsOff) ||
		t.server.Host != server.Host || t.server.KeepTexts != server.KeepTexts || t.server.ScanSizes != server.ScanSizes
	t.work.renewed = t.work.renewed || t.server.Endpoint != server.Endpoint
	s := *server
	t.server = &s
	if collect {
		t.work.wanted, t.work.all = true, true
		t.signal()
	}
}

// signal wakes the polling goroutine.
func (t *target) signal() {
	select {
	case t.wake <- struct{}{}:
	default: // it is to wake up already
	}
}

// tick says that schedules of the server are due. A fast one that comes while the poll before is
// still running or waiting is skipped and counted: polls never queue up.
func (t *target) tick(names []string, at time.Time, interval time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fast := t.interval()
	for _, name := range names {
		if name != monolith.Fast {
			t.work.add(name)
			// The next fast poll takes it along, unless that one is rarer.
			if interval < fast && !t.busy && !t.work.wanted {
				t.work.wanted, t.work.at = true, at
			}
			continue
		}
		t.ticks++
		if f := t.slowdown.factor(); f > 1 && t.ticks%uint64(f) != 0 {
			continue
		}
		if t.busy || t.work.wanted {
			t.skipped++
			t.p.skipped.Add(1)
			continue
		}
		t.work.add(name)
		t.work.wanted, t.work.at = true, at
	}
	if t.work.wanted {
		t.signal()
	}
}

func (j *job) add(name string) {
	if j.due == nil {
		j.due = map[string]bool{}
	}
	j.due[name] = true
}

// askAll makes the next poll come at once and run everything.
func (t *target) askAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.work.wanted, t.work.all, t.work.at = true, true, time.Time{}
	t.signal()
}

// interval gives the distance of the fast schedule's polls in force. t.mu is held.
func (t *target) interval() time.Duration {
	return t.baseInterval() * time.Duration(t.slowdown.factor())
}

func (t *target) baseInterval() time.Duration {
	if d := shortestInterval(t.plan.schedules[monolith.Fast], time.Now()); d > 0 {
		return d
	}
	return 10 * time.Second
}

// take gives the work there is and marks the target as busy; ok is false when there is none.
func (t *target) take() (w job, server *monolith.Server, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.work.wanted {
		return job{}, nil, false
	}
	w, t.work = t.work, job{}
	t.busy = true
	return w, t.server, true
}

func (t *target) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy = false
}

// run polls the server until ctx ends.
func (t *target) run(ctx context.Context) {
	defer close(t.ended)
	defer t.stop()
	if t.before != nil {
		// Its last poll may still be running: there is one poll in flight a server, and what it
		// counted is not in history yet.
		<-t.before.ended
		t.poll.seq, t.poll.run = t.before.poll.seq, t.before.poll.run
		t.before = nil
	}
	if !t.resume(ctx) {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		}
		for {
			w, server, ok := t.take()
			if !ok {
				break
			}
			t.once(ctx, w, server)
			t.release()
			if ctx.Err() != nil {
				return
			}
		}
	}
}

// once runs one poll when there is room for it among the others.
func (t *target) once(ctx context.Context, w job, server *monolith.Server) {
	select {
	case t.p.slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	t.p.inFlight.Add(1)
	var snap *monolith.Snapshot
	panicked := t.p.guard("poll of server "+server.Name, func() { snap = t.p.run(t, ctx, w, server) })
	t.p.inFlight.Add(-1)
	<-t.p.slots
	if panicked || snap == nil || ctx.Err() != nil && !snap.Polled {
		return
	}
	t.p.polls.Add(1)
	if !snap.Polled {
		t.p.failed.Add(1)
	}
	t.state.Store(t.state.Load().With(snap))
	t.p.hand(ctx, snap)
}

// resume waits until history says where it stands: a seq given twice would overwrite what is there.
func (t *target) resume(ctx context.Context) bool {
	t.signal()
	if t.p.cfg.Resume == nil {
		return true
	}
	wait := time.Second
	for {
		seq, run, err := t.p.cfg.Resume(ctx, t.id)
		if err == nil {
			t.poll.seq, t.poll.run = max(t.poll.seq, seq), max(t.poll.run, run)
			break
		}
		if ctx.Err() != nil {
			return false
		}
		t.p.log.Error("poller: history does not say where it stands, the server is not polled yet",
			"server", t.name(), "error", err, "again in", wait)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(wait):
		}
		wait = min(2*wait, 30*time.Second)
	}
	if t.p.cfg.LastState == nil {
		return true
	}
	last, err := t.p.cfg.LastState(ctx, t.id)
	if err != nil {
		t.p.log.Warn("poller: the last state can't be read", "server", t.name(), "error", err)
		return true
	}
	if last != nil {
		t.state.Store(last)
		t.poll.remember(last)
	}
	return true
}

// stop ends what the goroutine left open.
func (t *target) stop() {
	t.poll.long.stop()
	t.abandonOpening()
	if t.poll.session != nil {
		t.poll.session.close()
	}
	// All that a target of the same server will need.
	t.poll = pollState{seq: t.poll.seq, run: t.poll.run}
}

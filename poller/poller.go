package poller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"monolith"
)

// Config is what a [Poller] is made of.
type Config struct {
	// Collectors are run in this order; see [Collectors]. There must be one named "status": it comes
	// first whatever its place, and makes a poll a poll.
	Collectors []*Collector
	// Handle gets every snapshot, in this order and from one goroutine a server: history, live push …
	// A handler that panics is logged and the next one still runs.
	Handle []func(context.Context, *monolith.Snapshot)
	// Resume gives the highest seq and run that history holds of a server, 0 and 0 when it holds none.
	// Until it answers, the server is not polled: a seq must never be given twice. nil: start at 0.
	Resume func(ctx context.Context, id monolith.ServerID) (seq uint64, run uint32, err error)
	// LastState gives what was known of a server when Monolith stopped, or nil: pages are full at once
	// and a restart of the server meanwhile is noticed. May be nil.
	LastState func(ctx context.Context, id monolith.ServerID) (*monolith.State, error)
	// Log gets what changes (a server went down, came back, restarted), not every poll. nil: none.
	Log *slog.Logger
	// MaxParallel is how many polls may be in flight at the same time over all servers; 0 means 512.
	MaxParallel int
	// Version is told to servers as the connection attribute program_version.
	Version string

	rightsShare time.Duration // in place of the constant, for tests; 0: that
}

// Poller polls servers on their schedules. Its methods may be called from any goroutine.
type Poller struct {
	cfg        Config
	collectors []*Collector
	log        *slog.Logger
	slots      chan struct{}
	planner    *planner
	run        func(*target, context.Context, job, *monolith.Server) *monolith.Snapshot // one poll
	names      coreNames

	mu      sync.Mutex
	running context.Context // of Run while it runs, else nil
	targets map[monolith.ServerID]*target
	gone    map[monolith.ServerID]*target // those that were paused or removed since Run began
	groups  []monolith.Group
	wg      sync.WaitGroup // every target's goroutines

	inFlight   atomic.Int64
	polls      atomic.Uint64
	failed     atomic.Uint64
	skipped    atomic.Uint64
	panics     atomic.Uint64
	connects   atomic.Uint64
	statements atomic.Uint64
	bytes      atomic.Uint64
}

// New makes a poller. It polls nothing before [Poller.Run].
func New(cfg Config) (*Poller, error) {
	seen := map[string]bool{}
	for _, c := range cfg.Collectors {
		if c.Schedule == "" {
			c.Schedule = monolith.CollectorSchedule(c.Name)
		}
		switch {
		case c.Name == "" || seen[c.Name]:
			return nil, fmt.Errorf("poller: new: collector %q is unnamed or given twice", c.Name)
		case !slices.Contains(monolith.ScheduleNames, c.Schedule):
			return nil, fmt.Errorf("poller: new: collector %s: unknown schedule %q", c.Name, c.Schedule)
		case c.Collect == nil:
			return nil, fmt.Errorf("poller: new: collector %s does nothing", c.Name)
		}
		seen[c.Name] = true
	}
	if !seen[statusName] {
		return nil, errors.New("poller: new: there is no collector named status")
	}
	if cfg.MaxParallel <= 0 {
		cfg.MaxParallel = 512
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	p := &Poller{
		cfg: cfg, log: cfg.Log, run: (*target).runPoll,
		collectors: slices.Clone(cfg.Collectors),
		slots:      make(chan struct{}, cfg.MaxParallel),
		targets:    map[monolith.ServerID]*target{},
		gone:       map[monolith.ServerID]*target{},
	}
	slices.SortStableFunc(p.collectors, func(a, b *Collector) int {
		return boolInt(b.Name == statusName) - boolInt(a.Name == statusName)
	})
	p.planner = newPlanner(p.log)
	p.names = newCoreNames()
	return p, nil
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Run polls until ctx ends and returns after every poll has ended and every connection is closed. It
// may be called once.
func (p *Poller) Run(ctx context.Context) error {
	p.mu.Lock()
	if p.running != nil {
		p.mu.Unlock()
		return errors.New("poller: run: it runs already")
	}
	p.running = ctx
	for _, t := range p.targets {
		p.start(t)
	}
	p.mu.Unlock()

	p.planner.run(ctx)

	p.mu.Lock()
	for _, t := range p.targets {
		t.cancel()
	}
	p.mu.Unlock()
	p.wg.Wait()
	return nil
}

// start begins polling a target. p.mu is held and Run runs.
func (p *Poller) start(t *target) {
	ctx, cancel := context.WithCancel(p.running)
	t.cancel = cancel
	p.wg.Go(func() { t.run(ctx) })
}

// Apply makes the poller watch exactly these servers: new ones are polled at once with every
// collector, those that are reached differently are connected anew, removed and paused ones are
// stopped. A new name or position reconnects nothing. Applying the same twice changes nothing.
func (p *Poller) Apply(servers []monolith.Server, groups []monolith.Group) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.groups = slices.Clone(groups)
	wanted := map[monolith.ServerID]bool{}
	for i := range servers {
		s := &servers[i]
		if s.Paused {
			continue
		}
		wanted[s.ID] = true
		plan := planFor(s, groups)
		if t := p.targets[s.ID]; t != nil {
			t.change(s, plan)
			p.planner.set(t, plan)
			continue
		}
		t := newTarget(p, s, plan)
		t.before = p.gone[s.ID]
		delete(p.gone, s.ID)
		p.targets[s.ID] = t
		p.planner.set(t, plan)
		if p.running != nil {
			p.start(t)
		}
	}
	for id, t := range p.targets {
		if wanted[id] {
			continue
		}
		delete(p.targets, id)
		p.planner.remove(id)
		if t.cancel != nil {
			t.cancel()
			p.gone[id] = t
		}
	}
}

func (p *Poller) target(id monolith.ServerID) *target {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.targets[id]
}

// State gives what is known of a server now, or nil when it is not polled or nothing is known yet.
// Its age is that of State.At and State.Polled.
func (p *Poller) State(id monolith.ServerID) *monolith.State {
	if t := p.target(id); t != nil {
		return t.state.Load()
	}
	return nil
}

// PollNow polls a server at once with every collector that is on, after the poll that may be running.
// It does not wait for the result. The error is a [monolith.ErrNotFound] for a server that is not polled.
func (p *Poller) PollNow(id monolith.ServerID) error {
	t := p.target(id)
	if t == nil {
		return fmt.Errorf("poller: poll now: server %d is paused or does not exist: %w", id, monolith.ErrNotFound)
	}
	t.askAll()
	return nil
}

// Stats gives the poller's own figures.
func (p *Poller) Stats() monolith.Statistics {
	p.mu.Lock()
	servers := len(p.targets)
	p.mu.Unlock()
	return monolith.Statistics{
		Servers: servers, InFlight: int(p.inFlight.Load()),
		Polls: p.polls.Load(), Failed: p.failed.Load(), Skipped: p.skipped.Load(), Panics: p.panics.Load(),
		Connects: p.connects.Load(), Statements: p.statements.Load(), Bytes: p.bytes.Load(),
	}
}

// hand gives a snapshot to every handler, in order.
func (p *Poller) hand(ctx context.Context, snap *monolith.Snapshot) {
	for _, h := range p.cfg.Handle {
		p.guard("handler", func() { h(ctx, snap) })
	}
}

// guard runs f and turns a panic into a log line; it reports whether there was one. One server's
// strange answer must not end the watch over all others.
func (p *Poller) guard(what string, f func()) (panicked bool) {
	defer func() {
		if r := recover(); r != nil {
			panicked = true
			p.panics.Add(1)
			p.log.Error("poller: panic", "in", what, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
		}
	}()
	f()
	return false
}

// statusName is the collector whose answer makes a poll a poll, and replicationName the other one
// that runs at every tick however short the interval is. originsName is run when what variablesName reads changed.
const (
	statusName      = "status"
	replicationName = "replication"
	variablesName   = "variables"
	originsName     = "origins"
)

// calmInterval is how often the other collectors of the fast schedule run when its interval is shorter.
const calmInterval = 10 * time.Second

package alerts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"monolith"
	"monolith/formula"
)

// ServiceConfig is what a [Service] is made of.
type ServiceConfig struct {
	Store Store
	// History gives values over long windows, and back-tests. nil: long windows learn for ever.
	History formula.Source
	// State gives what is known of a server now: after a snapshot was handed to Handle, the state after it.
	State func(monolith.ServerID) *monolith.State
	// Every gives how often a metric is read on a server, 0 where that is not known. nil: as schedules are by default.
	Every func(server monolith.ServerID, metric string) time.Duration
	// Plan adds to a batch the deliveries that tell people of its events, before it is written. May be nil.
	Plan func(ctx context.Context, b *Batch)
	// Told is called after a batch was written, with its events. May be nil.
	Told func(ctx context.Context, events []monolith.AlertEvent)
	// Known reports whether a metric's name was seen on a watched server, for users' rules. May be nil.
	Known func(name string) bool
	Now   func() time.Time // nil: time.Now
	Log   *slog.Logger     // nil: none
}

// Service joins the engine with store and history. It is a handler of the poller, and what pages and the API use. Its
// methods may be called from any goroutine.
type Service struct {
	cfg     ServiceConfig
	log     *slog.Logger
	now     func() time.Time
	engine  *Engine
	builtin *Catalogue

	// changing orders what people change of rules, settings and quiet times: what is checked is what is kept.
	changing baton

	// writing orders batches: what happened first is written first. The store keeps what it can't write yet; what it does
	// not even take, since it has no room left for it, waits here.
	writing baton
	waiting []*waiting

	mu       sync.Mutex
	servers  map[monolith.ServerID]*monolith.Server
	open     map[monolith.AlertKey]*monolith.Alert
	settings []monolith.RuleSetting
	silences []monolith.Silence
	windows  []monolith.MaintenanceWindow
	own      []monolith.OwnRule
	saved    map[monolith.ServerID]time.Time // when a server's memory was last written
	longRead map[monolith.ServerID]time.Time
	network  bool
	faded    map[monolith.AlertID]fade
	checked  time.Time // of the fleet
}

// waiting is a batch with the alerts in memory that its copies stand for.
type waiting struct {
	batch  *Batch
	alerts []*monolith.Alert
}

// maxWaiting is how many batches wait whole; of more the oldest ones' deliveries and memory are given up, their alerts and
// events are not.
const maxWaiting = 10000

// NewService makes a service. [Service.Load] must be called before it gets snapshots.
func NewService(cfg ServiceConfig) (*Service, error) {
	cat, err := bare()
	if err != nil {
		return nil, fmt.Errorf("alerts: built-in rules: %w", err)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	engine := NewEngine(cat)
	engine.SetEvery(cfg.Every)
	return &Service{cfg: cfg, log: cfg.Log, now: cfg.Now, engine: engine, builtin: cat, changing: newBaton(), writing: newBaton(),
		servers: map[monolith.ServerID]*monolith.Server{}, open: map[monolith.AlertKey]*monolith.Alert{},
		saved: map[monolith.ServerID]time.Time{}, longRead: map[monolith.ServerID]time.Time{}, faded: map[monolith.AlertID]fade{}}, nil
}

// Engine gives the engine.
func (s *Service) Engine() *Engine { return s.engine }

// Load reads everything that the store keeps: rules, settings, quiet times, open alerts and the engine's memory.
func (s *Service) Load(ctx context.Context) error {
	own, err := s.cfg.Store.OwnRules(ctx)
	if err != nil {
		return fmt.Errorf("alerts: load rules: %w", err)
	}
	settings, err := s.cfg.Store.RuleSettings(ctx)
	if err != nil {
		return fmt.Errorf("alerts: load settings: %w", err)
	}
	silences, err := s.cfg.Store.Silences(ctx, s.now())
	if err != nil {
		return fmt.Errorf("alerts: load silences: %w", err)
	}
	windows, err := s.cfg.Store.MaintenanceWindows(ctx)
	if err != nil {
		return fmt.Errorf("alerts: load maintenance windows: %w", err)
	}
	open, err := s.cfg.Store.OpenAlerts(ctx)
	if err != nil {
		return fmt.Errorf("alerts: load open alerts: %w", err)
	}
	states, err := s.cfg.Store.EngineStates(ctx)
	if err != nil {
		return fmt.Errorf("alerts: load states: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own, s.settings, s.silences, s.windows = own, settings, silences, windows
	s.putRules()
	s.engine.SetSettings(settings)
	s.engine.SetMaintenance(windows)
	for id, blob := range states {
		if id == 0 {
			continue
		}
		if err := s.engine.Restore(id, blob); err != nil {
			s.log.Warn("the saved state of a server's rules is not usable: its windows begin anew", "server_id", int64(id), "error", err)
		}
		s.saved[id] = s.now()
	}
	for i := range open {
		a := &open[i]
		s.open[a.AlertKey] = a
		if a.Server != 0 {
			s.engine.Adopt(a)
		} else if a.Rule == RuleNetwork {
			s.network = true
		}
	}
	s.loadFades(s.now())
	return nil
}

// putRules puts the built-in rules and the users' in force. s.mu is held.
func (s *Service) putRules() {
	cat, wrong := s.builtin.With(s.own, s.cfg.Known)
	for id, err := range wrong {
		s.log.Error("a user's rule can't be used; the others go on", "rule", id, "error", err)
	}
	s.engine.SetCatalogue(cat)
}

// SetServers tells which servers are watched. Alerts of those that are gone or paused are closed.
func (s *Service) SetServers(ctx context.Context, servers []monolith.Server, groups []monolith.Group) {
	s.engine.SetGroups(groups)
	s.mu.Lock()
	next := map[monolith.ServerID]*monolith.Server{}
	for i := range servers {
		copied := servers[i]
		if old := s.servers[copied.ID]; old != nil && old.Updated.Equal(copied.Updated) && old.Group == copied.Group {
			next[copied.ID] = old
		} else {
			next[copied.ID] = &copied
		}
	}
	known := map[monolith.ServerID]bool{}
	for id := range s.servers {
		known[id] = true
	}
	for key := range s.open {
		known[key.Server] = true
	}
	s.servers = next
	for _, a := range s.open {
		if srv := next[a.Server]; srv != nil {
			a.ServerName, a.Group = srv.Name, srv.Group
		}
	}
	s.mu.Unlock()
	now := s.now()
	for _, id := range slices.Sorted(maps.Keys(known)) {
		if id != 0 && (next[id] == nil || next[id].Paused) {
			s.apply(ctx, id, s.engine.Forget(id, now), now)
			s.closeAll(ctx, id, next[id] != nil, now)
		}
	}
}

// closeAll closes what is still open about a server that is not watched any more.
func (s *Service) closeAll(ctx context.Context, id monolith.ServerID, paused bool, at time.Time) {
	reason, text := monolith.ClosedRemoved, "the server was removed"
	if paused {
		reason, text = monolith.ClosedDisabled, "the server is paused"
	}
	s.mu.Lock()
	var ts []Transition
	for key, a := range s.open {
		if key.Server == id {
			ts = append(ts, Transition{Key: key, At: at, Kind: monolith.EventClosed, From: a.Level, Reason: reason, Text: text})
		}
	}
	s.mu.Unlock()
	s.apply(ctx, id, ts, at)
}

// Handle judges a server by a poll. It is a handler of the poller.
func (s *Service) Handle(ctx context.Context, snap *monolith.Snapshot) {
	s.mu.Lock()
	server := s.servers[snap.Server]
	s.mu.Unlock()
	if server == nil || server.Paused {
		return
	}
	state := s.cfg.State(snap.Server)
	if state == nil {
		return
	}
	ts := s.engine.Observe(server, state, snap)
	s.mu.Lock()
	watched := s.isWatched(snap.Server)
	s.mu.Unlock()
	if !watched { // paused or removed meanwhile
		s.engine.Forget(snap.Server, snap.At)
		return
	}
	s.fleet(ctx, s.now()) // not the poll's own moment: one that hung began long before those that are handed in with it
	s.apply(ctx, snap.Server, ts, snap.At)
}

// isWatched reports whether a server is judged now; 0 is Monolith itself. s.mu is held.
func (s *Service) isWatched(id monolith.ServerID) bool {
	server := s.servers[id]
	return id == 0 || server != nil && !server.Paused
}

// apply writes what happened to alerts of a server.
func (s *Service) apply(ctx context.Context, id monolith.ServerID, ts []Transition, at time.Time) {
	if len(ts) == 0 {
		return
	}
	s.writing.wait()
	defer s.writing.give()
	b := s.build(ts, at)
	b.saves(id)
	s.commit(ctx, b)
	s.reparent(ctx, at)
}

// build makes the batch of transitions. A panic in it is caught by the poller: it must not keep the lock from all others.
func (s *Service) build(ts []Transition, at time.Time) *builder {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := newBuilder(s, at)
	for i := range ts {
		b.take(&ts[i])
	}
	return b
}

// commit plans what is told of a batch and writes it behind those that wait. s.writing is held.
func (s *Service) commit(ctx context.Context, b *builder) {
	if w := s.planned(ctx, b); !w.batch.Empty() {
		s.waiting = append(s.waiting, w)
	}
	s.flush(ctx)
}

// planned adds to a batch what is told of it. s.writing is held.
func (s *Service) planned(ctx context.Context, b *builder) *waiting {
	if s.cfg.Plan != nil && len(b.batch.Events) > 0 {
		s.cfg.Plan(ctx, b.batch)
	}
	return &waiting{b.batch, b.alerts}
}

// flush writes the batches that wait, in order, until the store takes no more; then it gives [monolith.ErrUnavailable]. What
// the store never takes is given up: the rest must not wait for it. s.writing is held.
func (s *Service) flush(ctx context.Context) error {
	for len(s.waiting) > 0 {
		err := s.write(ctx, s.waiting[0])
		if errors.Is(err, monolith.ErrUnavailable) || err != nil && ctx.Err() != nil {
			s.log.Error("alerts could not be written; they wait", "waiting", len(s.waiting), "error", err)
			for _, old := range s.waiting[:max(0, len(s.waiting)-maxWaiting)] {
				old.batch.Deliveries, old.batch.States = nil, nil
			}
			return fmt.Errorf("alerts: %d batches wait: %w: %w", len(s.waiting), monolith.ErrUnavailable, err)
		}
		if err != nil {
			s.log.Error("alerts are given up: the store does not take them", "error", err)
		}
		s.waiting = s.waiting[1:]
	}
	return nil
}

// write hands a batch to the store and takes over the ids that it gives. s.writing is held.
func (s *Service) write(ctx context.Context, w *waiting) error {
	s.identify(w)
	if err := s.cfg.Store.Commit(ctx, w.batch); err != nil {
		return err
	}
	s.identified(w)
	if s.cfg.Told != nil && len(w.batch.Events) > 0 {
		events := make([]monolith.AlertEvent, len(w.batch.Events))
		for i, e := range w.batch.Events {
			events[i] = e.AlertEvent
		}
		s.cfg.Told(ctx, events)
	}
	return nil
}

// identify gives the alerts of a batch the ids that they got since it was made.
func (s *Service) identify(w *waiting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range w.batch.Alerts {
		a.ID = cmp.Or(a.ID, w.alerts[i].ID)
		a.Parent = cmp.Or(a.Parent, w.alerts[i].Parent)
	}
}

// identified gives the alerts in memory the ids that the store gave.
func (s *Service) identified(w *waiting) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range w.batch.Alerts {
		w.alerts[i].ID = a.ID
	}
	for id := range w.batch.States {
		s.saved[id] = w.batch.At
	}
}

// fleet looks over all servers, at most every few seconds: did the monitor lose most of them at once?
func (s *Service) fleet(ctx context.Context, at time.Time) {
	s.mu.Lock()
	if !s.checked.IsZero() && at.Sub(s.checked).Abs() < 5*time.Second {
		s.mu.Unlock()
		return
	}
	s.checked = at
	s.mu.Unlock()
	since, polled := s.engine.Gone()
	s.mu.Lock()
	var all []FleetServer
	for id, srv := range s.servers {
		if !srv.Paused {
			all = append(all, FleetServer{ID: id, Name: srv.Name, Gone: since[id], Unheard: !polled[id]})
		}
	}
	was := s.network
	gone, lost := NetworkGone(all, at, was)
	s.network = lost
	s.mu.Unlock()
	key := monolith.AlertKey{Rule: RuleNetwork}
	switch {
	case lost && !was:
		a := networkAlert(gone, len(all), at)
		s.apply(ctx, 0, []Transition{{Key: key, At: at, Kind: monolith.EventOpened, To: a.Level, Alert: a, Text: a.Summary}}, at)
	case was && !lost:
		s.apply(ctx, 0, []Transition{{Key: key, At: at, Kind: monolith.EventClosed, From: monolith.LevelCritical, Reason: monolith.ClosedCleared, Text: "most servers can be reached again"}}, at)
	}
}

// Flush writes what waits for the store, and the memory of all servers. Call it before the end. While others wait for a store
// that hangs it gives [monolith.ErrUnavailable] when ctx ends: the end must not wait for ever.
func (s *Service) Flush(ctx context.Context) error {
	if err := s.writing.take(ctx); err != nil {
		return err
	}
	defer s.writing.give()
	s.mu.Lock()
	ids := slices.Sorted(maps.Keys(s.servers))
	s.mu.Unlock()
	b := newBuilder(s, s.now())
	for _, id := range ids {
		b.saves(id)
	}
	s.commit(ctx, b)
	return s.flush(ctx) // with nothing left it does nothing
}

package alerts

import (
	"maps"
	"slices"
	"sync"
	"time"

	"monolith"
	"monolith/formula"
)

// Engine judges servers by the rules of a catalogue. It is pure: the time is the snapshot's, and it touches no clock,
// store, network or logger. Its methods may be called from any goroutine; servers are judged side by side.
type Engine struct {
	mu       sync.RWMutex
	cat      *Catalogue
	settings *settings
	rev      int // of catalogue, settings and groups
	windows  []monolith.MaintenanceWindow
	every    func(server monolith.ServerID, metric string) time.Duration
	groups   map[string]monolith.Group
	servers  map[monolith.ServerID]*serverState

	evaluators sync.Pool
	packers    sync.Pool // of *flate.Writer, which take a megabyte each

	peerMu sync.RWMutex
	peers  map[monolith.ServerID]peer
}

// NewEngine makes an engine. It knows no server.
func NewEngine(cat *Catalogue) *Engine {
	e := &Engine{cat: cat, rev: 1, servers: map[monolith.ServerID]*serverState{}, peers: map[monolith.ServerID]peer{}}
	e.evaluators.New = func() any { return new(evaluator) }
	return e
}

// SetCatalogue puts other rules in force. States of rules with the same id go on; alerts of rules that are gone close
// at the next poll of their server.
func (e *Engine) SetCatalogue(cat *Catalogue) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cat, e.rev = cat, e.rev+1
}

// SetSettings puts limits and switches in force, from each server's next poll on.
func (e *Engine) SetSettings(list []monolith.RuleSetting) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.settings, e.rev = newSettings(list), e.rev+1
}

// SetGroups tells the groups, which give their servers an environment.
func (e *Engine) SetGroups(groups []monolith.Group) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.groups = map[string]monolith.Group{}
	for _, g := range groups {
		e.groups[g.Path] = g
	}
	e.rev++
}

// SetEvery tells what knows how often each metric is read on a server, so that a reading is not taken for an old one where
// schedules are longer than the default. 0 is not known.
func (e *Engine) SetEvery(every func(server monolith.ServerID, metric string) time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.every, e.rev = every, e.rev+1
}

// SetMaintenance tells the maintenance windows, which some rules ask for.
func (e *Engine) SetMaintenance(windows []monolith.MaintenanceWindow) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.windows = slices.Clone(windows)
}

// Catalogue gives the rules in force.
func (e *Engine) Catalogue() *Catalogue {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.cat
}

// serverState is what the engine knows of one server.
type serverState struct {
	mu  sync.Mutex
	id  monolith.ServerID
	cat *Catalogue
	rev int

	server      *monolith.Server
	state       *monolith.State
	environment string
	interval    time.Duration // of the fast schedule in force
	effective   []*effective  // by rule
	schedules   []time.Duration

	slots    []*sectionSlot
	notGiven []bool       // lists that their collector did not give when it ran last, by row set
	names    []namePlaces // by name of the catalogue
	rings    map[ringKey]*ring
	changes  map[monolith.Metric]*change
	long     map[LongKey]formula.Scalar

	states states
	mark   uint32     // of the last evaluation: an instance that does not bear it was not there
	swept  *Catalogue // for which states of removed rules were closed
	slow   int64      // minute of the last evaluation of the slow rules

	first        time.Time // poll that read the status, in this process
	unread       time.Time // since when the status can't be read; zero: it can
	restarted    time.Time // last restart of the database server that was seen
	uptime       time.Duration
	uptimeBefore time.Duration // before the last restart
	version      string
	restarts     []time.Time        // seen in the last hour
	downFor      time.Duration      // before the last restart: since the last good poll
	polled       time.Time          // last poll that read the status
	last         time.Time          // last poll
	watched      time.Time          // since when it is polled without a longer pause
	gtids        [2]*monolith.GTIDs // the newest reading and the one before it
	varChanges   []variableChange
	cnf          []cnfDifference               // what the option files say otherwise; nil: nothing reads them
	given        map[givenField]formula.Scalar // by tests
	incomplete   incomplete
	restored     map[string]bool // names seen before Monolith's own restart
}

// server gives a server's state, made at the first call.
func (e *Engine) server(id monolith.ServerID) *serverState {
	e.mu.RLock()
	s := e.servers[id]
	e.mu.RUnlock()
	if s != nil {
		return s
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if s = e.servers[id]; s == nil {
		s = &serverState{id: id, rings: map[ringKey]*ring{}, changes: map[monolith.Metric]*change{}}
		e.servers[id] = s
	}
	return s
}

// catchUp adopts a new catalogue, new settings, or another setting-up of the server.
func (s *serverState) catchUp(e *Engine, server *monolith.Server) {
	e.mu.RLock()
	cat, rev, set, every := e.cat, e.rev, e.settings, e.every
	group := e.groups[server.Group]
	e.mu.RUnlock()
	if s.rev == rev && s.server == server {
		return
	}
	moved := s.server == nil || s.server.Group != server.Group
	s.server = server
	s.environment = server.Environment
	if s.environment == "" {
		s.environment = group.Environment
	}
	if s.cat != cat {
		s.adopt(cat)
	}
	s.schedules = s.schedules[:0]
	for _, name := range cat.names {
		s.schedules = append(s.schedules, s.scheduleOf(name, every))
	}
	for _, slot := range s.slots {
		for i := range slot.feeds {
			slot.feeds[i].interval = s.intervalOf(slot.feeds[i].name)
		}
	}
	if s.rev != rev || moved {
		s.effective = make([]*effective, len(cat.rules))
		for i, r := range cat.rules {
			s.effective[i] = set.effective(r, s.id, server.Group)
		}
	}
	s.rev = rev
}

// adopt goes over to another catalogue: rings of the same metric, aggregate and length of bucket go on.
func (s *serverState) adopt(cat *Catalogue) {
	old, oldRings := s.cat, s.rings
	s.cat, s.rings = cat, map[ringKey]*ring{}
	if old != nil {
		for k, r := range oldRings {
			was := old.rings[k.spec]
			for i, spec := range cat.rings {
				if spec.name == was.name && spec.agg == was.agg && spec.bucket == was.bucket {
					s.rings[ringKey{i, k.instance}] = r.resized(spec.length)
				}
			}
		}
	}
	seen := s.restored
	if old != nil {
		seen = map[string]bool{}
		for i, n := range s.names {
			if n.seen {
				seen[old.names[i]] = true
			}
		}
	}
	s.names = make([]namePlaces, len(cat.names))
	for i, name := range cat.names {
		s.names[i].seen = seen[name]
	}
	for _, slot := range s.slots {
		if slot.now != nil {
			s.layOut(slot)
		}
	}
}

// resized gives the ring with another number of buckets.
func (r *ring) resized(length int) *ring {
	if length == len(r.sum) {
		return r
	}
	n := &ring{agg: r.agg, bucket: r.bucket, newest: r.newest, sum: make([]float64, length), secs: make([]float32, length)}
	for k := r.newest; k > 0 && k > r.newest-int64(min(length, len(r.sum))); k-- {
		n.sum[n.slot(k)], n.secs[n.slot(k)] = r.sum[r.slot(k)], r.secs[r.slot(k)]
	}
	return n
}

// Observe takes in a poll and judges the server: rules marked every: poll each time, the others once a minute, at a
// second that differs from server to server. state is the one after the snapshot. The transitions are those of alerts,
// in the order of the rules. Neither argument may be changed afterwards.
func (e *Engine) Observe(server *monolith.Server, state *monolith.State, snap *monolith.Snapshot) []Transition {
	s := e.server(server.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state = state
	s.catchUp(e, server)
	s.notice(snap)
	s.ingest(snap)
	ev := e.evaluators.Get().(*evaluator)
	defer e.evaluators.Put(ev)
	ev.reset(s, snap.At)
	ev.engine = e
	minute := (snap.At.Unix() + 60 - int64(spread(server.ID))) / 60
	slow := minute != s.slow || snap.Interval >= time.Minute
	if slow {
		s.slow = minute
	}
	s.mark++
	if slow {
		e.publish(ev)
	}
	out := ev.run(slow)
	if s.swept != s.cat {
		out, s.swept = s.sweep(snap.At, out), s.cat
	}
	return out
}

// spread gives a server's second of the minute at which its slow rules are judged.
func spread(id monolith.ServerID) uint64 {
	h := uint64(id) + 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return (h ^ h>>31) % 60
}

// notice keeps what facts tell of the poll itself: restarts, and since when the server can't be read.
func (s *serverState) notice(snap *monolith.Snapshot) {
	s.interval = snap.Interval
	if snap.At.Before(s.last) {
		s.setBack(snap.At)
	}
	if pause := snap.At.Sub(s.last); s.last.IsZero() || pause > monolith.MaxGap*max(snap.Interval, time.Minute)+time.Minute/2 {
		s.watched = snap.At
	}
	s.last = snap.At
	if !snap.Polled {
		if s.unread.IsZero() {
			s.unread = snap.At
		}
		return
	}
	s.unread = time.Time{}
	if s.first.IsZero() {
		s.first = snap.At
	}
	up := s.uptime
	if n, _, ok := s.state.Value(monolith.Metric{Name: "status.Uptime"}); ok {
		s.uptime = time.Duration(n.Float64()) * time.Second
	}
	if snap.Restart {
		s.restarted, s.uptimeBefore = snap.At, up
		s.restarts = append(s.restarts, snap.At)
		if !s.polled.IsZero() {
			s.downFor = snap.At.Sub(s.polled)
		}
	}
	s.restarts = slices.DeleteFunc(s.restarts, func(t time.Time) bool { return snap.At.Sub(t) >= time.Hour })
	s.polled = snap.At
	// Another version has other names: what was there before may be gone by design.
	if v := s.state.Identity.String() + s.state.Identity.VersionText; v != s.version {
		if s.version != "" {
			for i := range s.names {
				s.names[i].seen = false
			}
		}
		s.version = v
	}
}

// LongKey names a value over a long window: a formula of [Catalogue.LongInputs], and of which instance it is.
type LongKey struct {
	Formula  string
	Instance string
}

// SetLong hands in values over long windows. They are in force until the next call.
func (e *Engine) SetLong(id monolith.ServerID, values map[LongKey]formula.Scalar) {
	s := e.server(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.long = maps.Clone(values)
}

// Forget drops a server and gives what closed with it.
func (e *Engine) Forget(id monolith.ServerID, at time.Time) []Transition {
	e.mu.Lock()
	s := e.servers[id]
	delete(e.servers, id)
	e.mu.Unlock()
	e.peerMu.Lock()
	delete(e.peers, id)
	e.peerMu.Unlock()
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Transition
	for _, st := range s.states {
		if st.level > monolith.LevelOK {
			out = append(out, Transition{Key: s.key(st.key), At: at, Kind: monolith.EventClosed, From: st.level, Reason: monolith.ClosedRemoved})
		}
	}
	return out
}

func (s *serverState) key(k stateKey) monolith.AlertKey {
	return monolith.AlertKey{Server: s.id, Rule: k.rule, Instance: k.instance}
}

package poller

import (
	"context"
	"errors"
	"time"

	"monolith"
)

// pollState is what a target's polling goroutine keeps from poll to poll.
type pollState struct {
	seq uint64
	run uint32

	session    *session
	opening    *opening // a connection that is being made
	orphans    []uint64 // threads of ours that may still run at the server
	connecting backoff
	lastFail   *monolith.Problem // of the connection, repeated while it backs off
	lastUp     bool

	identity   monolith.Identity
	thread     uint64 // our newest connection\'s id
	idsFell    bool   // it is lower than the one before: the server counts from 1 again
	uptime     monolith.Num
	uptimeAt   time.Time // when uptime was read
	taken      time.Time // of the last status statement, with its monotonic clock
	clockGap   time.Duration
	clockAt    time.Time // when it was measured
	variables  *Variables
	memories   map[string]*memory
	backoffs   map[string]*backoff
	started    map[string]time.Time // last start of a collector
	due        map[string]bool      // collectors that wait for their run
	denied     map[string]bool      // collectors that lacked a right at their last run
	denial     bool                 // one of them had it before: the account's rights are looked at again
	rightsAt   time.Time            // when they were looked at last
	rightsTook time.Duration
	load       *load
	long       longRuns
	heldUp     int                        // polls in a row that a long collector's statement held up
	stuck      map[string]<-chan struct{} // host collectors that do not come back; closed when they do
	down       bool                       // the last poll failed; for the log
	first      bool
	reached    bool      // the endpoint was logged in to before
	stale      bool      // variables changed since their origins were read
	originsAt  time.Time // when a change last had them read
}

func newPollState() pollState {
	return pollState{
		memories: map[string]*memory{}, backoffs: map[string]*backoff{}, started: map[string]time.Time{},
		due: map[string]bool{}, denied: map[string]bool{}, stuck: map[string]<-chan struct{}{}, load: newLoad(), first: true, lastUp: true,
	}
}

// remember takes over what was known before Monolith stopped, so that a restart of the server
// meanwhile, or another server behind the address, begins a new run.
func (ps *pollState) remember(last *monolith.State) {
	ps.identity = last.Identity
	ps.seq = max(ps.seq, last.Seq)
	if n, at, ok := last.Value(monolith.Metric{Name: "status.Uptime"}); ok {
		ps.uptime, ps.uptimeAt = n, at
	}
}

// isStopped reports whether a context ended since the poller stops, which is no problem of the server.
func isStopped(ctx context.Context) bool { return errors.Is(context.Cause(ctx), context.Canceled) }

// pollBudget is how long a poll may take: it must be over before the next one is due.
func pollBudget(interval time.Duration) time.Duration {
	return min(interval-min(max(interval/10, 100*time.Millisecond), 2*time.Second), 30*time.Second)
}

// poll is one poll while it runs.
type poll struct {
	t        *target
	server   *monolith.Server
	snap     *monolith.Snapshot
	interval time.Duration
	deadline time.Time
	limit    time.Duration // of a statement, at the server
	all      bool
	slow     bool // it is the turn of the slow schedule
	remade   int  // connections made in this poll
	again    bool // one of them after a collector lost the one before
	blind    bool // Monolith itself could not ask

	// What our statements had added when the status was read, those of this poll's login among them; without a status, when the poll began.
	own   [len(ownNames)]monolith.Num
	sends uint64
}

// runPoll polls the server once. It gives nil when the poller stops meanwhile.
func (t *target) runPoll(life context.Context, w job, server *monolith.Server) *monolith.Snapshot {
	began := time.Now()
	t.mu.Lock()
	interval, problems, skipped := t.interval(), t.plan.problems, t.skipped
	t.mu.Unlock()
	ps := &t.poll
	if w.renewed {
		t.disconnect()
		ps.orphans, ps.connecting, ps.lastFail, ps.reached = nil, backoff{}, nil, false
		clear(ps.backoffs)
	}
	at := w.at
	if at.IsZero() {
		at = began.Round(0).Truncate(time.Millisecond)
	}
	ps.seq++
	budget := pollBudget(interval)
	p := &poll{t: t, server: server, interval: interval, all: w.all, slow: w.due[monolith.Slow], deadline: began.Add(budget)}
	p.limit = p.commonLimit(budget)
	p.snap = &monolith.Snapshot{
		Server: t.id, Seq: ps.seq, At: at, Taken: at, Interval: interval, Identity: ps.identity,
		Problems: append([]monolith.Problem(nil), problems...),
	}
	ctx, cancel := context.WithDeadlineCause(life, p.deadline, &timeoutError{"the poll", budget})
	defer cancel()

	t.markDue(w, interval, began)
	if w.all {
		p.forgetOff()
	}
	ps.long.merge(p)
	host := p.startHost(ctx)
	p.own, p.sends = ps.load.record()
	p.database(ctx, life)
	host.merge(ctx)
	if isStopped(ctx) {
		return nil
	}
	ps.run = max(ps.run, 1)
	p.snap.Run = ps.run
	p.snap.ClockGap = ps.clockGap
	p.coreSections(time.Since(began), skipped)
	t.noteChange(p.snap)
	ps.first = false
	return p.snap
}

// forgetOff says of the collectors that people switched off that the problems they had are no more.
func (p *poll) forgetOff() {
	for _, c := range p.t.p.collectors {
		if p.isOff(c) {
			p.snap.Costs = append(p.snap.Costs, monolith.Cost{Collector: c.Name})
		}
	}
}

// commonLimit is the bound that fits every collector of the poll, so that it is set once a connection
// and not before each statement.
func (p *poll) commonLimit(budget time.Duration) time.Duration {
	shortest := budget
	for _, c := range p.t.p.collectors {
		if !c.Host && c.Timeout > 0 && !p.isLong(c) {
			shortest = min(shortest, c.Timeout)
		}
	}
	return statementLimit(shortest)
}

// statementLimit is the server-side bound of a statement: a little before our own patience ends, so that
// a slow statement costs itself and not the connection.
func statementLimit(budget time.Duration) time.Duration {
	return max(budget*8/10, 500*time.Millisecond).Truncate(100 * time.Millisecond)
}

// markDue adds up which collectors wait for a run.
func (t *target) markDue(w job, interval time.Duration, now time.Time) {
	for _, c := range t.p.collectors {
		switch {
		case w.all, c.Name == statusName:
			t.poll.due[c.Name] = true
			if w.all && c.Name != statusName {
				delete(t.poll.backoffs, c.Name) // asked for by people, or something changed
			}
		case c.Schedule == monolith.Fast:
			calm := interval >= calmInterval/2 || c.Name == replicationName ||
				now.Sub(t.poll.started[c.Name]) >= calmInterval-interval/2
			if w.due[monolith.Fast] && calm {
				t.poll.due[c.Name] = true
			}
		case w.due[c.Schedule]:
			t.poll.due[c.Name] = true
		}
	}
}

// database runs everything that needs the connection. life outlasts the poll.
func (p *poll) database(ctx, life context.Context) {
	ps := &p.t.poll
	if p.snap.Problems = append(p.snap.Problems, p.connectionProblem(ctx)...); ps.session == nil {
		return
	}
	if p.remade == 0 && p.doubtsRights(time.Now()) {
		if p.renewRights(ctx); ps.session == nil {
			return
		}
	}
	status := p.t.p.collectors[0]
	if !p.status(ctx, status) {
		return
	}
	for _, c := range p.t.p.collectors {
		if c.Host || c == status || !ps.due[c.Name] || p.isOff(c) {
			continue
		}
		if time.Until(p.deadline) < pollBudget(p.interval)/10 {
			return // a statement with no time left would cost the connection; what is due stays due
		}
		if ps.session == nil || p.sessionEnded() {
			if p.again {
				return // twice in one poll is enough; what is due stays due
			}
			p.again = true
			p.snap.Problems = append(p.snap.Problems, p.connectionProblem(ctx)...)
			if ps.session == nil {
				return
			}
		}
		if ps.backoffs[c.Name].holds(time.Now()) {
			continue
		}
		if p.isLong(c) {
			p.startBackground(life, c)
			continue
		}
		p.runHere(ctx, c)
	}
	if now := time.Now(); ps.session != nil && now.Sub(ps.clockAt) > clockEvery && ctx.Err() == nil {
		u := &use{s: ps.session, limit: p.limit}
		if ps.session.measureClock(ctx, u) == nil {
			ps.clockGap, ps.clockAt = ps.session.clockGap, now
		}
	}
}

// clockEvery is how often the clocks are compared.
const clockEvery = 10 * time.Minute

// sessionEnded looks whether the connection is gone, without waiting for a statement that runs on it.
func (p *poll) sessionEnded() bool { return !p.t.poll.session.alive(context.Background()) }

// timeout gives a collector's own deadline.
func (p *poll) timeout(c *Collector) time.Duration {
	left := time.Until(p.deadline)
	if c.Timeout > 0 {
		return c.Timeout
	}
	return left
}

// status reads the status, once more on a new connection when an idle one had gone. It reports
// whether the poll may go on.
func (p *poll) status(ctx context.Context, c *Collector) bool {
	ps := &p.t.poll
	mayRetry := ps.session.used.Load() && p.remade == 0
	for {
		if ps.backoffs[c.Name].holds(time.Now()) && !p.all {
			p.snap.Up = true
			return true // the other collectors go on
		}
		p.own, p.sends = ps.load.record()
		r := p.collect(ctx, c, ps.session, p.timeout(c))
		if r.err != nil && errors.Is(r.err, errLost) && mayRetry && ctx.Err() == nil {
			mayRetry = false
			p.t.disconnect()
			p.snap.Problems = append(p.snap.Problems, p.connectionProblem(ctx)...)
			if ps.session == nil {
				return false
			}
			continue
		}
		p.finish(r)
		p.limitLongRuns(r)
		if r.err != nil {
			return p.snap.Up && ps.session != nil && !p.sessionEnded()
		}
		p.snap.Polled, p.snap.Up = true, true
		p.judgeStatus(ctx, r)
		return true
	}
}

// limitLongRuns ends the statement of a long collector that holds up the polls. It may cost one poll
// less than the counters bear without a gap; after that a server that hangs can't be told from one that
// is busy with it.
func (p *poll) limitLongRuns(r *result) {
	ps := &p.t.poll
	if !isBusy(r.err) {
		ps.heldUp = 0
		return
	}
	if ps.heldUp++; ps.heldUp >= monolith.MaxGap-1 {
		ps.long.end(&timeoutError{"a statement of a slow collector", time.Duration(ps.heldUp) * p.interval})
	}
}

// judgeStatus takes from the status when it was taken, and whether the server lived on since the last.
func (p *poll) judgeStatus(ctx context.Context, r *result) {
	ps := &p.t.poll
	taken := r.use.sent.Add(r.use.done.Sub(r.use.sent) / 2)
	p.snap.Taken = taken
	if !ps.taken.IsZero() {
		p.snap.Elapsed = taken.Sub(ps.taken)
	}
	ps.taken = taken
	p.t.observe(p, r.use.done.Sub(r.use.sent))

	section := r.snap.Section(statusName)
	if section == nil {
		return
	}
	i := section.NumNames.Index(monolith.Metric{Name: "status.Uptime"})
	if i < 0 || section.Nums[i].IsNone() {
		return
	}
	uptime := section.Nums[i]
	again := restarted(ps.uptime, ps.uptimeAt, uptime, taken)
	if ps.idsFell && !ps.uptimeAt.IsZero() && uptime.Float64() < taken.Sub(ps.uptimeAt).Seconds()+2 {
		again = true // a server that was too young for its Uptime to have fallen
	}
	ps.idsFell = false
	if again {
		if p.remade == 0 {
			// The connection lived on: a proxy stands between, and behind it may be another server now.
			s := ps.session
			if s.identify(ctx, &use{s: s, limit: p.limit}) == nil {
				p.identified(s.identity)
			}
		}
		p.snap.Restart = true
		p.newRun()
		p.t.p.log.Warn("poller: the server was restarted", "server", p.server.Name, "uptime", uptime.String())
	}
	ps.uptime, ps.uptimeAt = uptime, taken
}

// restarted reports whether a server was restarted between two readings of its Uptime: it fell, or is
// shorter than the time between the readings. Uptime has whole seconds, and clocks differ a little.
func restarted(before monolith.Num, beforeAt time.Time, now monolith.Num, at time.Time) bool {
	if before.IsNone() || now.IsNone() || beforeAt.IsZero() {
		return false
	}
	between := at.Sub(beforeAt)
	return now.Float64() < before.Float64() || now.Float64()+5+0.01*between.Seconds() < between.Seconds()
}

// noteChange logs when a server goes away and when it comes back.
func (t *target) noteChange(snap *monolith.Snapshot) {
	ps := &t.poll
	if down := !snap.Polled; down != ps.down || ps.first && down {
		ps.down = down
		if !down {
			t.p.log.Info("poller: the server is read again", "server", t.name())
			return
		}
		why := ""
		for _, p := range snap.Problems {
			if p.Collector == "" || p.Collector == statusName {
				why = p.Text
			}
		}
		t.p.log.Warn("poller: the server can't be read", "server", t.name(), "up", snap.Up, "why", why)
	}
}

func (t *target) name() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.server.Name
}

func joinSentences(a, b string) string {
	if a == "" {
		return b
	}
	return a + "; " + b
}

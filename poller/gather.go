package poller

import (
	"context"
	"errors"
	"slices"
	"time"

	"monolith"
)

// result is what one run of one collector gave. Each run fills a snapshot of its own, so that what a
// failing collector had recorded is dropped, and collectors can run side by side.
type result struct {
	collector *Collector
	snap      *monolith.Snapshot
	use       *use // nil for collectors of the host
	variables *Variables
	started   time.Time
	took      time.Duration
	err       error
	absent    string // why this server has no such thing; "" when it ran
	grant     string // what gives the collector its rights; "" when it needs none
}

// errPanic says that a collector stumbled over an answer.
var errPanic = errors.New("the collector failed on an answer it did not expect")

// gatherFor makes a collector's work place. It is made in the polling goroutine; the run may be elsewhere.
func (p *poll) gatherFor(c *Collector, s *session) (*Gather, *result) {
	ps := &p.t.poll
	m := ps.memories[c.Name]
	if m == nil {
		m = new(memory)
		ps.memories[c.Name] = m
	}
	r := &result{collector: c, snap: &monolith.Snapshot{Server: p.t.id, Seq: p.snap.Seq, At: p.snap.At, Interval: p.interval}}
	g := &Gather{
		Server: p.server, Identity: ps.identity, Now: p.snap.At, Variables: ps.variables, State: p.t.state.Load(),
		snapshot: r.snap, collector: c, memory: m,
	}
	if s != nil {
		r.use = &use{s: s, maxBytes: c.MaxBytes, limit: p.limit}
		if p.isLong(c) {
			r.use.limit = statementLimit(c.Timeout)
		}
		g.Session, g.Account, g.rights = r.use, s.account, s.rights
		if c.Grant != nil && s.account != "" && !isAnonymous(s.account, p.server.Endpoint.User) {
			r.grant = c.Grant(ps.identity, quoteAccount(s.account))
		}
	}
	return g, r
}

// gather runs a collector within its deadline.
func (p *Poller) gather(ctx context.Context, g *Gather, r *result, timeout time.Duration) {
	c := r.collector
	r.started = time.Now()
	defer func() { r.took = time.Since(r.started) }()
	if timeout <= 0 {
		r.err = &timeoutError{c.Title, 0}
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, &timeoutError{c.Title, timeout})
	defer cancel()
	panicked := p.guard("collector "+c.Name+" on server "+g.Server.Name, func() {
		if c.Applies != nil {
			if ok, why := c.Applies(g); !ok {
				if r.absent = why; why == "" {
					r.absent = "this server has no such thing"
				}
				return
			}
		}
		r.err = c.Collect(ctx, g)
		r.variables = g.Variables
	})
	if panicked {
		r.err = errPanic
	}
	if r.err == nil && r.use == nil && ctx.Err() != nil {
		r.err = context.Cause(ctx)
	}
}

// collect runs a collector in the poll's own time.
func (p *poll) collect(ctx context.Context, c *Collector, s *session, timeout time.Duration) *result {
	g, r := p.gatherFor(c, s)
	p.t.p.gather(ctx, g, r, min(timeout, time.Until(p.deadline)))
	return r
}

// runHere runs a collector and takes its result over.
func (p *poll) runHere(ctx context.Context, c *Collector) {
	r := p.collect(ctx, c, p.t.poll.session, p.timeout(c))
	if isStopped(ctx) {
		return
	}
	p.finish(r)
}

// finish takes the result of a run over into the snapshot, the back-off and the report.
func (p *poll) finish(r *result) {
	ps := &p.t.poll
	c := r.collector
	delete(ps.due, c.Name)
	ps.started[c.Name] = r.started
	cost := monolith.Cost{Collector: c.Name, Took: r.took}
	if r.absent != "" {
		p.snap.Costs = append(p.snap.Costs, cost) // it ran: problems that it had are no more
		p.t.reportAbsent(c, r, r.absent)
		return
	}
	if r.use != nil {
		cost.Statements, cost.Rows, cost.Bytes = r.use.statements, r.use.rows, r.use.bytes
	}
	p.snap.Costs = append(p.snap.Costs, cost)
	var until time.Time
	if r.err != nil {
		at := p.scene(r.grant)
		at.host = c.Host
		problem, up := explain(r.err, at)
		problem.Collector = c.Name
		if c.Name == statusName {
			p.snap.Up = up
		}
		if wait := p.backOff(c, r.err, problem.Kind); wait > 0 {
			until = ps.backoffs[c.Name].until
			problem.Cure = joinSentences(problem.Cure, "the next try is in "+shortDuration(wait))
		}
		p.noteDenial(c, problem.Kind == monolith.ProblemPrivilege)
		r.snap.Problems = []monolith.Problem{problem}
	} else {
		p.noteDenial(c, false)
		delete(ps.backoffs, c.Name)
		p.snap.Sections = append(p.snap.Sections, r.snap.Sections...)
		p.snap.Rows.Take(r.snap.Rows)
		if c.Name == variablesName && r.variables != nil {
			ps.stale = ps.stale || ps.variables != nil && !ps.variables.equal(r.variables)
			ps.variables = r.variables
			p.refreshOrigins()
		}
		if c.Name == originsName {
			ps.stale = false
		}
	}
	p.snap.Problems = append(p.snap.Problems, r.snap.Problems...)
	p.t.report(c, r, cost, until)
}

// refreshOrigins has the origins of variables read anew after a change, in the same poll where time allows: what
// set the value that people see now is not what set the one before. A server whose variables change all the time
// is not asked all the time.
func (p *poll) refreshOrigins() {
	ps := &p.t.poll
	if now := time.Now(); ps.stale && (ps.originsAt.IsZero() || now.Sub(ps.originsAt) >= originsRest) {
		ps.originsAt = now
		ps.due[originsName] = true
	}
}

// originsRest is the shortest time between two readings of origins that changed variables cause.
const originsRest = 10 * time.Minute

// backOff decides whether and for how long a collector rests after an error.
func (p *poll) backOff(c *Collector, err error, kind monolith.ProblemKind) (wait time.Duration) {
	ps := &p.t.poll
	interval, most := p.t.intervalOf(c), maxBackoff
	switch {
	case c.Name == statusName:
		most = maxConnectWait
		if kind != monolith.ProblemTimeout || isBusy(err) {
			return 0
		}
	case errors.Is(err, errLost):
		// It runs again when the connection is back, yet not at once: its statement may be what
		// crashes the server.
		ps.due[c.Name] = true
		interval = min(interval, time.Minute)
	case kind != monolith.ProblemTimeout || isBusy(err):
		return 0
	}
	b := ps.backoffs[c.Name]
	if b == nil {
		b = &backoff{}
		ps.backoffs[c.Name] = b
	}
	return b.failed(time.Now(), interval, most)
}

func isBusy(err error) bool {
	var busy *busyError
	return errors.As(err, &busy)
}

// isOff reports whether people switched a collector off for this server.
func (p *poll) isOff(c *Collector) bool { return slices.Contains(p.server.CollectorsOff, c.Name) }

// backoff is the growing pause after a failure by time.
type backoff struct {
	failures int
	until    time.Time
}

// maxBackoff bounds the pause of a collector that times out.
const maxBackoff = time.Hour

// failed doubles the pause and gives it.
func (b *backoff) failed(now time.Time, interval, most time.Duration) time.Duration {
	wait := interval << min(b.failures, 16)
	if wait > most || wait <= 0 {
		wait = max(most, interval)
	}
	b.failures++
	b.until = now.Add(wait)
	return wait
}

// holds reports whether the pause lasts. A nil back-off never holds.
func (b *backoff) holds(now time.Time) bool { return b != nil && now.Before(b.until) }

// coreNames are the metrics that the poller itself measures, the same for all servers.
type coreNames struct{ server, self *monolith.Names }

func newCoreNames() coreNames {
	server := []monolith.Metric{{Name: "server.up"}, {Name: "server.polled"}, {Name: "server.clock_gap_seconds"}}
	self := []monolith.Metric{
		{Name: "self.poll_seconds"}, {Name: "self.poll_bytes"}, {Name: "self.poll_statements"}, {Name: "self.skipped_total"},
		{Name: "self.interval_seconds"}, {Name: "self.Questions"}, {Name: "self.Queries"},
	}
	for _, n := range ownNames {
		self = append(self, monolith.Metric{Name: "self." + n})
	}
	return coreNames{monolith.NewNames(server), monolith.NewNames(self)}
}

// coreSections adds what the poller itself measured. own and sends are as they were just before the
// status was asked, which is what the server's counters in it hold of us.
func (p *poll) coreSections(took time.Duration, skipped uint64) {
	gap := monolith.Num{}
	if p.t.poll.clockAt != (time.Time{}) {
		gap = monolith.Float(p.t.poll.clockGap.Seconds())
	}
	var bytes int64
	statements := 0
	for _, c := range p.snap.Costs {
		bytes += c.Bytes
		statements += c.Statements
	}
	self := append(make([]monolith.Num, 0, 7+len(p.own)),
		monolith.Float(took.Seconds()), monolith.Int(bytes), monolith.Int(int64(statements)), monolith.Uint(skipped),
		monolith.Float(p.interval.Seconds()), monolith.Uint(p.sends), monolith.Uint(p.sends))
	up, polled := monolith.Bool(p.snap.Up), monolith.Bool(p.snap.Polled)
	if p.blind {
		up, polled = monolith.Num{}, monolith.Num{}
	}
	names := p.t.p.names
	p.snap.Sections = append(p.snap.Sections,
		monolith.Section{Collector: "server", NumNames: names.server,
			Nums: []monolith.Num{up, polled, gap}},
		monolith.Section{Collector: "self", NumNames: names.self, Nums: append(self, p.own[:]...)})
}

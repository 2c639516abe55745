package poller

import (
	"context"
	"fmt"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith"
)

// connectionProblem sees to it that there is a session, and gives what stands in the way.
func (p *poll) connectionProblem(ctx context.Context) []monolith.Problem {
	ps := &p.t.poll
	if ps.session != nil {
		if ps.session.alive(ctx) {
			return nil
		}
		p.t.disconnect()
	}
	now := time.Now()
	if ps.connecting.holds(now) && !p.all && ps.lastFail != nil && ps.opening == nil {
		again := *ps.lastFail
		p.snap.Up = ps.lastUp
		return []monolith.Problem{again}
	}
	p.remade++
	s, err := p.open(ctx)
	if err == nil {
		p.adopt(s)
		return nil
	}
	if isStopped(ctx) {
		return nil
	}
	problem, up := explain(err, p.scene(""))
	if p.blind = problem.Kind == monolith.ProblemMonitor; p.blind {
		up = ps.lastUp // nothing new is known
	}
	p.snap.Up = up
	if problem.Kind == monolith.ProblemTimeout && ps.opening == nil {
		// Each try leaves the server one more connection to clear away when it wakes up.
		wait := ps.connecting.failed(now, p.interval, maxConnectWait)
		problem.Cure = joinSentences(problem.Cure, fmt.Sprintf("the next try is in %s", shortDuration(wait)))
	}
	ps.lastFail, ps.lastUp = &problem, up
	return []monolith.Problem{problem}
}

// maxConnectWait bounds the pause between tries to connect to a server that hangs.
const maxConnectWait = time.Minute

// adopt makes a new session the target's.
func (p *poll) adopt(s *session) {
	ps := &p.t.poll
	ps.session, ps.orphans = s, nil
	ps.idsFell = s.id != 0 && s.id < ps.thread
	ps.thread = s.id
	ps.connecting, ps.lastFail, ps.lastUp = backoff{}, nil, true
	if !ps.reached {
		ps.reached = true
		p.dueAll(func(*Collector) bool { return true })
	}
	if s.clockGap != 0 {
		ps.clockGap, ps.clockAt = s.clockGap, time.Now()
	}
	p.identified(s.identity)
	for _, refused := range s.refused {
		p.t.p.log.Warn("poller: the server refused a set-up statement", "server", p.server.Name, "statement", refused)
	}
}

// identified takes over who the server is. Another server than before begins a new run.
func (p *poll) identified(id monolith.Identity) {
	ps := &p.t.poll
	if !ps.identity.IsZero() && !sameServer(ps.identity, id) {
		p.newRun()
		p.dueAll(func(*Collector) bool { return true })
		p.t.p.log.Warn("poller: another server answers", "server", p.server.Name, "was", ps.identity.Hostname, "is", id.Hostname)
	}
	ps.identity = id
	p.snap.Identity = id
}

// newRun begins a new life of the server: counters are not compared over it, and everything is read anew.
func (p *poll) newRun() {
	ps := &p.t.poll
	ps.run = max(ps.run, 1) + 1
	ps.uptime = monolith.Num{}
	ps.variables = nil
	// Options are read at a start, so that the origins of variables are others. Sizes are what they were.
	p.dueAll(func(c *Collector) bool { return c.Schedule != monolith.Fast && c.Schedule != monolith.Sizes })
}

// dueAll makes those of the database's collectors that are chosen run in this poll, whatever their schedules.
func (p *poll) dueAll(chosen func(*Collector) bool) {
	for _, c := range p.t.p.collectors {
		if !c.Host && chosen(c) {
			p.t.poll.due[c.Name] = true
		}
	}
}

// disconnect gives the session up and remembers what it left at the server.
func (t *target) disconnect() {
	t.abandonOpening()
	if s := t.poll.session; s != nil {
		t.poll.long.stop()
		s.close()
		t.poll.orphans = addOrphan(t.poll.orphans, s)
		t.poll.session = nil
	}
}

// scene gives what is known for the explanation of an error.
func (p *poll) scene(grant string) scene {
	at := scene{endpoint: p.server.Endpoint, identity: p.t.poll.identity, grant: grant, now: time.Now()}
	if s := p.t.poll.session; s != nil {
		at.account = quoteAccount(s.account)
		at.skipsNames = s.vars["skip_name_resolve"] == "ON"
	}
	return at
}

// counters let a session count for the whole poller.
func (p *Poller) counters() *counters {
	return &counters{
		statement: func(n int64) { p.statements.Add(uint64(n)) },
		received:  func(n int64) { p.bytes.Add(uint64(n)) },
		refused: func(statement string, err *mysql.MySQLError) {
			p.log.Debug("poller: the server refused a statement", "statement", cut(statement, 200), "error", err.Number)
		},
	}
}

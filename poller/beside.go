package poller

import (
	"context"
	"errors"
	"sync"
	"time"

	"monolith"
)

// hostRun is the run of one of the host's collectors. It goes on beside the database's: the host is of
// most interest while the database is down.
type hostRun struct {
	result *result
	done   chan struct{}
}

// hostRuns are those of one poll.
type hostRuns struct {
	poll *poll
	runs []hostRun
}

func (p *poll) startHost(ctx context.Context) *hostRuns {
	h := &hostRuns{poll: p}
	for _, c := range p.t.p.collectors {
		if !c.Host || !p.t.poll.due[c.Name] || p.isOff(c) || p.t.poll.backoffs[c.Name].holds(time.Now()) || p.isStuck(c) {
			continue
		}
		g, r := p.gatherFor(c, nil)
		timeout := time.Until(p.deadline)
		if c.Timeout > 0 {
			timeout = min(timeout, c.Timeout)
		}
		run := hostRun{r, make(chan struct{})}
		h.runs = append(h.runs, run)
		go func() { // waited for by merge, unless it is stuck
			defer close(run.done)
			p.t.p.gather(ctx, g, r, timeout)
		}()
	}
	return h
}

// isStuck reports whether an earlier run of a host collector has not come back: the kernel answers
// nothing about a file system whose server is gone, and no deadline ends that.
func (p *poll) isStuck(c *Collector) bool {
	stuck := p.t.poll.stuck[c.Name]
	if stuck == nil {
		return false
	}
	select {
	case <-stuck:
		delete(p.t.poll.stuck, c.Name)
		return false
	default:
		return true
	}
}

// merge waits for the host's collectors until the poll's deadline and takes their results over.
func (h *hostRuns) merge(ctx context.Context) {
	for _, run := range h.runs {
		select {
		case <-run.done:
			if !isStopped(ctx) {
				h.poll.finish(run.result)
			}
			continue
		case <-ctx.Done():
		}
		grace := time.NewTimer(hostGrace)
		select {
		case <-run.done:
			if !isStopped(ctx) {
				h.poll.finish(run.result)
			}
		case <-grace.C:
			c := run.result.collector
			h.poll.t.poll.stuck[c.Name] = run.done
			h.poll.finish(&result{collector: c, snap: &monolith.Snapshot{}, started: time.Now(),
				err: &timeoutError{c.Title, pollBudget(h.poll.interval)}})
		}
		grace.Stop()
	}
}

// hostGrace is how long a host collector may take to notice that its time is over.
const hostGrace = 50 * time.Millisecond

// longRuns runs the collectors that may take longer than a poll. They share the connection: the
// polls' statements and theirs take turns, so that a scan of many schemas makes no gap in the graphs.
type longRuns struct {
	wg      sync.WaitGroup
	mu      sync.Mutex
	running map[string]context.CancelCauseFunc
	done    []*result
}

// isLong reports whether a collector may outlast the poll. Those of the fast schedule may not: what
// they read belongs to the status beside them.
func (p *poll) isLong(c *Collector) bool {
	return c.Schedule != monolith.Fast && c.Timeout > pollBudget(p.interval)
}

// startBackground begins the run of a long collector, unless it is running already. life is the context
// of the target, not of the poll.
func (p *poll) startBackground(life context.Context, c *Collector) {
	b := &p.t.poll.long
	ctx, cancel := context.WithCancelCause(life)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running[c.Name] != nil {
		cancel(nil)
		return
	}
	if b.running == nil {
		b.running = map[string]context.CancelCauseFunc{}
	}
	b.running[c.Name] = cancel
	delete(p.t.poll.due, c.Name)
	g, r := p.gatherFor(c, p.t.poll.session)
	b.wg.Go(func() {
		defer cancel(nil)
		p.t.p.gather(ctx, g, r, c.Timeout)
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.running, c.Name)
		b.done = append(b.done, r)
	})
}

// merge takes over what ended since the poll before.
func (b *longRuns) merge(p *poll) {
	b.mu.Lock()
	done := b.done
	b.done = nil
	b.mu.Unlock()
	for _, r := range done {
		if errors.Is(r.err, context.Canceled) {
			p.t.poll.due[r.collector.Name] = true // it lost its connection to a new one
			continue
		}
		p.finish(r)
	}
}

// end ends what runs.
func (b *longRuns) end(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, cancel := range b.running {
		cancel(why)
	}
}

// stop ends what runs and waits for it.
func (b *longRuns) stop() {
	b.end(nil)
	b.wg.Wait()
}

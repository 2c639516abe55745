package poller

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// opening is a connection that is being made, which may take longer than a poll: once the server greeted it, it is a
// thread there. Where one thread of ours hangs already, the second one waits for its answer over as many polls as it
// takes; giving it up for another one would leave the server one more thread at each poll.
type opening struct {
	began   time.Time
	greeted atomic.Bool
	cancel  context.CancelCauseFunc
	done    chan struct{} // closed when the two below are there
	session *session
	err     error
}

// maxOpening bounds the wait: a proxy may have forgotten the connection without closing it.
const maxOpening = 10 * time.Minute

// open gives a session, or the error of which it was not made within the poll.
func (p *poll) open(ctx context.Context) (*session, error) {
	ps := &p.t.poll
	if ps.opening == nil {
		ps.opening = p.beginOpening(ctx)
	}
	o := ps.opening
	select {
	case <-o.done:
	case <-ctx.Done():
		waited := time.Since(o.began)
		if o.greeted.Load() && len(ps.orphans) > 0 && !isStopped(ctx) && waited < maxOpening {
			return nil, &timeoutError{"a second connection", waited}
		}
		o.cancel(context.Cause(ctx))
		<-o.done
	}
	return p.t.endOpening()
}

// beginOpening starts to connect. The connection does not end with the poll.
func (p *poll) beginOpening(ctx context.Context) *opening {
	ps, poller := &p.t.poll, p.t.p
	poller.connects.Add(1)
	o := &opening{began: time.Now(), done: make(chan struct{})}
	ctx, o.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	endpoint := p.server.Endpoint
	options := openOptions{
		version: poller.cfg.Version, limit: p.limit, interval: p.interval, orphans: ps.orphans, known: ps.identity,
		load: ps.load, counts: poller.counters(), greeted: &o.greeted,
	}
	name := p.server.Name
	go func() {
		defer close(o.done)
		if poller.guard("connection to server "+name, func() { o.session, o.err = openSession(ctx, endpoint, options) }) {
			o.session, o.err = nil, &connectError{err: errPanic, endpoint: endpoint, dialed: &dialed{}}
		}
	}()
	return o
}

// endOpening takes the result of the opening, which is done, and remembers what it left at the server.
func (t *target) endOpening() (*session, error) {
	o := t.poll.opening
	t.poll.opening = nil
	o.cancel(nil)
	var failed *connectError
	if errors.As(o.err, &failed) && failed.orphan != 0 {
		t.poll.orphans = append(t.poll.orphans, failed.orphan)
	}
	return o.session, o.err
}

// abandonOpening gives up a connection that is being made, if there is one.
func (t *target) abandonOpening() {
	if t.poll.opening == nil {
		return
	}
	t.poll.opening.cancel(context.Canceled)
	<-t.poll.opening.done
	if s, err := t.endOpening(); err == nil {
		s.close()
	}
}

package alerts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"monolith"
	"monolith/alerts/notify"
)

// How the outbox is emptied.
const (
	dispatchWorker   = "monolith"      // one process at a time owns a store
	claimAtOnce      = 100             // entries in one claim
	mostClaimed      = 2000            // entries that wait in memory for their channel
	mostSending      = 16              // messages on their way at once
	sendTimeout      = time.Minute     // of one message
	leaseLeft        = 2 * time.Minute // what a lease must still have before a message is begun
	glance           = 5 * time.Second // how often the outbox is looked into at least
	failuresInARow   = 2               // after so many the rest of a channel waits with them
	firstRetry       = 15 * time.Second
	longestRetry     = 30 * time.Minute
	longestRest      = 5 * time.Minute // of a channel that fails: then it is tried by one or two messages again
	giveUpAfter      = 3 * 24 * time.Hour
	giveUpTries      = 100
	finishTimeout    = 10 * time.Second
	shutdownPatience = 10 * time.Second
)

// dispatcher sends what is due in the outbox. Each channel has a worker of its own that sends one message after the other,
// in order; a channel that hangs or fails keeps no other one from being served.
type dispatcher struct {
	t     *Telling
	wake  chan struct{}
	slots chan struct{}

	mu      sync.Mutex
	queues  map[int64][]monolith.Delivery // by channel, claimed
	busy    map[int64]bool
	taken   map[int64]bool              // ids in queues or on their way
	failed  map[int64]int               // tries that failed in this process, by id
	forced  map[int64]bool              // ids that people want to be sent whatever has become of the alert
	resting map[int64]*resting          // channels that fail
	results map[int64]monolith.Delivery // how it went with entries, where the store could not be told yet
	workers sync.WaitGroup
}

func newDispatcher(t *Telling) *dispatcher {
	return &dispatcher{t: t, wake: make(chan struct{}, 1), slots: make(chan struct{}, mostSending), queues: map[int64][]monolith.Delivery{}, busy: map[int64]bool{},
		taken: map[int64]bool{}, failed: map[int64]int{}, resting: map[int64]*resting{}, forced: map[int64]bool{}, results: map[int64]monolith.Delivery{}}
}

func (d *dispatcher) wakeUp() {
	select {
	case d.wake <- struct{}{}:
	default: // it is awake already
	}
}

// insist makes an entry be sent at its next turn even if it is not wanted any more.
func (d *dispatcher) insist(id int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.forced[id] = true
	delete(d.failed, id)
}

// run sends until ctx ends; messages on their way are then given a moment.
func (d *dispatcher) run(ctx context.Context) {
	sending, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	released := false
	soon := 0 // the store may write a moment after it was handed something
	for ctx.Err() == nil {
		if !released {
			released = d.release(ctx) == nil
		}
		err := d.round(ctx, sending)
		if err != nil && ctx.Err() == nil {
			d.t.log.Warn("the outbox can't be read; what is due is sent later", "error", err)
		}
		wait := glance
		if soon > 0 {
			soon--
			wait = 200 * time.Millisecond
		} else if next, err := d.t.cfg.Store.NextDelivery(ctx); err == nil && !next.IsZero() {
			wait = min(glance, max(next.Sub(d.t.now()), 100*time.Millisecond))
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-d.wake:
			soon = 3
		}
		timer.Stop()
	}
	done := make(chan struct{})
	go func() { d.workers.Wait(); close(done) }()
	timer := time.NewTimer(shutdownPatience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		stop()
		<-done
	}
	d.settle(context.WithoutCancel(ctx))
}

// release gives back at a start what an earlier run had claimed: it is due at once, not only when the lease runs out.
func (d *dispatcher) release(ctx context.Context) error {
	list, err := d.t.cfg.Store.Deliveries(ctx, monolith.DeliveryQuery{States: []monolith.DeliveryState{monolith.DeliveryClaimed}, Limit: 5000})
	if err != nil {
		return err
	}
	for _, one := range list {
		one.State, one.Next, one.Answer = monolith.DeliveryPending, d.t.now(), ""
		if err := d.t.cfg.Store.FinishDelivery(ctx, dispatchWorker, one); err != nil && !errors.Is(err, monolith.ErrConflict) && !errors.Is(err, monolith.ErrNotFound) {
			return err
		}
	}
	return nil
}

// round claims what is due and hands it to the workers of the channels. ctx is for the store, sending for the workers.
func (d *dispatcher) round(ctx, sending context.Context) error {
	d.settle(ctx)
	for {
		d.mu.Lock()
		room := mostClaimed - len(d.taken)
		d.mu.Unlock()
		if room < claimAtOnce {
			return nil
		}
		list, err := d.t.cfg.Store.ClaimDeliveries(ctx, d.t.now(), dispatchWorker, claimAtOnce)
		if err != nil {
			return err
		}
		d.enqueue(list)
		if len(list) < claimAtOnce {
			break
		}
	}
	d.startWorkers(ctx, sending)
	return nil
}

// enqueue sorts claimed entries by channel. One whose lease ran out while it waited here gets the new lease.
func (d *dispatcher) enqueue(list []monolith.Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range list {
		if _, known := d.results[one.ID]; known {
			continue // it went out: only the store does not know
		}
		if q := d.queues[one.Channel]; d.taken[one.ID] {
			if i := slices.IndexFunc(q, func(x monolith.Delivery) bool { return x.ID == one.ID }); i >= 0 {
				q[i] = one
			}
			continue
		}
		d.taken[one.ID] = true
		d.queues[one.Channel] = append(d.queues[one.Channel], one)
	}
}

func (d *dispatcher) startWorkers(ctx, sending context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for channel, q := range d.queues {
		if len(q) == 0 || d.busy[channel] {
			continue
		}
		d.busy[channel] = true
		d.workers.Go(func() { d.serve(ctx, sending, channel) })
	}
}

// serve empties the queue of a channel.
func (d *dispatcher) serve(ctx, sending context.Context, channel int64) {
	row := 0 // failures in a row
	for {
		d.mu.Lock()
		list := d.queues[channel]
		delete(d.queues, channel)
		if len(list) == 0 {
			d.busy[channel] = false
			d.mu.Unlock()
			return
		}
		// What failed before comes last: one message that is refused again and again must not keep the others.
		slices.SortStableFunc(list, func(a, b monolith.Delivery) int {
			return cmp.Or(cmp.Compare(d.failed[a.ID], d.failed[b.ID]), cmp.Compare(a.ID, b.ID))
		})
		d.mu.Unlock()
		for _, parts := range inParts(list) {
			rest := d.rests(channel)
			switch {
			case ctx.Err() != nil, parts[0].Next.Sub(d.t.now()) < leaseLeft:
				d.finishAll(ctx, parts, func(one *monolith.Delivery) {
					one.State, one.Next, one.Answer = monolith.DeliveryPending, d.t.now(), ""
				})
			case rest != nil:
				d.finishAll(ctx, parts, func(one *monolith.Delivery) {
					one.State, one.Next, one.Answer = monolith.DeliveryPending, rest.until, rest.why.Error()
				})
			default:
				tried, err := d.deliver(ctx, sending, channel, parts)
				switch {
				case tried && err != nil && !notify.IsPermanent(err):
					if row++; row >= failuresInARow {
						row = 0
						d.rest(channel, err)
					}
				case tried:
					row = 0
					d.works(channel)
				}
			}
		}
	}
}

// resting is a channel that failed several times in a row: until a moment nothing is tried over it.
type resting struct {
	times int
	until time.Time
	why   error
}

// rest lets a channel rest, longer each time.
func (d *dispatcher) rest(channel int64, why error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := &resting{times: 1, why: why}
	if old := d.resting[channel]; old != nil {
		r.times = old.times + 1
	}
	r.until = d.t.now().Add(min(longestRest, retryIn(r.times, d.t.cfg.Random())))
	d.resting[channel] = r
}

// rests gives the rest of a channel, nil when it is over.
func (d *dispatcher) rests(channel int64) *resting {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.resting[channel]; r != nil && d.t.now().Before(r.until) {
		return r
	}
	return nil
}

// works notes that a channel works, or may do so: it does not rest any more.
func (d *dispatcher) works(channel int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.resting, channel)
}

// inParts puts the parts of each digest together; everything else is by itself.
func inParts(list []monolith.Delivery) (out [][]monolith.Delivery) {
	digests := map[string]int{}
	for _, one := range list {
		if i, there := digests[one.Key]; there && gathered(&one) {
			out[i] = append(out[i], one)
			continue
		}
		if gathered(&one) {
			digests[one.Key] = len(out)
		}
		out = append(out, []monolith.Delivery{one})
	}
	return out
}

// deliver brings one message to its end, or to its next try. tried says that the receiver was asked.
func (d *dispatcher) deliver(ctx, sending context.Context, channel int64, parts []monolith.Delivery) (tried bool, err error) {
	v := d.t.prepare(ctx, parts, d.isForced(parts[0].ID))
	switch {
	case v.wait > 0:
		d.finishAll(ctx, parts, func(one *monolith.Delivery) {
			one.State, one.Next, one.Answer = monolith.DeliveryPending, d.t.now().Add(v.wait), ""
		})
		return false, nil
	case v.drop != "":
		d.finishAll(ctx, parts, func(one *monolith.Delivery) {
			one.State, one.Done, one.Answer = monolith.DeliveryDropped, d.t.now(), v.drop
		})
		return false, nil
	case v.broken != nil:
		d.finishAll(ctx, parts, func(one *monolith.Delivery) { d.giveUp(one, v.broken) })
		return false, nil
	}
	d.slots <- struct{}{}
	limited, cancel := context.WithTimeout(sending, sendTimeout)
	answer, err := d.t.sendOver(limited, channel, v.notice)
	cancel()
	<-d.slots
	now := d.t.now()
	switch {
	case err == nil:
		d.finishAll(ctx, parts, func(one *monolith.Delivery) { one.State, one.Done, one.Answer = monolith.DeliverySent, now, answer })
		d.t.plan.sent(parts[0].Subscription, v.opens)
		d.t.health(channel, "", now)
		return true, nil
	case sending.Err() != nil: // cut off by our own end: it says nothing about the receiver
		d.finishAll(ctx, parts, func(one *monolith.Delivery) { one.State, one.Next, one.Answer = monolith.DeliveryPending, now, "" })
		return false, nil
	}
	d.t.health(channel, err.Error(), now)
	d.finishAll(ctx, parts, func(one *monolith.Delivery) { d.again(one, err) })
	return true, err
}

func (d *dispatcher) isForced(id int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.forced[id]
}

// again sets an entry that failed to its next try, or gives it up.
func (d *dispatcher) again(one *monolith.Delivery, err error) {
	now := d.t.now()
	d.mu.Lock()
	d.failed[one.ID]++
	tries := d.failed[one.ID]
	d.mu.Unlock()
	if notify.IsPermanent(err) || now.Sub(one.Created) > giveUpAfter && tries > 3 || tries >= giveUpTries {
		d.giveUp(one, err)
		return
	}
	one.State, one.Answer = monolith.DeliveryPending, err.Error()
	one.Next = now.Add(max(retryIn(tries, d.t.cfg.Random()), notify.Wait(err)))
}

// retryIn is how long the n-th try waits for the next one: longer each time, and a fifth more or less so that many do not
// come at once.
func retryIn(n int, random float64) time.Duration {
	wait := longestRetry
	if n < 8 {
		wait = min(longestRetry, firstRetry<<max(0, n-1))
	}
	return time.Duration(float64(wait) * (0.8 + 0.4*random))
}

// giveUp ends an entry that can't be sent. Who was not told of a problem is not told of its end.
func (d *dispatcher) giveUp(one *monolith.Delivery, err error) {
	one.State, one.Done, one.Answer = monolith.DeliveryFailed, d.t.now(), err.Error()
	if one.Answer == "" {
		one.Answer = "it could not be sent"
	}
	d.t.log.Error("a message was given up", "delivery", one.ID, "channel_id", one.Channel, "tries", one.Attempts, "error", err)
}

// finishAll tells the store how it went with entries. The first one stands for the message: once it is kept as sent, no other
// part is sent again.
func (d *dispatcher) finishAll(ctx context.Context, parts []monolith.Delivery, change func(*monolith.Delivery)) {
	for i := range parts {
		one := parts[i]
		change(&one)
		if i > 0 && one.State == monolith.DeliverySent {
			one.Answer = fmt.Sprintf("in one message with delivery %d", parts[0].ID)
		}
		one.Payload = nil
		d.finish(ctx, one)
	}
}

// finish tells the store how it went with an entry; when that fails, it is told later, and the entry is not sent meanwhile.
func (d *dispatcher) finish(ctx context.Context, one monolith.Delivery) {
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	err := d.t.cfg.Store.FinishDelivery(limited, dispatchWorker, one)
	known := err == nil || errors.Is(err, monolith.ErrConflict) || errors.Is(err, monolith.ErrNotFound)
	d.mu.Lock()
	defer d.mu.Unlock()
	if known {
		delete(d.results, one.ID)
		delete(d.taken, one.ID)
		if one.State != monolith.DeliveryPending {
			delete(d.failed, one.ID)
			delete(d.forced, one.ID)
		}
		return
	}
	d.results[one.ID] = one
	d.t.log.Warn("the store could not be told how a message went; it is told later", "delivery", one.ID, "state", one.State, "error", err)
}

// settle tells the store what it could not be told before.
func (d *dispatcher) settle(ctx context.Context) {
	d.mu.Lock()
	list := make([]monolith.Delivery, 0, len(d.results))
	for _, one := range d.results {
		list = append(list, one)
	}
	d.mu.Unlock()
	slices.SortFunc(list, func(a, b monolith.Delivery) int { return cmp.Compare(a.ID, b.ID) })
	for _, one := range list {
		if d.finish(ctx, one); ctx.Err() != nil {
			return
		}
	}
}

// sendOver sends a notice over a channel as it is set up now.
func (t *Telling) sendOver(ctx context.Context, channel int64, n *notify.Notice) (string, error) {
	c, err := t.cfg.Store.Channel(ctx, channel)
	if err != nil {
		return "", fmt.Errorf("alerts: the channel can't be read: %w", err)
	}
	sender, err := notify.New(&c, t.options(nil))
	if err != nil {
		return "", notify.Permanent(err)
	}
	return send(ctx, sender, n)
}

// send sends a notice. A sender that panics is one that failed.
func send(ctx context.Context, s notify.Sender, n *notify.Notice) (answer string, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("alerts: the sender broke down: %v", v)
		}
	}()
	return s.Send(ctx, n)
}

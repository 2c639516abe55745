package alerts

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"monolith"
)

// How long some first messages wait, so that what happens at once is told at once.
const (
	// A server that can't be reached becomes critical soon, and may be one of many: then something else speaks for it.
	gatherUnreachable = 45 * time.Second
	// What is still open when its cause, a silence or maintenance is over is often over a moment later.
	gatherAgain = time.Minute
	gatherShort = 15 * time.Second
)

// EpisodeKey gives the key of an alert's messages: the same from its opening to its closing, and never that of another one.
func EpisodeKey(instance string, a *monolith.Alert) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s|%d|%q|%q|%d", instance, a.Server, a.Rule, a.Instance, a.Opened.UnixMilli()))
	return "monolith-" + hex.EncodeToString(sum[:12])
}

// planner decides who is told of what, and when. It is pure: time is an argument, what was told before is its memory. The
// memory is made out of the outbox at a start. Its methods may be called from any goroutine.
type planner struct {
	instance string

	mu    sync.Mutex
	subs  []*subscriber       // by id
	told  map[toldKey]*told   // of open alerts
	flow  map[int64]*flow     // by subscription
	quiet map[int64]time.Time // when the quiet line was last written, by subscription
}

type toldKey struct {
	subscription int64
	episode      string
}

// told is what a subscription was told of an alert, or will be.
type told struct {
	key     string    // the messages': that of another alert when they were told together
	due     time.Time // of the newest message that it is open
	after   time.Time // it is told only if it is still open then
	started bool      // one was begun to be sent: from now on its end must be told
	sent    bool      // one was acknowledged
	digest  bool      // the newest is part of a digest
}

// flow is what bounds the messages of a subscription.
type flow struct {
	dues   []time.Time // of the messages of the last hour, and of those to come, sorted
	digest time.Time   // when the digest that gathers now is due; zero: none does
}

func newPlanner(instance string) *planner {
	return &planner{instance: instance, told: map[toldKey]*told{}, flow: map[int64]*flow{}, quiet: map[int64]time.Time{}}
}

// setSubscribers puts subscriptions in force.
func (p *planner) setSubscribers(subs []*subscriber) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.subs = subs
	known := map[int64]bool{}
	for _, s := range subs {
		known[s.ID] = true
	}
	maps.DeleteFunc(p.told, func(k toldKey, _ *told) bool { return !known[k.subscription] })
	maps.DeleteFunc(p.flow, func(id int64, _ *flow) bool { return !known[id] })
	maps.DeleteFunc(p.quiet, func(id int64, _ time.Time) bool { return !known[id] })
}

// subscriber finds one by its id, or nil.
func (p *planner) subscriber(id int64) *subscriber {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.subs {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// message is what one subscription is to be told: about one alert, or several of one cause.
type message struct {
	sub    *subscriber
	kind   monolith.NoticeKind
	alerts []*monolith.Alert // the worst first
	about  *BatchEvent
	key    string
	due    time.Time
	// after: an alert that was over before is not told.
	after time.Time
	was   []time.Time // of what no event brought: when each alert was told before, zero: never
	// already: it was so when the subscription was made, changed or switched on.
	already bool
	open    []monolith.Alert
}

// plan gives what the events of a moment mean for the subscriptions. about says nothing of the alerts' ids: new ones have
// none yet.
func (p *planner) plan(at time.Time, events []*BatchEvent) []message {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []message
	for _, s := range p.subs {
		if s.off() != "" {
			continue
		}
		var mine []message
		for _, e := range events {
			if m, ok := p.planOne(s, at, e); ok {
				mine = append(mine, m)
			}
		}
		out = append(out, p.bound(s, at, together(s, mine))...)
	}
	// What is over needs no memory.
	for _, e := range events {
		if e.Of != nil && e.Kind == monolith.EventClosed {
			for _, s := range p.subs {
				delete(p.told, toldKey{s.ID, EpisodeKey(p.instance, e.Of)})
			}
		}
	}
	return out
}

// planOne plans one event for one subscription.
func (p *planner) planOne(s *subscriber, at time.Time, e *BatchEvent) (message, bool) {
	a := e.Of
	if a == nil {
		return message{}, false
	}
	episode := EpisodeKey(p.instance, a)
	k := toldKey{s.ID, episode}
	t := p.told[k]
	switch e.Kind {
	case monolith.EventOpened, monolith.EventRaised, monolith.EventUnsilenced:
		if e.Kind == monolith.EventUnsilenced && t != nil {
			return message{}, false // it was told before it became quiet
		}
		if !tells(s, e) || t == nil && s.Declines(a) != "" || t != nil && t.due.After(at) {
			return message{}, false // what is still to be told is told as it is then
		}
		return p.problem(s, at, e, k, t), true
	case monolith.EventLowered:
		if t == nil || t.due.After(at) || !tells(s, e) || !s.Recovery && !s.keyed {
			return message{}, false
		}
		return message{sub: s, kind: monolith.NoticeLowered, alerts: []*monolith.Alert{a}, about: e, key: t.key, due: s.hours.next(at)}, true
	case monolith.EventClosed:
		if t == nil || !t.started && t.due.After(at) {
			return message{}, false // its message is dropped when it is due, or its digest says that it is over
		}
		if !s.keyed && (!s.Recovery || !tells(s, e) || a.Reason == monolith.ClosedDisabled) {
			return message{}, false
		}
		if t.digest && t.due.After(at) {
			return message{}, false
		}
		return message{sub: s, kind: monolith.NoticeRecovery, alerts: []*monolith.Alert{a}, about: e, key: t.key, due: s.hours.next(at)}, true
	case monolith.EventAcknowledged, monolith.EventTaken:
		if t == nil || !s.keyed {
			return message{}, false
		}
		return message{sub: s, kind: monolith.NoticeAcknowledged, alerts: []*monolith.Alert{a}, about: e, key: t.key, due: later(at, t.due)}, true
	}
	return message{}, false // flapping stands in the message of the opening that made it so
}

// tells reports whether an event is told to a subscription: it is not quiet, or only because of a cause of which the
// subscription is not told.
func tells(s *subscriber, e *BatchEvent) bool {
	if e.Tell {
		return true
	}
	a := e.Of
	return e.Cause != nil && s.Declines(e.Cause) != "" && !a.Maintenance && !a.Silenced.After(e.At)
}

// problem plans the message that an alert is open, or worse, and remembers it.
func (p *planner) problem(s *subscriber, at time.Time, e *BatchEvent, k toldKey, t *told) message {
	a := e.Of
	due := later(at, a.Opened.Add(s.Delay))
	switch {
	case e.Kind == monolith.EventUnsilenced:
		due = later(due, at.Add(gatherAgain))
	case t != nil || e.Kind != monolith.EventOpened || a.Rule != RuleUnreachable:
	case a.Level < monolith.LevelCritical:
		due = later(due, at.Add(gatherUnreachable))
	default:
		due = later(due, at.Add(gatherShort))
	}
	due = s.hours.next(due).Truncate(time.Millisecond) // as it is kept
	if t == nil {
		t = &told{key: k.episode}
		p.told[k] = t
	}
	t.due, t.after, t.digest = due, due, false
	return message{sub: s, kind: monolith.NoticeProblem, alerts: []*monolith.Alert{a}, about: e, key: t.key, due: due, after: due}
}

// isOpening reports whether a message says that something is open.
func isOpening(k monolith.NoticeKind) bool {
	return k == monolith.NoticeProblem || k == monolith.NoticeReminder
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// together joins what one batch tells a subscription in the same way at the same time: it has one cause. What follows each
// alert by itself gets each.
func together(s *subscriber, list []message) []message {
	if s.keyed || len(list) < 2 {
		return list
	}
	var out []message
	for _, m := range list {
		i := slices.IndexFunc(out, func(o message) bool {
			return o.kind == m.kind && o.due.Equal(m.due) && (isOpening(m.kind) || o.key == m.key)
		})
		if i < 0 {
			out = append(out, m)
			continue
		}
		o := &out[i]
		if !slices.Contains(o.alerts, m.alerts[0]) {
			o.alerts, o.was = append(o.alerts, m.alerts...), append(o.was, m.was...)
		}
	}
	return out
}

// bound puts what is too much, or is to be gathered, into digests, and remembers under which key each alert was told.
func (p *planner) bound(s *subscriber, at time.Time, list []message) []message {
	if s.keyed {
		return list
	}
	f := p.flow[s.ID]
	if f == nil {
		f = &flow{}
		p.flow[s.ID] = f
	}
	for i := range list {
		m := &list[i]
		if m.was == nil {
			slices.SortStableFunc(m.alerts, func(a, b *monolith.Alert) int { return int(b.Level) - int(a.Level) })
		}
		switch {
		case s.Digest > 0:
			if !f.digest.After(at) {
				f.digest = s.hours.next(at.Add(s.Digest))
				f.count(f.digest)
			}
			p.gather(m, later(f.digest, m.due))
		case f.over(m.due, s.perHour()):
			if !f.digest.After(m.due) {
				f.digest = s.hours.next(f.room(m.due, s.perHour()))
				f.count(f.digest)
			}
			p.gather(m, f.digest)
		default:
			f.count(m.due)
			if m.kind == monolith.NoticeProblem && len(m.alerts) > 1 {
				m.key = EpisodeKey(p.instance, m.alerts[0])
				p.remember(m, func(t *told) { t.key = m.key })
			}
		}
	}
	return list
}

// digestPrefix begins the keys of digests.
const digestPrefix = "monolith-digest-"

// gather makes a message a part of the digest that is due at a moment. All parts have one key.
func (p *planner) gather(m *message, due time.Time) {
	tellsOpen := isOpening(m.kind)
	m.kind, m.due = monolith.NoticeDigest, due
	m.key = fmt.Sprintf("%s%d-%d", digestPrefix, m.sub.ID, due.UnixMilli())
	if tellsOpen {
		p.remember(m, func(t *told) { t.due, t.digest = due, true })
	}
}

// remember changes what is known of a message's alerts.
func (p *planner) remember(m *message, change func(*told)) {
	for _, a := range m.alerts {
		if t := p.told[toldKey{m.sub.ID, EpisodeKey(p.instance, a)}]; t != nil {
			change(t)
		}
	}
}

// count notes a message.
func (f *flow) count(due time.Time) {
	i, _ := slices.BinarySearchFunc(f.dues, due, time.Time.Compare)
	f.dues = slices.Insert(f.dues, i, due)
	if cut := len(f.dues) - 2*maxPerHour; cut > 0 {
		f.dues = slices.Delete(f.dues, 0, cut)
	}
}

// within gives the messages of the hour that ends at a moment.
func (f *flow) within(due time.Time) []time.Time {
	from, _ := slices.BinarySearchFunc(f.dues, due.Add(-time.Hour).Add(time.Nanosecond), time.Time.Compare)
	to, _ := slices.BinarySearchFunc(f.dues, due.Add(time.Nanosecond), time.Time.Compare)
	return f.dues[from:to]
}

// over reports whether one more message at a moment is more than so many in an hour.
func (f *flow) over(due time.Time, most int) bool { return len(f.within(due)) >= most }

// room gives when there is room again.
func (f *flow) room(due time.Time, most int) time.Time {
	hour := f.within(due)
	return hour[len(hour)-most].Add(time.Hour)
}

package alerts

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"monolith"
)

// builder makes the batch of one moment. Its methods are called with Service.mu held, but saves.
type builder struct {
	s      *Service
	at     time.Time
	batch  *Batch
	alerts []*monolith.Alert // in memory, beside the batch's copies
	copies map[*monolith.Alert]*monolith.Alert
}

func newBuilder(s *Service, at time.Time) *builder {
	return &builder{s: s, at: at, batch: &Batch{At: at, States: map[monolith.ServerID][]byte{}}, copies: map[*monolith.Alert]*monolith.Alert{}}
}

// change puts an alert into the batch, as it is now.
func (b *builder) change(a *monolith.Alert) *monolith.Alert {
	c := b.copies[a]
	if c == nil {
		c = &monolith.Alert{}
		b.copies[a] = c
		b.batch.Alerts = append(b.batch.Alerts, c)
		b.alerts = append(b.alerts, a)
	}
	*c = *a
	return c
}

// event adds an event of an alert that was put into the batch.
func (b *builder) event(a *monolith.Alert, kind monolith.AlertEventKind, by, text, quiet string) {
	e := &BatchEvent{Of: b.change(a), Tell: quiet == "", Quiet: quiet}
	if cause := b.cause(a); cause != nil {
		copied := *cause
		e.Cause = &copied
	}
	e.At, e.Kind, e.Level, e.By, e.Text = b.at, kind, a.Level, by, text
	b.batch.Events = append(b.batch.Events, e)
}

// take takes in a transition.
func (b *builder) take(t *Transition) {
	s := b.s
	a := s.open[t.Key]
	switch {
	case t.Kind == monolith.EventOpened && a == nil && !s.isWatched(t.Key.Server):
		return // it was paused or removed while its poll was judged: nothing would close the alert
	case t.Kind == monolith.EventOpened && a == nil:
		a = t.Alert
		s.open[t.Key] = a
		b.addOthers(a)
		b.quieten(a)
		b.event(a, t.Kind, "", t.Text, b.quiet(a))
	case a == nil:
		return // it was never open here
	case t.Kind == monolith.EventClosed:
		quiet := b.quiet(a)
		a.Closed, a.Reason, a.Unknown = b.at, t.Reason, ""
		delete(s.open, t.Key)
		s.noteFade(a, b.at)
		b.event(a, t.Kind, "", t.Text, quiet)
	case t.Kind == monolith.EventFlapping:
		a.Flapping = true
		b.event(a, t.Kind, "", t.Text, b.quiet(a))
	case t.Kind == "":
		a.Unknown = t.Unknown
		b.change(a)
	default:
		kind := t.Kind
		if kind == monolith.EventOpened { // the engine had lost its memory of it
			if kind = monolith.EventRaised; t.To <= a.Level {
				kind = monolith.EventLowered
			}
			if t.To == a.Level {
				return
			}
		}
		a.Level, a.Peak, a.Changed, a.Unknown = t.To, max(a.Peak, t.To), b.at, ""
		if t.Alert != nil {
			a.Title, a.Summary, a.Text, a.Formula, a.Values, a.Remedy = t.Alert.Title, t.Alert.Summary, t.Alert.Text, t.Alert.Formula, t.Alert.Values, t.Alert.Remedy
			b.addOthers(a)
		}
		b.quieten(a)
		b.event(a, kind, "", t.Text, b.quiet(a))
	}
}

// addOthers names the other servers that an alert concerns: those on the same machine, and the replicas of a server that
// can't be reached.
func (b *builder) addOthers(a *monolith.Alert) {
	if words := b.s.hostWords(a); words != "" {
		a.Text += " " + words
	}
	if a.Rule != RuleUnreachable {
		return
	}
	var names []string
	for _, id := range b.s.engine.ReplicasOf(a.Server) {
		if srv := b.s.servers[id]; srv != nil {
			names = append(names, srv.Name)
		}
	}
	if len(names) > 0 {
		a.Text += " It is the source of " + strings.Join(names, ", ") + ", whose replication stands still."
	}
}

// quieten marks an alert with what keeps it from being told.
func (b *builder) quieten(a *monolith.Alert) {
	a.Maintenance = InMaintenance(b.s.windows, a.Server, a.Group, b.at) != nil
	a.Silenced = b.silencedUntil(a)
}

func (b *builder) silencedUntil(a *monolith.Alert) time.Time {
	s := SilenceOf(b.s.silences, a, b.at)
	switch {
	case s == nil:
		return time.Time{}
	case s.To.IsZero():
		return monolith.UntilClosed()
	}
	return s.To
}

// quiet gives why nobody is told of an alert now; "" when people are.
func (b *builder) quiet(a *monolith.Alert) string {
	if parent := b.s.causes(b.at).parent(a); parent != nil {
		return "told by " + quoted(parent.Title) + " of " + quotedOr(parent.ServerName, "Monolith itself")
	}
	if a.Parent != 0 {
		return "told by another alert"
	}
	if w := InMaintenance(b.s.windows, a.Server, a.Group, b.at); w != nil {
		return "maintenance: " + w.Title
	}
	if a.Maintenance {
		return "it opened in maintenance and was never told"
	}
	if !a.Silenced.IsZero() && a.Silenced.After(b.at) {
		return "silenced"
	}
	return ""
}

// cause gives the alert that speaks for another one, or nil.
func (b *builder) cause(a *monolith.Alert) *monolith.Alert {
	if parent := b.s.causes(b.at).parent(a); parent != nil {
		return parent
	}
	return b.s.byID(a.Parent)
}

func quotedOr(s, other string) string {
	if s == "" {
		return other
	}
	return quoted(s)
}

// causes gathers what speaks for other alerts. s.mu is held.
func (s *Service) causes(at time.Time) *causes {
	c := &causes{network: s.open[monolith.AlertKey{Rule: RuleNetwork}], down: map[monolith.ServerID]*monolith.Alert{}}
	for key, a := range s.open {
		if key.Rule == RuleUnreachable {
			c.down[key.Server] = a
		}
	}
	c.source = func(a *monolith.Alert) monolith.ServerID {
		if len(c.down) == 0 || !channelRule(a.Rule) {
			return 0
		}
		return s.engine.SourceOf(a.Server, a.Instance)
	}
	var leaders map[hostThing]*monolith.Alert // worked out when one is asked for
	c.leader = func(a *monolith.Alert) *monolith.Alert {
		thing, ok := s.hostThingOf(a)
		if !ok {
			return nil
		}
		if leaders == nil {
			leaders = s.leaders(c, at)
		}
		return leaders[thing]
	}
	return c
}

// saves adds the engine's memory of a server. Service.mu is not held: saving takes the server's own lock.
func (b *builder) saves(id monolith.ServerID) {
	if id == 0 {
		return
	}
	blob, err := b.s.engine.Save(id)
	if err != nil {
		b.s.log.Error("the memory of a server's rules could not be saved", "server_id", int64(id), "error", err)
		return
	}
	b.batch.States[id] = blob
}

// reparent looks for each open alert which other one speaks for it now, and tells those that nobody speaks for any more.
// s.writing is held.
func (s *Service) reparent(ctx context.Context, at time.Time) {
	if b := s.reparented(at); !b.batch.Empty() {
		s.commit(ctx, b)
	}
}

// reparented makes the batch of alerts for which another one speaks now, or none any more.
func (s *Service) reparented(at time.Time) *builder {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := newBuilder(s, at)
	c := s.causes(at)
	for _, key := range s.sortedOpen() {
		a := s.open[key]
		if !s.isWatched(key.Server) {
			continue // it closes now, with its server
		}
		var id monolith.AlertID
		if parent := c.parent(a); parent != nil {
			if parent.ID == 0 {
				continue // the store has not given it one yet
			}
			id = parent.ID
		} else if s.fades(a, at) {
			continue
		}
		if a.Parent == id {
			continue
		}
		was := a.Parent
		a.Parent = id
		b.change(a)
		if was != 0 && id == 0 {
			b.quieten(a)
			b.event(a, monolith.EventUnsilenced, "", "it is still open now that its cause is over", b.quiet(a))
		}
	}
	return b
}

// sortedOpen gives the keys of the open alerts in a fixed order. s.mu is held.
func (s *Service) sortedOpen() []monolith.AlertKey {
	return slices.SortedFunc(maps.Keys(s.open), func(a, b monolith.AlertKey) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Instance, b.Instance))
	})
}

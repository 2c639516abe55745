package alerts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"monolith"
)

// remind gives the reminders that are due: alerts that are open, and nobody has said that they know. What it gives counts as
// told; [planner.forgo] takes that back.
func (p *planner) remind(at time.Time, open []monolith.Alert) []message {
	p.mu.Lock()
	defer p.mu.Unlock()
	causes := byID(open)
	var out []message
	for _, s := range p.subs {
		if s.off() != "" || s.Repeat <= 0 || s.hours.next(at).After(at) {
			continue
		}
		var mine []message
		for i := range open { // the worst first
			a := &open[i]
			t := p.told[toldKey{s.ID, EpisodeKey(p.instance, a)}]
			if t == nil || a.ID == 0 || at.Sub(t.due) < s.Repeat || silent(a, at) != "" || s.Declines(a) != "" {
				continue
			}
			if cause := causes[a.Parent]; a.Parent != 0 && (cause == nil || s.Declines(cause) == "") {
				continue
			}
			mine = append(mine, message{sub: s, kind: monolith.NoticeReminder, alerts: []*monolith.Alert{a}, key: t.key, due: at, after: at, was: []time.Time{t.due}})
			t.due, t.digest = at, false
		}
		out = append(out, p.bound(s, at, together(s, mine))...)
	}
	return out
}

// silent says why an open alert is not told again; "" when it is.
func silent(a *monolith.Alert, at time.Time) string {
	switch {
	case !a.AckedAt.IsZero():
		return "it was acknowledged"
	case !a.TakenAt.IsZero():
		return "somebody took it"
	case a.Maintenance:
		return "maintenance"
	case a.Silenced.After(at):
		return "silenced"
	}
	return ""
}

// forgo takes back what was planned and could not be written.
func (p *planner) forgo(list []message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range list {
		for i, a := range m.alerts {
			if t := p.told[toldKey{m.sub.ID, EpisodeKey(p.instance, a)}]; t != nil && i < len(m.was) {
				if t.due, t.digest = m.was[i], false; t.due.IsZero() {
					delete(p.told, toldKey{m.sub.ID, EpisodeKey(p.instance, a)})
				}
			}
		}
		if m.kind == monolith.NoticeQuiet {
			delete(p.quiet, m.sub.ID)
		}
	}
}

// quietLate is how late the daily line may come: later it is left out for the day.
const quietLate = 6 * time.Hour

// quietLines gives the daily lines that are due: that all is quiet, or what is open.
func (p *planner) quietLines(at time.Time, open []monolith.Alert) []message {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []message
	for _, s := range p.subs {
		minutes, err := minuteOf(s.Quiet)
		if s.off() != "" || s.Quiet == "" || err != nil {
			continue
		}
		y, m, d := at.In(s.hours.zone).Date()
		due := s.hours.moment(time.Date(y, m, d, 12, 0, 0, 0, time.UTC), minutes)
		if at.Before(due) || at.Sub(due) > quietLate || due.Before(s.Created) || !p.quiet[s.ID].Before(due) {
			continue
		}
		line := message{sub: s, kind: monolith.NoticeQuiet, key: fmt.Sprintf("monolith-quiet-%d-%d", s.ID, due.Unix()), due: at, after: at}
		for i := range open {
			if s.Declines(&open[i]) == "" {
				line.open = append(line.open, open[i])
			}
		}
		p.quiet[s.ID] = at
		out = append(out, line)
	}
	return out
}

// start notes that the sending of a message about open alerts begins: from now on their end is told too.
func (p *planner) start(sub int64, alerts []*monolith.Alert) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range alerts {
		if t := p.told[toldKey{sub, EpisodeKey(p.instance, a)}]; t != nil {
			t.started = true
		}
	}
}

// sent notes that a message about open alerts was acknowledged.
func (p *planner) sent(sub int64, alerts []*monolith.Alert) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range alerts {
		if t := p.told[toldKey{sub, EpisodeKey(p.instance, a)}]; t != nil {
			t.sent = true
		}
	}
}

// forgetUnsent notes that an alert was not told after all, so that it may be told another time. What was told before stays.
func (p *planner) forgetUnsent(sub int64, a *monolith.Alert) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := toldKey{sub, EpisodeKey(p.instance, a)}
	if t := p.told[k]; t != nil && !t.sent {
		delete(p.told, k)
	}
}

// recall takes one entry of the outbox about an open alert into the memory, as at a start. Entries come oldest first.
func (p *planner) recall(d *monolith.Delivery, a *monolith.Alert, due, after time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.subs, func(s *subscriber) bool { return s.ID == d.Subscription })
	if i < 0 {
		return
	}
	k := toldKey{d.Subscription, EpisodeKey(p.instance, a)}
	t := p.told[k]
	if t == nil {
		t = &told{key: k.episode}
		p.told[k] = t
	}
	if !gathered(d) {
		t.key = d.Key
	}
	t.due, t.after, t.digest = due, after, gathered(d)
	t.sent = t.sent || d.State == monolith.DeliverySent
	t.started = t.started || d.Attempts > 0 || d.State == monolith.DeliverySent
}

// recallFlow takes a message of the outbox into account that was sent lately or waits.
func (p *planner) recallFlow(d *monolith.Delivery, due time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if d.Kind == monolith.NoticeQuiet {
		p.quiet[d.Subscription] = later(p.quiet[d.Subscription], d.Created)
		return
	}
	f := p.flow[d.Subscription]
	if f == nil {
		f = &flow{}
		p.flow[d.Subscription] = f
	}
	if gathered(d) {
		if slices.ContainsFunc(f.dues, due.Equal) {
			return // another part of it was counted
		}
		f.digest = later(f.digest, due)
	}
	f.count(due)
}

// gathered reports whether an entry is a part of a digest: all of a key are sent as one message.
func gathered(d *monolith.Delivery) bool { return strings.HasPrefix(d.Key, digestPrefix) }

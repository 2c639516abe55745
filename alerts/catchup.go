package alerts

import (
	"time"

	"monolith"
)

// putSlack is how long it may take until a subscription that was kept is in force.
const putSlack = 5 * time.Second

// since gives the moment from which a subscription is told of things as they happen: when it, or its channel, was last
// changed.
func (s *subscriber) since() time.Time { return later(s.Updated, s.channel.Updated) }

// missed decides about an open alert of which a subscription was not told: whether it was as it is already when the
// subscription was made, changed or switched on, and is to be told for that. why says why not; "" when it is, at due. cause is
// the alert that speaks for it, or nil.
func (s *subscriber) missed(a, cause *monolith.Alert, at time.Time) (due time.Time, why string) {
	switch {
	case s.off() != "":
		return due, s.off()
	case s.Declines(a) != "":
		return due, s.Declines(a)
	case a.Changed.After(s.since().Add(putSlack)):
		return due, "when it opened, the subscription did not choose it; it is told when its level rises"
	case !a.Silenced.IsZero():
		return due, "silenced" // told by the event that ends it
	case silent(a, at) != "":
		return due, silent(a, at)
	case cause != nil && cause.Open() && s.Declines(cause) == "":
		return due, "told by " + quoted(cause.Title)
	}
	return s.hours.next(later(at, a.Opened.Add(s.Delay))).Truncate(time.Millisecond), ""
}

// catchUp gives what is to be told of alerts that were open already when a subscription was made, changed or switched on: once
// each, all that is due at one time in one message. What it gives counts as told; [planner.forgo] takes that back.
func (p *planner) catchUp(at time.Time, open []monolith.Alert) []message {
	p.mu.Lock()
	defer p.mu.Unlock()
	causes := byID(open)
	var out []message
	for _, s := range p.subs {
		var mine []message
		for i := range open { // the worst first
			a := &open[i]
			k := toldKey{s.ID, EpisodeKey(p.instance, a)}
			if a.ID == 0 || p.told[k] != nil {
				continue // it is just opening, or was told
			}
			due, why := s.missed(a, causes[a.Parent], at)
			if why != "" {
				continue
			}
			p.told[k] = &told{key: k.episode, due: due, after: due}
			mine = append(mine, message{sub: s, kind: monolith.NoticeProblem, alerts: []*monolith.Alert{a}, key: k.episode, due: due, after: due, already: true, was: []time.Time{{}}})
		}
		list := p.bound(s, at, together(s, mine))
		for i := range list {
			if len(list[i].alerts) > 1 {
				list[i].kind = monolith.NoticeDigest
			}
		}
		out = append(out, list...)
	}
	return out
}

func byID(list []monolith.Alert) map[monolith.AlertID]*monolith.Alert {
	m := make(map[monolith.AlertID]*monolith.Alert, len(list))
	for i := range list {
		m[list[i].ID] = &list[i]
	}
	return m
}

// foretell says of the open alerts that a subscription chooses what it is told of them if it is kept at a moment.
func (p *planner) foretell(s *subscriber, at time.Time, open []monolith.Alert) []monolith.Foretold {
	p.mu.Lock()
	defer p.mu.Unlock()
	causes := byID(open)
	var out []monolith.Foretold
	for i := range open {
		a := &open[i]
		if s.Declines(a) != "" {
			continue
		}
		one := monolith.Foretold{Alert: *a, Why: "it was told already"}
		if p.told[toldKey{s.ID, EpisodeKey(p.instance, a)}] == nil || s.ID == 0 {
			one.At, one.Why = s.missed(a, causes[a.Parent], at)
		}
		if !one.At.IsZero() {
			one.Why = "it is open already" + s.because(a, one.At, at)
			if s.Digest > 0 {
				one.At = s.hours.next(later(one.At, at.Add(s.Digest)))
			}
		}
		out = append(out, one)
	}
	return out
}

// because says why a message about an open alert comes at a moment and not now; "" when it does.
func (s *subscriber) because(a *monolith.Alert, due, now time.Time) string {
	delayed := later(now, a.Opened.Add(s.Delay))
	switch {
	case due.Sub(delayed) >= time.Second:
		return "; when its hours begin, if it is still open"
	case delayed.After(now):
		return "; after the delay, if it is still open"
	case s.Digest > 0:
		return "; in a digest"
	}
	return ""
}

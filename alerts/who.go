package alerts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"monolith"
)

// Who says of every subscription whether it is told of an alert, when and why, or why not, in the order of their names.
func (t *Telling) Who(ctx context.Context, id monolith.AlertID) ([]monolith.Audience, error) {
	a, err := t.cfg.Alert(ctx, id)
	if err != nil {
		return nil, err
	}
	list, err := t.cfg.Store.Deliveries(ctx, monolith.DeliveryQuery{Alert: id, Limit: 5000})
	if err != nil {
		return nil, err
	}
	var cause *monolith.Alert
	if a.Parent != 0 {
		if c, err := t.cfg.Alert(ctx, a.Parent); err == nil {
			cause = &c
		}
	}
	t.plan.mu.Lock()
	subs := slices.Clone(t.plan.subs)
	t.plan.mu.Unlock()
	slices.SortFunc(subs, func(a, b *subscriber) int { return cmp.Compare(a.Name, b.Name) })
	out := make([]monolith.Audience, 0, len(subs))
	for _, s := range subs {
		out = append(out, audience(s, &a, cause, list, t.now()))
	}
	return out, nil
}

// audience says it of one subscription. list are the messages about the alert, newest first.
func audience(s *subscriber, a, cause *monolith.Alert, list []monolith.Delivery, now time.Time) monolith.Audience {
	w := monolith.Audience{Subscription: s.ID, Name: s.Name, Channel: s.Channel, ChannelName: s.channel.Name}
	for i := range list {
		d := &list[i]
		if d.Subscription != s.ID || !isOpening(d.Kind) && d.Kind != monolith.NoticeDigest {
			continue
		}
		switch d.State {
		case monolith.DeliverySent:
			w.Told, w.At, w.Why = true, d.Done, "told at "+s.hours.inWords(d.Done)
			return s.withReminder(w, a, d.Done, now)
		case monolith.DeliveryPending, monolith.DeliveryClaimed:
			w.Told, w.At = true, d.Next
			w.Why = s.plan(a, d)
			if d.Attempts > 0 && d.Answer != "" {
				w.Why = "tried again at " + s.hours.inWords(d.Next) + ": " + d.Answer
			}
			return w
		case monolith.DeliveryFailed:
			w.Why = "not told, it was given up: " + d.Answer
			return w
		case monolith.DeliveryDropped:
			if w.Why == "" {
				w.Why = "not told: " + d.Answer
			}
		}
	}
	off := s.off()
	switch {
	case off != "":
		w.Why = off
	case s.Declines(a) != "":
		w.Why = s.Declines(a)
	case w.Why != "":
	case !a.Open():
		w.Why = "not told, and it is over"
	case a.Maintenance:
		w.Why = "not told in maintenance; told when that is over, if it is still open then"
	case a.SilencedUntilClosed():
		w.Why = "silenced until it closes"
	case a.Silenced.After(now):
		w.Told, w.At = true, s.hours.next(a.Silenced)
		w.Why = "silenced; told when that is over, if it is still open then"
	case cause != nil && cause.Open() && s.Declines(cause) == "":
		w.Why = "told by " + quoted(cause.Title)
	default:
		due, why := s.missed(a, cause, now)
		if w.Told, w.At = why == "", due; w.Told {
			w.Why = "told at " + s.hours.inWords(due) + ": it was open already when the subscription was made or changed"
		} else {
			w.Why = "not told: " + why
		}
	}
	return w
}

// plan says why a message is planned for its moment.
func (s *subscriber) plan(a *monolith.Alert, d *monolith.Delivery) string {
	var why []string
	at := d.Next
	if s.Delay > 0 && at.Sub(a.Opened) >= s.Delay {
		why = append(why, "after its delay")
	}
	if s.hours.next(at.Add(-time.Second)).Equal(at) && len(s.hours.spans) > 0 {
		why = append(why, "at the beginning of its hours")
	}
	switch {
	case s.Digest > 0:
		why = append(why, "in a digest")
	case d.Kind == monolith.NoticeDigest:
		why = append(why, fmt.Sprintf("in a digest since there were %d messages within an hour", s.perHour()))
	}
	text := "told at " + s.hours.inWords(at)
	if len(why) > 0 {
		text += ", " + strings.Join(why, ", ")
	}
	return text + ", if it is still open then"
}

// withReminder adds when it is told again.
func (s *subscriber) withReminder(w monolith.Audience, a *monolith.Alert, last, now time.Time) monolith.Audience {
	if s.Repeat <= 0 || !a.Open() || s.off() != "" {
		return w
	}
	if why := silent(a, now); why != "" {
		w.Why += "; not again: " + why
		return w
	}
	w.Why += "; again at " + s.hours.inWords(s.hours.next(later(last.Add(s.Repeat), now)))
	return w
}

package alerts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"monolith"
	"monolith/alerts/notify"
)

// ruling says what is to be done with an entry of the outbox when its turn comes: to send the notice, to drop it, to wait,
// or to give it up.
type ruling struct {
	notice *notify.Notice
	opens  []*monolith.Alert // of which it says that they are open
	drop   string
	wait   time.Duration
	broken error
}

// How many changes stand in a message, and how old they may be.
const (
	mostChanges   = 5
	changesWithin = 24 * time.Hour
	// storeAway is how long an entry waits when the store can't say what has become of its alerts.
	storeAway = 30 * time.Second
)

func unpack(payload []byte) (e envelope, err error) {
	if err := json.Unmarshal(payload, &e); err != nil {
		return e, notify.Permanent(fmt.Errorf("alerts: the notice can't be read: %w", err))
	}
	return e, nil
}

// prepare decides about an entry, or all parts of a digest, and makes its notice complete. force sends it whatever has
// become of its alerts.
func (t *Telling) prepare(ctx context.Context, parts []monolith.Delivery, force bool) ruling {
	first := &parts[0]
	sub := t.plan.subscriber(first.Subscription)
	t.mu.Lock()
	channel, there := t.channels[first.Channel]
	t.mu.Unlock()
	switch {
	case !there:
		return ruling{drop: "the channel was removed"}
	case sub == nil:
		return ruling{drop: "the subscription was removed"}
	case !channel.Enabled:
		return t.letGo(ctx, sub, parts, "the channel is switched off")
	case !sub.Enabled:
		return t.letGo(ctx, sub, parts, "the subscription is switched off")
	}
	e, err := unpack(first.Payload)
	if err != nil {
		return ruling{broken: err}
	}
	e.Key = first.Key
	if first.Kind == monolith.NoticeQuiet {
		return ruling{notice: &e.Notice}
	}
	if wait, err := t.behind(ctx, first); err != nil {
		return ruling{wait: storeAway}
	} else if wait > 0 {
		return ruling{wait: wait}
	}
	if gathered(first) {
		return t.prepareDigest(ctx, sub, parts, force)
	}
	alerts, err := t.alertsOf(ctx, first)
	if err != nil {
		return ruling{wait: storeAway}
	}
	if !isOpening(first.Kind) && first.Kind != monolith.NoticeDigest {
		return t.prepareStep(ctx, first, &e, alerts, force)
	}
	return t.prepareOpen(ctx, sub, first, &e, alerts, force)
}

// letGo drops entries of a subscription that is told of nothing now. What it was never told of is told when it is again.
func (t *Telling) letGo(ctx context.Context, sub *subscriber, parts []monolith.Delivery, why string) ruling {
	for i := range parts {
		alerts, err := t.alertsOf(ctx, &parts[i])
		if err != nil {
			return ruling{wait: storeAway}
		}
		for _, a := range alerts {
			t.plan.forgetUnsent(sub.ID, a)
		}
	}
	return ruling{drop: why}
}

// alertsOf gives the alerts of an entry as they are now; those that are gone are left out.
func (t *Telling) alertsOf(ctx context.Context, d *monolith.Delivery) ([]*monolith.Alert, error) {
	var out []*monolith.Alert
	for _, id := range d.Alerts {
		a, err := t.cfg.Alert(ctx, id)
		if errors.Is(err, monolith.ErrNotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, &a)
	}
	return out, nil
}

// behind says how long an entry must wait for an older one of the same alert that is still to be sent over the channel: a
// recovery never comes before its problem.
func (t *Telling) behind(ctx context.Context, d *monolith.Delivery) (time.Duration, error) {
	if len(d.Alerts) == 0 || gathered(d) {
		return 0, nil
	}
	list, err := t.cfg.Store.Deliveries(ctx, monolith.DeliveryQuery{Channel: d.Channel, Subscription: d.Subscription, Alert: d.Alerts[0],
		States: []monolith.DeliveryState{monolith.DeliveryPending, monolith.DeliveryClaimed}})
	if err != nil {
		return 0, err
	}
	now := t.now()
	for i := range list {
		if o := &list[i]; o.ID < d.ID && o.Key == d.Key && (o.Attempts > 0 || !o.Next.After(now)) {
			// One that is being sent now ends sooner than its lease.
			return min(max(o.Next.Sub(now), time.Second), longestRetry), nil
		}
	}
	return 0, nil
}

// prepareOpen decides about a message that alerts are open: those that need not be told any more are left out.
func (t *Telling) prepareOpen(ctx context.Context, sub *subscriber, d *monolith.Delivery, e *envelope, alerts []*monolith.Alert, force bool) ruling {
	now := t.now()
	delayed := e.Due.Sub(d.Created) >= time.Second
	var keep []*monolith.Alert
	why := "the alert was removed"
	for _, a := range alerts {
		reason, err := t.unwanted(ctx, sub, a, e.After, now, delayed)
		if err != nil {
			return ruling{wait: storeAway}
		}
		if reason == "" || force {
			keep = append(keep, a)
			continue
		}
		why = reason
		if d.Kind == monolith.NoticeReminder && a.Open() {
			continue // it was told before
		}
		t.plan.forgetUnsent(sub.ID, a)
	}
	if len(keep) == 0 {
		return ruling{drop: why}
	}
	t.plan.start(sub.ID, keep)
	n := &e.Notice
	if n.Alert == nil { // several servers
		n.Others, n.More = nil, 0
		e.setOthers(keep)
		return ruling{notice: n, opens: keep}
	}
	i := slices.IndexFunc(keep, func(a *monolith.Alert) bool { return a.ID == d.Alerts[0] })
	if i < 0 || delayed || d.Kind == monolith.NoticeReminder {
		i = max(i, 0)
		a := *keep[i]
		n.Alert = &a
	}
	n.Alert.ID, n.Alert.Server = keep[i].ID, keep[i].Server
	n.Others, n.More = nil, 0
	e.setOthers(append(slices.Clone(keep[:i]), keep[i+1:]...))
	t.addChanges(ctx, n)
	return ruling{notice: n, opens: keep}
}

// unwanted says why an alert is not to be told as open; "" when it is.
func (t *Telling) unwanted(ctx context.Context, sub *subscriber, a *monolith.Alert, after, now time.Time, delayed bool) (string, error) {
	switch {
	case !a.Open() && a.Closed.Before(after):
		return "it was over before it was to be told", nil
	case a.Reason == monolith.ClosedDisabled:
		return "it was switched off before it was told", nil
	case !a.Open():
		return "", nil
	case a.Maintenance:
		return "maintenance", nil
	case a.Silenced.After(now):
		return "silenced", nil
	case delayed && len(sub.Levels) > 0 && !slices.Contains(sub.Levels, a.Level):
		return sub.Declines(a), nil
	}
	if a.Parent == 0 {
		return "", nil
	}
	cause, err := t.cfg.Alert(ctx, a.Parent)
	if err != nil && !errors.Is(err, monolith.ErrNotFound) {
		return "", err
	}
	if err == nil && cause.Open() && sub.Declines(&cause) == "" {
		return "told by " + quoted(cause.Title), nil
	}
	return "", nil
}

// prepareStep decides about a message on what became of an alert that was told: only who was told of it hears of that.
func (t *Telling) prepareStep(ctx context.Context, d *monolith.Delivery, e *envelope, alerts []*monolith.Alert, force bool) ruling {
	var keep []*monolith.Alert
	for _, a := range alerts {
		was, err := t.wasTold(ctx, d.Subscription, a.ID)
		if err != nil {
			return ruling{wait: storeAway}
		}
		if was || force {
			keep = append(keep, a)
		}
	}
	if len(keep) == 0 {
		return ruling{drop: "the problem was not told"}
	}
	n := &e.Notice
	if n.Alert == nil {
		n.Others, n.More = nil, 0
		e.setOthers(keep)
		return ruling{notice: n}
	}
	i := slices.IndexFunc(keep, func(a *monolith.Alert) bool { return a.ID == d.Alerts[0] })
	if i < 0 {
		i = 0
		a := *keep[0]
		n.Alert = &a
	}
	n.Alert.ID, n.Alert.Server = keep[i].ID, keep[i].Server
	n.Others, n.More = nil, 0
	e.setOthers(append(slices.Clone(keep[:i]), keep[i+1:]...))
	return ruling{notice: n}
}

// wasTold reports whether a subscription was told that an alert is open.
func (t *Telling) wasTold(ctx context.Context, sub int64, id monolith.AlertID) (bool, error) {
	list, err := t.cfg.Store.Deliveries(ctx, monolith.DeliveryQuery{Subscription: sub, Alert: id, States: []monolith.DeliveryState{monolith.DeliverySent}})
	return slices.ContainsFunc(list, func(d monolith.Delivery) bool { return isOpening(d.Kind) || d.Kind == monolith.NoticeDigest }), err
}

// prepareDigest makes one message of all parts of a digest: each alert as it is now.
func (t *Telling) prepareDigest(ctx context.Context, sub *subscriber, parts []monolith.Delivery, force bool) ruling {
	first := &parts[0]
	sent, err := t.cfg.Store.Deliveries(ctx, monolith.DeliveryQuery{Channel: first.Channel, Subscription: sub.ID, States: []monolith.DeliveryState{monolith.DeliverySent},
		From: first.Created.Add(-maxDigest - time.Hour), Limit: 5000})
	if err != nil {
		return ruling{wait: storeAway}
	}
	if i := slices.IndexFunc(sent, func(d monolith.Delivery) bool { return d.Key == first.Key }); i >= 0 {
		// All parts were due when the first was sent, so it held this one too: Monolith was stopped before that was kept.
		return ruling{drop: fmt.Sprintf("told in the digest of delivery %d", sent[i].ID)}
	}
	now := t.now()
	notice := envelope{}
	notice.Already = true
	seen := map[monolith.AlertID]bool{}
	var keep []*monolith.Alert
	var reasons []string
	for i := range parts {
		e, err := unpack(parts[i].Payload)
		if err != nil {
			continue
		}
		notice.Already = notice.Already && e.Already
		notice.At = e.Due // the same for all parts, and if it is sent again: a mail's id is made of it
		alerts, err := t.alertsOf(ctx, &parts[i])
		if err != nil {
			return ruling{wait: storeAway}
		}
		for _, a := range alerts {
			reason, err := t.unwanted(ctx, sub, a, e.After, now, true)
			switch {
			case err != nil:
				return ruling{wait: storeAway}
			case seen[a.ID]:
			case reason == "" || force:
				seen[a.ID] = true
				keep = append(keep, a)
			default:
				reasons = append(reasons, reason)
				t.plan.forgetUnsent(sub.ID, a)
			}
		}
	}
	if len(keep) == 0 {
		return ruling{drop: strings.Join(slices.Compact(reasons), "; ") + orElse(len(reasons) == 0, "the alerts were removed")}
	}
	t.plan.start(sub.ID, keep)
	slices.SortStableFunc(keep, func(a, b *monolith.Alert) int {
		x, y := brief(a), brief(b)
		return int(y.Level) - int(x.Level)
	})
	notice.Kind, notice.Key = monolith.NoticeDigest, first.Key
	notice.setOthers(keep)
	return ruling{notice: &notice.Notice, opens: keep}
}

func orElse(when bool, text string) string {
	if when {
		return text
	}
	return ""
}

// addChanges adds what changed on the server before the alert opened.
func (t *Telling) addChanges(ctx context.Context, n *notify.Notice) {
	if t.cfg.Changes == nil || n.Alert.Server == 0 {
		return
	}
	list, err := t.cfg.Changes(ctx, monolith.ChangeQuery{Server: n.Alert.Server, From: n.Alert.Opened.Add(-changesWithin), To: n.Alert.Opened.Add(time.Second), Limit: mostChanges})
	if err != nil {
		return // the message matters more
	}
	n.Changes = nil
	for _, c := range list {
		text := c.Name + ": " + shorten(c.From, 100) + " → " + shorten(c.To, 100)
		switch {
		case c.First:
			text = c.Name + ": " + shorten(c.To, 100)
		case c.Gone:
			text = c.Name + " is gone, it was " + shorten(c.From, 100)
		}
		n.Changes = append(n.Changes, notify.Change{At: c.At, Text: text})
	}
}

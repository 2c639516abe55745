package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"monolith"
	"monolith/alerts/notify"
)

// Outbox keeps channels, subscriptions, templates and what is to be sent. Errors are [monolith.ErrNotFound],
// [monolith.ErrConflict] and [monolith.ErrUnavailable] inside.
type Outbox interface {
	Channels(ctx context.Context) ([]monolith.Channel, error)
	Channel(ctx context.Context, id int64) (monolith.Channel, error)
	PutChannel(ctx context.Context, c *monolith.Channel) error
	DeleteChannel(ctx context.Context, id int64) error

	Subscriptions(ctx context.Context) ([]monolith.Subscription, error)
	Subscription(ctx context.Context, id int64) (monolith.Subscription, error)
	PutSubscription(ctx context.Context, s *monolith.Subscription) error
	DeleteSubscription(ctx context.Context, id int64) error

	MessageTemplates(ctx context.Context) ([]monolith.MessageTemplate, error)
	PutMessageTemplate(ctx context.Context, m *monolith.MessageTemplate) error
	DeleteMessageTemplate(ctx context.Context, name string) error

	Setting(ctx context.Context, key string) (string, error)
	SetSetting(ctx context.Context, key, value string) error

	AddDeliveries(ctx context.Context, list []*monolith.Delivery) error
	// ClaimDeliveries lends entries that are due to a worker for some minutes, see [monolith.Delivery.Next].
	ClaimDeliveries(ctx context.Context, now time.Time, worker string, most int) ([]monolith.Delivery, error)
	FinishDelivery(ctx context.Context, worker string, d monolith.Delivery) error
	RetryDelivery(ctx context.Context, id int64) error
	Delivery(ctx context.Context, id int64) (monolith.Delivery, error)
	Deliveries(ctx context.Context, q monolith.DeliveryQuery) ([]monolith.Delivery, error)
	NextDelivery(ctx context.Context) (time.Time, error)
}

// envelope is what an entry of the outbox holds: the notice as it was, and what decides whether it is still wanted when it is
// due.
type envelope struct {
	notify.Notice
	Due   time.Time `json:"due"`
	After time.Time `json:"after,omitzero"` // an alert that was over before is not told
}

// Bounds of a notice: its entry must fit into a row.
const (
	maxOthers  = 50
	maxPayload = 400 << 10
)

// pack makes a notice of a message.
func (t *Telling) pack(m *message, at time.Time) ([]byte, error) {
	e := envelope{Due: m.due, After: m.after}
	e.Kind, e.Key, e.At, e.Already = m.kind, m.key, at, m.already
	switch {
	case m.kind == monolith.NoticeQuiet:
		e.Open = countOpen(m.open)
		e.setOthers(pointers(m.open))
	case m.kind == monolith.NoticeDigest || severalServers(m.alerts):
		e.Kind = monolith.NoticeDigest
		e.setOthers(m.alerts)
	default:
		a := *m.alerts[0]
		e.Alert = &a
		e.setOthers(m.alerts[1:])
		if t.cfg.Subject != nil {
			e.Server = t.cfg.Subject(a.Server)
		}
		if t.cfg.About != nil {
			e.About = t.cfg.About(a.Rule)
		}
		if m.kind == monolith.NoticeRecovery {
			e.Lasted = a.Closed.Sub(a.Opened)
		}
		if m.kind == monolith.NoticeAcknowledged {
			if e.By, e.Note = a.AckedBy, a.AckNote; m.about != nil && m.about.Kind == monolith.EventTaken {
				e.By, e.Note = a.Owner, ""
			}
		}
	}
	body, err := json.Marshal(e)
	if err == nil && len(body) > maxPayload && e.Alert != nil {
		// Never so long by itself; what can't be written would keep everything else from being written.
		e.Alert.Values, e.Alert.Remedy, e.Alert.Formula, e.Others, e.About = nil, nil, "", nil, ""
		body, err = json.Marshal(e)
	}
	if err != nil {
		return nil, fmt.Errorf("alerts: notice: %w", err)
	}
	return body, nil
}

// setOthers puts alerts into a notice in short, the rest as a number.
func (e *envelope) setOthers(list []*monolith.Alert) {
	for i, a := range list {
		if i == maxOthers {
			e.More = len(list) - i
			return
		}
		e.Others = append(e.Others, brief(a))
	}
}

// brief is an alert for a list: what, where, how bad. One that is over is ok.
func brief(a *monolith.Alert) monolith.Alert {
	b := *a
	b.Text, b.Formula, b.Values, b.Remedy = "", "", nil, nil
	if !b.Open() {
		b.Level = monolith.LevelOK
	}
	return b
}

func severalServers(list []*monolith.Alert) bool {
	for _, a := range list {
		if a.Server != list[0].Server {
			return true
		}
	}
	return false
}

func pointers(list []monolith.Alert) []*monolith.Alert {
	out := make([]*monolith.Alert, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

func countOpen(list []monolith.Alert) (c notify.Counts) {
	for i := range list {
		switch list[i].Level {
		case monolith.LevelCritical:
			c.Critical++
		case monolith.LevelWarn:
			c.Warn++
		default:
			c.Info++
		}
	}
	return c
}

// Plan adds to a batch the deliveries that tell people of its events. It is for [ServiceConfig.Plan].
func (t *Telling) Plan(_ context.Context, b *Batch) {
	for _, m := range t.plan.plan(b.At, b.Events) {
		body, err := t.pack(&m, b.At)
		if err != nil {
			t.log.Error("a message could not be made", "subscription", m.sub.Name, "error", err)
			continue
		}
		kind := m.kind
		if severalServers(m.alerts) {
			kind = monolith.NoticeDigest
		}
		b.Deliveries = append(b.Deliveries, &BatchDelivery{Of: m.alerts, About: m.about, Delivery: monolith.Delivery{
			Channel: m.sub.Channel, Subscription: m.sub.ID, Kind: kind, Key: m.key, State: monolith.DeliveryPending, Created: b.At, Next: m.due, Payload: body}})
	}
}

// write puts messages into the outbox that belong to no event: what was open already, reminders and the daily line.
func (t *Telling) write(ctx context.Context, list []message, at time.Time) {
	if len(list) == 0 {
		return
	}
	var out []*monolith.Delivery
	for i := range list {
		m := &list[i]
		body, err := t.pack(m, at)
		if err != nil {
			t.log.Error("a message could not be made", "subscription", m.sub.Name, "error", err)
			continue
		}
		d := &monolith.Delivery{Channel: m.sub.Channel, Subscription: m.sub.ID, Kind: m.kind, Key: m.key, State: monolith.DeliveryPending, Created: at, Next: m.due, Payload: body}
		for _, a := range m.alerts {
			d.Alerts = append(d.Alerts, a.ID)
		}
		out = append(out, d)
	}
	if err := t.cfg.Store.AddDeliveries(ctx, out); err != nil {
		t.plan.forgo(list)
		t.log.Warn("messages could not be written; they come later", "error", err)
		return
	}
	t.Wake()
}

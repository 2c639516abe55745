package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"monolith"
	"monolith/alerts/notify"
)

// memoryOutbox is an outbox in memory, with the rules of a store's.
type memoryOutbox struct {
	mu         sync.Mutex
	now        func() time.Time
	down       bool
	lastID     int64
	channels   []monolith.Channel
	subs       []monolith.Subscription
	templates  []monolith.MessageTemplate
	settings   map[string]string
	deliveries []monolith.Delivery // by id
}

func (m *memoryOutbox) lock() (func(), error) {
	m.mu.Lock()
	if m.down {
		m.mu.Unlock()
		return func() {}, fmt.Errorf("memory: %w", monolith.ErrUnavailable)
	}
	return m.mu.Unlock, nil
}

func (m *memoryOutbox) Channels(context.Context) ([]monolith.Channel, error) {
	unlock, err := m.lock()
	defer unlock()
	return slices.Clone(m.channels), err
}

func (m *memoryOutbox) Channel(_ context.Context, id int64) (monolith.Channel, error) {
	unlock, err := m.lock()
	defer unlock()
	for _, c := range m.channels {
		if c.ID == id && err == nil {
			return c, nil
		}
	}
	if err == nil {
		err = monolith.ErrNotFound
	}
	return monolith.Channel{}, err
}

func (m *memoryOutbox) PutChannel(_ context.Context, c *monolith.Channel) error {
	unlock, err := m.lock()
	defer unlock()
	for i := range m.channels {
		if m.channels[i].ID == c.ID && err == nil {
			m.channels[i] = *c
			return nil
		}
	}
	m.lastID++
	c.ID = m.lastID
	m.channels = append(m.channels, *c)
	return err
}

func (m *memoryOutbox) DeleteChannel(_ context.Context, id int64) error {
	unlock, err := m.lock()
	defer unlock()
	m.channels = slices.DeleteFunc(m.channels, func(c monolith.Channel) bool { return c.ID == id })
	return err
}

func (m *memoryOutbox) Subscriptions(context.Context) ([]monolith.Subscription, error) {
	unlock, err := m.lock()
	defer unlock()
	return slices.Clone(m.subs), err
}

func (m *memoryOutbox) Subscription(_ context.Context, id int64) (monolith.Subscription, error) {
	unlock, err := m.lock()
	defer unlock()
	for _, s := range m.subs {
		if s.ID == id {
			return s, err
		}
	}
	return monolith.Subscription{}, monolith.ErrNotFound
}

func (m *memoryOutbox) PutSubscription(_ context.Context, s *monolith.Subscription) error {
	unlock, err := m.lock()
	defer unlock()
	s.Updated = m.now()
	for i := range m.subs {
		if m.subs[i].ID == s.ID {
			m.subs[i] = *s
			return err
		}
	}
	m.lastID++
	s.ID = m.lastID
	m.subs = append(m.subs, *s)
	return err
}

func (m *memoryOutbox) DeleteSubscription(_ context.Context, id int64) error {
	unlock, err := m.lock()
	defer unlock()
	m.subs = slices.DeleteFunc(m.subs, func(s monolith.Subscription) bool { return s.ID == id })
	return err
}

func (m *memoryOutbox) MessageTemplates(context.Context) ([]monolith.MessageTemplate, error) {
	unlock, err := m.lock()
	defer unlock()
	return slices.Clone(m.templates), err
}

func (m *memoryOutbox) PutMessageTemplate(_ context.Context, t *monolith.MessageTemplate) error {
	unlock, err := m.lock()
	defer unlock()
	m.templates = append(slices.DeleteFunc(m.templates, func(o monolith.MessageTemplate) bool { return o.Name == t.Name }), *t)
	return err
}

func (m *memoryOutbox) DeleteMessageTemplate(_ context.Context, name string) error {
	unlock, err := m.lock()
	defer unlock()
	m.templates = slices.DeleteFunc(m.templates, func(o monolith.MessageTemplate) bool { return o.Name == name })
	return err
}

func (m *memoryOutbox) Setting(_ context.Context, key string) (string, error) {
	unlock, err := m.lock()
	defer unlock()
	if s, ok := m.settings[key]; ok {
		return s, err
	}
	return "", monolith.ErrNotFound
}

func (m *memoryOutbox) SetSetting(_ context.Context, key, value string) error {
	unlock, err := m.lock()
	defer unlock()
	m.settings[key] = value
	return err
}

func (m *memoryOutbox) AddDeliveries(_ context.Context, list []*monolith.Delivery) error {
	unlock, err := m.lock()
	defer unlock()
	if err != nil {
		return err
	}
	for _, d := range list {
		m.lastID++
		d.ID = m.lastID
		d.Created, d.Next = d.Created.Truncate(time.Millisecond), d.Next.Truncate(time.Millisecond)
		m.deliveries = append(m.deliveries, *d)
	}
	return nil
}

func (m *memoryOutbox) ClaimDeliveries(_ context.Context, now time.Time, _ string, most int) (out []monolith.Delivery, err error) {
	unlock, err := m.lock()
	defer unlock()
	for i := range m.deliveries {
		d := &m.deliveries[i]
		if err == nil && d.Done.IsZero() && !d.Next.After(now) && len(out) < most {
			d.State, d.Next, d.Attempts = monolith.DeliveryClaimed, now.Add(5*time.Minute), d.Attempts+1
			out = append(out, *d)
		}
	}
	return out, err
}

func (m *memoryOutbox) FinishDelivery(_ context.Context, _ string, d monolith.Delivery) error {
	unlock, err := m.lock()
	defer unlock()
	for i := range m.deliveries {
		o := &m.deliveries[i]
		if o.ID != d.ID || err != nil {
			continue
		}
		if !o.Done.IsZero() {
			return monolith.ErrConflict
		}
		o.State, o.Next, o.Done, o.Answer = d.State, d.Next, d.Done, d.Answer
	}
	return err
}

func (m *memoryOutbox) RetryDelivery(_ context.Context, id int64) error {
	unlock, err := m.lock()
	defer unlock()
	for i := range m.deliveries {
		if o := &m.deliveries[i]; o.ID == id {
			o.State, o.Done, o.Next = monolith.DeliveryPending, time.Time{}, m.now()
		}
	}
	return err
}

func (m *memoryOutbox) Delivery(_ context.Context, id int64) (monolith.Delivery, error) {
	unlock, err := m.lock()
	defer unlock()
	for _, d := range m.deliveries {
		if d.ID == id {
			return d, err
		}
	}
	return monolith.Delivery{}, monolith.ErrNotFound
}

func (m *memoryOutbox) Deliveries(_ context.Context, q monolith.DeliveryQuery) (out []monolith.Delivery, err error) {
	unlock, err := m.lock()
	defer unlock()
	for _, d := range slices.Backward(m.deliveries) {
		if (q.Channel == 0 || d.Channel == q.Channel) && (q.Subscription == 0 || d.Subscription == q.Subscription) && (q.Alert == 0 || slices.Contains(d.Alerts, q.Alert)) &&
			(len(q.States) == 0 || slices.Contains(q.States, d.State)) && (q.From.IsZero() || !d.Created.Before(q.From)) && (q.To.IsZero() || d.Created.Before(q.To)) {
			d.Payload = nil
			out = append(out, d)
		}
	}
	return out, err
}

func (m *memoryOutbox) NextDelivery(context.Context) (next time.Time, err error) {
	unlock, err := m.lock()
	defer unlock()
	for _, d := range m.deliveries {
		if d.Done.IsZero() && (next.IsZero() || d.Next.Before(next)) {
			next = d.Next
		}
	}
	return next, err
}

// take keeps the deliveries of a batch, as a store does in the batch's transaction.
func (m *memoryOutbox) take(b *Batch) {
	var list []*monolith.Delivery
	for _, d := range b.Deliveries {
		for _, a := range d.Of {
			d.Alerts = append(d.Alerts, a.ID)
		}
		list = append(list, &d.Delivery)
	}
	if err := m.AddDeliveries(context.Background(), list); err != nil {
		panic(err)
	}
}

// desk is a Telling whose alerts tests make up, and what its receiver got.
type desk struct {
	t      *testing.T
	now    time.Time
	box    *memoryOutbox
	alerts []*monolith.Alert
	tell   *Telling
	url    string

	mu     sync.Mutex
	got    []string
	status int // that the receiver answers; 0: 200
}

// monday is a Monday noon.
var monday = time.Date(2026, 3, 16, 12, 0, 0, 0, time.UTC)

func newDesk(t *testing.T) *desk {
	d := &desk{t: t, now: monday}
	d.box = &memoryOutbox{now: func() time.Time { return d.now }, settings: map[string]string{}, lastID: 100}
	srv := httptest.NewServer(d)
	t.Cleanup(srv.Close)
	d.url = srv.URL
	d.box.channels = []monolith.Channel{
		{ID: 1, Name: "people", Kind: "shoutrrr", Enabled: true, Secrets: map[string]monolith.Secret{"url": monolith.Secret("generic+" + srv.URL + "/people?template=json")}},
		{ID: 2, Name: "program", Kind: "webhook", Enabled: true, Config: map[string]string{"url": srv.URL + "/program"}},
	}
	d.start()
	return d
}

// start makes the Telling, as a start of Monolith does.
func (d *desk) start() {
	d.t.Helper()
	d.tell = NewTelling(TellingConfig{Store: d.box, Instance: "test", Now: func() time.Time { return d.now }, Random: func() float64 { return 0.5 },
		Open: func() []monolith.Alert {
			var out []monolith.Alert
			for _, a := range d.alerts {
				if a.Open() {
					out = append(out, *a)
				}
			}
			return out
		},
		Alert: func(_ context.Context, id monolith.AlertID) (monolith.Alert, error) {
			for _, a := range d.alerts {
				if a.ID == id {
					return *a, nil
				}
			}
			return monolith.Alert{}, monolith.ErrNotFound
		},
		Subject: func(id monolith.ServerID) *notify.Subject {
			return &notify.Subject{Name: fmt.Sprintf("db%d", id), Group: "acme"}
		},
	})
	if err := d.tell.Load(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

// ServeHTTP is the receiver.
func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var said struct{ Title, Message, Kind, Key string }
	json.Unmarshal(body, &said)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.status != 0 {
		w.WriteHeader(d.status)
		return
	}
	line := d.now.Format("15:04:05 ") + strings.TrimPrefix(r.URL.Path, "/") + ": " + said.Title
	if r.URL.Path == "/program" {
		line = d.now.Format("15:04:05 ") + "program: " + said.Kind + " " + said.Title
	}
	d.got = append(d.got, line)
}

// subscribe adds a subscription of the people's channel.
func (d *desk) subscribe(s monolith.Subscription) int64 {
	d.t.Helper()
	if s.Name == "" {
		s.Name = fmt.Sprintf("s%d", len(d.box.subs))
	}
	if s.Channel == 0 {
		s.Channel = 1
	}
	s.Enabled = true
	s.Created = d.now
	if err := d.tell.PutSubscription(d.t.Context(), &s); err != nil {
		d.t.Fatal(err)
	}
	return s.ID
}

// happen hands events over as the service does, in one batch.
func (d *desk) happen(events ...*BatchEvent) {
	b := &Batch{At: d.now, Events: events}
	for _, e := range events {
		e.At = d.now
	}
	d.tell.Plan(d.t.Context(), b)
	d.box.take(b)
	d.send()
}

// made is an alert that opens now, but was not told of yet.
func (d *desk) made(server monolith.ServerID, rule string, level monolith.Level) *monolith.Alert {
	a := &monolith.Alert{ID: monolith.AlertID(len(d.alerts) + 1), AlertKey: monolith.AlertKey{Server: server, Rule: rule}, ServerName: fmt.Sprintf("db%d", server), Group: "acme",
		Title: rule, Level: level, Peak: level, Opened: d.now, Changed: d.now}
	d.alerts = append(d.alerts, a)
	return a
}

func event(a *monolith.Alert, kind monolith.AlertEventKind) *BatchEvent {
	return &BatchEvent{Of: a, Tell: true, AlertEvent: monolith.AlertEvent{Kind: kind, Level: a.Level}}
}

func (d *desk) open(server monolith.ServerID, rule string, level monolith.Level) *monolith.Alert {
	a := d.made(server, rule, level)
	d.happen(event(a, monolith.EventOpened))
	return a
}

func (d *desk) level(a *monolith.Alert, level monolith.Level) {
	kind := monolith.EventRaised
	if level < a.Level {
		kind = monolith.EventLowered
	}
	a.Level = level
	d.happen(event(a, kind))
}

func (d *desk) close(a *monolith.Alert, reason monolith.CloseReason) {
	a.Closed, a.Reason = d.now, reason
	d.happen(event(a, monolith.EventClosed))
}

// send empties the outbox of what is due.
func (d *desk) send() {
	if err := d.tell.out.round(d.t.Context(), d.t.Context()); err != nil && !d.box.down {
		d.t.Fatal(err)
	}
	d.tell.out.workers.Wait()
}

// pass lets time pass.
func (d *desk) pass(length time.Duration) {
	for range int(length / (10 * time.Second)) {
		d.now = d.now.Add(10 * time.Second)
		d.tell.lookAfter(d.t.Context())
		d.send()
	}
}

// want compares what arrived since the last call.
func (d *desk) want(lines ...string) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.SortStableFunc(d.got, func(a, b string) int { return strings.Compare(channelOf(a), channelOf(b)) }) // each channel by itself is in order
	if got, want := strings.Join(d.got, "\n"), strings.Join(lines, "\n"); got != want {
		d.t.Errorf("arrived:\n%s\nexpected:\n%s", got, want)
	}
	d.got = nil
}

// failingFinish is an outbox that can't be told how messages went, for a time.
type failingFinish struct {
	*memoryOutbox
	fails func() bool
}

func (f *failingFinish) FinishDelivery(ctx context.Context, worker string, d monolith.Delivery) error {
	if f.fails() {
		return monolith.ErrUnavailable
	}
	return f.memoryOutbox.FinishDelivery(ctx, worker, d)
}

// channelOf gives the time and the channel of a line.
func channelOf(line string) string {
	i := strings.Index(line, ": ")
	return line[:i]
}

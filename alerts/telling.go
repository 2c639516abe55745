package alerts

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"monolith"
	"monolith/alerts/notify"
)

// TellingConfig is what a [Telling] is made of.
type TellingConfig struct {
	Store Outbox
	// Open gives the open alerts from memory, the worst first. Alert gives one, open or closed, as it is now.
	Open  func() []monolith.Alert
	Alert func(ctx context.Context, id monolith.AlertID) (monolith.Alert, error)
	// Subject gives what is known of a server, from memory; nil for one that is not. About gives why a rule matters. Both
	// may be nil. They are called while a batch is made, and must not wait for one.
	Subject func(monolith.ServerID) *notify.Subject
	About   func(rule string) string
	// Changes reads what changed on servers lately. May be nil.
	Changes func(ctx context.Context, q monolith.ChangeQuery) ([]monolith.Change, error)
	// Servers and Groups are for checks of subscriptions. KnownRule reports whether there is a rule. May be nil.
	Servers   func(ctx context.Context) ([]monolith.Server, error)
	Groups    func(ctx context.Context) ([]monolith.Group, error)
	KnownRule func(rule string) bool
	// Alive gives why Monolith can't watch now, nil when it can: the heartbeat stops meanwhile. nil: it always can.
	Alive func(ctx context.Context) error
	// Base gives the address of the pages, without a slash at its end; "" while it is not known. May be nil.
	Base func() string
	// Graph draws the graph of an alert as PNG. May be nil.
	Graph func(ctx context.Context, a *monolith.Alert) ([]byte, error)
	// Hour gives how the quantities of an alert went in the hour before a moment. May be nil.
	Hour     func(ctx context.Context, a *monolith.Alert, to time.Time) (*notify.Hour, error)
	Hostname string // of this machine, for mails
	Instance string // an id of this installation that never changes: keys of messages are made with it
	// Random gives a number from 0 to 1 that spreads tries over time; nil: a random one.
	Random func() float64
	Client *http.Client     // for the heartbeat; nil: one that gives up after 10 s
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: none
}

// Telling tells people and programs of alerts: it keeps channels, subscriptions and templates, plans who is told of what,
// and sends it. Its methods may be called from any goroutine.
type Telling struct {
	cfg  TellingConfig
	log  *slog.Logger
	now  func() time.Time
	plan *planner
	out  *dispatcher
	beat heart

	reading baton // orders readings of the store, so that an older one never replaces a newer

	mu        sync.Mutex
	channels  map[int64]monolith.Channel // without secrets
	templates map[string]monolith.MessageTemplate
	wrong     map[string]string // by template: why it can't be used
	waiting   int
}

// NewTelling makes one. [Telling.Load] must be called before it plans.
func NewTelling(cfg TellingConfig) *Telling {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Random == nil {
		cfg.Random = rand.Float64
	}
	if cfg.Client == nil {
		cfg.Client = &http.Client{Timeout: 10 * time.Second}
	}
	t := &Telling{cfg: cfg, log: cfg.Log, now: cfg.Now, plan: newPlanner(cfg.Instance), reading: newBaton(),
		channels: map[int64]monolith.Channel{}, templates: map[string]monolith.MessageTemplate{}, wrong: map[string]string{}}
	t.out = newDispatcher(t)
	return t
}

// Load reads what the store keeps, and remembers from the outbox what people were told of the alerts that are open.
func (t *Telling) Load(ctx context.Context) error {
	if err := t.reload(ctx); err != nil {
		return err
	}
	if err := t.loadHeartbeat(ctx); err != nil {
		return err
	}
	now := t.now()
	for _, a := range t.cfg.Open() {
		if a.ID == 0 {
			continue
		}
		list, err := t.cfg.Store.Deliveries(ctx, monolith.DeliveryQuery{Alert: a.ID, Limit: 1000})
		if err != nil {
			return fmt.Errorf("alerts: load what was told: %w", err)
		}
		slices.Reverse(list)
		for i := range list {
			d := &list[i]
			if !isOpening(d.Kind) && d.Kind != monolith.NoticeDigest || d.State == monolith.DeliveryDropped {
				continue
			}
			due, after, err := t.dueOf(ctx, d)
			if err != nil {
				return fmt.Errorf("alerts: load what was told: %w", err)
			}
			t.plan.recall(d, &a, due, after)
		}
	}
	for _, q := range []monolith.DeliveryQuery{
		{From: now.Add(-25 * time.Hour), Limit: 5000},
		{States: []monolith.DeliveryState{monolith.DeliveryPending, monolith.DeliveryClaimed}, To: now.Add(-25 * time.Hour), Limit: 5000},
	} {
		list, err := t.cfg.Store.Deliveries(ctx, q)
		if err != nil {
			return fmt.Errorf("alerts: load the outbox: %w", err)
		}
		for i := range list {
			d := &list[i]
			if d.Subscription == 0 || d.State == monolith.DeliveryDropped || !d.Done.IsZero() && now.Sub(d.Done) > time.Hour && d.Kind != monolith.NoticeQuiet {
				continue
			}
			due, _, err := t.dueOf(ctx, d)
			if err != nil {
				return fmt.Errorf("alerts: load the outbox: %w", err)
			}
			t.plan.recallFlow(d, due)
		}
	}
	return nil
}

// dueOf gives when an entry is, or was, to be told.
func (t *Telling) dueOf(ctx context.Context, d *monolith.Delivery) (due, after time.Time, err error) {
	if !d.Done.IsZero() {
		return d.Done, d.Created, nil
	}
	whole, err := t.cfg.Store.Delivery(ctx, d.ID)
	if err != nil {
		return due, after, err
	}
	e, err := unpack(whole.Payload)
	if err != nil {
		return d.Created, d.Created, nil // it is given up when its turn comes
	}
	return e.Due, e.After, nil
}

// reload reads channels, subscriptions and templates and puts them in force.
func (t *Telling) reload(ctx context.Context) error {
	if err := t.reading.take(ctx); err != nil {
		return err
	}
	defer t.reading.give()
	list, err := t.cfg.Store.Channels(ctx)
	if err != nil {
		return fmt.Errorf("alerts: load channels: %w", err)
	}
	subs, err := t.cfg.Store.Subscriptions(ctx)
	if err != nil {
		return fmt.Errorf("alerts: load subscriptions: %w", err)
	}
	texts, err := t.cfg.Store.MessageTemplates(ctx)
	if err != nil {
		return fmt.Errorf("alerts: load templates: %w", err)
	}
	channels := map[int64]monolith.Channel{}
	for _, c := range list {
		c.Secrets = nil
		channels[c.ID] = c
	}
	templates, wrong := map[string]monolith.MessageTemplate{}, map[string]string{}
	for _, m := range texts {
		templates[m.Name] = m
		if err := notify.CheckTemplate(m.Name, m.Source); err != nil {
			wrong[m.Name] = err.Error()
			t.log.Error("a template can't be used; the built-in one is", "template", m.Name, "error", err)
		}
	}
	var ready []*subscriber
	for i := range subs {
		ready = append(ready, t.ready(&subs[i], channels))
	}
	slices.SortFunc(ready, func(a, b *subscriber) int { return int(a.ID - b.ID) })
	t.mu.Lock()
	t.channels, t.templates, t.wrong = channels, templates, wrong
	t.mu.Unlock()
	t.plan.setSubscribers(ready)
	return nil
}

// ready makes a subscription ready for planning. Hours that can't be read are always: nobody misses a message for them.
func (t *Telling) ready(s *monolith.Subscription, channels map[int64]monolith.Channel) *subscriber {
	r := &subscriber{Subscription: *s, channel: channels[s.Channel]}
	kind, _ := notify.KindOf(r.channel.Kind) // of a channel that is gone: none
	r.keyed = kind.Keyed
	hours, err := parseTimetable(s.Hours, s.Zone)
	if err != nil {
		t.log.Error("the hours of a subscription can't be read; it is told at any time", "subscription", s.Name, "error", err)
		hours = timetable{zone: time.UTC}
	}
	r.hours = hours
	return r
}

// Wake makes the dispatcher look into the outbox at once.
func (t *Telling) Wake() { t.out.wakeUp() }

// Told is for [ServiceConfig.Told]: something was handed to the store, which may have brought messages.
func (t *Telling) Told(context.Context, []monolith.AlertEvent) { t.Wake() }

// lookEvery is how often reminders, daily lines and the length of the outbox are looked after.
const lookEvery = 20 * time.Second

// Run sends what is due until ctx ends, with reminders, daily lines and the heartbeat.
func (t *Telling) Run(ctx context.Context) error {
	var parts sync.WaitGroup
	parts.Go(func() { t.out.run(ctx) })
	parts.Go(func() { t.pulse(ctx) })
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		t.lookAfter(ctx)
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	parts.Wait()
	return nil
}

// lookAfter does one round of what time alone brings.
func (t *Telling) lookAfter(ctx context.Context) {
	now, open := t.now(), t.cfg.Open()
	t.write(ctx, t.plan.catchUp(now, open), now)
	t.write(ctx, t.plan.remind(now, open), now)
	t.write(ctx, t.plan.quietLines(now, open), now)
	list, err := t.cfg.Store.Deliveries(ctx, monolith.DeliveryQuery{States: []monolith.DeliveryState{monolith.DeliveryPending, monolith.DeliveryClaimed}, Limit: 5000})
	if err != nil {
		return // the dispatcher says it
	}
	t.mu.Lock()
	t.waiting = len(list)
	t.mu.Unlock()
}

// catchUp tells at once of what was open already, after a subscription or a channel was changed.
func (t *Telling) catchUp(ctx context.Context) {
	now := t.now()
	t.write(ctx, t.plan.catchUp(now, t.cfg.Open()), now)
}

// options are what senders need.
func (t *Telling) options(record *notify.Dialogue) notify.Options {
	o := notify.Options{Graph: t.cfg.Graph, Hour: t.cfg.Hour, Hostname: t.cfg.Hostname, Record: record, Now: t.now, Template: func(name string) string {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.templates[name].Source
	}}
	if t.cfg.Base != nil {
		o.Base = t.cfg.Base()
	}
	return o
}

// health notes how a channel fares.
func (t *Telling) health(channel int64, failing string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.channels[channel]
	if !ok {
		return
	}
	switch {
	case failing == "":
		c.Failing, c.FailingSince, c.LastSent = "", time.Time{}, at
	case c.Failing == "":
		c.Failing, c.FailingSince = failing, at
	default:
		c.Failing = failing
	}
	t.channels[channel] = c
}

// TellingStatus says whether people would hear of alerts. It reads memory only.
func (t *Telling) TellingStatus() monolith.TellingStatus {
	t.mu.Lock()
	defer t.mu.Unlock()
	st := monolith.TellingStatus{Waiting: t.waiting}
	enabled := 0
	used := map[int64]bool{}
	t.plan.mu.Lock()
	for _, s := range t.plan.subs {
		if s.Enabled {
			used[s.Channel] = true
		}
	}
	t.plan.mu.Unlock()
	works := false
	since := time.Time{}
	for _, id := range slices.Sorted(maps.Keys(t.channels)) {
		c := t.channels[id]
		if !c.Enabled || !used[id] {
			continue
		}
		if enabled++; c.Failing == "" {
			works = true
			continue
		}
		st.Failing = append(st.Failing, c.Name)
		if since.IsZero() || c.FailingSince.Before(since) {
			since = c.FailingSince
		}
	}
	slices.Sort(st.Failing)
	switch {
	case len(t.channels) == 0:
		st.Level, st.Text, st.Cure = monolith.LevelCritical, "Nobody is told of alerts: there is no channel.", "Set up a channel and a subscription."
	case enabled == 0:
		st.Level, st.Text, st.Cure = monolith.LevelCritical, "Nobody is told of alerts: no subscription uses a channel that is switched on.", "Switch on a channel, and a subscription that uses it."
	case !works:
		st.Level, st.Text = monolith.LevelCritical, fmt.Sprintf("Nobody can be told of alerts since %s: every channel fails.", since.UTC().Format("2006-01-02 15:04 UTC"))
		st.Cure = "Send a test message over each channel; it shows what the receiver says."
	case len(st.Failing) > 0:
		st.Level, st.Text = monolith.LevelWarn, fmt.Sprintf("The channel %s fails since %s.", quoted(st.Failing[0]), since.UTC().Format("2006-01-02 15:04 UTC"))
		if len(st.Failing) > 1 {
			st.Text = fmt.Sprintf("%d channels fail since %s.", len(st.Failing), since.UTC().Format("2006-01-02 15:04 UTC"))
		}
		st.Cure = "Send a test message over it; it shows what the receiver says."
	}
	return st
}

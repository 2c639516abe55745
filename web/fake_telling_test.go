package web

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"monolith"
)

// fakeTelling tells nobody; it keeps what it is given.
type fakeTelling struct {
	mu         sync.Mutex
	channels   []monolith.Channel
	subs       []monolith.Subscription
	deliveries []monolith.Delivery // newest first
	audience   []monolith.Audience
	foretold   []monolith.Foretold
	templates  map[string]string
	heartbeat  monolith.Heartbeat
	status     monolith.TellingStatus
	tested     []monolith.Channel // with the secrets that were used
	broken     error              // every call that could fail gives it
	lastID     int64
	lastSub    int64
}

func (f *fakeTelling) lock() func() { f.mu.Lock(); return f.mu.Unlock }

func (f *fakeTelling) ChannelKinds() []monolith.ChannelKind {
	return []monolith.ChannelKind{
		{Name: "webhook", Title: "webhook", Help: "Posts.", Keyed: true, Fields: []monolith.ChannelField{
			{Name: "url", Title: "Address", Required: true, Place: true}, {Name: "key", Title: "Signing key", Secret: true}}},
		{Name: "mail", Title: "mail", Help: "Mails.", Fields: []monolith.ChannelField{
			{Name: "host", Title: "Relay", Required: true, Place: true}, {Name: "to", Title: "Recipients", Required: true, Lines: true},
			{Name: "tls", Title: "Encryption", Choices: []string{"starttls", "tls", "none"}, Default: "starttls"}, {Name: "password", Title: "Password", Secret: true}}},
	}
}

func (f *fakeTelling) Channels(context.Context) ([]monolith.Channel, error) {
	defer f.lock()()
	return slices.Clone(f.channels), f.broken
}

func (f *fakeTelling) Channel(_ context.Context, id int64) (monolith.Channel, error) {
	defer f.lock()()
	for _, c := range f.channels {
		if c.ID == id {
			return c, f.broken
		}
	}
	return monolith.Channel{}, cmp.Or(f.broken, monolith.ErrNotFound)
}

func (f *fakeTelling) check(c *monolith.Channel) error {
	i := slices.IndexFunc(f.ChannelKinds(), func(k monolith.ChannelKind) bool { return k.Name == c.Kind })
	if i < 0 {
		return monolith.Invalid("kind", "unknown kind of channel", "one of webhook, mail")
	}
	for _, field := range f.ChannelKinds()[i].Fields {
		if field.Required && c.Config[field.Name] == "" {
			return monolith.Invalid("config."+field.Name, field.Title+" is missing")
		}
	}
	return nil
}

func (f *fakeTelling) PutChannel(_ context.Context, c *monolith.Channel) error {
	defer f.lock()()
	if err := cmp.Or(f.broken, f.check(c)); err != nil {
		return err
	}
	for i := range f.channels {
		switch old := &f.channels[i]; {
		case old.ID == c.ID:
			secrets := maps.Clone(old.Secrets)
			if secrets == nil {
				secrets = map[string]monolith.Secret{}
			}
			maps.Copy(secrets, c.Secrets)
			f.channels[i] = *c
			f.channels[i].Secrets = secrets
			return nil
		case old.Name == c.Name:
			return monolith.ErrConflict
		}
	}
	if c.ID != 0 {
		return monolith.ErrNotFound
	}
	f.lastID++
	c.ID = f.lastID + 20
	f.channels = append(f.channels, *c)
	return nil
}

func (f *fakeTelling) DeleteChannel(_ context.Context, id int64) error {
	defer f.lock()()
	if slices.ContainsFunc(f.subs, func(s monolith.Subscription) bool { return s.Channel == id }) {
		return monolith.ErrConflict
	}
	n := len(f.channels)
	if f.channels = slices.DeleteFunc(f.channels, func(c monolith.Channel) bool { return c.ID == id }); len(f.channels) == n {
		return monolith.ErrNotFound
	}
	return f.broken
}

func (f *fakeTelling) TestChannel(_ context.Context, c *monolith.Channel) (monolith.ChannelTest, error) {
	defer f.lock()()
	if err := cmp.Or(f.broken, f.check(c)); err != nil {
		return monolith.ChannelTest{}, err
	}
	f.tested = append(f.tested, *c)
	return monolith.ChannelTest{OK: true, Answer: "200 OK", Dialogue: "> POST\n< 200 OK", Took: 12 * time.Millisecond}, nil
}

func (f *fakeTelling) Subscriptions(context.Context) ([]monolith.Subscription, error) {
	defer f.lock()()
	return slices.Clone(f.subs), f.broken
}

func (f *fakeTelling) Subscription(_ context.Context, id int64) (monolith.Subscription, error) {
	defer f.lock()()
	for _, s := range f.subs {
		if s.ID == id {
			return s, f.broken
		}
	}
	return monolith.Subscription{}, cmp.Or(f.broken, monolith.ErrNotFound)
}

func (f *fakeTelling) CheckSubscription(_ context.Context, s *monolith.Subscription) error {
	defer f.lock()()
	switch {
	case s.Name == "":
		return monolith.Invalid("name", "a subscription has a name")
	case !slices.ContainsFunc(f.channels, func(c monolith.Channel) bool { return c.ID == s.Channel }):
		return monolith.Invalid("channel", "there is no such channel")
	case strings.Contains(s.Hours, "never"):
		return monolith.Invalid("hours", "these are no hours", `such as "mon-fri 08:00-18:00"`)
	}
	return f.broken
}

func (f *fakeTelling) PutSubscription(ctx context.Context, s *monolith.Subscription) error {
	if err := f.CheckSubscription(ctx, s); err != nil {
		return err
	}
	defer f.lock()()
	for i := range f.subs {
		switch {
		case f.subs[i].ID == s.ID:
			f.subs[i] = *s
			return nil
		case f.subs[i].Name == s.Name:
			return monolith.ErrConflict
		}
	}
	f.lastSub++
	s.ID = f.lastSub + 30
	f.subs = append(f.subs, *s)
	return nil
}

func (f *fakeTelling) DeleteSubscription(_ context.Context, id int64) error {
	defer f.lock()()
	n := len(f.subs)
	if f.subs = slices.DeleteFunc(f.subs, func(s monolith.Subscription) bool { return s.ID == id }); len(f.subs) == n {
		return monolith.ErrNotFound
	}
	return f.broken
}

func (f *fakeTelling) Who(_ context.Context, id monolith.AlertID) ([]monolith.Audience, error) {
	defer f.lock()()
	if id > 1000 {
		return nil, monolith.ErrNotFound
	}
	return f.audience, f.broken
}

func (f *fakeTelling) Foretell(*monolith.Subscription) []monolith.Foretold {
	defer f.lock()()
	return f.foretold
}

func (f *fakeTelling) NextHours(_ *monolith.Subscription, at time.Time) time.Time { return at }

func (f *fakeTelling) Deliveries(_ context.Context, q monolith.DeliveryQuery) (out []monolith.Delivery, err error) {
	defer f.lock()()
	for _, d := range f.deliveries {
		d.Payload = nil
		if (q.Before == 0 || d.ID < q.Before) && (q.Channel == 0 || d.Channel == q.Channel) && (q.Subscription == 0 || d.Subscription == q.Subscription) &&
			(len(q.States) == 0 || slices.Contains(q.States, d.State)) && (q.Alert == 0 || slices.Contains(d.Alerts, q.Alert)) && len(out) < cmp.Or(q.Limit, 200) {
			out = append(out, d)
		}
	}
	return out, f.broken
}

func (f *fakeTelling) Delivery(_ context.Context, id int64) (monolith.Delivery, error) {
	defer f.lock()()
	for _, d := range f.deliveries {
		if d.ID == id {
			return d, f.broken
		}
	}
	return monolith.Delivery{}, cmp.Or(f.broken, monolith.ErrNotFound)
}

func (f *fakeTelling) RetryDelivery(_ context.Context, id int64) error {
	defer f.lock()()
	for i := range f.deliveries {
		if d := &f.deliveries[i]; d.ID == id {
			if d.State != monolith.DeliveryFailed && d.State != monolith.DeliveryDropped {
				return monolith.ErrConflict
			}
			d.State, d.Done, d.Next = monolith.DeliveryPending, time.Time{}, noon
			return f.broken
		}
	}
	return monolith.ErrNotFound
}

func (f *fakeTelling) Templates(context.Context) ([]monolith.TemplateText, error) {
	defer f.lock()()
	var out []monolith.TemplateText
	for _, name := range []string{"subject", "text", "html", "chat", "pager"} {
		out = append(out, monolith.TemplateText{Name: name, BuiltIn: "{{.Title}}", Source: f.templates[name]})
	}
	return out, f.broken
}

func (f *fakeTelling) PutTemplate(_ context.Context, name, source, by string) error {
	defer f.lock()()
	if strings.Count(source, "{{") != strings.Count(source, "}}") {
		return monolith.Invalid("source", "line 1: unclosed action", "docs/notifications.md lists what templates may say")
	}
	if f.templates == nil {
		f.templates = map[string]string{}
	}
	f.templates[name] = source
	return f.broken
}

func (f *fakeTelling) DeleteTemplate(_ context.Context, name string) error {
	defer f.lock()()
	delete(f.templates, name)
	return f.broken
}

func (f *fakeTelling) PreviewTemplate(_ context.Context, name, source string, kind monolith.NoticeKind) (string, error) {
	if kind == "shout" {
		return "", monolith.Invalid("kind", "there is no such kind of notice")
	}
	return "preview of " + name + " for " + string(kind) + ": " + source, f.broken
}

func (f *fakeTelling) Heartbeat(context.Context) (monolith.Heartbeat, error) {
	defer f.lock()()
	return f.heartbeat, f.broken
}

func (f *fakeTelling) PutHeartbeat(_ context.Context, h monolith.Heartbeat) error {
	defer f.lock()()
	if h.URL != "" && !strings.HasPrefix(h.URL, "http") {
		return monolith.Invalid("url", "this is not the address of an HTTP receiver")
	}
	f.heartbeat = h
	return f.broken
}

func (f *fakeTelling) TellingStatus() monolith.TellingStatus {
	defer f.lock()()
	return f.status
}

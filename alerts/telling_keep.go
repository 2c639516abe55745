package alerts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"monolith"
	"monolith/alerts/notify"
)

// testTimeout bounds a test message.
const testTimeout = time.Minute

// ChannelKinds lists what a channel may be.
func (t *Telling) ChannelKinds() []monolith.ChannelKind {
	var out []monolith.ChannelKind
	for _, k := range notify.Kinds() {
		out = append(out, k.ChannelKind)
	}
	return out
}

// Channels gives all channels by name.
func (t *Telling) Channels(ctx context.Context) ([]monolith.Channel, error) {
	return t.cfg.Store.Channels(ctx)
}

// Channel gives one.
func (t *Telling) Channel(ctx context.Context, id int64) (monolith.Channel, error) {
	return t.cfg.Store.Channel(ctx, id)
}

// PutChannel checks and adds a channel (ID 0, set by the call) or changes one. A secret that is left out stays, unless the place
// that it is sent to changes.
func (t *Telling) PutChannel(ctx context.Context, c *monolith.Channel) error {
	if err := monolith.CheckLabel("name", c.Name, 128); err != nil {
		return err
	}
	whole, err := t.whole(ctx, c)
	if err != nil {
		return err
	}
	if _, err := notify.New(&whole, t.options(nil)); err != nil {
		return err
	}
	if err := t.cfg.Store.PutChannel(ctx, c); err != nil {
		return err
	}
	t.out.works(c.ID) // it may be mended now
	if err := t.reload(ctx); err != nil {
		return err
	}
	t.catchUp(ctx)
	return nil
}

// whole gives a channel with the secrets that are kept of it. They are not given when the place that they are sent to is
// another one.
func (t *Telling) whole(ctx context.Context, c *monolith.Channel) (monolith.Channel, error) {
	whole := *c
	whole.Config, whole.Secrets = maps.Clone(c.Config), map[string]monolith.Secret{}
	var kept monolith.Channel
	if c.ID != 0 {
		var err error
		if kept, err = t.cfg.Store.Channel(ctx, c.ID); err != nil {
			return whole, err
		}
		if kept.Kind != c.Kind {
			return whole, monolith.Invalid("kind", "a channel keeps its kind", "add another channel")
		}
		maps.Copy(whole.Secrets, kept.Secrets)
	}
	moved := movedPlace(&kept, c)
	for _, name := range slices.Sorted(maps.Keys(kept.Secrets)) {
		if _, given := c.Secrets[name]; !given && moved != "" && kept.Secrets[name] != "" {
			return whole, monolith.Invalid("secrets."+name, "it must be given again, since it would be sent to another place than before: "+moved+" changed")
		}
	}
	for name, s := range c.Secrets {
		if whole.Secrets[name] = s; s == "" {
			delete(whole.Secrets, name)
		}
	}
	return whole, nil
}

// movedPlace names the setting by which the secrets of a channel would be sent elsewhere; "" when they would not.
func movedPlace(old, c *monolith.Channel) string {
	kind, ok := notify.KindOf(c.Kind)
	if !ok || old.ID == 0 {
		return ""
	}
	for _, f := range kind.Fields {
		value := func(c *monolith.Channel) string {
			if v := strings.TrimSpace(c.Config[f.Name]); v != "" {
				return v
			}
			return f.Default
		}
		if f.Place && !f.Secret && value(old) != value(c) {
			return f.Title
		}
	}
	return ""
}

// DeleteChannel removes a channel that no subscription uses.
func (t *Telling) DeleteChannel(ctx context.Context, id int64) error {
	if err := t.cfg.Store.DeleteChannel(ctx, id); err != nil {
		return err
	}
	return t.reload(ctx)
}

// TestChannel sends a test message over a channel as it is given, and shows the whole dialogue with its secrets masked.
// Nothing of it is kept.
func (t *Telling) TestChannel(ctx context.Context, c *monolith.Channel) (monolith.ChannelTest, error) {
	whole, err := t.whole(ctx, c)
	if err != nil {
		return monolith.ChannelTest{}, err
	}
	var record notify.Dialogue
	sender, err := notify.New(&whole, t.options(&record))
	if err != nil {
		return monolith.ChannelTest{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, testTimeout)
	defer cancel()
	began := time.Now() // a length of time: the injected clock may stand still
	now := t.now()
	answer, err := send(ctx, sender, &notify.Notice{Kind: monolith.NoticeTest, At: now, Key: fmt.Sprintf("monolith-test-%d-%d", c.ID, now.UnixMilli())})
	test := monolith.ChannelTest{OK: err == nil, Answer: answer, Dialogue: record.String(), Took: time.Since(began)}
	if err != nil {
		test.Error, test.Permanent = err.Error(), notify.IsPermanent(err)
	}
	return test, nil
}

// Subscriptions gives all subscriptions by name.
func (t *Telling) Subscriptions(ctx context.Context) ([]monolith.Subscription, error) {
	return t.cfg.Store.Subscriptions(ctx)
}

// Subscription gives one.
func (t *Telling) Subscription(ctx context.Context, id int64) (monolith.Subscription, error) {
	return t.cfg.Store.Subscription(ctx, id)
}

// CheckSubscription refuses what makes no sense here: see [CheckSubscription], and whether what it names is there.
func (t *Telling) CheckSubscription(ctx context.Context, s *monolith.Subscription) error {
	if err := CheckSubscription(s); err != nil {
		return err
	}
	c, err := t.cfg.Store.Channel(ctx, s.Channel)
	switch {
	case errors.Is(err, monolith.ErrNotFound):
		return monolith.Invalid("channel", fmt.Sprintf("there is no channel %d", s.Channel))
	case err != nil:
		return err
	}
	if kind, _ := notify.KindOf(c.Kind); kind.Keyed && s.Digest > 0 {
		return monolith.Invalid("digest", "a "+c.Kind+" channel follows each alert by itself: nothing can be gathered for it", "0")
	}
	for _, r := range s.Rules {
		if t.cfg.KnownRule != nil && !t.cfg.KnownRule(r) {
			return monolith.Invalid("rules", "there is no rule "+quoted(r), "/api/v1/rules lists them")
		}
	}
	if len(s.Groups) > 0 && t.cfg.Groups != nil {
		groups, err := t.cfg.Groups(ctx)
		if err != nil {
			return err
		}
		for _, path := range s.Groups {
			if !slices.ContainsFunc(groups, func(g monolith.Group) bool { return monolith.InGroup(g.Path, path) }) || path == "" {
				return monolith.Invalid("groups", "there is no group "+quoted(path), "no group at all stands for every server")
			}
		}
	}
	if len(s.Servers) > 0 && t.cfg.Servers != nil {
		servers, err := t.cfg.Servers(ctx)
		if err != nil {
			return err
		}
		for _, id := range s.Servers {
			if !slices.ContainsFunc(servers, func(x monolith.Server) bool { return x.ID == id }) {
				return monolith.Invalid("servers", "a server of the list is not there any more")
			}
		}
	}
	return nil
}

// PutSubscription checks and adds a subscription (ID 0, set by the call) or changes one.
func (t *Telling) PutSubscription(ctx context.Context, s *monolith.Subscription) error {
	if err := t.CheckSubscription(ctx, s); err != nil {
		return err
	}
	if err := t.cfg.Store.PutSubscription(ctx, s); err != nil {
		return err
	}
	if err := t.reload(ctx); err != nil {
		return err
	}
	t.catchUp(ctx)
	return nil
}

// Foretell says of the open alerts that a subscription chooses what it would be told of them if it were kept now, the worst
// first.
func (t *Telling) Foretell(s *monolith.Subscription) []monolith.Foretold {
	now := t.now()
	t.mu.Lock()
	r := t.ready(s, t.channels)
	t.mu.Unlock()
	r.Updated = now
	return t.plan.foretell(r, now, t.cfg.Open())
}

// DeleteSubscription removes a subscription; what waits because of it is dropped.
func (t *Telling) DeleteSubscription(ctx context.Context, id int64) error {
	if err := t.cfg.Store.DeleteSubscription(ctx, id); err != nil {
		return err
	}
	return t.reload(ctx)
}

// NextHours gives the first moment at or after a moment that lies in a subscription's hours.
func (t *Telling) NextHours(s *monolith.Subscription, at time.Time) time.Time {
	return t.ready(s, nil).hours.next(at)
}

// Deliveries gives what was sent and what waits, newest first.
func (t *Telling) Deliveries(ctx context.Context, q monolith.DeliveryQuery) ([]monolith.Delivery, error) {
	return t.cfg.Store.Deliveries(ctx, q)
}

// Delivery gives one entry.
func (t *Telling) Delivery(ctx context.Context, id int64) (monolith.Delivery, error) {
	return t.cfg.Store.Delivery(ctx, id)
}

// RetryDelivery sends an entry once more that was given up or dropped.
func (t *Telling) RetryDelivery(ctx context.Context, id int64) error {
	if err := t.cfg.Store.RetryDelivery(ctx, id); err != nil {
		return err
	}
	t.out.insist(id)
	t.Wake()
	return nil
}

// Templates gives all templates.
func (t *Telling) Templates(context.Context) ([]monolith.TemplateText, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []monolith.TemplateText
	for _, name := range notify.TemplateNames {
		m := t.templates[name]
		out = append(out, monolith.TemplateText{Name: name, BuiltIn: notify.BuiltIn(name), Source: m.Source, By: m.By, Updated: m.Updated, Wrong: t.wrong[name]})
	}
	return out, nil
}

// unknownTemplate is the error for a name that no template has.
func unknownTemplate(name string) error {
	return fmt.Errorf("alerts: template %q: %w", name, monolith.ErrNotFound)
}

// PutTemplate puts a text in the place of a built-in one.
func (t *Telling) PutTemplate(ctx context.Context, name, source, by string) error {
	if notify.BuiltIn(name) == "" {
		return unknownTemplate(name)
	}
	if strings.TrimSpace(source) == "" {
		return monolith.Invalid("source", "the template is empty", "delete it, so that the built-in one holds again")
	}
	if err := notify.CheckTemplate(name, source); err != nil {
		return err
	}
	if err := t.cfg.Store.PutMessageTemplate(ctx, &monolith.MessageTemplate{Name: name, Source: source, By: by}); err != nil {
		return err
	}
	return t.reload(ctx)
}

// DeleteTemplate makes the built-in text hold again.
func (t *Telling) DeleteTemplate(ctx context.Context, name string) error {
	if err := t.cfg.Store.DeleteMessageTemplate(ctx, name); err != nil {
		return err
	}
	return t.reload(ctx)
}

// PreviewTemplate writes the example of a kind of notice.
func (t *Telling) PreviewTemplate(_ context.Context, name, source string, kind monolith.NoticeKind) (string, error) {
	if notify.BuiltIn(name) == "" {
		return "", unknownTemplate(name)
	}
	o := t.options(nil)
	if source == "" {
		source = o.Template(name)
	}
	if o.Base == "" {
		o.Base = "https://monolith.example"
	}
	for _, n := range notify.Examples() {
		if n.Kind == kind {
			return notify.Preview(name, source, n, &o)
		}
	}
	return "", monolith.Invalid("kind", "there is no kind of notice "+quoted(string(kind)), "problem, reminder, lowered, recovery, acknowledged, digest, quiet or test")
}

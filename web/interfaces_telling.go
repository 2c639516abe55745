package web

import (
	"context"
	"time"

	"monolith"
)

// What the pages and the API need of the part that tells people. *alerts.Telling has all of [Telling]. A thing that is not
// there gives [monolith.ErrNotFound], a mistake in what people gave a [monolith.InvalidError] that names the field.

// ChannelKeeper keeps channels and tries them.
type ChannelKeeper interface {
	// ChannelKinds lists what a channel may be, for the form.
	ChannelKinds() []monolith.ChannelKind
	// Channels gives all, by name. Secrets hold which ones are set; they print and marshal masked.
	Channels(ctx context.Context) ([]monolith.Channel, error)
	Channel(ctx context.Context, id int64) (monolith.Channel, error)
	// PutChannel adds a channel (ID 0, set by the call) or changes one. A secret that is left out of the map stays as it was,
	// an empty one is removed; when a setting with Place changes, secrets must be given again. Fields of errors are name,
	// kind, config.NAME and secrets.NAME; a name that is taken is [monolith.ErrConflict].
	PutChannel(ctx context.Context, c *monolith.Channel) error
	// DeleteChannel gives [monolith.ErrConflict] while subscriptions use it.
	DeleteChannel(ctx context.Context, id int64) error
	// TestChannel sends a test message over a channel as it is given, kept or not; secrets that are left out are those that
	// are kept under its ID. A receiver that refuses is no error: the result says so. It takes up to a minute.
	TestChannel(ctx context.Context, c *monolith.Channel) (monolith.ChannelTest, error)
}

// SubscriptionKeeper keeps who is told of what.
type SubscriptionKeeper interface {
	Subscriptions(ctx context.Context) ([]monolith.Subscription, error) // by name
	Subscription(ctx context.Context, id int64) (monolith.Subscription, error)
	// CheckSubscription refuses what makes no sense, with the field's name as in the API: name, channel, levels, groups,
	// servers, rules, hours, zone, delay, repeat, digest, per_hour, quiet.
	CheckSubscription(ctx context.Context, s *monolith.Subscription) error
	// PutSubscription checks and adds one (ID 0, set by the call) or changes one.
	PutSubscription(ctx context.Context, s *monolith.Subscription) error
	DeleteSubscription(ctx context.Context, id int64) error
	// Who says of every subscription whether it is told of an alert, when and why (not), in the order of their names.
	Who(ctx context.Context, id monolith.AlertID) ([]monolith.Audience, error)
	// Foretell says of the open alerts that a subscription chooses what it would be told of them if it were kept now, the
	// worst first. It reads memory only.
	Foretell(s *monolith.Subscription) []monolith.Foretold
	// NextHours gives the first moment at or after at which lies in a subscription's hours.
	NextHours(s *monolith.Subscription, at time.Time) time.Time
}

// DeliveryLog shows what was sent, and what waits.
type DeliveryLog interface {
	// Deliveries gives them newest first, in the pages of [monolith.DeliveryQuery].
	Deliveries(ctx context.Context, q monolith.DeliveryQuery) ([]monolith.Delivery, error)
	Delivery(ctx context.Context, id int64) (monolith.Delivery, error)
	// RetryDelivery sends one that was given up or dropped once more; another one is [monolith.ErrConflict].
	RetryDelivery(ctx context.Context, id int64) error
}

// TemplateKeeper keeps the texts of messages.
type TemplateKeeper interface {
	// Templates gives all templates, built-in and people's.
	Templates(ctx context.Context) ([]monolith.TemplateText, error)
	// PutTemplate puts a text in the place of the built-in one. One that is wrong is refused with its line.
	PutTemplate(ctx context.Context, name, source, by string) error
	// DeleteTemplate makes the built-in one hold again.
	DeleteTemplate(ctx context.Context, name string) error
	// PreviewTemplate writes the example of a kind of notice; source "" stands for what is in force. The kinds are
	// problem, reminder, lowered, recovery, acknowledged, digest, quiet, test.
	PreviewTemplate(ctx context.Context, name, source string, kind monolith.NoticeKind) (string, error)
}

// DeadMan is how somebody notices that Monolith itself is gone, or that nobody would be told.
type DeadMan interface {
	Heartbeat(ctx context.Context) (monolith.Heartbeat, error)
	PutHeartbeat(ctx context.Context, h monolith.Heartbeat) error // URL and Every
	// TellingStatus is for the banner; it reads memory only.
	TellingStatus() monolith.TellingStatus
}

// Telling is everything of telling people.
type Telling interface {
	ChannelKeeper
	SubscriptionKeeper
	DeliveryLog
	TemplateKeeper
	DeadMan
}

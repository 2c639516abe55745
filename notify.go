package monolith

import (
	"slices"
	"time"
)

// Channel is a way to reach people or programs: a mail relay with its recipients, a PagerDuty service, a webhook …
type Channel struct {
	ID      int64  `json:"id"`
	Name    string `json:"name"` // unique, free text
	Kind    string `json:"kind"` // the name of a [ChannelKind]: mail, pager, pagerduty, webhook, shoutrrr
	Enabled bool   `json:"enabled"`
	// Config holds the kind's settings by name, Secrets those that must not be shown. Stores seal the
	// secrets. An update that leaves a secret out keeps it, unless the place that it is sent to changes.
	Config  map[string]string `json:"config"`
	Secrets map[string]Secret `json:"secrets,omitempty"`
	// Failing is why the last deliveries failed, since when; "" while it works.
	Failing      string    `json:"failing,omitempty"`
	FailingSince time.Time `json:"failing_since,omitzero"`
	LastSent     time.Time `json:"last_sent,omitzero"` // of the last delivery that was acknowledged
	Created      time.Time `json:"created"`
	Updated      time.Time `json:"updated"`
}

// Subscription says who is told of what, and when.
type Subscription struct {
	ID      int64  `json:"id"`
	Name    string `json:"name"`
	Channel int64  `json:"channel"` // a [Channel]'s id
	Enabled bool   `json:"enabled"`
	// What: empty lists choose everything. Groups include their sub-groups.
	Levels  []Level    `json:"levels"`
	Groups  []string   `json:"groups"`
	Servers []ServerID `json:"-"`
	Rules   []string   `json:"rules"`
	// When: a weekly timetable in Zone, "mon-fri 08:00-18:00" a line; "" is always. What opens outside it is told
	// at its beginning if it is still open then.
	Hours string `json:"hours"`
	Zone  string `json:"zone"` // IANA name; "" is UTC
	// Delay is how long an alert must have been open before the first message, Repeat after how long an open and
	// unacknowledged one is told again (0: never). PerHour bounds the messages; what is more becomes one digest
	// (0: 20). Digest gathers everything for that long into one message (0: none).
	Delay    time.Duration `json:"-"`
	Repeat   time.Duration `json:"-"`
	Digest   time.Duration `json:"-"`
	PerHour  int           `json:"per_hour"`
	Recovery bool          `json:"recovery"` // tell when it is over; only what was told is told to be over
	// Quiet is the time of day "08:00" at which a line says that all is quiet, or what is open; "" never.
	Quiet   string    `json:"quiet,omitempty"`
	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
}

// Declines says why a subscription does not choose an alert at its level; "" when it does. What is about the monitor itself
// concerns every server.
func (s *Subscription) Declines(a *Alert) string {
	switch {
	case len(s.Levels) > 0 && !slices.Contains(s.Levels, a.Level):
		return "it is not told of level " + a.Level.String()
	case len(s.Rules) > 0 && !slices.Contains(s.Rules, a.Rule):
		return "it is not told of this rule"
	case a.Server == 0:
		return ""
	case len(s.Servers) > 0 && !slices.Contains(s.Servers, a.Server):
		return "it is not told of this server"
	case len(s.Groups) > 0 && !slices.ContainsFunc(s.Groups, func(g string) bool { return InGroup(a.Group, g) }):
		return "it is not told of this group"
	}
	return ""
}

// DeliveryState is where a delivery stands.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending DeliveryState = "pending" // due at Next
	DeliveryClaimed DeliveryState = "claimed" // being sent; due again when the lease runs out
	DeliverySent    DeliveryState = "sent"    // acknowledged by the receiver
	DeliveryFailed  DeliveryState = "failed"  // given up: see Answer
	DeliveryDropped DeliveryState = "dropped" // no longer wanted: the problem was over before it was told, the channel is gone
)

// NoticeKind is why something is told.
type NoticeKind string

// The kinds of notice.
const (
	NoticeProblem      NoticeKind = "problem" // opened or raised
	NoticeReminder     NoticeKind = "reminder"
	NoticeLowered      NoticeKind = "lowered"
	NoticeRecovery     NoticeKind = "recovery"
	NoticeAcknowledged NoticeKind = "acknowledged" // also taken
	NoticeDigest       NoticeKind = "digest"       // several alerts in one message
	NoticeQuiet        NoticeKind = "quiet"        // the daily line
	NoticeTest         NoticeKind = "test"
)

// Delivery is one message to one channel: an entry of the outbox. It is written in the transaction that
// writes the event it tells of.
type Delivery struct {
	ID           int64      `json:"id"`
	Channel      int64      `json:"channel"`
	Subscription int64      `json:"subscription,omitempty"` // 0: a test
	Kind         NoticeKind `json:"kind"`
	Alerts       []AlertID  `json:"alerts"` // the first is the one it is about
	Event        int64      `json:"event,omitempty"`
	// Key is the same for all messages of one episode, so that receivers can thread and deduplicate:
	// PagerDuty's dedup_key, the root of a mail's Message-ID.
	Key      string        `json:"key"`
	State    DeliveryState `json:"state"`
	Created  time.Time     `json:"created"`
	Next     time.Time     `json:"next,omitzero"` // when it is due, or its lease ends
	Attempts int           `json:"attempts"`
	Done     time.Time     `json:"done,omitzero"`
	Answer   string        `json:"answer,omitempty"` // the receiver's last answer, or the error; secrets masked
	Payload  []byte        `json:"-"`                // the notice as it was at the event, as JSON
}

// ExportProfile is an export under a name: GET /api/v1/export.xml?profile=NAME.
type ExportProfile struct {
	ID      int64      `json:"id"`
	Name    string     `json:"name"`
	Fields  []string   `json:"fields"` // group, version, status.Threads_running, rate(status.Questions) …
	Servers []ServerID `json:"-"`
	Groups  []string   `json:"groups,omitempty"`
	From    string     `json:"from,omitempty"` // as in the address: -2h, RFC 3339; "" is the moment
	To      string     `json:"to,omitempty"`
	Step    string     `json:"step,omitempty"`
	Created time.Time  `json:"created"`
	Updated time.Time  `json:"updated"`
}

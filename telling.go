package monolith

import (
	"encoding/json"
	"time"
)

// ChannelKind describes a kind of [Channel] to people, and to the form that sets one up.
type ChannelKind struct {
	Name   string         `json:"name"` // of [Channel.Kind]
	Title  string         `json:"title"`
	Help   string         `json:"help"`
	Fields []ChannelField `json:"fields"`
	// Keyed says that it follows each alert by its key, as PagerDuty does: it is told of every step, also of
	// acknowledgements, and nothing is gathered for it.
	Keyed bool `json:"keyed"`
}

// ChannelField is one setting of a kind of channel: an entry of [Channel.Config], or of [Channel.Secrets].
type ChannelField struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Help     string   `json:"help,omitempty"`
	Secret   bool     `json:"secret,omitempty"` // kept sealed and never shown
	Required bool     `json:"required,omitempty"`
	Default  string   `json:"default,omitempty"`
	Choices  []string `json:"choices,omitempty"`
	// Place says that secrets are sent to where it leads: they must be given again when it changes.
	Place bool `json:"place,omitempty"`
	Lines bool `json:"lines,omitempty"` // it may have several lines
}

// ChannelTest is what came of a test message.
type ChannelTest struct {
	OK     bool   `json:"ok"` // the receiver acknowledged it
	Answer string `json:"answer,omitempty"`
	Error  string `json:"error,omitempty"`
	// Permanent says that another try would fail in the same way.
	Permanent bool `json:"permanent,omitempty"`
	// Dialogue is all that went to and fro, a line each: "> " sent, "< " received, "* " what happened. Secrets are masked.
	Dialogue string        `json:"dialogue"`
	Took     time.Duration `json:"-"`
}

// MarshalJSON adds took_ms.
func (t ChannelTest) MarshalJSON() ([]byte, error) {
	type plain ChannelTest
	return json.Marshal(struct {
		plain
		Took float64 `json:"took_ms"`
	}{plain(t), milliseconds(t.Took)})
}

// Audience says of one subscription whether it is told of an alert, when, and why or why not.
type Audience struct {
	Subscription int64  `json:"subscription"`
	Name         string `json:"name"`
	Channel      int64  `json:"channel"`
	ChannelName  string `json:"channel_name"`
	Told         bool   `json:"told"` // it was told, or will be if nothing changes
	// At is when: the last time that it was told, or the next one that is planned. Zero with Told false.
	At  time.Time `json:"at,omitzero"`
	Why string    `json:"why"` // one sentence
}

// Foretold says what becomes of an open alert when a subscription is kept as it is given.
type Foretold struct {
	Alert
	At  time.Time // when it is told of it; zero: it is not
	Why string    // one sentence
}

// Heartbeat is the dead man's switch: an address that Monolith calls as long as it can watch, so that somebody else
// notices when it can't.
type Heartbeat struct {
	URL   string        `json:"url"` // http or https; "": there is none
	Every time.Duration `json:"-"`   // 10 s to a day
	// Last is when the receiver last acknowledged it; Failing is why the last call failed or was left out, since when.
	Last         time.Time `json:"last,omitzero"`
	Failing      string    `json:"failing,omitempty"`
	FailingSince time.Time `json:"failing_since,omitzero"`
}

// MarshalJSON adds every, in seconds.
func (h Heartbeat) MarshalJSON() ([]byte, error) {
	type plain Heartbeat
	return json.Marshal(struct {
		plain
		Every float64 `json:"every"`
	}{plain(h), h.Every.Seconds()})
}

// TemplateText is a template of messages: the built-in text, and the one that people put in its place.
type TemplateText struct {
	Name    string    `json:"name"` // subject, text, html, chat, pager
	BuiltIn string    `json:"built_in"`
	Source  string    `json:"source,omitempty"` // "": the built-in one is used
	By      string    `json:"by,omitempty"`
	Updated time.Time `json:"updated,omitzero"`
	// Wrong is why Source can't be used, as after an upgrade; the built-in one is used meanwhile.
	Wrong string `json:"wrong,omitempty"`
}

// TellingStatus says whether people would hear of alerts.
type TellingStatus struct {
	// Level is LevelOK when all is well, LevelWarn when some may not be told, LevelCritical when nobody can be.
	Level Level  `json:"level"`
	Text  string `json:"text,omitempty"` // what is wrong, in one sentence
	Cure  string `json:"cure,omitempty"`
	// Failing names the channels that fail.
	Failing []string `json:"failing,omitempty"`
	// Waiting is how many messages are to be sent now or later.
	Waiting int `json:"waiting"`
}

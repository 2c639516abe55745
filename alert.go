package monolith

import (
	"fmt"
	"time"
)

// Level says how bad an alert is. The zero value, [LevelOK], is no alert.
type Level uint8

// The levels, in order.
const (
	LevelOK Level = iota
	LevelInfo
	LevelWarn
	LevelCritical
)

// Levels are the levels of an alert, from the mildest.
var Levels = []Level{LevelInfo, LevelWarn, LevelCritical}

var levelNames = [...]string{"ok", "info", "warn", "critical"}

// String gives ok, info, warn or critical.
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return fmt.Sprintf("level(%d)", uint8(l))
}

// MarshalText writes the level's name.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads a level's name.
func (l *Level) UnmarshalText(text []byte) (err error) {
	*l, err = ParseLevel(string(text))
	return err
}

// ParseLevel reads ok, info, warn or critical.
func ParseLevel(text string) (Level, error) {
	for i, name := range levelNames {
		if name == text {
			return Level(i), nil
		}
	}
	return LevelOK, Invalid("level", fmt.Sprintf("unknown level %q", text), "info, warn or critical")
}

// RuleState is what a rule says about a server, or about one instance on it.
type RuleState string

// The states of a rule. Only StateOpen is a problem. None of the others is "OK" except StateOK itself.
const (
	StateOK             RuleState = "ok"
	StatePending        RuleState = "pending"         // a condition holds, but not long enough yet
	StateOpen           RuleState = "open"            // an alert is open
	StateLearning       RuleState = "learning"        // its window is not covered yet, or the server is up too short
	StateCannotEvaluate RuleState = "cannot_evaluate" // an input could not be read: see the reason
	StateNotApplicable  RuleState = "not_applicable"  // does not concern this server: see the reason
)

// RuleStates are all states, the ones that people must look at first.
var RuleStates = []RuleState{StateOpen, StateCannotEvaluate, StatePending, StateLearning, StateNotApplicable, StateOK}

// AlertID identifies an alert, which is one episode of a rule on one instance of one server: from its
// opening to its closing. The store gives it; 0 is no alert.
type AlertID int64

// AlertKey says what an alert is about. At most one alert of a key is open at a time.
type AlertKey struct {
	Server   ServerID `json:"-"`        // 0: the monitor itself
	Rule     string   `json:"rule"`     // the rule's id
	Instance string   `json:"instance"` // the channel, account, mount … that the rule is evaluated for; "" for the server
}

// CloseReason says why an alert closed.
type CloseReason string

// The reasons. Only the first means that the problem is over.
const (
	ClosedCleared       CloseReason = "cleared"
	ClosedNotApplicable CloseReason = "not_applicable" // what it was about is gone, or the rule no longer concerns the server
	ClosedDisabled      CloseReason = "disabled"       // the rule was switched off here
	ClosedRemoved       CloseReason = "removed"        // the server or the rule was removed
	ClosedRolledUp      CloseReason = "rolled_up"      // a cause opened that speaks for it
)

// Alert is one episode. Texts are masked and safe to send; they still hold what a monitored server said,
// so whoever shows them must escape them.
type Alert struct {
	ID AlertID `json:"id"`
	AlertKey
	ServerName string `json:"server"` // as it is named now; "" for the monitor itself
	Group      string `json:"group"`
	Title      string `json:"title"` // the rule's
	Category   string `json:"category"`
	Level      Level  `json:"level"` // now; of a closed alert its last one
	Peak       Level  `json:"peak"`  // the highest since it opened
	// Summary is one line: what, with value and limit, without server and level.
	Summary string `json:"summary"`
	Text    string `json:"text"`    // the whole message
	Formula string `json:"formula"` // the condition that holds, with the numbers put in
	// Values are the quantities behind it, as they were at the last change of level, limits beside them.
	Values  []AlertValue `json:"values"`
	Remedy  *Remedy      `json:"remedy,omitempty"`
	Opened  time.Time    `json:"opened"`
	Changed time.Time    `json:"changed"`         // of the level
	Closed  time.Time    `json:"closed,omitzero"` // zero while open
	Reason  CloseReason  `json:"reason,omitempty"`
	// Flapping: it opened and closed so often that it is now kept open.
	Flapping bool `json:"flapping,omitempty"`
	// Maintenance: it opened in a maintenance window and nobody was told.
	Maintenance bool `json:"maintenance,omitempty"`
	// Parent is the alert that speaks for this one (the host or the server is unreachable, the source is dead); 0: none.
	Parent AlertID `json:"parent,omitempty"`
	// Unknown is why the rule cannot be evaluated at present, while the alert stays open; "" when it can.
	Unknown string `json:"unknown,omitempty"`

	AckedBy  string    `json:"acked_by,omitempty"` // acknowledged: by whom, when, why
	AckedAt  time.Time `json:"acked_at,omitzero"`
	AckNote  string    `json:"ack_note,omitempty"`
	Owner    string    `json:"owner,omitempty"` // who took it
	TakenAt  time.Time `json:"taken_at,omitzero"`
	Silenced time.Time `json:"silenced_until,omitzero"` // by a silence on the alert or a wider one; zero: not, UntilClosed: without another end
}

// Open reports whether the alert is open.
func (a *Alert) Open() bool { return a.Closed.IsZero() }

// UntilClosed is the Silenced of an alert that is silenced until it closes: no other moment is as late.
func UntilClosed() time.Time { return time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) }

// SilencedUntilClosed reports whether the alert's silence has no other end than the alert's own.
func (a *Alert) SilencedUntilClosed() bool { return !a.Silenced.Before(UntilClosed()) }

// AlertValue is one named quantity of a rule.
type AlertValue struct {
	Name  string   `json:"name"` // as the rule names it: failed, limit.failed
	Num   *float64 `json:"value"`
	Text  string   `json:"text"`            // with unit, for people
	Unit  string   `json:"unit,omitempty"`  // as the rule gives it: %, bytes, s, 1/s …
	Limit *float64 `json:"limit,omitempty"` // what it is compared with at the level in force; nil: nothing
	From  string   `json:"from,omitempty"`  // where the limit comes from: "built-in", "global", "group acme/prod", "server"
	// Is is the quantity's formula with the numbers put in.
	Is string `json:"is,omitempty"`
}

// Remedy is what to do about an alert, made out for the server at hand.
type Remedy struct {
	Text     string    `json:"text"`               // in words; "" where the settings say it all
	Settings []Setting `json:"settings,omitempty"` // of [mysqld]
	SQL      []string  `json:"sql,omitempty"`      // statements to copy
	Checks   []string  `json:"checks,omitempty"`   // first checks: statements or commands to look closer
	Risk     string    `json:"risk,omitempty"`
	Rollback string    `json:"rollback,omitempty"`
	Restart  bool      `json:"restart"`
}

// Setting is one change of a variable.
type Setting struct {
	Variable string `json:"variable"`
	From     string `json:"from"` // the value in force
	To       string `json:"to"`
	Dynamic  bool   `json:"dynamic"` // SET GLOBAL changes it at once
	Why      string `json:"why,omitempty"`
}

// AlertEventKind is what happened to an alert.
type AlertEventKind string

// The kinds of event.
const (
	EventOpened       AlertEventKind = "opened"
	EventRaised       AlertEventKind = "raised"
	EventLowered      AlertEventKind = "lowered"
	EventClosed       AlertEventKind = "closed"
	EventFlapping     AlertEventKind = "flapping"
	EventAcknowledged AlertEventKind = "acknowledged"
	EventTaken        AlertEventKind = "taken"
	EventSilenced     AlertEventKind = "silenced"
	EventUnsilenced   AlertEventKind = "unsilenced"
	EventNote         AlertEventKind = "note"
)

// AlertEvent is one line of an alert's history.
type AlertEvent struct {
	ID    int64          `json:"id"` // grows with every event of the store
	Alert AlertID        `json:"alert"`
	At    time.Time      `json:"at"`
	Kind  AlertEventKind `json:"kind"`
	Level Level          `json:"level"` // after it
	By    string         `json:"by,omitempty"`
	Text  string         `json:"text,omitempty"` // the summary at that moment, a note, a reason
	// Quiet is why nobody was told of it: maintenance, a silence …; "" when people were told, or nobody wanted to be.
	Quiet string `json:"quiet,omitempty"`
}

// RuleStatus is what one rule says about one instance of one server now.
type RuleStatus struct {
	AlertKey
	State RuleState `json:"state"`
	Level Level     `json:"level"`         // the highest level that holds, in force or pending
	Since time.Time `json:"since"`         // in this state
	Why   string    `json:"why,omitempty"` // why it can't be evaluated, does not apply, is learning or is off
	// Input names what is missing when the state is cannot_evaluate or learning.
	Input  string       `json:"input,omitempty"`
	Values []AlertValue `json:"values,omitempty"`
	Text   string       `json:"text,omitempty"`  // what it would say; "" when it has nothing to say
	Alert  AlertID      `json:"alert,omitempty"` // the open alert, or 0
}

// AlertQuery asks for alerts, worst and newest first when they are open, else newest first.
type AlertQuery struct {
	Open, Closed bool       // both false: open ones
	Levels       []Level    // empty: all
	Servers      []ServerID // empty: all
	Group        string     // with its sub-groups; "" is all
	Rule         string     // "" is all
	From, To     time.Time  // was open at some moment From ≤ t < To; zero leaves the end open
	Before       AlertID    // only ids below: the page after it; 0: from the newest
	Limit        int        // 0 is 200, at most 5,000
}

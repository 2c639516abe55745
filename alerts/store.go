package alerts

import (
	"context"
	"time"

	"monolith"
)

// Store keeps alerts, their events, what people decided, and the engine's memory. [Service] calls it from several
// goroutines. Errors are [monolith.ErrNotFound], [monolith.ErrConflict] and [monolith.ErrUnavailable] inside.
type Store interface {
	// OpenAlerts gives all alerts that are open, in the order of their ids.
	OpenAlerts(ctx context.Context) ([]monolith.Alert, error)
	// EngineStates gives what [Batch.States] kept, by server; 0 is the monitor itself. A damaged row is left out
	// and the others are given.
	EngineStates(ctx context.Context) (map[monolith.ServerID][]byte, error)
	// Commit writes a batch in one transaction: all of it or nothing. It puts the ids that it gives into the
	// batch's alerts and events, and leaves the batch as it was when it fails.
	Commit(ctx context.Context, b *Batch) error

	// Alerts finds alerts; see [monolith.AlertQuery] for the order and the limits. Server names and groups are those
	// of now.
	Alerts(ctx context.Context, q monolith.AlertQuery) ([]monolith.Alert, error)
	// Alert gives one alert, open or closed.
	Alert(ctx context.Context, id monolith.AlertID) (monolith.Alert, error)
	// AlertEvents gives the events of one alert, oldest first.
	AlertEvents(ctx context.Context, id monolith.AlertID) ([]monolith.AlertEvent, error)
	// EventsAfter gives events with ids greater than after, in the order of their ids, at most limit.
	EventsAfter(ctx context.Context, after int64, limit int) ([]monolith.AlertEvent, error)

	// RuleSettings gives all settings of all rules.
	RuleSettings(ctx context.Context) ([]monolith.RuleSetting, error)
	// PutRuleSettings writes settings in one transaction, each in the place of the one of its rule and scope. One that
	// says nothing (see [IsEmptySetting]) deletes it.
	PutRuleSettings(ctx context.Context, settings []monolith.RuleSetting) error

	// Silences gives those that have not ended at a moment.
	Silences(ctx context.Context, at time.Time) ([]monolith.Silence, error)
	// PutSilence adds a silence (ID 0, set by the call) or changes one.
	PutSilence(ctx context.Context, s *monolith.Silence) error
	DeleteSilence(ctx context.Context, id int64) error

	// MaintenanceWindows gives all of them, also those that are over, in the order of their ids.
	MaintenanceWindows(ctx context.Context) ([]monolith.MaintenanceWindow, error)
	// PutMaintenanceWindow adds a window (ID 0, set by the call) or changes one.
	PutMaintenanceWindow(ctx context.Context, w *monolith.MaintenanceWindow) error
	DeleteMaintenanceWindow(ctx context.Context, id int64) error

	// OwnRules gives the rules that people made, by id.
	OwnRules(ctx context.Context) ([]OwnRule, error)
	// PutOwnRule adds a rule or replaces the one with its id.
	PutOwnRule(ctx context.Context, r OwnRule) error
	DeleteOwnRule(ctx context.Context, id string) error
}

// OwnRule is a user's rule as it is kept: its text is the truth, and is compiled when it is loaded.
type OwnRule struct {
	ID     string
	Source string // YAML: one entry of a rule file
	By     string
	At     time.Time
}

// Batch is what happened at one moment, to be written in one transaction.
type Batch struct {
	At time.Time
	// Alerts are new ones, with ID 0, and changed ones. Each stands in it once.
	Alerts []*monolith.Alert
	// Events are new.
	Events []*BatchEvent
	// Deliveries are new: who is to be told of the events.
	Deliveries []*BatchDelivery
	// States are the engine's memory by server, each in the place of the one before; an empty one deletes it. 0 is the
	// monitor itself.
	States map[monolith.ServerID][]byte
}

// BatchEvent is an event with the alert it belongs to.
type BatchEvent struct {
	monolith.AlertEvent
	// Of is one of the batch's alerts, or an alert that has its id already: the event's Alert is Of.ID when it is
	// written.
	Of *monolith.Alert
	// Tell says that people are to be told of it. It is false in maintenance, under a silence, for an alert that
	// another one speaks for, and for the recovery of one that was never told: then the event is kept and shown only.
	Tell bool
	// Quiet is why nobody is told; "" with Tell.
	Quiet string
}

// BatchDelivery is a message about events of the batch.
type BatchDelivery struct {
	monolith.Delivery
	// Of are the alerts it is about, of the batch or older: the delivery's Alerts are their ids when it is written.
	Of []*monolith.Alert
	// About is the event it tells of: the delivery's Event is its id when it is written. nil: the delivery's own.
	About *BatchEvent
}

// Empty reports whether there is nothing to write.
func (b *Batch) Empty() bool {
	return len(b.Alerts)+len(b.Events)+len(b.Deliveries)+len(b.States) == 0
}

// IsEmptySetting reports whether a setting says nothing, so that everything is as the wider place says.
func IsEmptySetting(s *monolith.RuleSetting) bool {
	return s.Enabled == nil && len(s.Limits) == 0 && s.Runbook == ""
}

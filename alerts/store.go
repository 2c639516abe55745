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
	// says nothing (see [monolith.RuleSetting.Empty]) deletes it.
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

// The types of a [Store]'s arguments are nouns of the root package: stores import nothing else.
type (
	// OwnRule is a user's rule as it is kept.
	OwnRule = monolith.OwnRule
	// Batch is what happened at one moment, to be written in one transaction.
	Batch = monolith.AlertBatch
	// BatchEvent is an event with the alert it belongs to.
	BatchEvent = monolith.AlertBatchEvent
	// BatchDelivery is a message about events of the batch.
	BatchDelivery = monolith.AlertBatchDelivery
)

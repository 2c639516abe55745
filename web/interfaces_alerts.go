package web

import (
	"context"
	"time"

	"monolith"
)

// What the pages and the API need of the rule engine. *alerts.Service has all of [Alerts].

// AlertReader reads alerts, open and closed.
type AlertReader interface {
	// Open gives the open alerts from memory, worst and newest first: also while the store is away.
	Open() []monolith.Alert
	// Alerts finds alerts in the order and the pages of [monolith.AlertQuery].
	Alerts(ctx context.Context, q monolith.AlertQuery) ([]monolith.Alert, error)
	// Alert gives one, as it is now; [monolith.ErrNotFound].
	Alert(ctx context.Context, id monolith.AlertID) (monolith.Alert, error)
	// AlertEvents gives what happened to an alert, oldest first.
	AlertEvents(ctx context.Context, id monolith.AlertID) ([]monolith.AlertEvent, error)
}

// AlertHandler notes what people do about alerts. by is who, "" while there are no accounts. Each gives the alert as it
// is afterwards; [monolith.ErrNotFound] when there is none, [monolith.ErrConflict] when it is closed (a note is always
// taken).
type AlertHandler interface {
	Acknowledge(ctx context.Context, id monolith.AlertID, by, note string) (monolith.Alert, error)
	Take(ctx context.Context, id monolith.AlertID, by string) (monolith.Alert, error)
	// SilenceAlert keeps an alert quiet until a moment; zero: until it closes.
	SilenceAlert(ctx context.Context, id monolith.AlertID, until time.Time, by, reason string) (monolith.Alert, error)
	AddAlertNote(ctx context.Context, id monolith.AlertID, by, text string) (monolith.Alert, error)
}

// RuleBook reads rules, what they say now, and what people changed of them.
type RuleBook interface {
	// Rules gives all rules, the built-in ones in the order of the catalogue, then people's own by id.
	Rules() []monolith.RuleInfo
	// Statuses says what every rule says about a server now, every instance by itself, in the order of Rules. It has a
	// line for each rule, whatever its state: nothing is silent. nil: nothing was evaluated yet.
	Statuses(server monolith.ServerID) []monolith.RuleStatus
	// RuleStatuses says what one rule says about all servers.
	RuleStatuses(rule string) []monolith.RuleStatus
	// EffectiveRule says what is in force of a rule for a server, and where it comes from.
	EffectiveRule(server monolith.ServerID, rule string) (monolith.EffectiveRule, error)

	RuleSettings(ctx context.Context) ([]monolith.RuleSetting, error)
	// PutRuleSettings checks and keeps settings, each in the place of the one of its rule and scope; one that says nothing
	// removes it. What makes no sense (an unknown rule, level or limit, one on the wrong side of another) is a
	// [monolith.InvalidError], and nothing is kept.
	PutRuleSettings(ctx context.Context, settings []monolith.RuleSetting) error
	// CopyRuleSettings gives servers all settings of rules that a server has of its own, in the place of theirs.
	CopyRuleSettings(ctx context.Context, from monolith.ServerID, to []monolith.ServerID, by string) error
}

// OwnRules keeps the rules that people make. A mistake in one is a [monolith.InvalidError] whose field and column say where.
type OwnRules interface {
	OwnRules(ctx context.Context) ([]monolith.OwnRule, error)
	// CheckOwnRule reads a rule without keeping it.
	CheckOwnRule(source string) (monolith.RuleInfo, error)
	// PutOwnRule adds a rule, or replaces the one with its id; one of a built-in rule is [monolith.ErrConflict].
	PutOwnRule(ctx context.Context, source, by string) (monolith.RuleInfo, error)
	DeleteOwnRule(ctx context.Context, id string) error
	BackTest(ctx context.Context, t monolith.BackTest) (*monolith.BackTestResult, error)
}

// QuietTimes keeps silences and maintenance windows. The Put methods add one (ID 0, set by the call) or change one, and
// check it.
type QuietTimes interface {
	// Silences gives those that have not ended.
	Silences(ctx context.Context) ([]monolith.Silence, error)
	PutSilence(ctx context.Context, s *monolith.Silence) error
	DeleteSilence(ctx context.Context, id int64) error

	// MaintenanceWindows gives all, also those that are over.
	MaintenanceWindows(ctx context.Context) ([]monolith.MaintenanceWindow, error)
	PutMaintenanceWindow(ctx context.Context, w *monolith.MaintenanceWindow) error
	DeleteMaintenanceWindow(ctx context.Context, id int64) error
	// NextMaintenance gives the occurrence of a window that is running at a moment, or the next one; false: none comes.
	NextMaintenance(w *monolith.MaintenanceWindow, at time.Time) (from, to time.Time, ok bool)
}

// Alerts is everything of the rule engine.
type Alerts interface {
	AlertReader
	AlertHandler
	RuleBook
	OwnRules
	QuietTimes
}

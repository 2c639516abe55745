package monolith

import "time"

// RuleInfo describes a rule to people and programs. It is immutable.
type RuleInfo struct {
	ID       string            `json:"id"`
	Title    string            `json:"title"`
	Category string            `json:"category"`
	Plan     []string          `json:"plan,omitempty"` // numbers in the catalogue: S01, P07; a user's rule has none
	Own      bool              `json:"own"`            // made by a user
	About    string            `json:"about"`          // what it means and why it matters
	Each     string            `json:"each"`           // server, replica, account, mount, device, schema, table …
	Window   time.Duration     `json:"-"`
	Warmup   time.Duration     `json:"-"`
	Every    string            `json:"every"` // poll or slow
	Needs    []string          `json:"needs,omitempty"`
	Let      []RuleQuantity    `json:"let"`
	When     []RuleCondition   `json:"when"`
	Says     string            `json:"says"`
	Remedy   string            `json:"remedy,omitempty"`
	Inputs   []string          `json:"inputs"` // every name that it reads
	Source   string            `json:"-"`      // the YAML of a user's rule
	Runbook  string            `json:"runbook,omitempty"`
	Graph    string            `json:"graph,omitempty"` // of the catalogue, by its id or plan number, that shows what it judges
	Labels   map[string]string `json:"labels,omitempty"`
}

// RuleQuantity is a named quantity of a rule.
type RuleQuantity struct {
	Name string `json:"name"`
	Is   string `json:"is"`
	Unit string `json:"unit,omitempty"`
}

// RuleCondition is one condition of a rule.
type RuleCondition struct {
	If string `json:"if"`
	// Limits are the built-in ones: level → name → number.
	Limits map[string]map[string]float64 `json:"limits,omitempty"`
	Level  string                        `json:"level,omitempty"` // without limits: a level, or a formula that gives one
	// For is how long it must hold, by level; Clear in words.
	For   map[string]string `json:"for,omitempty"`
	Clear string            `json:"clear,omitempty"`
	// Compares lists what If compares with limits as it stands; where a limit is part of more, no line on a graph would be right.
	Compares []RuleComparison `json:"compares,omitempty"`
}

// RuleComparison is a name that a condition compares with a limit.
type RuleComparison struct {
	Name  string `json:"name"`  // a quantity of the rule, or a metric
	Limit string `json:"limit"` // failed, for limit.failed
	Alone bool   `json:"alone"` // nothing else is wanted for the condition to hold
}

// RuleScope says for whom a setting holds: exactly one of Server and Group is set, or neither for all.
type RuleScope struct {
	Server ServerID `json:"-"`
	Group  string   `json:"group,omitempty"`
}

// RuleSetting is what people changed of one rule at one place. The nearest place wins, item by item:
// server before its group, a group before the one above it, these before global, global before built-in.
type RuleSetting struct {
	Rule string `json:"rule"`
	RuleScope
	Enabled *bool `json:"enabled,omitempty"` // nil: as the wider place says
	// Limits are by level and name: {"warn": {"failed": 50}}. What is not named is as the wider place says.
	Limits  map[string]map[string]float64 `json:"limits,omitempty"`
	Runbook string                        `json:"runbook,omitempty"` // a link; "": as the wider place says
	By      string                        `json:"by,omitempty"`
	At      time.Time                     `json:"at"`
}

// Empty reports whether the setting says nothing, so that everything is as the wider place says.
func (s *RuleSetting) Empty() bool {
	return s.Enabled == nil && len(s.Limits) == 0 && s.Runbook == ""
}

// EffectiveRule is what is in force of a rule for one server, with its origin: "built-in", "global",
// "group acme/prod", "server".
type EffectiveRule struct {
	Rule        string           `json:"rule"`
	Enabled     bool             `json:"enabled"`
	EnabledFrom string           `json:"enabled_from"`
	Limits      []EffectiveLimit `json:"limits"`
	Runbook     string           `json:"runbook,omitempty"`
	RunbookFrom string           `json:"runbook_from,omitempty"`
}

// EffectiveLimit is one limit in force.
type EffectiveLimit struct {
	Condition int     `json:"condition"` // index in RuleInfo.When
	Level     Level   `json:"level"`
	Name      string  `json:"name"`
	Value     float64 `json:"value"`
	From      string  `json:"from"`
	BuiltIn   float64 `json:"built_in"`
	Unit      string  `json:"unit,omitempty"`
}

// Silence keeps alerts from being told to people until it ends. It hides nothing on the pages.
type Silence struct {
	ID int64 `json:"id"`
	// What it covers: one alert, or everything that fits Server, Group and Rule (empty: all of them).
	Alert  AlertID   `json:"alert,omitempty"`
	Server ServerID  `json:"-"`
	Group  string    `json:"group,omitempty"`
	Rule   string    `json:"rule,omitempty"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to,omitzero"` // zero only with Alert: until that alert closes
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

// Covers reports whether the silence is in force at a moment and covers an alert.
func (s *Silence) Covers(a *Alert, at time.Time) bool {
	if at.Before(s.From) || !s.To.IsZero() && !at.Before(s.To) {
		return false
	}
	if s.Alert != 0 {
		return s.Alert == a.ID
	}
	return (s.Server == 0 || s.Server == a.Server) && InGroup(a.Group, s.Group) && (s.Rule == "" || s.Rule == a.Rule)
}

// MaxMaintenance is how long one occurrence of a [MaintenanceWindow] lasts at most: what is planned for longer is a silence.
const MaxMaintenance = 31 * 24 * time.Hour

// MaintenanceWindow is a planned time in which alerts are evaluated and kept but told to nobody.
type MaintenanceWindow struct {
	ID     int64    `json:"id"`
	Title  string   `json:"title"`
	Server ServerID `json:"-"`               // 0: by Group
	Group  string   `json:"group,omitempty"` // with its sub-groups; "" is everything
	// Start is the first moment, as a wall clock in Zone; a recurring window comes again at the same
	// wall-clock time, whatever daylight saving does.
	Start    time.Time     `json:"start"`
	Duration time.Duration `json:"-"`               // a minute to [MaxMaintenance]
	Zone     string        `json:"zone"`            // IANA name; "" is UTC
	Every    string        `json:"every,omitempty"` // "" once, "day", "week" (on Weekdays), "month" (on Start's day)
	// Weekdays of a weekly window, time.Weekday's numbers; empty: Start's.
	Weekdays []time.Weekday `json:"weekdays,omitempty"`
	Until    time.Time      `json:"until,omitzero"` // last moment at which it may begin again; zero: for ever
	By       string         `json:"by,omitempty"`
}

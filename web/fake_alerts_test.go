package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"monolith"
)

// fakeAlerts is a rule engine that knows what tests tell it. Two rules are built in: "lag" and "scans".
type fakeAlerts struct {
	mu       sync.Mutex
	lag      string // another id of "lag", as the catalogue has it
	now      func() time.Time
	alerts   []monolith.Alert
	events   []monolith.AlertEvent
	own      []monolith.OwnRule
	settings []monolith.RuleSetting
	statuses map[monolith.ServerID][]monolith.RuleStatus
	silences []monolith.Silence
	windows  []monolith.MaintenanceWindow
	copied   []monolith.ServerID
	tested   monolith.BackTest
	broken   error // every call that could fail gives it
	lastID   int64
}

func (f *fakeAlerts) id() int64 { f.lastID++; return f.lastID + 100 }

func (f *fakeAlerts) lock() func() { f.mu.Lock(); return f.mu.Unlock }

// open adds an alert.
func (f *fakeAlerts) open(server *monolith.Server, rule string, level monolith.Level, at time.Time) monolith.AlertID {
	defer f.lock()()
	n := 1.5
	a := monolith.Alert{ID: monolith.AlertID(f.id()), AlertKey: monolith.AlertKey{Server: server.ID, Rule: rule, Instance: "c<1>"}, ServerName: server.Name, Group: server.Group,
		Title: "Title of " + rule, Category: "replication", Level: level, Peak: level, Summary: "lag 90 s, limit 60 s", Text: "It lags. <b>\x01\xff", Formula: "90 > 60",
		Values: []monolith.AlertValue{{Name: "lag", Num: &n, Text: "90 s"}, {Name: "gone", Text: "?"}}, Opened: at, Changed: at}
	f.alerts = append(f.alerts, a)
	f.events = append(f.events, monolith.AlertEvent{ID: f.id(), Alert: a.ID, At: at, Kind: monolith.EventOpened, Level: level, Text: a.Summary})
	return a.ID
}

func (f *fakeAlerts) Open() []monolith.Alert {
	list, _ := f.Alerts(context.Background(), monolith.AlertQuery{Open: true, Limit: 5000})
	return list
}

func (f *fakeAlerts) Alerts(_ context.Context, q monolith.AlertQuery) ([]monolith.Alert, error) {
	defer f.lock()()
	sorted := slices.Clone(f.alerts)
	slices.SortFunc(sorted, func(a, b monolith.Alert) int {
		if q.Open && !q.Closed && a.Level != b.Level {
			return cmp.Compare(b.Level, a.Level)
		}
		return cmp.Compare(b.ID, a.ID)
	})
	if q.Before != 0 {
		i := slices.IndexFunc(sorted, func(a monolith.Alert) bool { return a.ID == q.Before })
		if i < 0 {
			return nil, monolith.ErrNotFound
		}
		sorted = sorted[i+1:]
	}
	var out []monolith.Alert
	for _, a := range sorted {
		if (a.Open() && q.Open || !a.Open() && q.Closed) && (len(q.Levels) == 0 || slices.Contains(q.Levels, a.Level)) && (len(q.Servers) == 0 || slices.Contains(q.Servers, a.Server)) &&
			monolith.InGroup(a.Group, q.Group) && (q.Rule == "" || a.Rule == q.Rule) && (q.To.IsZero() || a.Opened.Before(q.To)) && (q.From.IsZero() || a.Open() || a.Closed.After(q.From)) && len(out) < q.Limit {
			out = append(out, a)
		}
	}
	return out, f.broken
}

func (f *fakeAlerts) find(id monolith.AlertID) (*monolith.Alert, error) {
	for i := range f.alerts {
		if f.alerts[i].ID == id {
			return &f.alerts[i], f.broken
		}
	}
	return &monolith.Alert{}, cmp.Or(f.broken, monolith.ErrNotFound)
}

func (f *fakeAlerts) Alert(_ context.Context, id monolith.AlertID) (monolith.Alert, error) {
	defer f.lock()()
	a, err := f.find(id)
	return *a, err
}

func (f *fakeAlerts) AlertEvents(_ context.Context, id monolith.AlertID) (out []monolith.AlertEvent, err error) {
	defer f.lock()()
	for _, e := range f.events {
		if e.Alert == id {
			out = append(out, e)
		}
	}
	return out, f.broken
}

func (f *fakeAlerts) change(id monolith.AlertID, closed bool, kind monolith.AlertEventKind, by, text string, do func(*monolith.Alert)) (monolith.Alert, error) {
	defer f.lock()()
	a, err := f.find(id)
	if err == nil && !a.Open() && !closed {
		err = monolith.ErrConflict
	}
	if err != nil {
		return monolith.Alert{}, err
	}
	do(a)
	f.events = append(f.events, monolith.AlertEvent{ID: f.id(), Alert: id, At: f.now(), Kind: kind, Level: a.Level, By: by, Text: text})
	return *a, nil
}

func (f *fakeAlerts) Acknowledge(_ context.Context, id monolith.AlertID, by, note string) (monolith.Alert, error) {
	return f.change(id, false, monolith.EventAcknowledged, by, note, func(a *monolith.Alert) { a.AckedBy, a.AckedAt, a.AckNote = by, f.now(), note })
}

func (f *fakeAlerts) Take(_ context.Context, id monolith.AlertID, by string) (monolith.Alert, error) {
	return f.change(id, false, monolith.EventTaken, by, "", func(a *monolith.Alert) { a.Owner, a.TakenAt = by, f.now() })
}

func (f *fakeAlerts) SilenceAlert(_ context.Context, id monolith.AlertID, until time.Time, by, reason string) (monolith.Alert, error) {
	return f.change(id, false, monolith.EventSilenced, by, reason, func(a *monolith.Alert) { a.Silenced = until })
}

func (f *fakeAlerts) AddAlertNote(_ context.Context, id monolith.AlertID, by, text string) (monolith.Alert, error) {
	return f.change(id, true, monolith.EventNote, by, text, func(*monolith.Alert) {})
}

func (f *fakeAlerts) Rules() []monolith.RuleInfo {
	defer f.lock()()
	rules := []monolith.RuleInfo{
		{ID: cmp.Or(f.lag, "lag"), Title: "Replication lag", Category: "replication", Plan: []string{"P04"}, Each: "replica", Window: 5 * time.Minute, Warmup: 10 * time.Minute, Every: "slow",
			When: []monolith.RuleCondition{{If: "lag > limit.lag", Compares: []monolith.RuleComparison{{Name: "lag", Limit: "lag", Alone: true}}, Limits: map[string]map[string]float64{"warn": {"lag": 60}, "critical": {"lag": 600}}}}, Inputs: []string{"replica.lag"}},
		{ID: "scans", Title: "Table scans", Category: "queries", Plan: []string{"S09", "S28"}, Each: "server", Every: "slow"},
	}
	for _, o := range f.own {
		rules = append(rules, monolith.RuleInfo{ID: o.ID, Title: "Mine", Category: "own", Own: true, Source: o.Source})
	}
	return rules
}

func (f *fakeAlerts) Statuses(server monolith.ServerID) []monolith.RuleStatus {
	defer f.lock()()
	return f.statuses[server]
}

func (f *fakeAlerts) RuleStatuses(rule string) (out []monolith.RuleStatus) {
	defer f.lock()()
	for _, list := range f.statuses {
		for _, st := range list {
			if st.Rule == rule {
				out = append(out, st)
			}
		}
	}
	return out
}

func (f *fakeAlerts) EffectiveRule(server monolith.ServerID, rule string) (monolith.EffectiveRule, error) {
	defer f.lock()()
	e := monolith.EffectiveRule{Rule: rule, Enabled: true, EnabledFrom: "built-in", Limits: []monolith.EffectiveLimit{{Level: monolith.LevelWarn, Name: "lag", Value: 60, From: "built-in", BuiltIn: 60}}}
	for _, s := range f.settings {
		if s.Rule == rule && s.Server == server && s.Limits != nil {
			e.Limits[0].Value, e.Limits[0].From = s.Limits["warn"]["lag"], "server"
		}
	}
	return e, f.broken
}

func (f *fakeAlerts) RuleSettings(context.Context) ([]monolith.RuleSetting, error) {
	defer f.lock()()
	return slices.Clone(f.settings), f.broken
}

func (f *fakeAlerts) PutRuleSettings(_ context.Context, settings []monolith.RuleSetting) error {
	defer f.lock()()
	for _, s := range settings {
		for level := range s.Limits {
			if _, err := monolith.ParseLevel(level); err != nil {
				return err
			}
		}
		f.settings = slices.DeleteFunc(f.settings, func(o monolith.RuleSetting) bool { return o.Rule == s.Rule && o.RuleScope == s.RuleScope })
		if s.Enabled != nil || s.Limits != nil || s.Runbook != "" {
			f.settings = append(f.settings, s)
		}
	}
	return f.broken
}

func (f *fakeAlerts) CopyRuleSettings(_ context.Context, _ monolith.ServerID, to []monolith.ServerID, _ string) error {
	defer f.lock()()
	f.copied = to
	return f.broken
}

func (f *fakeAlerts) OwnRules(context.Context) ([]monolith.OwnRule, error) {
	defer f.lock()()
	return slices.Clone(f.own), f.broken
}

// CheckOwnRule takes texts that begin with "id: ".
func (f *fakeAlerts) CheckOwnRule(source string) (monolith.RuleInfo, error) {
	id, ok := strings.CutPrefix(source, "id: ")
	if !ok {
		return monolith.RuleInfo{}, &monolith.InvalidError{Field: "source", Column: 3, Reason: "line 1: this is no rule", Cure: "begin with id"}
	}
	id, _, _ = strings.Cut(id, "\n")
	return monolith.RuleInfo{ID: id, Title: "Mine", Own: true, Source: source}, nil
}

func (f *fakeAlerts) PutOwnRule(_ context.Context, source, by string) (monolith.RuleInfo, error) {
	r, err := f.CheckOwnRule(source)
	defer f.lock()()
	version := 1
	f.own = slices.DeleteFunc(f.own, func(o monolith.OwnRule) bool { version = max(version, o.Version+1); return o.ID == r.ID })
	f.own = append(f.own, monolith.OwnRule{ID: r.ID, Source: source, Version: version, By: by, At: f.now()})
	return r, errors.Join(err, f.broken)
}

func (f *fakeAlerts) DeleteOwnRule(_ context.Context, id string) error {
	defer f.lock()()
	f.own = slices.DeleteFunc(f.own, func(o monolith.OwnRule) bool { return o.ID == id })
	return f.broken
}

func (f *fakeAlerts) BackTest(_ context.Context, t monolith.BackTest) (*monolith.BackTestResult, error) {
	defer f.lock()()
	f.tested = t
	result := &monolith.BackTestResult{Rule: cmp.Or(t.Rule, "mine"), From: t.From, To: t.To, Step: time.Minute}
	for _, id := range t.Servers {
		result.Servers = append(result.Servers, monolith.BackTestServer{Server: id, Name: fmt.Sprint("server ", id), Open: time.Hour, Unknown: time.Minute,
			Episodes: []monolith.BackTestEpisode{{Level: monolith.LevelWarn, From: t.From, To: t.From.Add(time.Hour), Summary: "x"}}})
	}
	return result, f.broken
}

func (f *fakeAlerts) Silences(context.Context) ([]monolith.Silence, error) {
	defer f.lock()()
	return slices.Clone(f.silences), f.broken
}

func (f *fakeAlerts) PutSilence(_ context.Context, s *monolith.Silence) error {
	defer f.lock()()
	return putByID(f, &f.silences, s, func(s *monolith.Silence) *int64 { return &s.ID })
}

func (f *fakeAlerts) DeleteSilence(_ context.Context, id int64) error {
	defer f.lock()()
	return dropByID(f, &f.silences, id, func(s *monolith.Silence) *int64 { return &s.ID })
}

func (f *fakeAlerts) MaintenanceWindows(context.Context) ([]monolith.MaintenanceWindow, error) {
	defer f.lock()()
	return slices.Clone(f.windows), f.broken
}

func (f *fakeAlerts) PutMaintenanceWindow(_ context.Context, w *monolith.MaintenanceWindow) error {
	defer f.lock()()
	return putByID(f, &f.windows, w, func(w *monolith.MaintenanceWindow) *int64 { return &w.ID })
}

func (f *fakeAlerts) DeleteMaintenanceWindow(_ context.Context, id int64) error {
	defer f.lock()()
	return dropByID(f, &f.windows, id, func(w *monolith.MaintenanceWindow) *int64 { return &w.ID })
}

// NextMaintenance knows windows that come once.
func (f *fakeAlerts) NextMaintenance(w *monolith.MaintenanceWindow, at time.Time) (from, to time.Time, ok bool) {
	from, to = w.Start, w.Start.Add(w.Duration)
	return from, to, at.Before(to)
}

func putByID[T any](f *fakeAlerts, list *[]T, item *T, id func(*T) *int64) error {
	if *id(item) == 0 {
		*id(item) = f.id()
		*list = append(*list, *item)
		return f.broken
	}
	for i := range *list {
		if *id(&(*list)[i]) == *id(item) {
			(*list)[i] = *item
			return f.broken
		}
	}
	return monolith.ErrNotFound
}

func dropByID[T any](f *fakeAlerts, list *[]T, n int64, id func(*T) *int64) error {
	before := len(*list)
	*list = slices.DeleteFunc(*list, func(item T) bool { return *id(&item) == n })
	if len(*list) == before {
		return monolith.ErrNotFound
	}
	return f.broken
}

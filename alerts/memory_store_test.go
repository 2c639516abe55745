package alerts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"monolith"
)

// memoryStore keeps in memory what a store keeps. Its transactions fail while down is set.
type memoryStore struct {
	mu       sync.Mutex
	down     bool
	never    func(*Batch) bool // what it never takes; nil: nothing
	lastID   int64
	alerts   map[monolith.AlertID]monolith.Alert
	events   []monolith.AlertEvent
	quiet    map[int64]string
	states   map[monolith.ServerID][]byte
	settings []monolith.RuleSetting
	silences []monolith.Silence
	windows  []monolith.MaintenanceWindow
	own      []monolith.OwnRule
}

func newMemoryStore() *memoryStore {
	return &memoryStore{alerts: map[monolith.AlertID]monolith.Alert{}, quiet: map[int64]string{}, states: map[monolith.ServerID][]byte{}}
}

func (m *memoryStore) OpenAlerts(context.Context) ([]monolith.Alert, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []monolith.Alert
	for _, a := range m.alerts {
		if a.Open() {
			out = append(out, a)
		}
	}
	slices.SortFunc(out, func(a, b monolith.Alert) int { return int(a.ID - b.ID) })
	return out, nil
}

func (m *memoryStore) EngineStates(context.Context) (map[monolith.ServerID][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := map[monolith.ServerID][]byte{}
	for id, b := range m.states {
		out[id] = slices.Clone(b)
	}
	return out, nil
}

func (m *memoryStore) Commit(_ context.Context, b *Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.down {
		return fmt.Errorf("memory: %w", monolith.ErrUnavailable)
	}
	if m.never != nil && m.never(b) {
		return monolith.Invalid("alert", "no store keeps this")
	}
	for _, a := range b.Alerts {
		if a.ID == 0 {
			m.lastID++
			a.ID = monolith.AlertID(m.lastID)
		}
		m.alerts[a.ID] = *a
	}
	for _, e := range b.Events {
		m.lastID++
		e.ID, e.Alert = m.lastID, e.Of.ID
		m.events = append(m.events, e.AlertEvent)
		m.quiet[e.ID] = e.Quiet
	}
	for id, blob := range b.States {
		m.states[id] = blob
	}
	return nil
}

func (m *memoryStore) Alerts(ctx context.Context, _ monolith.AlertQuery) ([]monolith.Alert, error) {
	return m.OpenAlerts(ctx)
}

func (m *memoryStore) Alert(_ context.Context, id monolith.AlertID) (monolith.Alert, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.alerts[id]
	if !ok {
		return a, fmt.Errorf("memory: %w", monolith.ErrNotFound)
	}
	return a, nil
}

func (m *memoryStore) AlertEvents(_ context.Context, id monolith.AlertID) (out []monolith.AlertEvent, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.events {
		if e.Alert == id {
			out = append(out, e)
		}
	}
	return out, nil
}

func (m *memoryStore) EventsAfter(context.Context, int64, int) ([]monolith.AlertEvent, error) {
	return nil, nil
}

func (m *memoryStore) RuleSettings(context.Context) ([]monolith.RuleSetting, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.settings), nil
}

func (m *memoryStore) PutRuleSettings(_ context.Context, list []monolith.RuleSetting) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range list {
		m.settings = slices.DeleteFunc(m.settings, func(o monolith.RuleSetting) bool { return o.Rule == s.Rule && o.RuleScope == s.RuleScope })
		if !s.Empty() {
			m.settings = append(m.settings, s)
		}
	}
	return nil
}

func (m *memoryStore) Silences(_ context.Context, at time.Time) ([]monolith.Silence, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(m.silences), func(s monolith.Silence) bool { return !s.To.IsZero() && !s.To.After(at) }), nil
}

func (m *memoryStore) PutSilence(_ context.Context, s *monolith.Silence) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastID++
	s.ID = m.lastID
	m.silences = append(m.silences, *s)
	return nil
}

func (m *memoryStore) DeleteSilence(_ context.Context, id int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.silences = slices.DeleteFunc(m.silences, func(s monolith.Silence) bool { return s.ID == id })
	return nil
}

func (m *memoryStore) MaintenanceWindows(context.Context) ([]monolith.MaintenanceWindow, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.windows), nil
}

func (m *memoryStore) PutMaintenanceWindow(_ context.Context, w *monolith.MaintenanceWindow) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.windows = append(m.windows, *w)
	return nil
}

func (m *memoryStore) DeleteMaintenanceWindow(context.Context, int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.windows = nil
	return nil
}

func (m *memoryStore) OwnRules(context.Context) ([]monolith.OwnRule, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.own), nil
}

func (m *memoryStore) PutOwnRule(_ context.Context, r monolith.OwnRule) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own = slices.DeleteFunc(m.own, func(o monolith.OwnRule) bool { return o.ID == r.ID })
	m.own = append(m.own, r)
	return nil
}

func (m *memoryStore) DeleteOwnRule(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own = slices.DeleteFunc(m.own, func(o monolith.OwnRule) bool { return o.ID == id })
	return nil
}

// told writes the events of a rule: server, kind, and in parentheses why nobody was told.
func (m *memoryStore) told(rule string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for _, e := range m.events {
		a := m.alerts[e.Alert]
		if rule != "" && a.Rule != rule {
			continue
		}
		word := strings.TrimSpace(a.ServerName + " " + string(e.Kind))
		if q := m.quiet[e.ID]; q != "" {
			word += " (" + q + ")"
		}
		out = append(out, word)
	}
	return strings.Join(out, ", ")
}

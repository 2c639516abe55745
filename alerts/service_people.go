package alerts

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"monolith"
)

// How long a note or a reason, and the name of who did something, may be, in characters.
const (
	maxNote = 4000
	maxBy   = 200
)

// Open gives the open alerts from memory, worst and newest first: also while the store is away.
func (s *Service) Open() []monolith.Alert {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]monolith.Alert, 0, len(s.open))
	for _, a := range s.open {
		out = append(out, *a)
	}
	slices.SortFunc(out, func(a, b monolith.Alert) int {
		return cmp.Or(cmp.Compare(b.Level, a.Level), b.Opened.Compare(a.Opened), cmp.Compare(b.ID, a.ID),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Instance, b.Instance))
	})
	return out
}

// Alerts finds alerts in the order and the pages of [monolith.AlertQuery].
func (s *Service) Alerts(ctx context.Context, q monolith.AlertQuery) ([]monolith.Alert, error) {
	return s.cfg.Store.Alerts(ctx, q)
}

// Alert gives one, as it is now.
func (s *Service) Alert(ctx context.Context, id monolith.AlertID) (monolith.Alert, error) {
	s.mu.Lock()
	a := s.byID(id)
	if a != nil {
		out := *a
		s.mu.Unlock()
		return out, nil
	}
	s.mu.Unlock()
	return s.cfg.Store.Alert(ctx, id)
}

// byID finds an open alert. s.mu is held.
func (s *Service) byID(id monolith.AlertID) *monolith.Alert {
	if id == 0 {
		return nil
	}
	for _, a := range s.open {
		if a.ID == id {
			return a
		}
	}
	return nil
}

// AlertEvents gives what happened to an alert, oldest first.
func (s *Service) AlertEvents(ctx context.Context, id monolith.AlertID) ([]monolith.AlertEvent, error) {
	return s.cfg.Store.AlertEvents(ctx, id)
}

// touch changes an open alert and keeps it with an event. A change that can't be written is undone.
func (s *Service) touch(ctx context.Context, id monolith.AlertID, kind monolith.AlertEventKind, by, text string, change func(*monolith.Alert)) (monolith.Alert, error) {
	if utf8.RuneCountInString(text) > maxNote {
		return monolith.Alert{}, monolith.Invalid("note", fmt.Sprintf("a note is at most %d characters long", maxNote))
	}
	if utf8.RuneCountInString(by) > maxBy {
		return monolith.Alert{}, monolith.Invalid("by", fmt.Sprintf("a name is at most %d characters long", maxBy))
	}
	if !s.isOpen(id) {
		return s.touchClosed(ctx, id, kind, by, text)
	}
	if err := s.writing.take(ctx); err != nil {
		return monolith.Alert{}, err
	}
	defer s.writing.give()
	if err := s.flush(ctx); err != nil {
		return monolith.Alert{}, err // what happened before comes first
	}
	b, undo := s.touched(id, kind, by, text, change)
	if b == nil { // it closed meanwhile
		return s.touchClosed(ctx, id, kind, by, text)
	}
	out := *b.batch.Alerts[0]
	if err := s.write(ctx, s.planned(ctx, b)); err != nil {
		undo()
		return monolith.Alert{}, fmt.Errorf("alerts: it could not be kept: %w", err)
	}
	return out, nil
}

// touched changes an open alert in memory and makes the batch of it, with what takes the change back; nil: it is not open.
func (s *Service) touched(id monolith.AlertID, kind monolith.AlertEventKind, by, text string, change func(*monolith.Alert)) (b *builder, undo func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.byID(id)
	if a == nil {
		return nil, nil
	}
	before := *a
	change(a)
	b = newBuilder(s, s.now())
	b.event(a, kind, by, text, "")
	return b, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		*a = before
	}
}

func (s *Service) isOpen(id monolith.AlertID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byID(id) != nil
}

// touchClosed refuses to change a closed alert; a note is taken all the same.
func (s *Service) touchClosed(ctx context.Context, id monolith.AlertID, kind monolith.AlertEventKind, by, text string) (monolith.Alert, error) {
	a, err := s.cfg.Store.Alert(ctx, id)
	if err != nil {
		return monolith.Alert{}, err
	}
	if kind != monolith.EventNote {
		return a, fmt.Errorf("alerts: the alert is closed: %w", monolith.ErrConflict)
	}
	e := &BatchEvent{Of: &a, Quiet: "the alert is closed"}
	e.Alert, e.At, e.Kind, e.Level, e.By, e.Text = a.ID, s.now(), kind, a.Level, by, text
	if err := s.cfg.Store.Commit(ctx, &Batch{At: e.At, Events: []*BatchEvent{e}}); err != nil {
		return a, err
	}
	return a, nil
}

// Acknowledge notes that somebody knows of an alert.
func (s *Service) Acknowledge(ctx context.Context, id monolith.AlertID, by, note string) (monolith.Alert, error) {
	now := s.now()
	return s.touch(ctx, id, monolith.EventAcknowledged, by, note, func(a *monolith.Alert) {
		a.AckedBy, a.AckedAt, a.AckNote = by, now, note
	})
}

// Take notes who is on it.
func (s *Service) Take(ctx context.Context, id monolith.AlertID, by string) (monolith.Alert, error) {
	now := s.now()
	return s.touch(ctx, id, monolith.EventTaken, by, "", func(a *monolith.Alert) { a.Owner, a.TakenAt = by, now })
}

// AddAlertNote adds a note to an alert, open or closed.
func (s *Service) AddAlertNote(ctx context.Context, id monolith.AlertID, by, text string) (monolith.Alert, error) {
	if strings.TrimSpace(text) == "" {
		return monolith.Alert{}, monolith.Invalid("text", "the note is empty")
	}
	return s.touch(ctx, id, monolith.EventNote, by, text, func(*monolith.Alert) {})
}

// SilenceAlert keeps an alert quiet until a moment; zero: until it closes.
func (s *Service) SilenceAlert(ctx context.Context, id monolith.AlertID, until time.Time, by, reason string) (monolith.Alert, error) {
	now := s.now()
	silence := monolith.Silence{Alert: id, From: now, To: until, By: by, Reason: reason}
	if err := silence.Validate(now); err != nil {
		return monolith.Alert{}, err
	}
	if !s.isOpen(id) {
		return s.touch(ctx, id, monolith.EventSilenced, by, reason, func(*monolith.Alert) {})
	}
	if err := s.changing.take(ctx); err != nil {
		return monolith.Alert{}, err
	}
	defer s.changing.give()
	if err := s.cfg.Store.PutSilence(ctx, &silence); err != nil {
		return monolith.Alert{}, err
	}
	s.mu.Lock()
	s.silences = append(slices.Clip(s.silences), silence)
	s.mu.Unlock()
	end := until
	if end.IsZero() {
		end = monolith.UntilClosed()
	}
	return s.touch(ctx, id, monolith.EventSilenced, by, reason, func(a *monolith.Alert) {
		if end.After(a.Silenced) {
			a.Silenced = end
		}
	})
}

// Silences gives those that have not ended.
func (s *Service) Silences(ctx context.Context) ([]monolith.Silence, error) {
	return s.cfg.Store.Silences(ctx, s.now())
}

// PutSilence adds a silence or changes one.
func (s *Service) PutSilence(ctx context.Context, silence *monolith.Silence) error {
	if silence.From.IsZero() {
		silence.From = s.now()
	}
	if err := silence.Validate(s.now()); err != nil {
		return err
	}
	if err := s.changing.take(ctx); err != nil {
		return err
	}
	defer s.changing.give()
	if err := s.cfg.Store.PutSilence(ctx, silence); err != nil {
		return err
	}
	return s.reloadSilences(ctx)
}

// DeleteSilence ends a silence at once.
func (s *Service) DeleteSilence(ctx context.Context, id int64) error {
	if err := s.changing.take(ctx); err != nil {
		return err
	}
	defer s.changing.give()
	if err := s.cfg.Store.DeleteSilence(ctx, id); err != nil {
		return err
	}
	return s.reloadSilences(ctx)
}

func (s *Service) reloadSilences(ctx context.Context) error {
	list, err := s.cfg.Store.Silences(ctx, s.now())
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.silences = list
	s.mu.Unlock()
	s.requiet(ctx)
	return nil
}

// requiet looks for each open alert whether it is to be told now: silences and maintenance windows begin and end. What
// was quiet, and is open when that ends, is told then.
func (s *Service) requiet(ctx context.Context) {
	s.writing.wait()
	defer s.writing.give()
	if b := s.quietened(s.now()); !b.batch.Empty() {
		s.commit(ctx, b)
	}
}

// quietened makes the batch of what became quiet, or is quiet no more.
func (s *Service) quietened(now time.Time) *builder {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := newBuilder(s, now)
	for _, key := range s.sortedOpen() {
		a := s.open[key]
		until := b.silencedUntil(a)
		window := InMaintenance(s.windows, a.Server, a.Group, now) != nil
		over := a.Maintenance && !window
		switch {
		case !until.Equal(a.Silenced) && until.IsZero():
			a.Silenced = until
			b.event(a, monolith.EventUnsilenced, "", "its silence is over and it is still open", b.quiet(a))
		case !until.Equal(a.Silenced):
			a.Silenced = until
			b.event(a, monolith.EventSilenced, "", "", "silenced")
		case over:
			a.Maintenance = false
			b.event(a, monolith.EventUnsilenced, "", "the maintenance is over and it is still open", b.quiet(a))
		}
	}
	return b
}

// MaintenanceWindows gives all, also those that are over.
func (s *Service) MaintenanceWindows(ctx context.Context) ([]monolith.MaintenanceWindow, error) {
	return s.cfg.Store.MaintenanceWindows(ctx)
}

// PutMaintenanceWindow adds a window or changes one.
func (s *Service) PutMaintenanceWindow(ctx context.Context, w *monolith.MaintenanceWindow) error {
	if err := w.Validate(); err != nil {
		return err
	}
	if err := s.changing.take(ctx); err != nil {
		return err
	}
	defer s.changing.give()
	if err := s.cfg.Store.PutMaintenanceWindow(ctx, w); err != nil {
		return err
	}
	return s.reloadWindows(ctx)
}

// DeleteMaintenanceWindow removes a window.
func (s *Service) DeleteMaintenanceWindow(ctx context.Context, id int64) error {
	if err := s.changing.take(ctx); err != nil {
		return err
	}
	defer s.changing.give()
	if err := s.cfg.Store.DeleteMaintenanceWindow(ctx, id); err != nil {
		return err
	}
	return s.reloadWindows(ctx)
}

// NextMaintenance gives the occurrence of a window that is running at a moment, or the next one.
func (s *Service) NextMaintenance(w *monolith.MaintenanceWindow, at time.Time) (from, to time.Time, ok bool) {
	return NextMaintenance(w, at)
}

func (s *Service) reloadWindows(ctx context.Context) error {
	list, err := s.cfg.Store.MaintenanceWindows(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.windows = list
	s.mu.Unlock()
	s.engine.SetMaintenance(list)
	s.requiet(ctx)
	return nil
}

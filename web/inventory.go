package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"monolith"
)

// How long the lists of servers and groups are waited for, and how soon a store is asked again that
// refused, or that let us wait in vain.
const (
	inventoryWait  = 2 * time.Second
	inventoryAgain = time.Second
	inventoryRest  = 5 * time.Second
)

// inventory is the store with a memory of its lists of servers and groups: while it can't be reached, the
// lists of the last good read go on, so that pages show what the poller knows. What else is read then
// fails at once, as unavailable, instead of making every page wait. Writes always try.
type inventory struct {
	Store
	now func() time.Time
	log *slog.Logger

	mu      sync.Mutex
	servers []monolith.Server // nil: never read
	groups  []monolith.Group
	since   time.Time // first failure of an unbroken row; zero: the store answers
	next    time.Time // not asked again before, while it fails
	trying  bool      // while it fails one caller at a time asks
	why     error
	answers int // so many reads of any kind were answered
}

// failure is the error of callers that do not ask; nil while the store answers.
func (v *inventory) failure() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.since.IsZero() {
		return nil
	}
	return fmt.Errorf("web: the store does not answer since %s: %w: %w", v.since.UTC().Format(time.RFC3339), monolith.ErrUnavailable, v.why)
}

// down says since when the store does not answer; zero: it does.
func (v *inventory) down() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.since
}

// mayTry reports whether the store is asked now, and how many answers there were before.
func (v *inventory) mayTry() (before int, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.since.IsZero() && (v.trying || v.now().Before(v.next)) {
		return 0, false
	}
	v.trying = true
	return v.answers, true
}

// learn takes the outcome of an attempt. keep stores what it gave.
func (v *inventory) learn(ctx context.Context, before int, err error, keep func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.trying = false
	switch now := v.now(); {
	case errors.Is(err, context.DeadlineExceeded) && v.answers > before:
		// The store answers others: it is busy, and this read had no turn.
	case unanswered(err) && ctx.Err() == nil:
		v.next = now.Add(inventoryAgain)
		if errors.Is(err, context.DeadlineExceeded) {
			v.next = now.Add(inventoryRest)
		}
		if v.why = err; v.since.IsZero() {
			v.since = now
			v.log.WarnContext(ctx, "the store does not answer; pages show the servers as last read", "error", err)
		}
	case ctx.Err() == nil: // also an error that is an answer
		if !v.since.IsZero() {
			v.log.InfoContext(ctx, "the store answers again", "after", now.Sub(v.since))
		}
		v.since, v.why = time.Time{}, nil
		v.answers++
		if err == nil {
			keep()
		}
	}
}

// unanswered reports whether an error says that the store gave no answer, rather than what it answered.
func unanswered(err error) bool {
	return errors.Is(err, monolith.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded)
}

// isGone reports whether nobody waits for the answer any more.
func isGone(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// ask reads from the store within bounds. keep runs under the lock.
func ask[T any](ctx context.Context, v *inventory, read func(context.Context) (T, error), keep func(T)) (T, error) {
	before, ok := v.mayTry()
	if !ok {
		var none T
		return none, v.failure()
	}
	limited, cancel := context.WithTimeout(ctx, inventoryWait)
	defer cancel()
	got, err := read(limited)
	v.learn(ctx, before, err, func() { keep(got) })
	if unanswered(err) && !isGone(ctx) && !errors.Is(err, monolith.ErrUnavailable) {
		err = fmt.Errorf("%w: %w", monolith.ErrUnavailable, err)
	}
	return got, err
}

// asked reads what others keep in the store, as [ask] does: at once an error while the store does not answer.
func asked[T any](ctx context.Context, v *inventory, read func(context.Context) (T, error)) (T, error) {
	return ask(ctx, v, read, func(T) {})
}

// Servers gives the servers, as last read while the store does not answer.
func (v *inventory) Servers(ctx context.Context) ([]monolith.Server, error) {
	got, err := ask(ctx, v, v.Store.Servers, func(list []monolith.Server) { v.servers = append([]monolith.Server{}, list...) })
	if err == nil || !unanswered(err) || isGone(ctx) {
		return got, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.servers == nil {
		return nil, err
	}
	list := make([]monolith.Server, len(v.servers))
	for i := range list {
		list[i] = ownServer(v.servers[i])
	}
	return list, nil
}

// Server gives one server, as last read while the store does not answer. A name that was not there then may
// have come since: it is not said to be missing.
func (v *inventory) Server(ctx context.Context, name string) (monolith.Server, error) {
	got, err := ask(ctx, v, func(ctx context.Context) (monolith.Server, error) { return v.Store.Server(ctx, name) }, func(monolith.Server) {})
	if err == nil || !unanswered(err) || isGone(ctx) {
		return got, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if i := slices.IndexFunc(v.servers, func(s monolith.Server) bool { return s.Name == name }); i >= 0 {
		return ownServer(v.servers[i]), nil
	}
	return got, err
}

// ownServer gives a copy that shares nothing: callers change what they were given.
func ownServer(s monolith.Server) monolith.Server {
	for _, list := range []*[]string{&s.Tags, &s.ProbeAddresses, &s.BackupUsers, &s.CollectorsOff} {
		*list = slices.Clone(*list)
	}
	s.Schedules = maps.Clone(s.Schedules)
	return s
}

// Groups gives the groups, as last read while the store does not answer.
func (v *inventory) Groups(ctx context.Context) ([]monolith.Group, error) {
	got, err := ask(ctx, v, v.Store.Groups, func(list []monolith.Group) { v.groups = append([]monolith.Group{}, list...) })
	if err == nil || !unanswered(err) || isGone(ctx) {
		return got, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.groups == nil {
		return nil, err
	}
	list := slices.Clone(v.groups)
	for i := range list {
		list[i].Schedules = maps.Clone(list[i].Schedules)
	}
	return list, nil
}

// reach gives an error at once while the store does not answer. Now and then it asks again.
func (v *inventory) reach(ctx context.Context) error {
	if v.down().IsZero() {
		return nil
	}
	if _, err := v.Servers(ctx); err != nil { // asks where it is time to
		return err
	}
	return v.failure()
}

// reached reads what is not remembered.
func reached[T any](ctx context.Context, v *inventory, read func() (T, error)) (T, error) {
	if err := v.reach(ctx); err != nil {
		var none T
		return none, err
	}
	got, err := read()
	if err == nil {
		v.mu.Lock()
		v.answers++
		v.mu.Unlock()
	}
	return got, err
}

// Read gives history; formulas are evaluated through it.
func (v *inventory) Read(ctx context.Context, q monolith.Query) (*monolith.Range, error) {
	return reached(ctx, v, func() (*monolith.Range, error) { return v.Store.Read(ctx, q) })
}

// Metrics lists the metrics of a server.
func (v *inventory) Metrics(ctx context.Context, id monolith.ServerID) ([]monolith.Metric, error) {
	return reached(ctx, v, func() ([]monolith.Metric, error) { return v.Store.Metrics(ctx, id) })
}

// Changes lists steps of texts.
func (v *inventory) Changes(ctx context.Context, q monolith.ChangeQuery) ([]monolith.Change, error) {
	return reached(ctx, v, func() ([]monolith.Change, error) { return v.Store.Changes(ctx, q) })
}

// TextsAt gives the texts in force at a moment.
func (v *inventory) TextsAt(ctx context.Context, id monolith.ServerID, namespace string, at time.Time) (map[string]string, error) {
	return reached(ctx, v, func() (map[string]string, error) { return v.Store.TextsAt(ctx, id, namespace, at) })
}

// Marks lists marks.
func (v *inventory) Marks(ctx context.Context, q monolith.MarkQuery) ([]monolith.Mark, error) {
	return reached(ctx, v, func() ([]monolith.Mark, error) { return v.Store.Marks(ctx, q) })
}

// Graphs lists the graphs that people made.
func (v *inventory) Graphs(ctx context.Context) ([]monolith.SavedGraph, error) {
	return reached(ctx, v, func() ([]monolith.SavedGraph, error) { return v.Store.Graphs(ctx) })
}

// Retention says how long history is kept.
func (v *inventory) Retention(ctx context.Context) (monolith.Retention, error) {
	return reached(ctx, v, func() (monolith.Retention, error) { return v.Store.Retention(ctx) })
}

// Estimate says what a retention takes.
func (v *inventory) Estimate(ctx context.Context, r monolith.Retention) (monolith.Estimate, error) {
	return reached(ctx, v, func() (monolith.Estimate, error) { return v.Store.Estimate(ctx, r) })
}

// Usage says what the store takes on disk.
func (v *inventory) Usage(ctx context.Context) (monolith.Usage, error) {
	return reached(ctx, v, func() (monolith.Usage, error) { return v.Store.Usage(ctx) })
}

// storeTrouble is what every page says while the store can't be reached or takes no writes.
type storeTrouble struct {
	Since   time.Time
	Why     string // in words with their cure; empty where none are known
	Reads   bool   // it can't be read either
	Waiting int    // polls, in memory
	Bytes   int64
	Dropped int // polls lost since the start
}

// trouble is nil while the store works.
func (s *Server) trouble() *storeTrouble {
	stats, down := s.store.Stats(), s.inventory.down()
	if stats.FailingSince.IsZero() && down.IsZero() {
		return nil
	}
	t := &storeTrouble{Since: stats.FailingSince, Why: stats.Failing, Reads: !down.IsZero(), Waiting: stats.SpoolPolls, Bytes: stats.SpoolBytes, Dropped: int(stats.Dropped)}
	if t.Since.IsZero() || t.Reads && down.Before(t.Since) {
		t.Since = down
	}
	return t
}

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"monolith"
)

// commitWait is how long [DB.Commit] waits for the store. It is far longer than a store in health needs, and short
// enough for a poll.
const commitWait = 250 * time.Millisecond

// peopleWait is the same for what people did, which no poll brings: they are told that it is kept.
const peopleWait = 2 * time.Second

// commitRest is how long after a batch the next one waits for the store again. Those that come sooner, as when a fleet is
// read for the first time, are written many at a time.
const commitRest = 50 * time.Millisecond

// Commit takes a batch of alerts, sets the ids of its alerts, events and deliveries, and writes it in one transaction: all of it or
// nothing. It waits for that a quarter of a second at most, and not at all when many batches come at once, so that no poll is
// held up by the store; for what people did (acknowledged, took, silenced, noted) two seconds. Where the store is slow or away,
// batches wait in memory, and [DB.Run] writes them when it can, in the order in which they came and nothing twice, also when a
// connection broke in the middle of a commit. Event ids grow in the order of the batches. The batch is copied and may change
// afterwards.
//
// An error means that nothing was taken and the batch is as it was: [monolith.ErrUnavailable] when as much waits as memory is
// given for, a [monolith.InvalidError] for what no store could keep. It is safe for concurrent use.
func (db *DB) Commit(ctx context.Context, b *monolith.AlertBatch) error {
	if b.Empty() {
		return nil
	}
	q := &db.alerting
	w, alone, err := q.push(db, b)
	if err != nil {
		return err
	}
	if q.failing.Load() {
		return nil // Run tries again
	}
	if q.flushing.CompareAndSwap(false, true) {
		ctx := context.WithoutCancel(ctx)
		q.behind.Go(func() { db.flushBehind(ctx) })
	}
	wait := commitWait
	switch {
	case byPeople(b):
		wait = peopleWait
	case !alone:
		return nil
	}
	patience := time.NewTimer(wait)
	defer patience.Stop()
	select {
	case <-w.done:
	case <-patience.C:
	case <-ctx.Done():
	}
	return nil
}

// byPeople reports whether a batch holds what somebody did.
func byPeople(b *monolith.AlertBatch) bool {
	return slices.ContainsFunc(b.Events, func(e *monolith.AlertBatchEvent) bool {
		switch e.Kind {
		case monolith.EventAcknowledged, monolith.EventTaken, monolith.EventSilenced, monolith.EventUnsilenced, monolith.EventNote:
			return true
		}
		return false
	})
}

// flushBehind writes what waits until nothing does, or the store is away.
func (db *DB) flushBehind(ctx context.Context) {
	q := &db.alerting
	for {
		limited, cancel := context.WithTimeout(ctx, time.Minute)
		err := db.flushAlerts(limited)
		cancel()
		q.flushing.Store(false)
		if err != nil || q.len() == 0 || !q.flushing.CompareAndSwap(false, true) {
			return // Run says it when it can't either
		}
	}
}

// A transaction takes at most so many batches, so that others get their turn at the writing connection.
const commitBatches = 200

// flushAlerts writes the batches that wait, in order.
func (db *DB) flushAlerts(ctx context.Context) error {
	q := &db.alerting
	q.writing.Lock()
	defer q.writing.Unlock()
	most := commitBatches
	for {
		part := q.front(most)
		if len(part) == 0 {
			return nil
		}
		err := db.writeAlerts(ctx, part)
		switch {
		case err == nil:
			q.written(part)
			q.failing.Store(false)
		case errors.Is(err, monolith.ErrUnavailable) || ctx.Err() != nil:
			q.failing.Store(true)
			return fmt.Errorf("store: commit %d batches of alerts: %w", q.len(), err)
		case len(part) > 1:
			most = 1 // find the one that the store does not take
		default:
			// What is not taken now never will be, and must not hold up the rest.
			db.log.Error("a batch of alerts is given up: the store does not take it", "error", err, "alerts", len(part[0].alerts), "events", len(part[0].events))
			q.written(part)
		}
	}
}

package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"monolith"
)

// alertQueue holds the batches of alerts that are not written yet, in the order in which they came, and gives their
// ids: they are known before the store has them, so that nobody waits for it.
type alertQueue struct {
	writing  sync.Mutex     // one writer at a time
	flushing atomic.Bool    // a batch began to be written when it came, and what came since goes with it
	failing  atomic.Bool    // the last attempt failed
	behind   sync.WaitGroup // writers that run behind [DB.Commit]; [DB.Close] waits for them

	mu           sync.Mutex
	waiting      []*alertWork
	bytes        int64
	limit        int64 // 0: [defaultAlertSpool]
	nextAlert    int64
	nextEvent    int64
	nextDelivery int64
	last         time.Time // when the last batch came
}

// defaultAlertSpool bounds what waits for a store that fails: the alerts of some 10,000 episodes.
const defaultAlertSpool = 32 << 20

// alertWork is a batch ready to be written.
type alertWork struct {
	alerts     []alertWrite
	events     []eventWrite
	deliveries []deliveryWrite
	marks      []monolith.Mark
	states     map[monolith.ServerID]stateWrite
	bytes      int64
	taken      bool          // by the writer, under the lock of the queue: it changes no more
	tried      bool          // an attempt to write it failed, and it may be there all the same; the writer's own
	done       chan struct{} // closed when it is written
}

// alertWrite is a row of table alert to be.
type alertWrite struct {
	id     int64
	fresh  bool
	open   bool
	server monolith.ServerID
	row    []any // by alertColumns
}

// eventWrite is a row of table alert_event to be.
type eventWrite struct {
	id     int64
	server monolith.ServerID
	row    []any // by eventWriteColumns
}

// deliveryWrite is an entry of the outbox to be.
type deliveryWrite struct {
	delivery monolith.Delivery
	id       int64
}

// stateWrite is the engine's memory of a server, packed; nil deletes it.
type stateWrite struct {
	at      int64
	payload []byte
}

// push takes a batch in and gives it its ids. alone: none came shortly before.
func (q *alertQueue) push(db *DB, b *monolith.AlertBatch) (w *alertWork, alone bool, err error) {
	w = &alertWork{done: make(chan struct{}), bytes: workBytes, states: make(map[monolith.ServerID]stateWrite, len(b.States))}
	for _, d := range b.Deliveries {
		if err := checkDelivery(&d.Delivery); err != nil {
			return nil, false, err
		}
	}
	for id, state := range b.States {
		s := stateWrite{at: unixMilli(b.At)}
		if len(state) > 0 {
			s.payload = db.zip.EncodeAll(state, nil)
		}
		w.states[id] = s
		w.bytes += workBytes + int64(len(s.payload))
	}
	bodies := make([]string, len(b.Alerts))
	for i, a := range b.Alerts {
		if bodies[i], err = alertBody(a); err != nil {
			return nil, false, err
		}
		w.bytes += workBytes + int64(len(bodies[i]))
	}
	for _, e := range b.Events {
		w.bytes += workBytes + int64(len(e.Text))
	}
	for _, d := range b.Deliveries {
		w.bytes += workBytes + int64(len(d.Payload))
	}

	q.mu.Lock()
	defer q.mu.Unlock()
	limit := q.limit
	if limit == 0 {
		limit = defaultAlertSpool
	}
	if len(q.waiting) > 0 && q.bytes+w.bytes-q.superseded(w) > limit {
		return nil, false, fmt.Errorf("store: %d batches of alerts wait for the store and no more fits: %w", len(q.waiting), monolith.ErrUnavailable)
	}
	for i, a := range b.Alerts {
		fresh := a.ID == 0
		if fresh {
			q.nextAlert++
			a.ID = monolith.AlertID(q.nextAlert)
		}
		w.alerts = append(w.alerts, alertWrite{id: int64(a.ID), fresh: fresh, open: a.Open(), server: a.Server, row: alertRowOf(a, bodies[i])})
	}
	for _, e := range b.Events {
		q.nextEvent++
		e.ID = q.nextEvent
		if e.Of != nil {
			e.Alert = e.Of.ID
		}
		w.events = append(w.events, eventWriteOf(e))
		if m, ok := markOf(e); ok {
			w.marks = append(w.marks, m)
		}
	}
	for _, d := range b.Deliveries {
		q.nextDelivery++
		d.ID = q.nextDelivery
		if len(d.Of) > 0 {
			d.Alerts = make([]monolith.AlertID, len(d.Of))
			for i, a := range d.Of {
				d.Alerts[i] = a.ID
			}
		}
		if d.About != nil {
			d.Event = d.About.ID
		}
		w.deliveries = append(w.deliveries, deliveryWrite{d.Delivery, d.ID})
	}
	q.supersede(w)
	q.waiting = append(q.waiting, w)
	q.bytes += w.bytes
	now := time.Now()
	alone = now.Sub(q.last) >= commitRest
	q.last = now
	return w, alone, nil
}

// superseded gives how many bytes supersede frees. The lock is held.
func (q *alertQueue) superseded(by *alertWork) (bytes int64) {
	for _, w := range q.waiting {
		if w.taken {
			continue
		}
		for id := range by.states {
			if old, there := w.states[id]; there {
				bytes += workBytes + int64(len(old.payload))
			}
		}
	}
	return bytes
}

// supersede drops from what waits the memory of servers that newer one takes the place of: of each server one is enough.
// The lock is held.
func (q *alertQueue) supersede(by *alertWork) {
	if len(by.states) == 0 {
		return
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(w *alertWork) bool {
		if w.taken {
			return false
		}
		for id := range by.states {
			if old, there := w.states[id]; there {
				delete(w.states, id)
				freed := workBytes + int64(len(old.payload))
				w.bytes -= freed
				q.bytes -= freed
			}
		}
		if len(w.alerts)+len(w.events)+len(w.deliveries)+len(w.states) > 0 {
			return false
		}
		q.bytes -= w.bytes
		close(w.done)
		return true
	})
}

// front gives the oldest batches, at most so many. They stay in front until written is called.
func (q *alertQueue) front(most int) []*alertWork {
	q.mu.Lock()
	defer q.mu.Unlock()
	part := slices.Clone(q.waiting[:min(most, len(q.waiting))])
	for _, w := range part {
		w.taken = true
	}
	return part
}

// written drops the oldest batches, which are in the store.
func (q *alertQueue) written(part []*alertWork) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, w := range part {
		q.bytes -= w.bytes
		close(w.done)
	}
	q.waiting = append(q.waiting[:0:0], q.waiting[len(part):]...)
}

func (q *alertQueue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.waiting)
}

// deliveryIDs gives n ids of the outbox; the first of them.
func (q *alertQueue) deliveryIDs(n int) int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.nextDelivery += int64(n)
	return q.nextDelivery - int64(n) + 1
}

// loadAlertIDs finds the last ids that were ever given, also those of rows that are gone: the engine counts them.
func (db *DB) loadAlertIDs(ctx context.Context) error {
	q := &db.alerting
	for _, t := range []struct {
		table   string
		columns []string
		last    *int64
	}{{"alert", alertColumns, &q.nextAlert}, {"alert_event", eventWriteColumns, &q.nextEvent}, {"delivery", deliveryColumns, &q.nextDelivery}} {
		if err := db.mayWrite(ctx); err != nil {
			return err
		}
		tx, err := db.w.BeginTxx(ctx, nil)
		if err != nil {
			return db.failed("count the rows of "+t.table, err)
		}
		zeros := make([]any, len(t.columns))
		for i := range zeros {
			zeros[i] = 0
		}
		res, err := tx.ExecContext(ctx, insertInto(t.table, t.columns), zeros...)
		if err == nil {
			*t.last, err = res.LastInsertId()
		}
		if err := errors.Join(err, tx.Rollback()); err != nil {
			return db.failed("count the rows of "+t.table, err)
		}
	}
	return nil
}

package store

import (
	"context"
	"strings"
	"sync"

	"github.com/jmoiron/sqlx"

	"monolith"
)

// alertAttempt is what a transaction held whose commit gave an error: a connection that breaks in a commit
// leaves it open whether it happened. The batch is given again; what the store has of it already must not be
// written twice.
type alertAttempt struct {
	alerts     map[*monolith.Alert]monolith.AlertID
	events     map[*monolith.AlertBatchEvent]int64
	deliveries map[*monolith.AlertBatchDelivery]int64
}

// alertCommits is what lies between two commits of alerts.
type alertCommits struct {
	mu     sync.Mutex // one commit at a time
	unsure alertAttempt
}

// Commit writes a batch of alerts in one transaction: all of it or nothing. It sets the ids of the batch's alerts,
// events and deliveries, and leaves the batch as it was when it fails. A batch that failed may be given again,
// also as a part of a greater one with the same pointers: nothing is kept twice, even where a
// connection broke in the middle of a commit. Event ids grow in the order of the commits. It waits for the
// store; callers that poll hand it to a goroutine of their own. It is safe for concurrent use.
func (db *DB) Commit(ctx context.Context, b *monolith.AlertBatch) error {
	if b.Empty() {
		return nil
	}
	db.alerting.mu.Lock()
	defer db.alerting.mu.Unlock()
	known, err := db.settleAlerts(ctx)
	if err != nil {
		return db.failed("commit alerts", err)
	}
	w := &alertWriter{db: db, known: known, given: alertAttempt{
		alerts: map[*monolith.Alert]monolith.AlertID{}, events: map[*monolith.AlertBatchEvent]int64{}, deliveries: map[*monolith.AlertBatchDelivery]int64{}}}
	written := false
	err = db.inTx(ctx, func(tx *sqlx.Tx) error {
		w.ctx, w.tx = ctx, tx
		if err := w.write(b); err != nil {
			return err
		}
		written = true
		return nil
	})
	if err != nil {
		if written {
			db.alerting.unsure = w.given
		}
		return db.failed("commit alerts", err)
	}
	for _, a := range b.Alerts {
		a.ID = w.alertID(a)
	}
	for _, e := range b.Events {
		e.ID, e.Alert = w.eventID(e), w.alertID(e.Of)
	}
	for _, d := range b.Deliveries {
		d.ID = w.given.deliveries[d]
		if id, ok := known.deliveries[d]; ok {
			d.ID = id
		}
		d.Alerts, d.Event = w.alertsOf(d), w.eventOf(d)
	}
	db.alerting.unsure = alertAttempt{}
	return nil
}

// settleAlerts finds out whether the attempt before, whose outcome is not known, happened. It gives the ids of
// what the store has. The lock is held.
func (db *DB) settleAlerts(ctx context.Context) (alertAttempt, error) {
	a := db.alerting.unsure
	query, id := "", int64(0)
	switch {
	case len(a.events) > 0:
		query = "SELECT COUNT(*) FROM alert_event WHERE id = ?"
		for _, id = range a.events {
			break
		}
	case len(a.alerts) > 0:
		query = "SELECT COUNT(*) FROM alert WHERE id = ?"
		for _, n := range a.alerts {
			id = int64(n)
			break
		}
	case len(a.deliveries) > 0:
		query = "SELECT COUNT(*) FROM delivery WHERE id = ?"
		for _, id = range a.deliveries {
			break
		}
	default:
		return alertAttempt{}, nil // it only replaced what was there
	}
	var there int
	if err := db.w.GetContext(ctx, &there, query, id); err != nil {
		return alertAttempt{}, err
	}
	if there == 0 {
		a = alertAttempt{}
	}
	return a, nil
}

// alertWriter writes one batch inside of a transaction.
type alertWriter struct {
	db    *DB
	ctx   context.Context
	tx    *sqlx.Tx
	known alertAttempt // in the store already
	given alertAttempt // ids that this transaction gave
}

func (w *alertWriter) alertID(a *monolith.Alert) monolith.AlertID {
	if a == nil {
		return 0
	}
	if id, ok := w.given.alerts[a]; ok {
		return id
	}
	if id, ok := w.known.alerts[a]; ok {
		return id
	}
	return a.ID
}

func (w *alertWriter) eventID(e *monolith.AlertBatchEvent) int64 {
	if id, ok := w.given.events[e]; ok {
		return id
	}
	if id, ok := w.known.events[e]; ok {
		return id
	}
	return e.ID
}

func (w *alertWriter) alertsOf(d *monolith.AlertBatchDelivery) []monolith.AlertID {
	if len(d.Of) == 0 {
		return d.Alerts
	}
	ids := make([]monolith.AlertID, len(d.Of))
	for i, a := range d.Of {
		ids[i] = w.alertID(a)
	}
	return ids
}

func (w *alertWriter) eventOf(d *monolith.AlertBatchDelivery) int64 {
	if d.About == nil {
		return d.Event
	}
	return w.eventID(d.About)
}

func (w *alertWriter) write(b *monolith.AlertBatch) error {
	for _, a := range b.Alerts {
		if err := w.alert(a); err != nil {
			return err
		}
	}
	for _, e := range b.Events {
		if _, there := w.known.events[e]; there {
			continue
		}
		if err := w.event(e); err != nil {
			return err
		}
	}
	for _, d := range b.Deliveries {
		if _, there := w.known.deliveries[d]; there {
			continue
		}
		id, err := w.db.insertDelivery(w.ctx, w.tx, &d.Delivery, w.alertsOf(d), w.eventOf(d))
		if err != nil {
			return err
		}
		w.given.deliveries[d] = id
	}
	for id, state := range b.States {
		if err := w.state(b, id, state); err != nil {
			return err
		}
	}
	return nil
}

var alertColumns = []string{"server_id", "rule_id", "instance", "category", "level", "peak", "opened_ms", "changed_ms", "closed_ms", "reason", "parent_id", "body"}

// alert adds an alert or changes the one that is there. One that was purged meanwhile stays away.
func (w *alertWriter) alert(a *monolith.Alert) error {
	body, err := alertBody(a)
	if err != nil {
		return err
	}
	args := []any{int64(a.Server), cutText(a.Rule, maxWord), boundText(a.Instance), cutText(a.Category, 64), uint8(a.Level), uint8(a.Peak),
		unixMilli(a.Opened), unixMilli(a.Changed), unixMilli(a.Closed), string(a.Reason), int64(a.Parent), body}
	if id := w.alertID(a); id != 0 {
		_, err := w.tx.ExecContext(w.ctx, "UPDATE alert SET "+strings.Join(alertColumns, " = ?, ")+" = ? WHERE id = ?", append(args, int64(id))...)
		return err
	}
	if err := w.gone(a.Server); err != nil {
		return err
	}
	res, err := w.tx.ExecContext(w.ctx, insertInto("alert", alertColumns), args...)
	if err != nil {
		return err
	}
	id, err := res.LastInsertId()
	w.given.alerts[a] = monolith.AlertID(id)
	return err
}

// gone lets what is written of a deleted server be purged after the rest.
func (w *alertWriter) gone(id monolith.ServerID) error {
	w.db.mu.RLock()
	forgotten := w.db.forgotten[id]
	w.db.mu.RUnlock()
	if !forgotten {
		return nil
	}
	_, err := w.tx.ExecContext(w.ctx, w.db.dialect.upsert("deleted_server", []string{"server_id"}, []string{"deleted_ms"}), int64(id), w.db.now().UnixMilli())
	return err
}

func (w *alertWriter) event(e *monolith.AlertBatchEvent) error {
	grade, server := e.Level, monolith.ServerID(0)
	if e.Of != nil {
		server = e.Of.Server
		if grade == monolith.LevelOK {
			grade = e.Of.Level
		}
	}
	if err := w.gone(server); err != nil {
		return err
	}
	alert := w.alertID(e.Of)
	if e.Of == nil {
		alert = e.Alert
	}
	res, err := w.tx.ExecContext(w.ctx, insertInto("alert_event", []string{"alert_id", "server_id", "at_ms", "kind", "level", "grade", "made_by", "body", "quiet"}),
		int64(alert), int64(server), unixMilli(e.At), string(e.Kind), uint8(e.Level), uint8(grade), cutText(e.By, maxWho), boundText(e.Text), cutText(e.Quiet, maxLine))
	if err != nil {
		return err
	}
	id, err := res.LastInsertId()
	if err != nil {
		return err
	}
	w.given.events[e] = id
	return w.mark(e)
}

// markWords are the events that stand on the time axis of the server's graphs.
var markWords = map[monolith.AlertEventKind]string{
	monolith.EventOpened: "", monolith.EventRaised: "raised: ", monolith.EventClosed: "over: ",
}

// mark puts what people should see beside the curves on the time axis: warnings and worse that no other alert
// speaks for.
func (w *alertWriter) mark(e *monolith.AlertBatchEvent) error {
	word, wanted := markWords[e.Kind]
	if !wanted || e.Of == nil || e.Of.Server == 0 || e.Of.Peak < monolith.LevelWarn || e.Of.Parent != 0 {
		return nil
	}
	text := e.Text
	if text == "" {
		text = e.Of.Summary
	}
	if e.Of.Instance != "" {
		text = e.Of.Instance + ": " + text
	}
	title := e.Of.Title
	if title == "" {
		title = e.Of.Rule
	}
	level := e.Level
	if level == monolith.LevelOK {
		level = e.Of.Level
	}
	return w.db.insertMark(w.ctx, w.tx, &monolith.Mark{Server: e.Of.Server, At: e.At, Kind: monolith.MarkAlert,
		Text: cutText(word+level.String()+": "+title+": "+text, maxLine)})
}

// state replaces the engine's memory of one server.
func (w *alertWriter) state(b *monolith.AlertBatch, id monolith.ServerID, state []byte) error {
	if len(state) == 0 {
		_, err := w.tx.ExecContext(w.ctx, "DELETE FROM alert_state WHERE server_id = ?", int64(id))
		return err
	}
	if err := w.gone(id); err != nil {
		return err
	}
	_, err := w.tx.ExecContext(w.ctx, w.db.dialect.upsert("alert_state", []string{"server_id"}, []string{"at_ms", "payload"}),
		int64(id), unixMilli(b.At), w.db.zip.EncodeAll(state, nil))
	return err
}

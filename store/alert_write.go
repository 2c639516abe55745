package store

import (
	"context"
	"slices"
	"strings"

	"github.com/jmoiron/sqlx"

	"monolith"
)

var (
	alertColumns      = []string{"server_id", "rule_id", "instance", "category", "level", "peak", "opened_ms", "changed_ms", "closed_ms", "reason", "parent_id", "body"}
	eventWriteColumns = []string{"alert_id", "server_id", "at_ms", "kind", "level", "grade", "made_by", "body", "quiet"}
)

// alertRowOf makes the row of an alert, by alertColumns.
func alertRowOf(a *monolith.Alert, body string) []any {
	return []any{int64(a.Server), cutText(a.Rule, maxWord), boundText(a.Instance), cutText(a.Category, 64), uint8(a.Level), uint8(a.Peak),
		unixMilli(a.Opened), unixMilli(a.Changed), unixMilli(a.Closed), cutText(string(a.Reason), 32), int64(a.Parent), body}
}

// eventWriteOf makes the row of an event.
func eventWriteOf(e *monolith.AlertBatchEvent) eventWrite {
	w, grade := eventWrite{id: e.ID}, e.Level
	if e.Of != nil {
		w.server = e.Of.Server
		if grade == monolith.LevelOK {
			grade = e.Of.Level
		}
	}
	w.row = []any{int64(e.Alert), int64(w.server), unixMilli(e.At), cutText(string(e.Kind), 16), uint8(e.Level), uint8(grade),
		cutText(e.By, maxWho), boundText(e.Text), cutText(e.Quiet, maxLine)}
	return w
}

// markWords are the events that stand on the time axis of the server's graphs.
var markWords = map[monolith.AlertEventKind]string{
	monolith.EventOpened: "", monolith.EventRaised: "raised: ", monolith.EventClosed: "over: ",
}

// markOf gives what people should see of an event beside the curves: warnings and worse that no other alert speaks for.
func markOf(e *monolith.AlertBatchEvent) (m monolith.Mark, ok bool) {
	word, wanted := markWords[e.Kind]
	if !wanted || e.Of == nil || e.Of.Server == 0 || e.Of.Peak < monolith.LevelWarn || e.Of.Parent != 0 {
		return m, false
	}
	text, title, level := e.Text, e.Of.Title, e.Level
	if text == "" {
		text = e.Of.Summary
	}
	if e.Of.Instance != "" {
		text = e.Of.Instance + ": " + text
	}
	if title == "" {
		title = e.Of.Rule
	}
	if level == monolith.LevelOK {
		level = e.Of.Level
	}
	return monolith.Mark{Server: e.Of.Server, At: e.At, Kind: monolith.MarkAlert, Text: cutText(word+level.String()+": "+title+": "+text, maxLine)}, true
}

// writeAlerts writes batches in one transaction.
func (db *DB) writeAlerts(ctx context.Context, part []*alertWork) error {
	err := db.inTx(ctx, func(tx *sqlx.Tx) error {
		for _, w := range part {
			there, err := w.there(ctx, tx)
			if err != nil {
				return err
			}
			if there {
				continue
			}
			if err := db.writeAlertWork(ctx, tx, w); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		for _, w := range part {
			w.tried = true
		}
	}
	return db.unavailable(err)
}

// there reports whether an attempt that gave an error wrote the batch all the same. One that only replaces what is
// there is written again.
func (w *alertWork) there(ctx context.Context, tx *sqlx.Tx) (bool, error) {
	if !w.tried {
		return false, nil
	}
	table, id := "", int64(0)
	switch {
	case len(w.events) > 0:
		table, id = "alert_event", w.events[0].id
	case len(w.deliveries) > 0:
		table, id = "delivery", w.deliveries[0].id
	}
	for _, a := range w.alerts {
		if table == "" && a.fresh {
			table, id = "alert", a.id
		}
	}
	if table == "" {
		return false, nil
	}
	var n int
	err := tx.GetContext(ctx, &n, "SELECT COUNT(*) FROM "+table+" WHERE id = ?", id)
	return n > 0, err
}

func (db *DB) writeAlertWork(ctx context.Context, tx *sqlx.Tx, w *alertWork) error {
	servers := map[monolith.ServerID]bool{}
	fresh := newInserter(ctx, tx, "alert", append([]string{"id"}, alertColumns...)...)
	for _, a := range w.alerts {
		if a.fresh {
			servers[a.server] = true
			fresh.add(append([]any{a.id}, a.row...)...)
		}
	}
	if err := fresh.done(); err != nil {
		return err
	}
	for _, a := range w.alerts {
		if a.fresh {
			continue
		}
		if err := db.updateAlert(ctx, tx, a); err != nil {
			return err
		}
	}
	events := newInserter(ctx, tx, "alert_event", append([]string{"id"}, eventWriteColumns...)...)
	for _, e := range w.events {
		servers[e.server] = true
		events.add(append([]any{e.id}, e.row...)...)
	}
	if err := events.done(); err != nil {
		return err
	}
	for i := range w.deliveries {
		d := &w.deliveries[i]
		if err := db.insertDelivery(ctx, tx, d.id, &d.delivery); err != nil {
			return err
		}
	}
	for i := range w.marks {
		if err := db.insertMark(ctx, tx, &w.marks[i]); err != nil {
			return err
		}
	}
	for id, s := range w.states {
		if s.payload == nil {
			if _, err := tx.ExecContext(ctx, "DELETE FROM alert_state WHERE server_id = ?", int64(id)); err != nil {
				return err
			}
			continue
		}
		servers[id] = true
		if _, err := tx.ExecContext(ctx, db.dialect.upsert("alert_state", []string{"server_id"}, []string{"at_ms", "payload"}), int64(id), s.at, s.payload); err != nil {
			return err
		}
	}
	for id := range servers {
		if err := db.purgeAgain(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}

// updateAlert changes the row of an alert. One that was purged stays away, with its server or because it was closed long
// ago. An open one that is missing was lost by the engine, as after a failover, and is written again.
func (db *DB) updateAlert(ctx context.Context, tx *sqlx.Tx, a alertWrite) error {
	res, err := tx.ExecContext(ctx, "UPDATE alert SET "+strings.Join(alertColumns, " = ?, ")+" = ? WHERE id = ?", append(slices.Clone(a.row), a.id)...)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 || !a.open || db.isForgotten(a.server) {
		return err
	}
	_, err = tx.ExecContext(ctx, insertInto("alert", append([]string{"id"}, alertColumns...)), append([]any{a.id}, a.row...)...)
	return err
}

// isForgotten reports whether a server was deleted.
func (db *DB) isForgotten(id monolith.ServerID) bool {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return db.forgotten[id]
}

// purgeAgain lets what is written of a server that was deleted be purged after the rest.
func (db *DB) purgeAgain(ctx context.Context, tx *sqlx.Tx, id monolith.ServerID) error {
	if !db.isForgotten(id) {
		return nil
	}
	_, err := tx.ExecContext(ctx, db.dialect.upsert("deleted_server", []string{"server_id"}, []string{"deleted_ms"}), int64(id), db.now().UnixMilli())
	return err
}

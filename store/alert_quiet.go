package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"monolith"
)

// Silences gives those that have not ended at a moment, in the order of their ids. One that lasts until its alert closes
// ends with that.
func (db *DB) Silences(ctx context.Context, at time.Time) ([]monolith.Silence, error) {
	var rows []struct {
		ID     int64  `db:"id"`
		Alert  int64  `db:"alert_id"`
		Server int64  `db:"server_id"`
		Group  string `db:"group_path"`
		Rule   string `db:"rule_id"`
		From   int64  `db:"from_ms"`
		To     int64  `db:"to_ms"`
		By     string `db:"made_by"`
		Reason string `db:"body"`
	}
	err := db.r.SelectContext(ctx, &rows, `SELECT id, alert_id, server_id, group_path, rule_id, from_ms, to_ms, made_by, body FROM silence
		WHERE to_ms > ? OR to_ms = 0 AND alert_id IN (SELECT a.id FROM alert a WHERE a.closed_ms = 0) ORDER BY id`, at.UnixMilli())
	if err != nil {
		return nil, db.failed("list silences", err)
	}
	silences := make([]monolith.Silence, len(rows))
	for i, r := range rows {
		silences[i] = monolith.Silence{ID: r.ID, Alert: monolith.AlertID(r.Alert), Server: monolith.ServerID(r.Server), Group: r.Group, Rule: r.Rule,
			From: timeOf(r.From), To: timeOf(r.To), By: r.By, Reason: r.Reason}
	}
	return silences, nil
}

// PutSilence adds a silence (ID 0, set by the call) or changes one. An unknown ID gives [monolith.ErrNotFound].
func (db *DB) PutSilence(ctx context.Context, s *monolith.Silence) error {
	switch {
	case s.From.IsZero():
		return monolith.Invalid("from", "a silence has a begin")
	case s.To.IsZero() && s.Alert == 0:
		return monolith.Invalid("to", "a silence has an end", "only that of one alert may last until it closes")
	case !s.To.IsZero() && !s.From.Before(s.To):
		return monolith.Invalid("to", "the silence ends before it begins")
	case len(s.Rule) > maxWord:
		return monolith.Invalid("rule", "the id of a rule has 1 to 128 characters")
	}
	if err := checkScope(s.Server, s.Group); err != nil {
		return err
	}
	n := *s
	err := db.inTx(ctx, func(tx *sqlx.Tx) (err error) {
		if err := db.scopeThere(ctx, tx, n.Server, n.Group); err != nil {
			return err
		}
		n.ID, err = db.put(ctx, tx, "silence", n.ID, []string{"alert_id", "server_id", "group_path", "rule_id", "from_ms", "to_ms", "made_by", "body"},
			int64(n.Alert), int64(n.Server), n.Group, n.Rule, unixMilli(n.From), unixMilli(n.To), cutText(n.By, maxWho), boundText(n.Reason))
		return err
	})
	if err == nil {
		n.From, n.To = keptTime(n.From), keptTime(n.To)
		*s = n
	}
	return err
}

// put adds a row (id 0) or changes the one of an id, and gives its id.
func (db *DB) put(ctx context.Context, tx *sqlx.Tx, table string, id int64, columns []string, args ...any) (int64, error) {
	doing := "keep a row of " + table
	if id == 0 {
		res, err := tx.ExecContext(ctx, insertInto(table, columns), args...)
		if err != nil {
			return 0, db.refused(table, doing, err)
		}
		id, err = res.LastInsertId()
		return id, db.failed(doing, err)
	}
	set := ""
	for i, c := range columns {
		set += map[bool]string{false: ", "}[i == 0] + c + " = ?"
	}
	res, err := tx.ExecContext(ctx, "UPDATE "+table+" SET "+set+" WHERE id = ?", append(args, id)...)
	if err != nil {
		return 0, db.refused(table, doing, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return 0, errors.Join(notFound("%s %d", table, id), err)
	}
	return id, nil
}

// refused tells a name that is taken from trouble.
func (db *DB) refused(table, doing string, err error) error {
	if db.dialect.duplicate(err) {
		return conflict("the name is taken in %s", table)
	}
	return db.failed(doing, err)
}

// deleteByID removes one row; an unknown id gives [monolith.ErrNotFound].
func (db *DB) deleteByID(ctx context.Context, table string, id int64) error {
	res, err := db.exec(ctx, "DELETE FROM "+table+" WHERE id = ?", id)
	if err != nil {
		return db.failed("delete a row of "+table, err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(notFound("%s %d", table, id), err)
	}
	return nil
}

// DeleteSilence ends a silence; an unknown id gives [monolith.ErrNotFound].
func (db *DB) DeleteSilence(ctx context.Context, id int64) error {
	return db.deleteByID(ctx, "silence", id)
}

// keptWindow is what table maintenance holds as JSON.
type keptWindow struct {
	Title    string         `json:"title"`
	Start    time.Time      `json:"start"`
	Duration time.Duration  `json:"duration"`
	Zone     string         `json:"zone"`
	Every    string         `json:"every"`
	Weekdays []time.Weekday `json:"weekdays,omitempty"`
	Until    time.Time      `json:"until,omitzero"`
	By       string         `json:"by"`
}

// MaintenanceWindows gives all of them, also those that are over, in the order of their ids.
func (db *DB) MaintenanceWindows(ctx context.Context) ([]monolith.MaintenanceWindow, error) {
	var rows []struct {
		ID     int64  `db:"id"`
		Server int64  `db:"server_id"`
		Group  string `db:"group_path"`
		Body   []byte `db:"body"`
	}
	if err := db.r.SelectContext(ctx, &rows, "SELECT id, server_id, group_path, body FROM maintenance ORDER BY id"); err != nil {
		return nil, db.failed("list maintenance windows", err)
	}
	windows := make([]monolith.MaintenanceWindow, len(rows))
	for i, r := range rows {
		var k keptWindow
		if err := json.Unmarshal(r.Body, &k); err != nil {
			return nil, fmt.Errorf("store: maintenance window %d: %w", r.ID, err)
		}
		windows[i] = monolith.MaintenanceWindow{ID: r.ID, Title: k.Title, Server: monolith.ServerID(r.Server), Group: r.Group, Start: k.Start,
			Duration: k.Duration, Zone: k.Zone, Every: k.Every, Weekdays: k.Weekdays, Until: k.Until, By: k.By}
	}
	return windows, nil
}

// PutMaintenanceWindow adds a window (ID 0, set by the call) or changes one. An unknown ID gives
// [monolith.ErrNotFound]. Whether the window makes sense is judged by who reads it.
func (db *DB) PutMaintenanceWindow(ctx context.Context, w *monolith.MaintenanceWindow) error {
	if err := checkScope(w.Server, w.Group); err != nil {
		return err
	}
	n := *w
	body, err := json.Marshal(keptWindow{cutText(w.Title, maxLine), w.Start, w.Duration, w.Zone, w.Every, w.Weekdays, w.Until, cutText(w.By, maxWho)})
	if err != nil {
		return fmt.Errorf("store: maintenance window: %w", err)
	}
	err = db.inTx(ctx, func(tx *sqlx.Tx) (err error) {
		if err := db.scopeThere(ctx, tx, n.Server, n.Group); err != nil {
			return err
		}
		n.ID, err = db.put(ctx, tx, "maintenance", n.ID, []string{"server_id", "group_path", "body"}, int64(n.Server), n.Group, string(body))
		return err
	})
	if err == nil {
		w.ID = n.ID
	}
	return err
}

// DeleteMaintenanceWindow removes a window; an unknown id gives [monolith.ErrNotFound].
func (db *DB) DeleteMaintenanceWindow(ctx context.Context, id int64) error {
	return db.deleteByID(ctx, "maintenance", id)
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"monolith"
)

const (
	defaultAlerts = 200
	defaultEvents = 100
)

// alerts reads alerts. One that can't be read is logged and left out: a damaged row must not hide the others.
func (db *DB) alerts(ctx context.Context, rest string, args ...any) ([]monolith.Alert, error) {
	var rows []alertRow
	if err := db.r.SelectContext(ctx, &rows, alertSelect+rest, args...); err != nil {
		return nil, db.failed("list alerts", err)
	}
	alerts := make([]monolith.Alert, 0, len(rows))
	for i := range rows {
		a, err := rows[i].alert()
		if err != nil {
			db.log.Error("an alert can't be read", "error", err)
			continue
		}
		alerts = append(alerts, a)
	}
	return alerts, nil
}

// OpenAlerts gives all alerts that are open, in the order of their ids.
func (db *DB) OpenAlerts(ctx context.Context) ([]monolith.Alert, error) {
	return db.alerts(ctx, " WHERE a.closed_ms = 0 AND "+alertThere+" ORDER BY a.id")
}

// Alert gives one alert, open or closed, or [monolith.ErrNotFound].
func (db *DB) Alert(ctx context.Context, id monolith.AlertID) (monolith.Alert, error) {
	alerts, err := db.alerts(ctx, " WHERE a.id = ? AND "+alertThere, int64(id))
	if err == nil && len(alerts) == 0 {
		err = notFound("alert %d", id)
	}
	if err != nil {
		return monolith.Alert{}, err
	}
	return alerts[0], nil
}

// AlertsByID gives those alerts of the ids that there are, by id.
func (db *DB) AlertsByID(ctx context.Context, ids []monolith.AlertID) (map[monolith.AlertID]monolith.Alert, error) {
	found := make(map[monolith.AlertID]monolith.Alert, len(ids))
	for len(ids) > 0 {
		part := ids[:min(len(ids), 500)]
		ids = ids[len(part):]
		args := make([]any, len(part))
		for i, id := range part {
			args[i] = int64(id)
		}
		alerts, err := db.alerts(ctx, " WHERE a.id IN "+values(1, len(args))+" AND "+alertThere, args...)
		if err != nil {
			return nil, err
		}
		for _, a := range alerts {
			found[a.ID] = a
		}
	}
	return found, nil
}

// inGroup adds that a group's path is a group or below it.
func (c *conditions) inGroup(column, group string) {
	if group != "" {
		// No LIKE: "_" in a name is not a wildcard.
		c.add("("+column+" = ? OR SUBSTR("+column+", 1, ?) = ?)", group, len([]rune(group))+1, group+"/")
	}
}

// oneOf adds that a column has one of some values; none are no condition.
func oneOf[T any](c *conditions, column string, list []T, value func(T) any) {
	if len(list) == 0 {
		return
	}
	args := make([]any, len(list))
	for i, v := range list {
		args[i] = value(v)
	}
	c.add(column+" IN "+values(1, len(list)), args...)
}

func levelValue(l monolith.Level) any      { return uint8(l) }
func serverValue(id monolith.ServerID) any { return int64(id) }
func wordValue[S ~string](s S) any         { return string(s) }

// Alerts finds alerts; see [monolith.AlertQuery] for the order and the limits. Server names and groups are those
// of now.
func (db *DB) Alerts(ctx context.Context, q monolith.AlertQuery) ([]monolith.Alert, error) {
	var c conditions
	c.add(alertThere)
	onlyOpen := q.Open == !q.Closed && q.Open || !q.Open && !q.Closed
	switch {
	case onlyOpen:
		c.add("a.closed_ms = 0")
	case !q.Open:
		c.add("a.closed_ms > 0")
	}
	oneOf(&c, "a.level", q.Levels, levelValue)
	oneOf(&c, "a.server_id", q.Servers, serverValue)
	c.inGroup("s.group_path", q.Group)
	if q.Rule != "" {
		c.add("a.rule_id = ?", q.Rule)
	}
	if !q.To.IsZero() {
		c.add("a.opened_ms < ?", q.To.UnixMilli())
	}
	if !q.From.IsZero() {
		c.add("(a.closed_ms = 0 OR a.closed_ms > ?)", q.From.UnixMilli())
	}
	order := " ORDER BY a.id DESC"
	if onlyOpen {
		order = " ORDER BY a.level DESC, a.id DESC"
	}
	switch {
	case q.Before > 0 && onlyOpen:
		// The page after an alert: what stands behind it by level and id.
		var level uint8
		err := db.r.GetContext(ctx, &level, "SELECT level FROM alert WHERE id = ?", int64(q.Before))
		if errors.Is(err, sql.ErrNoRows) {
			return nil, notFound("alert %d", q.Before)
		}
		if err != nil {
			return nil, db.failed("list alerts", err)
		}
		c.add("(a.level < ? OR a.level = ? AND a.id < ?)", level, level, int64(q.Before))
	case q.Before > 0:
		c.add("a.id < ?", int64(q.Before))
	}
	return db.alerts(ctx, c.where()+order+" LIMIT ?", append(c.args, limit(q.Limit, defaultAlerts))...)
}

// eventRow is a row of table alert_event.
type eventRow struct {
	ID    int64  `db:"id"`
	Alert int64  `db:"alert_id"`
	At    int64  `db:"at_ms"`
	Kind  string `db:"kind"`
	Level uint8  `db:"level"`
	By    string `db:"made_by"`
	Body  string `db:"body"`
	Quiet string `db:"quiet"`
}

const eventColumns = "e.id AS id, e.alert_id AS alert_id, e.at_ms AS at_ms, e.kind AS kind, e.level AS level, e.made_by AS made_by, e.body AS body, e.quiet AS quiet"

func (db *DB) events(ctx context.Context, from string, args ...any) ([]monolith.AlertEvent, error) {
	var rows []eventRow
	if err := db.r.SelectContext(ctx, &rows, "SELECT "+eventColumns+" FROM "+from, args...); err != nil {
		return nil, db.failed("list events", err)
	}
	events := make([]monolith.AlertEvent, len(rows))
	for i, r := range rows {
		events[i] = monolith.AlertEvent{ID: r.ID, Alert: monolith.AlertID(r.Alert), At: timeOf(r.At), Kind: monolith.AlertEventKind(r.Kind),
			Level: monolith.Level(r.Level), By: r.By, Text: r.Body, Quiet: r.Quiet}
	}
	return events, nil
}

// AlertEvents gives the events of one alert, oldest first, at most 5,000.
func (db *DB) AlertEvents(ctx context.Context, id monolith.AlertID) ([]monolith.AlertEvent, error) {
	return db.events(ctx, "alert_event e WHERE e.alert_id = ? ORDER BY e.id LIMIT ?", int64(id), maxAnswer)
}

// EventsAfter gives events with ids greater than after, in the order of their ids, at most limit (0 is 100).
func (db *DB) EventsAfter(ctx context.Context, after int64, most int) ([]monolith.AlertEvent, error) {
	return db.events(ctx, "alert_event e WHERE e.id > ? ORDER BY e.id LIMIT ?", after, limit(most, defaultEvents))
}

// fewPlaces is up to how many pairs of a server and a level the newest events are sought for each by itself, in the
// order of the index: among the events of all they may be far apart.
const fewPlaces = 200

// grades are the levels that an event can have.
var grades = []monolith.Level{monolith.LevelOK, monolith.LevelInfo, monolith.LevelWarn, monolith.LevelCritical}

// NewestEvents gives events, newest first; see [monolith.AlertEventQuery]. Those of servers that were deleted are
// left out.
func (db *DB) NewestEvents(ctx context.Context, q monolith.AlertEventQuery) ([]monolith.AlertEvent, error) {
	servers := q.Servers
	if q.Group != "" {
		var c conditions
		c.inGroup("group_path", q.Group)
		oneOf(&c, "id", q.Servers, serverValue)
		var ids []monolith.ServerID
		if err := db.r.SelectContext(ctx, &ids, "SELECT id FROM server"+c.where(), c.args...); err != nil {
			return nil, db.failed("list servers", err)
		}
		if servers = ids; len(ids) == 0 {
			return []monolith.AlertEvent{}, nil
		}
	}
	levels := q.Levels
	if len(levels) == 0 {
		levels = grades
	}
	var c conditions
	oneOf(&c, "e.kind", q.Kinds, wordValue)
	if q.Before > 0 {
		c.add("e.id < ?", q.Before)
	}
	const there = "(e.server_id = 0 OR EXISTS (SELECT 1 FROM server s WHERE s.id = e.server_id))"
	most := limit(q.Limit, defaultEvents)
	if n := len(servers) * len(levels); n == 0 || n > fewPlaces {
		oneOf(&c, "e.grade", q.Levels, levelValue)
		oneOf(&c, "e.server_id", servers, serverValue)
		c.add(there)
		return db.events(ctx, "alert_event e"+c.where()+" ORDER BY e.id DESC LIMIT ?", append(c.args, most)...)
	}
	var parts []string
	var args []any
	for _, id := range servers {
		for _, level := range levels {
			place := conditions{parts: append([]string{"e.server_id = ? AND e.grade = ?"}, c.parts...)}
			parts = append(parts, "SELECT * FROM (SELECT e.id AS k FROM alert_event e"+place.where()+" ORDER BY e.id DESC LIMIT ?) part")
			args = append(append(append(args, int64(id), uint8(level)), c.args...), most)
		}
	}
	return db.events(ctx, "(SELECT k FROM ("+strings.Join(parts, " UNION ALL ")+") parts ORDER BY k DESC LIMIT ?) newest JOIN alert_event e ON e.id = newest.k WHERE "+
		there+" ORDER BY e.id DESC", append(args, most)...)
}

// EngineStates gives what [monolith.AlertBatch.States] kept, by server; 0 is the monitor itself. A damaged row is left out and
// logged.
func (db *DB) EngineStates(ctx context.Context) (map[monolith.ServerID][]byte, error) {
	var rows []struct {
		Server  int64  `db:"server_id"`
		At      int64  `db:"at_ms"`
		Payload []byte `db:"payload"`
	}
	if err := db.r.SelectContext(ctx, &rows, "SELECT server_id, at_ms, payload FROM alert_state"); err != nil {
		return nil, db.failed("read the engine's memory", err)
	}
	states := make(map[monolith.ServerID][]byte, len(rows))
	for _, r := range rows {
		state, err := db.unzip.DecodeAll(r.Payload, nil)
		if err != nil {
			db.log.Error("the rule engine's memory of a server can't be read", "server_id", r.Server, "of", time.UnixMilli(r.At).UTC(), "error", err)
			continue
		}
		states[monolith.ServerID(r.Server)] = state
	}
	return states, nil
}

package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"monolith"
)

// The most rows of one answer.
const (
	defaultChanges = 200
	defaultMarks   = 500
	maxAnswer      = 5000
)

// conditions gathers the parts of a WHERE with their arguments.
type conditions struct {
	parts []string
	args  []any
}

func (c *conditions) add(part string, args ...any) {
	c.parts = append(c.parts, part)
	c.args = append(c.args, args...)
}

// between adds From ≤ column < To; a zero time leaves its end open.
func (c *conditions) between(column string, from, to time.Time) {
	if !from.IsZero() {
		c.add(column+" >= ?", from.UnixMilli())
	}
	if !to.IsZero() {
		c.add(column+" < ?", to.UnixMilli())
	}
}

func (c *conditions) where() string {
	if len(c.parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.parts, " AND ")
}

func limit(n, most int) int {
	if n <= 0 {
		return most
	}
	return min(n, maxAnswer)
}

// Changes gives steps of texts and variables, newest first.
func (db *DB) Changes(ctx context.Context, q monolith.ChangeQuery) ([]monolith.Change, error) {
	var c conditions
	if q.Server != 0 {
		c.add("c.server_id = ?", int64(q.Server))
	}
	if len(q.Servers) > 0 {
		ids := make([]any, len(q.Servers))
		for i, id := range q.Servers {
			ids[i] = int64(id)
		}
		c.add("c.server_id IN (?"+strings.Repeat(", ?", len(ids)-1)+")", ids...)
	}
	c.between("c.at_ms", q.From, q.To)
	switch {
	case q.Name != "" && q.Exact:
		c.add("m.name = ?", q.Name)
	case q.Name != "":
		// No LIKE: "_" in a name is not a wildcard.
		c.add("SUBSTR(m.name, 1, ?) = ?", len([]rune(q.Name)), q.Name)
	}
	if !q.First {
		c.add("c.flags <> ?", flagFirst)
	}
	if q.Before > 0 {
		c.add("c.id < ?", q.Before)
	}
	var rows []struct {
		ID       int64  `db:"id"`
		Server   int64  `db:"server_id"`
		At       int64  `db:"at_ms"`
		Flags    int    `db:"flags"`
		Name     string `db:"name"`
		Instance string `db:"instance"`
		From     string `db:"from_text"`
		To       string `db:"to_text"`
	}
	err := db.r.SelectContext(ctx, &rows, `SELECT c.id AS id, c.server_id AS server_id, c.at_ms AS at_ms, c.flags AS flags,
		m.name AS name, m.instance AS instance, c.from_text AS from_text, c.to_text AS to_text
		FROM text_change c JOIN metric m ON m.id = c.metric_id`+c.where()+` ORDER BY c.id DESC LIMIT ?`,
		append(c.args, limit(q.Limit, defaultChanges))...)
	if err != nil {
		return nil, db.failed("list changes", err)
	}
	changes := make([]monolith.Change, len(rows))
	for i, r := range rows {
		changes[i] = monolith.Change{ID: r.ID, Server: monolith.ServerID(r.Server), At: time.UnixMilli(r.At).UTC(),
			Name: monolith.Metric{Name: r.Name, Instance: r.Instance}.String(), From: r.From, To: r.To,
			First: r.Flags&flagFirst != 0, Gone: r.Flags&flagGone != 0}
	}
	return changes, nil
}

// AddMark keeps a mark and sets its ID. Its text is bounded; a mark of a kind that is not known, or
// without a text or a time, gives a [monolith.InvalidError].
func (db *DB) AddMark(ctx context.Context, m *monolith.Mark) error {
	switch m.Kind {
	case monolith.MarkRestart, monolith.MarkVariable, monolith.MarkVersion, monolith.MarkFailover, monolith.MarkAlert,
		monolith.MarkRename, monolith.MarkNote:
	default:
		return monolith.Invalid("kind", "there is no such kind of mark")
	}
	switch {
	case strings.TrimSpace(m.Text) == "":
		return monolith.Invalid("text", "a mark has a text")
	case m.At.IsZero():
		return monolith.Invalid("at", "a mark has a time")
	case m.Server != 0 && m.Group != "":
		return monolith.Invalid("group", "a mark is for a server or for a group", "give one of them")
	}
	if m.Group != "" {
		if err := checkPath("group", m.Group); err != nil {
			return err
		}
	}
	return db.inTx(ctx, func(tx *sqlx.Tx) error { return db.insertMark(ctx, tx, m) })
}

func (db *DB) insertMark(ctx context.Context, tx *sqlx.Tx, m *monolith.Mark) error {
	res, err := tx.ExecContext(ctx, insertInto("time_mark", []string{"server_id", "group_path", "at_ms", "kind", "body"}),
		int64(m.Server), m.Group, m.At.UnixMilli(), string(m.Kind), boundText(m.Text))
	if err != nil {
		return db.failed("keep a mark", err)
	}
	m.ID, err = res.LastInsertId()
	return db.failed("keep a mark", err)
}

// DeleteMark removes a note. An unknown ID gives [monolith.ErrNotFound], a mark of another kind
// [monolith.ErrConflict]: what Monolith saw stays seen.
func (db *DB) DeleteMark(ctx context.Context, id int64) error {
	return db.inTx(ctx, func(tx *sqlx.Tx) error {
		var kind string
		err := tx.GetContext(ctx, &kind, "SELECT kind FROM time_mark WHERE id = ?", id)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return notFound("mark %d", id)
		case err != nil:
			return db.failed("delete a mark", err)
		case kind != string(monolith.MarkNote):
			return conflict("mark %d is no note but a %s", id, kind)
		}
		_, err = tx.ExecContext(ctx, "DELETE FROM time_mark WHERE id = ?", id)
		return db.failed("delete a mark", err)
	})
}

// Marks gives marks on the time axis, oldest first.
func (db *DB) Marks(ctx context.Context, q monolith.MarkQuery) ([]monolith.Mark, error) {
	var c conditions
	c.between("at_ms", q.From, q.To)
	if len(q.Servers)+len(q.Groups) > 0 {
		parts := []string{"(server_id = 0 AND group_path = '')"}
		var args []any
		if len(q.Servers) > 0 {
			parts = append(parts, "server_id IN "+values(1, len(q.Servers)))
			for _, id := range q.Servers {
				args = append(args, int64(id))
			}
		}
		for _, g := range q.Groups {
			// A mark for a group above counts for this one too.
			for path := g; path != ""; path = parent(path) {
				parts = append(parts, "(server_id = 0 AND group_path = ?)")
				args = append(args, path)
			}
		}
		c.add("("+strings.Join(parts, " OR ")+")", args...)
	}
	if len(q.Kinds) > 0 {
		var args []any
		for _, k := range q.Kinds {
			args = append(args, string(k))
		}
		c.add("kind IN "+values(1, len(q.Kinds)), args...)
	}
	var rows []struct {
		ID     int64  `db:"id"`
		Server int64  `db:"server_id"`
		Group  string `db:"group_path"`
		At     int64  `db:"at_ms"`
		Kind   string `db:"kind"`
		Body   string `db:"body"`
	}
	err := db.r.SelectContext(ctx, &rows, "SELECT id, server_id, group_path, at_ms, kind, body FROM time_mark"+
		c.where()+" ORDER BY at_ms DESC, id DESC LIMIT ?", append(c.args, limit(q.Limit, defaultMarks))...)
	if err != nil {
		return nil, db.failed("list marks", err)
	}
	marks := make([]monolith.Mark, len(rows))
	for i, r := range rows {
		marks[len(rows)-1-i] = monolith.Mark{ID: r.ID, Server: monolith.ServerID(r.Server), Group: r.Group,
			At: time.UnixMilli(r.At).UTC(), Kind: monolith.MarkKind(r.Kind), Text: r.Body}
	}
	return marks, nil
}

package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"monolith"
)

// Setting gives the text kept under a key, or [monolith.ErrNotFound].
func (db *DB) Setting(ctx context.Context, key string) (string, error) {
	var body string
	err := db.r.GetContext(ctx, &body, "SELECT body FROM setting WHERE name = ?", key)
	if errors.Is(err, sql.ErrNoRows) {
		return "", notFound("setting %q", key)
	}
	return body, db.failed("read a setting", err)
}

// SetSetting keeps a text under a key of at most 128 characters.
func (db *DB) SetSetting(ctx context.Context, key, value string) error {
	if key == "" || len(key) > 128 {
		return monolith.Invalid("key", "a setting has a key of at most 128 characters")
	}
	_, err := db.exec(ctx, db.dialect.upsert("setting", []string{"name"}, []string{"body"}), key, value)
	return db.failed("keep a setting", err)
}

const retentionKey = "retention"

// Retention gives how long history is kept: what was set, or the default.
func (db *DB) Retention(ctx context.Context) (monolith.Retention, error) {
	r := monolith.DefaultRetention()
	text, err := db.Setting(ctx, retentionKey)
	if errors.Is(err, monolith.ErrNotFound) {
		return r, nil
	}
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, db.failed("the kept retention", &rowError{err})
	}
	return r, nil
}

// SetRetention keeps how long history is kept from now on. What is beyond it goes in small batches.
func (db *DB) SetRetention(ctx context.Context, r monolith.Retention) error {
	if err := r.Validate(); err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("store: retention: %w", err)
	}
	if err := db.SetSetting(ctx, retentionKey, string(text)); err != nil {
		return err
	}
	select {
	case db.purgeNow <- struct{}{}:
	default: // it is asked for already
	}
	return nil
}

type graphRow struct {
	ID         int64  `db:"id"`
	Title      string `db:"title"`
	Definition string `db:"definition"`
	Servers    []byte `db:"servers"`
	Page       string `db:"page"`
	Position   int    `db:"sort_order"`
	Created    int64  `db:"created_ms"`
	Updated    int64  `db:"updated_ms"`
}

// Graphs gives the graphs that people saved, in their order. An id in Servers may be that of a
// server that was deleted since.
func (db *DB) Graphs(ctx context.Context) ([]monolith.SavedGraph, error) {
	var rows []graphRow
	if err := db.r.SelectContext(ctx, &rows, `SELECT id, title, definition, servers, page, sort_order, created_ms, updated_ms
		FROM saved_graph ORDER BY sort_order, id`); err != nil {
		return nil, db.failed("list graphs", err)
	}
	graphs := make([]monolith.SavedGraph, len(rows))
	for i, r := range rows {
		graphs[i] = monolith.SavedGraph{ID: r.ID, Title: r.Title, Definition: r.Definition, Page: r.Page, Position: r.Position,
			Created: time.UnixMilli(r.Created).UTC(), Updated: time.UnixMilli(r.Updated).UTC()}
		if err := json.Unmarshal(r.Servers, &graphs[i].Servers); err != nil {
			return nil, db.failed(fmt.Sprintf("servers of graph %d", r.ID), &rowError{err})
		}
	}
	return graphs, nil
}

// PutGraph keeps a graph: a new one when its ID is 0, which is then set with Position, Created and
// Updated. An unknown ID gives [monolith.ErrNotFound].
func (db *DB) PutGraph(ctx context.Context, g *monolith.SavedGraph) error {
	if g.Title == "" || len([]rune(g.Title)) > 255 {
		return monolith.Invalid("title", "a graph has a title of at most 255 characters")
	}
	if len(g.Page) > 64 {
		return monolith.Invalid("page", "there is no such page")
	}
	servers, err := json.Marshal(g.Servers)
	if err != nil {
		return fmt.Errorf("store: servers of graph %q: %w", g.Title, err)
	}
	n := *g
	n.Updated = db.now().UTC().Truncate(time.Millisecond)
	err = db.inTx(ctx, func(tx *sqlx.Tx) error {
		if n.ID != 0 {
			var created int64
			err := tx.GetContext(ctx, &created, "SELECT created_ms FROM saved_graph WHERE id = ?", n.ID)
			if errors.Is(err, sql.ErrNoRows) {
				return notFound("graph %d", n.ID)
			}
			if err != nil {
				return db.failed("keep a graph", err)
			}
			n.Created = time.UnixMilli(created).UTC()
			_, err = tx.ExecContext(ctx, `UPDATE saved_graph SET title = ?, definition = ?, servers = ?, page = ?, sort_order = ?, updated_ms = ? WHERE id = ?`,
				n.Title, n.Definition, string(servers), n.Page, n.Position, n.Updated.UnixMilli(), n.ID)
			return db.failed("keep a graph", err)
		}
		n.Created = n.Updated
		if n.Position == 0 {
			if err := tx.GetContext(ctx, &n.Position, "SELECT COALESCE(MAX(sort_order), 0) + 1 FROM saved_graph"); err != nil {
				return db.failed("keep a graph", err)
			}
		}
		res, err := tx.ExecContext(ctx, insertInto("saved_graph", []string{"title", "definition", "servers", "page", "sort_order", "created_ms", "updated_ms"}),
			n.Title, n.Definition, string(servers), n.Page, n.Position, n.Created.UnixMilli(), n.Updated.UnixMilli())
		if err != nil {
			return db.failed("keep a graph", err)
		}
		n.ID, err = res.LastInsertId()
		return db.failed("keep a graph", err)
	})
	if err != nil {
		return err
	}
	*g = n
	return nil
}

// DeleteGraph removes a saved graph; an unknown ID gives [monolith.ErrNotFound].
func (db *DB) DeleteGraph(ctx context.Context, id int64) error {
	res, err := db.exec(ctx, "DELETE FROM saved_graph WHERE id = ?", id)
	if err != nil {
		return db.failed("delete a graph", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(notFound("graph %d", id), err)
	}
	return nil
}

package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"

	"monolith"
)

type groupRow struct {
	Path       string `db:"path"`
	Position   int    `db:"sort_order"`
	Attributes []byte `db:"attributes"`
}

// Groups gives every group, parents before their children, siblings as people ordered them. A group
// that a server stands in is there, and so are its parents.
func (db *DB) Groups(ctx context.Context) ([]monolith.Group, error) {
	var rows []groupRow
	if err := db.r.SelectContext(ctx, &rows, "SELECT path, sort_order, attributes FROM server_group ORDER BY sort_order, path"); err != nil {
		return nil, db.failed("list groups", err)
	}
	children := map[string][]monolith.Group{}
	for _, row := range rows {
		g := monolith.Group{}
		if err := json.Unmarshal(row.Attributes, &g); err != nil {
			return nil, db.failed(fmt.Sprintf("attributes of group %q", row.Path), &rowError{err})
		}
		g.Path, g.Position = row.Path, row.Position
		children[parent(g.Path)] = append(children[parent(g.Path)], g)
	}
	groups := make([]monolith.Group, 0, len(rows))
	var walk func(path string)
	walk = func(path string) {
		for _, g := range children[path] {
			groups = append(groups, g)
			walk(g.Path)
		}
	}
	walk("")
	return groups, nil
}

// parent gives the path above, "" at the top.
func parent(path string) string {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return ""
	}
	return path[:i]
}

// checkPath refuses a group path that a server could not stand in.
func checkPath(field, path string) error {
	if path == "" {
		return monolith.Invalid(field, "a group has a name")
	}
	err := checkGroup(monolith.Group{Path: path})
	var invalid *monolith.InvalidError
	if errors.As(err, &invalid) {
		invalid.Field = field
	}
	return err
}

// checkGroup refuses what a server of the group could not have: the rules are those of servers.
func checkGroup(g monolith.Group) error {
	probe := monolith.Server{Name: "x", Group: g.Path, Endpoint: monolith.Endpoint{Host: "x"},
		Environment: g.Environment, TimeZone: g.TimeZone, Schedules: g.Schedules}
	return probe.Validate()
}

// PutGroup makes a group or replaces its defaults; missing parents are made. Position 0 keeps the
// place it has, or puts a new group last among its siblings.
func (db *DB) PutGroup(ctx context.Context, g monolith.Group) error {
	if err := checkPath("path", g.Path); err != nil {
		return err
	}
	if err := checkGroup(g); err != nil {
		return err
	}
	text, err := json.Marshal(g)
	if err != nil {
		return fmt.Errorf("store: attributes of group %q: %w", g.Path, err)
	}
	return db.inTx(ctx, func(tx *sqlx.Tx) error {
		if err := db.putGroupPath(ctx, tx, g.Path); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE server_group SET attributes = ? WHERE path = ?", string(text), g.Path); err != nil {
			return db.failed("keep a group", err)
		}
		if g.Position == 0 {
			return nil
		}
		_, err := tx.ExecContext(ctx, "UPDATE server_group SET sort_order = ? WHERE path = ?", g.Position, g.Path)
		return db.failed("keep a group", err)
	})
}

// putGroupPath makes a group and its parents where they are not there yet.
func (db *DB) putGroupPath(ctx context.Context, tx *sqlx.Tx, path string) error {
	if path == "" {
		return nil
	}
	for i := 0; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		above := path[:i]
		var there, last int
		if err := tx.GetContext(ctx, &there, "SELECT COUNT(*) FROM server_group WHERE path = ?", above); err != nil {
			return db.failed("make a group", err)
		}
		if there > 0 {
			continue
		}
		if err := tx.GetContext(ctx, &last, "SELECT COALESCE(MAX(sort_order), 0) FROM server_group"); err != nil {
			return db.failed("make a group", err)
		}
		_, err := tx.ExecContext(ctx, db.dialect.upsert("server_group", []string{"path"}, []string{"sort_order", "attributes"}), above, last+1, "{}")
		if err != nil {
			return db.failed("make a group", err)
		}
	}
	return nil
}

// MoveGroup gives a group another path, and with it everything below: sub-groups, servers and the
// marks that are for them. A target that exists gives [monolith.ErrConflict].
func (db *DB) MoveGroup(ctx context.Context, from, to string) error {
	if err := checkPath("to", to); err != nil {
		return err
	}
	if monolith.InGroup(to, from) {
		return monolith.Invalid("to", "a group can't be moved into itself")
	}
	return db.inTx(ctx, func(tx *sqlx.Tx) error {
		var paths []string
		if err := tx.SelectContext(ctx, &paths, "SELECT path FROM server_group ORDER BY path"); err != nil {
			return db.failed("move a group", err)
		}
		found := false
		for _, p := range paths {
			if p == to {
				return conflict("there is a group %q already", to)
			}
			found = found || p == from
		}
		if !found {
			return notFound("group %q", from)
		}
		if err := db.putGroupPath(ctx, tx, parent(to)); err != nil {
			return err
		}
		for _, p := range paths {
			if !monolith.InGroup(p, from) {
				continue
			}
			moved := to + strings.TrimPrefix(p, from)
			if err := checkPath("to", moved); err != nil {
				return err
			}
			for _, statement := range []string{
				"UPDATE server_group SET path = ? WHERE path = ?",
				"UPDATE server SET group_path = ? WHERE group_path = ?",
				"UPDATE time_mark SET group_path = ? WHERE group_path = ?",
			} {
				if _, err := tx.ExecContext(ctx, statement, moved, p); err != nil {
					return db.failed("move a group", err)
				}
			}
		}
		return db.moveScope(ctx, tx, from, to)
	})
}

// DeleteGroup removes an empty group with what was set for it. One that holds servers or groups gives [monolith.ErrConflict], an
// unknown one [monolith.ErrNotFound].
func (db *DB) DeleteGroup(ctx context.Context, path string) error {
	return db.inTx(ctx, func(tx *sqlx.Tx) error {
		var servers, groups []string
		if err := tx.SelectContext(ctx, &servers, "SELECT group_path FROM server"); err != nil {
			return db.failed("delete a group", err)
		}
		if err := tx.SelectContext(ctx, &groups, "SELECT path FROM server_group"); err != nil {
			return db.failed("delete a group", err)
		}
		found := false
		for _, g := range groups {
			if g != path && path != "" && monolith.InGroup(g, path) {
				return conflict("group %q holds the group %q", path, g)
			}
			found = found || g == path
		}
		if !found {
			return notFound("group %q", path)
		}
		for _, g := range servers {
			if monolith.InGroup(g, path) {
				return conflict("group %q holds servers", path)
			}
		}
		if path != "" {
			if err := db.dropScope(ctx, tx, 0, path); err != nil {
				return err
			}
		}
		_, err := tx.ExecContext(ctx, "DELETE FROM server_group WHERE path = ?", path)
		return db.failed("delete a group", err)
	})
}

// OrderGroups gives groups the order of the paths; it tells among siblings only. Groups that are not
// named follow in their old order. An unknown path gives [monolith.ErrNotFound].
func (db *DB) OrderGroups(ctx context.Context, paths []string) error {
	return db.inTx(ctx, func(tx *sqlx.Tx) error {
		var have []string
		if err := tx.SelectContext(ctx, &have, "SELECT path FROM server_group ORDER BY sort_order, path"); err != nil {
			return db.failed("order groups", err)
		}
		order, unknown := ordered(have, paths)
		if unknown != "" {
			return notFound("group %q", unknown)
		}
		for i, path := range order {
			if _, err := tx.ExecContext(ctx, "UPDATE server_group SET sort_order = ? WHERE path = ?", i+1, path); err != nil {
				return db.failed("order groups", err)
			}
		}
		return nil
	})
}

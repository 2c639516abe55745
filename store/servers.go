package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"

	"monolith"
)

// serverRow is a row of table server.
type serverRow struct {
	ID         int64  `db:"id"`
	Name       string `db:"name"`
	Group      string `db:"group_path"`
	Position   int    `db:"sort_order"`
	Attributes []byte `db:"attributes"`
	Password   []byte `db:"password"`
	Created    int64  `db:"created_ms"`
	Updated    int64  `db:"updated_ms"`
}

const serverColumns = "id, name, group_path, sort_order, attributes, password, created_ms, updated_ms"

// server makes the noun of a row, with its password opened.
func (db *DB) server(row serverRow) (monolith.Server, error) {
	var s monolith.Server
	if err := json.Unmarshal(row.Attributes, &s); err != nil {
		return s, db.failed(fmt.Sprintf("attributes of server %q", row.Name), &rowError{err})
	}
	s.ID, s.Name, s.Group, s.Position = monolith.ServerID(row.ID), row.Name, row.Group, row.Position
	s.Created, s.Updated = time.UnixMilli(row.Created).UTC(), time.UnixMilli(row.Updated).UTC()
	if len(row.Password) > 0 {
		var err error
		if s.Endpoint.Password, err = db.seals.open(row.Password, passwordPlace(s.ID)); err != nil {
			return s, fmt.Errorf("store: server %q: %w", row.Name, err)
		}
	}
	return s, nil
}

// passwordPlace binds a sealed password to its server: moved to another row it does not open.
func passwordPlace(id monolith.ServerID) string {
	return "password of server " + strconv.FormatInt(int64(id), 10)
}

// attributes is what is kept of a server as JSON: everything but the password, which is sealed.
func attributes(s *monolith.Server) ([]byte, error) {
	c := *s
	c.Endpoint.Password = ""
	return json.Marshal(&c)
}

// Servers gives all servers in the order of groups' paths, then as people ordered them.
func (db *DB) Servers(ctx context.Context) ([]monolith.Server, error) {
	var rows []serverRow
	err := db.r.SelectContext(ctx, &rows, "SELECT "+serverColumns+" FROM server ORDER BY group_path, sort_order, name")
	if err != nil {
		return nil, db.failed("list servers", err)
	}
	servers := make([]monolith.Server, len(rows))
	for i, row := range rows {
		if servers[i], err = db.server(row); err != nil {
			return nil, err
		}
	}
	return servers, nil
}

// Server gives the server of a name, or [monolith.ErrNotFound].
func (db *DB) Server(ctx context.Context, name string) (monolith.Server, error) {
	var row serverRow
	err := db.r.GetContext(ctx, &row, "SELECT "+serverColumns+" FROM server WHERE name = ?", name)
	if errors.Is(err, sql.ErrNoRows) {
		return monolith.Server{}, notFound("server %q", name)
	}
	if err != nil {
		return monolith.Server{}, db.failed("read a server", err)
	}
	return db.server(row)
}

// AddServer keeps a new server, at the end of its group unless it has a position, and sets its ID,
// Position, Created and Updated. A name that is taken gives [monolith.ErrConflict].
func (db *DB) AddServer(ctx context.Context, s *monolith.Server) error {
	if err := s.Validate(); err != nil {
		return err
	}
	n := *s
	n.Created = db.now().UTC().Truncate(time.Millisecond)
	n.Updated = n.Created
	err := db.inTx(ctx, func(tx *sqlx.Tx) error {
		if n.Position == 0 {
			var err error
			if n.Position, err = lastPosition(ctx, tx, n.Group); err != nil {
				return db.failed("add a server", err)
			}
		}
		text, err := attributes(&n)
		if err != nil {
			return fmt.Errorf("store: attributes of server %q: %w", n.Name, err)
		}
		res, err := tx.ExecContext(ctx, insertInto("server", []string{"name", "group_path", "sort_order", "address", "attributes", "created_ms", "updated_ms"}),
			n.Name, n.Group, n.Position, shortAddress(&n), string(text), n.Created.UnixMilli(), n.Updated.UnixMilli())
		if db.dialect.duplicate(err) {
			return conflict("there is a server %q already", n.Name)
		}
		if err != nil {
			return db.failed("add a server", err)
		}
		id, err := res.LastInsertId()
		if err != nil {
			return db.failed("add a server", err)
		}
		n.ID = monolith.ServerID(id)
		if err := db.putGroupPath(ctx, tx, n.Group); err != nil {
			return err
		}
		return db.putPassword(ctx, tx, &n)
	})
	if err != nil {
		return err
	}
	*s = n
	return nil
}

// shortAddress is the address for people who look into the table; attributes hold it whole.
func shortAddress(s *monolith.Server) string {
	r := []rune(s.Endpoint.Address())
	return string(r[:min(len(r), 255)])
}

func lastPosition(ctx context.Context, tx *sqlx.Tx, group string) (int, error) {
	var last int
	err := tx.GetContext(ctx, &last, "SELECT COALESCE(MAX(sort_order), 0) + 1 FROM server WHERE group_path = ?", group)
	return last, err
}

func (db *DB) putPassword(ctx context.Context, tx *sqlx.Tx, s *monolith.Server) error {
	var sealed []byte // NULL where there is no password
	if s.Endpoint.Password != "" {
		var err error
		if sealed, err = db.seals.seal(s.Endpoint.Password, passwordPlace(s.ID)); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, "UPDATE server SET password = ? WHERE id = ?", sealed, s.ID)
	return db.failed("keep a password", err)
}

// UpdateServer replaces what is known of the server with this ID, its password included, and sets
// Updated. A new name or address is marked on the server's time axis. An unknown ID gives
// [monolith.ErrNotFound], a name that is taken [monolith.ErrConflict].
func (db *DB) UpdateServer(ctx context.Context, s *monolith.Server) error {
	if err := s.Validate(); err != nil {
		return err
	}
	n := *s
	n.Updated = db.now().UTC().Truncate(time.Millisecond)
	err := db.inTx(ctx, func(tx *sqlx.Tx) error {
		var row serverRow
		err := tx.GetContext(ctx, &row, "SELECT "+serverColumns+" FROM server WHERE id = ?", n.ID)
		if errors.Is(err, sql.ErrNoRows) {
			return notFound("server %q", n.Name)
		}
		if err != nil {
			return db.failed("update a server", err)
		}
		row.Password = nil // what it was does not matter, and need not be readable
		old, err := db.server(row)
		if err != nil {
			return err
		}
		n.Created = old.Created
		if n.Group != old.Group && n.Position == old.Position {
			if n.Position, err = lastPosition(ctx, tx, n.Group); err != nil {
				return db.failed("update a server", err)
			}
		}
		text, err := attributes(&n)
		if err != nil {
			return fmt.Errorf("store: attributes of server %q: %w", n.Name, err)
		}
		_, err = tx.ExecContext(ctx, `UPDATE server SET name = ?, group_path = ?, sort_order = ?, address = ?, attributes = ?, updated_ms = ? WHERE id = ?`,
			n.Name, n.Group, n.Position, shortAddress(&n), string(text), n.Updated.UnixMilli(), n.ID)
		if db.dialect.duplicate(err) {
			return conflict("there is a server %q already", n.Name)
		}
		if err != nil {
			return db.failed("update a server", err)
		}
		if err := db.putGroupPath(ctx, tx, n.Group); err != nil {
			return err
		}
		if err := db.putPassword(ctx, tx, &n); err != nil {
			return err
		}
		for _, m := range serverMarks(&old, &n) {
			if err := db.insertMark(ctx, tx, &m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	*s = n
	return nil
}

// serverMarks notes what people changed that explains a step in a server's graphs, or a name in an old
// picture. Group, order, tags and the like explain nothing there.
func serverMarks(old, now *monolith.Server) []monolith.Mark {
	var marks []monolith.Mark
	for _, c := range []struct {
		kind           monolith.MarkKind
		what, from, to string
	}{
		{monolith.MarkRename, "renamed", old.Name, now.Name},
		{monolith.MarkFailover, "address changed", old.Endpoint.Address(), now.Endpoint.Address()},
	} {
		if c.from != c.to {
			marks = append(marks, monolith.Mark{Server: now.ID, At: now.Updated, Kind: c.kind,
				Text: fmt.Sprintf("%s: %s → %s", c.what, quoteEmpty(c.from), quoteEmpty(c.to))})
		}
	}
	return marks
}

func quoteEmpty(s string) string {
	if s == "" {
		return `""`
	}
	return s
}

// DeleteServer removes a server at once; its history is purged in small batches afterwards. An unknown
// ID gives [monolith.ErrNotFound].
func (db *DB) DeleteServer(ctx context.Context, id monolith.ServerID) error {
	err := db.inTx(ctx, func(tx *sqlx.Tx) error {
		res, err := tx.ExecContext(ctx, "DELETE FROM server WHERE id = ?", id)
		if err != nil {
			return db.failed("delete a server", err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return errors.Join(notFound("server number %d", id), err)
		}
		if err := db.dropScope(ctx, tx, id, ""); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, db.dialect.upsert("deleted_server", []string{"server_id"}, []string{"deleted_ms"}), id, db.now().UnixMilli())
		return db.failed("delete a server", err)
	})
	if err == nil {
		db.forget(id)
	}
	return err
}

// OrderServers gives the servers of one group the order of the names; servers that are not named
// follow in their old order. A name that does not stand in the group gives [monolith.ErrNotFound].
func (db *DB) OrderServers(ctx context.Context, group string, names []string) error {
	return db.inTx(ctx, func(tx *sqlx.Tx) error {
		var have []string
		if err := tx.SelectContext(ctx, &have, "SELECT name FROM server WHERE group_path = ? ORDER BY sort_order, name", group); err != nil {
			return db.failed("order servers", err)
		}
		order, unknown := ordered(have, names)
		if unknown != "" {
			return notFound("server %q in group %q", unknown, group)
		}
		for i, name := range order {
			if _, err := tx.ExecContext(ctx, "UPDATE server SET sort_order = ? WHERE name = ?", i+1, name); err != nil {
				return db.failed("order servers", err)
			}
		}
		return nil
	})
}

// ordered puts the wanted names first and the rest after them. unknown is a wanted name that is not there.
func ordered(have, want []string) (order []string, unknown string) {
	there := make(map[string]bool, len(have))
	for _, n := range have {
		there[n] = true
	}
	for _, n := range want {
		known, listed := there[n]
		if !listed {
			return nil, n
		}
		if known {
			order, there[n] = append(order, n), false
		}
	}
	for _, n := range have {
		if there[n] {
			order = append(order, n)
		}
	}
	return order, ""
}

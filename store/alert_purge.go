package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jmoiron/sqlx"

	"monolith"
)

// purgeAlerts deletes closed alerts with their events, finished messages, and silences that ended, all beyond their days.
func (db *DB) purgeAlerts(ctx context.Context, r monolith.Retention) error {
	now := db.now()
	old := before(now, r.AlertDays)
	for {
		var ids []int64
		if err := db.r.SelectContext(ctx, &ids, "SELECT id FROM alert WHERE closed_ms > 0 AND closed_ms < ? ORDER BY closed_ms LIMIT ?", old, purgeBatch/4); err != nil {
			return db.failed("find old alerts", err)
		}
		if len(ids) == 0 {
			break
		}
		for _, id := range ids {
			if err := db.deleteIn(ctx, "alert_event", "id", "alert_id = ?", id); err != nil {
				return err
			}
		}
		args := make([]any, len(ids))
		for i, id := range ids {
			args[i] = id
		}
		if _, err := db.exec(ctx, "DELETE FROM alert WHERE id IN "+values(1, len(ids)), args...); err != nil {
			return db.failed("purge alerts", err)
		}
		db.count.purgedRows.Add(uint64(len(ids)))
	}
	if err := db.deleteIn(ctx, "silence", "id", `to_ms > 0 AND to_ms < ?
		OR to_ms = 0 AND NOT EXISTS (SELECT 1 FROM alert a WHERE a.id = silence.alert_id)`, old); err != nil {
		return err
	}
	old = before(now, r.DeliveryDays)
	// What was told of an alert that is still open is known to who tells: without it people would be told again.
	if err := db.deleteIn(ctx, "delivery", "id", `finished = 1 AND due_ms < ? AND NOT EXISTS
		(SELECT 1 FROM delivery_alert d JOIN alert a ON a.id = d.alert_id WHERE d.delivery_id = delivery.id AND a.closed_ms = 0)`, old); err != nil {
		return err
	}
	return db.purgeDeliveryAlerts(ctx)
}

// purgeDeliveryAlerts deletes what says which alerts a message spoke of, below the oldest message there is.
func (db *DB) purgeDeliveryAlerts(ctx context.Context) error {
	var first int64
	if err := db.r.GetContext(ctx, &first, "SELECT COALESCE(MIN(id), (SELECT COALESCE(MAX(delivery_id), 0) + 1 FROM delivery_alert)) FROM delivery"); err != nil {
		return db.failed("find the oldest message", err)
	}
	for {
		var ids []int64
		if err := db.r.SelectContext(ctx, &ids, "SELECT DISTINCT delivery_id FROM delivery_alert WHERE delivery_id < ? ORDER BY delivery_id LIMIT ?", first, purgeBatch/4); err != nil {
			return db.failed("find old messages", err)
		}
		if len(ids) == 0 {
			return nil
		}
		for _, id := range ids {
			if _, err := db.exec(ctx, "DELETE FROM delivery_alert WHERE delivery_id = ?", id); err != nil {
				return db.failed("purge messages", err)
			}
		}
	}
}

// scopedTables are those whose rows people made for a server or a group.
var scopedTables = []string{"rule_setting", "silence", "maintenance"}

// dropScope deletes what was made for a server or a group that is going.
func (db *DB) dropScope(ctx context.Context, tx *sqlx.Tx, id monolith.ServerID, group string) error {
	for _, table := range scopedTables {
		if _, err := tx.ExecContext(ctx, "DELETE FROM "+table+" WHERE server_id = ? AND group_path = ?", int64(id), group); err != nil {
			return db.failed("delete from "+table, err)
		}
	}
	return nil
}

// moveScope lets what was made for a group follow it. The lists of subscriptions and export profiles are JSON.
func (db *DB) moveScope(ctx context.Context, tx *sqlx.Tx, from, to string) error {
	for _, table := range scopedTables {
		var paths []string
		if err := tx.SelectContext(ctx, &paths, "SELECT DISTINCT group_path FROM "+table); err != nil {
			return db.failed("move a group", err)
		}
		for _, p := range paths {
			if p == "" || !monolith.InGroup(p, from) {
				continue
			}
			if _, err := tx.ExecContext(ctx, "UPDATE "+table+" SET group_path = ? WHERE group_path = ?", to+strings.TrimPrefix(p, from), p); err != nil {
				return db.failed("move a group", err)
			}
		}
	}
	for _, table := range []string{"subscription", "export_profile"} {
		if err := db.moveLists(ctx, tx, table, from, to); err != nil {
			return err
		}
	}
	return nil
}

// moveLists rewrites the member "groups" of a table's JSON.
func (db *DB) moveLists(ctx context.Context, tx *sqlx.Tx, table, from, to string) error {
	var rows []struct {
		ID   int64  `db:"id"`
		Body []byte `db:"body"`
	}
	if err := tx.SelectContext(ctx, &rows, "SELECT id, body FROM "+table); err != nil {
		return db.failed("move a group", err)
	}
	for _, r := range rows {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(r.Body, &members); err != nil {
			return fmt.Errorf("store: %s %d: %w", table, r.ID, err)
		}
		var groups []string
		if members["groups"] == nil {
			continue
		}
		if err := json.Unmarshal(members["groups"], &groups); err != nil {
			return fmt.Errorf("store: groups of %s %d: %w", table, r.ID, err)
		}
		moved := false
		for i, g := range groups {
			if g != "" && monolith.InGroup(g, from) {
				groups[i], moved = to+strings.TrimPrefix(g, from), true
			}
		}
		if !moved {
			continue
		}
		var err error
		if members["groups"], err = json.Marshal(groups); err != nil {
			return fmt.Errorf("store: groups of %s %d: %w", table, r.ID, err)
		}
		body, err := json.Marshal(members)
		if err != nil {
			return fmt.Errorf("store: %s %d: %w", table, r.ID, err)
		}
		if _, err := tx.ExecContext(ctx, "UPDATE "+table+" SET body = ? WHERE id = ?", string(body), r.ID); err != nil {
			return db.failed("move a group", err)
		}
	}
	return nil
}

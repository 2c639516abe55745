package store

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"monolith"
)

// purgeBatch is how many rows one transaction of the purge deletes: few enough that a commit of polls
// never waits long for it.
const purgeBatch = 200

// purge deletes what is beyond the retention and what deleted servers left, in small batches.
func (db *DB) purge(ctx context.Context) error {
	r, err := db.Retention(ctx)
	if err != nil {
		return err
	}
	now := db.now()
	for tier, days := range []int{tierRaw: r.RawDays, tierTen: r.TenMinuteDays, tierHour: r.HourDays} {
		if err := db.deleteIn(ctx, "history_block", "id", "tier = ? AND last_ms < ?", tier, before(now, days)); err != nil {
			return err
		}
	}
	if err := db.purgeBudget(ctx, r.RawBytes); err != nil {
		return err
	}
	var servers []int64
	if err := db.r.SelectContext(ctx, &servers, "SELECT id FROM server"); err != nil {
		return db.failed("list servers", err)
	}
	for _, id := range append(servers, 0) {
		if err := db.purgeTimeline(ctx, id, before(now, r.HourDays)); err != nil {
			return err
		}
	}
	if err := db.purgeAlerts(ctx, r); err != nil {
		return err
	}
	if err := db.purgeDeleted(ctx); err != nil {
		return err
	}
	for {
		more, err := db.dialect.shrink(ctx, db.w)
		if err != nil || !more || ctx.Err() != nil {
			return db.failed("give space back", err)
		}
	}
}

// purgeTimeline deletes one server's old changes, marks and hours; 0 has the marks of groups.
func (db *DB) purgeTimeline(ctx context.Context, id, old int64) error {
	// The text in force at the edge of what is kept stays.
	if err := db.deleteIn(ctx, "text_change", "id",
		`server_id = ? AND at_ms < ? AND EXISTS (SELECT 1 FROM text_change n WHERE n.server_id = text_change.server_id
			AND n.metric_id = text_change.metric_id AND n.at_ms < ? AND n.id > text_change.id)`, id, old, old); err != nil {
		return err
	}
	if err := db.deleteIn(ctx, "time_mark", "id", "server_id = ? AND at_ms < ?", id, old); err != nil {
		return err
	}
	_, err := db.exec(ctx, "DELETE FROM hourly WHERE server_id = ? AND hour_start < ?", id, old/1000)
	return db.failed("purge hourly", err)
}

func before(now time.Time, days int) int64 { return now.AddDate(0, 0, -days).UnixMilli() }

// deleteIn deletes the rows of a condition in batches by their key. The inner SELECT stands in a FROM, since MySQL reads no table that it deletes from.
func (db *DB) deleteIn(ctx context.Context, table, key, where string, args ...any) error {
	for {
		res, err := db.exec(ctx, "DELETE FROM "+table+" WHERE "+key+" IN (SELECT k FROM (SELECT "+key+" AS k FROM "+
			table+" WHERE "+where+" ORDER BY "+key+" LIMIT ?) batch)", append(append([]any{}, args...), purgeBatch)...)
		if err != nil {
			return db.failed("purge "+table, err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return db.failed("purge "+table, err)
		}
		db.count.purgedRows.Add(uint64(n))
		if n < purgeBatch {
			return nil
		}
	}
}

// purgeBudget deletes the oldest raw blocks until the rest fits.
func (db *DB) purgeBudget(ctx context.Context, budget int64) error {
	for {
		var have int64
		if err := db.r.GetContext(ctx, &have, "SELECT COALESCE(SUM(bytes), 0) FROM history_block WHERE tier = 0"); err != nil {
			return db.failed("add up raw history", err)
		}
		if have <= budget {
			return nil
		}
		var ids []int64
		err := db.inRead(ctx, func(tx *sqlx.Tx) error {
			return each(ctx, tx, func(rows *sqlx.Rows) error {
				var id, bytes int64
				if err := rows.Scan(&id, &bytes); err != nil {
					return err
				}
				if have > budget {
					ids, have = append(ids, id), have-bytes
				}
				return nil
			}, "SELECT id, bytes FROM history_block WHERE tier = 0 ORDER BY last_ms LIMIT ?", purgeBatch)
		})
		if err != nil {
			return db.failed("find the oldest raw history", err)
		}
		if len(ids) == 0 {
			return nil
		}
		args := make([]any, len(ids))
		for i, id := range ids {
			args[i] = id
		}
		if _, err := db.exec(ctx, "DELETE FROM history_block WHERE id IN "+values(1, len(ids)), args...); err != nil {
			return db.failed("purge raw history", err)
		}
		db.count.purgedRows.Add(uint64(len(ids)))
	}
}

// purgeDeleted deletes what servers left that are no longer there.
func (db *DB) purgeDeleted(ctx context.Context) error {
	var ids []monolith.ServerID
	if err := db.r.SelectContext(ctx, &ids, "SELECT server_id FROM deleted_server"); err != nil {
		return db.failed("list deleted servers", err)
	}
	for _, id := range ids {
		for _, t := range []struct{ table, key string }{
			{"history_block", "id"}, {"text_change", "id"}, {"time_mark", "id"}, {"hourly", "hour_start"},
			{"server_metric", "metric_id"}, {"latest", "part"}, {"progress", "server_id"},
			{"alert", "id"}, {"alert_event", "id"}, {"alert_state", "server_id"},
		} {
			if err := db.deleteOf(ctx, t.table, t.key, id); err != nil {
				return err
			}
		}
		if _, err := db.exec(ctx, "DELETE FROM deleted_server WHERE server_id = ?", int64(id)); err != nil {
			return db.failed("purge a deleted server", err)
		}
	}
	return nil
}

// deleteOf deletes the rows of one server in batches.
func (db *DB) deleteOf(ctx context.Context, table, key string, id monolith.ServerID) error {
	for {
		res, err := db.exec(ctx, "DELETE FROM "+table+" WHERE server_id = ? AND "+key+" IN (SELECT k FROM (SELECT "+key+" AS k FROM "+
			table+" WHERE server_id = ? LIMIT ?) batch)", int64(id), int64(id), purgeBatch)
		if err != nil {
			return db.failed("purge a deleted server", err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return db.failed("purge a deleted server", err)
		}
		db.count.purgedRows.Add(uint64(n))
		if n < purgeBatch {
			return nil
		}
	}
}

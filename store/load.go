package store

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"monolith"
	"monolith/store/history"
)

// load reads what memory must hold before the first poll: the dictionary, and of each server its unpacked
// polls, its texts in force and what it has had.
func (db *DB) load(ctx context.Context) error {
	return db.inRead(ctx, func(tx *sqlx.Tx) error {
		for _, step := range []struct {
			doing, tables string
			do            func(context.Context, *sqlx.Tx) error
		}{
			{"load the metrics", "metric", db.loadMetrics},
			{"load the servers", "server or progress", db.loadServers},
			{"load the servers' metrics", "server_metric", db.loadSeen},
			{"load the texts", "text_change", db.loadTexts},
			{"load the newest polls", "head or progress", db.loadHead},
			{"load the newest answers", "latest", db.loadLatest},
		} {
			err := step.do(ctx, tx)
			if err != nil && db.damaged(err) {
				return &OpenError{Place: db.place, Why: "it is damaged: table " + step.tables + " can't be read", Cure: damagedCure, Err: err}
			}
			if err != nil {
				return db.failed(step.doing, err)
			}
		}
		return nil
	})
}

// each runs a query and hands every row to scan, without gathering them first.
func each(ctx context.Context, tx *sqlx.Tx, scan func(*sqlx.Rows) error, query string, args ...any) error {
	rows, err := tx.QueryxContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return &rowError{err}
		}
	}
	return rows.Err()
}

func (db *DB) loadMetrics(ctx context.Context, tx *sqlx.Tx) error {
	return each(ctx, tx, func(rows *sqlx.Rows) error {
		var id history.MetricID
		var m monolith.Metric
		if err := rows.Scan(&id, &m.Name, &m.Instance); err != nil {
			return err
		}
		db.names.add(id, m)
		return nil
	}, "SELECT id, name, instance FROM metric ORDER BY id")
}

func (db *DB) loadServers(ctx context.Context, tx *sqlx.Tx) error {
	return each(ctx, tx, func(rows *sqlx.Rows) error {
		var id monolith.ServerID
		var packed, seq uint64
		var run uint32
		if err := rows.Scan(&id, &packed, &seq, &run); err != nil {
			return err
		}
		t := newTail(id)
		t.packed, t.seq, t.run, t.committed = packed, seq, run, seq
		db.byServer[id] = t
		return nil
	}, `SELECT s.id, COALESCE(p.packed_seq, 0), COALESCE(p.seq, 0), COALESCE(p.run, 0)
		FROM server s LEFT JOIN progress p ON p.server_id = s.id`)
}

func (db *DB) loadSeen(ctx context.Context, tx *sqlx.Tx) error {
	return each(ctx, tx, func(rows *sqlx.Rows) error {
		var id monolith.ServerID
		var metric history.MetricID
		var first, last int64
		if err := rows.Scan(&id, &metric, &first, &last); err != nil {
			return err
		}
		if t := db.byServer[id]; t != nil {
			t.seen.set(metric, seenAt{uint32(first / 1000), uint32(last / 1000)})
		}
		return nil
	}, "SELECT server_id, metric_id, first_ms, last_ms FROM server_metric")
}

func (db *DB) loadTexts(ctx context.Context, tx *sqlx.Tx) error {
	return each(ctx, tx, func(rows *sqlx.Rows) error {
		var id monolith.ServerID
		var metric history.MetricID
		var now textNow
		var rank int64
		var flags int
		var from string
		if err := rows.Scan(&rank, &id, &metric, &now.since, &flags, &from, &now.text); err != nil {
			return err
		}
		if t := db.byServer[id]; t != nil {
			now.gone = flags&flagGone != 0
			t.texts.set(metric, now)
			if m, ok := db.names.metric(metric); ok && flags&flagFirst == 0 {
				t.changed(m, newest{rank: rank, id: metric, at: now.since, from: from, to: now.text, gone: now.gone})
			}
		}
		return nil
	}, `SELECT id, server_id, metric_id, at_ms, flags, from_text, to_text FROM text_change
		WHERE id IN (SELECT MAX(id) FROM text_change GROUP BY server_id, metric_id)`)
}

func (db *DB) loadHead(ctx context.Context, tx *sqlx.Tx) error {
	checks := map[monolith.ServerID]*replayer{}
	err := each(ctx, tx, func(rows *sqlx.Rows) error {
		var id monolith.ServerID
		var p poll
		if err := rows.Scan(&p.id, &id, &p.seq, &p.at, &p.payload); err != nil {
			return err
		}
		if db.headLow == 0 {
			db.headLow = p.id
		}
		db.spool.next = p.id
		t := db.byServer[id]
		if t == nil || p.seq <= t.packed {
			return nil
		}
		check := checks[id]
		if check == nil {
			check = newChecker()
			check.seq = t.packed
			checks[id] = check
		}
		t.seq = max(t.seq, p.seq) // also of one that can't be read: its number is taken
		t.committed = t.seq
		if check.check(&p) {
			p.key = history.IsKey(p.payload)
			t.put(p)
		}
		return nil
	}, "SELECT id, server_id, seq, at_ms, payload FROM head ORDER BY id")
	if err != nil {
		return err
	}
	for id, check := range checks {
		t := db.byServer[id]
		db.holesFound(t, check.holes)
		// A poll's run is inside its payload.
		if check.last.Seq > 0 {
			t.run, t.interval = check.last.Run, time.Duration(check.last.Interval)*time.Millisecond
		}
	}
	var high int64
	if err := tx.GetContext(ctx, &high, "SELECT COALESCE(MAX(head_id), 0) FROM progress"); err != nil {
		return err
	}
	db.spool.next = max(db.spool.next, high)
	if db.headLow == 0 {
		db.headLow = db.spool.next + 1 // the head is empty
	}
	return nil
}

func (db *DB) loadLatest(ctx context.Context, tx *sqlx.Tx) error {
	return each(ctx, tx, func(rows *sqlx.Rows) error {
		var id monolith.ServerID
		var part string
		var at int64
		var payload []byte
		if err := rows.Scan(&id, &part, &at, &payload); err != nil {
			return err
		}
		t := db.byServer[id]
		if t == nil {
			return nil
		}
		t.latest[part] = &latestPart{at: at, written: at}
		value, err := db.decodeLatest(part, payload)
		if err != nil {
			db.log.Warn("the newest answer can't be read", "server_id", int64(id), "part", part, "error", err)
			return nil
		}
		switch v := value.(type) {
		case *lastStatus:
			t.identity = v.Identity
			for _, ns := range v.Complete {
				t.complete[ns] = true
			}
		case []monolith.Replica:
			t.sources = make(map[string]string, len(v))
			for i := range v {
				if !v[i].ReadsFromGroup() {
					t.sources[v[i].Channel] = sourceOf(&v[i])
				}
			}
		}
		return nil
	}, "SELECT server_id, part, at_ms, payload FROM latest WHERE part IN (?, ?)", partStatus, partReplicas)
}

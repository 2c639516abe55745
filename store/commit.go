package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jmoiron/sqlx"

	"monolith"
)

// flush commits everything that waits, in order, a bounded part in each transaction.
func (db *DB) flush(ctx context.Context) error {
	db.commitMu.Lock()
	defer db.commitMu.Unlock()
	for {
		batch, carried, more := db.spool.take()
		if len(batch)+len(carried) == 0 {
			return nil
		}
		start := time.Now()
		err := db.commit(ctx, batch, carried)
		db.count.commitTime.Add(int64(time.Since(start)))
		if err != nil {
			db.spool.failed()
			if !db.failing.Swap(true) {
				db.shaken()
			}
			db.count.failingSince.CompareAndSwap(0, db.now().UnixMilli())
			db.count.failing.Store(db.words(err))
			db.count.commitErrors.Add(1)
			return db.failed(fmt.Sprintf("commit %d polls", len(batch)), err)
		}
		for _, w := range batch {
			w.tail.mu.Lock()
			w.tail.committed = max(w.tail.committed, w.poll.seq)
			w.tail.mu.Unlock()
		}
		db.spool.done(len(carried))
		db.failing.Store(false)
		db.count.failingSince.Store(0)
		db.count.commits.Add(1)
		db.count.committed.Add(uint64(len(batch)))
		db.count.lastCommit.Store(db.now().UnixMilli())
		if !more {
			return nil
		}
	}
}

// attempt is what a transaction held whose commit gave an error: a connection that breaks in a commit
// leaves it open whether it happened.
type attempt struct {
	last    int64 // key of its last head row; 0: there was none
	names   int   // metrics with numbers below this one were in it
	carried int   // so much of what dropped polls left behind was in it
}

// commit writes a part of the queue in one transaction. When the outcome of the attempt before is not
// known, it is found by its last key, and what it wrote is left alone.
func (db *DB) commit(ctx context.Context, batch, carried []*work) error {
	if err := db.mayWrite(ctx); err != nil {
		return err
	}
	if db.recount.Load() {
		var last int
		if err := db.w.GetContext(ctx, &last, "SELECT COALESCE(MAX(id), 0) FROM metric"); err != nil {
			return err
		}
		db.names.storedOnly(last)
		db.recount.Store(false)
	}
	if db.spool.forgot.Load() {
		if err := db.mendTexts(ctx); err != nil {
			return err
		}
		db.spool.forgot.Store(false)
	}
	if a := db.unsure; a.last != 0 {
		var there int
		if err := db.w.GetContext(ctx, &there, "SELECT COUNT(*) FROM head WHERE id = ?", a.last); err != nil {
			return err
		}
		if there > 0 {
			for len(batch) > 0 && batch[0].poll.id <= a.last {
				batch = batch[1:]
			}
			carried = carried[min(a.carried, len(carried)):]
			db.names.committed(a.names)
		}
		db.unsure = attempt{}
	}
	taken := len(carried)
	gone := func(w *work) bool { return w.tail.deleted.Load() }
	batch, carried = slices.DeleteFunc(slices.Clone(batch), gone), slices.DeleteFunc(slices.Clone(carried), gone)
	first, metrics := db.names.fresh()
	if err := db.write(ctx, batch, carried, first, metrics); err != nil {
		if len(batch) > 0 {
			db.unsure = attempt{last: batch[len(batch)-1].poll.id, names: first + len(metrics), carried: taken}
		}
		return err
	}
	db.names.committed(first + len(metrics))
	return nil
}

func (db *DB) write(ctx context.Context, batch, carried []*work, first int, metrics []monolith.Metric) error {
	return db.inTx(ctx, func(tx *sqlx.Tx) error {
		rows := newInserter(ctx, tx, "metric", "id", "name", "instance", "kind")
		for i, m := range metrics {
			rows.add(first+i, m.Name, m.Instance, int(monolith.KindOf(m.Name)))
		}
		if err := rows.done(); err != nil {
			return err
		}
		rows = newInserter(ctx, tx, "head", "id", "server_id", "seq", "at_ms", "payload")
		for _, w := range batch {
			rows.add(w.poll.id, int64(w.tail.id), w.poll.seq, w.poll.at, w.poll.payload)
		}
		if err := rows.done(); err != nil {
			return err
		}
		all := slices.Concat(carried, batch)
		rows = newInserter(ctx, tx, "server_metric", "server_id", "metric_id", "first_ms", "last_ms")
		for _, w := range all {
			for _, id := range w.seen {
				rows.add(int64(w.tail.id), int64(id), w.poll.at, w.poll.at)
			}
		}
		if err := rows.done(); err != nil {
			return err
		}
		rows = newInserter(ctx, tx, "text_change", "server_id", "metric_id", "seq", "at_ms", "flags", "from_text", "to_text")
		for _, w := range all {
			for _, c := range w.texts {
				rows.add(int64(w.tail.id), int64(c.id), c.seq, c.at, c.flags, c.from, c.to)
			}
		}
		if err := rows.done(); err != nil {
			return err
		}
		for _, w := range all {
			for i := range w.marks {
				if err := db.insertMark(ctx, tx, &w.marks[i]); err != nil {
					return err
				}
			}
			for _, l := range w.latest {
				if err := db.putLatest(ctx, tx, w.tail.id, l); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// inserter gathers rows into INSERT statements of a bounded size.
type inserter struct {
	ctx     context.Context
	tx      *sqlx.Tx
	head    string
	columns int
	rows    int
	bytes   int
	args    []any
	err     error
}

// A statement holds at most this many rows and about this many bytes: far below max_allowed_packet and
// SQLite's number of places.
const (
	insertRows  = 100
	insertBytes = 512 << 10
)

func newInserter(ctx context.Context, tx *sqlx.Tx, table string, columns ...string) *inserter {
	head := "INSERT INTO " + table + " ("
	for i, c := range columns {
		head += map[bool]string{false: ", "}[i == 0] + c
	}
	return &inserter{ctx: ctx, tx: tx, head: head + ") VALUES ", columns: len(columns)}
}

// add takes a row. An error is kept for done.
func (r *inserter) add(args ...any) {
	for _, a := range args {
		switch a := a.(type) {
		case []byte:
			r.bytes += len(a)
		case string:
			r.bytes += len(a)
		}
	}
	r.args = append(r.args, args...)
	if r.rows++; r.rows >= insertRows || r.bytes >= insertBytes {
		r.send()
	}
}

func (r *inserter) send() {
	if r.err == nil && r.rows > 0 {
		_, r.err = r.tx.ExecContext(r.ctx, r.head+values(r.rows, r.columns), r.args...)
	}
	r.rows, r.bytes, r.args = 0, 0, r.args[:0]
}

// done sends the rest and gives the first error.
func (r *inserter) done() error {
	r.send()
	return r.err
}

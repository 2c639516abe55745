package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jmoiron/sqlx"

	"monolith/store/history"
)

// The tiers of history_block.
const (
	tierRaw  = 0
	tierTen  = 1
	tierHour = 2
)

// tierNames are what the tiers are called outside.
var tierNames = [...]string{tierRaw: "raw", tierTen: "10m", tierHour: "1h"}

var tierSteps = [...]time.Duration{tierTen: 10 * time.Minute, tierHour: time.Hour}

// tierSpans are how much one block of a tier holds. The unfinished block is written anew with each
// packing: blocks of a day and a month took half as much CPU again for a few per cent of the bytes.
var tierSpans = [...]time.Duration{tierTen: day / 2, tierHour: 3 * day}

// span gives the begin and end of the block that a bucket of the tier stands in.
func span(tier int, at time.Time) (from, to time.Time) {
	length := tierSpans[tier].Milliseconds()
	begin := at.UnixMilli() / length * length
	return time.UnixMilli(begin).UTC(), time.UnixMilli(begin + length).UTC()
}

// pack packs every tail that is due and deletes the head rows that are no longer needed.
func (db *DB) pack(ctx context.Context) error {
	db.packMu.Lock()
	defer db.packMu.Unlock()
	var errs error
	for _, t := range db.tails() {
		// A store that was away for hours has several blocks to catch up with.
		for polls := t.ripe(db.now().UnixMilli()); len(polls) > 0; polls = t.ripe(db.now().UnixMilli()) {
			start := time.Now()
			err := db.packTail(ctx, t, polls)
			db.count.packTime.Add(int64(time.Since(start)))
			if err != nil {
				db.count.packErrors.Add(1)
				errs = errors.Join(errs, fmt.Errorf("store: pack server %d: %w", t.id, db.unavailable(err)))
				break
			}
			db.count.packs.Add(1)
		}
	}
	return errors.Join(errs, db.trimHead(ctx))
}

// ripe gives the polls that should become a block, once they are many or old: up to the first payload that needs none
// before it and leaves enough of them. A server that is no longer polled is closed by age.
func (t *tail) ripe(now int64) []poll {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.polls) == 0 || t.deleted.Load() {
		return nil
	}
	cut, first := 1, t.polls[0].at
	for cut < len(t.polls) && (!t.polls[cut].key || cut < tailPolls && t.polls[cut].at-first < tailAge.Milliseconds()) {
		cut++
	}
	if cut == len(t.polls) {
		quiet := now-t.polls[cut-1].at >= (tailAge / 4).Milliseconds()
		if !quiet || now-first < tailAge.Milliseconds() || t.committed < t.seq {
			return nil
		}
		t.enc.Reset()
	}
	for cut > history.MaxRows || cut > 0 && t.polls[cut-1].seq > t.committed {
		// Back to the key before: what is not in the store yet must not be in a block.
		for cut--; cut > 0 && !t.polls[cut].key; cut-- {
		}
	}
	return t.polls[:cut:cut]
}

// packTail makes a raw block of the polls, adds them to the roll-ups, and takes them from the tail. The
// blocks and how far the server is packed are written in one transaction: a head row up to there counts
// no more, whether it is deleted already or not.
func (db *DB) packTail(ctx context.Context, t *tail, polls []poll) error {
	columns, holes := replay(polls)
	db.holesFound(t, holes)
	if len(columns.Rows()) == 0 {
		return db.passOver(ctx, t, polls)
	}
	raw, err := history.Marshal(columns)
	if err != nil {
		return err
	}
	blocks := []block{{tier: tierRaw, start: polls[0].at, first: polls[0].at, last: polls[len(polls)-1].at,
		firstSeq: polls[0].seq, lastSeq: polls[len(polls)-1].seq, polls: len(columns.Rows()), payload: raw}}
	before, err := db.lastBlock(ctx, t)
	if err != nil {
		return err
	}
	ten, err := history.Rollup(before, columns, db.names.metric, tierSteps[tierTen])
	if err != nil {
		return err
	}
	hour, err := ten.Coarsen(tierSteps[tierHour])
	if err != nil {
		return err
	}
	var hours []hourRow
	for tier, cells := range map[int]*history.Tier{tierTen: ten, tierHour: hour} {
		more, err := db.rollup(ctx, t, tier, cells)
		if err != nil {
			return err
		}
		blocks = append(blocks, more...)
	}
	for _, b := range blocks {
		if b.tier != tierHour {
			continue
		}
		rows, err := db.hourRows(t.id, b.payload, hour)
		if err != nil {
			return err
		}
		hours = append(hours, rows...)
	}
	rows := columns.Rows()
	last := rows[len(rows)-1]
	err = db.inTx(ctx, func(tx *sqlx.Tx) error {
		for i := range blocks {
			if err := db.putBlock(ctx, tx, t, &blocks[i]); err != nil {
				return err
			}
		}
		for i := range hours {
			if err := db.putHour(ctx, tx, &hours[i]); err != nil {
				return err
			}
		}
		if err := db.putSeen(ctx, tx, t, last.At); err != nil {
			return err
		}
		return db.putProgress(ctx, tx, t, &polls[len(polls)-1], last.Run)
	})
	if err != nil {
		return err
	}
	t.packedUpTo(polls[len(polls)-1].seq)
	return nil
}

// putProgress writes up to which poll a server is packed. A head row up to there counts no more.
func (db *DB) putProgress(ctx context.Context, tx *sqlx.Tx, t *tail, last *poll, run uint32) error {
	t.mu.Lock()
	seq := max(last.seq, t.committed) // also of polls that were there and can't be read
	t.mu.Unlock()
	_, err := tx.ExecContext(ctx, db.dialect.upsert("progress", []string{"server_id"}, []string{"packed_seq", "packed_ms", "seq", "run", "head_id"}),
		int64(t.id), last.seq, last.at, seq, run, last.id)
	return err
}

// packedUpTo takes what is in a block from the tail.
func (t *tail) packedUpTo(seq uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.packed = seq
	n := 0
	for n < len(t.polls) && t.polls[n].seq <= seq {
		n++
	}
	t.cutFront(n)
}

// passOver gives up polls of which none can be read, so that they don't hold back the others.
func (db *DB) passOver(ctx context.Context, t *tail, polls []poll) error {
	last := &polls[len(polls)-1]
	t.mu.Lock()
	run := t.run
	t.mu.Unlock()
	err := db.inTx(ctx, func(tx *sqlx.Tx) error { return db.putProgress(ctx, tx, t, last, run) })
	if err == nil {
		t.packedUpTo(last.seq)
	}
	return err
}

// putSeen writes once a day when the server's metrics last came. The metrics of the poll are those
// that the collectors' last lists name.
func (db *DB) putSeen(ctx context.Context, tx *sqlx.Tx, t *tail, at int64) error {
	now := uint32(at / 1000)
	t.mu.Lock()
	var stale []history.MetricID
	for _, m := range t.memories {
		for _, ids := range [][]history.MetricID{m.ids, m.textIDs} {
			for _, id := range ids {
				if s, ok := t.seen.get(id); ok && int64(now)-int64(s.last) >= int64(day/time.Second) {
					s.last = now
					t.seen.set(id, s)
					stale = append(stale, id)
				}
			}
		}
	}
	t.mu.Unlock()
	for _, id := range stale {
		if _, err := tx.ExecContext(ctx, "UPDATE server_metric SET last_ms = ? WHERE server_id = ? AND metric_id = ?", at, int64(t.id), int64(id)); err != nil {
			return err
		}
	}
	return nil
}

// trimBatch is how many keys of the head one transaction deletes.
const trimBatch = 5000

// trimHead deletes the head rows below the oldest poll that no block holds, in ranges of the key.
func (db *DB) trimHead(ctx context.Context) error {
	low := db.spool.oldest()
	for _, t := range db.tails() {
		t.mu.Lock()
		if len(t.polls) > 0 {
			low = min(low, t.polls[0].id)
		}
		t.mu.Unlock()
	}
	for db.headLow < low {
		end := min(db.headLow+trimBatch, low)
		if _, err := db.exec(ctx, "DELETE FROM head WHERE id < ?", end); err != nil {
			return db.failed("delete packed polls", err)
		}
		db.headLow = end
	}
	return nil
}

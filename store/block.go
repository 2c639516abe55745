package store

import (
	"context"

	"github.com/jmoiron/sqlx"

	"monolith/store/history"
)

// block is one block of history: raw, or of a roll-up. It is kept in one row, or in parts where it is
// larger than a row should be.
type block struct {
	id                int64 // of its first row, when it was read
	tier              int
	start             int64 // unix ms; its place among the server's blocks of the tier
	first, last       int64 // unix ms of what is inside
	firstSeq, lastSeq uint64
	polls             int
	payload           []byte
}

// maxRow bounds a row's payload, so that any max_allowed_packet takes it, escaped.
const maxRow = 1<<20 - 4<<10

// putBlock writes a block. A roll-up replaces the one that was there; a raw block moves on by a
// millisecond where its place is taken, which happens when a clock was set back.
func (db *DB) putBlock(ctx context.Context, tx *sqlx.Tx, t *tail, b *block) error {
	if b.tier != tierRaw {
		_, err := tx.ExecContext(ctx, "DELETE FROM history_block WHERE server_id = ? AND tier = ? AND start_ms = ?", int64(t.id), b.tier, b.start)
		if err != nil {
			return err
		}
	} else {
		for {
			var there int
			err := tx.GetContext(ctx, &there, "SELECT COUNT(*) FROM history_block WHERE server_id = ? AND tier = ? AND start_ms = ?", int64(t.id), b.tier, b.start)
			if err != nil {
				return err
			}
			if there == 0 {
				break
			}
			b.start++
		}
	}
	statement := insertInto("history_block", []string{"server_id", "tier", "start_ms", "part", "first_ms", "last_ms", "first_seq", "last_seq", "polls", "bytes", "payload"})
	for part, rest := 0, b.payload; part == 0 || len(rest) > 0; part++ {
		n := min(len(rest), maxRow)
		if _, err := tx.ExecContext(ctx, statement, int64(t.id), b.tier, b.start, part, b.first, b.last, b.firstSeq, b.lastSeq, b.polls, n, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// rollup adds cells to the tier's blocks and gives the new blocks.
func (db *DB) rollup(ctx context.Context, t *tail, tier int, cells *history.Tier) ([]block, error) {
	from, to, ok := cells.Span()
	if !ok {
		return nil, nil
	}
	var blocks []block
	for at := from; at.Before(to); {
		start, end := span(tier, at)
		at = end
		part := cells.Within(start, end)
		first, last, ok := part.Span()
		if !ok {
			continue
		}
		old, err := readBlocks(ctx, db.r, "AND tier = ? AND start_ms = ?", t, tier, start.UnixMilli())
		if err != nil {
			return nil, err
		}
		b := block{tier: tier, start: start.UnixMilli(), first: first.UnixMilli(), last: last.UnixMilli()}
		if len(old) > 0 {
			var reader *history.TierReader
			if reader, err = history.OpenTier(old[0].payload); err == nil {
				b.payload, err = history.MarshalTier(reader, part)
			}
			if err == nil {
				b.first, b.last = min(b.first, old[0].first), max(b.last, old[0].last)
			} else {
				// It is replaced: what it held is lost in any case, and the new cells must not be.
				db.blockDamaged(t, tier, old[0].start, old[0].id, err)
			}
		}
		if b.payload == nil {
			if b.payload, err = history.MarshalTier(nil, part); err != nil {
				return nil, err
			}
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// lastBlock gives the server's newest raw block, nil when there is none that can be read: counters go on from it.
func (db *DB) lastBlock(ctx context.Context, t *tail) (history.Polls, error) {
	t.mu.Lock()
	packed := t.packed
	t.mu.Unlock()
	if packed == 0 {
		return nil, nil
	}
	blocks, err := readBlocks(ctx, db.r, `AND tier = 0 AND start_ms = (SELECT MAX(start_ms) FROM history_block WHERE server_id = ? AND tier = 0)`, t, int64(t.id))
	if err != nil || len(blocks) == 0 {
		return nil, err
	}
	before, err := history.Open(blocks[0].payload)
	if err != nil {
		db.blockDamaged(t, tierRaw, blocks[0].start, blocks[0].id, err)
		return nil, nil
	}
	return before, nil
}

// queryer is a pool or a transaction.
type queryer interface {
	QueryxContext(ctx context.Context, query string, args ...any) (*sqlx.Rows, error)
}

// readBlocks reads a server's blocks in the order of their start, parts joined. where continues "WHERE
// server_id = ?".
func readBlocks(ctx context.Context, q queryer, where string, t *tail, args ...any) ([]block, error) {
	rows, err := q.QueryxContext(ctx, `SELECT id, tier, start_ms, part, first_ms, last_ms, first_seq, last_seq, polls, payload
		FROM history_block WHERE server_id = ? `+where+` ORDER BY tier, start_ms, part`, append([]any{int64(t.id)}, args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var blocks []block
	for rows.Next() {
		var b block
		var part int
		if err := rows.Scan(&b.id, &b.tier, &b.start, &part, &b.first, &b.last, &b.firstSeq, &b.lastSeq, &b.polls, &b.payload); err != nil {
			return nil, err
		}
		if n := len(blocks); part > 0 && n > 0 && blocks[n-1].tier == b.tier && blocks[n-1].start == b.start {
			blocks[len(blocks)-1].payload = append(blocks[len(blocks)-1].payload, b.payload...)
			continue
		}
		blocks = append(blocks, b)
	}
	return blocks, rows.Err()
}

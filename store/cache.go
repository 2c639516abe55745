package store

import (
	"container/list"
	"context"
	"sync"

	"monolith/store/history"
)

// cacheBytes bounds the memory of the opened blocks that are kept: the graphs of a page look into the
// same blocks one after another, and so does whoever looks at the page again. It is the last day of about three servers.
const cacheBytes = 6 << 20

// opened is a block that is ready to be read: one of the two. It is safe for concurrent use.
type opened struct {
	raw  *history.Reader
	tier *history.TierReader
}

// size gives about what opening the block added to the memory of its payload.
func (o opened) size() int {
	if o.raw != nil {
		return o.raw.Size()
	}
	return o.tier.Size()
}

// blockCache keeps the opened blocks that were read last, by the key of their first row. A block's row
// never changes: a roll-up that grows gets a new one.
type blockCache struct {
	mu    sync.Mutex
	byID  map[int64]*list.Element
	order list.List // of *cached, the last read in front
	bytes int
}

type cached struct {
	id    int64
	block opened
	bytes int
}

func (c *blockCache) get(id int64) (opened, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byID[id]
	if e == nil {
		return opened{}, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).block, true
}

func (c *blockCache) put(id int64, o opened, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID == nil {
		c.byID = map[int64]*list.Element{}
	}
	if c.byID[id] != nil || bytes > cacheBytes/2 {
		return
	}
	c.byID[id] = c.order.PushFront(&cached{id, o, bytes})
	for c.bytes += bytes; c.bytes > cacheBytes; {
		last := c.order.Remove(c.order.Back()).(*cached)
		delete(c.byID, last.id)
		c.bytes -= last.bytes
	}
}

// place is where a block stands and what it spans, without its payload.
type place struct {
	ids         []int64 // of its rows, in order
	tier        int
	start, last int64 // unix ms
	firstSeq    uint64
	from, until int64 // for a read: only what lies between counts, unix ms
	block       opened
}

// places finds a server's blocks in the order of their start. where continues "WHERE server_id = ?".
func places(ctx context.Context, q queryer, where string, t *tail, args ...any) ([]place, error) {
	rows, err := q.QueryxContext(ctx, `SELECT id, tier, start_ms, part, last_ms, first_seq
		FROM history_block WHERE server_id = ? `+where+` ORDER BY tier, start_ms, part`, append([]any{int64(t.id)}, args...)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var found []place
	for rows.Next() {
		var p place
		var id int64
		var part int
		if err := rows.Scan(&id, &p.tier, &p.start, &part, &p.last, &p.firstSeq); err != nil {
			return nil, err
		}
		if n := len(found); part > 0 && n > 0 && found[n-1].tier == p.tier && found[n-1].start == p.start {
			found[len(found)-1].ids = append(found[len(found)-1].ids, id)
			continue
		}
		p.ids = []int64{id}
		found = append(found, p)
	}
	return found, rows.Err()
}

// openBlocks opens those blocks that are not in the cache. A block that was purged or rewritten meanwhile
// is left out, and so is one that can't be read: damaged says how many.
func (db *DB) openBlocks(ctx context.Context, q queryer, t *tail, found []place) (there []place, damaged int, err error) {
	var missing []any
	for i := range found {
		o, ok := db.cache.get(found[i].ids[0])
		if found[i].block = o; ok {
			continue
		}
		for _, id := range found[i].ids {
			missing = append(missing, id)
		}
	}
	payloads := make(map[int64][]byte, len(missing))
	for len(missing) > 0 {
		n := min(len(missing), insertRows)
		if err := db.readEach(ctx, q, missing[:n], payloads); err != nil {
			return nil, 0, err
		}
		missing = missing[n:]
	}
	there = found[:0]
	for _, p := range found {
		if p.block != (opened{}) {
			there = append(there, p)
			continue
		}
		payload, ok := payloads[p.ids[0]]
		if !ok {
			continue
		}
		for _, id := range p.ids[1:] {
			payload = append(payload, payloads[id]...)
		}
		var err error
		if p.tier == tierRaw {
			p.block.raw, err = history.Open(payload)
		} else {
			p.block.tier, err = history.OpenTier(payload)
		}
		if err != nil {
			db.blockDamaged(t, p.tier, p.start, p.ids[0], err)
			damaged++
			continue
		}
		db.cache.put(p.ids[0], p.block, len(payload)+p.block.size())
		there = append(there, p)
	}
	return there, damaged, nil
}

// readEach reads payloads together, and where the engine can't read its own data one by one: what is damaged
// comes out empty.
func (db *DB) readEach(ctx context.Context, q queryer, ids []any, into map[int64][]byte) error {
	err := readPayloads(ctx, q, ids, into)
	if err == nil || !db.dialect.corrupt(err) {
		return err
	}
	for _, id := range ids {
		switch err := readPayloads(ctx, q, []any{id}, into); {
		case err == nil:
		case db.dialect.corrupt(err):
			into[id.(int64)] = nil
		default:
			return err
		}
	}
	return nil
}

func readPayloads(ctx context.Context, q queryer, ids []any, into map[int64][]byte) error {
	rows, err := q.QueryxContext(ctx, "SELECT id, payload FROM history_block WHERE id IN "+values(1, len(ids)), ids...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var payload []byte
		if err := rows.Scan(&id, &payload); err != nil {
			return err
		}
		into[id] = payload
	}
	return rows.Err()
}

package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"monolith"
	"monolith/store/history"
)

// maxSteps of a range: what a picture can show many times over, and what an answer may weigh.
const (
	maxRangeSteps   = 50_000
	maxRangeMetrics = 2_000
)

// want is one series of a read in the making.
type want struct {
	id   history.MetricID
	text bool // kept as steps
	line *history.Line
	hold time.Duration // the distance between two readings
}

// Read answers a query in equal steps. The newest part comes from memory, the rest from blocks of the
// finest tier that suits the step and reaches back far enough; where it does not, a coarser one serves the
// older part. A server without history gives an empty range. What is damaged is a gap, counted in Damaged. It implements the formula package's source.
func (db *DB) Read(ctx context.Context, q monolith.Query) (*monolith.Range, error) {
	start := time.Now()
	defer func() {
		db.count.reads.Add(1)
		db.count.readTime.Add(int64(time.Since(start)))
	}()
	switch {
	case q.Step < time.Second:
		return nil, monolith.Invalid("step", "a step is at least a second")
	case !q.From.Before(q.To):
		return nil, monolith.Invalid("from", "the range ends before it begins")
	case q.To.Sub(q.From)/q.Step > maxRangeSteps:
		return nil, monolith.Invalid("step", fmt.Sprintf("the range has more than %d steps", maxRangeSteps), "ask for a longer step or a shorter range")
	case len(q.Metrics) > maxRangeMetrics:
		return nil, monolith.Invalid("metrics", fmt.Sprintf("more than %d metrics at once", maxRangeMetrics))
	}
	grid := history.NewGrid(q.From, q.To, q.Step)
	r := grid.Range()
	t := db.tail(q.Server)
	if t == nil {
		return nil, notFound("server number %d", q.Server)
	}
	t.mu.Lock()
	polls := t.polls[:len(t.polls):len(t.polls)]
	interval, packed := t.interval, t.packed
	wants := db.wants(t, q.Metrics, &r)
	t.mu.Unlock()

	plan := reading{db: db, tail: t, grid: grid, polls: polls, packed: packed, from: q.From, to: q.To, step: q.Step, interval: interval}
	for i := range wants {
		w := &wants[i]
		m, _ := db.names.metric(w.id)
		w.hold = db.hold(q.Server, m.Name)
		o := history.LineOptions{}
		// Only what is read less often than each poll needs its distance told.
		if w.hold > interval+interval/2 {
			o = history.LineOptions{Hold: w.hold + w.hold/4, Every: w.hold}
			plan.lookBack = max(plan.lookBack, o.Hold)
		}
		w.line = grid.Line(m, o)
	}
	tier, err := plan.numbers(ctx, wants)
	if err != nil {
		return nil, db.failed("read history", err)
	}
	if err := plan.texts(ctx, wants); err != nil {
		return nil, db.failed("read history", err)
	}
	for i := range wants {
		if s, ok := wants[i].line.Series(); ok {
			r.Series = append(r.Series, s)
		}
	}
	r.Tier, r.Damaged = tierNames[tier], plan.damaged
	return &r, nil
}

// wants finds the metrics that a server has under the names asked for, and notes those that it lacks by
// design. The tail's lock is held.
func (db *DB) wants(t *tail, names []string, r *monolith.Range) []want {
	var wants []want
	asked := make(map[string]bool, len(names))
	for _, name := range names {
		if asked[name] {
			continue
		}
		asked[name] = true
		found := false
		for _, id := range db.names.named(name) {
			if _, ok := t.seen.get(id); !ok {
				continue
			}
			found = true
			_, text := t.texts.get(id)
			wants = append(wants, want{id: id, text: text})
		}
		if !found && t.lacks(name) {
			r.Absent = append(r.Absent, name)
		}
	}
	return wants
}

// lacks reports whether a name that the server never had is missing by design: its collector answered
// completely. Several collectors share the namespaces server, schema and self, so nothing is known of those.
func (t *tail) lacks(name string) bool {
	ns, _, _ := strings.Cut(name, ".")
	switch ns {
	case "server", "schema", "self":
		return false
	}
	return t.complete[ns]
}

// reading is a read under way.
type reading struct {
	db       *DB
	tail     *tail
	grid     *history.Grid
	polls    []poll // the tail as it was when the read began
	from, to time.Time
	step     time.Duration
	interval time.Duration
	packed   uint64        // seq of the last poll that was in a block then
	damaged  int           // blocks and stretches of polls that can't be read
	lookBack time.Duration // how far before from a value may lie that still counts
}

// numbers feeds readings and cells into the lines, oldest first, and gives the coarsest tier used.
func (p *reading) numbers(ctx context.Context, wants []want) (tier int, err error) {
	ids := make([]history.MetricID, 0, len(wants))
	for i := range wants {
		if !wants[i].text {
			ids = append(ids, wants[i].id)
		}
	}
	if len(ids) == 0 {
		return p.wanted(), nil
	}
	// Two intervals more, so that the pair of readings that crosses the begin is there.
	since := p.from.Add(-max(p.lookBack, 2*p.interval, time.Second)).UnixMilli()
	packed := uint64(0)
	if len(p.polls) == 0 || p.polls[0].at > since {
		var blocks []place
		if p.wanted() == tierRaw {
			// A raw block holds polls that were in the tail before: those from before the tail of this read
			// count, whatever is packed meanwhile.
			if packed = p.packed; len(p.polls) > 0 {
				packed = p.polls[0].seq - 1
			}
			if blocks, tier, err = p.blocks(ctx, p.db.r, since); err == nil {
				blocks = slices.DeleteFunc(blocks, func(b place) bool { return b.tier == tierRaw && b.firstSeq > packed })
				blocks, p.damaged, err = p.db.openBlocks(ctx, p.db.r, p.tail, blocks)
			}
		} else {
			err = p.db.inRead(ctx, func(tx *sqlx.Tx) error {
				// Roll-ups grow by what is packed. The transaction sees them and packed_seq of one moment, at or
				// after the one of p.polls: a poll is in a roll-up or in p.polls above packed_seq, not in both.
				err := each(ctx, tx, func(rows *sqlx.Rows) error { return rows.Scan(&packed) },
					"SELECT packed_seq FROM progress WHERE server_id = ?", int64(p.tail.id))
				if err != nil {
					return err
				}
				if blocks, tier, err = p.blocks(ctx, tx, since); err != nil {
					return err
				}
				blocks, p.damaged, err = p.db.openBlocks(ctx, tx, p.tail, blocks)
				return err
			})
		}
		if err != nil {
			return tier, err
		}
		for _, b := range blocks {
			if err := p.feed(b, wants); err != nil {
				p.db.blockDamaged(p.tail, b.tier, b.start, b.ids[0], err)
				p.damaged++
			}
		}
	}
	p.feedTail(packed, since, ids, wants)
	return tier, nil
}

// wanted gives the coarsest tier whose buckets are not longer than the step.
func (p *reading) wanted() int {
	switch {
	case p.step >= tierSteps[tierHour]:
		return tierHour
	case p.step >= tierSteps[tierTen]:
		return tierTen
	}
	return tierRaw
}

// blocks finds the blocks that serve the range. Each tier serves from where it begins on this server; what
// lies before is left to the next coarser one.
func (p *reading) blocks(ctx context.Context, q queryer, since int64) (blocks []place, tier int, err error) {
	end := p.to.Add(2 * p.interval).UnixMilli()
	tier = p.wanted()
	for level := tier; ; level++ {
		low := since
		if level != tierRaw {
			from, _ := span(level, time.UnixMilli(since))
			low = from.UnixMilli()
		}
		// The last block that begins before the range may reach into it.
		found, err := places(ctx, q, `AND tier = ? AND start_ms < ? AND start_ms >=
			(SELECT COALESCE(MAX(start_ms), 0) FROM history_block WHERE server_id = ? AND tier = ? AND start_ms <= ?)`,
			p.tail, level, end, int64(p.tail.id), level, low)
		if err != nil {
			return nil, tier, err
		}
		reaches := len(found) > 0 && found[0].start <= low
		seam := int64(0)
		if !reaches && level < tierHour {
			if seam, err = p.seam(ctx, q, level); err != nil {
				return nil, tier, err
			}
		}
		found = slices.DeleteFunc(found, func(b place) bool { return b.last < since })
		if len(found) > 0 {
			tier = max(tier, level)
		}
		for i := range found {
			found[i].from, found[i].until = seam, end
		}
		blocks = append(found, blocks...)
		if seam == 0 {
			return blocks, tier, nil
		}
		end = min(end, seam)
	}
}

// seam finds where the coarser tier hands over to this one: at the end of its last bucket that this one
// does not hold whole. 0: the coarser tier reaches no further back.
func (p *reading) seam(ctx context.Context, q queryer, level int) (int64, error) {
	var begin, older sql.NullInt64
	rows, err := q.QueryxContext(ctx, `SELECT (SELECT MIN(start_ms) FROM history_block WHERE server_id = ? AND tier = ?),
		(SELECT first_ms FROM history_block WHERE server_id = ? AND tier = ? ORDER BY start_ms, part LIMIT 1)`,
		int64(p.tail.id), level, int64(p.tail.id), level+1)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(&begin, &older); err != nil {
			return 0, err
		}
	}
	step := tierSteps[level+1].Milliseconds()
	switch {
	case !older.Valid, begin.Valid && older.Int64 >= (begin.Int64-1)/step*step:
		return 0, rows.Err()
	case !begin.Valid:
		return math.MaxInt64, rows.Err() // nothing of this tier is left: the coarser one serves up to the tail
	}
	return (begin.Int64 + step - 1) / step * step, rows.Err()
}

// feed puts what lies between a block's limits into the lines. An error tells of metrics that can't be
// read; the others are there.
func (p *reading) feed(b place, wants []want) error {
	if reader := b.block.tier; reader != nil {
		var failed error
		var cells []history.Cell
		for i := range wants {
			if wants[i].text {
				continue
			}
			var err error
			if cells, err = reader.Cells(wants[i].id, cells); err != nil {
				failed = err
				continue
			}
			some := cells
			for len(some) > 0 && some[0].At < b.from {
				some = some[1:]
			}
			for len(some) > 0 && some[len(some)-1].At >= b.until {
				some = some[:len(some)-1]
			}
			wants[i].line.Cells(reader.Step(), some)
		}
		return failed
	}
	rows := b.block.raw.Rows()
	skip := 0
	for skip < len(rows) && rows[skip].At <= b.from {
		skip++
	}
	p.grid.Rows(rows[skip:])
	var failed error
	for i := range wants {
		if wants[i].text {
			continue
		}
		if err := wants[i].line.Feed(b.block.raw, wants[i].id, skip); err != nil {
			failed = err
		}
	}
	return failed
}

// feedTail puts the polls that no block holds into the lines.
func (p *reading) feedTail(packed uint64, since int64, ids []history.MetricID, wants []want) {
	polls := p.polls
	for len(polls) > 0 && polls[0].seq <= packed {
		polls = polls[1:]
	}
	// What lies before the range is replayed from the last payload that needs none before it.
	for i := len(polls) - 1; i > 0; i-- {
		if polls[i].key && polls[i].at <= since {
			polls = polls[i:]
			break
		}
	}
	if len(polls) == 0 {
		return
	}
	rows, holes := replay(polls, ids...)
	p.damaged += len(holes)
	p.grid.Rows(rows.Rows())
	var column []monolith.Num
	for i := range wants {
		if !wants[i].text {
			column, _ = rows.Column(wants[i].id, column) // a tail's columns give no error
			wants[i].line.Column(column)
		}
	}
}

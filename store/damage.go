package store

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"monolith/store/history"
)

// Why a poll that can be decoded is not taken in.
var (
	errOtherPoll = errors.New("store: the payload is of another poll than its row")
	errOrder     = errors.New("store: the poll's number is not above the one before")
)

// hole is a stretch of polls that can't be read. It ends before a payload that needs none before it.
type hole struct {
	first, last uint64 // seq; what is missing before the first unreadable poll belongs to it
	polls       int    // that are there and can't be read
	err         error  // why, of the first one
}

// replayer decodes polls one after another and passes over those that can't be read.
type replayer struct {
	tail   *history.Tail
	holes  []hole
	seq    uint64      // of the poll before
	last   history.Row // of the last poll that check could read
	inside bool        // in the last hole
}

// newReplayer makes a replayer; with ids it keeps only these metrics.
func newReplayer(want ...history.MetricID) *replayer {
	return &replayer{tail: history.NewTail(want...)}
}

// newChecker makes a replayer that keeps no values, for [replayer.check].
func newChecker() *replayer { return newReplayer(1<<32 - 1) }

// add takes a poll and reports whether it can be read.
func (r *replayer) add(p *poll) bool { return r.took(p, r.tail.Append(p.payload)) }

// check is add for a poll from the store: a damaged payload that can still be decoded gives itself away
// where it does not say what its row says.
func (r *replayer) check(p *poll) bool {
	err := r.tail.Append(p.payload)
	if rows := r.tail.Rows(); err == nil {
		switch last := rows[len(rows)-1]; {
		case r.seq >= p.seq:
			err = errOrder
		case last.Seq != p.seq || last.At != p.at:
			err = errOtherPoll
		}
		if err != nil {
			r.tail = newChecker().tail // what follows builds on it, up to the next key payload
		} else {
			r.last = rows[len(rows)-1]
		}
	}
	return r.took(p, err)
}

func (r *replayer) took(p *poll, err error) bool {
	before := r.seq
	r.seq = max(r.seq, p.seq)
	if err == nil {
		r.inside = false
		return true
	}
	if !r.inside {
		h := hole{first: p.seq, err: err}
		if before > 0 && before < p.seq {
			h.first = before + 1
		}
		r.inside, r.holes = true, append(r.holes, h)
	}
	h := &r.holes[len(r.holes)-1]
	h.last = max(h.last, p.seq)
	h.polls++
	return false
}

// rowError says that a row holds what its table can't: a number that is none, nothing where there must be something.
type rowError struct{ err error }

func (e *rowError) Error() string { return e.err.Error() }
func (e *rowError) Unwrap() error { return e.err }

// scanFailed begins the errors of database/sql about values that don't fit where they go, which have no type. The
// schema and the code that reads it agree, so that a value which doesn't fit is damage.
const scanFailed = "sql: Scan error on column"

// damaged reports whether an error says that the store's data can't be what was written.
func (db *DB) damaged(err error) bool {
	var row *rowError
	return errors.As(err, &row) || db.dialect.corrupt(err) || strings.HasPrefix(err.Error(), scanFailed)
}

// damages remembers which blocks were found damaged, so that each is said and counted once.
type damages struct {
	mu   sync.Mutex
	said map[int64]bool // by the key of the block's first row
}

// holesFound says and counts polls that can't be read.
func (db *DB) holesFound(t *tail, holes []hole) {
	for _, h := range holes {
		db.count.damagedPolls.Add(uint64(h.polls))
		db.log.Error("polls can't be read and are a gap in history", "server_id", int64(t.id), "table", "head",
			"first_seq", h.first, "last_seq", h.last, "polls", h.polls, "error", h.err)
	}
}

// blockDamaged says and counts a block that can't be read, whole or in part, the first time that it is met.
func (db *DB) blockDamaged(t *tail, tier int, start, id int64, err error) {
	db.damages.mu.Lock()
	known := db.damages.said[id]
	if db.damages.said == nil {
		db.damages.said = map[int64]bool{}
	}
	db.damages.said[id] = true
	db.damages.mu.Unlock()
	if known {
		return
	}
	db.count.damagedBlocks.Add(1)
	db.log.Error("a block of history can't be read and is a gap", "server_id", int64(t.id), "table", "history_block", "row", id,
		"tier", tierNames[tier], "start", time.UnixMilli(start).UTC(), "error", err, "cure", fmt.Sprintf("put the row back from a backup of %s", db.place))
}

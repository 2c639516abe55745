package store

import (
	"sync"
	"sync/atomic"
	"time"

	"monolith"
	"monolith/store/history"
)

// A tail is closed and its polls are packed into a block when it holds this many polls, or when its
// oldest one is this old.
const (
	tailPolls = 360
	tailAge   = time.Hour
)

// keyPolls is after how many polls at most a payload comes that needs none before it: so much is lost with one
// unreadable row. With recorded servers this makes the head 4 % larger than one in 360 would; 60 polls
// would make it 10 % larger.
const keyPolls = 120

// tail is what the store keeps in memory of one server: the encoded polls that no block holds yet, and
// what is needed to see what the next poll changes.
type tail struct {
	id      monolith.ServerID
	deleted atomic.Bool
	dropped atomic.Uint64 // polls up to this seq fell out of the full spool
	rekey   atomic.Bool   // the next payload must need none before it

	mu        sync.Mutex
	enc       *history.Encoder
	buffer    []byte
	sections  []history.Section
	polls     []poll // oldest first; readers hold sub-slices, so elements never change
	key       int    // place in polls of the last payload that needs none before it
	bytes     int64  // of the payloads
	seq       uint64 // of the last poll ever taken
	run       uint32
	interval  time.Duration
	polled    int64  // unix ms of the last poll that read the status; 0: none since the store was opened
	committed uint64 // seq of the last poll that is in the store
	packed    uint64 // seq of the last poll that is in a block

	memories map[string]*collectorMemory // by collector
	texts    table[textNow]
	seen     table[seenAt]
	complete map[string]bool // namespaces whose collector gave a complete answer once
	identity monolith.Identity
	sources  map[string]string // replication channel → where it reads from; nil: not known yet
	latest   map[string]*latestPart
	newest   map[string]newest // last change by namespace
}

// poll is one encoded poll.
type poll struct {
	id      int64 // key of its head row
	seq     uint64
	at      int64 // unix ms
	key     bool  // needs no payload before it
	payload []byte
}

// collectorMemory is what was worked out for the names that a collector last gave.
type collectorMemory struct {
	numNames, textNames *monolith.Names
	ids, textIDs        []history.MetricID
	numbersAreTexts     []int // places of numbers that are kept as steps: variables
	texts               []string
	nums                []monolith.Num // reused where some numbers are taken out
	numIDs              []history.MetricID
	namespaces          []string
	complete            bool   // it answered without a problem
	part                string // its place in table latest
}

// textNow is a text in force. A server has hundreds, so it is kept small.
type textNow struct {
	text  string
	since int64 // unix ms
	count uint8 // changes in the hour of the last one
	gone  bool
}

// seenAt is when a metric first and last came, in unix seconds: a server has more than a thousand.
type seenAt struct{ first, last uint32 }

func newTail(id monolith.ServerID) *tail {
	return &tail{
		id: id, enc: history.NewEncoder(), interval: 10 * time.Second, // until a poll says better
		memories: map[string]*collectorMemory{}, complete: map[string]bool{}, latest: map[string]*latestPart{},
	}
}

func (t *tail) size() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes
}

// put adds an encoded poll at the end. The lock is held.
func (t *tail) put(p poll) {
	if p.key {
		t.key = len(t.polls)
	}
	if len(t.polls) == cap(t.polls) {
		// By a part of what it will hold: doubled, the lists of hundreds of servers would be half empty.
		t.polls = append(make([]poll, 0, len(t.polls)+tailPolls/4), t.polls...)
	}
	t.polls = append(t.polls, p)
	t.bytes += int64(len(p.payload))
}

// cutFront removes the n oldest polls. Readers may still hold the old slice. The lock is held.
func (t *tail) cutFront(n int) {
	for _, p := range t.polls[:n] {
		t.bytes -= int64(len(p.payload))
	}
	t.polls = append(make([]poll, 0, max(len(t.polls)-n+16, tailPolls/4)), t.polls[n:]...)
	t.key = max(t.key-n, 0)
}

// dropLost removes the polls that fell out of the spool, so that memory stays bounded too. The lock is held.
func (t *tail) dropLost() {
	lost := t.dropped.Load()
	if lost <= t.committed {
		return
	}
	kept := make([]poll, 0, len(t.polls))
	t.bytes, t.key = 0, 0
	for _, p := range t.polls {
		if p.seq > t.committed && p.seq <= lost {
			continue
		}
		if p.key {
			t.key = len(kept)
		}
		kept = append(kept, p)
		t.bytes += int64(len(p.payload))
	}
	t.polls = kept
	t.committed = lost // nothing up to here waits any more
}

// due reports whether the next payload should need none before it: a block can end before it, or the
// last such payload is long ago. The lock is held.
func (t *tail) due(at int64) bool {
	n := len(t.polls)
	if t.key >= n {
		return false
	}
	first := t.polls[0].at
	return n-t.key >= keyPolls || n >= tailPolls && t.key < tailPolls ||
		at-first >= tailAge.Milliseconds() && t.polls[t.key].at-first < tailAge.Milliseconds()
}

// replay decodes polls; with ids only these metrics. What can't be read is left out.
func replay(polls []poll, want ...history.MetricID) (*history.Tail, []hole) {
	r := newReplayer(want...)
	r.tail.Expect(len(polls))
	for i := range polls {
		r.add(&polls[i])
	}
	return r.tail, r.holes
}

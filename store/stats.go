package store

import (
	"sync"
	"sync/atomic"
	"time"

	"monolith"
)

// counters are what [monolith.StoreStatistics] is made of, counted where it happens.
type counters struct {
	appended, committed   atomic.Uint64
	commits, commitErrors atomic.Uint64
	commitTime            atomic.Int64
	packs, packErrors     atomic.Uint64
	packTime              atomic.Int64
	purgedRows            atomic.Uint64
	damagedPolls          atomic.Uint64
	damagedBlocks         atomic.Uint64
	reads                 atomic.Uint64
	readTime              atomic.Int64
	lastCommit            atomic.Int64 // unix ms
	failingSince          atomic.Int64 // unix ms of the first failed commit since the last good one; 0: none
	failing               atomic.Value // string: why, in words
	damage                atomic.Value // string: in words, the last that was met

	mu       sync.Mutex
	troubles map[string]trouble // by what was being done
}

type trouble struct {
	text string
	at   time.Time
}

// fail remembers what went wrong in the background work; nil says that it works again.
func (c *counters) fail(doing string, err error, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		delete(c.troubles, doing)
		return
	}
	if c.troubles == nil {
		c.troubles = map[string]trouble{}
	}
	c.troubles[doing] = trouble{err.Error(), at}
}

// trouble gives the newest trouble that is not over.
func (c *counters) trouble() (text string, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.troubles {
		if t.at.After(at) {
			text, at = t.text, t.at
		}
	}
	return text, at
}

// Stats gives the figures since the store was opened. It touches no SQL.
func (db *DB) Stats() monolith.StoreStatistics {
	c := &db.count
	s := monolith.StoreStatistics{
		Appended: c.appended.Load(), Committed: c.committed.Load(),
		Commits: c.commits.Load(), CommitErrors: c.commitErrors.Load(), CommitTime: time.Duration(c.commitTime.Load()),
		Packs: c.packs.Load(), PackErrors: c.packErrors.Load(), PackTime: time.Duration(c.packTime.Load()),
		PurgedRows:    c.purgedRows.Load(),
		DamagedPolls:  c.damagedPolls.Load(),
		DamagedBlocks: c.damagedBlocks.Load(),
		Reads:         c.reads.Load(), ReadTime: time.Duration(c.readTime.Load()),
		WALBytes: db.walBytes(),
	}
	if ms := c.lastCommit.Load(); ms != 0 {
		s.LastCommit = time.UnixMilli(ms)
	}
	if ms := c.failingSince.Load(); ms != 0 {
		s.FailingSince = time.UnixMilli(ms)
		s.Failing, _ = c.failing.Load().(string)
	}
	if s.Failing == "" {
		s.Failing, _ = c.damage.Load().(string)
	}
	s.SpoolPolls, s.SpoolBytes, s.Dropped = db.spool.size()
	for _, t := range db.tails() {
		s.TailBytes += t.size()
	}
	return s
}

package store

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"monolith"
)

// spool is the queue of what is not committed yet, in the order in which it came.
type spool struct {
	mu       sync.Mutex
	queue    []*work
	bytes    int64
	limit    int64
	next     int64 // key of the next head row
	inFlight int   // so many at the front are being committed and can't be dropped
	dropped  uint64
	// carried are texts, marks and first sights of polls that were dropped: they are small, and later
	// changes build on them.
	carried []*work
	forgot  atomic.Bool    // another engine may be behind the address, which lacks what the one before had committed last
	broken  map[*tail]bool // the last queued payload of the server is gone: the next one must need none
}

// workBytes is about what a piece of work takes beside its payload.
const workBytes = 256

// push adds a poll at the end and gives its head row a key. Beyond the limit the oldest are dropped.
// The tail's lock is held.
func (s *spool) push(w *work) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.bytes = workBytes + int64(len(w.poll.payload))
	for i := range w.texts {
		w.bytes += workBytes/2 + int64(len(w.texts[i].from)+len(w.texts[i].to))
	}
	s.next++
	w.poll.id = s.next
	s.queue = append(s.queue, w)
	s.bytes += w.bytes
	if s.broken[w.tail] {
		if !w.poll.key {
			s.drop(len(s.queue) - 1) // it was being encoded when the one before was dropped
			return
		}
		delete(s.broken, w.tail)
	}
	for s.bytes > s.limit && len(s.queue) > s.inFlight+1 {
		s.dropServer(s.inFlight)
	}
}

// dropServer drops a queued poll and those of its server after it that can't be read without it.
func (s *spool) dropServer(i int) {
	t := s.queue[i].tail
	s.drop(i)
	for i < len(s.queue) {
		w := s.queue[i]
		if w.tail != t {
			i++
			continue
		}
		if w.poll.key {
			return
		}
		s.drop(i)
	}
	if s.broken == nil {
		s.broken = map[*tail]bool{}
	}
	s.broken[t] = true
	t.rekey.Store(true)
}

func (s *spool) drop(i int) {
	w := s.queue[i]
	s.queue = slices.Delete(s.queue, i, i+1)
	s.bytes -= w.bytes
	s.dropped++
	w.tail.dropped.Store(w.poll.seq)
	if len(w.texts)+len(w.marks)+len(w.seen) > 0 {
		s.carried = append(s.carried, &work{tail: w.tail, seen: w.seen, texts: w.texts, marks: w.marks, poll: poll{at: w.poll.at, seq: w.poll.seq}})
	}
}

// A commit takes at most this much at once, so that others get their turn at the writing connection.
const (
	commitPolls = 2000
	commitBytes = 4 << 20
)

// take gives the front of the queue, which stays there until done or failed is called, and what
// dropped polls left behind. more: there is something after it.
func (s *spool) take() (batch, carried []*work, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, bytes := 0, int64(0)
	for n < len(s.queue) && n < commitPolls && bytes < commitBytes {
		bytes += s.queue[n].bytes
		n++
	}
	s.inFlight = n
	return slices.Clone(s.queue[:n]), slices.Clone(s.carried), n < len(s.queue)
}

// done removes what take gave.
func (s *spool) done(carried int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.queue[:s.inFlight] {
		s.bytes -= w.bytes
	}
	s.queue = append(s.queue[:0:0], s.queue[s.inFlight:]...)
	s.carried = append(s.carried[:0:0], s.carried[carried:]...)
	s.inFlight = 0
}

// failed says that what take gave is not in the store.
func (s *spool) failed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight = 0
}

func (s *spool) size() (polls int, bytes int64, dropped uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue), s.bytes, s.dropped
}

func (s *spool) usage() monolith.SpoolUsage {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := monolith.SpoolUsage{Polls: len(s.queue), Bytes: s.bytes, Limit: s.limit, Dropped: s.dropped}
	if len(s.queue) > 0 {
		u.Oldest = time.UnixMilli(s.queue[0].poll.at).UTC()
	}
	return u
}

// oldest gives the key of the first head row that is not committed, or the next one to come.
func (s *spool) oldest() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 {
		return s.queue[0].poll.id
	}
	return s.next + 1
}

// carry adds work that belongs to no poll.
func (s *spool) carry(w *work) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.carried = append(s.carried, w)
}

// each shows what waits, oldest first. The spool is locked meanwhile.
func (s *spool) each(show func(*work)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.queue {
		show(w)
	}
}

package poller

import (
	"context"
	"sync"

	"monolith"
)

// ownNames are the counters of SHOW SESSION STATUS in which our own statements are measured. What has
// global scope only (Queries, Table_locks_immediate, Created_tmp_files) shows everybody's work there and is
// left out; Queries is counted, as Questions is.
var ownNames = [...]string{
	"Bytes_received", "Bytes_sent", "Com_kill", "Com_select", "Com_set_option", "Com_show_binlogs", "Com_show_engine_status",
	"Com_show_master_status", "Com_show_processlist", "Com_show_slave_status", "Com_show_status", "Com_show_variables",
	"Created_tmp_disk_tables", "Created_tmp_tables",
	"Handler_commit", "Handler_external_lock", "Handler_read_first", "Handler_read_key", "Handler_read_next",
	"Handler_read_rnd", "Handler_read_rnd_next", "Handler_tmp_write", "Handler_write",
	"Opened_table_definitions", "Opened_tables", "Opened_views",
	"Rows_read", "Rows_sent", "Rows_tmp_read",
	"Select_full_join", "Select_full_range_join", "Select_range", "Select_range_check", "Select_scan",
	"Sort_range", "Sort_rows", "Sort_scan", "Table_open_cache_hits", "Table_open_cache_misses",
}

const (
	sessionStatus = "SHOW SESSION STATUS"
	// remeasure is how many times a kind of statement is sent before what it adds is measured again.
	remeasure = 2000
	// maxKinds bounds what is remembered of statements that differ each time.
	maxKinds = 200
)

// ownReading is one SHOW SESSION STATUS: a number for each of ownNames, none where the server has no such counter.
type ownReading [len(ownNames)]monolith.Num

// load knows what our own statements add to a server's counters. What one statement of a kind adds is
// measured by asking for the session's status around it, when it is sent for the first time and rarely
// afterwards; then it is counted. Asking at each poll would double the price of watching.
type load struct {
	index map[string]int // into ownNames
	quiet bool           // counts, but measures nothing

	mu     sync.Mutex
	kinds  map[string]*kindCost
	asking kindCost // of SHOW SESSION STATUS itself
	known  [len(ownNames)]bool
	total  [len(ownNames)]uint64 // of everything sent
	sends  uint64                // statements sent
}

// kindCost is what one statement of a kind adds.
type kindCost struct {
	adds     [len(ownNames)]uint64
	measured bool
	count    uint64 // since it was measured
}

func newLoad() *load {
	l := &load{index: make(map[string]int, len(ownNames)), kinds: map[string]*kindCost{}}
	for i, n := range ownNames {
		l.index[n] = i
	}
	return l
}

// newQuietLoad is for connections that are too short-lived to be measured.
func newQuietLoad() *load {
	l := newLoad()
	l.quiet = true
	return l
}

// wants reports whether the next sending of a statement should be measured, and whether asking itself should.
func (l *load) wants(statement string) (statementToo, askingToo bool) {
	if l.quiet {
		return false, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[statement]
	if k == nil {
		if len(l.kinds) >= maxKinds {
			return false, false
		}
		k = &kindCost{}
		l.kinds[statement] = k
	}
	if k.measured && k.count < remeasure {
		return false, false
	}
	return true, !l.asking.measured || l.asking.count >= remeasure
}

// sent counts a statement.
func (l *load) sent(statement string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sends++
	k := l.kinds[statement]
	if statement == sessionStatus {
		k = &l.asking
	}
	if k == nil {
		return
	}
	k.count++
	for i, n := range k.adds {
		l.total[i] += n
	}
}

// measuredAsking notes what lies between two readings with nothing between them.
func (l *load) measuredAsking(before, after *ownReading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if adds, ok := l.between(before, after); ok {
		l.asking = kindCost{adds: adds, measured: true}
	}
}

// measured notes what lies between two readings with one statement between them. The statement was
// counted already at its old price, or none.
func (l *load) measured(statement string, before, after *ownReading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kinds[statement]
	adds, ok := l.between(before, after)
	if k == nil || !ok {
		return
	}
	for i := range adds {
		adds[i] -= min(adds[i], l.asking.adds[i])
		if !k.measured {
			l.total[i] += adds[i]
		}
	}
	*k = kindCost{adds: adds, measured: true}
}

// between subtracts two readings. ok is false when one is missing or a counter fell (FLUSH STATUS).
func (l *load) between(before, after *ownReading) (adds [len(ownNames)]uint64, ok bool) {
	if before == nil || after == nil {
		return adds, false
	}
	for i := range ownNames {
		if before[i].IsNone() || after[i].IsNone() {
			continue
		}
		d := after[i].Float64() - before[i].Float64()
		if d < 0 || d > 1e9 {
			return adds, false
		}
		l.known[i] = true
		adds[i] = uint64(d)
	}
	return adds, true
}

// record writes the counters of the moment, as status counters of the same name in the namespace self.
func (l *load) record() (total [len(ownNames)]monolith.Num, sends uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range ownNames {
		if l.known[i] {
			total[i] = monolith.Uint(l.total[i])
		}
	}
	return total, l.sends
}

// readStatus asks for the session's status. The turn is ours. It gives nil when that fails.
func (s *session) readStatus(ctx context.Context) *ownReading {
	var r ownReading
	_, _, err := s.send(ctx, sessionStatus, 0, func(row Row) error {
		if i, ok := s.load.index[string(row.Bytes(0))]; ok && row.Len() > 1 {
			r[i], _ = monolith.ParseNum(row.Bytes(1))
		}
		return nil
	})
	s.load.sent(sessionStatus)
	if err != nil {
		return nil
	}
	return &r
}

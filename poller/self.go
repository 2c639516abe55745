package poller

import (
	"context"
	"slices"
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
	globalStatus  = "SHOW GLOBAL STATUS"
	// remeasure is how many times a kind of statement is sent before what it adds is measured again.
	remeasure = 2000
	// maxKinds bounds what is remembered of statements that differ each time.
	maxKinds = 200
	// maxTries is after how many failed measurements a kind of statement counts as one that adds nothing.
	maxTries = 3
)

type (
	// ownReading is one SHOW STATUS: a number for each of ownNames, none where the server has no such counter.
	ownReading struct {
		values    [len(ownNames)]monolith.Num
		questions monolith.Num
		rows      int
		bytes     int64
	}
	// ownCounts is a count for each of ownNames.
	ownCounts [len(ownNames)]uint64
	// ownAdd is a count for one of them. A statement adds to a few: hundreds of servers remember dozens of statements each.
	ownAdd struct {
		n    uint64
		name uint8 // in ownNames
	}
)

// load knows what our own statements add to a server's counters. What one statement of a kind adds is
// measured by asking for the session's status around it, when it is sent for the first time and rarely
// afterwards; then it is counted. Asking at each poll would double the price of watching.
//
// SHOW STATUS itself can't be measured like that: the server takes its traces out of the session's
// status, and only out of that. Its price comes from two readings of the global status one right after
// the other with nobody's statement between them, or, on a busy server, from what it is known to do.
type load struct {
	index map[string]int // into ownNames
	quiet bool           // counts, but measures nothing

	mu    sync.Mutex
	kinds map[string]*kindCost
	known [len(ownNames)]bool
	total ownCounts // of everything sent
	sends uint64    // statements sent

	status kindCost  // what one SHOW STATUS adds to the server's counters
	traces ownCounts // what is seen of it in the session's
}

// kindCost is what one statement of a kind adds.
type kindCost struct {
	adds     []ownAdd
	measured bool
	tries    int
	count    uint64 // since it was measured
}

// stale reports whether it should be measured. A server that can't be asked is not asked for ever.
func (k *kindCost) stale() bool { return !k.measured && k.tries < maxTries || k.count >= remeasure }

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

// kind gives what is known of a statement, nil when there are too many kinds. l.mu is held.
func (l *load) kind(statement string) *kindCost {
	if statement == globalStatus || statement == sessionStatus {
		return &l.status
	}
	k := l.kinds[statement]
	if k == nil && len(l.kinds) < maxKinds {
		k = &kindCost{}
		l.kinds[statement] = k
	}
	return k
}

// wants reports whether the price of SHOW STATUS, and whether that of a statement should be measured.
func (l *load) wants(statement string) (status, itself bool) {
	if l.quiet {
		return false, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kind(statement)
	if k == nil {
		return false, false
	}
	return l.status.stale(), k != &l.status && k.stale()
}

// sent counts a statement.
func (l *load) sent(statement string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sends++
	if l.quiet {
		return
	}
	if k := l.kind(statement); k != nil {
		k.count++
		l.total.add(k.adds)
	}
}

func (c *ownCounts) add(adds []ownAdd) {
	for _, a := range adds {
		c[a.name] += a.n
	}
}

// adds gives what is not zero.
func (c *ownCounts) adds() []ownAdd {
	var adds []ownAdd
	for i, n := range c {
		if n != 0 {
			adds = append(adds, ownAdd{n, uint8(i)})
		}
	}
	return slices.Clone(adds) // without the room that append left
}

// measuredStatus takes the price of SHOW STATUS from two readings in a row of the session's status
// and two of the global one.
func (l *load) measuredStatus(session1, session2, global1, global2 *ownReading, mariadb bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status.tries++
	l.status.count = 0
	traces, ok := l.between(session1, session2)
	price, alone := l.between(global1, global2)
	if !ok || !alone {
		return
	}
	if global2.questions.Float64()-global1.questions.Float64() != 1 {
		price = l.knownPrice(global2, mariadb)
	}
	l.traces = traces
	l.status.adds, l.status.measured = price.adds(), true
}

// knownPrice is what SHOW STATUS does: it fills a temporary table with its rows and scans it.
func (l *load) knownPrice(r *ownReading, mariadb bool) (price ownCounts) {
	rows := uint64(r.rows)
	set := func(name string, n uint64) {
		if i, ok := l.index[name]; ok && l.known[i] {
			price[i] = n
		}
	}
	set("Com_show_status", 1)
	set("Created_tmp_tables", 1)
	set("Select_scan", 1)
	set("Handler_read_rnd_next", rows+1)
	set("Bytes_received", uint64(len(mark+globalStatus)+5))
	set("Bytes_sent", uint64(r.bytes))
	if mariadb {
		set("Handler_tmp_write", rows)
		set("Rows_sent", rows)
		set("Rows_tmp_read", rows)
	} else {
		set("Handler_write", rows)
	}
	return price
}

// measured notes what lies between two readings of the session's status with one statement between
// them. The statement was counted already, at its old price or none.
func (l *load) measured(statement string, before, after *ownReading) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.kind(statement)
	k.tries++
	k.count = 0
	counts, ok := l.between(before, after)
	if !ok {
		return
	}
	for i := range counts {
		counts[i] -= min(counts[i], l.traces[i])
	}
	adds := counts.adds()
	if !k.measured {
		l.total.add(adds)
	}
	k.adds, k.measured = adds, true
}

// between subtracts two readings. ok is false when one is missing or a counter fell (FLUSH STATUS).
func (l *load) between(before, after *ownReading) (adds ownCounts, ok bool) {
	if before == nil || after == nil {
		return adds, false
	}
	for i := range ownNames {
		if before.values[i].IsNone() || after.values[i].IsNone() {
			continue
		}
		d := after.values[i].Float64() - before.values[i].Float64()
		if d < 0 {
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

// readStatus asks for the session's or the global status. The turn is ours. It gives nil when that fails.
func (s *session) readStatus(ctx context.Context, statement string) *ownReading {
	var r ownReading
	rows, bytes, err := s.send(ctx, statement, 0, func(row Row) error {
		name := row.Bytes(0)
		if i, ok := s.load.index[string(name)]; ok {
			r.values[i], _ = monolith.ParseNum(row.Bytes(1))
		} else if string(name) == "Questions" {
			r.questions, _ = monolith.ParseNum(row.Bytes(1))
		}
		return nil
	})
	s.load.sent(statement)
	if err != nil {
		return nil
	}
	r.rows, r.bytes = rows, bytes
	return &r
}

// measureStatus measures what asking for the status costs.
func (s *session) measureStatus(ctx context.Context) {
	s.load.measuredStatus(s.readStatus(ctx, sessionStatus), s.readStatus(ctx, sessionStatus),
		s.readStatus(ctx, globalStatus), s.readStatus(ctx, globalStatus), s.identity.Flavour.IsMariaDB())
}

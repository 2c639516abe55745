package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"

	"monolith"
)

// latestEvery is how often the newest answer of a collector is written again. It is not history but
// what pages show, greyed, after a restart until the first poll.
const latestEvery = 5 * time.Minute

// latestPart is the newest answer of one kind: a section, or rows of one sort.
type latestPart struct {
	at      int64 // unix ms
	written int64 // at of what was last handed to the spool
	value   any
}

// latestWrite is a row of table latest to be.
type latestWrite struct {
	part  string
	at    int64
	value any
}

// The parts beside sections, which are "section:" and the collector's name.
const (
	partStatus     = "status"
	partReplicas   = "replicas"
	partProcesses  = "processes"
	partAccounts   = "accounts"
	partSchemas    = "schemas"
	partBinaryLogs = "binary_logs"
	partSection    = "section:"
)

// lastStatus is what a poll says of the server as a whole.
type lastStatus struct {
	Seq      uint64            `json:"seq"`
	Up       bool              `json:"up"`
	Polled   bool              `json:"polled"`
	Interval time.Duration     `json:"interval"`
	ClockGap time.Duration     `json:"clock_gap"`
	Identity monolith.Identity `json:"identity"`
	Version  monolith.Version  `json:"parsed_version"` // Identity leaves it out
	Complete []string          `json:"complete"`       // namespaces whose collector gave a complete answer once
}

// lastSection is a section as it is kept. A number that is not there is "".
type lastSection struct {
	Collector string            `json:"collector"`
	NumNames  []monolith.Metric `json:"num_names"`
	Nums      []string          `json:"nums"`
	TextNames []monolith.Metric `json:"text_names"`
	Texts     []string          `json:"texts"`
}

// remember keeps the newest answers of the poll and hands those to the spool that were not written for
// a while. The lock is held.
func (t *tail) remember(s *monolith.Snapshot, w *work) {
	at := s.At.UnixMilli()
	put := func(part string, value any) {
		p := t.latest[part]
		if p == nil {
			p = &latestPart{}
			t.latest[part] = p
		}
		p.at, p.value = at, value
		if p.written == 0 || at-p.written >= latestEvery.Milliseconds() || at < p.written {
			p.written = at
			w.latest = append(w.latest, latestWrite{part, at, value})
		}
	}
	for i := range s.Sections {
		// A copy: what is read once a day must not hold all else that its snapshot has.
		put(t.memories[s.Sections[i].Collector].part, new(s.Sections[i]))
	}
	put(partStatus, &lastStatus{s.Seq, s.Up, s.Polled, s.Interval, s.ClockGap, t.identity, t.identity.Version,
		slices.Sorted(maps.Keys(t.complete))})
	if s.Replicas != nil {
		put(partReplicas, s.Replicas)
	}
	if s.Processes != nil {
		put(partProcesses, s.Processes)
	}
	if s.Accounts != nil {
		put(partAccounts, s.Accounts)
	}
	if s.Schemas != nil {
		put(partSchemas, s.Schemas)
	}
	if s.BinaryLogs != nil {
		put(partBinaryLogs, s.BinaryLogs)
	}
}

// spoolLatest hands the newest answers of all servers to the spool, for the end of the program.
func (db *DB) spoolLatest() {
	for _, t := range db.tails() {
		t.mu.Lock()
		w := &work{tail: t, poll: poll{at: 0, seq: t.seq}}
		for part, p := range t.latest {
			if p.at != p.written {
				w.latest = append(w.latest, latestWrite{part, p.at, p.value})
				p.written = p.at
			}
		}
		t.mu.Unlock()
		if len(w.latest) > 0 {
			db.spool.carry(w)
		}
	}
}

// maxLatest is how large a row of table latest may be, packed.
const maxLatest = 1 << 20

// putLatest writes one newest answer.
func (db *DB) putLatest(ctx context.Context, tx *sqlx.Tx, id monolith.ServerID, l latestWrite) error {
	value := l.value
	if sec, ok := value.(*monolith.Section); ok {
		value = keepSection(sec)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("store: newest %s: %w", l.part, err)
	}
	payload := db.zip.EncodeAll(text, nil)
	if len(payload) > maxLatest {
		db.log.Warn("newest answer is too large to be kept over a restart", "server_id", int64(id), "part", l.part, "bytes", len(payload))
		return nil
	}
	_, err = tx.ExecContext(ctx, db.dialect.upsert("latest", []string{"server_id", "part"}, []string{"at_ms", "payload"}),
		int64(id), l.part, l.at, payload)
	return err
}

func keepSection(sec *monolith.Section) *lastSection {
	k := &lastSection{Collector: sec.Collector, Texts: sec.Texts}
	for i := range sec.NumNames.Len() {
		k.NumNames = append(k.NumNames, sec.NumNames.At(i))
		k.Nums = append(k.Nums, sec.Nums[i].String())
	}
	for i := range sec.TextNames.Len() {
		k.TextNames = append(k.TextNames, sec.TextNames.At(i))
	}
	return k
}

func (k *lastSection) section() (*monolith.Section, error) {
	if len(k.Nums) != len(k.NumNames) || len(k.Texts) != len(k.TextNames) {
		return nil, fmt.Errorf("store: newest section of %q: lists differ in length", k.Collector)
	}
	sec := &monolith.Section{Collector: k.Collector, NumNames: monolith.NewNames(k.NumNames), TextNames: monolith.NewNames(k.TextNames), Texts: k.Texts}
	sec.Nums = make([]monolith.Num, len(k.Nums))
	for i, n := range k.Nums {
		sec.Nums[i], _ = monolith.ParseNum([]byte(n)) // "" is no value
	}
	return sec, nil
}

// LastState gives what was last known of a server: the newest answers of this process or, after a
// start, those that the store kept, at most five minutes older than the last poll. It is nil when
// nothing is known.
func (db *DB) LastState(ctx context.Context, id monolith.ServerID) (*monolith.State, error) {
	t := db.tail(id)
	if t == nil {
		return nil, notFound("server number %d", id)
	}
	type answer struct {
		part string
		at   int64
		set  func(*monolith.Snapshot) error
	}
	have := map[string]answer{}
	var rows []struct {
		Part    string `db:"part"`
		At      int64  `db:"at_ms"`
		Payload []byte `db:"payload"`
	}
	if err := db.r.SelectContext(ctx, &rows, "SELECT part, at_ms, payload FROM latest WHERE server_id = ?", int64(id)); err != nil {
		return nil, db.failed("read the newest answers", err)
	}
	for _, row := range rows {
		have[row.Part] = answer{row.Part, row.At, func(s *monolith.Snapshot) error {
			value, err := db.decodeLatest(row.Part, row.Payload)
			if err == nil {
				setLatest(s, value)
			}
			return err
		}}
	}
	t.mu.Lock()
	for part, p := range t.latest {
		if value := p.value; value != nil {
			have[part] = answer{part, p.at, func(s *monolith.Snapshot) error { setLatest(s, value); return nil }}
		}
	}
	t.mu.Unlock()
	if len(have) == 0 {
		return nil, nil
	}
	// One snapshot for each moment at which an answer came, oldest first.
	answers := make([]answer, 0, len(have))
	for _, a := range have {
		answers = append(answers, a)
	}
	slices.SortFunc(answers, func(a, b answer) int {
		if a.at != b.at {
			return int(max(-1, min(1, a.at-b.at)))
		}
		return strings.Compare(a.part, b.part)
	})
	var state *monolith.State
	var snap *monolith.Snapshot
	for i, a := range answers {
		if snap == nil || snap.At.UnixMilli() != a.at {
			if snap != nil {
				state = state.With(snap)
			}
			snap = &monolith.Snapshot{Server: id, At: time.UnixMilli(a.at).UTC(), Up: true, Polled: true}
			if status, ok := have[partStatus]; ok {
				// It was not written at each moment; what it says holds for all.
				if err := status.set(snap); err != nil {
					db.log.Warn("the newest answer can't be read", "server_id", int64(id), "part", partStatus, "error", err)
				}
			}
			snap.Taken = snap.At
		}
		if err := answers[i].set(snap); err != nil {
			db.log.Warn("the newest answer can't be read", "server_id", int64(id), "part", a.part, "error", err)
		}
	}
	return state.With(snap), nil
}

// decodeLatest decodes a row of table latest; nil is one that this program does not know.
func (db *DB) decodeLatest(part string, payload []byte) (any, error) {
	text, err := db.unzip.DecodeAll(payload, nil)
	if err != nil {
		return nil, fmt.Errorf("store: newest %s: %w", part, err)
	}
	var value any
	switch part {
	case partStatus:
		value = &lastStatus{}
	case partReplicas:
		value = &[]monolith.Replica{}
	case partProcesses:
		value = &monolith.ProcessList{}
	case partAccounts:
		value = &[]monolith.Account{}
	case partSchemas:
		value = &monolith.SchemaSizes{}
	case partBinaryLogs:
		value = &[]monolith.BinaryLog{}
	default:
		if !strings.HasPrefix(part, partSection) {
			return nil, nil
		}
		value = &lastSection{}
	}
	if err := json.Unmarshal(text, value); err != nil {
		return nil, fmt.Errorf("store: newest %s: %w", part, err)
	}
	switch v := value.(type) {
	case *lastStatus:
		v.Identity.Version = v.Version
	case *[]monolith.Replica:
		return *v, nil
	case *[]monolith.Account:
		return *v, nil
	case *[]monolith.BinaryLog:
		return *v, nil
	case *lastSection:
		return v.section()
	}
	return value, nil
}

// setLatest puts an answer into a snapshot.
func setLatest(s *monolith.Snapshot, value any) {
	switch v := value.(type) {
	case *lastStatus:
		s.Seq, s.Up, s.Polled, s.Interval, s.ClockGap, s.Identity = v.Seq, v.Up, v.Polled, v.Interval, v.ClockGap, v.Identity
	case []monolith.Replica:
		s.Replicas = v
	case *monolith.ProcessList:
		s.Processes = v
	case []monolith.Account:
		s.Accounts = v
	case *monolith.SchemaSizes:
		s.Schemas = v
	case []monolith.BinaryLog:
		s.BinaryLogs = v
	case *monolith.Section:
		s.Sections = append(s.Sections, *v)
	}
}

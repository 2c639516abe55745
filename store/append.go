package store

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"monolith"
	"monolith/store/history"
)

// work is what one poll brings to the store: it waits in the spool until it is committed.
type work struct {
	tail   *tail
	poll   poll
	seen   []history.MetricID // metrics that the server has for the first time
	texts  []textStep
	marks  []monolith.Mark
	latest []latestWrite
	bytes  int64
}

// textStep is a row of text_change to be.
type textStep struct {
	id       history.MetricID
	from, to string
	flags    int
	at       int64
	seq      uint64
}

// The flags of a text change.
const (
	flagFirst = 1
	flagGone  = 2
)

// Append takes a poll into history. It never waits for the store: the poll is encoded into memory, where
// reads see it at once, and committed by [DB.Run] within a second. A poll whose Seq is not above
// the server's last one is ignored and logged. The snapshot must not change afterwards.
func (db *DB) Append(s *monolith.Snapshot) {
	t := db.tail(s.Server)
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.Seq <= t.seq {
		db.log.Warn("poll ignored: its sequence number is not above the last one", "server_id", int64(s.Server), "seq", s.Seq, "last", t.seq)
		return
	}
	row := history.RowOf(s)
	w := &work{tail: t}
	t.sections = t.sections[:0]
	for i := range s.Sections {
		t.section(db, s, &s.Sections[i], w)
	}
	t.dropLost()
	lagging := db.failing.Load() && len(t.polls)-t.key >= keyPolls/2
	if t.rekey.Swap(false) || t.due(row.At) || lagging {
		t.enc.Reset()
	}
	w.poll = poll{seq: s.Seq, at: row.At, key: t.enc.Key()}
	t.buffer = t.enc.Append(t.buffer[:0], row, t.sections)
	w.poll.payload = bytes.Clone(t.buffer)

	t.identityMarks(s, w)
	t.remember(s, w)
	t.seq, t.run, t.interval = s.Seq, s.Run, s.Interval
	if s.Polled {
		t.polled = row.At
	}
	db.spool.push(w)
	t.put(w.poll)
	db.count.appended.Add(1)
}

// section adds one section to the poll being encoded. The lock is held.
func (t *tail) section(db *DB, s *monolith.Snapshot, sec *monolith.Section, w *work) {
	m := t.memory(db, s, sec, w)
	if !m.complete && !slices.ContainsFunc(s.Problems, func(p monolith.Problem) bool { return p.Collector == sec.Collector }) {
		m.complete = true
		for _, ns := range m.namespaces {
			t.complete[ns] = true
		}
	}
	ids, nums := m.ids, sec.Nums
	if len(m.numbersAreTexts) > 0 {
		for _, i := range m.numbersAreTexts {
			if !sec.Nums[i].IsNone() {
				t.text(s, sec.NumNames.At(i), m.ids[i], sec.Nums[i].String(), w)
			}
		}
		m.nums = m.nums[:0]
		for i, j := 0, 0; i < len(sec.Nums); i++ {
			if j < len(m.numbersAreTexts) && m.numbersAreTexts[j] == i {
				j++
				continue
			}
			m.nums = append(m.nums, sec.Nums[i])
		}
		ids, nums = m.numIDs, m.nums
	}
	if len(ids) > 0 {
		t.sections = append(t.sections, history.Section{IDs: ids, Nums: nums})
	}
	// A collector that read the same texts again may hand on the same slice.
	if len(sec.Texts) > 0 && (len(m.texts) != len(sec.Texts) || &m.texts[0] != &sec.Texts[0]) {
		all := true
		for i, text := range sec.Texts {
			if i < len(m.texts) && m.texts[i] == text {
				continue
			}
			all = t.text(s, sec.TextNames.At(i), m.textIDs[i], text, w) && all
		}
		if m.texts = sec.Texts; !all {
			m.texts = nil // a text was not taken: look at it again, even when it does not change
		}
	}
}

// memory gives what was worked out for the section's names, anew where they differ from the poll
// before. The lock is held.
func (t *tail) memory(db *DB, s *monolith.Snapshot, sec *monolith.Section, w *work) *collectorMemory {
	m := t.memories[sec.Collector]
	if m != nil && m.numNames == sec.NumNames && m.textNames == sec.TextNames {
		return m
	}
	old := m
	m = &collectorMemory{numNames: sec.NumNames, textNames: sec.TextNames, part: partSection + sec.Collector,
		ids: db.names.list(sec.NumNames), textIDs: db.names.list(sec.TextNames)}
	t.memories[sec.Collector] = m
	at := s.At.UnixMilli()
	for i, id := range m.ids {
		t.note(id, at, w)
		name := sec.NumNames.At(i).Name
		m.namespace(name)
		if strings.HasPrefix(name, "variable.") {
			m.numbersAreTexts = append(m.numbersAreTexts, i)
			continue
		}
		m.numIDs = append(m.numIDs, id)
	}
	if len(m.numbersAreTexts) == 0 {
		m.numIDs = nil // they are all of m.ids
	}
	for i, id := range m.textIDs {
		t.note(id, at, w)
		m.namespace(sec.TextNames.At(i).Name)
	}
	if old != nil && old.textNames != sec.TextNames {
		t.vanished(s, old, sec, w)
	}
	return m
}

func (m *collectorMemory) namespace(name string) {
	ns, _, _ := strings.Cut(name, ".")
	if !slices.Contains(m.namespaces, ns) {
		m.namespaces = append(m.namespaces, ns)
	}
}

// note remembers that the server has a metric. The lock is held.
func (t *tail) note(id history.MetricID, at int64, w *work) {
	s, known := t.seen.get(id)
	if !known {
		s.first = uint32(at / 1000)
		w.seen = append(w.seen, id)
	}
	s.last = uint32(at / 1000)
	t.seen.set(id, s)
}

// vanished records the texts that the collector no longer gives. A name that became a number is not
// gone. The lock is held.
func (t *tail) vanished(s *monolith.Snapshot, old *collectorMemory, sec *monolith.Section, w *work) {
	for i, id := range old.textIDs {
		m := old.textNames.At(i)
		if sec.TextNames.Index(m) >= 0 || sec.NumNames.Index(m) >= 0 {
			continue
		}
		now, known := t.texts.get(id)
		if !known || now.gone {
			continue
		}
		at := s.At.UnixMilli()
		w.texts = append(w.texts, textStep{id: id, from: now.text, flags: flagGone, at: at, seq: s.Seq})
		t.texts.set(id, textNow{gone: true, since: at})
		t.changed(m, newest{id: id, at: at, from: now.text, gone: true})
		t.variableMark(s, m, now.text, "", true, w)
	}
}

// Resume tells a poller that starts where it stood with a server: the last sequence number and the run
// of the last poll, both 0 when there was none. The next poll's Seq must be above.
func (db *DB) Resume(_ context.Context, id monolith.ServerID) (seq uint64, run uint32, err error) {
	t := db.tail(id)
	if t == nil {
		return 0, 0, notFound("server number %d", id)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.seq, t.run, nil
}

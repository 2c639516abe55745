package alerts

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"monolith"
)

// savedVersion is the version of the form in which a server's memory is kept.
const savedVersion = 1

// savedServer is a server's memory as it is kept over a restart of Monolith.
type savedServer struct {
	Last         time.Time
	Watched      time.Time
	Slow         int64
	Restarted    time.Time
	Restarts     []time.Time
	Polled       time.Time
	Unread       time.Time
	Uptime       time.Duration
	UptimeBefore time.Duration
	DownFor      time.Duration
	Version      string
	VarChanges   []variableChange
	Seen         []string
	Rings        []savedRing
	Changes      []savedChange
	States       []savedState
}

type savedRing struct {
	Name     string
	Agg      aggregate
	Bucket   time.Duration
	Instance string
	Newest   int64
	Sum      []float64 // newest first, without what is empty at the end
	Secs     []float32
}

type savedChange struct {
	Metric   monolith.Metric
	Num      float64
	Text     string
	At, Seen time.Time
}

type savedState struct {
	Rule, Instance string
	State          monolith.RuleState
	Since          time.Time
	Why, Input     string
	Failed         bool
	Level, Holds   monolith.Level
	Conds          []savedCond
	Flap           []time.Time
	Flapping       bool
	Calm           time.Time
}

type savedCond struct {
	Level monolith.Level
	Up    [4]time.Time
	Down  time.Time
	Last  time.Time
}

// Save gives a server's windows and states as one blob, for [Engine.Restore]; nil when nothing is known of it.
func (e *Engine) Save(id monolith.ServerID) ([]byte, error) {
	e.mu.RLock()
	s := e.servers[id]
	e.mu.RUnlock()
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	saved := s.saved()
	s.mu.Unlock()
	var body bytes.Buffer
	w, ok := e.packers.Get().(*flate.Writer)
	if ok {
		w.Reset(&body)
	} else {
		var err error
		if w, err = flate.NewWriter(&body, flate.BestSpeed); err != nil {
			return nil, fmt.Errorf("alerts: save: %w", err)
		}
	}
	defer e.packers.Put(w)
	if err := errors.Join(gob.NewEncoder(w).Encode(saved), w.Close()); err != nil {
		return nil, fmt.Errorf("alerts: save: %w", err)
	}
	return sealed(body.Bytes()), nil
}

// sealed puts the mark, the version and the checksum before a body.
func sealed(body []byte) []byte {
	out := append([]byte{'M', 'A', savedVersion}, binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(body))...)
	return append(out, body...)
}

func (s *serverState) saved() *savedServer {
	out := &savedServer{Last: s.last, Watched: s.watched, Slow: s.slow, Restarted: s.restarted, Restarts: s.restarts, Polled: s.polled, Unread: s.unread, Uptime: s.uptime,
		UptimeBefore: s.uptimeBefore, DownFor: s.downFor, Version: s.version, VarChanges: append([]variableChange(nil), s.varChanges...)}
	for i, n := range s.names {
		if n.seen {
			out.Seen = append(out.Seen, s.cat.names[i])
		}
	}
	for k, r := range s.rings {
		if spec := s.cat.rings[k.spec]; r.newest != 0 {
			out.Rings = append(out.Rings, r.saved(spec, k.instance))
		}
	}
	for m, c := range s.changes {
		if c.known {
			out.Changes = append(out.Changes, savedChange{m, c.num, c.text, c.at, c.seen})
		}
	}
	for _, st := range s.states {
		one := savedState{Rule: st.key.rule, Instance: st.key.instance, State: st.state, Since: st.since.time(), Why: st.why, Input: st.input, Failed: st.failed,
			Level: st.level, Holds: st.holds, Flapping: st.flapping, Calm: st.calm.time()}
		for _, m := range st.flap {
			one.Flap = append(one.Flap, m.time())
		}
		for _, c := range st.conds {
			one.Conds = append(one.Conds, savedCond{c.level, [4]time.Time{c.up[0].time(), c.up[1].time(), c.up[2].time(), c.up[3].time()}, c.down.time(), c.last.time()})
		}
		out.States = append(out.States, one)
	}
	return out
}

func (r *ring) saved(spec ringSpec, instance string) savedRing {
	out := savedRing{Name: spec.name, Agg: spec.agg, Bucket: spec.bucket, Instance: instance, Newest: r.newest}
	for k := r.newest; k > r.newest-int64(len(r.sum)) && k > 0; k-- {
		out.Sum, out.Secs = append(out.Sum, r.sum[r.slot(k)]), append(out.Secs, r.secs[r.slot(k)])
	}
	for n := len(out.Secs); n > 0 && out.Secs[n-1] == 0; n-- {
		out.Sum, out.Secs = out.Sum[:n-1], out.Secs[:n-1]
	}
	return out
}

// maxSaved bounds what a blob may unfold to.
const maxSaved = 16 << 20

// Restore puts back what [Engine.Save] gave, before the server's first poll. A blob that is damaged or of another
// version is refused whole: the server then starts afresh, and its windows learn.
func (e *Engine) Restore(id monolith.ServerID, blob []byte) error {
	if len(blob) < 7 || blob[0] != 'M' || blob[1] != 'A' {
		return fmt.Errorf("alerts: restore: this is not a saved state")
	}
	if blob[2] != savedVersion {
		return fmt.Errorf("alerts: restore: version %d is not known", blob[2])
	}
	if binary.BigEndian.Uint32(blob[3:]) != crc32.ChecksumIEEE(blob[7:]) {
		return fmt.Errorf("alerts: restore: the saved state is damaged")
	}
	var saved savedServer
	r := flate.NewReader(bytes.NewReader(blob[7:]))
	if err := gob.NewDecoder(io.LimitReader(r, maxSaved)).Decode(&saved); err != nil {
		return fmt.Errorf("alerts: restore: %w", err)
	}
	s := e.server(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restore(e.Catalogue(), &saved)
	return nil
}

func (s *serverState) restore(cat *Catalogue, saved *savedServer) {
	s.restored = map[string]bool{}
	for _, name := range saved.Seen {
		s.restored[name] = true
	}
	s.cat, s.states = nil, nil
	s.adopt(cat)
	s.last, s.watched = saved.Last, saved.Watched
	s.slow, s.restarted, s.restarts, s.polled, s.unread = saved.Slow, saved.Restarted, saved.Restarts, saved.Polled, saved.Unread
	s.uptime, s.uptimeBefore, s.downFor, s.version, s.varChanges = saved.Uptime, saved.UptimeBefore, saved.DownFor, saved.Version, saved.VarChanges
	for i := range saved.Rings {
		s.restoreRing(&saved.Rings[i])
	}
	for _, c := range saved.Changes {
		s.changes[c.Metric] = &change{known: true, num: c.Num, text: c.Text, at: c.At, seen: c.Seen}
	}
	for _, one := range saved.States {
		k := stateKey{one.Rule, one.Instance}
		if r := cat.byID[k.rule]; r != nil {
			k.rule = r.id // rather than a text of its own for each server
		}
		st := s.states.make(k)
		*st = ruleState{key: k, state: one.State, since: momentOf(one.Since), why: one.Why, input: one.Input, failed: one.Failed, level: one.Level, holds: one.Holds,
			flap: momentsOf(one.Flap), flapping: one.Flapping, calm: momentOf(one.Calm)}
		for _, c := range one.Conds {
			up := [4]moment{momentOf(c.Up[0]), momentOf(c.Up[1]), momentOf(c.Up[2]), momentOf(c.Up[3])}
			st.conds = append(st.conds, condState{level: c.Level, up: up, down: momentOf(c.Down), last: momentOf(c.Last)})
		}
	}
}

func (s *serverState) restoreRing(saved *savedRing) {
	for i, spec := range s.cat.rings {
		if spec.name != saved.Name || spec.agg != saved.Agg || spec.bucket != saved.Bucket || len(s.rings) >= maxRings {
			continue
		}
		r := newRing(spec)
		r.newest = saved.Newest
		for k := range min(len(saved.Sum), len(saved.Secs), len(r.sum)) {
			if number := saved.Newest - int64(k); number > 0 {
				r.sum[r.slot(number)], r.secs[r.slot(number)] = saved.Sum[k], saved.Secs[k]
			}
		}
		s.rings[ringKey{i, saved.Instance}] = r
	}
}

// Adopt makes the engine know of an open alert that it has no memory of, as after its own was damaged: the alert goes on
// and closes by its rule, and no second one opens.
func (e *Engine) Adopt(a *monolith.Alert) {
	s := e.server(a.Server)
	s.mu.Lock()
	defer s.mu.Unlock()
	k := stateKey{a.Rule, a.Instance}
	st := s.states.get(k)
	if st == nil {
		st = s.states.make(k)
		st.state, st.since = monolith.StateOpen, momentOf(a.Opened)
	}
	if st.level == monolith.LevelOK {
		st.level, st.conds, st.flapping = a.Level, nil, a.Flapping
	}
}

// rebuild makes conditions anew, as after an update of the rule changed them: an open alert stays in force by the first
// condition that can give its level.
func (st *ruleState) rebuild(r *Rule) {
	if len(st.conds) == len(r.conditions) {
		return
	}
	st.conds = make([]condState, len(r.conditions))
	if st.level == monolith.LevelOK {
		return
	}
	for i, c := range r.conditions {
		if c.canGive(st.level) {
			st.conds[i].level = st.level
			return
		}
	}
	st.conds[0].level = st.level
}

// canGive reports whether a condition can give a level.
func (c *condition) canGive(l monolith.Level) bool {
	if len(c.levels) == 0 {
		return c.level != nil || c.constant == l
	}
	for i := range c.levels {
		if c.levels[i].level == l {
			return true
		}
	}
	return false
}

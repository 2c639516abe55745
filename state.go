package monolith

import (
	"maps"
	"slices"
	"time"
)

// State is what is known of a server now: the latest answer of each collector, with its age. It is
// immutable; [State.With] makes the next one. A nil *State knows nothing.
type State struct {
	Server   ServerID
	At       time.Time // scheduled moment of the last poll, successful or not
	Polled   time.Time // of the last poll that read the status; zero: none yet
	Interval time.Duration
	Seq      uint64
	Up       bool
	OK       bool // the last poll read the status
	Identity Identity
	ClockGap time.Duration

	collectors map[string]latest

	Rows

	Problems []Problem // in force now, each with Since
	Costs    []Cost    // the last cost of each collector
}

// latest is one collector's newest section and the one before it, for rates.
type latest struct {
	now, before      *Section
	at, beforeAt     time.Time
	point, fromPoint Point
}

// With gives the state after a snapshot. Problems of collectors that ran are replaced; a problem that
// goes on keeps its Since.
func (s *State) With(snap *Snapshot) *State {
	n := &State{}
	if s != nil {
		*n = *s
	}
	n.Server, n.At, n.Seq, n.Up, n.OK = snap.Server, snap.At, snap.Seq, snap.Up, snap.Polled
	n.Interval = snap.Interval
	if snap.Polled {
		n.Polled = snap.At
	}
	if !snap.Identity.IsZero() {
		n.Identity = snap.Identity
	}
	if snap.ClockGap != 0 {
		n.ClockGap = snap.ClockGap
	}
	n.collectors = maps.Clone(n.collectors)
	if n.collectors == nil {
		n.collectors = make(map[string]latest, len(snap.Sections))
	}
	for i := range snap.Sections {
		sec := new(snap.Sections[i]) // a copy: what is read once a day must not hold all else that its snapshot has
		old := n.collectors[sec.Collector]
		clock := old.point.Clock + snap.At.Sub(old.at)
		if snap.Elapsed > 0 && old.now != nil && snap.At.Sub(old.at) < 2*snap.Interval {
			clock = old.point.Clock + snap.Elapsed
		}
		n.collectors[sec.Collector] = latest{
			now: sec, before: old.now, at: snap.At, beforeAt: old.at, fromPoint: old.point,
			point: Point{Run: snap.Run, Clock: clock, Interval: snap.Interval},
		}
	}
	n.Rows.Take(snap.Rows)
	n.mergeProblems(snap)
	return n
}

func (s *State) mergeProblems(snap *Snapshot) {
	ran := map[string]bool{}
	for _, c := range snap.Costs {
		ran[c.Collector] = true
	}
	if snap.Polled {
		ran[""] = true // a connection that works has no problem any more
	}
	for _, p := range snap.Problems {
		ran[p.Collector] = true
	}
	var now []Problem
	for _, p := range s.Problems {
		if !ran[p.Collector] {
			now = append(now, p)
		}
	}
	for _, p := range snap.Problems {
		if p.Since.IsZero() {
			p.Since = snap.At
		}
		for _, old := range s.Problems {
			if old.Collector == p.Collector && old.Kind == p.Kind && old.Code == p.Code {
				p.Since = old.Since
			}
		}
		now = append(now, p)
	}
	s.Problems = now
	if len(snap.Costs) > 0 {
		costs := slices.Clone(s.Costs)
		for _, c := range snap.Costs {
			if i := slices.IndexFunc(costs, func(o Cost) bool { return o.Collector == c.Collector }); i >= 0 {
				costs[i] = c
			} else {
				costs = append(costs, c)
			}
		}
		s.Costs = costs
	}
}

// Value gives the newest number of a metric and when it was read. Variables are kept as texts, as the server
// shows them: a text that is a number counts as one here.
func (s *State) Value(m Metric) (n Num, at time.Time, ok bool) {
	if s == nil {
		return Num{}, time.Time{}, false
	}
	for _, l := range s.collectors {
		if i := l.now.NumNames.Index(m); i >= 0 && !l.now.Nums[i].IsNone() {
			return l.now.Nums[i], l.at, true
		}
		if i := l.now.TextNames.Index(m); i >= 0 {
			if n, ok := ParseNum([]byte(l.now.Texts[i])); ok {
				return n, l.at, true
			}
		}
	}
	return Num{}, time.Time{}, false
}

// Text gives the newest text of a metric and when it was read. Numbers are given as text too.
func (s *State) Text(m Metric) (text string, at time.Time, ok bool) {
	if s == nil {
		return "", time.Time{}, false
	}
	for _, l := range s.collectors {
		if i := l.now.TextNames.Index(m); i >= 0 {
			return l.now.Texts[i], l.at, true
		}
	}
	if n, at, ok := s.Value(m); ok {
		return n.String(), at, true
	}
	return "", time.Time{}, false
}

// Rate gives the rate per second of a counter between the two newest readings.
func (s *State) Rate(m Metric) (perSecond float64, ok bool) {
	if s == nil {
		return 0, false
	}
	for _, l := range s.collectors {
		i := l.now.NumNames.Index(m)
		if i < 0 || l.before == nil {
			continue
		}
		j := l.before.NumNames.Index(m)
		if j < 0 {
			return 0, false
		}
		from, to := l.fromPoint, l.point
		from.Run, to.Run = RunOf(m.Namespace(), from.Run), RunOf(m.Namespace(), to.Run)
		inc, elapsed, ok := Increase(l.before.Nums[j], l.now.Nums[i], from, to)
		if !ok {
			return 0, false
		}
		return inc / elapsed.Seconds(), true
	}
	return 0, false
}

// Pair gives the newest section of a collector and the one before it, with what [Increase] must know of both. Nil
// stands for what there is not.
func (s *State) Pair(collector string) (before, now *Section, from, to Point) {
	if s == nil {
		return nil, nil, Point{}, Point{}
	}
	l := s.collectors[collector]
	return l.before, l.now, l.fromPoint, l.point
}

// Sections gives the newest section of each collector and when it was read.
func (s *State) Sections(yield func(*Section, time.Time) bool) {
	if s == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.collectors)) {
		if l := s.collectors[name]; !yield(l.now, l.at) {
			return
		}
	}
}

// Complete reports whether the collector behind a namespace has answered, so that a name which is
// not there is absent by design and not for want of an answer.
func (s *State) Complete(namespace string) bool {
	if s == nil {
		return false
	}
	for _, l := range s.collectors {
		if l.now.NumNames.Len() > 0 && l.now.NumNames.At(0).Namespace() == namespace ||
			l.now.TextNames.Len() > 0 && l.now.TextNames.At(0).Namespace() == namespace {
			return true
		}
	}
	return false
}

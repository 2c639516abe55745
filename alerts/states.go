package alerts

import (
	"slices"
	"strings"
	"time"

	"monolith"
)

// stateKey is a rule and an instance.
type stateKey struct {
	rule     string
	instance string
}

func (k stateKey) compare(o stateKey) int {
	if c := strings.Compare(k.rule, o.rule); c != 0 {
		return c
	}
	return strings.Compare(k.instance, o.instance)
}

// states are the states of a server's rules, sorted by rule and instance. Hundreds of servers have one for each of more than
// a hundred rules, which is why they are neither in a map nor hold a time.Time.
type states []*ruleState

// place finds where the state of an instance stands, or belongs.
func (s states) place(k stateKey) (int, bool) {
	return slices.BinarySearchFunc(s, k, func(st *ruleState, k stateKey) int { return st.key.compare(k) })
}

// get gives the state of an instance, nil where there is none.
func (s states) get(k stateKey) *ruleState {
	if i, ok := s.place(k); ok {
		return s[i]
	}
	return nil
}

// make gives the state of an instance, a new one where there is none.
func (s *states) make(k stateKey) *ruleState {
	i, ok := s.place(k)
	if !ok {
		*s = slices.Insert(*s, i, &ruleState{key: k})
	}
	return (*s)[i]
}

// of gives the states of a rule, which stand there until states are made or removed.
func (s states) of(rule string) []*ruleState {
	from, _ := s.place(stateKey{rule: rule})
	to := from
	for to < len(s) && s[to].key.rule == rule {
		to++
	}
	return s[from:to]
}

// ruleState is what a rule remembers of one instance of one server.
type ruleState struct {
	key      stateKey
	state    monolith.RuleState
	since    moment // in this state
	why      string
	input    string
	conds    []condState
	flap     []moment // of the last openings, while there were any in the last hour
	calm     moment   // while flapping: since when it would be closed
	cond     int32    // condition that gives the level in force
	mark     uint32   // of the evaluation at which the instance was last there
	failed   bool     // cannot be evaluated because something could not be read
	flapping bool
	level    monolith.Level // of the open alert; LevelOK: none is open
	holds    monolith.Level // the highest level that held at the last evaluation
}

// condState is the memory of one condition.
type condState struct {
	up    [4]moment      // since when each level holds; none: it does not
	down  moment         // since when the level in force is over; none: it is not
	last  moment         // of the last evaluation that could be made
	level monolith.Level // in force
}

// moment is a point in time in nanoseconds since 1970, a third of the size of a [time.Time]. The zero moment is none.
type moment int64

// momentOf gives the moment of a time, none of the zero time.
func momentOf(t time.Time) moment {
	if t.IsZero() {
		return 0
	}
	return moment(t.UnixNano())
}

// momentsOf gives the moments of times.
func momentsOf(times []time.Time) []moment {
	var all []moment
	for _, t := range times {
		all = append(all, momentOf(t))
	}
	return all
}

// isNone reports whether it is none.
func (m moment) isNone() bool { return m == 0 }

// time gives the moment as a time in UTC, the zero time of none.
func (m moment) time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(m)).UTC()
}

// until gives how long after it a time is.
func (m moment) until(t time.Time) time.Duration { return time.Duration(t.UnixNano() - int64(m)) }

// notAfter brings it to a time that it lies behind.
func (m *moment) notAfter(t moment) { *m = min(*m, t) }

package alerts

import "time"

// setBack brings what lies in the future to the present, as after the monitor's clock was set back: what was counting
// goes on from now, and nothing waits until the clock has caught up.
func (s *serverState) setBack(at time.Time) {
	for _, t := range []*time.Time{&s.first, &s.unread, &s.restarted, &s.polled, &s.watched} {
		notAfter(t, at)
	}
	for i := range s.restarts {
		notAfter(&s.restarts[i], at)
	}
	for i := range s.varChanges {
		notAfter(&s.varChanges[i].At, at)
	}
	for _, slot := range s.slots {
		notAfter(&slot.at, at)
	}
	for _, c := range s.changes {
		notAfter(&c.at, at)
		notAfter(&c.seen, at)
	}
	for _, st := range s.states {
		st.setBack(momentOf(at))
	}
}

func (st *ruleState) setBack(at moment) {
	st.since.notAfter(at)
	st.calm.notAfter(at)
	for i := range st.flap {
		st.flap[i].notAfter(at)
	}
	for i := range st.conds {
		c := &st.conds[i]
		c.down.notAfter(at)
		c.last.notAfter(at)
		for l := range c.up {
			c.up[l].notAfter(at)
		}
	}
}

func notAfter(t *time.Time, at time.Time) {
	if t.After(at) {
		*t = at
	}
}

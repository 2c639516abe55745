package alerts

import (
	"slices"
	"strings"
	"time"

	"monolith"
	"monolith/formula"
)

// Transition is what happened to an alert at an evaluation: it opened, was raised or lowered, closed, or is now known to
// flap; or whether its rule can be evaluated changed.
type Transition struct {
	Key  monolith.AlertKey
	At   time.Time
	Kind monolith.AlertEventKind // "" when only Unknown changed
	From monolith.Level
	To   monolith.Level
	// Alert holds title, category, texts, values and remedy as they are now; nil when it closed or only Unknown changed.
	Alert  *monolith.Alert
	Reason monolith.CloseReason // of a closing
	// Unknown is why the rule can't be evaluated from now on, while the alert stays open; "" when it can.
	Unknown string
	Text    string // of the event: the summary, or why it closed
}

// maxCycles is how many times an alert may open in an hour before it is kept open.
const maxCycles = 4

// run judges the rules that are due.
func (ev *evaluator) run(slow bool) []Transition {
	var out []Transition
	s := ev.srv
	for i, r := range ev.cat.rules {
		if !slow && !r.poll {
			continue
		}
		out = ev.judgeRule(r, s.effective[i], out)
	}
	if slow {
		s.countIncomplete(ev.at)
	}
	return out
}

// judgeRule judges one rule on all its instances.
func (ev *evaluator) judgeRule(r *Rule, eff *effective, out []Transition) []Transition {
	ev.about(r, nil, "")
	if !eff.enabled {
		return ev.all(r, eff, verdict{state: monolith.StateNotApplicable, why: "switched off (" + eff.enabledFrom + ")"}, monolith.ClosedDisabled, out)
	}
	if v := ev.unmet(r); v.state != "" && r.set < 0 {
		return ev.all(r, eff, v, monolith.ClosedNotApplicable, out)
	} else if v.state != "" && !dependsOnRow(r) {
		return ev.all(r, eff, v, monolith.ClosedNotApplicable, out)
	}
	if r.set < 0 {
		st := ev.stateOf(stateKey{r.id, ""})
		return ev.settle(r, st, stateKey{r.id, ""}, eff, ev.doubted(r, ev.verdictOf(r, st, eff)), "", out)
	}
	rows, lack := ev.rows(r.set)
	if lack.Lack() != formula.LackNone {
		return ev.all(r, eff, lackVerdict(lack), monolith.ClosedNotApplicable, out)
	}
	there := 0
	for _, x := range rows {
		it := x.(*row)
		name := ev.nameOf(r, it)
		ev.about(r, it, name)
		key := stateKey{r.id, name}
		if r.only != nil {
			yes, lack := ev.truth(r.only)
			if lack.Lack() == formula.LackAbsent || lack.Lack() == formula.LackNone && !yes {
				continue
			}
			if lack.Lack() != formula.LackNone {
				there++
				out = ev.settle(r, ev.stateOf(key), key, eff, lackVerdict(lack), "", out)
				continue
			}
		}
		if there++; there > maxInstances {
			break
		}
		st := ev.stateOf(key)
		v := ev.unmet(r)
		if v.state == "" {
			v = ev.doubted(r, ev.verdictOf(r, st, eff))
		}
		out = ev.settle(r, st, key, eff, v, monolith.ClosedNotApplicable, out)
	}
	return ev.noneThere(r, eff, there, out)
}

// dependsOnRow reports whether what the rule needs is a matter of each row.
func dependsOnRow(r *Rule) bool {
	return slices.ContainsFunc(r.needs.ifs, func(n need) bool {
		return n.is.f.UsesIt() || slices.ContainsFunc(n.is.locals, func(l localRef) bool { return l.kind == localLet && r.lets[l.index].perRow })
	})
}

// noneThere closes what is about instances that are gone, and says so when there are none at all.
func (ev *evaluator) noneThere(r *Rule, eff *effective, there int, out []Transition) []Transition {
	s := ev.srv
	var gone []*ruleState
	why := "it is no longer there"
	if r.each == "replica" && there == 0 {
		why = "the server is no longer a replica"
	}
	for _, st := range s.states.of(r.id) {
		if st.mark == s.mark || st.key.instance == "" && there == 0 && st.level == monolith.LevelOK && st.conds == nil {
			continue // it is there; or it stood for the rule as a whole before, and does again
		}
		if st.level > monolith.LevelOK {
			out = append(out, ev.closing(st, monolith.ClosedNotApplicable, why))
		}
		gone = append(gone, st)
	}
	if len(gone) > 0 {
		s.states = slices.DeleteFunc(s.states, func(st *ruleState) bool { return slices.Contains(gone, st) })
	}
	if there > 0 {
		return out
	}
	v := verdict{state: monolith.StateOK, why: "there are none"}
	if r.each == "replica" || r.each == "source" {
		v = verdict{state: monolith.StateNotApplicable, why: "no replication is configured"}
	}
	key := stateKey{r.id, ""}
	return ev.settle(r, ev.stateOf(key), key, eff, ev.doubted(r, v), monolith.ClosedNotApplicable, out)
}

// all gives a verdict to every instance that is known, or to the rule as a whole when none is.
func (ev *evaluator) all(r *Rule, eff *effective, v verdict, reason monolith.CloseReason, out []Transition) []Transition {
	if known := ev.srv.states.of(r.id); r.set >= 0 && len(known) > 0 {
		for _, st := range known {
			st.mark = ev.srv.mark
			out = ev.settle(r, st, st.key, eff, v, reason, out)
		}
		return out
	}
	k := stateKey{r.id, ""}
	return ev.settle(r, ev.stateOf(k), k, eff, v, reason, out)
}

func (ev *evaluator) stateOf(k stateKey) *ruleState {
	st := ev.srv.states.make(k)
	st.mark = ev.srv.mark
	return st
}

// settle puts a verdict in force and gives what it means for the alert.
func (ev *evaluator) settle(r *Rule, st *ruleState, key stateKey, eff *effective, v verdict, reason monolith.CloseReason, out []Transition) []Transition {
	wasUnknown := st.level > monolith.LevelOK && unknowable(st.state)
	before, changed := st.why, st.state != v.state
	if changed {
		st.state, st.since = v.state, momentOf(ev.at)
	}
	if st.failed = v.failed; !sameReason(before, v.why) {
		st.why, st.input = v.why, ""
		if unknowable(v.state) {
			st.input = inputOf(v.why)
		}
		if v.state == monolith.StateCannotEvaluate {
			if more := ev.srv.leftOut(monolith.CollectorOf(st.input)); more != "" && !strings.Contains(v.why, more) {
				st.why += leftOutSign + more
			}
		}
	}
	switch v.state {
	case monolith.StateNotApplicable:
		// It closes, and forgets what was counting.
		if st.level > monolith.LevelOK {
			if reason == "" {
				reason = monolith.ClosedNotApplicable
			}
			out = append(out, ev.closing(st, reason, v.why))
		}
		st.conds, st.level, st.flapping, st.holds = nil, monolith.LevelOK, false, monolith.LevelOK
		return out
	case monolith.StateLearning, monolith.StateCannotEvaluate:
		if v.judged && st.level > st.top() {
			return ev.move(r, st, key, eff, out) // what it opened for is known to be over; what is not known never held
		}
		if st.level > monolith.LevelOK && (!wasUnknown || changed) {
			out = append(out, Transition{Key: ev.srv.key(key), At: ev.at, From: st.level, To: st.level, Unknown: v.why})
		}
		return out
	}
	if wasUnknown {
		out = append(out, Transition{Key: ev.srv.key(key), At: ev.at, From: st.level, To: st.level})
	}
	return ev.move(r, st, key, eff, out)
}

// leftOutSign stands between a reason and what a collector left out.
const leftOutSign = "; "

// sameReason reports whether a reason that is kept, perhaps with what a collector left out behind it, is the one given now.
func sameReason(kept, why string) bool {
	rest, ok := strings.CutPrefix(kept, why)
	return ok && (rest == "" || why != "" && strings.HasPrefix(rest, leftOutSign))
}

// unknowable reports whether a state keeps an alert open without knowing.
func unknowable(s monolith.RuleState) bool {
	return s == monolith.StateCannotEvaluate || s == monolith.StateLearning
}

// patience is how long evaluations may be missing before what was counting begins anew.
func (ev *evaluator) patience(r *Rule) time.Duration {
	every := ev.srv.interval
	if !r.poll {
		every = max(every, time.Minute)
	}
	return monolith.MaxGap*every + every/2
}

// move brings the alert to the level that is in force.
func (ev *evaluator) move(r *Rule, st *ruleState, key stateKey, eff *effective, out []Transition) []Transition {
	top := st.top()
	st.flap = slices.DeleteFunc(st.flap, func(m moment) bool { return m.until(ev.at) > time.Hour })
	if st.flapping {
		// Kept open until it would have been closed for an hour.
		switch {
		case top > monolith.LevelOK:
			st.calm = 0
		case st.calm.isNone():
			st.calm = momentOf(ev.at)
		}
		if top == monolith.LevelOK && st.calm.until(ev.at) < time.Hour {
			top = st.level
		}
	}
	from := st.level
	if top == from {
		if st.level > monolith.LevelOK {
			st.state = monolith.StateOpen
		}
		return out
	}
	st.level, st.cond = top, int32(st.leading())
	t := Transition{Key: ev.srv.key(key), At: ev.at, From: from, To: top}
	switch {
	case top == monolith.LevelOK:
		st.flapping, st.calm = false, 0
		t.Kind, t.Reason = monolith.EventClosed, monolith.ClosedCleared
		t.Text = ev.summary(r, st, eff)
		return append(out, t)
	case from == monolith.LevelOK:
		t.Kind = monolith.EventOpened
		st.flap = append(st.flap, momentOf(ev.at))
	case top > from:
		t.Kind = monolith.EventRaised
	default:
		t.Kind = monolith.EventLowered
	}
	t.Alert = ev.describe(r, st, key, eff)
	t.Text = t.Alert.Summary
	out = append(out, t)
	if t.Kind == monolith.EventOpened && len(st.flap) > maxCycles {
		st.flapping, st.calm = true, 0
		f := t
		f.Kind, f.Text = monolith.EventFlapping, "it opened more than four times in an hour and is kept open until it was quiet for an hour"
		f.From = top
		f.Alert = nil
		out = append(out, f)
	}
	return out
}

// closing closes the alert for another reason than that its problem is over.
func (ev *evaluator) closing(st *ruleState, reason monolith.CloseReason, why string) Transition {
	t := Transition{Key: ev.srv.key(st.key), At: ev.at, Kind: monolith.EventClosed, From: st.level, Reason: reason, Text: why}
	st.level, st.flapping = monolith.LevelOK, false
	return t
}

// sweep closes what is about rules that are gone.
func (s *serverState) sweep(at time.Time, out []Transition) []Transition {
	for _, st := range s.states {
		if s.cat.byID[st.key.rule] == nil && st.level > monolith.LevelOK {
			out = append(out, Transition{Key: s.key(st.key), At: at, Kind: monolith.EventClosed, From: st.level, Reason: monolith.ClosedRemoved, Text: "the rule was removed"})
		}
	}
	s.states = slices.DeleteFunc(s.states, func(st *ruleState) bool { return s.cat.byID[st.key.rule] == nil })
	return out
}

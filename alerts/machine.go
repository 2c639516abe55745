package alerts

import (
	"math"
	"slices"
	"time"

	"monolith"
	"monolith/formula"
)

// reading is what a condition says at one evaluation.
type reading struct {
	holds [4]bool // by level
	stays [4]bool // by level: not over yet
	lack  formula.Scalar
}

// step takes in a reading at a moment. What was counting begins anew when the evaluation before it is longer ago than
// patience: nobody knows what was in between.
func (c *condState) step(def *condition, r *reading, at time.Time, patience time.Duration) {
	if !c.last.isNone() && c.last.until(at) > patience {
		c.up, c.down = [4]moment{}, 0
	}
	now := momentOf(at)
	c.last = now
	for _, l := range monolith.Levels {
		switch {
		case !r.holds[l]:
			c.up[l] = 0
		case c.up[l].isNone():
			c.up[l] = now
		}
	}
	// Up: the highest level that has held long enough.
	for _, l := range slices.Backward(monolith.Levels) {
		if l > c.level && r.holds[l] && c.up[l].until(at) >= def.hold[l] {
			c.level, c.down = l, 0
			return
		}
	}
	if c.level == monolith.LevelOK || r.holds[c.level] || r.stays[c.level] {
		c.down = 0
		return
	}
	// Down, once the level in force was over for long enough.
	if c.down.isNone() {
		c.down = now
	}
	if c.down.until(at) < def.clear.after {
		return
	}
	c.down = 0
	for l := c.level - 1; ; l-- {
		if l == monolith.LevelOK || r.holds[l] || r.stays[l] {
			c.level = l
			return
		}
	}
}

// judge evaluates a condition.
func (ev *evaluator) judge(c *condition, st *condState, eff *effective) (r reading) {
	r.lack = found
	if len(c.levels) == 0 {
		ev.limits = nil
		yes, lack := ev.truth(c.expr)
		if lack.Lack() != formula.LackNone {
			r.lack = lack
			return r
		}
		level := c.constant
		if yes && c.level != nil {
			s := ev.eval(c.level)
			text, ok := s.Text()
			if !ok {
				r.lack = s
				return r
			}
			l, err := monolith.ParseLevel(text)
			if err != nil {
				r.lack = formula.Nothing(formula.LackFailed, "the rule gives the level "+quoted(text))
				return r
			}
			level = l
		}
		if yes {
			for l := monolith.LevelInfo; l <= level; l++ {
				r.holds[l] = c.level != nil || l == level
			}
		}
	} else {
		for i := range c.levels {
			ev.limits = eff.limits[c.index][i]
			yes, lack := ev.truth(c.expr)
			if lack.Lack() != formula.LackNone {
				r.lack = lack
				return r
			}
			if yes {
				// A graver level is a milder one too.
				for k := range i + 1 {
					r.holds[c.levels[k].level] = true
				}
			} else if c.ordered {
				break // nor does a graver one
			}
		}
	}
	if st.level == monolith.LevelOK {
		return r
	}
	ev.stays(c, st, eff, &r)
	return r
}

// stays finds which of the levels up to the one in force are not over yet.
func (ev *evaluator) stays(c *condition, st *condState, eff *effective, r *reading) {
	if c.clear.expr != nil {
		ev.limits = eff.at(c, st.level)
		over, lack := ev.truth(c.clear.expr)
		if lack.Lack() != formula.LackNone {
			r.lack = lack
			return
		}
		for l := monolith.LevelInfo; l <= st.level; l++ {
			r.stays[l] = !over && l == st.level
		}
		return
	}
	if c.clear.factor >= 1 {
		return
	}
	relaxed := make([]float64, len(ev.rule.limits))
	for i := range c.levels {
		if c.levels[i].level > st.level {
			break
		}
		c.clear.relaxed(eff.limits[c.index][i], ev.rule.limitUnits, relaxed)
		ev.limits = relaxed
		yes, lack := ev.truth(c.expr)
		if lack.Lack() != formula.LackNone {
			r.lack = lack
			return
		}
		r.stays[c.levels[i].level] = yes
	}
}

// truth evaluates a condition to true or false.
func (ev *evaluator) truth(e *expr) (bool, formula.Scalar) {
	s := ev.eval(e)
	if yes, ok := s.Bool(); ok {
		return yes, found
	}
	if s.Lack() == formula.LackNone {
		return false, formula.Nothing(formula.LackFailed, e.f.String()+" gives no truth value")
	}
	return false, s
}

// verdictOf judges one instance of a rule and moves its conditions on. It gives the state that the conditions stand for.
func (ev *evaluator) verdictOf(r *Rule, st *ruleState, eff *effective) verdict {
	if v := ev.warming(r); v.state != "" {
		return v
	}
	gate := true
	if r.gate != nil {
		var lack formula.Scalar
		if gate, lack = ev.truth(r.gate); lack.Lack() != formula.LackNone {
			return lackVerdict(lack)
		}
	}
	st.rebuild(r)
	var worst, absent formula.Scalar
	worst = found
	judged, holds, inForce := 0, monolith.LevelOK, monolith.LevelOK
	for i, c := range r.conditions {
		rd := ev.judge(c, &st.conds[i], eff)
		if !gate {
			// Too little happens to judge by; but what can't be read is told all the same.
			rd.holds, rd.stays = [4]bool{}, [4]bool{}
			if rd.lack.Lack() != formula.LackFailed {
				rd.lack = found
			}
		}
		switch lack := rd.lack.Lack(); {
		case lack == formula.LackAbsent:
			absent = rd.lack
			st.conds[i] = condState{}
			continue
		case lack != formula.LackNone:
			if worst.Lack() == formula.LackNone || lack > worst.Lack() {
				worst = rd.lack
			}
			continue
		}
		judged++
		st.conds[i].step(c, &rd, ev.at, ev.patience(r))
		inForce = max(inForce, st.conds[i].level)
		for _, l := range monolith.Levels {
			if rd.holds[l] {
				holds = max(holds, l)
			}
		}
	}
	st.holds = holds
	if worst.Lack() != formula.LackNone && (inForce == monolith.LevelOK || inForce < st.top()) {
		v := lackVerdict(worst)
		v.judged = judged > 0
		return v
	}
	if judged == 0 {
		return verdict{state: monolith.StateNotApplicable, why: absent.Why()}
	}
	switch {
	case st.top() > monolith.LevelOK:
		return verdict{state: monolith.StateOpen}
	case holds > monolith.LevelOK:
		return verdict{state: monolith.StatePending}
	}
	return verdict{state: monolith.StateOK}
}

// top gives the level in force over all conditions.
func (s *ruleState) top() monolith.Level {
	top := monolith.LevelOK
	for i := range s.conds {
		top = max(top, s.conds[i].level)
	}
	return top
}

// leading gives the condition that gives the level in force, or else the one that holds highest.
func (s *ruleState) leading() int {
	best, level := 0, monolith.LevelOK
	for i := range s.conds {
		if s.conds[i].level > level {
			best, level = i, s.conds[i].level
		}
	}
	if level > monolith.LevelOK {
		return best
	}
	for i := range s.conds {
		for _, l := range monolith.Levels {
			if l > level && !s.conds[i].up[l].isNone() {
				best, level = i, l
			}
		}
	}
	return best
}

// warming gives learning while the server is up too short for the rule.
func (ev *evaluator) warming(r *Rule) verdict {
	if r.warmup <= 0 {
		return verdict{}
	}
	up := uptime(ev)
	seconds, ok := up.Float()
	if !ok {
		return lackVerdict(up)
	}
	if seconds < r.warmup.Seconds() {
		return verdict{state: monolith.StateLearning, why: "status.Uptime: the server is up for " + formatSeconds(math.Round(seconds)) + ", the rule needs " + inWords(r.warmup)}
	}
	return verdict{}
}

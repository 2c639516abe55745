package alerts

import (
	"math"
	"slices"
	"strings"

	"monolith"
	"monolith/formula"
)

// maxSummary is how many characters a summary has at most.
const maxSummary = 160

// describe makes the alert's texts and values as they are now.
func (ev *evaluator) describe(r *Rule, st *ruleState, key stateKey, eff *effective) *monolith.Alert {
	ev.put(r, st, eff)
	c := r.conditions[min(st.leading(), len(r.conditions)-1)]
	a := &monolith.Alert{
		AlertKey: ev.srv.key(key), ServerName: ev.server.Name, Group: ev.server.Group, Title: r.info.Title, Category: r.info.Category,
		Level: st.level, Peak: st.level, Summary: ev.summaryOf(r, c), Text: ev.textOf(r, c), Formula: c.expr.f.ExplainEval(ev.explaining(c.expr)),
		Values: ev.values(r, c, eff, st.level), Remedy: ev.remedy(r), Opened: ev.at, Changed: ev.at,
	}
	ev.cur = nil
	if c.title != "" {
		a.Title = c.title
	}
	return a
}

// shown is the level that texts speak of: the one in force, else the one that holds.
func (st *ruleState) shown() monolith.Level {
	if st.level > monolith.LevelOK {
		return st.level
	}
	return st.holds
}

// put turns to the level and condition that texts speak of: the one in force, or the first that could hold.
func (ev *evaluator) put(r *Rule, st *ruleState, eff *effective) {
	c := r.conditions[min(st.leading(), len(r.conditions)-1)]
	ev.limits = eff.at(c, st.shown())
}

// explaining makes the formula the current one, for ExplainEval asks as Eval does.
func (ev *evaluator) explaining(e *expr) formula.Env {
	ev.cur = e
	return ev
}

func (ev *evaluator) summary(r *Rule, st *ruleState, eff *effective) string {
	ev.put(r, st, eff)
	return ev.summaryOf(r, r.conditions[min(st.leading(), len(r.conditions)-1)])
}

func (ev *evaluator) summaryOf(r *Rule, c *condition) string {
	t := c.summary
	if t == nil {
		t = r.summary
	}
	return shorten(strings.Join(strings.Fields(ev.render(t)), " "), maxSummary)
}

func (ev *evaluator) textOf(r *Rule, c *condition) string {
	t := c.says
	if t == nil {
		t = r.says
	}
	return shorten(ev.render(t), 4000)
}

// values are the quantities of the rule, with the limits that they are compared with.
func (ev *evaluator) values(r *Rule, c *condition, eff *effective, level monolith.Level) []monolith.AlertValue {
	out := make([]monolith.AlertValue, 0, len(r.lets))
	for i, q := range r.lets {
		if q.hidden {
			continue
		}
		s := ev.let(i)
		v := monolith.AlertValue{Name: q.name, Text: formatScalar(s, q.unit), Unit: q.unit, Is: q.expr.f.ExplainEval(ev.explaining(q.expr))}
		if n, ok := s.Float(); ok {
			v.Num = &n
		}
		if at := slices.Index(r.limits, "limit."+q.name); at >= 0 && slices.Contains(c.used, at) {
			v.Limit, v.From = limitOf(c, eff, level, at)
		}
		out = append(out, v)
	}
	for _, at := range c.used {
		name := strings.TrimPrefix(r.limits[at], "limit.")
		if slices.ContainsFunc(r.lets, func(q *quantity) bool { return q.name == name }) {
			continue
		}
		limit, from := limitOf(c, eff, level, at)
		if limit == nil {
			continue
		}
		out = append(out, monolith.AlertValue{Name: r.limits[at], Num: limit, Text: formatNumber(*limit, r.limitUnits[at]), Unit: r.limitUnits[at], From: from})
	}
	return out
}

// limitOf gives a limit in force at a level and where it comes from.
func limitOf(c *condition, eff *effective, level monolith.Level, at int) (*float64, string) {
	best := -1
	for i := range c.levels {
		if c.levels[i].level <= level || best < 0 {
			best = i
		}
	}
	if best < 0 || math.IsNaN(eff.limits[c.index][best][at]) {
		return nil, ""
	}
	v, from := eff.limits[c.index][best][at], fromBuiltIn
	if f := eff.froms[c.index][best]; f != nil && f[at] != "" {
		from = f[at]
	}
	return &v, from
}

// remedy makes out what to do, for the server at hand.
func (ev *evaluator) remedy(r *Rule) *monolith.Remedy {
	m := r.remedy
	if m == nil {
		return nil
	}
	out := &monolith.Remedy{Text: ev.render(m.text), Risk: ev.render(m.risk), Rollback: ev.render(m.rollback)}
	for _, t := range m.sql {
		if text := ev.render(t); text != "" {
			out.SQL = append(out.SQL, text)
		}
	}
	for _, t := range m.checks {
		if text := ev.render(t); text != "" {
			out.Checks = append(out.Checks, text)
		}
	}
	if m.restart != nil {
		out.Restart, _ = ev.truth(m.restart)
	}
	done := map[string]bool{}
	for i := range m.set {
		s := &m.set[i]
		if s.when != nil {
			if yes, lack := ev.truth(s.when); !yes || lack.Lack() != formula.LackNone {
				continue
			}
		}
		one, ok := ev.setting(s)
		if !ok || done[one.Variable] {
			continue
		}
		done[one.Variable] = true
		out.Settings = append(out.Settings, one)
	}
	return out
}

// setting makes out one change of a variable; false when it changes nothing or its value can't be worked out.
func (ev *evaluator) setting(s *setting) (monolith.Setting, bool) {
	one := monolith.Setting{Variable: ev.render(s.variable), Why: ev.render(s.why)}
	if s.text != nil {
		one.To = ev.render(s.text)
	} else {
		v := ev.eval(s.to)
		if n, ok := v.Float(); ok {
			v = formula.Number(math.Round(n*1e6) / 1e6)
		}
		if v.Lack() != formula.LackNone {
			return one, false
		}
		one.To = v.String()
	}
	if one.Variable == "" || one.To == "" || strings.Contains(one.To, "?") && s.text != nil && len(s.text.parts) > 1 {
		return one, false
	}
	if text, _, ok := ev.state.Text(monolith.Metric{Name: "variable." + strings.ReplaceAll(one.Variable, "-", "_")}); ok {
		one.From = text
		if strings.EqualFold(text, one.To) {
			return one, false
		}
	}
	if s.dynamic != nil {
		one.Dynamic, _ = ev.truth(s.dynamic)
	}
	return one, true
}

// Status tells what a rule says about each of its instances on a server now, with its numbers. It evaluates the rule's
// quantities at the time of the last poll. It is empty for servers and rules that are not known.
func (e *Engine) Status(server monolith.ServerID, rule string) []monolith.RuleStatus {
	return e.statuses(server, rule, true)
}

// States tells in which state every rule is on a server, without numbers and texts.
func (e *Engine) States(server monolith.ServerID) []monolith.RuleStatus {
	return e.statuses(server, "", false)
}

func (e *Engine) statuses(server monolith.ServerID, rule string, numbers bool) []monolith.RuleStatus {
	e.mu.RLock()
	s := e.servers[server]
	e.mu.RUnlock()
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil || s.cat == nil {
		return nil
	}
	ev := e.evaluators.Get().(*evaluator)
	defer e.evaluators.Put(ev)
	ev.reset(s, s.state.At)
	ev.engine = e
	var out []monolith.RuleStatus
	for _, st := range s.states {
		k := st.key
		r := s.cat.byID[k.rule]
		if r == nil || rule != "" && rule != k.rule {
			continue
		}
		one := monolith.RuleStatus{AlertKey: s.key(k), State: st.state, Level: st.shown(), Since: st.since.time(), Why: st.why, Input: st.input}
		if numbers {
			ev.number(r, st, k, s.effective[r.index], &one)
		}
		out = append(out, one)
	}
	return out
}

// number adds a state's values and text.
func (ev *evaluator) number(r *Rule, st *ruleState, k stateKey, eff *effective, one *monolith.RuleStatus) {
	if st.state == monolith.StateNotApplicable || !ev.turn(r, k.instance) {
		return
	}
	ev.put(r, st, eff)
	c := r.conditions[min(st.leading(), len(r.conditions)-1)]
	one.Values = ev.values(r, c, eff, st.shown())
	ev.cur = nil
	one.Text = ev.summaryOf(r, c)
}

// turn turns to an instance of a rule by its name; false when it is not there.
func (ev *evaluator) turn(r *Rule, instance string) bool {
	ev.about(r, nil, "")
	if r.set < 0 {
		return true
	}
	rows, lack := ev.rows(r.set)
	if lack.Lack() != formula.LackNone {
		return false
	}
	for _, x := range rows {
		if it := x.(*row); ev.nameOf(r, it) == instance {
			ev.about(r, it, instance)
			return true
		}
	}
	return false
}

// message gives the whole text that an alert of the key would have now, and its remedy; "" when it would have none.
func (e *Engine) message(server monolith.ServerID, key monolith.AlertKey) (text, remedy string) {
	s := e.server(server)
	s.mu.Lock()
	defer s.mu.Unlock()
	k := stateKey{key.Rule, key.Instance}
	st := s.states.get(k)
	if st == nil || s.cat.byID[k.rule] == nil {
		return "", ""
	}
	r := s.cat.byID[k.rule]
	ev := e.evaluators.Get().(*evaluator)
	defer e.evaluators.Put(ev)
	ev.reset(s, s.state.At)
	ev.engine = e
	if !ev.turn(r, k.instance) {
		return "", ""
	}
	ev.put(r, st, s.effective[r.index])
	text = ev.textOf(r, r.conditions[min(st.leading(), len(r.conditions)-1)])
	if m := ev.remedy(r); m != nil {
		parts := append([]string{m.Text, m.Risk, m.Rollback}, append(m.SQL, m.Checks...)...)
		for _, set := range m.Settings {
			parts = append(parts, set.Variable+" = "+set.To)
		}
		remedy = strings.Join(parts, "\n")
	}
	return text, remedy
}

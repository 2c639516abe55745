package alerts

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"monolith"
)

func (c *compiler) texts(e *ruleEntry, r *Rule, sc *scopeOf, fail func(string, error) error) (err error) {
	if r.summary, err = c.template(e.Summary, sc); err != nil {
		return fail("summary", err)
	}
	if r.says, err = c.template(e.Says, sc); err != nil {
		return fail("says", err)
	}
	for i := range e.When {
		path := fmt.Sprintf("when[%d]", i)
		if r.conditions[i].summary, err = c.template(e.When[i].Summary, sc); err != nil {
			return fail(path+".summary", err)
		}
		if r.conditions[i].says, err = c.template(e.When[i].Says, sc); err != nil {
			return fail(path+".says", err)
		}
	}
	if e.Remedy == nil {
		return nil
	}
	m := &remedy{}
	r.remedy = m
	for _, t := range []struct {
		field, text string
		to          **template
	}{{"text", e.Remedy.Text, &m.text}, {"risk", e.Remedy.Risk, &m.risk}, {"rollback", e.Remedy.Rollback, &m.rollback}} {
		if *t.to, err = c.template(t.text, sc); err != nil {
			return fail("remedy."+t.field, err)
		}
	}
	for _, list := range []struct {
		field string
		texts []string
		to    *[]*template
	}{{"sql", e.Remedy.SQL, &m.sql}, {"checks", e.Remedy.Checks, &m.checks}} {
		for i, text := range list.texts {
			t, err := c.template(text, sc)
			if err != nil {
				return fail(fmt.Sprintf("remedy.%s[%d]", list.field, i), err)
			}
			*list.to = append(*list.to, t)
		}
	}
	if e.Remedy.Restart != "" {
		if m.restart, err = c.truth(string(e.Remedy.Restart), sc); err != nil {
			return fail("remedy.restart", err)
		}
	}
	for i, s := range e.Remedy.Set {
		path := fmt.Sprintf("remedy.set[%d]", i)
		one, err := c.setting(s, sc, path, fail)
		if err != nil {
			return err
		}
		m.set = append(m.set, one)
	}
	return nil
}

func (c *compiler) setting(s setEntry, sc *scopeOf, path string, fail func(string, error) error) (one setting, err error) {
	if strings.TrimSpace(s.Variable) == "" || strings.TrimSpace(s.To) == "" {
		return one, fail(path, monolith.Invalid("", "a setting needs variable and to"))
	}
	if one.variable, err = c.template(s.Variable, sc); err != nil {
		return one, fail(path+".variable", err)
	}
	if strings.Contains(s.To, "{") {
		if one.text, err = c.template(s.To, sc); err != nil {
			return one, fail(path+".to", err)
		}
	} else if literalSetting(s.To) {
		one.text = &template{parts: []part{{text: s.To}}}
	} else if one.to, err = c.expr(s.To, sc); err != nil {
		return one, fail(path+".to", err)
	}
	if s.When != "" {
		if one.when, err = c.truth(s.When, sc); err != nil {
			return one, fail(path+".when", err)
		}
	}
	if s.Dynamic != "" {
		if one.dynamic, err = c.truth(string(s.Dynamic), sc); err != nil {
			return one, fail(path+".dynamic", err)
		}
	}
	if one.why, err = c.template(s.Why, sc); err != nil {
		return one, fail(path+".why", err)
	}
	return one, nil
}

// literalSetting reports whether a value of a setting is written as it goes into my.cnf: ON, O_DIRECT, 16M, 604800.
var literalValue = regexp.MustCompile(`^([A-Z][A-Z0-9_-]*|[0-9]+[KMGT]?|[0-9.]+)$`)

func literalSetting(to string) bool { return literalValue.MatchString(to) }

func (c *compiler) info(e *ruleEntry, r *Rule) monolith.RuleInfo {
	info := monolith.RuleInfo{
		ID: e.ID, Title: e.Title, Category: e.Category, Plan: e.Plan, Own: r.own, About: strings.TrimSpace(e.About), Each: r.each,
		Window: r.window, Warmup: r.warmup, Every: cmp.Or(e.Every, "slow"), Needs: r.needs.words(), Says: strings.TrimSpace(e.Says),
		Graph: r.graph, Runbook: e.Runbook, Labels: e.Labels,
	}
	if e.Remedy != nil {
		info.Remedy = strings.TrimSpace(e.Remedy.Text)
	}
	for _, q := range r.lets {
		info.Let = append(info.Let, monolith.RuleQuantity{Name: q.name, Is: q.expr.f.String(), Unit: q.unit})
	}
	for i, cond := range r.conditions {
		entry := &e.When[i]
		one := monolith.RuleCondition{If: cond.expr.f.String(), Limits: entry.Limits, Level: entry.Level, For: map[string]string{}}
		for _, l := range monolith.Levels {
			if cond.hold[l] > 0 && (len(cond.levels) == 0 || slices.ContainsFunc(cond.levels, func(x conditionLevel) bool { return x.level == l })) {
				one.For[l.String()] = inWords(cond.hold[l])
			}
		}
		one.Clear = clearWords(cond)
		for _, cmp := range cond.expr.f.Comparisons(isLimit) {
			one.Compares = append(one.Compares, monolith.RuleComparison{Name: cmp.Name, Limit: strings.TrimPrefix(cmp.Local, "limit."), Alone: cmp.Alone})
		}
		info.When = append(info.When, one)
	}
	for _, id := range r.inputs {
		if name := c.inputs[id].Name; !slices.Contains(info.Inputs, name) {
			info.Inputs = append(info.Inputs, name)
		}
	}
	return info
}

// isLimit reports whether a local is one of the limits.
func isLimit(local string) bool { return strings.HasPrefix(local, "limit.") }

func clearWords(c *condition) string {
	when := "at the next good reading"
	if c.clear.after > 0 {
		when = "for " + inWords(c.clear.after)
	}
	switch {
	case c.clear.expr != nil:
		return "when " + c.clear.expr.f.String() + ", " + when
	case len(c.levels) > 0 && c.clear.factor < 1:
		return "back past " + formatNumber(100*c.clear.factor, "%") + " of the limit, " + when
	}
	return when
}

package alerts

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"monolith"
)

// The places that a limit or a switch comes from.
const (
	fromBuiltIn = "built-in"
	fromGlobal  = "global"
	fromServer  = "server"
)

// effective is what is in force of a rule for one server.
type effective struct {
	enabled     bool
	enabledFrom string
	// limits are by condition, its level with limits, and limit of the rule; froms says where each comes from.
	limits      [][][]float64
	froms       [][][]string
	runbook     string
	runbookFrom string
}

// at gives the limits of a condition at a level; of none that it has, those of its mildest.
func (e *effective) at(c *condition, level monolith.Level) []float64 {
	if len(c.levels) == 0 {
		return nil
	}
	best := 0
	for i := range c.levels {
		if c.levels[i].level <= level {
			best = i
		}
	}
	return e.limits[c.index][best]
}

// settings are what people changed, ready to be looked up. It is immutable.
type settings struct {
	byRule map[string][]monolith.RuleSetting // global first, then groups from the widest, then servers
}

func newSettings(list []monolith.RuleSetting) *settings {
	s := &settings{byRule: map[string][]monolith.RuleSetting{}}
	for _, one := range list {
		s.byRule[one.Rule] = append(s.byRule[one.Rule], one)
	}
	for _, l := range s.byRule {
		slices.SortStableFunc(l, func(a, b monolith.RuleSetting) int { return cmp.Compare(width(&a), width(&b)) })
	}
	return s
}

// width sorts scopes from the widest to the nearest.
func width(s *monolith.RuleSetting) int {
	switch {
	case s.Server != 0:
		return 1 << 20
	case s.Group != "":
		return 1 + strings.Count(s.Group, "/")
	}
	return 0
}

// originOf names the place of a setting.
func originOf(s *monolith.RuleSetting) string {
	switch {
	case s.Server != 0:
		return fromServer
	case s.Group != "":
		return "group " + s.Group
	}
	return fromGlobal
}

func covers(s *monolith.RuleSetting, server monolith.ServerID, group string) bool {
	switch {
	case s.Server != 0:
		return s.Server == server
	case s.Group != "":
		return monolith.InGroup(group, s.Group)
	}
	return true
}

// effective works out what is in force of a rule for a server: the nearest place wins, item by item. Of limits that
// became inconsistent, as after a change of the built-in ones, the built-in ones are in force. It must not be changed: servers
// without settings of their own share one.
func (s *settings) effective(r *Rule, server monolith.ServerID, group string) *effective {
	if s == nil || !slices.ContainsFunc(s.byRule[r.id], func(x monolith.RuleSetting) bool { return covers(&x, server, group) }) {
		return r.plain
	}
	e := plainEffective(r)
	if s.merge(e, r, server, group) != nil {
		e.limits, e.froms = r.plain.limits, r.plain.froms
	}
	return e
}

// plainEffective gives what is in force of a rule where nobody set anything.
func plainEffective(r *Rule) *effective {
	e := &effective{enabled: true, enabledFrom: fromBuiltIn, runbook: r.entry.Runbook, runbookFrom: fromBuiltIn}
	if e.runbook == "" {
		e.runbookFrom = ""
	}
	e.limits = make([][][]float64, len(r.conditions))
	e.froms = make([][][]string, len(r.conditions))
	for i, c := range r.conditions {
		for _, l := range c.levels {
			e.limits[i] = append(e.limits[i], l.values)
			e.froms[i] = append(e.froms[i], nil)
		}
	}
	return e
}

// merge puts the settings for a server over the built-in ones. An error says that their limits contradict each other.
func (s *settings) merge(e *effective, r *Rule, server monolith.ServerID, group string) error {
	touched := false
	for k := range s.byRule[r.id] {
		set := &s.byRule[r.id][k]
		if !covers(set, server, group) {
			continue
		}
		from := originOf(set)
		if set.Enabled != nil {
			e.enabled, e.enabledFrom = *set.Enabled, from
		}
		if set.Runbook != "" {
			e.runbook, e.runbookFrom = set.Runbook, from
		}
		if len(set.Limits) > 0 {
			touched = true
			e.take(r, set.Limits, from)
		}
	}
	if !touched {
		return nil
	}
	return e.check(r)
}

// contradiction finds settings whose limits, taken together for a server, make a milder level stricter than a graver one.
func (s *settings) contradiction(r *Rule, server monolith.ServerID, group string) error {
	return s.merge(plainEffective(r), r, server, group)
}

// take puts changed limits in.
func (e *effective) take(r *Rule, limits map[string]map[string]float64, from string) {
	for i, c := range r.conditions {
		for k, l := range c.levels {
			for name, v := range limits[l.level.String()] {
				at := slices.Index(r.limits, "limit."+name)
				if at < 0 || math.IsNaN(l.values[at]) || math.IsNaN(v) || math.IsInf(v, 0) {
					continue
				}
				if e.froms[i][k] == nil {
					e.limits[i][k] = slices.Clone(e.limits[i][k])
					e.froms[i][k] = make([]string, len(r.limits))
				}
				e.limits[i][k][at], e.froms[i][k][at] = v, from
			}
		}
	}
}

// check refuses limits of which a milder level is stricter than a graver one.
func (e *effective) check(r *Rule) error {
	for i, c := range r.conditions {
		if err := checkSides(r, c, func(level, limit int) float64 { return e.limits[i][level][limit] }); err != nil {
			return err
		}
	}
	return nil
}

// CheckSetting refuses a setting that makes no sense by itself or together with those of wider places: an unknown
// rule, level or limit, no number, a milder level stricter than a graver one. all are the settings in force, of which
// the one of the same rule and place is replaced.
func (c *Catalogue) CheckSetting(set *monolith.RuleSetting, all []monolith.RuleSetting, group string) error {
	r := c.byID[set.Rule]
	if r == nil {
		return monolith.Invalid("rule", fmt.Sprintf("there is no rule %s", quoted(set.Rule)))
	}
	for level, byName := range set.Limits {
		l, err := monolith.ParseLevel(level)
		if err != nil || l == monolith.LevelOK {
			return monolith.Invalid("limits", quoted(level)+" is not a level", "info, warn or critical")
		}
		for name, v := range byName {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return monolith.Invalid("limits", "the limit "+quoted(name)+" is not a number")
			}
			known := slices.ContainsFunc(r.conditions, func(c *condition) bool {
				return slices.ContainsFunc(c.levels, func(x conditionLevel) bool {
					at := slices.Index(r.limits, "limit."+name)
					return x.level == l && at >= 0 && !math.IsNaN(x.values[at])
				})
			})
			if !known {
				return monolith.Invalid("limits", fmt.Sprintf("the rule %s has no limit %s for %s", r.id, quoted(name), l), limitNames(r))
			}
		}
	}
	if len(set.Runbook) > 2000 || set.Runbook != "" && !strings.HasPrefix(set.Runbook, "http://") && !strings.HasPrefix(set.Runbook, "https://") && !strings.HasPrefix(set.Runbook, "/") {
		return monolith.Invalid("runbook", "a runbook is a link of at most 2,000 characters", "https://…")
	}
	merged := slices.DeleteFunc(slices.Clone(all), func(o monolith.RuleSetting) bool {
		return o.Rule == set.Rule && o.RuleScope == set.RuleScope
	})
	merged = append(merged, *set)
	e := plainEffective(r)
	for _, one := range newSettings(merged).byRule[r.id] {
		if width(&one) <= width(set) && covers(&one, set.Server, cmp.Or(group, set.Group)) {
			e.take(r, one.Limits, originOf(&one))
		}
	}
	return e.check(r)
}

func limitNames(r *Rule) string {
	names := make([]string, len(r.limits))
	for i, l := range r.limits {
		names[i] = strings.TrimPrefix(l, "limit.")
	}
	if len(names) == 0 {
		return "it has no limits"
	}
	return "its limits are " + strings.Join(names, ", ")
}

// describe gives what is in force in the words of the API.
func (e *effective) describe(r *Rule) monolith.EffectiveRule {
	out := monolith.EffectiveRule{Rule: r.id, Enabled: e.enabled, EnabledFrom: e.enabledFrom, Limits: []monolith.EffectiveLimit{}, Runbook: e.runbook, RunbookFrom: e.runbookFrom}
	for i, c := range r.conditions {
		for k, l := range c.levels {
			for _, at := range c.used {
				from := fromBuiltIn
				if e.froms[i][k] != nil && e.froms[i][k][at] != "" {
					from = e.froms[i][k][at]
				}
				out.Limits = append(out.Limits, monolith.EffectiveLimit{Condition: i, Level: l.level, Name: strings.TrimPrefix(r.limits[at], "limit."),
					Value: e.limits[i][k][at], From: from, BuiltIn: l.values[at], Unit: r.limitUnits[at]})
			}
		}
	}
	return out
}

package web

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"monolith"
	"monolith/graph"
)

// rulesPage is the catalogue: every rule under its category.
type rulesPage struct {
	pageBase
	Tab        string
	Categories []ruleCategory
	Search     string
	Shown, All int
}

type ruleCategory struct {
	Name  string
	Rules []ruleLine
}

// ruleLine is one rule of the catalogue.
type ruleLine struct {
	monolith.RuleInfo
	Open  int // alerts
	Worst monolith.Level
	Off   bool // switched off for all servers
	Set   int  // places at which people changed it
}

// Limits writes the built-in limits by level, as "warn 60 s".
func (l ruleLine) Limits() []levelLimits { return limitsOfRule(&l.RuleInfo) }

// levelLimits are the limits of one level.
type levelLimits struct {
	Level monolith.Level
	Text  string
}

func limitsOfRule(rule *monolith.RuleInfo) []levelLimits {
	var list []levelLimits
	for _, level := range monolith.Levels {
		var parts []string
		for _, c := range rule.When {
			for _, name := range sortedKeys(c.Limits[level.String()]) {
				text := formatUnit(c.Limits[level.String()][name], unitOfLimit(rule, name))
				if !slices.Contains(parts, text) {
					parts = append(parts, text)
				}
			}
			if c.Limits == nil && c.Level == level.String() {
				parts = append(parts, "")
			}
		}
		if parts != nil {
			list = append(list, levelLimits{level, strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")})
		}
	}
	return list
}

// unitOfLimit gives the unit of a limit, which is that of the quantity of its name.
func unitOfLimit(rule *monolith.RuleInfo, name string) string {
	for _, q := range rule.Let {
		if q.Name == name {
			return q.Unit
		}
	}
	return ""
}

// writeNumber writes a number so that it can be read back, without needless figures.
func writeNumber(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// drawnUnits are the units that graphs know how to write; others are words behind the number.
var drawnUnits = []string{"", "%", "bytes", "bytes/s", "s", "ms", "1/s"}

// formatUnit writes a value with its unit for people.
func formatUnit(v float64, unit string) string {
	if slices.Contains(drawnUnits, unit) {
		return graph.Format(v, unit)
	}
	return strings.TrimSpace(graph.Format(v, "") + " " + unit)
}

func (s *Server) rulesPage(w http.ResponseWriter, r *http.Request) error {
	d := rulesPage{pageBase: s.pageBase(r, "Rules", "alerts"), Tab: "rules", Search: strings.TrimSpace(r.URL.Query().Get("q"))}
	settings, err := s.alerts.RuleSettings(r.Context())
	if err = d.unread(err, "what was changed of rules"); err != nil {
		return err
	}
	open, worst := map[string]int{}, map[string]monolith.Level{}
	for _, a := range s.alerts.Open() {
		open[a.Rule]++
		worst[a.Rule] = max(worst[a.Rule], a.Level)
	}
	needle := strings.ToLower(d.Search)
	rules := s.alerts.Rules()
	d.All = len(rules)
	for _, rule := range rules {
		if needle != "" && !strings.Contains(strings.ToLower(rule.ID+"\n"+rule.Title+"\n"+strings.Join(rule.Plan, "\n")+"\n"+strings.Join(rule.Inputs, "\n")), needle) {
			continue
		}
		line := ruleLine{RuleInfo: rule, Open: open[rule.ID], Worst: worst[rule.ID]}
		for _, one := range settings {
			if one.Rule != rule.ID {
				continue
			}
			line.Set++
			if one.RuleScope == (monolith.RuleScope{}) && one.Enabled != nil && !*one.Enabled {
				line.Off = true
			}
		}
		name := rule.Category
		if rule.Own {
			name = "rules of your own"
		}
		at := slices.IndexFunc(d.Categories, func(c ruleCategory) bool { return c.Name == name })
		if at < 0 {
			at = len(d.Categories)
			d.Categories = append(d.Categories, ruleCategory{Name: name})
		}
		d.Categories[at].Rules = append(d.Categories[at].Rules, line)
		d.Shown++
	}
	return s.render(w, r, "rules", &d)
}

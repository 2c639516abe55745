package web

import (
	"context"
	"slices"
	"strings"
	"sync"

	"monolith"
	"monolith/graph"
)

// maxBands bounds the alerts drawn behind one graph: more can't be told apart.
const maxBands = 100

// inputsByGraph are the metrics that each graph of the catalogue draws.
var inputsByGraph = sync.OnceValue(func() map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for _, g := range graph.Catalogue() {
		all[g.ID] = inputsOf(g)
	}
	return all
})

func inputsOf(g *graph.Graph) map[string]bool {
	names := map[string]bool{}
	for _, name := range g.Inputs() {
		names[name] = true
	}
	return names
}

// graphInputs gives the metrics that a graph draws.
func graphInputs(g *graph.Graph) map[string]bool {
	if names, built := inputsByGraph()[g.ID]; built {
		return names
	}
	return inputsOf(g)
}

// comparison is a part of a rule's condition that compares a formula with a limit.
type comparison struct {
	Rule      string
	Title     string
	Condition int
	Limit     string // its name
}

// comparisonsOf gives what rules compare with limits, by the formula without its spaces: quantities are replaced by
// what they stand for. Only a line that is exactly such a formula has the limit: a line that almost is would be judged
// wrongly by the eye. So would one beyond whose limit alone nothing happens yet.
func comparisonsOf(rules []monolith.RuleInfo) map[string][]comparison {
	all := map[string][]comparison{}
	for i := range rules {
		rule := &rules[i]
		for n, c := range rule.When {
			for _, pair := range c.Compares {
				if !pair.Alone {
					continue
				}
				expr := pair.Name
				if at := slices.IndexFunc(rule.Let, func(q monolith.RuleQuantity) bool { return q.Name == expr }); at >= 0 {
					expr = rule.Let[at].Is
				}
				key := spaceless(expr)
				all[key] = append(all[key], comparison{rule.ID, rule.Title, n, pair.Limit})
			}
		}
	}
	return all
}

func spaceless(s string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(s, " ", "")), "")
}

// judgeDrawings puts to the drawings of one server the limits of the rules that judge their lines there, and the times
// in which rules that read the same values had an alert open.
func (s *Server) judgeDrawings(ctx context.Context, server *monolith.Server, v view, drawings []*graph.Drawing) error {
	if s.alerts == nil || len(drawings) == 0 {
		return nil
	}
	rules := s.alerts.Rules()
	s.limitLines(server, rules, drawings)
	history, err := asked(ctx, s.inventory, func(ctx context.Context) ([]monolith.Alert, error) {
		return s.alerts.Alerts(ctx, monolith.AlertQuery{Open: true, Closed: true, Servers: []monolith.ServerID{server.ID}, From: v.from, To: v.to, Limit: maxBands})
	})
	if err != nil {
		return err
	}
	if len(history) == 0 {
		return nil
	}
	drawn := make([]map[string]bool, len(drawings))
	for i, d := range drawings {
		drawn[i] = movingNames(d)
	}
	for i := range history {
		at := slices.IndexFunc(rules, func(r monolith.RuleInfo) bool { return r.ID == history[i].Rule })
		if at < 0 {
			continue
		}
		for j, d := range drawings {
			if concerns(&rules[at], d.ID, drawn[j]) {
				d.Bands = append(d.Bands, bandOf(&history[i]))
			}
		}
	}
	return nil
}

// movingNames gives the metrics that a drawing shows, without those that only many rules divide by.
func movingNames(d *graph.Drawing) map[string]bool {
	names := map[string]bool{}
	for _, p := range d.Panels {
		for _, l := range p.Lines {
			for _, name := range l.Inputs {
				if !strings.HasPrefix(name, "variable.") && !everywhere[name] {
					names[name] = true
				}
			}
		}
	}
	return names
}

// concerns reports whether a rule's alerts are drawn behind a graph: the rule names it, or they share a value that
// moves.
func concerns(rule *monolith.RuleInfo, id string, drawn map[string]bool) bool {
	return rule.Graph != "" && rule.Graph == id || slices.ContainsFunc(rule.Inputs, func(name string) bool { return drawn[name] })
}

// everywhere are values that many rules read only to divide by them.
var everywhere = map[string]bool{"status.Uptime": true, "status.Questions": true, "status.Connections": true, "server.up": true, "server.polled": true}

func bandOf(a *monolith.Alert) graph.Band {
	text := a.Title
	if a.Instance != "" {
		text += " " + a.Instance
	}
	return graph.Band{From: a.Opened, To: a.Closed, Level: max(a.Peak, a.Level), Text: text}
}

// limitLines puts the limits in force on the server to the panels whose lines they judge.
func (s *Server) limitLines(server *monolith.Server, rules []monolith.RuleInfo, drawings []*graph.Drawing) {
	all := s.comparisons(rules)
	inForce := map[string]*monolith.EffectiveRule{}
	for _, d := range drawings {
		for i := range d.Panels {
			p := &d.Panels[i]
			for j := range p.Lines {
				l := &p.Lines[j]
				if l.Hidden || l.Below || l.Style == graph.StyleStack || l.Style == graph.StyleStrip || l.Style == graph.StyleNone {
					continue // a limit of one value says nothing about a pile of them
				}
				for _, c := range all[spaceless(l.Expr)] {
					e, known := inForce[c.Rule]
					if !known {
						if one, err := s.alerts.EffectiveRule(server.ID, c.Rule); err == nil && one.Enabled {
							e = &one
						}
						inForce[c.Rule] = e
					}
					p.Limits = addLimits(p.Limits, e, c, l.Right)
				}
			}
		}
	}
}

func addLimits(list []graph.Limit, e *monolith.EffectiveRule, c comparison, right bool) []graph.Limit {
	if e == nil {
		return list
	}
	for _, l := range e.Limits {
		if l.Condition != c.Condition || l.Name != c.Limit {
			continue
		}
		limit := graph.Limit{Value: l.Value, Level: l.Level, Name: c.Title, Right: right}
		if !slices.Contains(list, limit) {
			list = append(list, limit)
		}
	}
	return list
}

// judging remembers what rules compare, for as long as the rules are the same.
type judging struct {
	mu    sync.Mutex
	rules []monolith.RuleInfo
	all   map[string][]comparison
}

func (s *Server) comparisons(rules []monolith.RuleInfo) map[string][]comparison {
	j := &s.judging
	j.mu.Lock()
	defer j.mu.Unlock()
	same := len(j.rules) == len(rules) && slices.EqualFunc(j.rules, rules, func(a, b monolith.RuleInfo) bool { return a.ID == b.ID && a.Source == b.Source })
	if j.all == nil || !same {
		j.rules, j.all = slices.Clone(rules), comparisonsOf(rules)
	}
	return j.all
}

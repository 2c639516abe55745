package web

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"monolith"
	"monolith/formula"
)

// ruleNamed gives a rule by its id, or a problem that names the nearest.
func (s *Server) ruleNamed(field, id string) (monolith.RuleInfo, error) {
	rules := s.alerts.Rules()
	if i := slices.IndexFunc(rules, func(r monolith.RuleInfo) bool { return r.ID == id }); i >= 0 {
		return rules[i], nil
	}
	p := notFound("rule", id, "/api/v1/rules lists them")
	ids := make([]string, len(rules))
	for i := range rules {
		ids[i] = rules[i].ID
	}
	if near := formula.Nearest(id, ids); near != "" {
		p.Cure = fmt.Sprintf("did you mean %q?", near)
	}
	p.Field = field
	return monolith.RuleInfo{}, p
}

// ruleView is a rule with its lengths of time in seconds.
type ruleView struct {
	monolith.RuleInfo
	Window float64 `json:"window,omitempty"`
	Warmup float64 `json:"warmup,omitempty"`
}

func viewRule(r monolith.RuleInfo) ruleView {
	return ruleView{r, r.Window.Seconds(), r.Warmup.Seconds()}
}

func (s *Server) listRules(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "category", "plan", "own", "limit", "cursor")
	category, plan, own := q.text("category"), q.text("plan"), q.oneOf("own", "", "true", "false")
	rules := s.alerts.Rules()
	var categories []string
	for i := range rules {
		if c := rules[i].Category; !slices.Contains(categories, c) {
			categories = append(categories, c)
		}
	}
	if category != "" {
		q.oneOf("category", append([]string{""}, categories...)...)
	}
	views := []ruleView{}
	for _, rule := range rules {
		if (category == "" || rule.Category == category) && (plan == "" || slices.Contains(rule.Plan, plan)) && (own == "" || rule.Own == (own == "true")) {
			views = append(views, viewRule(rule))
		}
	}
	part, next := cut(q, views, 1000, func(v ruleView) string { return v.ID })
	if q.err != nil {
		return q.err
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Rules []ruleView `json:"rules"`
		Next  string     `json:"next,omitempty"`
	}{orEmpty(part), next})
}

// settingView is a setting with its server's name.
type settingView struct {
	monolith.RuleSetting
	Server string `json:"server,omitempty"`
}

// settingViews gives the settings of a rule, the widest first, with their servers' names.
func (s *Server) settingViews(r *http.Request, rule string) ([]settingView, error) {
	settings, err := s.alerts.RuleSettings(r.Context())
	if err != nil {
		return nil, err
	}
	names, err := s.serverNames(r.Context())
	if err != nil {
		return nil, err
	}
	views := []settingView{}
	for _, one := range settings {
		if name, there := names[one.Server]; one.Rule == rule && (one.RuleScope.Server == 0 || there) {
			views = append(views, settingView{one, name})
		}
	}
	return views, nil
}

func (s *Server) showRule(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	rule, err := s.ruleNamed("", pathValue(r, "id"))
	if err != nil {
		return err
	}
	settings, err := s.settingViews(r, rule.ID)
	if err != nil {
		return err
	}
	states := map[monolith.RuleState]int{}
	for _, status := range s.alerts.RuleStatuses(rule.ID) {
		states[status.State]++
	}
	v := struct {
		ruleView
		Source   string                     `json:"source,omitempty"` // of a user's rule
		Version  int                        `json:"version,omitempty"`
		By       string                     `json:"by,omitempty"`
		Updated  time.Time                  `json:"updated,omitzero"`
		Settings []settingView              `json:"settings"`
		States   map[monolith.RuleState]int `json:"states"` // how many servers and instances are in which
	}{ruleView: viewRule(rule), Settings: settings, States: states}
	if rule.Own {
		kept, err := s.alerts.OwnRules(r.Context())
		if err != nil {
			return err
		}
		v.Source = rule.Source
		for _, o := range kept {
			if o.ID == rule.ID {
				v.Source, v.Version, v.By, v.Updated = o.Source, o.Version, o.By, o.At
			}
		}
	}
	return s.respond(w, r, http.StatusOK, "rule", v)
}

// scopeOf reads for whom a setting is: server= or group=, or neither for all.
func (s *Server) scopeOf(r *http.Request, q *query) (scope monolith.RuleScope, server string, err error) {
	server, scope.Group = q.text("server"), q.text("group")
	if server != "" && scope.Group != "" {
		q.fail(monolith.Invalid("group", "there are both a server and a group", "give one of them, or none for all servers"))
	}
	if q.err != nil {
		return scope, server, q.err
	}
	if server != "" {
		found, err := s.serverNamed(r.Context(), "server", server)
		if err != nil {
			return scope, server, err
		}
		scope.Server = found.ID
	}
	return scope, server, s.groupThere(r.Context(), "group", scope.Group)
}

// showRuleSetting gives what is set of a rule at one place, and for a server what is in force there.
func (s *Server) showRuleSetting(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "server", "group")
	rule, err := s.ruleNamed("", pathValue(r, "id"))
	if err != nil {
		return err
	}
	scope, server, err := s.scopeOf(r, q)
	if err != nil {
		return err
	}
	return s.answerSetting(w, r, rule.ID, scope, server)
}

func (s *Server) answerSetting(w http.ResponseWriter, r *http.Request, rule string, scope monolith.RuleScope, server string) error {
	settings, err := s.alerts.RuleSettings(r.Context())
	if err != nil {
		return err
	}
	v := struct {
		Rule    string                  `json:"rule"`
		Server  string                  `json:"server,omitempty"`
		Group   string                  `json:"group,omitempty"`
		Setting *monolith.RuleSetting   `json:"setting"` // null: nothing is set here
		InForce *monolith.EffectiveRule `json:"in_force,omitempty"`
	}{Rule: rule, Server: server, Group: scope.Group}
	for i := range settings {
		if settings[i].Rule == rule && settings[i].RuleScope == scope {
			v.Setting = &settings[i]
		}
	}
	if scope.Server != 0 {
		e, err := s.alerts.EffectiveRule(scope.Server, rule)
		if err != nil {
			return err
		}
		v.InForce = &e
	}
	return s.respond(w, r, http.StatusOK, "setting", v)
}

// putRuleSetting replaces what is set of a rule at one place.
func (s *Server) putRuleSetting(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "server", "group")
	rule, err := s.ruleNamed("", pathValue(r, "id"))
	if err != nil {
		return err
	}
	scope, server, err := s.scopeOf(r, q)
	if err != nil {
		return err
	}
	var in struct {
		Enabled *bool                         `json:"enabled"`
		Limits  map[string]map[string]float64 `json:"limits"`
		Runbook string                        `json:"runbook"`
		By      string                        `json:"by"`
	}
	if err := decode(r, &in); err != nil {
		return err
	}
	if err := firstErr(checkSaid("by", in.By, 128), checkSaid("runbook", in.Runbook, 1000)); err != nil {
		return err
	}
	setting := monolith.RuleSetting{Rule: rule.ID, RuleScope: scope, Enabled: in.Enabled, Limits: in.Limits, Runbook: in.Runbook, By: in.By, At: s.now()}
	if err := s.alerts.PutRuleSettings(r.Context(), []monolith.RuleSetting{setting}); err != nil {
		return err
	}
	return s.answerSetting(w, r, rule.ID, scope, server)
}

func (s *Server) deleteRuleSetting(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "server", "group")
	rule, err := s.ruleNamed("", pathValue(r, "id"))
	if err != nil {
		return err
	}
	scope, _, err := s.scopeOf(r, q)
	if err != nil {
		return err
	}
	if err := s.alerts.PutRuleSettings(r.Context(), []monolith.RuleSetting{{Rule: rule.ID, RuleScope: scope}}); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// statusView is a state with the rule's title.
type statusView struct {
	Title    string `json:"title"`
	Category string `json:"category"`
	monolith.RuleStatus
}

// showServerRules gives what every rule says about a server: none is silent.
func (s *Server) showServerRules(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "state", "rule", "limit", "cursor")
	var known []string
	for _, state := range monolith.RuleStates {
		known = append(known, string(state))
	}
	states := q.texts("state", len(known))
	for _, state := range states {
		if !slices.Contains(known, state) {
			q.fail(monolith.Invalid("state", fmt.Sprintf("%q is not known here", state), "one of "+fmt.Sprint(known)))
		}
	}
	id := q.text("rule")
	server, st, err := s.stateOf(r, q)
	if err != nil {
		return err
	}
	if id != "" {
		if _, err := s.ruleNamed("rule", id); err != nil {
			return err
		}
	}
	rules := map[string]monolith.RuleInfo{}
	for _, rule := range s.alerts.Rules() {
		rules[rule.ID] = rule
	}
	all := s.alerts.Statuses(server.ID)
	views, counts := []statusView{}, map[monolith.RuleState]int{}
	for _, status := range all {
		counts[status.State]++
		if (id == "" || status.Rule == id) && (len(states) == 0 || slices.Contains(states, string(status.State))) {
			views = append(views, statusView{rules[status.Rule].Title, rules[status.Rule].Category, status})
		}
	}
	part, next := cut(q, views, 1000, func(v statusView) string { return v.Rule + "\x00" + v.Instance })
	if q.err != nil {
		return q.err
	}
	head := s.about(&server, st)
	if all == nil && head.Note == "" {
		head.Note = "no rule was evaluated yet"
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		about
		States map[monolith.RuleState]int `json:"states"` // how many rules and instances are in which, of all
		Rules  []statusView               `json:"rules"`
		Next   string                     `json:"next,omitempty"`
	}{head, counts, orEmpty(part), next})
}

// copyRules gives other servers what a server has of its own.
func (s *Server) copyRules(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	from, err := s.pathServer(r)
	if err != nil {
		return err
	}
	var in struct {
		To []string `json:"to"`
		By string   `json:"by"`
	}
	if err := decode(r, &in); err != nil {
		return err
	}
	if len(in.To) == 0 {
		return monolith.Invalid("to", "no server is named", "list the names of servers")
	}
	var to []monolith.ServerID
	for i, name := range in.To {
		field := fmt.Sprintf("to[%d]", i)
		server, err := s.serverNamed(r.Context(), field, name)
		if err != nil {
			return err
		}
		if server.ID == from.ID {
			return monolith.Invalid(field, "this is the server itself")
		}
		to = append(to, server.ID)
	}
	if err := checkSaid("by", in.By, 128); err != nil {
		return err
	}
	if err := s.alerts.CopyRuleSettings(r.Context(), from.ID, to, in.By); err != nil && !errors.Is(err, monolith.ErrNotFound) {
		return err
	} else if err != nil {
		return refuse(http.StatusNotFound, kindNotFound, "one of the servers was removed meanwhile", "/api/v1/servers lists them")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

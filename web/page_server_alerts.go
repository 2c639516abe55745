package web

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"monolith"
)

// serverAlertsTab is a server's alerts, and what every rule says about it: nothing is silent.
type serverAlertsTab struct {
	serverPage
	Open    []alertRow
	Lines   []statusLine
	Counts  []stateCount
	Filter  string // a state, or "" for all
	Set     int    // rules of which something is set for this server alone
	Others  []monolith.Server
	Before  []alertRow // closed lately
	Problem *problem
}

// statusLine is what one rule says about one instance.
type statusLine struct {
	monolith.RuleStatus
	Title, Category string
}

// Shown is what the rule compares now, for people.
func (l statusLine) Shown() string {
	if l.Text != "" {
		return l.Text
	}
	for _, v := range l.Values {
		if v.Limit != nil {
			return v.Name + " " + v.Text
		}
	}
	return ""
}

func (s *Server) serverAlertsPage(w http.ResponseWriter, r *http.Request) error {
	return s.showServerAlerts(w, r, http.StatusOK, nil)
}

func (s *Server) showServerAlerts(w http.ResponseWriter, r *http.Request, status int, bad *problem) error {
	p, err := s.serverPage(r, "alerts", "alerts")
	if err != nil {
		return err
	}
	d := serverAlertsTab{serverPage: p, Filter: r.URL.Query().Get("state"), Problem: bad, Open: foldSame(s.openOf(p.Server.ID))}
	rules := map[string]monolith.RuleInfo{}
	for _, rule := range s.alerts.Rules() {
		rules[rule.ID] = rule
	}
	says := map[monolith.AlertID]string{}
	for _, a := range s.alerts.Open() {
		says[a.ID] = a.Summary
	}
	counts := map[monolith.RuleState]int{}
	for _, st := range s.alerts.Statuses(p.Server.ID) {
		counts[st.State]++
		if st.Text == "" {
			st.Text = says[st.Alert] // the states come without numbers
		}
		if d.Filter == "" || d.Filter == string(st.State) {
			d.Lines = append(d.Lines, statusLine{st, cmp.Or(rules[st.Rule].Title, st.Rule), rules[st.Rule].Category})
		}
	}
	for _, state := range monolith.RuleStates {
		if counts[state] > 0 || d.Filter == string(state) {
			d.Counts = append(d.Counts, stateCount{state, counts[state]})
		}
	}
	slices.SortStableFunc(d.Lines, func(a, b statusLine) int {
		return cmp.Or(cmp.Compare(slices.Index(monolith.RuleStates, a.State), slices.Index(monolith.RuleStates, b.State)), -cmp.Compare(a.Level, b.Level))
	})
	settings, err := s.alerts.RuleSettings(r.Context())
	if err = d.unread(err, "what is set for this server alone"); err != nil {
		return err
	}
	for _, one := range settings {
		if one.Server == p.Server.ID {
			d.Set++
		}
	}
	closed, err := s.alerts.Alerts(r.Context(), monolith.AlertQuery{Closed: true, Servers: []monolith.ServerID{p.Server.ID}, Limit: 10})
	if err = d.unread(err, "what was open before"); err != nil {
		return err
	}
	for _, a := range closed {
		d.Before = append(d.Before, alertRow{Alert: a})
	}
	servers, err := s.store.Servers(r.Context())
	if err != nil {
		return err
	}
	for _, srv := range servers {
		if srv.ID != p.Server.ID {
			d.Others = append(d.Others, srv)
		}
	}
	return s.show(w, r, status, "server_alerts", "frame", &d)
}

// Total is how many states there are in all.
func (d *serverAlertsTab) Total() (n int) {
	for _, c := range d.Counts {
		n += c.Count
	}
	return n
}

// openOf gives the open alerts of a server, each under its cause.
func (s *Server) openOf(id monolith.ServerID) []alertRow {
	if s.alerts == nil {
		return nil
	}
	var open []monolith.Alert
	for _, a := range s.alerts.Open() {
		if a.Server == id {
			open = append(open, a)
		}
	}
	return rollUp(open)
}

// copyRulesForm gives other servers what this one has of its own.
func (s *Server) copyRulesForm(w http.ResponseWriter, r *http.Request) error {
	from, err := s.pathServer(r)
	if err != nil {
		return err
	}
	by := s.by(w, r)
	var to []monolith.ServerID
	for _, name := range r.PostForm["to"] {
		srv, err := s.serverNamed(r.Context(), "to", name)
		if err != nil {
			return s.showServerAlerts(w, r, http.StatusUnprocessableEntity, s.problemOf(r, err))
		}
		if srv.ID != from.ID {
			to = append(to, srv.ID)
		}
	}
	err = checkSaid("by", by, 128)
	if err == nil && len(to) == 0 {
		err = monolith.Invalid("to", "no server is chosen", "tick the servers that are to have the same settings")
	}
	if err == nil {
		err = s.alerts.CopyRuleSettings(r.Context(), from.ID, to, by)
	}
	if err != nil {
		p := s.problemOf(r, err)
		if p.Status >= http.StatusInternalServerError && p.Kind != kindUnavailable {
			return p
		}
		return s.showServerAlerts(w, r, p.Status, p)
	}
	s.back(w, r, s.cameFrom(r, s.link("servers", from.Name, "alerts")), "copied")
	return nil
}

// alertsTab puts the tab of alerts behind the graphs, where there is a rule engine.
func (s *Server) alertsTab(tabs []tab, id monolith.ServerID) []tab {
	if s.alerts == nil {
		return tabs
	}
	t := tab{Key: "alerts", Title: "Alerts"}
	open := s.openOf(id)
	if len(open) > 0 {
		t.Count = levelSigns[open[0].Level] + " " + strconv.Itoa(len(open))
		if open[0].Level > monolith.LevelInfo {
			t.Look = "bad"
		}
	}
	return slices.Insert(tabs, 2, t)
}

package web

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"monolith"
	"monolith/graph"
)

// rulePage is one rule: what it says, its limits at each place, and what it says about every server.
type rulePage struct {
	pageBase
	Tab      string
	Rule     monolith.RuleInfo
	Kept     *monolith.OwnRule
	Places   []rulePlace
	Columns  []limitColumn
	Scope    ruleScope
	States   []ruleStateRow
	Counts   []stateCount
	State    string // that the list is narrowed to
	More     int
	Open     []alertRow
	Servers  []monolith.Server
	AllName  []monolith.Group
	Runbook  string
	Graph    *graph.Graph
	Range    timeRange
	Problem  *problem
	Sent     map[string]string // fields of a form that came back
	Tested   []testedServer
	Days     int
	TestLeft int // servers that the back-test left out
}

// limitColumn is one limit of a rule: a level and a name.
type limitColumn struct {
	Level monolith.Level
	Name  string
	Unit  string
}

// Field is the name of the limit in forms.
func (c limitColumn) Field() string { return "limit." + c.Level.String() + "." + c.Name }

// rulePlace is a place at which something of the rule is set: everywhere, a group, a server.
type rulePlace struct {
	Name    string
	Link    string
	Setting monolith.RuleSetting
	Values  []placeValue
	Current bool // the one that the form is about
}

// placeValue is a limit at a place: its own, or that of the next wider place.
type placeValue struct {
	Value float64
	Own   bool
	From  string
}

// ruleScope is the place that the form of the limits is about.
type ruleScope struct {
	monolith.RuleScope
	Server string
	Place  rulePlace // what is set there now
	Wider  []placeValue
}

// Name names the place.
func (c ruleScope) Name() string {
	switch {
	case c.Server != "":
		return "server " + c.Server
	case c.Group != "":
		return "group " + c.Group
	}
	return "all servers"
}

// ruleStateRow is what the rule says about one instance of one server.
type ruleStateRow struct {
	monolith.RuleStatus
	Server *monolith.Server
}

// stateCount is how many are in a state.
type stateCount struct {
	State monolith.RuleState
	Count int
}

// statesOfPage is how many states stand on one page.
const statesOfPage = 300

// limitColumns lists the limits of a rule in the order of the levels.
func limitColumns(rule *monolith.RuleInfo) []limitColumn {
	var list []limitColumn
	for _, level := range monolith.Levels {
		for _, c := range rule.When {
			for _, name := range sortedKeys(c.Limits[level.String()]) {
				col := limitColumn{level, name, unitOfLimit(rule, name)}
				if !slices.Contains(list, col) {
					list = append(list, col)
				}
			}
		}
	}
	return list
}

// ownLimit gives a rule's own limit; NaN where conditions differ or none has it.
func ownLimit(rule *monolith.RuleInfo, col limitColumn) float64 {
	for _, c := range rule.When {
		if v, there := c.Limits[col.Level.String()][col.Name]; there {
			return v
		}
	}
	return math.NaN()
}

// widerPlaces gives the scopes that hold for a place where it says nothing itself, the nearest first.
func widerPlaces(scope monolith.RuleScope, groupOfServer string) []monolith.RuleScope {
	var list []monolith.RuleScope
	group := scope.Group
	if scope.Server != 0 {
		group = groupOfServer
		if group != "" {
			list = append(list, monolith.RuleScope{Group: group})
		}
	}
	for group != "" {
		group = group[:max(0, strings.LastIndexByte(group, '/'))]
		if group != "" {
			list = append(list, monolith.RuleScope{Group: group})
		}
	}
	if scope != (monolith.RuleScope{}) {
		list = append(list, monolith.RuleScope{})
	}
	return list
}

// limitAt gives a limit at a place and where it comes from.
func limitAt(rule *monolith.RuleInfo, settings []monolith.RuleSetting, col limitColumn, places []monolith.RuleScope) placeValue {
	for i, place := range places {
		for _, one := range settings {
			if one.Rule != rule.ID || one.RuleScope != place {
				continue
			}
			if v, there := one.Limits[col.Level.String()][col.Name]; there {
				from := "global"
				if place.Group != "" {
					from = "group " + place.Group
				} else if place.Server != 0 {
					from = "server"
				}
				return placeValue{Value: v, Own: i == 0, From: from}
			}
		}
	}
	return placeValue{Value: ownLimit(rule, col), From: "built-in"}
}

func (s *Server) rulePage(w http.ResponseWriter, r *http.Request) error {
	rule, err := s.ruleNamed("", pathValue(r, "id"))
	if err != nil {
		return err
	}
	d := rulePage{Rule: rule, Days: 7}
	return s.showRulePage(w, r, http.StatusOK, &d)
}

func (s *Server) showRulePage(w http.ResponseWriter, r *http.Request, status int, d *rulePage) error {
	ctx := r.Context()
	d.pageBase, d.Tab = s.pageBase(r, d.Rule.Title+" · rule", "alerts"), "rules"
	var err error
	if d.Servers, err = s.store.Servers(ctx); err != nil {
		return err
	}
	if d.AllName, err = s.store.Groups(ctx); err != nil {
		return err
	}
	if d.Scope.RuleScope == (monolith.RuleScope{}) {
		if d.Scope, err = s.scopeOfPage(r); err != nil {
			return err
		}
	}
	settings, err := s.alerts.RuleSettings(ctx)
	if err = d.unread(err, "what was changed of this rule"); err != nil {
		return err
	}
	d.place(settings)
	if d.Rule.Own {
		kept, err := s.alerts.OwnRules(ctx)
		if err = d.unread(err, "who made this rule"); err != nil {
			return err
		}
		for i := range kept {
			if kept[i].ID == d.Rule.ID {
				d.Kept = &kept[i]
			}
		}
	}
	d.states(s.alerts.RuleStatuses(d.Rule.ID), r.URL.Query().Get("state"))
	var open []monolith.Alert
	for _, a := range s.alerts.Open() {
		if a.Rule == d.Rule.ID {
			open = append(open, a)
		}
	}
	if d.Open = rollUp(open); len(d.Open) > alertsOfPage {
		d.Open = d.Open[:alertsOfPage]
	}
	d.Graph, d.Range = graphOfRule(&d.Rule), d.readRange(24*time.Hour)
	return s.show(w, r, status, "rule", "frame", d)
}

// scopeOfPage reads the place of the address or the form.
func (s *Server) scopeOfPage(r *http.Request) (ruleScope, error) {
	scope := ruleScope{Server: r.FormValue("server")}
	scope.Group = strings.Trim(r.FormValue("group"), "/")
	// One list offers groups and servers: "group:acme" and "server:db1".
	if kind, name, both := strings.Cut(r.FormValue("place"), ":"); both && kind == "server" {
		scope.Server = name
	} else if both && kind == "group" {
		scope.Group = name
	}
	if scope.Server != "" {
		scope.Group = ""
		srv, err := s.serverNamed(r.Context(), "server", scope.Server)
		scope.RuleScope.Server = srv.ID
		return scope, err
	}
	return scope, s.groupThere(r.Context(), "group", scope.Group)
}

// place makes the table of the places, and what the form stands on.
func (d *rulePage) place(settings []monolith.RuleSetting) {
	d.Columns = limitColumns(&d.Rule)
	byID := map[monolith.ServerID]*monolith.Server{}
	for i := range d.Servers {
		byID[d.Servers[i].ID] = &d.Servers[i]
	}
	make := func(scope monolith.RuleScope, setting monolith.RuleSetting) rulePlace {
		p := rulePlace{Name: "all servers", Link: d.At("rules", d.Rule.ID) + "#limits", Setting: setting, Current: scope == d.Scope.RuleScope}
		group := ""
		if srv := byID[scope.Server]; srv != nil {
			p.Name, p.Link, group = "server "+srv.Name, d.At("rules", d.Rule.ID)+queryOf("server", srv.Name)+"#limits", srv.Group
		} else if scope.Group != "" {
			p.Name, p.Link = "group "+scope.Group, d.At("rules", d.Rule.ID)+queryOf("group", scope.Group)+"#limits"
		}
		chain := append([]monolith.RuleScope{scope}, widerPlaces(scope, group)...)
		for _, col := range d.Columns {
			p.Values = append(p.Values, limitAt(&d.Rule, settings, col, chain))
		}
		return p
	}
	group := ""
	if srv := byID[d.Scope.RuleScope.Server]; srv != nil {
		group = srv.Group
	}
	d.Scope.Place = make(d.Scope.RuleScope, monolith.RuleSetting{})
	for _, col := range d.Columns {
		d.Scope.Wider = append(d.Scope.Wider, limitAt(&d.Rule, settings, col, widerPlaces(d.Scope.RuleScope, group)))
	}
	for _, one := range settings {
		if one.Rule != d.Rule.ID || one.Server != 0 && byID[one.Server] == nil {
			continue
		}
		p := make(one.RuleScope, one)
		if p.Current {
			d.Scope.Place = p
		}
		d.Places = append(d.Places, p)
		if one.RuleScope == (monolith.RuleScope{}) {
			d.Runbook = one.Runbook
		}
	}
	d.Runbook = cmp.Or(d.Scope.Place.Setting.Runbook, d.Runbook, d.Rule.Runbook)
	slices.SortStableFunc(d.Places, func(a, b rulePlace) int {
		wide := func(p rulePlace) int {
			switch {
			case p.Setting.Server != 0:
				return 2
			case p.Setting.Group != "":
				return 1
			}
			return 0
		}
		return cmp.Or(cmp.Compare(wide(a), wide(b)), cmp.Compare(a.Name, b.Name))
	})
}

// queryOf writes one parameter as the end of an address.
func queryOf(name, value string) string {
	return "?" + strings.TrimPrefix(encodeQuery(name, value), "&")
}

// states counts and orders what the rule says, what people must look at first.
func (d *rulePage) states(all []monolith.RuleStatus, state string) {
	counts := map[monolith.RuleState]int{}
	d.State = state
	byID := map[monolith.ServerID]*monolith.Server{}
	for i := range d.Servers {
		byID[d.Servers[i].ID] = &d.Servers[i]
	}
	for _, st := range all {
		srv := byID[st.Server]
		if srv == nil {
			continue
		}
		counts[st.State]++
		if state == "" || string(st.State) == state {
			d.States = append(d.States, ruleStateRow{st, srv})
		}
	}
	for _, known := range monolith.RuleStates {
		if counts[known] > 0 {
			d.Counts = append(d.Counts, stateCount{known, counts[known]})
		}
	}
	slices.SortStableFunc(d.States, func(a, b ruleStateRow) int {
		return cmp.Or(cmp.Compare(slices.Index(monolith.RuleStates, a.State), slices.Index(monolith.RuleStates, b.State)), -cmp.Compare(a.Level, b.Level),
			strings.Compare(a.Server.Name, b.Server.Name), strings.Compare(a.Instance, b.Instance))
	})
	if len(d.States) > statesOfPage {
		d.More, d.States = len(d.States)-statesOfPage, d.States[:statesOfPage]
	}
}

// Value is what stands in a limit's field: what was sent, else what is set at the place.
func (d *rulePage) Value(i int) string {
	if v, sent := d.Sent[d.Columns[i].Field()]; sent {
		return v
	}
	if v := d.Scope.Place.Values[i]; v.Own {
		return writeNumber(v.Value)
	}
	return ""
}

// Enabled is what stands in the field of on and off: "", on or off.
func (d *rulePage) Enabled() string {
	if v, sent := d.Sent["enabled"]; sent {
		return v
	}
	switch on := d.Scope.Place.Setting.Enabled; {
	case on == nil:
		return ""
	case *on:
		return "on"
	}
	return "off"
}

// SentOr gives a field as it was sent, or else another text.
func (d *rulePage) SentOr(field, otherwise string) string {
	if v, sent := d.Sent[field]; sent {
		return v
	}
	return otherwise
}

// ErrorAt gives what is wrong with a field, or "".
func (d *rulePage) ErrorAt(field string) string {
	if d.Problem == nil || d.Problem.Field != field {
		return ""
	}
	return errorText(d.Problem)
}

// OtherError gives what is wrong with no field of the form.
func (d *rulePage) OtherError() string {
	if d.Problem == nil || d.Problem.Field == "runbook" || strings.HasPrefix(d.Problem.Field, "limit.") {
		return ""
	}
	return errorText(d.Problem)
}

// Figure places the graph of the rule for the server that the page is about.
func (d *rulePage) Figure() *figure {
	if d.Graph == nil || d.Scope.Server == "" {
		return nil
	}
	p := serverPage{pageBase: d.pageBase, Server: monolith.Server{Name: d.Scope.Server}, Range: d.Range}
	f := p.figure(d.Graph)
	return &f
}

// Bar gives the range picker what it needs.
func (d *rulePage) Bar() rangeBar {
	return rangeBar{pageBase: d.pageBase, Range: d.Range, Keep: [][2]string{{"server", d.Scope.Server}}}
}

// Lengths says when the rule is judged, and over what time.
func (d *rulePage) Lengths() string {
	var parts []string
	if d.Rule.Window > 0 {
		parts = append(parts, "looks back over "+graph.Age(d.Rule.Window))
	}
	if d.Rule.Warmup > 0 {
		parts = append(parts, "says nothing in the first "+graph.Age(d.Rule.Warmup)+" after a start")
	}
	switch d.Rule.Every {
	case "poll":
		parts = append(parts, "judged at every poll")
	case "slow", "":
		parts = append(parts, "judged once a minute")
	default:
		parts = append(parts, fmt.Sprintf("judged each %s", d.Rule.Every))
	}
	return strings.Join(parts, " · ")
}

// BuiltIn writes a column's built-in limit.
func (d *rulePage) BuiltIn(i int) string { return writeNumber(ownLimit(&d.Rule, d.Columns[i])) }

// WiderText is the limit that holds where the place says nothing.
func (d *rulePage) WiderText(i int) string { return writeNumber(d.Scope.Wider[i].Value) }

// WiderFrom says what holds where the place says nothing, and where it comes from.
func (d *rulePage) WiderFrom(i int) string {
	w := d.Scope.Wider[i]
	return writeNumber(w.Value) + ", " + w.From
}

// PlaceValue is the place of the form as the list of places writes it.
func (d *rulePage) PlaceValue() string {
	if d.Scope.Server != "" {
		return "server:" + d.Scope.Server
	}
	return prefixed("group:", d.Scope.Group)
}

package web

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
)

// alertPages are the addresses of pages about alerts, rules and quiet times.
func (s *Server) alertPages(get, post func(pattern string, h handler)) {
	read := func(pattern string, h handler) { get(pattern, s.judged(h)) }
	write := func(pattern string, h handler) { post(pattern, s.judged(h)) }

	read("/alerts", s.alertsPage)
	read("/alerts/{id}", s.alertPage)
	write("/alerts/{id}/do/{action}", s.alertAction)
	read("/alerts/{id}/drawing.{form}", long(s.alertDrawing))
	read("/servers/{name}/alerts", s.serverAlertsPage)
	write("/servers/{name}/alerts/copy", s.copyRulesForm)
	read("/rules", s.rulesPage)
	read("/rules/new", s.editRulePage)
	write("/rules/new", s.saveRuleForm)
	read("/rules/{id}", s.rulePage)
	write("/rules/{id}", s.saveRuleLimits)
	read("/rules/{id}/edit", s.editRulePage)
	write("/rules/{id}/edit", s.saveRuleForm)
	write("/rules/{id}/delete", s.deleteRuleForm)
	read("/quiet", s.quietPage)
	write("/quiet/silences", s.saveSilenceForm)
	write("/quiet/windows", s.saveWindowForm)
}

// alertsPage shows what is open, or what ever was.
type alertsPage struct {
	pageBase
	Tab     string // open, server, rule or history
	Counts  alertCounts
	Filter  alertFilter
	Groups  []alertGroup
	Shown   int
	More    int               // causes left out
	Next    string            // address of the older ones
	Servers []monolith.Server // to choose from
	AllName []monolith.Group
	Rules   []monolith.RuleInfo
	Error   string
}

// alertGroup is a part of the list: all of it, or those of one server or rule.
type alertGroup struct {
	Name, Link, Detail string
	Rows               []alertRow
}

// alertFilter is what the address chooses.
type alertFilter struct {
	Level               string
	Server, Group, Rule string
	From, To            string
	State               string // of the history: "", open or closed
}

// Any reports whether something is left out.
func (f alertFilter) Any() bool {
	return f != alertFilter{}
}

// alertsOfPage is how many causes stand on one page.
const alertsOfPage = 200

func (s *Server) alertsPage(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	d := alertsPage{pageBase: s.pageBase(r, "Alerts", "alerts"), Tab: "open", Rules: s.alerts.Rules()}
	d.Filter = alertFilter{Level: q.Get("level"), Server: q.Get("server"), Group: strings.Trim(q.Get("group"), "/"), Rule: q.Get("rule")}
	var err error
	if d.Servers, err = s.store.Servers(r.Context()); err != nil {
		return err
	}
	if d.AllName, err = s.store.Groups(r.Context()); err != nil {
		return err
	}
	switch {
	case q.Get("state") == "all" || q.Get("state") == "closed" || q.Get("from") != "" || q.Get("to") != "" || q.Get("cursor") != "":
		d.Tab = "history"
		return s.alertHistory(w, r, d)
	case q.Get("by") == "server" || q.Get("by") == "rule":
		d.Tab = q.Get("by")
	}
	var open []monolith.Alert
	for _, a := range s.alerts.Open() {
		if d.Filter.wants(&a) {
			open = append(open, a)
		}
	}
	rows := rollUp(open)
	for i := range rows {
		d.Counts.add(rows[i].Level)
	}
	for id := range s.cannotEvaluate(d.Servers) {
		if i := slices.IndexFunc(d.Servers, func(srv monolith.Server) bool { return srv.ID == id }); i >= 0 && monolith.InGroup(d.Servers[i].Group, d.Filter.Group) {
			d.Counts.Unknown++
		}
	}
	rows = slices.DeleteFunc(rows, func(a alertRow) bool { return d.Filter.Level != "" && a.Level.String() != d.Filter.Level })
	d.Shown = len(rows)
	rows = foldSame(rows)
	if len(rows) > alertsOfPage {
		d.More, rows = len(rows)-alertsOfPage, rows[:alertsOfPage]
	}
	d.Groups = groupAlerts(rows, d.Tab, d.pageBase)
	for i := range d.Groups { // the rule's own title: conditions may have others
		g := &d.Groups[i]
		if at := slices.IndexFunc(d.Rules, func(rule monolith.RuleInfo) bool { return d.Tab == "rule" && rule.ID == g.Detail }); at >= 0 {
			g.Name = d.Rules[at].Title
		}
	}
	return s.render(w, r, "alerts", &d)
}

// wants reports whether an open alert is one that the address chooses, its level apart.
func (f *alertFilter) wants(a *monolith.Alert) bool {
	return (f.Server == "" || a.ServerName == f.Server) && monolith.InGroup(a.Group, f.Group) && (f.Rule == "" || a.Rule == f.Rule)
}

// groupAlerts parts the rows by server or rule, the part with the worst first since the rows are in that order.
func groupAlerts(rows []alertRow, by string, b pageBase) []alertGroup {
	if by != "server" && by != "rule" {
		return []alertGroup{{Rows: rows}}
	}
	var groups []alertGroup
	place := map[string]int{}
	for _, row := range rows {
		g := alertGroup{Name: cmp.Or(row.ServerName, "Monolith itself"), Detail: row.Group}
		switch {
		case by == "rule":
			g = alertGroup{Name: row.Title, Link: b.At("rules", row.Rule), Detail: row.Rule}
		case row.ServerName != "":
			g.Link = b.At("servers", row.ServerName, "alerts")
		}
		key := g.Name
		if by == "rule" {
			key = row.Rule
		}
		i, there := place[key]
		if !there {
			i = len(groups)
			place[key] = i
			groups = append(groups, g)
		}
		groups[i].Rows = append(groups[i].Rows, row)
	}
	return groups
}

// alertHistory shows alerts that were open in a time, the newest first.
func (s *Server) alertHistory(w http.ResponseWriter, r *http.Request, d alertsPage) error {
	q := r.URL.Query()
	d.Filter.From, d.Filter.To = q.Get("from"), q.Get("to")
	ask := monolith.AlertQuery{Open: true, Closed: true, Group: d.Filter.Group, Rule: d.Filter.Rule, Limit: alertsOfPage + 1}
	if q.Get("state") == "closed" {
		ask.Open, d.Filter.State = false, "closed"
	}
	var err error
	if d.Filter.Level != "" {
		level, bad := monolith.ParseLevel(d.Filter.Level)
		if bad != nil {
			err = bad
		}
		ask.Levels = []monolith.Level{level}
	}
	for field, to := range map[string]*time.Time{"from": &ask.From, "to": &ask.To} {
		if text := q.Get(field); text != "" && err == nil {
			var m moment
			m, err = d.readMoment(field, text, "now")
			*to = m.at
		}
	}
	if err == nil && d.Filter.Server != "" {
		i := slices.IndexFunc(d.Servers, func(srv monolith.Server) bool { return srv.Name == d.Filter.Server })
		if i < 0 {
			err = monolith.Invalid("server", "there is no server "+strconv.Quote(d.Filter.Server))
		} else {
			ask.Servers = []monolith.ServerID{d.Servers[i].ID}
		}
	}
	if cursor := q.Get("cursor"); cursor != "" && err == nil {
		id, bad := strconv.ParseInt(cursor, 10, 64)
		if bad != nil || id <= 0 {
			err = monolith.Invalid("cursor", "this is not a place in the list", "begin with the newest")
		}
		ask.Before = monolith.AlertID(id)
	}
	var alerts []monolith.Alert
	if err == nil {
		alerts, err = s.alerts.Alerts(r.Context(), ask)
		if errors.Is(err, monolith.ErrNotFound) {
			err = monolith.Invalid("cursor", "the list has changed", "begin with the newest")
		}
		if err = d.unread(err, "the alerts of before"); err != nil && !errors.Is(err, monolith.ErrInvalid) {
			return err
		}
	}
	if err != nil {
		d.Error = errorText(s.problemOf(r, err))
	}
	if len(alerts) > alertsOfPage {
		alerts = alerts[:alertsOfPage]
		d.Next = d.With("state", cmp.Or(q.Get("state"), "all"), "cursor", strconv.FormatInt(int64(alerts[len(alerts)-1].ID), 10))
	}
	rows := make([]alertRow, len(alerts))
	for i := range alerts {
		rows[i].Alert = alerts[i]
	}
	d.Shown, d.Groups = len(rows), []alertGroup{{Rows: rows}}
	return s.render(w, r, "alerts", &d)
}

// pageAlert reads the alert of a page's address.
func (s *Server) pageAlert(r *http.Request) (monolith.Alert, error) {
	id, err := alertID(r)
	if err != nil {
		return monolith.Alert{}, err
	}
	a, err := s.alerts.Alert(r.Context(), id)
	if errors.Is(err, monolith.ErrNotFound) {
		return a, noAlert(r)
	}
	return a, err
}

// alertAction does what a person wants with an alert and goes back to where the form stood.
func (s *Server) alertAction(w http.ResponseWriter, r *http.Request) error {
	a, err := s.pageAlert(r)
	if err != nil {
		return err
	}
	done, action := "", pathValue(r, "action")
	by := s.by(w, r)
	err = checkSaid("by", by, 128)
	if err == nil {
		done, err = s.doAlert(r, &a, action, by)
	}
	if err == nil && (action == "ack" || action == "take") {
		err = s.doAlso(r, action, by)
	}
	if errors.Is(err, monolith.ErrConflict) {
		err = refuse(http.StatusConflict, kindConflict, "the alert is closed", "only a note can be added to it")
	}
	if err != nil {
		p := s.problemOf(r, err)
		if p.Status >= http.StatusInternalServerError && p.Kind != kindUnavailable || p.Kind == kindNotFound {
			return p
		}
		return s.showAlertPage(w, r, p.Status, a, p)
	}
	s.back(w, r, s.cameFrom(r, s.link("alerts", pathValue(r, "id"))), done)
	return nil
}

// mostAlso bounds how many alerts one button acts on.
const mostAlso = 1000

// doAlso does the same with the alerts that stand folded under the first. One that has closed meanwhile needs nothing.
func (s *Server) doAlso(r *http.Request, action, by string) error {
	also := r.PostForm["also"]
	for _, text := range also[:min(len(also), mostAlso)] {
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return notFound("alert", text, "")
		}
		_, err = s.doAlert(r, &monolith.Alert{ID: monolith.AlertID(id)}, action, by)
		if err != nil && !errors.Is(err, monolith.ErrConflict) && !errors.Is(err, monolith.ErrNotFound) {
			return err
		}
	}
	return nil
}

// doAlert does one action; done is the name of the sentence about it.
func (s *Server) doAlert(r *http.Request, a *monolith.Alert, action, by string) (done string, err error) {
	note := strings.TrimSpace(strings.ReplaceAll(r.PostFormValue("note"), "\r\n", "\n"))
	if err := checkSaid("note", note, 4000); err != nil {
		return "", err
	}
	switch action {
	case "ack":
		_, err = s.alerts.Acknowledge(r.Context(), a.ID, by, note)
		return "acked", err
	case "take":
		if by == "" {
			return "", monolith.Invalid("by", "who takes it?", "write your name; this browser remembers it")
		}
		_, err = s.alerts.Take(r.Context(), a.ID, by)
		return "taken", err
	case "note":
		if note == "" {
			return "", monolith.Invalid("note", "a note needs a text")
		}
		_, err = s.alerts.AddAlertNote(r.Context(), a.ID, by, note)
		return "alert-noted", err
	case "silence":
		until, err := s.silenceEnd(r)
		if err == nil {
			_, err = s.alerts.SilenceAlert(r.Context(), a.ID, until, by, note)
		}
		return "silenced", err
	case "unsilence":
		id, err := strconv.ParseInt(r.PostFormValue("silence"), 10, 64)
		if err != nil {
			return "", notFound("silence", r.PostFormValue("silence"), "")
		}
		if err = s.alerts.DeleteSilence(r.Context(), id); errors.Is(err, monolith.ErrNotFound) {
			err = nil // it has ended by itself
		}
		return "unsilenced", err
	}
	return "", notFound("action", action, "")
}

// morning is the hour of the day at which "until tomorrow" ends.
const morning = 8

// silenceEnd reads until when the form wants an alert silenced; zero: until it closes.
func (s *Server) silenceEnd(r *http.Request) (time.Time, error) {
	b := s.pageBase(r, "", "")
	switch until := r.PostFormValue("until"); until {
	case "close":
		return time.Time{}, nil
	case "tomorrow":
		y, m, day := b.Now.In(b.location).Date()
		return time.Date(y, m, day+1, morning, 0, 0, 0, b.location), nil
	case "own":
		end, err := b.endOf("end", r.PostFormValue("end"), b.Now)
		if err == nil && !end.After(b.Now) {
			err = monolith.Invalid("end", "the silence would be over already")
		}
		return end, err
	default:
		d, err := monolith.ParseDuration("until", until)
		if err == nil && d <= 0 {
			err = monolith.Invalid("until", "the length of time is nothing")
		}
		return b.Now.Add(d), err
	}
}

// endOf reads an end as people write it: a length of time after a begin ("3h"), or a moment.
func (b *pageBase) endOf(field, text string, begin time.Time) (time.Time, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return time.Time{}, monolith.Invalid(field, "there is no end", `such as "3h" or "2026-03-29 08:00"`)
	}
	if d, err := monolith.ParseDuration(field, text); err == nil && d > 0 {
		return begin.Add(d), nil
	}
	m, err := b.readMoment(field, text, "")
	if err != nil {
		err = monolith.Invalid(field, "this is no end: "+strconv.Quote(text), `a length of time such as "3h", or a moment such as "2026-03-29 08:00"`)
	}
	return m.at, err
}

// HistoryOf gives the address of all alerts of a rule, or of a rule on one server.
func (b pageBase) HistoryOf(server, rule string) string {
	q := url.Values{"state": {"all"}}
	if server != "" {
		q.Set("server", server)
	}
	if rule != "" {
		q.Set("rule", rule)
	}
	return b.At("alerts") + "?" + q.Encode()
}

package web

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
)

// quietPage shows silences and maintenance windows.
type quietPage struct {
	pageBase
	Tab      string
	Silences []silenceLine
	Windows  []windowLine
	Edited   *monolith.MaintenanceWindow // that the form of windows changes
	Servers  []monolith.Server
	AllName  []monolith.Group
	Rules    []monolith.RuleInfo
	Problem  *problem
	Form     string // the form that was refused: silence or window
	Sent     map[string]string
	Days     []string // of the week, that were sent
}

// silenceLine is a silence with what it covers in words.
type silenceLine struct {
	monolith.Silence
	Server  string
	Summary string // of the alert
	Began   bool
}

// windowLine is a maintenance window with its next occurrence.
type windowLine struct {
	monolith.MaintenanceWindow
	Server   string
	When     string // in words: "each Monday, Friday at 22:00 for 2 h"
	From, To time.Time
	Next     bool // there is an occurrence
	Running  bool
}

// ErrorAt gives what is wrong with a field of a form, or "".
func (d *quietPage) ErrorAt(form, field string) string {
	if d.Problem == nil || d.Form != form || d.Problem.Field != field {
		return ""
	}
	return errorText(d.Problem)
}

// quietFields are the fields beside which an error is shown.
var quietFields = []string{"place", "rule", "from", "end", "reason", "title", "start", "duration", "zone", "every", "weekdays", "until"}

// OtherError gives what is wrong with no field of a form.
func (d *quietPage) OtherError(form string) string {
	if d.Problem == nil || d.Form != form || slices.Contains(quietFields, d.Problem.Field) {
		return ""
	}
	return errorText(d.Problem)
}

// SentOr gives a field of a form as it was sent, or else another text.
func (d *quietPage) SentOr(form, field, otherwise string) string {
	if v, sent := d.Sent[field]; sent && d.Form == form {
		return v
	}
	return otherwise
}

// Weekdays are the days of the week from Monday on, with their words in forms.
func (d *quietPage) Weekdays() []weekdayField {
	var list []weekdayField
	for i := range 7 {
		day := time.Weekday((i + 1) % 7)
		f := weekdayField{Word: monolith.WeekdayWord(day), Name: day.String()[:3]}
		switch {
		case d.Form == "window":
			f.On = slices.Contains(d.Days, f.Word)
		case d.Edited != nil:
			f.On = slices.Contains(d.Edited.Weekdays, day)
		}
		list = append(list, f)
	}
	return list
}

type weekdayField struct {
	Word, Name string
	On         bool
}

// Field gives what stands in a field of the form of windows at first.
func (d *quietPage) Field(name string) string {
	w := d.Edited
	if w == nil {
		if name == "zone" {
			return d.SentOr("window", name, cmp.Or(d.Zone, "UTC"))
		}
		return d.SentOr("window", name, "")
	}
	have := map[string]string{"title": w.Title, "start": w.Start.Format("2006-01-02 15:04"), "duration": writeDuration(w.Duration), "zone": w.Zone, "every": w.Every, "place": d.placeOf(w.Server, w.Group)}
	if !w.Until.IsZero() {
		have["until"] = w.Until.In(d.location).Format("2006-01-02 15:04")
	}
	return d.SentOr("window", name, have[name])
}

// writeDuration writes a length of time as forms take it: "2h30m".
func writeDuration(t time.Duration) string {
	text := t.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// placeOf writes a place as the lists of forms do: "group:acme", "server:db1" or "" for everything.
func (d *quietPage) placeOf(server monolith.ServerID, group string) string {
	for i := range d.Servers {
		if d.Servers[i].ID == server {
			return "server:" + d.Servers[i].Name
		}
	}
	return prefixed("group:", group)
}

func (s *Server) quietPage(w http.ResponseWriter, r *http.Request) error {
	d := quietPage{}
	if q := r.URL.Query(); q.Get("server")+q.Get("group")+q.Get("rule") != "" { // a form that is filled in from elsewhere
		place := prefixed("group:", q.Get("group"))
		if q.Get("server") != "" {
			place = "server:" + q.Get("server")
		}
		d.Form, d.Sent = "silence", map[string]string{"place": place, "rule": q.Get("rule")}
	}
	return s.showQuiet(w, r, http.StatusOK, &d)
}

func (s *Server) showQuiet(w http.ResponseWriter, r *http.Request, status int, d *quietPage) error {
	ctx := r.Context()
	d.pageBase, d.Tab, d.Rules = s.pageBase(r, "Quiet times", "alerts"), "quiet", s.alerts.Rules()
	var err error
	if d.Servers, err = s.store.Servers(ctx); err != nil {
		return err
	}
	if d.AllName, err = s.store.Groups(ctx); err != nil {
		return err
	}
	names := map[monolith.ServerID]string{}
	for i := range d.Servers {
		names[d.Servers[i].ID] = d.Servers[i].Name
	}
	silences, err := s.alerts.Silences(ctx)
	if err = d.unread(err, "the silences"); err != nil {
		return err
	}
	for _, one := range silences {
		line := silenceLine{Silence: one, Server: names[one.Server], Began: !d.Now.Before(one.From)}
		if one.Alert != 0 {
			line.Summary = "alert " + strconv.FormatInt(int64(one.Alert), 10)
			if a, err := s.alerts.Alert(ctx, one.Alert); err == nil {
				line.Summary = a.Title + prefixed(" · ", a.ServerName) + prefixed(" ", a.Instance)
			}
		}
		d.Silences = append(d.Silences, line)
	}
	windows, err := s.alerts.MaintenanceWindows(ctx)
	if err = d.unread(err, "the maintenance windows"); err != nil {
		return err
	}
	wanted := r.FormValue("window")
	for i := range windows {
		m := &windows[i]
		line := windowLine{MaintenanceWindow: *m, Server: names[m.Server], When: windowWords(m)}
		line.From, line.To, line.Next = s.alerts.NextMaintenance(m, d.Now)
		line.Running = line.Next && !d.Now.Before(line.From) && d.Now.Before(line.To)
		d.Windows = append(d.Windows, line)
		if strconv.FormatInt(m.ID, 10) == wanted {
			d.Edited = m
		}
	}
	slices.SortStableFunc(d.Windows, func(a, b windowLine) int {
		if a.Next != b.Next {
			if a.Next {
				return -1
			}
			return 1
		}
		return a.From.Compare(b.From)
	})
	return s.show(w, r, status, "quiet", "frame", d)
}

// windowWords says when a window comes.
func windowWords(m *monolith.MaintenanceWindow) string {
	clock := m.Start.Format("15:04") + " " + cmp.Or(m.Zone, "UTC") + " for " + writeDuration(m.Duration)
	switch m.Every {
	case "day":
		return "each day at " + clock
	case "week":
		days := m.Weekdays
		if len(days) == 0 {
			days = []time.Weekday{m.Start.Weekday()}
		}
		var names []string
		for i := range 7 {
			if day := time.Weekday((i + 1) % 7); slices.Contains(days, day) {
				names = append(names, day.String())
			}
		}
		return "each " + strings.Join(names, ", ") + " at " + clock
	case "month":
		return "each month on day " + strconv.Itoa(m.Start.Day()) + " at " + clock
	}
	return "once, " + m.Start.Format("2006-01-02") + " at " + clock
}

// pagePlace reads "group:acme", "server:db1" or "" of a form.
func (s *Server) pagePlace(r *http.Request) (server monolith.ServerID, group string, err error) {
	kind, name, _ := strings.Cut(r.PostFormValue("place"), ":")
	switch kind {
	case "server":
		srv, err := s.serverNamed(r.Context(), "place", name)
		return srv.ID, "", err
	case "group":
		return 0, strings.Trim(name, "/"), s.groupThere(r.Context(), "place", strings.Trim(name, "/"))
	}
	return 0, "", nil
}

// quietRefused shows the page with what is wrong with a form.
func (s *Server) quietRefused(w http.ResponseWriter, r *http.Request, form string, err error) error {
	p := s.problemOf(r, err)
	if p.Status >= http.StatusInternalServerError && p.Kind != kindUnavailable {
		return p
	}
	if form == "silence" && p.Field == "to" {
		p.Field = "end" // as the form calls it
	}
	d := quietPage{Form: form, Problem: p, Sent: map[string]string{}, Days: r.PostForm["weekdays"]}
	for name, values := range r.PostForm {
		d.Sent[name] = values[0]
	}
	return s.showQuiet(w, r, p.Status, &d)
}

func (s *Server) saveSilenceForm(w http.ResponseWriter, r *http.Request) error {
	if id := r.PostFormValue("remove"); id != "" {
		return s.removeQuiet(w, r, id, func(n int64) error { return s.alerts.DeleteSilence(r.Context(), n) })
	}
	one, err := s.silenceForm(w, r)
	if err == nil {
		err = s.alerts.PutSilence(r.Context(), &one)
	}
	if err != nil {
		return s.quietRefused(w, r, "silence", err)
	}
	s.back(w, r, s.link("quiet"), "quiet-saved")
	return nil
}

// removeQuiet takes a silence or a window away; one that is gone already is no mistake.
func (s *Server) removeQuiet(w http.ResponseWriter, r *http.Request, id string, remove func(int64) error) error {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return notFound("entry", id, "")
	}
	if err := remove(n); err != nil && !errors.Is(err, monolith.ErrNotFound) {
		return err
	}
	s.back(w, r, s.link("quiet"), "deleted")
	return nil
}

func (s *Server) silenceForm(w http.ResponseWriter, r *http.Request) (one monolith.Silence, err error) {
	b := s.pageBase(r, "", "")
	one = monolith.Silence{Rule: r.PostFormValue("rule"), From: b.Now, By: s.by(w, r), Reason: strings.TrimSpace(r.PostFormValue("reason"))}
	if one.Server, one.Group, err = s.pagePlace(r); err != nil {
		return one, err
	}
	if err := firstErr(checkSaid("reason", one.Reason, 1000), checkSaid("by", one.By, 128)); err != nil {
		return one, err
	}
	if one.Rule != "" {
		if _, err := s.ruleNamed("rule", one.Rule); err != nil {
			return one, err
		}
	}
	if from := strings.TrimSpace(r.PostFormValue("from")); from != "" {
		m, err := b.readMoment("from", from, "now")
		if err != nil {
			return one, err
		}
		one.From = m.at
	}
	if one.To, err = b.endOf("end", r.PostFormValue("end"), one.From); err != nil {
		return one, err
	}
	one.From, one.To = one.From.Truncate(time.Millisecond), one.To.Truncate(time.Millisecond)
	return one, one.Validate(b.Now)
}

func (s *Server) saveWindowForm(w http.ResponseWriter, r *http.Request) error {
	if id := r.PostFormValue("remove"); id != "" {
		return s.removeQuiet(w, r, id, func(n int64) error { return s.alerts.DeleteMaintenanceWindow(r.Context(), n) })
	}
	m, err := s.windowForm(w, r)
	if err == nil {
		err = s.alerts.PutMaintenanceWindow(r.Context(), m)
	}
	if err != nil {
		return s.quietRefused(w, r, "window", err)
	}
	s.back(w, r, s.link("quiet"), "quiet-saved")
	return nil
}

// windowForm reads a maintenance window of the page's form; window names the one that is changed.
func (s *Server) windowForm(w http.ResponseWriter, r *http.Request) (m *monolith.MaintenanceWindow, err error) {
	m = &monolith.MaintenanceWindow{Title: strings.TrimSpace(r.PostFormValue("title")), Zone: strings.TrimSpace(r.PostFormValue("zone")), Every: r.PostFormValue("every"), By: s.by(w, r)}
	if id := r.PostFormValue("window"); id != "" {
		if m.ID, err = strconv.ParseInt(id, 10, 64); err != nil {
			return m, notFound("window", id, "")
		}
	}
	if err := firstErr(checkSaid("title", m.Title, 200), checkSaid("by", m.By, 128)); err != nil {
		return m, err
	}
	if m.Server, m.Group, err = s.pagePlace(r); err != nil {
		return m, err
	}
	zone, err := monolith.ParseZone("zone", m.Zone)
	if err != nil {
		return m, err
	}
	if m.Start, err = wallMoment(strings.TrimSpace(r.PostFormValue("start")), zone, s.now()); err != nil {
		return m, err
	}
	if m.Duration, err = monolith.ParseDuration("duration", strings.TrimSpace(r.PostFormValue("duration"))); err != nil {
		return m, err
	}
	for _, word := range r.PostForm["weekdays"] {
		if day, known := monolith.ParseWeekday(word); known && m.Every == "week" {
			m.Weekdays = append(m.Weekdays, day)
		}
	}
	if until := strings.TrimSpace(r.PostFormValue("until")); until != "" && m.Every != "" {
		b := s.pageBase(r, "", "")
		end, err := b.readMoment("until", until, "")
		if err != nil {
			return m, err
		}
		m.Until = end.at
	}
	return m, m.Validate()
}

package web

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-chi/chi/v5"

	"monolith"
)

// alertRoutes is the part of the API that is about alerts and rules. Without a rule engine nothing of it is there.
func (s *Server) alertRoutes(r chi.Router, get func(pattern string, h handler)) {
	read := func(pattern string, h handler) { get(pattern, s.judged(h)) }
	write := func(method, pattern string, h handler) { r.Method(method, pattern, s.handle(s.judged(h))) }

	read("/alerts", s.listAlerts)
	read("/alerts/{id}", s.showAlert)
	write(http.MethodPost, "/alerts/{id}/ack", s.ackAlert)
	write(http.MethodPost, "/alerts/{id}/take", s.takeAlert)
	write(http.MethodPost, "/alerts/{id}/silence", s.silenceAlert)
	write(http.MethodPost, "/alerts/{id}/note", s.noteAlert)

	read("/rules", s.listRules)
	write(http.MethodPost, "/rules", s.addRule)
	write(http.MethodPost, "/rules/check", s.checkRule)
	write(http.MethodPost, "/rules/test", long(s.testRule))
	read("/rules/{id}", s.showRule)
	write(http.MethodPut, "/rules/{id}", s.putRule)
	write(http.MethodDelete, "/rules/{id}", s.deleteRule)
	read("/rules/{id}/settings", s.showRuleSetting)
	write(http.MethodPut, "/rules/{id}/settings", s.putRuleSetting)
	write(http.MethodDelete, "/rules/{id}/settings", s.deleteRuleSetting)
	read("/servers/{name}/rules", s.showServerRules)
	write(http.MethodPost, "/servers/{name}/rules/copy", s.copyRules)

	read("/silences", s.listSilences)
	write(http.MethodPost, "/silences", s.addSilence)
	write(http.MethodPut, "/silences/{id}", s.putSilence)
	write(http.MethodDelete, "/silences/{id}", s.deleteSilence)
	read("/windows", s.listWindows)
	write(http.MethodPost, "/windows", s.addWindow)
	write(http.MethodPut, "/windows/{id}", s.putWindow)
	write(http.MethodDelete, "/windows/{id}", s.deleteWindow)
}

// alertView is an alert with what can be worked out of it.
type alertView struct {
	*monolith.Alert
	State string  `json:"state"` // open or closed
	For   float64 `json:"for"`   // seconds that it was open
}

func (s *Server) alertView(a *monolith.Alert) alertView {
	v := alertView{Alert: a, State: "open"}
	end := s.now()
	if !a.Open() {
		v.State, end = "closed", a.Closed
	}
	v.For = max(0, end.Sub(a.Opened)).Truncate(time.Millisecond).Seconds()
	return v
}

func (s *Server) listAlerts(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "state", "level", "server", "group", "rule", "from", "to", "limit", "cursor")
	ask := monolith.AlertQuery{Group: strings.Trim(q.text("group"), "/"), Rule: q.text("rule"), From: q.time("from", time.Time{}), To: q.time("to", time.Time{}),
		Limit: q.number("limit", 200, 1, 5000)}
	switch q.oneOf("state", "open", "closed", "all") {
	case "open":
		ask.Open = true
	case "closed":
		ask.Closed = true
	default:
		ask.Open, ask.Closed = true, true
	}
	for _, text := range q.texts("level", len(monolith.Levels)) {
		level, err := monolith.ParseLevel(text)
		if err == nil && level == monolith.LevelOK {
			err = monolith.Invalid("level", "what is ok is no alert", "info, warn or critical")
		}
		if err != nil {
			q.fail(err)
		}
		ask.Levels = append(ask.Levels, level)
	}
	if cursor := q.text("cursor"); cursor != "" {
		before, err := strconv.ParseInt(cursor, 10, 64)
		if err != nil || before <= 0 {
			q.fail(monolith.Invalid("cursor", "this is not a cursor", "begin without one"))
		}
		ask.Before = monolith.AlertID(before)
	}
	names := q.texts("server", maxServers)
	if !ask.From.IsZero() && !ask.To.IsZero() && !ask.From.Before(ask.To) {
		q.fail(monolith.Invalid("from", "the range ends before it begins", "from must be earlier than to"))
	}
	if q.err != nil {
		return q.err
	}
	for _, name := range names {
		server, err := s.serverNamed(r.Context(), "server", name)
		if err != nil {
			return err
		}
		ask.Servers = append(ask.Servers, server.ID)
	}
	if err := s.groupThere(r.Context(), "group", ask.Group); err != nil {
		return err
	}
	if _, err := s.ruleNamed("rule", ask.Rule); ask.Rule != "" && err != nil {
		return err
	}
	limit := ask.Limit
	ask.Limit = min(limit+1, 5000) // one more tells whether there is a next page
	alerts, err := s.alerts.Alerts(r.Context(), ask)
	if ask.Before != 0 && errors.Is(err, monolith.ErrNotFound) {
		return monolith.Invalid("cursor", "the list has changed since this cursor was given, or it never was one", "begin without a cursor")
	}
	if err != nil {
		return err
	}
	next := ""
	if len(alerts) > limit || len(alerts) == 5000 {
		alerts = alerts[:min(limit, len(alerts))]
		next = strconv.FormatInt(int64(alerts[len(alerts)-1].ID), 10)
	}
	views := make([]alertView, len(alerts))
	for i := range alerts {
		views[i] = s.alertView(&alerts[i])
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Alerts []alertView `json:"alerts"`
		Next   string      `json:"next,omitempty"`
	}{views, next})
}

// alertID reads the id of the path.
func alertID(r *http.Request) (monolith.AlertID, error) {
	id, err := strconv.ParseInt(pathValue(r, "id"), 10, 64)
	if err != nil || id <= 0 {
		return 0, noAlert(r)
	}
	return monolith.AlertID(id), nil
}

func noAlert(r *http.Request) *problem {
	return notFound("alert", pathValue(r, "id"), "/api/v1/alerts lists them")
}

func (s *Server) showAlert(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	id, err := alertID(r)
	if err != nil {
		return err
	}
	a, err := s.alerts.Alert(r.Context(), id)
	if errors.Is(err, monolith.ErrNotFound) {
		return noAlert(r)
	}
	if err != nil {
		return err
	}
	events, err := s.alerts.AlertEvents(r.Context(), id)
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "alert", struct {
		alertView
		Events []monolith.AlertEvent `json:"events"`
	}{s.alertView(&a), orEmpty(events)})
}

// act reads what a person says about an alert into in, lets do take it, and answers with the alert as it is then.
func (s *Server) act(w http.ResponseWriter, r *http.Request, in any, do func(id monolith.AlertID) (monolith.Alert, error)) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	id, err := alertID(r)
	if err != nil {
		return err
	}
	if err := decodeOrForm(r, in); err != nil {
		return err
	}
	a, err := do(id)
	switch {
	case errors.Is(err, monolith.ErrNotFound):
		return noAlert(r)
	case errors.Is(err, monolith.ErrConflict):
		return refuse(http.StatusConflict, kindConflict, fmt.Sprintf("alert %d is closed", id), "only a note can be added to it")
	case err != nil:
		return err
	}
	return s.respond(w, r, http.StatusOK, "alert", s.alertView(&a))
}

func (s *Server) ackAlert(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Note string `json:"note"`
		By   string `json:"by"`
	}
	return s.act(w, r, &in, func(id monolith.AlertID) (a monolith.Alert, err error) {
		if err := firstErr(checkSaid("note", in.Note, 1000), checkSaid("by", in.By, 128)); err != nil {
			return a, err
		}
		return s.alerts.Acknowledge(r.Context(), id, strings.TrimSpace(in.By), strings.TrimSpace(in.Note))
	})
}

func (s *Server) takeAlert(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		By string `json:"by"`
	}
	return s.act(w, r, &in, func(id monolith.AlertID) (a monolith.Alert, err error) {
		if strings.TrimSpace(in.By) == "" {
			return a, monolith.Invalid("by", "who takes it?", "give a name")
		}
		if err := checkSaid("by", in.By, 128); err != nil {
			return a, err
		}
		return s.alerts.Take(r.Context(), id, strings.TrimSpace(in.By))
	})
}

func (s *Server) silenceAlert(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Until  momentText `json:"until"`
		For    string     `json:"for"`
		Reason string     `json:"reason"`
		By     string     `json:"by"`
	}
	return s.act(w, r, &in, func(id monolith.AlertID) (a monolith.Alert, err error) {
		if err := firstErr(checkSaid("reason", in.Reason, 1000), checkSaid("by", in.By, 128)); err != nil {
			return a, err
		}
		until, err := s.end("until", s.now(), string(in.Until), in.For)
		if err != nil {
			return a, err
		}
		if !until.IsZero() && !until.After(s.now()) {
			return a, monolith.Invalid("until", "the silence would be over already")
		}
		return s.alerts.SilenceAlert(r.Context(), id, until, strings.TrimSpace(in.By), strings.TrimSpace(in.Reason))
	})
}

func (s *Server) noteAlert(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Text string `json:"text"`
		By   string `json:"by"`
	}
	return s.act(w, r, &in, func(id monolith.AlertID) (a monolith.Alert, err error) {
		if strings.TrimSpace(in.Text) == "" {
			return a, monolith.Invalid("text", "a note needs a text")
		}
		if err := firstErr(checkSaid("text", in.Text, 4000), checkSaid("by", in.By, 128)); err != nil {
			return a, err
		}
		return s.alerts.AddAlertNote(r.Context(), id, strings.TrimSpace(in.By), strings.TrimSpace(in.Text))
	})
}

// end reads when something is over: a moment, or a length of time from its begin. Zero: neither was said.
func (s *Server) end(field string, from time.Time, moment, length string) (time.Time, error) {
	switch {
	case moment != "" && length != "":
		return time.Time{}, monolith.Invalid("for", "there are both an end and a length of time", "give one of them")
	case moment != "":
		return monolith.ParseTime(field, moment, s.now())
	case length != "":
		d, err := monolith.ParseDuration("for", length)
		if err == nil && d <= 0 {
			err = monolith.Invalid("for", "the length of time is nothing")
		}
		return from.Add(d), err
	}
	return time.Time{}, nil
}

// checkSaid refuses what people could not have meant to say.
func checkSaid(field, text string, most int) error {
	switch {
	case !utf8.ValidString(text):
		return monolith.Invalid(field, "the text is not UTF-8")
	case utf8.RuneCountInString(text) > most:
		return monolith.Invalid(field, fmt.Sprintf("the text is longer than %d characters", most))
	case strings.ContainsFunc(text, func(c rune) bool { return monolith.Misleads(c) && c != '\n' && c != '\t' && c != '\r' }):
		return monolith.Invalid(field, "the text holds a control character, or one that turns the direction of writing")
	}
	return nil
}

// firstErr gives the first error.
func firstErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// decodeOrForm reads a body that is JSON or a form into v, a pointer to a struct of texts. No body at all is an
// empty one.
func decodeOrForm(r *http.Request, v any) error {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/x-www-form-urlencoded" && kind != "multipart/form-data" {
		if r.ContentLength == 0 {
			return nil
		}
		return decode(r, v)
	}
	if err := readForm(r); err != nil {
		return err
	}
	members := map[string]string{}
	for name, values := range r.PostForm {
		if len(values) != 1 {
			return monolith.Invalid(name, "the field stands twice", "give it once")
		}
		members[name] = values[0]
	}
	body, err := json.Marshal(members)
	if err != nil {
		return fmt.Errorf("web: form: %w", err)
	}
	return decodeJSON(bytes.TrimSpace(body), v)
}

package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
)

// serverNames gives the names of the servers by id.
func (s *Server) serverNames(ctx context.Context) (map[monolith.ServerID]string, error) {
	servers, err := s.store.Servers(ctx)
	if err != nil {
		return nil, err
	}
	names := make(map[monolith.ServerID]string, len(servers))
	for i := range servers {
		names[servers[i].ID] = servers[i].Name
	}
	return names, nil
}

// silenceView is a silence with its server's name.
type silenceView struct {
	monolith.Silence
	Server string `json:"server,omitempty"`
}

func (s *Server) listSilences(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "limit", "cursor")
	silences, err := s.alerts.Silences(r.Context())
	if err != nil {
		return err
	}
	names, err := s.serverNames(r.Context())
	if err != nil {
		return err
	}
	part, next := cut(q, silences, 1000, func(one monolith.Silence) string { return strconv.FormatInt(one.ID, 10) })
	if q.err != nil {
		return q.err
	}
	views := make([]silenceView, len(part))
	for i, one := range part {
		views[i] = silenceView{one, names[one.Server]}
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Silences []silenceView `json:"silences"`
		Next     string        `json:"next,omitempty"`
	}{views, next})
}

// silenceBody is what people say of a silence.
type silenceBody struct {
	Alert  int64      `json:"alert"`
	Server string     `json:"server"`
	Group  string     `json:"group"`
	Rule   string     `json:"rule"`
	From   momentText `json:"from"`
	To     momentText `json:"to"`
	For    string     `json:"for"`
	Reason string     `json:"reason"`
	By     string     `json:"by"`
}

// place finds for whom something is.
func (s *Server) place(ctx context.Context, server, group string) (monolith.ServerID, error) {
	if server != "" && group != "" {
		return 0, monolith.Invalid("group", "there are both a server and a group", "give one of them, or none for everything")
	}
	if server == "" {
		return 0, s.groupThere(ctx, "group", group)
	}
	found, err := s.serverNamed(ctx, "server", server)
	return found.ID, err
}

func (s *Server) silenceOf(r *http.Request, id int64) (*monolith.Silence, string, error) {
	var in silenceBody
	if err := decodeOrForm(r, &in); err != nil {
		return nil, "", err
	}
	if err := firstErr(checkSaid("reason", in.Reason, 1000), checkSaid("by", in.By, 128)); err != nil {
		return nil, "", err
	}
	one := &monolith.Silence{ID: id, Alert: monolith.AlertID(in.Alert), Group: strings.Trim(in.Group, "/"), Rule: in.Rule, From: s.now(), By: in.By, Reason: strings.TrimSpace(in.Reason)}
	var err error
	if one.Server, err = s.place(r.Context(), in.Server, one.Group); err != nil {
		return nil, "", err
	}
	if one.Rule != "" {
		if _, err := s.ruleNamed("rule", one.Rule); err != nil {
			return nil, "", err
		}
	}
	if in.From != "" {
		if one.From, err = monolith.ParseTime("from", string(in.From), s.now()); err != nil {
			return nil, "", err
		}
	}
	if one.To, err = s.end("to", one.From, string(in.To), in.For); err != nil {
		return nil, "", err
	}
	one.From, one.To = one.From.Truncate(time.Millisecond), one.To.Truncate(time.Millisecond)
	if err := one.Validate(s.now()); err != nil {
		return nil, "", err
	}
	if one.Alert != 0 {
		if _, err := s.alerts.Alert(r.Context(), one.Alert); errors.Is(err, monolith.ErrNotFound) {
			p := notFound("alert", strconv.FormatInt(in.Alert, 10), "/api/v1/alerts lists them")
			p.Field = "alert"
			return nil, "", p
		} else if err != nil {
			return nil, "", err
		}
	}
	return one, in.Server, nil
}

func (s *Server) addSilence(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	one, server, err := s.silenceOf(r, 0)
	if err != nil {
		return err
	}
	if err := s.alerts.PutSilence(r.Context(), one); err != nil {
		return err
	}
	w.Header().Set("Location", s.link("api", "v1", "silences", strconv.FormatInt(one.ID, 10)))
	return s.respond(w, r, http.StatusCreated, "silence", silenceView{*one, server})
}

func (s *Server) putSilence(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	id, err := pathID(r, "silence", "silences")
	if err != nil {
		return err
	}
	one, server, err := s.silenceOf(r, id)
	if err != nil {
		return err
	}
	err = s.alerts.PutSilence(r.Context(), one)
	if errors.Is(err, monolith.ErrNotFound) {
		return notFound("silence", pathValue(r, "id"), "/api/v1/silences lists them")
	}
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "silence", silenceView{*one, server})
}

// pathID reads the number of the path; list is where such things are listed.
func pathID(r *http.Request, what, list string) (int64, error) {
	id, err := strconv.ParseInt(pathValue(r, "id"), 10, 64)
	if err != nil || id <= 0 {
		return 0, notFound(what, pathValue(r, "id"), "/api/v1/"+list+" lists them")
	}
	return id, nil
}

// remove answers a DELETE of something with a number.
func (s *Server) remove(w http.ResponseWriter, r *http.Request, what, list string, del func(context.Context, int64) error) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	id, err := pathID(r, what, list)
	if err != nil {
		return err
	}
	err = del(r.Context(), id)
	if errors.Is(err, monolith.ErrNotFound) {
		return notFound(what, pathValue(r, "id"), "/api/v1/"+list+" lists them")
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) deleteSilence(w http.ResponseWriter, r *http.Request) error {
	return s.remove(w, r, "silence", "silences", s.alerts.DeleteSilence)
}

// windowView is a maintenance window in words, with its next occurrence.
type windowView struct {
	ID       int64     `json:"id"`
	Title    string    `json:"title"`
	Server   string    `json:"server,omitempty"`
	Group    string    `json:"group,omitempty"`
	Start    string    `json:"start"`    // wall clock in Zone
	Duration float64   `json:"duration"` // seconds
	Zone     string    `json:"zone"`
	Every    string    `json:"every,omitempty"`
	Weekdays []string  `json:"weekdays,omitempty"`
	Until    time.Time `json:"until,omitzero"`
	By       string    `json:"by,omitempty"`
	// NextFrom and NextTo are the occurrence that is running, or the next one; left out when none comes.
	NextFrom time.Time `json:"next_from,omitzero"`
	NextTo   time.Time `json:"next_to,omitzero"`
	Running  bool      `json:"running"`
}

// wallClock is how a moment of a window is written: without a zone, which stands beside it.
const wallClock = "2006-01-02T15:04:05"

func (s *Server) windowView(m *monolith.MaintenanceWindow, server string) windowView {
	start := m.Start
	if zone, err := monolith.ParseZone("zone", m.Zone); err == nil {
		start = start.In(zone)
	}
	v := windowView{ID: m.ID, Title: m.Title, Server: server, Group: m.Group, Start: start.Format(wallClock), Duration: m.Duration.Seconds(),
		Zone: cmp.Or(m.Zone, "UTC"), Every: m.Every, Until: m.Until, By: m.By}
	for _, day := range m.Weekdays {
		v.Weekdays = append(v.Weekdays, monolith.WeekdayWord(day))
	}
	now := s.now()
	if from, to, ok := s.alerts.NextMaintenance(m, now); ok {
		v.NextFrom, v.NextTo, v.Running = from.UTC(), to.UTC(), !now.Before(from) && now.Before(to)
	}
	return v
}

func (s *Server) listWindows(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "limit", "cursor")
	windows, err := s.alerts.MaintenanceWindows(r.Context())
	if err != nil {
		return err
	}
	names, err := s.serverNames(r.Context())
	if err != nil {
		return err
	}
	part, next := cut(q, windows, 1000, func(m monolith.MaintenanceWindow) string { return strconv.FormatInt(m.ID, 10) })
	if q.err != nil {
		return q.err
	}
	views := make([]windowView, len(part))
	for i := range part {
		views[i] = s.windowView(&part[i], names[part[i].Server])
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Windows []windowView `json:"windows"`
		Next    string       `json:"next,omitempty"`
	}{views, next})
}

// windowBody is what people say of a maintenance window.
type windowBody struct {
	Title    string     `json:"title"`
	Server   string     `json:"server"`
	Group    string     `json:"group"`
	Start    string     `json:"start"`
	Duration string     `json:"duration"`
	Zone     string     `json:"zone"`
	Every    string     `json:"every"`
	Weekdays []string   `json:"weekdays"`
	Until    momentText `json:"until"`
	By       string     `json:"by"`
}

func (s *Server) windowOf(r *http.Request, id int64) (*monolith.MaintenanceWindow, string, error) {
	var in windowBody
	if err := decode(r, &in); err != nil {
		return nil, "", err
	}
	if err := firstErr(checkSaid("title", in.Title, 200), checkSaid("by", in.By, 128)); err != nil {
		return nil, "", err
	}
	m := &monolith.MaintenanceWindow{ID: id, Title: strings.TrimSpace(in.Title), Group: strings.Trim(in.Group, "/"), Zone: in.Zone, Every: in.Every, By: in.By}
	var err error
	if m.Server, err = s.place(r.Context(), in.Server, m.Group); err != nil {
		return nil, "", err
	}
	zone, err := monolith.ParseZone("zone", in.Zone)
	if err != nil {
		return nil, "", err
	}
	if m.Start, err = wallMoment(in.Start, zone, s.now()); err != nil {
		return nil, "", err
	}
	if m.Duration, err = monolith.ParseDuration("duration", in.Duration); err != nil {
		return nil, "", err
	}
	for i, word := range in.Weekdays {
		day, known := monolith.ParseWeekday(word)
		if !known {
			return nil, "", monolith.Invalid(fmt.Sprintf("weekdays[%d]", i), fmt.Sprintf("%q is no day of the week", word), "one of "+strings.Join(monolith.WeekdayWords(), ", "))
		}
		if !slices.Contains(m.Weekdays, day) {
			m.Weekdays = append(m.Weekdays, day)
		}
	}
	if in.Until != "" {
		if m.Until, err = monolith.ParseTime("until", string(in.Until), s.now()); err != nil {
			return nil, "", err
		}
	}
	return m, in.Server, m.Validate()
}

// wallMoment reads a moment on the clock of a zone. One with an offset, or another form of time, is taken as the moment
// that it is.
func wallMoment(text string, zone *time.Location, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, monolith.Invalid("start", "a window has a begin", `such as "2026-03-29T22:00"`)
	}
	for _, layout := range []string{wallClock, "2006-01-02T15:04", "2006-01-02 15:04"} {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, nil
		}
	}
	t, err := monolith.ParseTime("start", text, now)
	return t.In(zone), err
}

func (s *Server) addWindow(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	m, server, err := s.windowOf(r, 0)
	if err != nil {
		return err
	}
	if err := s.alerts.PutMaintenanceWindow(r.Context(), m); err != nil {
		return err
	}
	w.Header().Set("Location", s.link("api", "v1", "windows", strconv.FormatInt(m.ID, 10)))
	return s.respond(w, r, http.StatusCreated, "window", s.windowView(m, server))
}

func (s *Server) putWindow(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	id, err := pathID(r, "window", "windows")
	if err != nil {
		return err
	}
	m, server, err := s.windowOf(r, id)
	if err != nil {
		return err
	}
	err = s.alerts.PutMaintenanceWindow(r.Context(), m)
	if errors.Is(err, monolith.ErrNotFound) {
		return notFound("window", pathValue(r, "id"), "/api/v1/windows lists them")
	}
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "window", s.windowView(m, server))
}

func (s *Server) deleteWindow(w http.ResponseWriter, r *http.Request) error {
	return s.remove(w, r, "window", "windows", s.alerts.DeleteMaintenanceWindow)
}

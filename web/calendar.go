package web

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"

	"monolith"
)

// The part of the future that the calendar shows.
const (
	calendarAhead = 180 * 24 * time.Hour
	calendarMost  = 200 // occurrences of one window
)

// maintenanceCalendar answers with the maintenance windows as iCalendar. Each occurrence stands by itself, in UTC: so
// every program shows it at the right moment, also where daylight saving begins in between.
func (s *Server) maintenanceCalendar(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "server", "group")
	names, group := q.texts("server", maxServers), strings.Trim(q.text("group"), "/")
	if q.err != nil {
		return q.err
	}
	wanted, err := s.feedServers(r.Context(), names, group)
	if err != nil {
		return err
	}
	servers, err := s.store.Servers(r.Context())
	if err != nil {
		return err
	}
	windows, err := s.alerts.MaintenanceWindows(r.Context())
	if err != nil {
		return err
	}
	cal := ics.NewCalendarFor("Monolith")
	cal.SetMethod(ics.MethodPublish)
	cal.SetXWRCalName(cleanTitle("Monolith: maintenance" + narrowed(names, group)))
	// A calendar has one component at least (RFC 5545, 3.6), also while there is no window.
	standard := cal.AddTimezone("Etc/UTC").AddStandard()
	standard.SetProperty(ics.ComponentPropertyDtStart, "19700101T000000")
	standard.SetProperty(ics.ComponentProperty(ics.PropertyTzoffsetfrom), "+0000")
	standard.SetProperty(ics.ComponentProperty(ics.PropertyTzoffsetto), "+0000")
	standard.SetProperty(ics.ComponentProperty(ics.PropertyTzname), "UTC")
	cal.SetRefreshInterval("PT1H")
	for i := range windows {
		if place, ok := placeOf(&windows[i], servers, wanted, group); ok {
			s.addOccurrences(r, cal, &windows[i], place)
		}
	}
	body := cal.Serialize(ics.WithNewLineWindows) // RFC 5545 wants CRLF, the library writes what the system likes
	sum := fnv.New64a()
	sum.Write([]byte(body))
	h := w.Header()
	h.Set("Content-Type", "text/calendar; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("Etag", fmt.Sprintf(`"%016x"`, sum.Sum64()))
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(body))
	return nil
}

// placeOf says in words for what a window is, and whether it concerns what the calendar is narrowed to.
func placeOf(m *monolith.MaintenanceWindow, servers []monolith.Server, wanted []monolith.ServerID, group string) (string, bool) {
	covers := func(server *monolith.Server) bool {
		if m.Server != 0 {
			return m.Server == server.ID
		}
		return monolith.InGroup(server.Group, m.Group)
	}
	there := len(wanted) == 0 && (group == "" || m.Server == 0 && (monolith.InGroup(m.Group, group) || monolith.InGroup(group, m.Group)))
	place := m.Group
	for i := range servers {
		server := &servers[i]
		if server.ID == m.Server {
			place = server.Name
		}
		if !covers(server) {
			continue
		}
		for _, id := range wanted {
			there = there || id == server.ID
		}
		there = there || group != "" && monolith.InGroup(server.Group, group)
	}
	if place == "" {
		place = "all servers"
	}
	return place, there
}

// addOccurrences adds what comes of a window, and what runs now.
func (s *Server) addOccurrences(r *http.Request, cal *ics.Calendar, m *monolith.MaintenanceWindow, place string) {
	now := s.now()
	at := now
	for range calendarMost {
		from, to, ok := s.alerts.NextMaintenance(m, at)
		if !ok || from.Sub(now) > calendarAhead {
			return
		}
		// The same id each time: a calendar that reads again changes its entry and makes no second one.
		e := cal.AddEvent(s.feedID("maintenance", strconv.FormatInt(m.ID, 10)) + ":" + strconv.FormatInt(from.Unix(), 10))
		e.SetDtStampTime(from.UTC())
		e.SetStartAt(from.UTC())
		e.SetEndAt(to.UTC())
		title := m.Title
		if title == "" {
			title = "Maintenance"
		}
		e.SetSummary(cleanTitle(title + ": " + place))
		e.SetLocation(cleanTitle(place))
		e.SetURL(s.absolute(r, s.link("quiet")))
		if !to.After(at) {
			return
		}
		at = to
	}
}

package web

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
)

// changesTab is a server's timeline: changes of variables and texts, restarts, notes.
type changesTab struct {
	serverPage
	Days     []dayOfEvents
	Kind     string
	Older    bool   // the address asks for what lies before a moment
	Next     string // address of the older ones
	Error    string
	Text     string // of the note that could not be kept
	NoteTime string
}

type dayOfEvents struct {
	Day    time.Time
	Events []event
}

// event is one line of the timeline.
type event struct {
	At     time.Time
	Kind   monolith.MarkKind
	Sign   string
	Title  string
	Link   string
	From   string
	To     string
	Gone   bool
	Text   string
	MarkID int64 // of a note, which can be removed
}

var markSigns = map[monolith.MarkKind]string{monolith.MarkRestart: "↻", monolith.MarkVariable: "≠", monolith.MarkVersion: "↑",
	monolith.MarkFailover: "⇄", monolith.MarkRename: "✐", monolith.MarkAlert: "!", monolith.MarkNote: "✎"}

// A page holds about so many events; those of one moment, of which there may be many after an upgrade,
// are not divided between pages.
const (
	eventsOfPage = 200
	mostEvents   = 2000
)

func (s *Server) changesPage(w http.ResponseWriter, r *http.Request) error {
	p, err := s.serverPage(r, "changes", "changes")
	if err != nil {
		return err
	}
	return s.showTimeline(w, r, http.StatusOK, changesTab{serverPage: p, Kind: r.URL.Query().Get("kind")})
}

func (s *Server) showTimeline(w http.ResponseWriter, r *http.Request, status int, d changesTab) error {
	before, _ := monolith.ParseTime("before", r.URL.Query().Get("before"), d.Now) // wrong or missing: from the newest
	if before.Equal(d.Now) {
		before = time.Time{}
	}
	d.Older = !before.IsZero()
	var events []event
	if d.Kind != "restarts" && d.Kind != "notes" {
		ask := monolith.ChangeQuery{Server: d.Server.ID, To: before, Name: "variable.", Limit: mostEvents}
		if d.Kind == "texts" {
			ask.Name = "status."
		}
		changes, err := s.store.Changes(r.Context(), ask)
		if err = d.unread(err, "what was changed"); err != nil {
			return err
		}
		for _, c := range changes {
			e := event{At: c.At, Kind: monolith.MarkVariable, Title: bare(c.Name), From: c.From, To: c.To, Gone: c.Gone}
			if (monolith.Metric{Name: c.Name}).Namespace() == "variable" {
				e.Link = d.At("servers", d.Server.Name, "variables", e.Title)
			}
			events = append(events, e)
		}
	}
	if d.Kind != "variables" && d.Kind != "texts" {
		kinds := []monolith.MarkKind{monolith.MarkRestart, monolith.MarkVersion, monolith.MarkFailover, monolith.MarkRename, monolith.MarkAlert, monolith.MarkNote}
		if d.Kind == "notes" {
			kinds = []monolith.MarkKind{monolith.MarkNote}
		} else if d.Kind == "restarts" {
			kinds = kinds[:4]
		}
		marks, err := s.marksOf(r.Context(), []monolith.Server{d.Server}, monolith.MarkQuery{To: before, Kinds: kinds, Limit: mostEvents})
		if err = d.unread(err, "restarts and notes"); err != nil {
			return err
		}
		for _, m := range marks {
			e := event{At: m.At, Kind: m.Kind, Title: firstUpper(string(m.Kind)), Text: m.Text}
			if strings.HasPrefix(m.Text, string(m.Kind)) {
				e.Title, e.Text = "", firstUpper(m.Text) // it says itself what it is: "renamed: a → b"
			}
			if m.Kind == monolith.MarkNote {
				e.MarkID = m.ID
			}
			events = append(events, e)
		}
	}
	slices.SortStableFunc(events, func(a, b event) int { return b.At.Compare(a.At) })
	if end := eventsOfPage; len(events) > end {
		for end < len(events) && events[end].At.Equal(events[end-1].At) {
			end++
		}
		if end < len(events) {
			d.Next = d.With("before", events[end-1].At.UTC().Format(time.RFC3339Nano))
		}
		events = events[:end]
	}
	for _, e := range events {
		e.Sign = markSigns[e.Kind]
		y, m, day := e.At.In(d.location).Date()
		midnight := time.Date(y, m, day, 0, 0, 0, 0, d.location)
		if n := len(d.Days); n == 0 || !d.Days[n-1].Day.Equal(midnight) {
			d.Days = append(d.Days, dayOfEvents{Day: midnight})
		}
		last := &d.Days[len(d.Days)-1]
		last.Events = append(last.Events, e)
	}
	return s.show(w, r, status, "changes", "frame", &d)
}

// saveNote adds or removes a note.
func (s *Server) saveNote(w http.ResponseWriter, r *http.Request) error {
	p, err := s.serverPage(r, "changes", "changes")
	if err != nil {
		return err
	}
	to := s.link("servers", p.Server.Name, "changes")
	if id := r.PostFormValue("remove"); id != "" {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return notFound("note", id, "")
		}
		if err := s.store.DeleteMark(r.Context(), n); err != nil {
			return err
		}
		s.back(w, r, to, "unnoted")
		return nil
	}
	at, server, group := r.PostFormValue("at"), p.Server.Name, ""
	if at != "" {
		m, err := p.readMoment("at", at, "now")
		if err != nil {
			return s.showTimeline(w, r, http.StatusUnprocessableEntity, changesTab{serverPage: p, Error: err.Error(), Text: r.PostFormValue("text"), NoteTime: at})
		}
		at = m.at.Format(time.RFC3339)
	}
	switch r.PostFormValue("scope") {
	case "group":
		server, group = "", p.Server.Group
	case "all":
		server = ""
	}
	if _, err := s.note(r.Context(), server, group, at, r.PostFormValue("text")); err != nil {
		bad := s.problemOf(r, err)
		if bad.Status >= http.StatusInternalServerError && bad.Kind != kindUnavailable {
			return bad
		}
		return s.showTimeline(w, r, bad.Status, changesTab{serverPage: p, Error: bad.Detail, Text: r.PostFormValue("text"), NoteTime: r.PostFormValue("at")})
	}
	s.back(w, r, to, "noted")
	return nil
}

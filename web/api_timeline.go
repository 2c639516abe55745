package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"monolith"
)

func (s *Server) showChanges(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "name", "prefix", "from", "to", "first", "limit", "cursor")
	ask := monolith.ChangeQuery{
		Name: q.text("prefix"), From: q.time("from", time.Time{}), To: q.time("to", time.Time{}),
		First: q.flag("first"), Limit: q.number("limit", 200, 1, 5000),
	}
	if name := q.text("name"); name != "" {
		if ask.Name != "" {
			q.fail(monolith.Invalid("name", "there are both a name and a prefix", "give one of them"))
		}
		ask.Name, ask.Exact = name, true
	}
	if cursor := q.text("cursor"); cursor != "" {
		before, err := strconv.ParseInt(cursor, 10, 64)
		if err != nil || before <= 0 {
			q.fail(monolith.Invalid("cursor", "this is not a cursor", "begin without one"))
		}
		ask.Before = before
	}
	server, st, err := s.stateOf(r, q)
	if err != nil {
		return err
	}
	ask.Server = server.ID
	limit := ask.Limit
	ask.Limit++ // one more tells whether there is a next page
	changes, err := s.store.Changes(r.Context(), ask)
	if err != nil {
		return err
	}
	next := ""
	if len(changes) > limit {
		changes = changes[:limit]
		next = strconv.FormatInt(changes[limit-1].ID, 10)
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		about
		Changes []monolith.Change `json:"changes"`
		Next    string            `json:"next,omitempty"`
	}{s.about(&server, st), orEmpty(changes), next})
}

// markView is a mark with its server's name. T repeats At in unix seconds, as the axis of a series has it.
type markView struct {
	monolith.Mark
	Server string `json:"server,omitempty"`
	T      int64  `json:"t"`
}

// marksOf reads the marks of servers, of the groups that they stand in, and of everything.
func (s *Server) marksOf(ctx context.Context, servers []monolith.Server, ask monolith.MarkQuery) ([]monolith.Mark, error) {
	for i := range servers {
		ask.Servers = append(ask.Servers, servers[i].ID)
		if g := servers[i].Group; g != "" && !slices.Contains(ask.Groups, g) {
			ask.Groups = append(ask.Groups, g)
		}
	}
	return s.store.Marks(ctx, ask)
}

// nameMarks puts the servers' names to marks.
func nameMarks(marks []monolith.Mark, servers []monolith.Server) []markView {
	names := make(map[monolith.ServerID]string, len(servers))
	for i := range servers {
		names[servers[i].ID] = servers[i].Name
	}
	views := make([]markView, len(marks))
	for i, m := range marks {
		views[i] = markView{Mark: m, Server: names[m.Server], T: m.At.Unix()}
	}
	return views
}

// markKinds are the words of the kind parameter.
var markKinds = []string{"restart", "variable", "version", "failover", "alert", "rename", "note"}

func (s *Server) listMarks(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "server", "group", "kind", "from", "to", "limit")
	ask := monolith.MarkQuery{From: q.time("from", time.Time{}), To: q.time("to", time.Time{}), Limit: q.number("limit", 500, 1, 5000)}
	for _, kind := range q.texts("kind", len(markKinds)) {
		if !slices.Contains(markKinds, kind) {
			q.fail(monolith.Invalid("kind", fmt.Sprintf("there is no kind %q", kind), "one of "+strings.Join(markKinds, ", ")))
		}
		ask.Kinds = append(ask.Kinds, monolith.MarkKind(kind))
	}
	names, group := q.texts("server", maxServers), q.text("group")
	if q.err != nil {
		return q.err
	}
	servers, err := s.chosen(r.Context(), names, group)
	if err != nil {
		return err
	}
	narrow := servers
	if len(names) == 0 && group == "" {
		narrow = nil // everything: also marks of groups without a server
	}
	marks, err := s.marksOf(r.Context(), narrow, ask)
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Marks []markView `json:"marks"`
	}{nameMarks(marks, servers)})
}

// chosen gives the servers with these names, in this order, and those of a group. With neither, all.
func (s *Server) chosen(ctx context.Context, names []string, group string) ([]monolith.Server, error) {
	all, err := s.store.Servers(ctx)
	if err != nil {
		return nil, err
	}
	var out []monolith.Server
	for _, name := range names {
		i := slices.IndexFunc(all, func(server monolith.Server) bool { return server.Name == name })
		if i < 0 {
			_, err := s.serverNamed(ctx, "server", name)
			return nil, err
		}
		out = append(out, all[i])
	}
	if len(names) > 0 && group == "" {
		return out, nil
	}
	group = strings.Trim(group, "/")
	if err := s.groupThere(ctx, "group", group); err != nil {
		return nil, err
	}
	for _, server := range all {
		if monolith.InGroup(server.Group, group) && !slices.Contains(names, server.Name) {
			out = append(out, server)
		}
	}
	return out, nil
}

// addMark keeps a note of a person or a deploy script.
func (s *Server) addMark(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	var in struct {
		Server string     `json:"server"`
		Group  string     `json:"group"`
		At     momentText `json:"at"`
		Text   string     `json:"text"`
	}
	if err := decode(r, &in); err != nil {
		return err
	}
	view, err := s.note(r.Context(), in.Server, in.Group, string(in.At), in.Text)
	if err != nil {
		return err
	}
	w.Header().Set("Location", s.link("api", "v1", "marks", strconv.FormatInt(view.ID, 10)))
	return s.respond(w, r, http.StatusCreated, "mark", view)
}

// momentText is a time in a body: a text as in parameters, or unix seconds as a number.
type momentText string

// UnmarshalJSON takes a text or a whole number.
func (m *momentText) UnmarshalJSON(b []byte) error {
	if _, err := strconv.ParseInt(string(b), 10, 64); err == nil {
		*m = momentText(b)
		return nil
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return monolith.Invalid("at", "this is not a time", `RFC 3339, unix seconds, "now" or "-2h"`)
	}
	*m = momentText(s)
	return nil
}

// note checks and keeps a note for a server, a group, or (with neither) everything. at "" is now. The
// pages use it too.
func (s *Server) note(ctx context.Context, server, group, at, text string) (*markView, error) {
	m := monolith.Mark{At: s.now(), Kind: monolith.MarkNote, Group: group, Text: strings.TrimSpace(text)}
	switch {
	case m.Text == "" || !utf8.ValidString(m.Text):
		return nil, monolith.Invalid("text", "a note needs a text")
	case utf8.RuneCountInString(m.Text) > 1000:
		return nil, monolith.Invalid("text", "the text is longer than 1000 characters")
	case strings.ContainsFunc(m.Text, func(c rune) bool { return monolith.Misleads(c) && c != '\n' && c != '\t' }):
		return nil, monolith.Invalid("text", "the text holds a control character, or one that turns the direction of writing")
	case server != "" && group != "":
		return nil, monolith.Invalid("group", "there are both a server and a group", "give one of them, or none for a note about everything")
	}
	if at != "" {
		t, err := monolith.ParseTime("at", at, m.At)
		if err != nil {
			return nil, err
		}
		m.At = t
	}
	m.At = m.At.Truncate(time.Millisecond) // as the store keeps it: what is answered now is what is read later
	if group != "" {
		if err := s.checkGroup(&monolith.Group{Path: group}); err != nil {
			return nil, err
		}
		if err := s.groupThere(ctx, "group", group); err != nil {
			return nil, err
		}
	}
	if server != "" {
		found, err := s.serverNamed(ctx, "server", server)
		if err != nil {
			return nil, err
		}
		m.Server = found.ID
	}
	if err := s.store.AddMark(ctx, &m); err != nil {
		return nil, err
	}
	return &markView{Mark: m, Server: server, T: m.At.Unix()}, nil
}

func (s *Server) deleteMark(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	id, err := strconv.ParseInt(pathValue(r, "id"), 10, 64)
	if err != nil {
		return notFound("mark", pathValue(r, "id"), "/api/v1/marks lists them")
	}
	err = s.store.DeleteMark(r.Context(), id)
	if errors.Is(err, monolith.ErrNotFound) {
		return notFound("mark", pathValue(r, "id"), "/api/v1/marks lists them")
	}
	if errors.Is(err, monolith.ErrConflict) {
		return refuse(http.StatusConflict, kindConflict, "Monolith made this mark itself, and what it saw stays", "only notes can be removed")
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

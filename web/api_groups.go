package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"monolith"
	"monolith/formula"
)

func (s *Server) listGroups(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "limit", "cursor")
	groups, err := s.store.Groups(r.Context())
	if err != nil {
		return err
	}
	part, next := cut(q, groups, 1000, func(g monolith.Group) string { return g.Path })
	if q.err != nil {
		return q.err
	}
	if part == nil {
		part = []monolith.Group{}
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Groups []monolith.Group `json:"groups"`
		Next   string           `json:"next,omitempty"`
	}{part, next})
}

// groupBody is what people set of a group; the path says which.
type groupBody struct {
	Environment string            `json:"environment"`
	TimeZone    string            `json:"time_zone"`
	Schedules   map[string]string `json:"schedules"`
}

func (s *Server) putGroup(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	var in groupBody
	if r.ContentLength != 0 { // a group needs nothing but its path
		if err := decode(r, &in); err != nil {
			return err
		}
	}
	g := monolith.Group{Path: pathValue(r, "path"), Environment: in.Environment, TimeZone: in.TimeZone, Schedules: in.Schedules}
	if err := s.saveGroup(r.Context(), &g); err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "group", g)
}

// saveGroup checks and keeps a group at the position that it has, or behind its siblings. The pages use
// it too.
func (s *Server) saveGroup(ctx context.Context, g *monolith.Group) error {
	if err := s.checkGroup(g); err != nil {
		return err
	}
	groups, err := s.store.Groups(ctx)
	if err != nil {
		return err
	}
	for _, old := range groups {
		if old.Path == g.Path {
			g.Position = old.Position
		}
	}
	if err := s.store.PutGroup(ctx, *g); err != nil {
		return err
	}
	s.changed(ctx)
	return nil
}

// checkGroup judges a group by the rules for a server that would stand in it: they share every attribute.
func (s *Server) checkGroup(g *monolith.Group) error {
	if g.Path == "" {
		return monolith.Invalid("group", "the path is empty", `such as "acme/prod"`)
	}
	inside := monolith.Server{Name: "x", Group: g.Path, Endpoint: monolith.Endpoint{Host: "x"},
		Environment: g.Environment, TimeZone: g.TimeZone, Schedules: g.Schedules}
	return s.checkServer(&inside)
}

func (s *Server) deleteGroup(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	path := pathValue(r, "path")
	err := s.store.DeleteGroup(r.Context(), path)
	switch {
	case errors.Is(err, monolith.ErrNotFound):
		return notFound("group", path, "/api/v1/groups lists them")
	case errors.Is(err, monolith.ErrConflict):
		return refuse(http.StatusConflict, kindConflict, fmt.Sprintf("group %q still holds servers or groups", path), "move or remove them first")
	case err != nil:
		return err
	}
	s.changed(r.Context())
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) moveGroup(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	var in struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	if err := decode(r, &in); err != nil {
		return err
	}
	if err := s.renameGroup(r.Context(), in.From, in.To); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// renameGroup gives a group, with all that is below it, another path. The pages use it too.
func (s *Server) renameGroup(ctx context.Context, from, to string) error {
	for field, path := range map[string]string{"from": from, "to": to} {
		if err := s.checkGroup(&monolith.Group{Path: path}); err != nil {
			if bad, ok := errors.AsType[*monolith.InvalidError](err); ok {
				located := *bad
				located.Field = field
				return &located
			}
			return err
		}
	}
	if from != to && monolith.InGroup(to, from) {
		return monolith.Invalid("to", "a group can't be moved below itself")
	}
	err := s.store.MoveGroup(ctx, from, to)
	switch {
	case errors.Is(err, monolith.ErrNotFound):
		return notFound("group", from, "/api/v1/groups lists them")
	case errors.Is(err, monolith.ErrConflict):
		return refuse(http.StatusConflict, kindConflict, fmt.Sprintf("there is a group %q already", to), "choose another path")
	case err != nil:
		return err
	}
	s.changed(ctx)
	return nil
}

func (s *Server) orderGroups(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	var in struct {
		Groups []string `json:"groups"`
	}
	if err := decode(r, &in); err != nil {
		return err
	}
	if len(in.Groups) == 0 {
		return monolith.Invalid("groups", "there is nothing to order", "list sibling paths in the wanted order")
	}
	groups, err := s.store.Groups(r.Context())
	if err != nil {
		return err
	}
	for _, path := range in.Groups {
		if !slices.ContainsFunc(groups, func(g monolith.Group) bool { return g.Path == path }) {
			return notFound("group", path, "/api/v1/groups lists them")
		}
	}
	if err := s.store.OrderGroups(r.Context(), in.Groups); err != nil {
		return err
	}
	s.changed(r.Context())
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// groupThere says that there is no group at a path, and which one was probably meant. nil: there is one, or the
// path is empty, which stands for everything. field is the parameter that named it.
func (s *Server) groupThere(ctx context.Context, field, path string) error {
	if path == "" {
		return nil
	}
	groups, err := s.store.Groups(ctx)
	if err != nil {
		return err
	}
	servers, err := s.store.Servers(ctx)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	add := func(path string) {
		for ; path != "" && !known[path]; path = path[:max(0, strings.LastIndexByte(path, '/'))] {
			known[path] = true // also those above it
		}
	}
	for i := range groups {
		add(groups[i].Path)
	}
	for i := range servers {
		add(servers[i].Group)
	}
	if known[path] {
		return nil
	}
	p := notFound("group", path, "/api/v1/groups lists them")
	if near := formula.Nearest(path, sortedKeys(known)); near != "" {
		p.Cure = fmt.Sprintf("did you mean %q?", near)
	}
	p.Field = field
	return p
}

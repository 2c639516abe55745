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

	"monolith"
	"monolith/formula"
	"monolith/graph"
)

// ownPrefix begins the ids of graphs that people made, so that they never meet a built-in one.
const ownPrefix = "own-"

// graphView is a graph in lists. Those of people carry their definition.
type graphView struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Plan     string   `json:"plan,omitempty"`
	Section  string   `json:"section"`
	Overview bool     `json:"overview"`
	Own      bool     `json:"own"`
	Servers  []string `json:"servers,omitempty"`
	Page     string   `json:"page,omitempty"`
	Position int      `json:"position,omitempty"`
	// Definition is YAML in the form of the catalogue.
	Definition string `json:"definition,omitempty"`
}

func ownID(id int64) string { return ownPrefix + strconv.FormatInt(id, 10) }

func builtIn(g *graph.Graph) graphView {
	return graphView{ID: g.ID, Title: g.Title, Plan: g.Plan, Section: g.Section, Overview: g.Overview}
}

func ownGraph(g *monolith.SavedGraph, servers []monolith.Server) graphView {
	v := graphView{ID: ownID(g.ID), Title: g.Title, Section: "own", Own: true, Overview: g.Page == "overview",
		Page: g.Page, Position: g.Position, Definition: g.Definition}
	for _, id := range g.Servers {
		for i := range servers {
			if servers[i].ID == id {
				v.Servers = append(v.Servers, servers[i].Name)
			}
		}
	}
	return v
}

// savedGraph finds a graph that someone made by its own-… id.
func (s *Server) savedGraph(ctx context.Context, id string) (*monolith.SavedGraph, error) {
	number, err := strconv.ParseInt(strings.TrimPrefix(id, ownPrefix), 10, 64)
	if !strings.HasPrefix(id, ownPrefix) || err != nil {
		return nil, notFound("graph", id, graphCure(id))
	}
	all, err := s.store.Graphs(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].ID == number {
			return &all[i], nil
		}
	}
	return nil, notFound("graph", id, graphCure(id))
}

func graphCure(id string) string {
	var ids []string
	for _, g := range graph.Catalogue() {
		ids = append(ids, g.ID)
	}
	if near := formula.Nearest(id, ids); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "/api/v1/graphs lists them"
}

func (s *Server) listGraphs(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	views, err := s.graphViews(r.Context(), nil)
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Graphs []graphView `json:"graphs"`
	}{views})
}

// listServerGraphs lists the graphs of one server's pages: the built-in ones and those of people that
// are for every server or for this one.
func (s *Server) listServerGraphs(w http.ResponseWriter, r *http.Request) error {
	server, _, err := s.stateOf(r, s.query(r))
	if err != nil {
		return err
	}
	views, err := s.graphViews(r.Context(), &server)
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Server string      `json:"server"`
		Graphs []graphView `json:"graphs"`
	}{server.Name, views})
}

// graphViews lists all graphs, or with a server those that its pages show.
func (s *Server) graphViews(ctx context.Context, of *monolith.Server) ([]graphView, error) {
	views := []graphView{}
	for _, g := range graph.Catalogue() {
		views = append(views, builtIn(g))
	}
	saved, err := s.store.Graphs(ctx)
	if err != nil {
		return nil, err
	}
	servers, err := s.store.Servers(ctx)
	if err != nil {
		return nil, err
	}
	for i := range saved {
		if of == nil || len(saved[i].Servers) == 0 || slices.Contains(saved[i].Servers, of.ID) {
			views = append(views, ownGraph(&saved[i], servers))
		}
	}
	return views, nil
}

func (s *Server) showGraph(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	id := pathValue(r, "id")
	if g := graph.Find(id); g != nil {
		return s.respond(w, r, http.StatusOK, "graph", builtIn(g))
	}
	saved, err := s.savedGraph(r.Context(), id)
	if err != nil {
		return err
	}
	servers, err := s.store.Servers(r.Context())
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "graph", ownGraph(saved, servers))
}

// graphBody is what people set of a graph of their own.
type graphBody struct {
	Title      string   `json:"title"`
	Definition string   `json:"definition"`
	Servers    []string `json:"servers"`
	Page       string   `json:"page"`
	Position   int      `json:"position"`
}

func (s *Server) addGraph(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	return s.keepGraph(w, r, &monolith.SavedGraph{}, http.StatusCreated)
}

func (s *Server) putGraph(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	id := pathValue(r, "id")
	if graph.Find(id) != nil {
		return refuse(http.StatusConflict, kindConflict, fmt.Sprintf("%q is a built-in graph", id), "make one of your own with POST /api/v1/graphs")
	}
	saved, err := s.savedGraph(r.Context(), id)
	if err != nil {
		return err
	}
	return s.keepGraph(w, r, saved, http.StatusOK)
}

func (s *Server) keepGraph(w http.ResponseWriter, r *http.Request, saved *monolith.SavedGraph, status int) error {
	var in graphBody
	if err := decode(r, &in); err != nil {
		return err
	}
	servers, err := s.saveGraph(r.Context(), saved, in)
	if err != nil {
		return err
	}
	w.Header().Set("Location", s.link("api", "v1", "graphs", ownID(saved.ID)))
	return s.respond(w, r, status, "graph", ownGraph(saved, servers))
}

// saveGraph checks and keeps a graph of someone's own. The pages use it too.
func (s *Server) saveGraph(ctx context.Context, saved *monolith.SavedGraph, in graphBody) ([]monolith.Server, error) {
	if in.Page != "" && in.Page != "overview" && in.Page != "graphs" {
		return nil, monolith.Invalid("page", fmt.Sprintf("there is no page %q for graphs", in.Page), "overview, graphs, or empty")
	}
	if len(in.Servers) > 20 {
		return nil, monolith.Invalid("servers", "a graph shows at most 20 servers")
	}
	all, err := s.store.Servers(ctx)
	if err != nil {
		return nil, err
	}
	var on []monolith.Server
	if len(in.Servers) > 0 {
		if on, err = s.chosen(ctx, in.Servers, ""); err != nil {
			return nil, err
		}
	}
	seenOn := all
	if len(on) > 0 {
		seenOn = on
	}
	g, err := s.parseGraph(ctx, in.Definition, seenOn)
	if err != nil {
		return nil, err
	}
	saved.Title, saved.Definition = cmp.Or(strings.TrimSpace(in.Title), g.Title), in.Definition
	saved.Page, saved.Position = in.Page, in.Position
	saved.Servers = nil
	for i := range on {
		saved.Servers = append(saved.Servers, on[i].ID)
	}
	if err := s.store.PutGraph(ctx, saved); err != nil {
		return nil, err
	}
	return all, nil
}

// parseGraph reads the definition of one graph. Names that the table does not hold must have been seen
// on one of the servers.
func (s *Server) parseGraph(ctx context.Context, definition string, servers []monolith.Server) (*graph.Graph, error) {
	if len(definition) > 64<<10 {
		return nil, monolith.Invalid("definition", "the definition is longer than 64 KiB")
	}
	if strings.TrimSpace(definition) == "" {
		return nil, monolith.Invalid("definition", "there is no definition", "YAML in the form of the built-in graphs")
	}
	list, err := graph.Parse([]byte(definition), nil)
	if errors.Is(err, monolith.ErrInvalid) {
		seen, seenErr := s.namesSeen(ctx, servers)
		if seenErr != nil {
			return nil, seenErr
		}
		list, err = graph.Parse([]byte(definition), func(name string) bool { return seen[name] })
	}
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, monolith.Invalid("definition", fmt.Sprintf("there are %d graphs", len(list)), "define one")
	}
	return list[0], nil
}

func (s *Server) deleteGraph(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	id := pathValue(r, "id")
	if graph.Find(id) != nil {
		return refuse(http.StatusConflict, kindConflict, fmt.Sprintf("%q is a built-in graph and stays", id), "")
	}
	saved, err := s.savedGraph(r.Context(), id)
	if err != nil {
		return err
	}
	if err := s.store.DeleteGraph(r.Context(), saved.ID); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

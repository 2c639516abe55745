package web

import (
	"net/http"
	"strings"
)

// errorView says in a page what went wrong and what to do.
type errorView struct {
	pageBase
	Problem *problem
	Cure    string      // for people; "" when the links say it
	Links   [][2]string // address and words of the pages that help
}

// errorPage answers people with a problem.
func (s *Server) errorPage(w http.ResponseWriter, r *http.Request, p *problem) {
	d := errorView{pageBase: s.pageBase(r, p.Title, ""), Problem: p, Cure: p.Cure, Links: s.waysOut(r, p)}
	if strings.Contains(d.Cure, "/api/v1/") {
		d.Cure = "" // it speaks to programs
	}
	if err := s.show(w, r, p.Status, "error", "frame", &d); err != nil {
		s.internal(r, err)
		writeProblem(w, r, p)
	}
}

// waysOut gives the lists in which to find what the address may have meant.
func (s *Server) waysOut(r *http.Request, p *problem) [][2]string {
	var links [][2]string
	rest := strings.TrimPrefix(r.URL.Path, s.base)
	if name := pathValue(r, "name"); name != "" && p.Status < http.StatusInternalServerError {
		if _, err := s.store.Server(r.Context(), name); err == nil {
			links = append(links, [2]string{s.link("servers", name, "graphs"), "All graphs of " + name}, [2]string{s.link("servers", name), name})
		}
	} else if strings.HasPrefix(rest, "/graphs") {
		links = append(links, [2]string{s.link("graphs"), "Graphs of your own"})
	}
	return append(links, [2]string{s.link(), "All servers"})
}

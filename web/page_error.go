package web

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"monolith"
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
	if p.Kind == kindUnavailable {
		d.Title = "Not now"
	}
	if err := s.show(w, r, p.Status, "error", "frame", &d); err != nil {
		s.internal(r, err)
		writeProblem(w, r, p)
	}
}

// noSuch makes what is missing a sentence for the page that asked for it; other errors it gives back.
func noSuch(err error) (string, error) {
	if !isKind(err, kindNotFound) {
		return "", err
	}
	p, _ := errors.AsType[*problem](err)
	if strings.Contains(p.Cure, "/api/v1/") {
		return sentence(p.Detail), nil // the cure speaks to programs
	}
	return strings.TrimSpace(sentence(p.Detail) + " " + sentence(p.Cure)), nil
}

// waysOut gives the lists in which to find what the address may have meant.
func (s *Server) waysOut(r *http.Request, p *problem) [][2]string {
	var links [][2]string
	rest := strings.TrimPrefix(r.URL.Path, s.base)
	if name := pathValue(r, "name"); name != "" {
		_, err := s.store.Server(r.Context(), name)
		switch near := ""; {
		case err == nil && p.Kind == kindUnavailable: // what was polled last is shown all the same
			links = append(links, [2]string{s.link("servers", name), name})
			for _, t := range tabsOf(nil) {
				if slices.Contains([]string{"replication", "processes", "status", "variables", "monitoring"}, t.Key) {
					links = append(links, [2]string{s.link("servers", name, t.Key), t.Title})
				}
			}
		case err == nil && p.Status < http.StatusInternalServerError:
			links = append(links, [2]string{s.link("servers", name, "graphs"), "All graphs of " + name}, [2]string{s.link("servers", name), name})
		case errors.Is(err, monolith.ErrNotFound):
			if near = s.nearServer(r.Context(), name); near != "" {
				links = append(links, [2]string{s.link("servers", near), near})
			}
		}
	} else if strings.HasPrefix(rest, "/graphs") {
		links = append(links, [2]string{s.link("graphs"), "Graphs of your own"})
	}
	return append(links, [2]string{s.link(), "All servers"})
}

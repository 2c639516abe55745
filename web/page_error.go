package web

import "net/http"

// errorView says in a page what went wrong and what to do.
type errorView struct {
	pageBase
	Problem *problem
}

// errorPage answers people with a problem.
func (s *Server) errorPage(w http.ResponseWriter, r *http.Request, p *problem) {
	d := errorView{pageBase: s.pageBase(r, p.Title, ""), Problem: p}
	if err := s.show(w, r, p.Status, "error", "frame", &d); err != nil {
		s.internal(r, err)
		writeProblem(w, r, p)
	}
}

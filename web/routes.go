package web

import (
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
)

// router puts the site together: guards first, then what answers without a store, the API, the pages.
func (s *Server) router() http.Handler {
	root := chi.NewRouter()
	s.root = root
	root.Use(escapedRouting, s.observe, secureHeaders, s.checkHost, s.sameOrigin, limitBody, middleware.GetHead)
	root.NotFound(s.handle(s.noRoute))
	root.MethodNotAllowed(s.handle(s.noMethod))
	s.probes(root)
	if s.base == "" {
		s.site(root)
		return root
	}
	root.Route(s.base, func(r chi.Router) {
		s.probes(r)
		s.site(r)
	})
	root.Get("/", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, s.link(), http.StatusFound) })
	return root
}

// probes answer also without the base path: they are asked by programs beside us, not through the proxy.
func (s *Server) probes(r chi.Router) {
	r.Get("/healthz", s.handle(s.healthz))
	r.Get("/readyz", s.handle(s.readyz))
	r.Method(http.MethodGet, "/metrics", s.metrics.handler())
}

func (s *Server) site(r chi.Router) {
	r.Route("/api/v1", s.routesV1)
	r.Group(func(r chi.Router) {
		r.Use(withPatience)
		s.feedRoutes(r)
		s.pages(r)
	})
}

// routesV1 is the API. Each line has its section in docs/api.md.
func (s *Server) routesV1(r chi.Router) {
	r.Get("/live", s.handle(s.stream)) // endless, so without the time limit

	r.Group(func(r chi.Router) {
		r.Use(withPatience)
		get := func(pattern string, h handler) {
			r.Get(pattern, s.handle(h))
			if !strings.HasSuffix(pattern, "}") {
				r.Get(pattern+".json", s.handle(h))
				r.Get(pattern+".xml", s.handle(h))
			}
		}
		get("/servers", s.listServers)
		r.Post("/servers", s.handle(s.addServer))
		r.Post("/servers/test", s.handle(long(s.testServer)))
		r.Post("/servers/order", s.handle(s.orderServers))
		get("/servers/{name}", s.showServer)
		r.Patch("/servers/{name}", s.handle(s.changeServer))
		r.Delete("/servers/{name}", s.handle(s.deleteServer))
		r.Post("/servers/{name}/poll", s.handle(s.pollServer))
		get("/servers/{name}/status", s.showStatus)
		get("/servers/{name}/variables", s.showVariables)
		get("/servers/{name}/changes", long(s.showChanges))
		get("/servers/{name}/problems", s.showProblems)
		get("/servers/{name}/replication", s.showReplication)
		get("/servers/{name}/processes", s.showProcesses)
		get("/servers/{name}/schemas", s.showSchemas)
		get("/servers/{name}/accounts", s.showAccounts)
		get("/servers/{name}/binary-logs", s.showBinaryLogs)
		get("/servers/{name}/collectors", s.showCollectors)
		get("/servers/{name}/metrics", s.showMetrics)
		get("/servers/{name}/graphs", s.listServerGraphs)
		get("/servers/{name}/graphs/{id}", long(s.drawJSON))
		r.Get("/servers/{name}/graphs/{id}.{format}", s.handle(long(s.drawAs)))

		get("/groups", s.listGroups)
		r.Post("/groups/order", s.handle(s.orderGroups))
		r.Post("/groups/move", s.handle(s.moveGroup))
		r.Put("/groups/{path}", s.handle(s.putGroup))
		r.Delete("/groups/{path}", s.handle(s.deleteGroup))

		get("/series", long(s.showSeries))
		get("/drawings", long(s.showDrawings))
		get("/names", s.showNames)

		get("/marks", s.listMarks)
		r.Post("/marks", s.handle(s.addMark))
		r.Delete("/marks/{id}", s.handle(s.deleteMark))

		get("/graphs", s.listGraphs)
		r.Post("/graphs", s.handle(s.addGraph))
		get("/graphs/{id}", s.showGraph)
		r.Put("/graphs/{id}", s.handle(s.putGraph))
		r.Delete("/graphs/{id}", s.handle(s.deleteGraph))

		get("/retention", s.showRetention)
		r.Put("/retention", s.handle(s.putRetention))
		get("/retention/estimate", long(s.showEstimate))
		get("/usage", long(s.showUsage))

		s.alertRoutes(r, get)
		s.tellingRoutes(r, get)
		s.exportRoutes(r, get)
	})
}

func (s *Server) noRoute(w http.ResponseWriter, r *http.Request) error {
	return refuse(http.StatusNotFound, kindNotFound, "there is nothing at this address", "")
}

func (s *Server) noMethod(w http.ResponseWriter, r *http.Request) error {
	p := refuse(http.StatusMethodNotAllowed, kindMethod, "this address does not take "+r.Method, "")
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		asked := m
		if m == http.MethodHead {
			asked = http.MethodGet // every GET route takes HEAD
		}
		if s.root.Match(chi.NewRouteContext(), asked, r.URL.EscapedPath()) {
			p.allow = append(p.allow, m)
		}
	}
	return p
}

package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
)

// pages are the addresses that people see. Writes come from forms and answer with a redirection.
func (s *Server) pages(r chi.Router) {
	get := func(pattern string, h handler) { r.Get(pattern, s.handle(h)) }
	post := func(pattern string, h handler) { r.Post(pattern, s.handle(h)) }

	r.Get("/assets/{file}", s.assets.ServeHTTP)
	post("/preferences", s.savePreferences)

	get("/", long(s.firstPage))
	get("/rows", long(s.serverRowsPart))
	get("/servers", s.serversPage)
	get("/servers/new", s.newServerPage)
	post("/servers/new", s.saveServerForm)
	get("/servers/{name}", long(s.overviewPage))
	get("/servers/{name}/edit", s.editServerPage)
	post("/servers/{name}/edit", s.saveServerForm)
	post("/servers/{name}/do/{action}", s.serverAction)
	get("/servers/{name}/spark.svg", long(s.sparkPicture))
	get("/servers/{name}/graphs", long(s.graphsPage))
	get("/servers/{name}/graphs/{id}", long(s.graphPage))
	get("/servers/{name}/graphs/{id}/drawing.{form}", long(s.pageDrawing))
	get("/servers/{name}/changes", long(s.changesPage))
	post("/servers/{name}/changes", s.saveNote)
	get("/servers/{name}/replication", s.replicationPage)
	get("/servers/{name}/processes", s.processesPage)
	get("/servers/{name}/status", s.statusPage)
	get("/servers/{name}/variables", s.variablesPage)
	get("/servers/{name}/variables/{variable}", long(s.variablePage))
	get("/servers/{name}/schemas", s.schemasPage)
	get("/servers/{name}/accounts", s.accountsPage)
	get("/servers/{name}/monitoring", s.monitoringPage)
	get("/graphs", s.savedGraphsPage)
	get("/graphs/new", s.editGraphPage)
	post("/graphs/new", s.saveGraphForm)
	post("/graphs/preview", long(s.previewGraph))
	get("/graphs/{id}", long(s.savedGraphPage))
	get("/graphs/{id}/edit", s.editGraphPage)
	post("/graphs/{id}/edit", s.saveGraphForm)
	post("/graphs/{id}/delete", s.deleteGraphForm)
	get("/settings", long(s.settingsPage))
	post("/settings/retention", s.saveRetention)
	post("/settings/groups", s.saveGroupForm)

	s.alertPages(get, post)
	s.tellingPages(get, post)
}

// serversPage leads to the first page, which lists the servers: people cut addresses short.
func (s *Server) serversPage(w http.ResponseWriter, r *http.Request) error {
	to := s.link()
	if r.URL.RawQuery != "" {
		to += "?" + r.URL.RawQuery
	}
	http.Redirect(w, r, to, http.StatusFound)
	return nil
}

// savePreferences keeps the look and the time zone in cookies and goes back to where the form stood. A zone that
// does not exist is explained at its field.
func (s *Server) savePreferences(w http.ResponseWriter, r *http.Request) error {
	zone := strings.TrimSpace(r.PostFormValue("zone"))
	if zone != "" && zone != "browser" {
		if _, err := time.LoadLocation(zone); err != nil || zone == "Local" {
			return s.settingsWith(w, r, &problem{Field: "zone", Detail: "there is no time zone " + zone, Cure: "an IANA name such as Europe/Berlin, or nothing for the browser's own"})
		}
	}
	theme := r.PostFormValue("theme")
	if theme != "light" && theme != "dark" {
		theme = "" // what the system says
	}
	for name, v := range map[string]string{"theme": theme, "zone": zone} {
		if r.PostForm.Has(name) {
			http.SetCookie(w, &http.Cookie{Name: name, Value: url.QueryEscape(v), Path: s.base + "/", MaxAge: 400 * 24 * 3600, SameSite: http.SameSiteLaxMode})
		}
	}
	to := s.link()
	if ref, err := url.Parse(r.Referer()); err == nil && ref.Host == r.Host {
		to = ref.EscapedPath()
		if ref.RawQuery != "" {
			to += "?" + ref.RawQuery
		}
	}
	s.back(w, r, to, "")
	return nil
}

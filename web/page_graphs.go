package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"monolith"
	"monolith/graph"
)

// figure is a graph on a page: a picture drawn by the server, which script replaces by a plot.
type figure struct {
	ID, Title, Server string
	Panels            int    // how many plots it has at most
	Own               bool   // someone made it
	Link              string // the page that shows it alone
	Picture           string // address of the picture, without theme
	Source            string // address of the drawing as JSON when it is not the API's; "" otherwise
}

// Dark gives the picture on a dark ground.
func (f figure) Dark() string { return f.Picture + "&theme=dark" }

// media is a picture for some screens.
type media struct{ Media, Address string }

// Pictures gives those for dark and for narrow screens, in which letters keep their size: the browser takes the
// first that fits, and else Picture. theme is what people chose, "" what the system says.
func (f figure) Pictures(theme string) []media {
	const narrow, dark = "(max-width: 720px)", "(prefers-color-scheme: dark)"
	small := figure{Picture: strings.Replace(f.Picture, "width="+strconv.Itoa(pictureWidth), "width="+strconv.Itoa(narrowWidth), 1)}
	switch theme {
	case "dark":
		return []media{{narrow, small.Dark()}}
	case "light":
		return []media{{narrow, small.Picture}}
	}
	return []media{{narrow + " and " + dark, small.Dark()}, {narrow, small.Picture}, {dark, f.Dark()}}
}

// How wide pictures are drawn on pages: their letters are as large as those around them.
const (
	pictureWidth = 640
	narrowWidth  = 360
)

// figure places a built-in graph on a server's page.
func (p *serverPage) figure(g *graph.Graph) figure { return p.figureOf(g.ID, g.Title, len(g.Panels)) }

func (p *serverPage) figureOf(id, title string, panels int) figure {
	return figure{ID: id, Title: title, Server: p.Server.Name, Panels: panels,
		Link:    p.At("servers", p.Server.Name, "graphs", id) + p.Range.Query(),
		Picture: p.At("api", "v1", "servers", p.Server.Name, "graphs", id+".svg") + "?" + p.pictureQuery(pictureWidth) + "&untitled=true"}
}

// pictureQuery gives what a picture's address says about range, zone and size.
func (p *serverPage) pictureQuery(width int) string {
	q := url.Values{"from": {p.Range.From}, "to": {p.Range.To}, "width": {strconv.Itoa(width)}}
	if p.Zone != "" {
		q.Set("tz", p.Zone)
	}
	if p.Range.Ago {
		q.Set("ago", "week")
	}
	return q.Encode()
}

// customFigures are the graphs that people put on a page of the server; page "" takes all.
func (s *Server) customFigures(r *http.Request, p *serverPage, page string) ([]figure, error) {
	saved, err := s.store.Graphs(r.Context())
	if err != nil {
		return nil, err
	}
	var list []figure
	for i := range saved {
		g := &saved[i]
		if page != "" && g.Page != page || len(g.Servers) > 0 && !slices.Contains(g.Servers, p.Server.ID) {
			continue
		}
		f := p.figureOf(ownID(g.ID), g.Title, 1)
		f.Own = true
		list = append(list, f)
	}
	return list, nil
}

// graphsTab shows every graph under its heading.
type graphsTab struct {
	serverPage
	Sections []graphSection
}

type graphSection struct {
	ID, Title string
	Figures   []figure
}

// sectionTitles are the headings of graph.Sections.
var sectionTitles = map[string]string{
	"uptime": "Uptime and size", "queries": "Queries", "connections": "Connections and threads", "innodb": "InnoDB",
	"temporary": "Temporary tables and sorts", "locks": "Locks", "replication": "Replication and binary log", "network": "Network",
	"memory": "Memory", "handlers": "Commands and handlers", "caches": "Caches and files", "host": "Host", "own": "Monolith itself",
}

func (s *Server) graphsPage(w http.ResponseWriter, r *http.Request) error {
	p, err := s.serverPage(r, "graphs", "graphs")
	if err != nil {
		return err
	}
	data := graphsTab{serverPage: p}
	custom, err := s.customFigures(r, &p, "")
	if err = data.unread(err, "the graphs of your own"); err != nil {
		return err
	}
	if len(custom) > 0 {
		data.Sections = append(data.Sections, graphSection{ID: "custom", Title: "Graphs of your own", Figures: custom})
	}
	for _, name := range graph.Sections {
		sec := graphSection{ID: name, Title: sectionTitles[name]}
		for _, g := range graph.Catalogue() {
			if g.Section == name {
				sec.Figures = append(sec.Figures, p.figure(g))
			}
		}
		if len(sec.Figures) > 0 {
			data.Sections = append(data.Sections, sec)
		}
	}
	return s.render(w, r, "graphs", &data)
}

// graphTab shows one graph alone: a built-in one, one of people's, or any formulas (id "explore").
type graphTab struct {
	serverPage
	ID      string
	Heading string
	Exprs   []string // of explore
	Figure  figure
	With    []string // other servers on the same graph
	Others  []string // servers that could be added
	Own     bool
	Forms   map[string]string // addresses of the data in other forms
	Problem string
}

// explore is the id of a graph that exists only in its address.
const explore = "explore"

func (s *Server) graphPage(w http.ResponseWriter, r *http.Request) error {
	p, err := s.serverPage(r, "graphs", "graph")
	if err != nil {
		return err
	}
	data := graphTab{serverPage: p, ID: pathValue(r, "id"), With: others(r), Exprs: r.URL.Query()["expr"]}
	d, err := s.pageDrawable(r, data.ID)
	switch {
	case err == nil:
		data.Heading = d.graph.Title
	case data.ID == explore && s.problemOf(r, err).Status < http.StatusInternalServerError:
		bad := s.problemOf(r, err)
		data.Problem = strings.TrimSpace(bad.Detail + ". " + firstUpper(bad.Cure))
		data.Heading = "Any formula"
	default:
		return err
	}
	data.Title = data.Heading + " · " + p.Server.Name
	data.Own = strings.HasPrefix(data.ID, ownPrefix)
	servers, err := s.store.Servers(r.Context())
	if err != nil {
		return err
	}
	for i := range servers {
		if name := servers[i].Name; name != p.Server.Name && !slices.Contains(data.With, name) {
			data.Others = append(data.Others, name)
		}
	}
	data.Forms = map[string]string{}
	for _, form := range []string{"json", "csv", "png", "svg"} {
		q := r.URL.Query()
		for _, drop := range []string{"done", "refresh", "tz", "from", "to", "ago"} {
			q.Del(drop)
		}
		q.Set("from", p.Range.From)
		q.Set("to", p.Range.To)
		if p.Range.Ago {
			q.Set("ago", "week")
		}
		if (form == "svg" || form == "png") && p.Zone != "" {
			q.Set("tz", p.Zone)
		}
		data.Forms[form] = p.At("servers", p.Server.Name, "graphs", data.ID, "drawing."+form) + "?" + q.Encode()
	}
	data.Figure = figure{ID: data.ID, Title: data.Heading, Server: p.Server.Name, Source: data.Forms["json"], Picture: data.Forms["svg"] + "&width=1200&height=320"}
	return s.render(w, r, "graph", &data)
}

// pageDrawable finds the graph of a page's address, with the servers that share it.
func (s *Server) pageDrawable(r *http.Request, id string) (drawable, error) {
	q := r.URL.Query()
	var d drawable
	var err error
	if id == explore {
		var g *graph.Graph
		if g, err = s.exploreGraph(r, q["expr"]); err == nil {
			d = drawable{graph: g}
		}
	} else {
		d, err = s.drawable(r.Context(), id)
	}
	with := others(r)
	if err != nil || len(with) == 0 {
		return d, err
	}
	d.servers, err = s.chosen(r.Context(), append([]string{pathValue(r, "name")}, with...), "")
	return d, err
}

// others gives the servers that an address lays beside its own, each once. The list of servers that could be added
// sends an empty name when none was chosen.
func others(r *http.Request) []string {
	var names []string
	for _, name := range r.URL.Query()["with"] {
		if name != "" && name != pathValue(r, "name") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// exploreGraph makes a graph of formulas, one line each.
func (s *Server) exploreGraph(r *http.Request, exprs []string) (*graph.Graph, error) {
	if len(exprs) == 0 {
		return nil, monolith.Invalid("expr", "there is no formula", "such as rate(status.Questions)")
	}
	servers, err := s.chosen(r.Context(), []string{pathValue(r, "name")}, "")
	if err != nil {
		return nil, err
	}
	return s.graphOf(r.Context(), exprs, servers)
}

// graphOf makes a graph of formulas that servers have the values for, one line each.
func (s *Server) graphOf(ctx context.Context, exprs []string, servers []monolith.Server) (*graph.Graph, error) {
	formulas, err := s.parseAll(ctx, servers, exprs)
	if err != nil {
		return nil, err
	}
	units := make([]string, len(formulas))
	for i, f := range formulas {
		units[i] = f.Unit()
	}
	g := graph.Graph{ID: explore, Title: "Any formula", Section: "own", Panels: explorePanels(exprs, units)}
	if len(exprs) == 1 {
		g.Title = exprs[0]
	}
	text, err := yaml.Marshal(&g)
	if err != nil {
		return nil, fmt.Errorf("web: explore: %w", err)
	}
	return s.parseGraph(ctx, string(text), servers)
}

// explorePanels puts formulas of one unit on one axis: two units share a panel, of more each has its own.
func explorePanels(exprs, units []string) []graph.Panel {
	var kinds []string
	for _, u := range units {
		if !slices.Contains(kinds, u) {
			kinds = append(kinds, u)
		}
	}
	panels := []graph.Panel{{Unit: kinds[0]}}
	if len(kinds) == 2 {
		if kinds[1] == "" { // an axis without a unit is the left one
			kinds[0], kinds[1] = kinds[1], kinds[0]
		}
		panels[0].Unit, panels[0].Right = kinds[0], kinds[1]
	} else {
		for _, u := range kinds[1:] {
			panels = append(panels, graph.Panel{Unit: u})
		}
	}
	for i, e := range exprs {
		s, p := graph.Series{Name: e, Expr: graph.Alternatives{e}}, slices.Index(kinds, units[i])
		if len(kinds) == 2 {
			if p == 1 {
				s.Axis = "right"
			}
			p = 0
		}
		panels[p].Series = append(panels[p].Series, s)
	}
	return panels
}

// pageDrawing gives the data of a one-graph page in one of its forms.
func (s *Server) pageDrawing(w http.ResponseWriter, r *http.Request) error {
	srv, err := s.pathServer(r)
	if err != nil {
		return err
	}
	q := s.query(r, append([]string{"expr", "with", "width", "height", "theme", "tz"}, viewParameters...)...)
	v := q.view()
	picture := graph.Picture{Width: q.number("width", 1200, 120, 4000), Height: q.number("height", 320, 60, 2000), Dark: q.text("theme") == "dark"}
	if q.err != nil {
		return q.err
	}
	b := s.pageBase(r, "", "")
	picture.Zone = b.location
	d, err := s.pageDrawable(r, pathValue(r, "id"))
	if err != nil {
		return err
	}
	drawn, err := s.draw(r.Context(), &srv, v, d)
	if err != nil {
		return err
	}
	form := pathValue(r, "form")
	if form == "json" {
		return s.respond(w, r, http.StatusOK, "answer", struct {
			Drawings []*graph.Drawing `json:"drawings"`
		}{drawn})
	}
	return sendPicture(w, r, drawn[0], d.graph.ID, form, picture)
}

// sparkPicture draws the queries per second of the last hours for lists, for pages without script.
func (s *Server) sparkPicture(w http.ResponseWriter, r *http.Request) error {
	srv, err := s.pathServer(r)
	if err != nil {
		return err
	}
	formulas, err := s.parseAll(r.Context(), []monolith.Server{srv}, []string{sparkFormula})
	if err != nil {
		return err
	}
	end := s.now()
	answer, err := s.series(r.Context(), []monolith.Server{srv}, formulas, end.Add(-sparkSpan), end, sparkStep)
	if err != nil {
		return err
	}
	before, err := s.series(r.Context(), []monolith.Server{srv}, formulas, end.Add(-sparkSpan-week), end.Add(-week), sparkStep)
	if err != nil {
		return err
	}
	var now, ago monolith.Floats
	if len(answer.Series) > 0 {
		now = answer.Series[0].V
	}
	if len(before.Series) > 0 {
		ago = before.Series[0].V
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	w.Header().Set("Cache-Control", "max-age=60")
	w.Write(sparkline(now, ago)) // the client is gone when this fails
	return nil
}

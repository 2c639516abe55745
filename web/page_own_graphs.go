package web

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"monolith"
	"monolith/formula"
	"monolith/graph"
)

// ownGraphs lists the graphs that people made.
type ownGraphs struct {
	pageBase
	Graphs []ownGraphRow
}

type ownGraphRow struct {
	ID, Title string
	Page      string // where it stands, in words
	Servers   []string
	Open      string // a page that shows it
	Formulas  []string
	Updated   monolith.SavedGraph
}

func (s *Server) savedGraphsPage(w http.ResponseWriter, r *http.Request) error {
	d := ownGraphs{pageBase: s.pageBase(r, "Graphs", "graphs")}
	saved, err := s.store.Graphs(r.Context())
	if err = d.unread(err, "the graphs of your own"); err != nil {
		return err
	}
	servers, err := s.store.Servers(r.Context())
	if err != nil {
		return err
	}
	for i := range saved {
		v := ownGraph(&saved[i], servers)
		row := ownGraphRow{ID: v.ID, Title: v.Title, Page: "the Graphs tab", Servers: v.Servers, Updated: saved[i]}
		if v.Overview { // the Graphs tab has every graph
			row.Page = "the Overview and the Graphs tab"
		}
		if g, err := readDefinition(saved[i].Definition); err == nil {
			for _, p := range g.Panels {
				for _, line := range p.Series {
					row.Formulas = append(row.Formulas, line.Expr...)
				}
			}
		}
		switch {
		case len(v.Servers) > 0:
			row.Open = s.link("servers", v.Servers[0], "graphs", v.ID)
		case len(servers) > 0:
			row.Open = s.link("servers", servers[0].Name, "graphs", v.ID)
		}
		d.Graphs = append(d.Graphs, row)
	}
	return s.render(w, r, "own_graphs", &d)
}

// savedGraphPage sends to the page of a server that shows the graph.
func (s *Server) savedGraphPage(w http.ResponseWriter, r *http.Request) error {
	saved, err := s.savedGraph(r.Context(), pathValue(r, "id"))
	if err != nil {
		return err
	}
	servers, err := s.store.Servers(r.Context())
	if err != nil {
		return err
	}
	v := ownGraph(saved, servers)
	for i := range servers {
		if len(v.Servers) == 0 || servers[i].Name == v.Servers[0] {
			http.Redirect(w, r, s.link("servers", servers[i].Name, "graphs", v.ID), http.StatusSeeOther)
			return nil
		}
	}
	return notFound("server for the graph", saved.Title, "add a server first")
}

// graphForm is the editor of a graph: its lines in fields, or the whole definition as text.
type graphForm struct {
	pageBase
	ID       string // "" for a new one
	Name     string
	Unit     string
	Right    string
	Page     string
	Servers  []string
	Lines    []graphLine
	Text     string // the definition, when it does not fit the fields
	Error    *problem
	BadLine  int // place of the line that the error is about; −1: none
	All      []string
	Preview  string // name of the first server that the preview is drawn for
	Usual    string // name of the server that it is drawn for when none is chosen
	Styles   []graph.Style
	FromPage string
}

// graphLine is one line of the editor.
type graphLine struct{ Name, Expr, Style, Axis string }

const emptyLines = 1 // offered below those that are filled

func (s *Server) editGraphPage(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	f := graphForm{ID: pathValue(r, "id"), BadLine: -1, Page: "graphs", Servers: q["server"], Name: q.Get("title"), Unit: q.Get("unit")}
	for _, e := range q["expr"] {
		f.Lines = append(f.Lines, graphLine{Expr: e})
	}
	if f.ID == "" {
		return s.showGraphForm(w, r, http.StatusOK, f)
	}
	saved, err := s.savedGraph(r.Context(), f.ID)
	if err != nil {
		return err
	}
	servers, err := s.store.Servers(r.Context())
	if err != nil {
		return err
	}
	f.Name, f.Page, f.Servers = saved.Title, saved.Page, ownGraph(saved, servers).Servers
	f.fromDefinition(saved.Definition)
	return s.showGraphForm(w, r, http.StatusOK, f)
}

func (s *Server) showGraphForm(w http.ResponseWriter, r *http.Request, status int, f graphForm) error {
	title := "New graph"
	if f.ID != "" {
		title = "Edit " + f.Name
	}
	f.pageBase = s.pageBase(r, title, "graphs")
	servers, err := s.store.Servers(r.Context())
	if err != nil {
		return err
	}
	for i := range servers {
		f.All = append(f.All, servers[i].Name)
	}
	if len(f.All) > 0 {
		f.Usual = f.All[0]
	}
	f.Preview = f.Usual
	if len(f.Servers) > 0 {
		f.Preview = f.Servers[0]
	}
	if f.Text == "" {
		for range emptyLines {
			f.Lines = append(f.Lines, graphLine{})
		}
	}
	f.Styles = []graph.Style{graph.StyleLine, graph.StyleArea, graph.StyleStack, graph.StyleStep, graph.StyleBars, graph.StyleLimit, graph.StyleNone}
	return s.show(w, r, status, "graph_form", "frame", &f)
}

// fromDefinition fills the fields, or keeps the text when it says more than they can.
func (f *graphForm) fromDefinition(text string) {
	g, err := readDefinition(text)
	if err != nil || len(g.Panels) != 1 || g.When != "" || g.None != "" {
		f.Text = text
		return
	}
	p := g.Panels[0]
	if p.Title != "" || p.When != "" || p.None != "" || p.Min != nil || p.Max != nil || p.Log {
		f.Text = text
		return
	}
	f.Unit, f.Right = p.Unit, p.Right
	for _, line := range p.Series {
		if len(line.Expr) != 1 || line.When != "" || line.For != "" || line.Hidden || line.Below || line.Floor != nil || line.Quiet != nil || line.Top != 0 ||
			line.Style == graph.StyleStrip {
			f.Text, f.Lines = text, nil
			return
		}
		f.Lines = append(f.Lines, graphLine{Name: line.Name, Expr: line.Expr[0], Style: string(line.Style), Axis: line.Axis})
	}
}

func readDefinition(text string) (*graph.Graph, error) {
	var g graph.Graph
	if err := yaml.Unmarshal([]byte(text), &g); err != nil {
		return nil, fmt.Errorf("web: read definition: %w", err)
	}
	return &g, nil
}

// readGraphForm reads the editor's fields; empty lines are left out.
func readGraphForm(r *http.Request) graphForm {
	form := r.PostForm
	f := graphForm{ID: pathValue(r, "id"), BadLine: -1, Name: strings.TrimSpace(form.Get("title")), Unit: strings.TrimSpace(form.Get("unit")),
		Right: strings.TrimSpace(form.Get("right")), Page: form.Get("page"), Servers: form["server"], Text: form.Get("definition")}
	at := func(list []string, i int) string {
		if i < len(list) {
			return strings.TrimSpace(list[i])
		}
		return ""
	}
	for i, expr := range form["expr"] {
		if strings.TrimSpace(expr) != "" {
			f.Lines = append(f.Lines, graphLine{Name: at(form["name"], i), Expr: strings.TrimSpace(expr), Style: at(form["style"], i), Axis: at(form["axis"], i)})
		}
	}
	return f
}

// definition writes what the fields say in the form of the catalogue.
func (f *graphForm) definition() (string, error) {
	if f.Text != "" {
		return f.Text, nil
	}
	g := graph.Graph{ID: "own", Title: f.Name, Section: "own", Panels: []graph.Panel{{Unit: f.Unit, Right: f.Right}}}
	if g.Title == "" {
		g.Title = "My graph"
	}
	p := &g.Panels[0]
	for _, line := range f.Lines {
		one := graph.Series{Name: line.Name, Expr: graph.Alternatives{line.Expr}, Style: graph.Style(line.Style), Axis: line.Axis}
		if one.Name == "" {
			one.Name = line.Expr
		}
		p.Series = append(p.Series, one)
	}
	p.Unit, p.Right = cmp.Or(p.Unit, f.impliedUnit("")), cmp.Or(p.Right, f.impliedUnit("right"))
	text, err := yaml.Marshal(&g)
	if err != nil {
		return "", fmt.Errorf("web: write definition: %w", err)
	}
	return string(text), nil
}

// impliedUnit gives the unit that the formulas of an axis themselves have, "" where they differ or have none.
func (f *graphForm) impliedUnit(axis string) string {
	unit, found := "", false
	for _, line := range f.Lines {
		if line.Axis != axis {
			continue
		}
		parsed, err := formula.ParseWith(line.Expr, func(string) bool { return true })
		if err != nil || found && parsed.Unit() != unit {
			return "" // what is wrong with a formula is said when the whole definition is read
		}
		unit, found = parsed.Unit(), true
	}
	return unit
}

func (s *Server) saveGraphForm(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(r); err != nil {
		return err
	}
	f := readGraphForm(r)
	saved := &monolith.SavedGraph{}
	if f.ID != "" {
		var err error
		if saved, err = s.savedGraph(r.Context(), f.ID); err != nil {
			return err
		}
	}
	text, err := f.definition()
	if err == nil && len(f.Lines) == 0 && f.Text == "" {
		err = monolith.Invalid("expr", "the graph has no formula yet", "such as rate(status.Questions)")
	}
	if err == nil {
		_, err = s.saveGraph(r.Context(), saved, graphBody{Title: f.Name, Definition: text, Servers: f.Servers, Page: f.Page, Position: saved.Position})
	}
	if err != nil {
		p := s.problemOf(r, err)
		if p.Status >= http.StatusInternalServerError {
			return p
		}
		f.explain(p)
		return s.showGraphForm(w, r, p.Status, f)
	}
	http.Redirect(w, r, s.link("graphs", ownID(saved.ID)), http.StatusSeeOther)
	return nil
}

// explain finds the line that an error is about.
func (f *graphForm) explain(p *problem) {
	f.Error = p
	if _, rest, ok := strings.Cut(p.Field, "series["); ok {
		number, _, _ := strings.Cut(rest, "]")
		if n, err := strconv.Atoi(number); err == nil && n < len(f.Lines) {
			f.BadLine = n
		}
	}
}

// previewGraph draws what the editor's fields say, for script.
func (s *Server) previewGraph(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(r); err != nil {
		return err
	}
	f := readGraphForm(r)
	text, err := f.definition()
	if err != nil {
		return err
	}
	names := f.Servers
	if len(names) == 0 {
		names = []string{r.PostForm.Get("preview")}
	}
	servers, err := s.chosen(r.Context(), slices.Compact(names), "")
	if err != nil {
		return err
	}
	g, err := s.parseGraph(r.Context(), text, servers)
	if err != nil {
		p := s.problemOf(r, err)
		f.explain(p)
		if f.BadLine >= 0 {
			p.Field = "expr." + strconv.Itoa(f.BadLine)
		}
		return p
	}
	q := s.query(r, viewParameters...)
	v := q.view()
	if q.err != nil {
		return q.err
	}
	d := drawable{graph: g}
	if len(servers) > 1 {
		d.servers = servers
	}
	drawn, err := s.draw(r.Context(), &servers[0], v, d)
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Drawings []*graph.Drawing `json:"drawings"`
	}{drawn})
}

func (s *Server) deleteGraphForm(w http.ResponseWriter, r *http.Request) error {
	saved, err := s.savedGraph(r.Context(), pathValue(r, "id"))
	if err != nil {
		return err
	}
	if err := s.store.DeleteGraph(r.Context(), saved.ID); err != nil {
		return err
	}
	s.back(w, r, s.link("graphs"), "deleted")
	return nil
}

package web

import (
	"bytes"
	"context"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
	"monolith/graph"
)

const (
	maxGraphs   = 60
	maxDrawings = 200
	maxMarks    = 300 // of one drawing: more can't be told apart
)

// view is what a request says about how graphs are drawn.
type view struct {
	from, to time.Time
	step     time.Duration // 0: chosen for each server
	ago      time.Duration
	points   int
}

// viewParameters are the parameters that [query.view] reads.
var viewParameters = []string{"from", "to", "step", "points", "ago"}

func (q *query) view() view {
	v := view{points: q.number("points", usualPoints, 1, maxPoints)}
	v.from, v.to = q.span(time.Hour)
	switch ago := q.text("ago"); ago {
	case "":
	case "day":
		v.ago = 24 * time.Hour
	case "week":
		v.ago = 7 * 24 * time.Hour
	default:
		v.ago = q.duration("ago", 0)
	}
	if q.text("step") != "" {
		v.step = q.grid(v.from, v.to, 0)
	}
	return v
}

// request fixes the step for a server.
func (s *Server) request(v view, id monolith.ServerID) graph.Request {
	step := v.step
	if step == 0 {
		step = stepFor(v.to.Sub(v.from), s.intervalOf(id), v.points)
	}
	return graph.Request{From: v.from, To: v.to, Step: step, Ago: v.ago}
}

// drawable is a graph with the servers that it shows together; nil servers: whichever it is asked for.
type drawable struct {
	graph   *graph.Graph
	servers []monolith.Server
}

// drawable finds a graph by its id, built-in or somebody's own. The graph carries the id that it was
// found by.
func (s *Server) drawable(ctx context.Context, id string) (drawable, error) {
	if g := graph.Find(id); g != nil {
		return drawable{graph: g}, nil
	}
	saved, err := s.savedGraph(ctx, id)
	if err != nil {
		return drawable{}, err
	}
	all, err := s.store.Servers(ctx)
	if err != nil {
		return drawable{}, err
	}
	// What was checked when it was saved is not checked for known names again: servers come and go.
	list, err := graph.Parse([]byte(saved.Definition), func(string) bool { return true })
	if err != nil || len(list) != 1 {
		return drawable{}, fmt.Errorf("web: saved graph %d can't be read: %w", saved.ID, err)
	}
	d := drawable{graph: list[0]}
	d.graph.ID, d.graph.Title = id, saved.Title
	if len(saved.Servers) > 1 {
		for i := range all {
			if slices.Contains(saved.Servers, all[i].ID) {
				d.servers = append(d.servers, all[i])
			}
		}
	}
	return d, nil
}

// draw draws graphs for one server, with its marks. The pages use it too. Graphs of several servers
// show these, whatever the server.
func (s *Server) draw(ctx context.Context, server *monolith.Server, v view, graphs ...drawable) ([]*graph.Drawing, error) {
	var plain []*graph.Graph
	for _, d := range graphs {
		if len(d.servers) == 0 {
			plain = append(plain, d.graph)
		}
	}
	req := s.request(v, server.ID)
	lines := linesOfGraph * len(plain)
	for _, d := range graphs {
		lines += linesOfGraph * len(d.servers)
	}
	if v.ago > 0 {
		lines *= 2
	}
	leave, err := s.room.enter(ctx, lines, v.to.Sub(v.from), req.Step)
	if err != nil {
		return nil, fmt.Errorf("web: draw: %w", err)
	}
	defer leave()
	drawn, err := s.drawFor(ctx, server, req, plain...)
	if err != nil {
		return nil, err
	}
	if err := s.judgeDrawings(ctx, server, v, drawn); err != nil {
		return nil, err
	}
	marks, err := s.marksOf(ctx, []monolith.Server{*server}, monolith.MarkQuery{From: v.from, To: v.to, Limit: maxMarks})
	if err != nil {
		return nil, err
	}
	out := make([]*graph.Drawing, 0, len(graphs))
	for _, d := range graphs {
		if len(d.servers) == 0 {
			drawn[0].Marks = orEmpty(marks)
			out, drawn = append(out, drawn[0]), drawn[1:]
			continue
		}
		together, err := s.drawTogether(ctx, d, v)
		if err != nil {
			return nil, err
		}
		out = append(out, together)
	}
	return out, nil
}

func (s *Server) drawFor(ctx context.Context, server *monolith.Server, req graph.Request, graphs ...*graph.Graph) ([]*graph.Drawing, error) {
	if len(graphs) == 0 {
		return nil, nil
	}
	target := graph.Target{ID: server.ID, Name: server.Name, State: s.poller.State(server.ID)}
	return graph.Draw(ctx, s.store, target, req, graphs...)
}

// drawTogether draws one graph for several servers on the same panels and one axis.
func (s *Server) drawTogether(ctx context.Context, d drawable, v view) (*graph.Drawing, error) {
	req := s.request(v, d.servers[0].ID)
	for i := range d.servers {
		req.Step = max(req.Step, s.request(v, d.servers[i].ID).Step)
	}
	all, err := s.drawEach(ctx, d, req)
	if err != nil {
		return nil, err
	}
	// History answers in longer steps where only a coarse tier reaches so far back, and that may differ
	// between servers: one axis needs the longest.
	longest := req.Step
	for _, one := range all {
		longest = max(longest, time.Duration(one.Step)*time.Second)
	}
	if slices.ContainsFunc(all, func(one *graph.Drawing) bool { return time.Duration(one.Step)*time.Second != longest }) {
		req.Step = longest
		if all, err = s.drawEach(ctx, d, req); err != nil {
			return nil, err
		}
	}
	together, err := merge(all)
	if err != nil {
		return nil, err
	}
	separate(together)
	marks, err := s.marksOf(ctx, d.servers, monolith.MarkQuery{From: v.from, To: v.to, Limit: maxMarks})
	if err != nil {
		return nil, err
	}
	together.Marks = orEmpty(marks)
	return together, nil
}

// separate takes lines of several servers off each other's shoulders: a sum over servers means nothing.
func separate(d *graph.Drawing) {
	for p := range d.Panels {
		lines := d.Panels[p].Lines
		if !slices.ContainsFunc(lines, func(l graph.Line) bool { return l.Server != lines[0].Server }) {
			continue
		}
		for i := range lines {
			if lines[i].Style == graph.StyleStack {
				lines[i].Style = graph.StyleLine
			}
		}
	}
}

// drawEach draws a graph for each of its servers and writes the server's name to the lines.
func (s *Server) drawEach(ctx context.Context, d drawable, req graph.Request) ([]*graph.Drawing, error) {
	all := make([]*graph.Drawing, len(d.servers))
	for i := range d.servers {
		drawn, err := s.drawFor(ctx, &d.servers[i], req, d.graph)
		if err != nil {
			return nil, err
		}
		all[i] = drawn[0]
		for p := range all[i].Panels {
			for l := range all[i].Panels[p].Lines {
				all[i].Panels[p].Lines[l].Server = d.servers[i].Name
			}
		}
	}
	return all, nil
}

// merge puts the lines of all drawings into the panels of one. Panels are the same when their titles are.
func merge(all []*graph.Drawing) (*graph.Drawing, error) {
	var together *graph.Drawing
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = one.Server
		switch {
		case together == nil, len(together.Panels) == 0:
			together = one
			continue
		case len(together.Times) == 0:
			together.Times, together.Tier = one.Times, one.Tier
		case len(one.Times) > 0 && !slices.Equal(one.Times, together.Times):
			return nil, fmt.Errorf("web: draw %s: the servers %q and %q are not on one axis", one.ID, names[0], one.Server)
		}
		for _, p := range one.Panels {
			at := slices.IndexFunc(together.Panels, func(o graph.PanelDrawing) bool { return o.Title == p.Title })
			if at < 0 {
				together.Panels = append(together.Panels, p)
				continue
			}
			into := &together.Panels[at]
			if into.Lines = append(into.Lines, p.Lines...); len(into.Lines) > 0 {
				into.Note = ""
			}
		}
	}
	together.Server = strings.Join(names, ", ")
	return together, nil
}

// size implements [appender].
func (d drawingAnswer) size() int {
	n := lineSize + rowSize*len(d.Times)
	for i := range d.Panels {
		for j := range d.Panels[i].Lines {
			l := &d.Panels[i].Lines[j]
			n += lineSize + rowSize*(len(l.V)+len(l.Min)+len(l.Max)+len(l.Ago))
		}
	}
	return n
}

// size implements [appender].
func (a drawingsAnswer) size() (n int) {
	for _, d := range a {
		n += drawingAnswer{d}.size()
	}
	return n
}

// showDrawings draws several graphs of several servers at once: one page's worth. Without graph= it is
// every built-in one.
func (s *Server) showDrawings(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, append([]string{"server", "graph"}, viewParameters...)...)
	names, ids, v := q.texts("server", maxServers), q.texts("graph", maxGraphs), q.view()
	if q.err == nil && len(names) == 0 {
		q.fail(monolith.Invalid("server", "no server is named", "server=NAME, which may stand several times"))
	}
	if q.err != nil {
		return q.err
	}
	if len(ids) == 0 {
		for _, g := range graph.Catalogue() {
			ids = append(ids, g.ID)
		}
	}
	if n := len(ids) * len(names); n > maxDrawings {
		return refuseTooMuch("graph", fmt.Sprintf("%d drawings are more than the %d of one answer", n, maxDrawings))
	}
	servers, err := s.chosen(r.Context(), names, "")
	if err != nil {
		return err
	}
	graphs := make([]drawable, len(ids))
	for i, id := range ids {
		if graphs[i], err = s.drawable(r.Context(), id); err != nil {
			return err
		}
	}
	drawings := drawingsAnswer{}
	for i := range servers {
		drawn, err := s.draw(r.Context(), &servers[i], v, graphs...)
		if err != nil {
			return err
		}
		drawings = append(drawings, drawn...)
	}
	return s.respond(w, r, http.StatusOK, "answer", drawings)
}

func (s *Server) drawJSON(w http.ResponseWriter, r *http.Request) error {
	return s.drawOne(w, r, "json")
}

func (s *Server) drawAs(w http.ResponseWriter, r *http.Request) error {
	return s.drawOne(w, r, pathValue(r, "format"))
}

// drawOne draws one graph of one server in one of its forms.
func (s *Server) drawOne(w http.ResponseWriter, r *http.Request, form string) error {
	allowed := viewParameters
	if form == "svg" || form == "png" {
		allowed = append(slices.Clone(allowed), "width", "height", "theme", "tz", "bare", "untitled")
	}
	q := s.query(r, allowed...)
	v := q.view()
	picture := graph.Picture{
		Width: q.number("width", 0, 120, 4000), Height: q.number("height", 0, 60, 2000),
		Dark: q.oneOf("theme", "light", "dark") == "dark", Bare: q.flag("bare"), Untitled: q.flag("untitled"),
	}
	if tz := q.text("tz"); tz != "" {
		zone, err := time.LoadLocation(tz)
		if err != nil || tz == "Local" {
			q.fail(monolith.Invalid("tz", "unknown time zone "+strconv.Quote(tz), "an IANA name such as Europe/Berlin"))
		}
		picture.Zone = zone
	}
	server, _, err := s.stateOf(r, q)
	if err != nil {
		return err
	}
	d, err := s.drawable(r.Context(), pathValue(r, "id"))
	if err != nil {
		return err
	}
	drawn, err := s.draw(r.Context(), &server, v, d)
	if err != nil {
		return err
	}
	if form == "json" || form == "xml" {
		return s.respond(w, r, http.StatusOK, "drawing", drawingAnswer{drawn[0]})
	}
	return sendPicture(w, r, drawn[0], d.graph.ID, form, picture)
}

// sendPicture answers with a drawing as svg, png or csv.
func sendPicture(w http.ResponseWriter, r *http.Request, drawing *graph.Drawing, id, form string, picture graph.Picture) (err error) {
	var out bytes.Buffer
	kind := ""
	switch form {
	case "svg":
		kind, err = "image/svg+xml", drawing.SVG(&out, picture)
	case "png":
		kind, err = "image/png", drawing.PNG(&out, picture)
	case "csv":
		kind, err = "text/csv; charset=utf-8", drawing.CSV(&out)
		// The name holds what people typed; the header's own quoting keeps it a name.
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": id + ".csv"}))
	default:
		return notFound("form", form, "one of json, svg, png, csv")
	}
	if err != nil {
		return fmt.Errorf("web: draw %s as %s: %w", id, form, err)
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Length", strconv.Itoa(out.Len()))
	h.Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	if r.Method != http.MethodHead {
		w.Write(out.Bytes()) // the client is gone when this fails
	}
	return nil
}

package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
	"monolith/graph"
)

// alertPage is one alert with all that helps to judge it.
type alertPage struct {
	pageBase
	Alert     monolith.Alert
	Row       alertRow // the alert with those that it speaks for
	Parent    *monolith.Alert
	Server    *monolith.Server // nil: the monitor itself, or one that was removed
	Rule      *monolith.RuleInfo
	Runbook   string
	Effective *monolith.EffectiveRule
	Steps     []levelStep
	Events    []monolith.AlertEvent
	Changes   []monolith.Change
	Marks     []monolith.Mark
	Before    []monolith.Alert // earlier ones of the same rule and instance
	Silences  []monolith.Silence
	Range     timeRange
	Figures   []figure
	Told      *alertTold // nil: nobody could be
	Problem   *problem
	Sent      url.Values // of a form that was refused
}

// Bars draws the levels over time.
func (d *alertPage) Bars() []levelBar { return levelBars(d.Steps) }

// End is when the alert closed, or now.
func (d *alertPage) End() time.Time {
	if d.Alert.Open() {
		return d.Now
	}
	return d.Alert.Closed
}

// ErrorAt gives what is wrong with a field, or "".
func (d *alertPage) ErrorAt(field string) string {
	if d.Problem == nil || d.Problem.Field != field {
		return ""
	}
	return errorText(d.Problem)
}

// Bar gives the range picker what it needs.
func (d *alertPage) Bar() rangeBar { return rangeBar{pageBase: d.pageBase, Range: d.Range} }

// Config writes the settings of the remedy as lines of my.cnf.
func (d *alertPage) Config() string {
	if d.Alert.Remedy == nil || len(d.Alert.Remedy.Settings) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("[mysqld]")
	for _, one := range d.Alert.Remedy.Settings {
		b.WriteString("\n" + oneLine(one.Variable) + " = " + oneLine(one.To))
	}
	return b.String()
}

// Dynamic writes the settings of the remedy that a statement changes at once.
func (d *alertPage) Dynamic() string {
	var lines []string
	if d.Alert.Remedy != nil {
		for _, one := range d.Alert.Remedy.Settings {
			if one.Dynamic {
				lines = append(lines, "SET GLOBAL "+oneLine(one.Variable)+" = "+oneLine(one.To)+";")
			}
		}
	}
	return strings.Join(lines, "\n")
}

// oneLine keeps what a server said from becoming a second line of what people copy.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (s *Server) alertPage(w http.ResponseWriter, r *http.Request) error {
	a, err := s.pageAlert(r)
	if err != nil {
		return err
	}
	return s.showAlertPage(w, r, http.StatusOK, a, nil)
}

// changesBefore is how long before an alert opened a change may have been its cause.
const changesBefore = 24 * time.Hour

func (s *Server) showAlertPage(w http.ResponseWriter, r *http.Request, status int, a monolith.Alert, bad *problem) error {
	d := alertPage{pageBase: s.pageBase(r, a.Title+cmp.Or(prefixed(" · ", a.ServerName), " · Monolith itself"), "alerts"), Alert: a, Row: alertRow{Alert: a}, Problem: bad, Sent: r.PostForm}
	ctx := r.Context()
	var err error
	if d.Events, err = s.alerts.AlertEvents(ctx, a.ID); err != nil && !errors.Is(err, monolith.ErrNotFound) {
		if err = d.unread(err, "what happened to this alert"); err != nil {
			return err
		}
	}
	d.Steps = levelSteps(&a, d.Events, d.Now)
	for _, o := range s.alerts.Open() {
		if o.Parent == a.ID && o.ID != a.ID {
			d.Row.Children = append(d.Row.Children, o)
		}
	}
	if a.Parent != 0 {
		if up, err := s.alerts.Alert(ctx, a.Parent); err == nil {
			d.Parent = &up
		}
	}
	rules := s.alerts.Rules()
	if i := slices.IndexFunc(rules, func(rule monolith.RuleInfo) bool { return rule.ID == a.Rule }); i >= 0 {
		d.Rule = &rules[i]
	}
	if err := s.alertServer(ctx, &d); err != nil {
		return err
	}
	silences, err := s.alerts.Silences(ctx)
	if err = d.unread(err, "the silences"); err != nil {
		return err
	}
	for _, one := range silences {
		if one.Covers(&a, d.Now) {
			d.Silences = append(d.Silences, one)
		}
	}
	before, err := s.alerts.Alerts(ctx, monolith.AlertQuery{Open: true, Closed: true, Rule: a.Rule, Servers: []monolith.ServerID{a.Server}, To: a.Opened, Limit: 50})
	if err = d.unread(err, "earlier alerts"); err != nil {
		return err
	}
	for _, b := range before {
		if b.AlertKey == a.AlertKey && b.ID != a.ID && len(d.Before) < 5 {
			d.Before = append(d.Before, b)
		}
	}
	if d.Told, err = s.toldOf(ctx, &d.pageBase, a.ID); err != nil {
		return err
	}
	d.alertFigures()
	return s.show(w, r, status, "alert", "frame", &d)
}

// prefixed puts something before a text unless that is empty.
func prefixed(before, text string) string {
	if text == "" {
		return ""
	}
	return before + text
}

// alertServer reads what the page tells about the server of its alert.
func (s *Server) alertServer(ctx context.Context, d *alertPage) error {
	a := &d.Alert
	if a.Server == 0 {
		return nil
	}
	servers, err := s.store.Servers(ctx)
	if err = d.unread(err, "the server"); err != nil {
		return err
	}
	i := slices.IndexFunc(servers, func(srv monolith.Server) bool { return srv.ID == a.Server })
	if i < 0 {
		return nil
	}
	d.Server = &servers[i]
	if d.Rule != nil {
		if e, err := s.alerts.EffectiveRule(a.Server, a.Rule); err == nil {
			d.Effective, d.Runbook = &e, e.Runbook
		}
		d.Runbook = cmp.Or(d.Runbook, d.Rule.Runbook)
	}
	from := a.Opened.Add(-changesBefore)
	d.Changes, err = s.store.Changes(ctx, monolith.ChangeQuery{Server: a.Server, Name: "variable.", From: from, To: d.End(), Limit: 12})
	if err = d.unread(err, "what was changed lately"); err != nil {
		return err
	}
	d.Marks, err = s.marksOf(ctx, []monolith.Server{*d.Server}, monolith.MarkQuery{From: from, To: d.End(), Limit: 12,
		Kinds: []monolith.MarkKind{monolith.MarkRestart, monolith.MarkVersion, monolith.MarkFailover, monolith.MarkRename, monolith.MarkNote}})
	return d.unread(err, "restarts and notes")
}

// alertFigures chooses the range and the graphs of the page.
func (d *alertPage) alertFigures() {
	d.Range = d.readRange(time.Hour)
	if q := d.URL.Query(); !q.Has("from") && !q.Has("to") {
		from, to := d.Alert.Opened.Add(-time.Hour).Truncate(time.Minute), d.End()
		if !d.Alert.Open() {
			d.Range.To, d.Range.End = to.Add(30*time.Minute).Truncate(time.Minute).UTC().Format(time.RFC3339), to.Add(30*time.Minute)
		}
		d.Range.From, d.Range.Start = from.UTC().Format(time.RFC3339), from
		if to.Sub(from) > 7*24*time.Hour {
			d.Range.From, d.Range.Start = "-7d", d.Now.Add(-7*24*time.Hour)
			d.Range.To, d.Range.End = "now", d.Now
		}
	}
	if d.Server == nil {
		return
	}
	q := url.Values{"from": {d.Range.From}, "to": {d.Range.To}}
	if d.Zone != "" {
		q.Set("tz", d.Zone)
	}
	id := strconv.FormatInt(int64(d.Alert.ID), 10)
	address := func(form string) string { return d.At("alerts", id, "drawing."+form) + "?" + q.Encode() }
	d.Figures = []figure{{ID: "alert-" + id, Title: "What the rule compares", Server: d.Server.Name, Panels: 1, Source: address("json"),
		Picture: address("svg") + "&width=" + strconv.Itoa(pictureWidth)}}
	if d.Rule == nil {
		return
	}
	p := serverPage{pageBase: d.pageBase, Server: *d.Server, Range: d.Range}
	if g := graphOfRule(d.Rule); g != nil {
		d.Figures = append(d.Figures, p.figure(g))
	}
}

// graphOfRule gives the graph of the catalogue that the rule names, or else the one that shows most of what it reads.
func graphOfRule(rule *monolith.RuleInfo) *graph.Graph {
	if rule.Graph != "" {
		for _, g := range graph.Catalogue() {
			if g.ID == rule.Graph || g.Plan == rule.Graph {
				return g
			}
		}
	}
	var best *graph.Graph
	most := 0
	for _, g := range graph.Catalogue() {
		if n := sharedInputs(rule, g); n > most {
			best, most = g, n
		}
	}
	return best
}

// sharedInputs counts the metrics that a rule reads and a graph draws.
func sharedInputs(rule *monolith.RuleInfo, g *graph.Graph) (n int) {
	drawn := graphInputs(g)
	for _, name := range rule.Inputs {
		// Limits of the server's own (max_connections) stand on many graphs and say little about what is judged.
		if drawn[name] && !strings.HasPrefix(name, "variable.") {
			n++
		}
	}
	return n
}

// alertDrawing draws what the rule of an alert compares, with its limits, and the times in which it was open.
func (s *Server) alertDrawing(w http.ResponseWriter, r *http.Request) error {
	a, err := s.pageAlert(r)
	if err != nil {
		return err
	}
	q := s.query(r, append([]string{"width", "height", "theme", "tz"}, viewParameters...)...)
	v := q.view()
	picture := graph.Picture{Width: q.number("width", pictureWidth, 120, 4000), Height: q.number("height", 240, 60, 2000), Dark: q.text("theme") == "dark", Untitled: true,
		Zone: s.pageBase(r, "", "").location}
	if q.err != nil {
		return q.err
	}
	drawing, err := s.drawAlert(r.Context(), &a, v)
	if err != nil {
		return err
	}
	return s.sendDrawing(w, r, drawing, pathValue(r, "form"), picture)
}

// sendDrawing answers with one drawing that is not of the catalogue.
func (s *Server) sendDrawing(w http.ResponseWriter, r *http.Request, drawing *graph.Drawing, form string, picture graph.Picture) error {
	if form == "json" {
		return s.respond(w, r, http.StatusOK, "answer", struct {
			Drawings []*graph.Drawing `json:"drawings"`
		}{[]*graph.Drawing{drawing}})
	}
	return sendPicture(w, r, drawing, drawing.ID, form, picture)
}

// mostJudged is the longest range over which a page lets a rule be worked out again.
const mostJudged = 31 * 24 * time.Hour

func (s *Server) drawAlert(ctx context.Context, a *monolith.Alert, v view) (*graph.Drawing, error) {
	d := &graph.Drawing{ID: fmt.Sprintf("alert-%d", a.ID), Title: a.Title, Server: a.ServerName, From: v.from, To: v.to, Step: 60, Panels: []graph.PanelDrawing{}, Marks: []monolith.Mark{}}
	if v.to.Sub(v.from) > mostJudged {
		d.Note = "What the rule compares is worked out over 31 days at most: choose a shorter range."
		return d, nil
	}
	result, err := s.alerts.BackTest(ctx, monolith.BackTest{Rule: a.Rule, Servers: []monolith.ServerID{a.Server}, From: v.from, To: v.to})
	switch {
	case errors.Is(err, monolith.ErrInvalid) || errors.Is(err, monolith.ErrNotFound):
		d.Note = errorText(s.problemOf(nil, err))
		return d, nil
	case err != nil:
		return nil, err
	}
	if len(result.Servers) == 1 {
		drawTested(d, &result.Servers[0], result.Step)
	}
	servers, err := s.store.Servers(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(servers, func(srv monolith.Server) bool { return srv.ID == a.Server })
	rule, err := s.ruleNamed("", a.Rule)
	if err != nil {
		d.Panels, d.Note = d.Panels[:0], "The rule is there no more."
		return d, nil
	}
	if len(d.Panels) == 0 && at >= 0 {
		if err := s.drawQuantity(ctx, d, &servers[at], a, &rule, v); err != nil {
			return nil, err
		}
	}
	if len(d.Panels) == 0 {
		d.Note = cmp.Or(d.Note, "The history does not hold what this rule compares.")
		return d, nil
	}
	drawLimits(d, &rule, limitsOfAlert(a))
	history, err := s.alerts.Alerts(ctx, monolith.AlertQuery{Open: true, Closed: true, Rule: a.Rule, Servers: []monolith.ServerID{a.Server}, From: v.from, To: v.to, Limit: maxBands})
	if err != nil {
		return nil, err
	}
	for i := range history {
		if history[i].Instance == a.Instance {
			d.Bands = append(d.Bands, bandOf(&history[i]))
		}
	}
	if at >= 0 {
		marks, err := s.marksOf(ctx, servers[at:at+1], monolith.MarkQuery{From: v.from, To: v.to, Limit: maxMarks})
		if err != nil {
			return nil, err
		}
		d.Marks = orEmpty(marks)
	}
	return d, nil
}

// drawQuantity draws the formula of the first quantity that the alert compares, where a back-test can't tell its
// values. A formula that only rules understand leaves the drawing as it is.
func (s *Server) drawQuantity(ctx context.Context, d *graph.Drawing, srv *monolith.Server, a *monolith.Alert, rule *monolith.RuleInfo, v view) error {
	judged := slices.IndexFunc(a.Values, func(v monolith.AlertValue) bool { return v.Limit != nil })
	if judged < 0 || a.Instance != "" {
		return nil
	}
	let := slices.IndexFunc(rule.Let, func(q monolith.RuleQuantity) bool { return q.Name == a.Values[judged].Name })
	if let < 0 {
		return nil
	}
	q := rule.Let[let]
	g, err := s.graphOf(ctx, []string{q.Is}, []monolith.Server{*srv})
	if err != nil {
		return nonsense(err)
	}
	drawn, err := s.drawFor(ctx, srv, s.request(v, srv.ID), g)
	if err != nil {
		return nonsense(err)
	}
	one := drawn[0]
	if len(one.Panels) == 0 || len(one.Panels[0].Lines) == 0 {
		return nil
	}
	one.Panels[0].Lines[0].Name, one.Panels[0].Unit = q.Name, q.Unit
	d.Times, d.Step, d.Tier, d.Panels, d.Note = one.Times, one.Step, one.Tier, one.Panels[:1], ""
	return nil
}

// nonsense keeps errors that are not about what was asked.
func nonsense(err error) error {
	if errors.Is(err, monolith.ErrInvalid) {
		return nil
	}
	return err
}

// limitsOfAlert gives the limits that the alert's values are compared with, by the values' names.
func limitsOfAlert(a *monolith.Alert) []graph.Limit {
	var list []graph.Limit
	for _, v := range a.Values {
		if v.Limit != nil && !math.IsNaN(*v.Limit) {
			list = append(list, graph.Limit{Value: *v.Limit, Level: a.Level, Name: v.Name, Always: true})
		}
	}
	return list
}

// drawLimits puts limits to the panels of the quantities of their names, where the rule compares just these two: where
// the limit is part of more, no line would be right.
func drawLimits(d *graph.Drawing, rule *monolith.RuleInfo, limits []graph.Limit) {
	for i := range d.Panels {
		p := &d.Panels[i]
		for _, limit := range limits {
			own := func(l graph.Line) bool { return l.Name == limit.Name }
			if slices.ContainsFunc(p.Lines, own) && comparesOwn(rule, limit.Name) {
				p.Limits = append(p.Limits, limit)
			}
		}
	}
}

// comparesOwn reports whether a rule compares a quantity with the limit of its own name.
func comparesOwn(rule *monolith.RuleInfo, name string) bool {
	return slices.ContainsFunc(rule.When, func(c monolith.RuleCondition) bool {
		return slices.ContainsFunc(c.Compares, func(pair monolith.RuleComparison) bool { return pair.Name == name && pair.Limit == name })
	})
}

// drawTested makes the panels of what a rule would have compared, one for each unit.
func drawTested(d *graph.Drawing, t *monolith.BackTestServer, step time.Duration) {
	d.Step = max(1, int64(step/time.Second))
	if len(t.Times) == 0 || len(t.Lines) == 0 {
		d.Note = t.Note
		return
	}
	d.Times, d.Tier = t.Times, "raw"
	for _, line := range t.Lines {
		at := slices.IndexFunc(d.Panels, func(p graph.PanelDrawing) bool { return p.Unit == line.Unit })
		if at < 0 {
			at = len(d.Panels)
			d.Panels = append(d.Panels, graph.PanelDrawing{Unit: line.Unit})
		}
		d.Panels[at].Lines = append(d.Panels[at].Lines, graph.NewLine(line.Name, line.Unit, line.Value))
	}
}

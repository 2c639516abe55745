package web

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"

	"monolith"
	"monolith/formula"
)

// The bounds of an export. It is written server by server, so its size costs no memory.
const (
	maxExportServers = 5_000
	maxExportValues  = 5_000_000 // servers × fields × steps
	// exportPatience is how long one who reads an export may take nothing of it: until it is written others wait for room.
	exportPatience = 10 * time.Second
)

//go:embed export.xsd
var exportSchema []byte

// ExportProfiles keeps exports under names. *store.DB has it.
type ExportProfiles interface {
	ExportProfiles(ctx context.Context) ([]monolith.ExportProfile, error)
	PutExportProfile(ctx context.Context, p *monolith.ExportProfile) error
	DeleteExportProfile(ctx context.Context, name string) error
}

func (s *Server) exportRoutes(r chi.Router, get func(pattern string, h handler)) {
	r.Get("/export.{format}", s.handle(long(s.export)))
	r.Get("/export.xsd", s.handle(s.exportXSD))
	get("/exports", s.listExports)
	get("/exports/{name}", s.showExport)
	r.Put("/exports/{name}", s.handle(s.putExport))
	r.Delete("/exports/{name}", s.handle(s.deleteExport))
}

// exportXSD gives the schema of the XML form.
func (s *Server) exportXSD(w http.ResponseWriter, r *http.Request) error {
	w.Header().Set("Content-Type", "application/xml; charset=utf-8")
	http.ServeContent(w, r, "", s.started, strings.NewReader(string(exportSchema)))
	return nil
}

// exportPlan is an export that was read and found good.
type exportPlan struct {
	servers  []monolith.Server
	fields   []exportField
	at       time.Time // the moment; zero for a range
	from, to time.Time
	step     time.Duration // 0 for a moment
	// environments are those that groups give their servers.
	environments map[string]string
	now          time.Time
}

// export answers with the fields that were asked for, of all servers or some, at a moment or over a range.
func (s *Server) export(w http.ResponseWriter, r *http.Request) error {
	open := exportFormats[chi.URLParam(r, "format")]
	if open == nil {
		return notFound("form of an export", chi.URLParam(r, "format"), "xml, json or csv")
	}
	p, err := s.planExport(r)
	if err != nil {
		return err
	}
	tag := s.exportTag(r, p)
	h := w.Header()
	h.Set("Etag", tag)
	h.Set("Cache-Control", "no-cache")
	if tagMatches(r.Header.Get("If-None-Match"), strings.TrimPrefix(tag, "W/")) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	room := s.room
	if p.step > 0 {
		room = s.exportRoom
	}
	leave, err := room.enter(r.Context(), len(p.fields)*min(len(p.servers), 50), p.to.Sub(p.from), max(p.step, time.Second))
	if err != nil {
		return fmt.Errorf("web: export: %w", err)
	}
	defer leave()
	return s.writeExport(w, r, p, open)
}

// planExport reads the request. A profile says what the request itself does not.
func (s *Server) planExport(r *http.Request) (*exportPlan, error) {
	q := s.query(r, "fields", "server", "group", "at", "from", "to", "step", "profile")
	list, names, group, profile := q.text("fields"), q.texts("server", maxExportServers), strings.Trim(q.text("group"), "/"), q.text("profile")
	if q.err != nil {
		return nil, q.err
	}
	var groups []string
	if group != "" {
		groups = []string{group}
	}
	fields := splitFields(list)
	var ids []monolith.ServerID
	if profile != "" {
		kept, err := s.profile(r.Context(), profile)
		if err != nil {
			return nil, err
		}
		if list == "" {
			fields = kept.Fields
		}
		if len(names) == 0 && len(groups) == 0 {
			ids, groups = kept.Servers, kept.Groups
		}
		for name, value := range map[string]string{"from": kept.From, "to": kept.To, "step": kept.Step} {
			if value != "" && !q.values.Has(name) && !q.values.Has("at") {
				q.values.Set(name, value)
			}
		}
	} else if list == "" {
		return nil, monolith.Invalid("fields", "no fields are named", "such as fields=server,group,version,status.Threads_running, or profile=NAME")
	}
	p := &exportPlan{now: s.now()}
	if err := s.exportServers(r.Context(), p, names, ids, groups); err != nil {
		return nil, err
	}
	var err error
	if p.fields, err = s.exportFieldsOf(r.Context(), fields, p.servers); err != nil {
		return nil, err
	}
	return p, s.exportTime(q, p)
}

// exportServers chooses the servers, in the order that people gave them.
func (s *Server) exportServers(ctx context.Context, p *exportPlan, names []string, ids []monolith.ServerID, groups []string) error {
	all, err := s.store.Servers(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(server monolith.Server) bool { return server.Name == name }) {
			_, err := s.serverNamed(ctx, "server", name)
			return err
		}
	}
	for _, group := range groups {
		if err := s.groupThere(ctx, "group", group); err != nil {
			return err
		}
	}
	defaults, err := s.store.Groups(ctx)
	if err != nil {
		return err
	}
	p.environments = make(map[string]string, len(defaults))
	for i := range defaults {
		p.environments[defaults[i].Path] = defaults[i].Environment
	}
	everything := len(names) == 0 && len(ids) == 0 && len(groups) == 0
	for i := range all {
		in := func(group string) bool { return monolith.InGroup(all[i].Group, group) }
		if everything || slices.Contains(names, all[i].Name) || slices.Contains(ids, all[i].ID) || slices.ContainsFunc(groups, in) {
			p.servers = append(p.servers, all[i])
		}
	}
	if len(p.servers) > maxExportServers {
		return refuseTooMuch("group", fmt.Sprintf("%d servers are more than the %d of one export", len(p.servers), maxExportServers))
	}
	return nil
}

// exportTime reads the moment or the range.
func (s *Server) exportTime(q *query, p *exportPlan) error {
	ranged := q.text("from") != "" || q.text("to") != "" || q.text("step") != ""
	if ranged && q.text("at") != "" {
		q.fail(monolith.Invalid("at", "there are both a moment and a range", "at=, or from= and to="))
	}
	if !ranged {
		p.at = q.time("at", p.now)
		p.from, p.to = p.at, p.at
		return q.err
	}
	p.from, p.to = q.span(time.Hour)
	p.step = q.grid(p.from, p.to, 10*time.Second)
	if q.err != nil {
		return q.err
	}
	for i := range p.fields {
		if p.fields[i].formula == nil && p.fields[i].name != "server" && p.fields[i].name != "group" {
			return monolith.Invalid(fmt.Sprintf("fields[%d]", i), fmt.Sprintf("%q is known for now only, not over a range", p.fields[i].name), "names and formulas have a history")
		}
	}
	if values := (int64(p.to.Sub(p.from)/p.step) + 1) * int64(len(p.servers)*len(p.fields)); values > maxExportValues {
		return refuseTooMuch("step", fmt.Sprintf("%d values are more than the %d of one export", values, maxExportValues), "a longer step, a shorter range, or fewer servers and fields")
	}
	return nil
}

// exportTag stands for what the answer would be, before it is made: the request, and of each server the last poll and the
// alerts. It is weak, since the moment in the answer's head differs.
func (s *Server) exportTag(r *http.Request, p *exportPlan) string {
	sum := fnv.New64a()
	fmt.Fprint(sum, s.cfg.Version, r.URL.Path, p.step)
	if !p.at.Equal(p.now) {
		fmt.Fprint(sum, r.URL.RawQuery)
	}
	for i := range p.fields {
		fmt.Fprintf(sum, "\x00%s", p.fields[i].name)
	}
	for i := range p.servers {
		server := &p.servers[i]
		fmt.Fprintf(sum, "\x00%d %d %s", server.ID, server.Updated.UnixNano(), p.environments[server.Group])
		if st := s.poller.State(server.ID); st != nil {
			fmt.Fprintf(sum, " %d %v", st.Seq, st.Up)
		}
	}
	if s.alerts != nil {
		for _, a := range s.alerts.Open() {
			fmt.Fprintf(sum, "\x00%d %d", a.ID, a.Level)
		}
	}
	return fmt.Sprintf(`W/"%016x"`, sum.Sum64())
}

// writeExport works the servers out, several at a time, and writes them in order as they come.
func (s *Server) writeExport(w http.ResponseWriter, r *http.Request, p *exportPlan, open func(http.ResponseWriter, *exportPlan) exportWriter) error {
	var working sync.WaitGroup
	defer working.Wait() // none of them reads the store when the request is over
	ctx, stop := context.WithCancel(r.Context())
	defer stop()
	counts := s.alertCounts()
	type row struct {
		cells []exportCell
		times []int64
		err   error
	}
	workers := min(max(2, runtime.GOMAXPROCS(0)), 8)
	rows := make([]chan row, len(p.servers))
	for i := range rows {
		rows[i] = make(chan row, 1)
	}
	ahead := make(chan struct{}, 2*workers) // how many servers may wait to be written: memory stays flat
	var next atomic.Int64                   // servers are begun in order, or the first could wait for room that later ones hold
	for range workers {
		working.Go(func() {
			for {
				select {
				case ahead <- struct{}{}:
				case <-ctx.Done():
					return
				}
				i := int(next.Add(1) - 1)
				if i >= len(p.servers) {
					return
				}
				server := &p.servers[i]
				subject := &exportSubject{server: server, state: s.poller.State(server.ID), alerts: counts[server.ID], judged: s.alerts != nil, now: p.now, environment: p.environments[server.Group]}
				cells, times, err := s.exportRow(ctx, p, subject)
				rows[i] <- row{cells, times, err}
			}
		})
	}
	patience := http.NewResponseController(w)
	goOn := func() { _ = patience.SetWriteDeadline(time.Now().Add(exportPatience)) } // tests write to what has no deadline
	var out exportWriter
	for i := range p.servers {
		var one row
		select {
		case one = <-rows[i]:
			<-ahead
		case <-ctx.Done():
			one.err = ctx.Err()
		}
		if one.err != nil {
			if out == nil {
				return one.err
			}
			// What was written says 200: only a broken connection tells that something is missing.
			s.log.ErrorContext(ctx, "an export broke off", "error", one.err)
			panic(http.ErrAbortHandler)
		}
		if out == nil {
			out = open(w, p)
		}
		goOn()
		if err := out.server(&p.servers[i], one.cells, one.times); err != nil {
			return nil // the client is gone
		}
	}
	if out == nil {
		out = open(w, p)
	}
	goOn()
	if err := out.end(); err != nil && !errors.Is(err, context.Canceled) {
		s.log.DebugContext(ctx, "an export was not read to its end", "error", err)
	}
	return nil
}

// alertCounts counts the open alerts by server and level.
func (s *Server) alertCounts() map[monolith.ServerID]map[monolith.Level]int {
	counts := map[monolith.ServerID]map[monolith.Level]int{}
	if s.alerts == nil {
		return counts
	}
	for _, a := range s.alerts.Open() {
		if counts[a.Server] == nil {
			counts[a.Server] = map[monolith.Level]int{}
		}
		counts[a.Server][a.Level]++
	}
	return counts
}

// exportRow works all fields of one server out. times are the steps of a range, in unix seconds; nil for a moment. A panic is
// an error: it runs on a goroutine of its own, where nobody else catches one and the program would end.
func (s *Server) exportRow(ctx context.Context, p *exportPlan, x *exportSubject) (cells []exportCell, times []int64, err error) {
	defer func() {
		if v := recover(); v != nil {
			s.log.ErrorContext(ctx, "an export panicked", "server", x.server.Name, "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("web: export: panic: %v", v)
		}
	}()
	cells = make([]exportCell, len(p.fields))
	var ask []*formula.Formula
	var asked []int
	for i := range p.fields {
		f := &p.fields[i]
		if f.formula == nil {
			cells[i] = f.fact(x)
			continue
		}
		if p.step == 0 && f.metric != "" && p.at.Equal(p.now) {
			if cell, ok := newest(x.state, f.metric, p.now); ok {
				cells[i] = cell
				continue
			}
		}
		ask, asked = append(ask, f.formula), append(asked, i)
	}
	if len(ask) == 0 {
		return cells, nil, nil
	}
	if p.step == 0 {
		values, err := formula.AtAll(ctx, s.store, x.server.ID, p.at, 0, ask...)
		if err != nil {
			return nil, nil, fmt.Errorf("web: export: %w", err)
		}
		for k, i := range asked {
			cells[i] = valueCell(&values[k])
		}
		return cells, nil, nil
	}
	answer, err := s.exportSeries(ctx, p, x.server, ask)
	if err != nil {
		return nil, nil, err
	}
	for k, i := range asked {
		for _, line := range answer.Series {
			if line.Expr != ask[k].String() {
				continue
			}
			if line.Why != "" {
				cells[i] = noCell(line.Why)
				break
			}
			cells[i].plural = cells[i].plural || line.Instance != ""
			cells[i].values = append(cells[i].values, exportValue{instance: line.Instance, points: line.V, isNumber: true})
		}
	}
	return cells, answer.T, nil
}

// exportSeries lays the formulas of one server over the range. Where history is only kept in longer steps, these are given.
func (s *Server) exportSeries(ctx context.Context, p *exportPlan, server *monolith.Server, formulas []*formula.Formula) (*seriesAnswer, error) {
	step := p.step
	for range 2 {
		results, err := formula.Series(ctx, s.store, formula.Request{Server: server.ID, From: p.from, To: p.to, Step: step}, formulas...)
		if err != nil {
			return nil, fmt.Errorf("web: export: %w", err)
		}
		longest := step
		for _, r := range results {
			longest = max(longest, r.Step)
		}
		if longest == step || !slices.ContainsFunc(results, func(r formula.Result) bool { return len(r.Lines) > 0 && r.Step != longest }) {
			return layOut([]monolith.Server{*server}, formulas, [][]formula.Result{results}, p.from, p.to, longest)
		}
		step = longest
	}
	return nil, errors.New("web: export: history answers in different steps")
}

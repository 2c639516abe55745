package web

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"monolith"
)

// exportsPage lists the kept exports and is the form of one, with its first rows.
type exportsPage struct {
	pageBase
	tellForm
	Tab     string
	Exports []exportProfileView
	View    exportProfileView
	Fields  string
	Groups  []pick
	Servers []pick
	Facts   []string
	Columns []exportColumn
	Rows    []exportRowView
	Of      int // servers of the whole export
	Links   []exportLink
	Kept    bool // it is shown as it is kept
}

// exportColumn is a field of the preview.
type exportColumn struct{ Name, Unit string }

// exportRowView is one row of the preview.
type exportRowView struct {
	Server string
	At     time.Time // of a range
	Cells  []exportCellView
}

// exportCellView is one value of the preview, or why there is none.
type exportCellView struct {
	Text   string
	Why    string
	Number bool
}

// exportLink is the address of an export in one form.
type exportLink struct{ Form, Link string }

// Ranged reports whether the export is one of a range.
func (d *exportsPage) Ranged() bool { return d.View.From != "" || d.View.To != "" || d.View.Step != "" }

// FieldError gives what is wrong with the fields: with all of them or with one.
func (d *exportsPage) FieldError() string {
	if d.Problem == nil || !strings.HasPrefix(d.Problem.Field, "fields") {
		return ""
	}
	var n int
	if _, err := fmt.Sscanf(d.Problem.Field, "fields[%d]", &n); err == nil && n < len(d.View.Fields) {
		return fmt.Sprintf("Field %d, %s: %s", n+1, strings.TrimSpace(d.View.Fields[n]), errorText(d.Problem))
	}
	return errorText(d.Problem)
}

// OtherError gives what is wrong with no field of the form.
func (d *exportsPage) OtherError() string {
	if d.FieldError() != "" {
		return ""
	}
	return d.otherError([]string{"name", "groups", "group", "servers", "server", "from", "to", "step"})
}

// viewOf reads an export of the form or the address.
func viewOf(values url.Values) exportProfileView {
	v := exportProfileView{Name: strings.TrimSpace(values.Get("name")), Servers: values["servers"], Groups: values["groups"],
		From: strings.TrimSpace(values.Get("from")), To: strings.TrimSpace(values.Get("to")), Step: strings.TrimSpace(values.Get("step"))}
	if list := strings.TrimSpace(strings.ReplaceAll(values.Get("fields"), "\n", " ")); list != "" {
		for _, field := range splitFields(list) {
			v.Fields = append(v.Fields, strings.TrimSpace(field))
		}
	}
	return v
}

func (s *Server) exportsPage(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	d := &exportsPage{View: viewOf(q)}
	if name := q.Get("profile"); name != "" {
		kept, err := s.profile(r.Context(), name)
		if err != nil {
			return err
		}
		if d.View, err = s.exportProfileView(r.Context(), &kept); err != nil {
			return err
		}
		d.Kept = true
	}
	return s.showExports(w, r, http.StatusOK, d)
}

// saveExportForm keeps an export under its name, or removes one.
func (s *Server) saveExportForm(w http.ResponseWriter, r *http.Request) error {
	if name := r.PostFormValue("remove"); name != "" {
		if s.cfg.Exports == nil {
			return notFound("export profile", name, "")
		}
		if err := s.cfg.Exports.DeleteExportProfile(r.Context(), name); err != nil {
			return err
		}
		s.back(w, r, s.link("exports"), "deleted")
		return nil
	}
	d := &exportsPage{View: viewOf(r.PostForm)}
	err := checkSaid("name", d.View.Name, 128)
	if err == nil && d.View.Name == "" {
		err = monolith.Invalid("name", "under which name?", "such as inventory")
	}
	if err == nil {
		_, err = s.saveExport(r.Context(), d.View)
	}
	if err == nil {
		s.back(w, r, s.link("exports")+"?"+encodeQuery("profile", d.View.Name), "export-saved")
		return nil
	}
	status, err := s.refused(r, &d.tellForm, err)
	if err != nil {
		return err
	}
	return s.showExports(w, r, status, d)
}

// usualFields are those of an export that nobody has chosen yet.
const usualFields = "server, group, version, up, status.Threads_connected, rate(status.Questions)"

func (s *Server) showExports(w http.ResponseWriter, r *http.Request, status int, d *exportsPage) error {
	ctx := r.Context()
	d.pageBase, d.Tab, d.Facts = s.pageBase(r, "Exports", "settings"), "exports", sortedKeys(exportFacts)
	servers, err := s.store.Servers(ctx)
	if err = d.unread(err, "the servers"); err != nil {
		return err
	}
	groups, err := s.store.Groups(ctx)
	if err = d.unread(err, "the groups"); err != nil {
		return err
	}
	var chosen []monolith.ServerID
	for i := range servers {
		if slices.Contains(d.View.Servers, servers[i].Name) {
			chosen = append(chosen, servers[i].ID)
		}
	}
	d.Groups, d.Servers = pickGroups(groups, d.View.Groups), pickServers(servers, chosen)
	if s.cfg.Exports != nil {
		kept, err := asked(ctx, s.inventory, s.cfg.Exports.ExportProfiles)
		if err = d.unread(err, "the exports"); err != nil {
			return err
		}
		for i := range kept {
			v, err := s.exportProfileView(ctx, &kept[i])
			if err = d.unread(err, "the servers"); err != nil {
				return err
			}
			d.Exports = append(d.Exports, v)
		}
	}
	if d.Fields = strings.Join(d.View.Fields, ", "); d.Fields == "" {
		d.Fields = usualFields
	} else if d.Problem == nil && d.Unread == nil {
		if err := s.previewExport(ctx, d); err != nil {
			p := s.problemOf(r, err)
			if p.Status >= http.StatusInternalServerError && p.Kind != kindUnavailable {
				return p
			}
			d.Problem, status = p, p.Status
		}
	}
	return s.show(w, r, status, "exports", "frame", d)
}

// The bounds of a preview.
const (
	previewServers = 10
	previewSteps   = 5 // of each server of a range
	previewRanged  = 3 // servers of a range
)

// previewExport works out the first rows.
func (s *Server) previewExport(ctx context.Context, d *exportsPage) error {
	_, plan, err := s.checkExport(ctx, d.View)
	if err != nil {
		return err
	}
	d.Of = len(plan.servers)
	first := plan.servers[:min(len(plan.servers), previewServers)]
	if plan.step > 0 {
		first = first[:min(len(first), previewRanged)]
	}
	leave, err := s.room.enter(ctx, len(plan.fields)*max(1, len(first)), plan.to.Sub(plan.from), max(plan.step, time.Second))
	if err != nil {
		return err
	}
	defer leave()
	for i := range plan.fields {
		d.Columns = append(d.Columns, exportColumn{Name: plan.fields[i].name, Unit: plan.fields[i].unit})
	}
	counts := s.alertCounts()
	for i := range first {
		server := &first[i]
		subject := &exportSubject{server: server, state: s.poller.State(server.ID), alerts: counts[server.ID], judged: s.alerts != nil, now: plan.now, environment: plan.environments[server.Group]}
		cells, times, err := s.exportRow(ctx, &plan, subject)
		if err != nil {
			return err
		}
		d.addRows(server.Name, cells, times)
	}
	if d.Links = s.exportLinks(&d.View); d.Kept {
		d.Links = d.LinksOf(d.View.Name)
	}
	return nil
}

// addRows puts a server's values into the table: one row at a moment, its newest steps of a range.
func (d *exportsPage) addRows(server string, cells []exportCell, times []int64) {
	if times == nil {
		row := exportRowView{Server: server}
		for i := range cells {
			row.Cells = append(row.Cells, viewCell(&cells[i], -1))
		}
		d.Rows = append(d.Rows, row)
		return
	}
	for at := max(0, len(times)-previewSteps); at < len(times); at++ {
		row := exportRowView{Server: server, At: time.Unix(times[at], 0)}
		for i := range cells {
			row.Cells = append(row.Cells, viewCell(&cells[i], at))
		}
		d.Rows = append(d.Rows, row)
	}
}

// viewCell writes a cell; at is the step of a range, or -1.
func viewCell(c *exportCell, at int) exportCellView {
	if len(c.values) == 0 {
		return exportCellView{Why: firstUpper(c.why)}
	}
	view := exportCellView{Number: !c.plural && len(c.values) == 1 && c.values[0].isNumber}
	var parts []string
	for i := range c.values {
		v := &c.values[i]
		text := v.text
		switch {
		case at >= 0 && at < len(v.points):
			if text = ""; !math.IsNaN(v.points[at]) {
				text = writeNumber(v.points[at])
			}
		case v.none:
			text = ""
		}
		if c.plural && v.instance != "" {
			text = v.instance + ": " + text
		}
		parts = append(parts, text)
		if len(parts) == 4 && len(c.values) > 5 {
			parts = append(parts, fmt.Sprintf("and %d more", len(c.values)-4))
			break
		}
	}
	if view.Text = strings.Join(parts, ", "); view.Text == "" {
		view.Why = "No value"
	}
	return view
}

// exportLinks gives the addresses of an export; none where only one that is kept can say it.
func (s *Server) exportLinks(v *exportProfileView) []exportLink {
	q := url.Values{"fields": {strings.Join(v.Fields, ",")}}
	if len(v.Servers) > 0 {
		q["server"] = v.Servers
	}
	if len(v.Groups) > 0 {
		q["group"] = v.Groups
	}
	for name, value := range map[string]string{"from": v.From, "to": v.To, "step": v.Step} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if len(v.Groups) > 1 {
		return nil
	}
	return linksOfExport(s.link, q)
}

func linksOfExport(link func(...string) string, q url.Values) (list []exportLink) {
	for _, form := range []string{"xml", "json", "csv"} {
		list = append(list, exportLink{form, link("api", "v1", "export."+form) + "?" + q.Encode()})
	}
	return list
}

// LinksOf gives the addresses of a kept export.
func (d *exportsPage) LinksOf(name string) []exportLink {
	return linksOfExport(d.link, url.Values{"profile": {name}})
}

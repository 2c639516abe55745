package web

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"monolith"
)

// exportWriter writes an export in one form. Each server leaves as soon as it is written.
type exportWriter interface {
	// server writes one. times are the steps of a range, nil for a moment.
	server(server *monolith.Server, cells []exportCell, times []int64) error
	end() error
}

// exportFormats begin an export in each form.
var exportFormats = map[string]func(http.ResponseWriter, *exportPlan) exportWriter{
	"xml":  newXMLExport,
	"json": newJSONExport,
	"csv":  newCSVExport,
}

// exportSpace is the namespace of the XML form; export.xsd describes it.
const exportSpace = "urn:monolith:export:1"

// exportOut is what the forms share: a buffer that is sent when it is full or the end comes.
type exportOut struct {
	*bufio.Writer
	plan  *exportPlan
	http  http.ResponseWriter
	first bool
}

func newExportOut(w http.ResponseWriter, p *exportPlan, kind string) exportOut {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(http.StatusOK)
	return exportOut{bufio.NewWriterSize(w, 32<<10), p, w, true}
}

// sent sends the first server at once, so that who reads need not wait for the others.
func (o *exportOut) sent() error {
	if !o.first {
		return nil
	}
	o.first = false
	if err := o.Flush(); err != nil {
		return err
	}
	return flushNow(o.http)
}

func (o *exportOut) end() error { return o.Flush() }

// flushNow sends what the server holds back. A writer that can't is no error.
func flushNow(w http.ResponseWriter) error {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
	return nil
}

// stamp writes a moment for programs.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// exportNumber writes a point; "" is none.
func exportNumber(v float64) string {
	if v != v || math.IsInf(v, 0) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// xmlExport is the XML form: export > server > field > value or point.
type xmlExport struct{ exportOut }

func newXMLExport(w http.ResponseWriter, p *exportPlan) exportWriter {
	x := &xmlExport{newExportOut(w, p, "application/xml; charset=utf-8")}
	x.WriteString(xmlHeader + `<export xmlns="` + exportSpace + `"`)
	if p.step == 0 {
		x.attr("at", stamp(p.at))
	} else {
		x.attr("from", stamp(p.from))
		x.attr("to", stamp(p.to))
	}
	x.WriteString(">\n")
	return x
}

func (x *xmlExport) attr(name, value string) {
	x.WriteString(" " + name + `="`)
	xml.EscapeText(x, []byte(cleanXML(value)))
	x.WriteByte('"')
}

func (x *xmlExport) text(value string) { xml.EscapeText(x, []byte(cleanXML(value))) }

func (x *xmlExport) server(server *monolith.Server, cells []exportCell, times []int64) error {
	x.WriteString("<server")
	x.attr("name", server.Name)
	x.attr("group", server.Group)
	x.WriteString(">\n")
	for i := range cells {
		x.field(&x.plan.fields[i], &cells[i], times)
	}
	x.WriteString("</server>\n")
	return x.sent()
}

func (x *xmlExport) field(f *exportField, cell *exportCell, times []int64) {
	x.WriteString(" <field")
	x.attr("name", f.name)
	if f.unit != "" {
		x.attr("unit", f.unit)
	}
	if cell.why != "" {
		x.attr("missing", cell.why)
	}
	if cell.why != "" && len(cell.values) == 0 {
		x.WriteString("/>\n")
		return
	}
	x.WriteByte('>')
	for i := range cell.values {
		v := &cell.values[i]
		if cell.plural || v.points != nil {
			x.WriteString("<value")
			if cell.plural {
				x.attr("instance", v.instance)
			}
			x.WriteByte('>')
		}
		switch {
		case v.points != nil:
			for k, p := range v.points {
				if text := exportNumber(p); text != "" && k < len(times) {
					x.WriteString("<point")
					x.attr("t", stamp(time.Unix(times[k], 0)))
					x.WriteString(">" + text + "</point>")
				}
			}
		case !v.none:
			x.text(v.text)
		}
		if cell.plural || v.points != nil {
			x.WriteString("</value>")
		}
	}
	x.WriteString("</field>\n")
}

func (x *xmlExport) end() error {
	x.WriteString("</export>\n")
	return x.exportOut.end()
}

// jsonExport is the JSON form: a list of servers, each with an object of its fields.
type jsonExport struct {
	exportOut
	comma bool
}

func newJSONExport(w http.ResponseWriter, p *exportPlan) exportWriter {
	x := &jsonExport{exportOut: newExportOut(w, p, "application/json")}
	if p.step == 0 {
		fmt.Fprintf(x, `{"at":%q,"servers":[`, stamp(p.at))
	} else {
		fmt.Fprintf(x, `{"from":%q,"to":%q,"servers":[`, stamp(p.from), stamp(p.to))
	}
	return x
}

func (x *jsonExport) server(server *monolith.Server, cells []exportCell, times []int64) error {
	if x.comma {
		x.WriteByte(',')
	}
	x.comma = true
	x.WriteString("\n{\"name\":")
	x.Write(mustJSON(server.Name))
	x.WriteString(`,"group":`)
	x.Write(mustJSON(server.Group))
	if times != nil {
		x.WriteString(`,"t":`)
		x.Write(mustJSON(times))
	}
	x.WriteString(`,"fields":{`)
	var missing []string
	for i := range cells {
		if i > 0 {
			x.WriteByte(',')
		}
		name := mustJSON(x.plan.fields[i].name)
		x.Write(name)
		x.WriteByte(':')
		x.cell(&cells[i])
		if cells[i].why != "" {
			missing = append(missing, string(name)+":"+string(mustJSON(cells[i].why)))
		}
	}
	x.WriteByte('}')
	if len(missing) > 0 {
		x.WriteString(`,"missing":{` + strings.Join(missing, ",") + "}")
	}
	x.WriteByte('}')
	return x.sent()
}

func (x *jsonExport) cell(cell *exportCell) {
	if !cell.plural {
		if len(cell.values) == 0 {
			x.WriteString("null")
			return
		}
		x.value(&cell.values[0])
		return
	}
	x.WriteByte('{')
	for i := range cell.values {
		if i > 0 {
			x.WriteByte(',')
		}
		x.Write(mustJSON(cell.values[i].instance))
		x.WriteByte(':')
		x.value(&cell.values[i])
	}
	x.WriteByte('}')
}

func (x *jsonExport) value(v *exportValue) {
	switch {
	case v.points != nil:
		x.Write(mustJSON(v.points))
	case v.none:
		x.WriteString("null")
	case v.isNumber && json.Valid([]byte(v.text)):
		x.WriteString(v.text)
	default:
		x.Write(mustJSON(v.text))
	}
}

func (x *jsonExport) end() error {
	x.WriteString("\n]}\n")
	return x.exportOut.end()
}

// csvExport is the CSV form: a line a server, and instance and moment where there are several.
type csvExport struct {
	exportOut
	csv *csv.Writer
}

func newCSVExport(w http.ResponseWriter, p *exportPlan) exportWriter {
	x := &csvExport{exportOut: newExportOut(w, p, "text/csv; charset=utf-8; header=present")}
	x.csv = csv.NewWriter(x.Writer)
	head := []string{"server", "group", "instance"}
	if p.step > 0 {
		head = append(head, "time")
	}
	for i := range p.fields {
		head = append(head, cellText(p.fields[i].name))
	}
	x.csv.Write(head)
	return x
}

func (x *csvExport) server(server *monolith.Server, cells []exportCell, times []int64) error {
	for _, instance := range exportInstances(cells) {
		if x.plan.step == 0 {
			x.line(server, instance, cells, "", -1)
			continue
		}
		for k, t := range times {
			x.line(server, instance, cells, stamp(time.Unix(t, 0)), k)
		}
	}
	x.csv.Flush()
	if err := x.csv.Error(); err != nil {
		return err
	}
	return x.sent()
}

// exportInstances gives the instances that a server's lines are made for: what has none stands in each of them.
func exportInstances(cells []exportCell) []string {
	var out []string
	seen := map[string]bool{}
	for i := range cells {
		if !cells[i].plural {
			continue
		}
		for _, v := range cells[i].values {
			if !seen[v.instance] {
				seen[v.instance] = true
				out = append(out, v.instance)
			}
		}
	}
	if out == nil {
		return []string{""}
	}
	return out
}

// line writes one line; k is the step of a range, −1 for a moment.
func (x *csvExport) line(server *monolith.Server, instance string, cells []exportCell, at string, k int) {
	record := []string{cellText(server.Name), cellText(server.Group), cellText(instance)}
	if k >= 0 {
		record = append(record, at)
	}
	for i := range cells {
		text := ""
		for j := range cells[i].values {
			v := &cells[i].values[j]
			switch {
			case cells[i].plural && v.instance != instance || v.none:
				continue
			case k < 0 && v.isNumber:
				text = v.text
			case k < 0:
				text = cellText(v.text)
			case v.points == nil:
				text = cellText(v.text)
			case k < len(v.points):
				text = exportNumber(v.points[k])
			}
		}
		record = append(record, text)
	}
	x.csv.Write(record)
}

// cellText makes a text safe for programs that take a cell for a formula: a sign that would begin one gets an apostrophe
// before it. NUL, which no such program reads, becomes U+FFFD.
func cellText(text string) string {
	text = cleanXML(text)
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

func (x *csvExport) end() error {
	x.csv.Flush()
	return x.exportOut.end()
}

package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"monolith/graph"
)

// Formulas of different units do not share an axis: threads are not "per second" because queries are.
func TestExploredFormulasKeepTheirUnits(t *testing.T) {
	const gauge, rate, bytes = "status.Threads_running", "rate(status.Questions)", "rate(status.Bytes_sent)"
	type line struct {
		unit  string
		right bool
		panel int
	}
	x := newFleet(t, 1)
	for name, c := range map[string]struct {
		exprs []string
		want  []line
	}{
		"one unit":                {[]string{rate, "rate(status.Com_select)"}, []line{{"1/s", false, 0}, {"1/s", false, 0}}},
		"two":                     {[]string{gauge, rate}, []line{{"", false, 0}, {"1/s", true, 0}}},
		"two, the other way":      {[]string{rate, gauge}, []line{{"1/s", true, 0}, {"", false, 0}}},
		"three, a panel for each": {[]string{gauge, rate, bytes, gauge + " + 1"}, []line{{"", false, 0}, {"1/s", false, 1}, {"bytes/s", false, 2}, {"", false, 0}}},
	} {
		got := x.get(t, "/servers/db1/graphs/explore/drawing.json?"+url.Values{"expr": c.exprs}.Encode())
		var answer struct{ Drawings []graph.Drawing }
		if err := json.Unmarshal([]byte(got.body), &answer); err != nil || got.Code != http.StatusOK {
			t.Fatalf("%s: %d %v %s", name, got.Code, err, got.body)
		}
		lines := map[string]line{}
		for i, p := range answer.Drawings[0].Panels {
			for _, l := range p.Lines {
				lines[l.Expr] = line{l.Unit, l.Right, i}
			}
		}
		for i, e := range c.exprs {
			if lines[e] != c.want[i] {
				t.Errorf("%s: %s is %+v, want %+v", name, e, lines[e], c.want[i])
			}
		}
	}
}

// An axis for which people name no unit has that of its formulas, never that of the other axis.
func TestOwnGraphsAxesHaveTheirUnits(t *testing.T) {
	const gauge, rate, other = "status.Threads_running", "rate(status.Questions)", "rate(status.Com_select)"
	for name, c := range map[string]struct {
		unit, right string
		exprs, axes []string
		wantUnit    string
		wantRight   string
	}{
		"of the formula":      {"%", "", []string{gauge, rate}, []string{"", "right"}, "%", "1/s"},
		"none":                {"%", "", []string{rate, gauge}, []string{"", "right"}, "%", ""},
		"as said":             {"%", "inserts/s", []string{gauge, rate, other}, []string{"", "right", "right"}, "%", "inserts/s"},
		"two that do not fit": {"ms", "", []string{gauge, rate, gauge}, []string{"", "right", "right"}, "ms", ""},
		"on the left as well": {"", "ms", []string{rate, gauge}, []string{"", "right"}, "1/s", "ms"},
	} {
		x := newFleet(t, 1)
		form := url.Values{"title": {"mine"}, "unit": {c.unit}, "right": {c.right}, "expr": c.exprs, "axis": c.axes}
		a := x.do(t, http.MethodPost, "/graphs/new", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html")
		if a.Code != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", name, a.Code, a.body)
		}
		g, err := readDefinition(x.store.graphs[len(x.store.graphs)-1].Definition)
		if err != nil {
			t.Fatal(err)
		}
		if p := g.Panels[0]; p.Unit != c.wantUnit || p.Right != c.wantRight {
			t.Errorf("%s: left %q, right %q, want %q and %q", name, p.Unit, p.Right, c.wantUnit, c.wantRight)
		}
		csv := x.get(t, "/servers/db1/graphs/"+ownID(x.store.graphs[len(x.store.graphs)-1].ID)+"/drawing.csv").body
		if header, _, _ := strings.Cut(csv, "\n"); strings.Count(header, "%") > strings.Count(c.unit, "%") {
			t.Errorf("%s: %s", name, header)
		}
	}
}

// The list of servers sends an empty name when none was chosen.
func TestNoOtherServerIsNoServer(t *testing.T) {
	x := newFleet(t, 3)
	for _, q := range []string{"with=", "with=&with=", "with=db1", "with=db2&with=&with=db1&with=db2"} {
		page := x.html(t, "/servers/db1/graphs/query-rate?"+q)
		got := x.get(t, "/servers/db1/graphs/query-rate/drawing.json?"+q)
		if page.Code != http.StatusOK || got.Code != http.StatusOK {
			t.Fatalf("%s: %d and %d", q, page.Code, got.Code)
		}
		var answer struct{ Drawings []graph.Drawing }
		if err := json.Unmarshal([]byte(got.body), &answer); err != nil {
			t.Fatal(err)
		}
		lines := map[string]int{}
		for _, l := range answer.Drawings[0].Panels[0].Lines {
			lines[l.Name+l.Server]++
		}
		for name, n := range lines {
			if n > 1 {
				t.Errorf("%s: %d lines are %s", q, n, name)
			}
		}
		if strings.Contains(q, "db2") != strings.Contains(page.body, `value="db2" checked`) {
			t.Errorf("%s: the page does not say what it shows", q)
		}
	}
	if a := x.html(t, "/servers/db1/graphs/query-rate?with=nosuch"); a.Code != http.StatusNotFound {
		t.Errorf("a server that is not there: %d", a.Code)
	}
}

func TestEveryGraphStandsSomewhere(t *testing.T) {
	x := newFleet(t, 1)
	const definition = "id: x\ntitle: X\nsection: own\npanels:\n  - unit: ''\n    series: [{name: a, expr: status.Threads_running}]\n"
	for page, want := range map[string]string{"": "<td>the Graphs tab</td>", "graphs": "<td>the Graphs tab</td>", "overview": "<td>the Overview and the Graphs tab</td>"} {
		x.store.graphs = nil
		body, err := json.Marshal(map[string]string{"definition": definition, "page": page})
		if err != nil {
			t.Fatal(err)
		}
		if a := x.do(t, http.MethodPost, "/api/v1/graphs", string(body), "Content-Type", "application/json"); a.Code != http.StatusCreated {
			t.Fatalf("%d %s", a.Code, a.body)
		}
		if list := x.html(t, "/graphs").body; !strings.Contains(list, want) {
			t.Errorf("page %q: the list does not say %s", page, want)
		}
		if tab := x.html(t, "/servers/db1/graphs").body; !strings.Contains(tab, ownID(x.store.graphs[0].ID)) {
			t.Errorf("page %q: it is not on the Graphs tab", page)
		}
	}
}

// What the fields can't hold is edited as text, and not lost.
func TestEditorKeepsWhatItsFieldsCannotHold(t *testing.T) {
	const line = "name: a, expr: status.Threads_running"
	for _, c := range []struct{ panel, series string }{
		{"min: 1", line}, {"max: 5", line}, {"log: true", line}, {"title: T", line}, {"none: nothing", line}, {"unit: x", line + ", quiet: 0"}, {"unit: x", line + ", style: strip"},
	} {
		f := graphForm{}
		text := "id: x\ntitle: X\nsection: own\npanels:\n  - " + c.panel + "\n    series: [{" + c.series + "}]\n"
		if _, err := graph.Parse([]byte(text), nil); err != nil {
			t.Fatal(err)
		}
		if f.fromDefinition(text); f.Text != text || len(f.Lines) > 0 {
			t.Errorf("%s {%s}: %+v", c.panel, c.series, f)
		}
	}
	f := graphForm{}
	f.fromDefinition("id: x\ntitle: X\nsection: own\npanels: [{unit: x, series: [{" + line + "}]}]\n")
	if f.Text != "" || len(f.Lines) != 1 {
		t.Errorf("%+v", f)
	}
}

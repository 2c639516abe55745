package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

// seriesJSON is the documented shape of a series answer.
type seriesJSON struct {
	Step   int64
	Tier   string
	T      []int64
	Series []struct {
		Server, Instance, Expr, Unit, Why string
		V, Min, Max                       []*float64
		Absent                            bool
	}
	Marks []struct {
		T                  int64
		Server, Kind, Text string
	}
}

func (x *site) series(t *testing.T, target string) (v seriesJSON) {
	t.Helper()
	got := x.get(t, target)
	if err := json.Unmarshal([]byte(got.body), &v); err != nil || got.Code != http.StatusOK {
		t.Fatalf("%s: %d %v: %s", target, got.Code, err, got.body)
	}
	return v
}

func TestSeriesShape(t *testing.T) {
	x := newSite(t)
	a, b := x.add(t, "a/1", "acme"), x.add(t, "b", "acme")
	x.store.marks = []monolith.Mark{
		{ID: 1, Server: a.ID, At: noon.Add(-30 * time.Minute), Kind: monolith.MarkRestart, Text: "restarted"},
		{ID: 2, At: noon.Add(-20 * time.Minute), Kind: monolith.MarkNote, Text: "deploy <b>"},
		{ID: 3, Server: a.ID, At: noon.Add(-3 * time.Hour), Kind: monolith.MarkRestart, Text: "long ago"},
	}
	v := x.series(t, "/api/v1/series?server=a%2F1&server=b&expr=status.Threads_running&expr=rate(status.Questions)&from=-1h&to=now&step=60")
	if v.Step != 60 || v.Tier != "raw" || len(v.T) != 60 || v.T[0] != noon.Add(-time.Hour).Unix() || v.T[1]-v.T[0] != 60 {
		t.Errorf("grid: step %d, tier %q, %d steps from %v", v.Step, v.Tier, len(v.T), v.T[:2])
	}
	var order []string
	for _, s := range v.Series {
		order = append(order, s.Server+" "+s.Expr)
		if len(s.V) != 60 {
			t.Errorf("%s %s has %d values", s.Server, s.Expr, len(s.V))
		}
	}
	if diff := cmp.Diff([]string{"a/1 status.Threads_running", "a/1 rate(status.Questions)", "b status.Threads_running", "b rate(status.Questions)"}, order); diff != "" {
		t.Fatal(diff)
	}
	gauge := v.Series[0]
	for i, value := range gauge.V {
		if gap := i >= 20 && i < 30; gap != (value == nil) {
			t.Errorf("minute %d: %v", i, value)
		} else if !gap && *value != float64(i) {
			t.Errorf("minute %d is %v", i, *value)
		}
	}
	if len(gauge.Min) != 60 || *gauge.Min[5] != 4 || *gauge.Max[5] != 6 {
		t.Errorf("band: %v %v", gauge.Min, gauge.Max)
	}
	if rate := v.Series[1]; rate.V[0] == nil || *rate.V[0] != 10 || rate.Unit != "1/s" {
		t.Errorf("rate: %v %q", rate.V[0], rate.Unit)
	}
	if len(v.Marks) != 2 || v.Marks[0].Server != "a/1" || v.Marks[0].Kind != "restart" || v.Marks[0].T != noon.Add(-30*time.Minute).Unix() || v.Marks[1].Server != "" {
		t.Errorf("marks: %+v", v.Marks)
	}
	if b.ID == a.ID || strings.Contains(x.get(t, "/api/v1/marks").body, "<b>") {
		t.Error("a mark's text leaves as markup")
	}
}

func TestSeriesSaysWhy(t *testing.T) {
	x := newSite(t)
	x.add(t, "a", "")
	v := x.series(t, "/api/v1/series?server=a&expr=rate(status.Qcache_hits)&expr=status.Plugin_thing")
	if s := v.Series[0]; !s.Absent || s.Why == "" || len(s.V) != len(v.T) || s.V[0] != nil {
		t.Errorf("an absent input: %+v", s)
	}
	if s := v.Series[1]; s.V[0] == nil {
		t.Error("a name that only the server knows gives no value")
	}
}

func TestSeriesChoosesItsStep(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "a", "")
	ask := func(more string) int64 {
		return x.series(t, "/api/v1/series?server=a&expr=status.Threads_running"+more).Step
	}
	for more, want := range map[string]int64{
		"": 10, "&from=-2h": 10, "&from=-6h": 30, "&from=-24h": 120, "&from=-30d": 3600, "&from=-30d&points=5000": 600,
		"&from=-5m": 10, "&from=-24h&step=7": 0, "&from=-3h&step=7": 7, "&from=-3h&step=1h": 3600, "&from=2026-03-14T11:00:00Z&to=1773489600": 10,
	} {
		if want == 0 {
			p := wantProblem(t, x.get(t, "/api/v1/series?server=a&expr=status.Threads_running"+more), http.StatusBadRequest, kindTooMuch, "step")
			if !strings.Contains(p.Cure, "8 s") {
				t.Errorf("the cure does not say what would work: %q", p.Cure)
			}
			continue
		}
		if got := ask(more); got != want {
			t.Errorf("%q: the step is %d, want %d", more, got, want)
		}
	}
	snap := poll(s.ID, 1, 1, nil)
	snap.Interval = time.Second
	x.poller.take(snap)
	if got := ask("&from=-5m"); got != 1 {
		t.Errorf("a server polled each second is drawn in steps of %d s", got)
	}
}

func TestBadSeries(t *testing.T) {
	x := newSite(t)
	x.add(t, "db1", "")
	many := ""
	for i := range maxExprs {
		many += fmt.Sprintf("&expr=status.Threads_running%%2B%d", i)
	}
	for _, c := range []struct {
		query, kind, field string
		status, column     int
	}{
		{"server=db1", kindInvalid, "expr", 400, 0},
		{"expr=1", kindInvalid, "server", 400, 0},
		{"server=db2&expr=1", kindNotFound, "server", 404, 0},
		{"server=db1&expr=rate(status.Qestions)", kindInvalid, "expr", 400, 6},
		{"server=db1&expr=status.Uptime&expr=1%2B%2B", kindInvalid, "expr[1]", 400, 4},
		{"server=db1&expr=status.Uptime&from=yesterday", kindInvalid, "from", 400, 0},
		{"server=db1&expr=status.Uptime&from=now&to=-1h", kindInvalid, "from", 400, 0},
		{"server=db1&expr=status.Uptime&step=0.5s", kindInvalid, "step", 400, 0},
		{"server=db1&expr=status.Uptime&step=500ms", kindInvalid, "step", 400, 0},
		{"server=db1&expr=status.Uptime&stepp=60", kindInvalid, "stepp", 400, 0},
		{"server=db1&expr=status.Uptime&from=1&to=2&from=3", kindInvalid, "from", 400, 0},
		{"server=db1&expr=status.Uptime&%zz", kindInvalid, "", 400, 0},
		{"server=db1&expr=status.Uptime;x=1", kindInvalid, "", 400, 0},
		{"server=db1" + many + "&from=-10001s&step=1", kindTooMuch, "step", 400, 0},
		{"server=db1" + many + "&expr=1", kindTooMuch, "expr", 400, 0},
	} {
		x.store.reads = 0
		p := wantProblem(t, x.get(t, "/api/v1/series?"+c.query), c.status, c.kind, c.field)
		if c.column > 0 && p.Column != c.column {
			t.Errorf("%s: column %d, want %d (%s)", c.query, p.Column, c.column, p.Detail)
		}
		if x.store.reads > 0 {
			t.Errorf("%s: history was read all the same", c.query)
		}
	}
	p := wantProblem(t, x.get(t, "/api/v1/series?server=db1&expr=rate(status.Qestions)"), 400, kindInvalid, "expr")
	if !strings.Contains(p.Cure+p.Detail, "Questions") {
		t.Errorf("the nearest name is not named: %+v", p)
	}
}

func TestNames(t *testing.T) {
	x := newSite(t)
	x.add(t, "db1", "")
	got := x.get(t, "/api/v1/names?prefix=status.Threads_&server=db1").body
	for _, want := range []string{`{"name":"status.Threads_running","kind":"gauge","here":true}`, `"name":"status.Threads_created"`, `"here":false`} {
		if !strings.Contains(got, want) {
			t.Errorf("completion lacks %s: %s", want, got)
		}
	}
	if got := x.get(t, "/api/v1/names?prefix=status.plugin&server=db1").body; !strings.Contains(got, "status.Plugin_thing") {
		t.Errorf("a name that only the server knows is not completed: %s", got)
	}
}

func FuzzQuery(f *testing.F) {
	f.Add("server=a&expr=rate(status.Questions)&from=-1h&to=now&step=60")
	f.Add("from=9223372036854775807&to=-100y&step=-1&points=0")
	f.Add("server=a&expr=1&from=1970-01-01T00:00:00Z&to=9999-12-31T23:59:59Z&step=1")
	f.Add("%=&;&&&=&server=%00&expr=%ff")
	f.Add("server=a&expr=1&from=253402300799&to=253402300800&points=1")
	x := newSite(f)
	x.add(f, "a", "")
	f.Fuzz(func(t *testing.T, raw string) {
		for _, path := range []string{"/api/v1/series", "/api/v1/drawings", "/api/v1/marks", "/api/v1/servers", "/api/v1/servers/a/changes", "/api/v1/names"} {
			r := httptest.NewRequest(http.MethodGet, "http://localhost"+path, nil)
			r.URL = &url.URL{Path: path, RawQuery: raw}
			w := httptest.NewRecorder()
			x.Handler().ServeHTTP(w, r)
			if w.Code >= 500 {
				t.Fatalf("%s?%s: %d %s %s", path, raw, w.Code, w.Body, x.log)
			}
			if !json.Valid(w.Body.Bytes()) {
				t.Fatalf("%s?%s: no JSON: %s", path, raw, w.Body)
			}
		}
		x.log.Reset()
	})
}

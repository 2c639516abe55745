package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
	"monolith/graph"
)

// list reads one member of a JSON answer.
func list[T any](t *testing.T, got answer, member string) (out []T) {
	t.Helper()
	var v map[string]json.RawMessage
	if err := json.Unmarshal([]byte(got.body), &v); err != nil || got.Code != http.StatusOK {
		t.Fatalf("%d %v: %s", got.Code, err, got.body)
	}
	if err := json.Unmarshal(v[member], &out); err != nil {
		t.Fatalf("%s: %v: %s", member, err, got.body)
	}
	return out
}

func TestStatusAndVariables(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "")
	got := x.get(t, "/api/v1/servers/db1/status")
	if !strings.Contains(got.body, `"at":null,"note":"this server was not polled yet"`) {
		t.Errorf("nothing known: %s", got.body)
	}
	x.poller.take(poll(s.ID, 1, 100, nil))
	x.poller.take(poll(s.ID, 2, 350, nil))
	values := list[struct {
		Name, Kind string
		Value      json.RawMessage
		Rate       *float64
	}](t, x.get(t, "/api/v1/servers/db1/status"), "values")
	seen := map[string]string{}
	for _, v := range values {
		seen[v.Name] = string(v.Value)
		if v.Name == "Questions" && (v.Rate == nil || *v.Rate != 25) {
			t.Errorf("the rate of Questions is %v", v.Rate)
		}
	}
	want := map[string]string{"Questions": "350", "Threads_running": "7", "Innodb_buffer_pool_pages_misc": "-1",
		"Open_files": "null", "Ssl_cipher": `"evil \u003cscript\u003e\u0001` + "\u202e" + `"`}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	if got := list[valueView](t, x.get(t, "/api/v1/servers/db1/status?search=THREADS"), "values"); len(got) != 1 {
		t.Errorf("search finds %d", len(got))
	}
	if got := list[variableView](t, x.get(t, "/api/v1/servers/db1/variables"), "variables"); len(got) != 1 || *got[0].Value != "151" {
		t.Errorf("variables now: %+v", got)
	}
	x.store.texts = map[string]string{"variable.max_connections": "100", "variable.gone": "1"}
	if got := list[variableView](t, x.get(t, "/api/v1/servers/db1/variables?at=-2d"), "variables"); len(got) != 2 || *got[1].Value != "100" {
		t.Errorf("variables two days ago: %+v", got)
	}
	diff := list[variableView](t, x.get(t, "/api/v1/servers/db1/variables?against_at=-2d"), "variables")
	if len(diff) != 2 || diff[0].Name != "gone" || diff[0].Value != nil || *diff[1].Other != "100" {
		t.Errorf("now against two days ago: %+v", diff)
	}
	wantProblem(t, x.get(t, "/api/v1/servers/db1/variables?against=nobody"), 404, kindNotFound, "against")
	wantProblem(t, x.get(t, "/api/v1/servers/db1/status?namespace=statsu"), 400, kindInvalid, "namespace")
}

func TestChangesArePaged(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "")
	for i := range 7 {
		x.store.changes = append(x.store.changes, monolith.Change{ID: int64(i + 1), Server: s.ID, At: noon.Add(time.Duration(i) * time.Minute),
			Name: "variable.x", From: fmt.Sprint(i), To: fmt.Sprint(i + 1)})
	}
	var ids []int64
	next := ""
	for range 10 {
		got := x.get(t, "/api/v1/servers/db1/changes?limit=3&cursor="+next)
		for _, c := range list[monolith.Change](t, got, "changes") {
			ids = append(ids, c.ID)
		}
		var v struct{ Next string }
		json.Unmarshal([]byte(got.body), &v)
		if next = v.Next; next == "" {
			break
		}
	}
	if diff := cmp.Diff([]int64{7, 6, 5, 4, 3, 2, 1}, ids); diff != "" {
		t.Error(diff)
	}
	wantProblem(t, x.get(t, "/api/v1/servers/db1/changes?name=a&prefix=b"), 400, kindInvalid, "name")
}

func TestMarks(t *testing.T) {
	x := newSite(t)
	x.add(t, "a/1", "acme")
	made := x.do(t, "POST", "/api/v1/marks", `{"server":"a/1","text":"deploy 1.2 <b>","at":"-5m"}`)
	if made.Code != http.StatusCreated || !strings.Contains(made.body, `"server":"a/1"`) {
		t.Fatalf("%d %s", made.Code, made.body)
	}
	if got := list[markView](t, x.get(t, "/api/v1/marks?server=a%2F1&from=-1h"), "marks"); len(got) != 1 || got[0].T != noon.Add(-5*time.Minute).Unix() {
		t.Errorf("got %+v", got)
	}
	for body, field := range map[string]string{
		`{"text":""}`: "text", `{"text":"a\u0007b"}`: "text", `{"text":"x","server":"a/1","group":"acme"}`: "group",
		`{"text":"x","at":"soon"}`: "at", `{"text":"x","at":true}`: "at", `{"text":"x","at":1.5}`: "at", `{"text":"x","group":"/"}`: "group", `{"text":"x","kind":"restart"}`: "kind",
	} {
		wantProblem(t, x.do(t, "POST", "/api/v1/marks", body), 400, kindInvalid, field)
	}
	if got := x.do(t, "POST", "/api/v1/marks", `{"text":"x","at":1773489600}`); !strings.Contains(got.body, `"at":"2026-03-14T12:00:00Z"`) {
		t.Errorf("unix seconds: %s", got.body)
	}
	wantProblem(t, x.do(t, "POST", "/api/v1/marks", `{"text":"x","server":"a"}`), 404, kindNotFound, "server")
	if got := x.do(t, "DELETE", made.Header().Get("Location"), ""); got.Code != http.StatusNoContent {
		t.Errorf("%d %s", got.Code, got.body)
	}
	wantProblem(t, x.do(t, "DELETE", made.Header().Get("Location"), ""), 404, kindNotFound, "")
	wantProblem(t, x.do(t, "DELETE", "/api/v1/marks/x", ""), 404, kindNotFound, "")
	x.store.marks = append(x.store.marks, monolith.Mark{ID: 77, At: noon, Kind: monolith.MarkRename, Text: "renamed: a → b"})
	wantProblem(t, x.do(t, "DELETE", "/api/v1/marks/77", ""), 409, kindConflict, "")
	wantProblem(t, x.get(t, "/api/v1/marks?kind=notes"), 400, kindInvalid, "kind")
}

func TestGroups(t *testing.T) {
	x := newSite(t)
	x.add(t, "db1", "acme/prod")
	if got := x.do(t, "PUT", "/api/v1/groups/acme%2Fprod", `{"environment":"prod","schedules":{"fast":"@every 5s"}}`); got.Code != http.StatusOK || !strings.Contains(got.body, `"path":"acme/prod"`) {
		t.Fatalf("%d %s", got.Code, got.body)
	}
	if got := x.do(t, "PUT", "/api/v1/groups/order", ""); got.Code != http.StatusOK {
		t.Errorf("a group named order: %d %s", got.Code, got.body)
	}
	if got := list[monolith.Group](t, x.get(t, "/api/v1/groups"), "groups"); len(got) != 2 || got[0].Environment != "prod" {
		t.Errorf("got %+v", got)
	}
	for _, c := range [][4]string{
		{"PUT", "/api/v1/groups/acme%2F%2Fprod", `{}`, "group"}, {"PUT", "/api/v1/groups/a", `{"environment":"production"}`, "environment"},
		{"PUT", "/api/v1/groups/a", `{"time_zone":"Mars/Base"}`, "time_zone"}, {"POST", "/api/v1/groups/move", `{"from":"acme","to":"acme/x"}`, "to"},
		{"POST", "/api/v1/groups/move", `{"from":"","to":"x"}`, "from"}, {"POST", "/api/v1/groups/order", `{}`, "groups"}, {"POST", "/api/v1/servers/order", `{"group":"a"}`, "servers"},
	} {
		wantProblem(t, x.do(t, c[0], c[1], c[2]), 400, kindInvalid, c[3])
	}
	wantProblem(t, x.do(t, "POST", "/api/v1/groups/order", `{"groups":["acme/prod","none"]}`), 404, kindNotFound, "")
	wantProblem(t, x.do(t, "POST", "/api/v1/servers/order", `{"servers":["db3"]}`), 404, kindNotFound, "server")
	wantProblem(t, x.do(t, "DELETE", "/api/v1/groups/acme%2Fprod", ""), 409, kindConflict, "")
	wantProblem(t, x.do(t, "DELETE", "/api/v1/groups/nothing", ""), 404, kindNotFound, "")
	if got := x.do(t, "POST", "/api/v1/groups/move", `{"from":"acme/prod","to":"acme/live"}`); got.Code != http.StatusNoContent || x.store.servers[0].Group != "acme/live" {
		t.Errorf("%d %s", got.Code, got.body)
	}
	x.add(t, "db2", "acme/live")
	if got := x.do(t, "POST", "/api/v1/servers/order", `{"group":"acme/live","servers":["db2","db1"]}`); got.Code != http.StatusNoContent || x.store.servers[0].Name != "db2" {
		t.Errorf("%d %s", got.Code, got.body)
	}
}

func TestRetention(t *testing.T) {
	x := newSite(t)
	if got := x.do(t, "PUT", "/api/v1/retention", `{"raw_days":30}`); got.Code != http.StatusOK || x.store.retention.RawDays != 30 || x.store.retention.HourDays != 1826 {
		t.Errorf("%d %s", got.Code, got.body)
	}
	wantProblem(t, x.do(t, "PUT", "/api/v1/retention", `{"raw_days":0}`), 400, kindInvalid, "raw_days")
	wantProblem(t, x.do(t, "PUT", "/api/v1/retention", `{"raw_day":3}`), 400, kindInvalid, "raw_day")
	wantProblem(t, x.get(t, "/api/v1/retention/estimate?hour_days=3"), 400, kindInvalid, "hour_days")
	if got := x.get(t, "/api/v1/retention/estimate?raw_days=7"); !strings.Contains(got.body, `"bytes":7000`) || x.store.retention.RawDays != 30 {
		t.Errorf("%d %s", got.Code, got.body)
	}
}

const ownDefinition = "id: mine\ntitle: Mine\nsection: own\npanels:\n- unit: 1/s\n  series:\n  - name: queries\n    expr: rate(status.Questions)\n"

func TestOwnGraphs(t *testing.T) {
	x := newSite(t)
	x.add(t, "a/1", "")
	x.add(t, "b", "")
	post := func(body map[string]any) answer { return x.do(t, "POST", "/api/v1/graphs", string(mustJSON(body))) }
	made := post(map[string]any{"definition": ownDefinition})
	if made.Code != http.StatusCreated || !strings.Contains(made.body, `"title":"Mine"`) {
		t.Fatalf("%d %s", made.Code, made.body)
	}
	both := post(map[string]any{"title": "Both", "definition": ownDefinition, "servers": []string{"a/1", "b"}})
	id := strings.TrimPrefix(both.Header().Get("Location"), "/api/v1/graphs/")
	drawings := list[graph.Drawing](t, x.get(t, "/api/v1/drawings?server=b&graph="+id), "drawings")
	if len(drawings) != 1 || drawings[0].Title != "Both" || drawings[0].ID != id {
		t.Fatalf("got %+v", drawings)
	}
	var on []string
	for _, l := range drawings[0].Panels[0].Lines {
		on = append(on, l.Server)
	}
	if diff := cmp.Diff([]string{"a/1", "b"}, on); diff != "" {
		t.Errorf("lines of servers: %s", diff)
	}
	// Where history of one server is coarser, all are drawn in its steps: no line is left out.
	x.store.coarse = map[monolith.ServerID]time.Duration{x.store.servers[1].ID: 10 * time.Minute}
	drawings = list[graph.Drawing](t, x.get(t, "/api/v1/drawings?server=b&graph="+id), "drawings")
	if d := drawings[0]; d.Step != 600 || len(d.Panels[0].Lines) != 2 || len(d.Panels[0].Lines[0].V) != len(d.Times) || len(d.Panels[0].Lines[1].V) != len(d.Times) {
		t.Errorf("with a coarse server: step %d, %d lines", d.Step, len(d.Panels[0].Lines))
	}
	v := x.series(t, "/api/v1/series?server=a%2F1&server=b&expr=status.Threads_running")
	if v.Step != 600 || len(v.Series) != 2 || len(v.Series[0].V) != len(v.T) || len(v.Series[1].V) != len(v.T) {
		t.Errorf("series with a coarse server: step %d, %d series", v.Step, len(v.Series))
	}
	x.store.coarse = nil
	bad := strings.Replace(ownDefinition, "status.Questions", "status.Qestions", 1)
	p := wantProblem(t, post(map[string]any{"definition": bad}), 400, kindInvalid, "mine.panels[0].series[0].expr")
	if p.Column != 6 || !strings.Contains(p.Cure+p.Detail, "Questions") {
		t.Errorf("the place and the cure: %+v", p)
	}
	wantProblem(t, post(map[string]any{"definition": "id: ["}), 400, kindInvalid, "definition")
	wantProblem(t, post(map[string]any{"definition": ownDefinition, "servers": []string{"c"}}), 404, kindNotFound, "server")
	wantProblem(t, post(map[string]any{"definition": ownDefinition, "page": "first"}), 400, kindInvalid, "page")
	if got := x.do(t, "PUT", "/api/v1/graphs/"+id, string(mustJSON(map[string]any{"title": "Renamed", "definition": ownDefinition}))); got.Code != http.StatusOK {
		t.Errorf("%d %s", got.Code, got.body)
	}
	if got := x.get(t, "/api/v1/servers/b/graphs").body; !strings.Contains(got, `"Renamed"`) || !strings.Contains(got, `"Mine"`) {
		t.Errorf("the list of a server's graphs: %s", got)
	}
	builtIn := graph.Catalogue()[0].ID
	wantProblem(t, x.do(t, "DELETE", "/api/v1/graphs/"+builtIn, ""), 409, kindConflict, "")
	if got := x.do(t, "DELETE", "/api/v1/graphs/"+id, ""); got.Code != http.StatusNoContent {
		t.Errorf("%d %s", got.Code, got.body)
	}
	wantProblem(t, x.get(t, "/api/v1/graphs/"+id), 404, kindNotFound, "")
}

func TestDrawings(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "a/1", "")
	x.add(t, "b", "")
	x.store.marks = []monolith.Mark{{ID: 1, Server: s.ID, At: noon.Add(-time.Minute), Kind: monolith.MarkVariable, Text: "<script>"}}
	id := graph.Catalogue()[0].ID
	drawings := list[graph.Drawing](t, x.get(t, "/api/v1/drawings?server=a%2F1&server=b&graph="+id+"&from=-1h"), "drawings")
	if len(drawings) != 2 || drawings[0].Server != "a/1" || drawings[1].Server != "b" || drawings[0].ID != id {
		t.Fatalf("got %d drawings: %+v", len(drawings), drawings)
	}
	if len(drawings[0].Marks) != 1 || len(drawings[1].Marks) != 0 {
		t.Errorf("marks: %v, %v", drawings[0].Marks, drawings[1].Marks)
	}
	x.store.reads = 0
	all := list[graph.Drawing](t, x.get(t, "/api/v1/drawings?server=b"), "drawings")
	if len(all) != len(graph.Catalogue()) || x.store.reads > 2 {
		t.Errorf("a page of %d graphs took %d reads and gave %d", len(graph.Catalogue()), x.store.reads, len(all))
	}
	where := "/api/v1/servers/a%2F1/graphs/" + id
	for form, kind := range map[string]string{"": "application/json", ".json": "application/json", ".xml": "application/xml; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png", ".csv": "text/csv; charset=utf-8"} {
		got := x.get(t, where+form+"?from=-2h")
		if got.Code != http.StatusOK || got.Header().Get("Content-Type") != kind || len(got.body) == 0 {
			t.Errorf("%s: %d %q %d bytes", form, got.Code, got.Header().Get("Content-Type"), len(got.body))
		}
		if form == ".svg" || form == ".xml" {
			wellFormed(t, form, got.body)
			if strings.Contains(got.body, "<script") {
				t.Errorf("%s holds markup from a mark", form)
			}
		}
	}
	if got := x.get(t, where+".svg?theme=dark&width=400&height=100&tz=Europe%2FBerlin&bare=1"); got.Code != http.StatusOK {
		t.Errorf("%d %s", got.Code, got.body)
	}
	wantProblem(t, x.get(t, where+".gif"), 404, kindNotFound, "")
	wantProblem(t, x.get(t, where+".csv?theme=dark"), 400, kindInvalid, "theme")
	wantProblem(t, x.get(t, where+".svg?tz=Mars"), 400, kindInvalid, "tz")
	wantProblem(t, x.get(t, where+".svg?width=9"), 400, kindInvalid, "width")
	wantProblem(t, x.get(t, "/api/v1/drawings?graph="+id), 400, kindInvalid, "server")
	p := wantProblem(t, x.get(t, "/api/v1/servers/b/graphs/"+id+"x"), 404, kindNotFound, "")
	if !strings.Contains(p.Cure, id) {
		t.Errorf("the cure %q does not name %s", p.Cure, id)
	}
	wantProblem(t, x.get(t, "/api/v1/drawings?server=b&graph="+id+"&ago=fortnight"), 400, kindInvalid, "ago")
	if got := x.get(t, "/api/v1/drawings?server=b&graph="+id+"&ago=week"); !strings.Contains(got.body, `"ago":[`) && strings.Contains(got.body, `"v":[`) {
		t.Errorf("last week is not behind: %s", got.body)
	}
}

func TestEverySubResourceAnswers(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "")
	for range 2 { // before and after the first poll
		for _, sub := range []string{"status", "variables", "changes", "problems", "replication", "processes", "schemas", "accounts", "binary-logs", "collectors", "metrics", "graphs"} {
			for _, form := range []string{"", ".json", ".xml"} {
				got := x.get(t, "/api/v1/servers/db1/"+sub+form)
				if got.Code != http.StatusOK || !strings.Contains(got.body, "db1") {
					t.Errorf("%s%s: %d %s", sub, form, got.Code, got.body)
				}
			}
			wantProblem(t, x.get(t, "/api/v1/servers/db1/"+sub+"?nonsense=1"), 400, kindInvalid, "nonsense")
			wantProblem(t, x.get(t, "/api/v1/servers/nobody/"+sub), 404, kindNotFound, "")
		}
		x.poller.take(poll(s.ID, 1, 1, nil))
	}
	if got := x.do(t, "POST", "/api/v1/servers/db1/poll", ""); got.Code != http.StatusAccepted || !slices.Equal(x.poller.polled, []monolith.ServerID{s.ID}) {
		t.Errorf("poll now: %d %s", got.Code, got.body)
	}
}

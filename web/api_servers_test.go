package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

// hostileNames are names that break what joins strings.
var hostileNames = []string{
	"db1", "a/b", "a b", "100%", "100%25", "a%2Fb", "<script>alert(1)</script>", `"quoted" & 'single'`, "שלום.exe", "日本語",
	"name.xml", "name.json", "test", "order", "new", "a;b=c?d#e", "+plus+", "back\\slash", "{brace}", "*",
}

func TestServersByHostileName(t *testing.T) {
	x := newSite(t)
	for _, name := range hostileNames {
		body := string(mustJSON(map[string]any{"name": name, "endpoint": map[string]any{"host": "h", "user": "u", "password": "pw"}}))
		made := x.do(t, http.MethodPost, "/api/v1/servers", body)
		if made.Code != http.StatusCreated {
			t.Fatalf("%q: POST gives %d: %s", name, made.Code, made.body)
		}
		where := made.Header().Get("Location")
		got := x.get(t, where)
		var v struct{ Name string }
		if err := json.Unmarshal([]byte(got.body), &v); err != nil || v.Name != name || got.Code != http.StatusOK {
			t.Errorf("%q: GET %s gives %d and the name %q (%v)", name, where, got.Code, v.Name, err)
		}
		if got := x.get(t, where+"/problems"); got.Code != http.StatusOK {
			t.Errorf("%q: GET %s/problems gives %d: %s", name, where, got.Code, got.body)
		}
		if strings.Contains(got.body, "<script>") {
			t.Errorf("%q: the answer holds markup: %s", name, got.body)
		}
		if got := x.do(t, http.MethodPatch, where, `{"environment":"prod"}`); got.Code != http.StatusOK {
			t.Errorf("%q: PATCH gives %d: %s", name, got.Code, got.body)
		}
		if got := x.do(t, http.MethodDelete, where, ""); got.Code != http.StatusNoContent {
			t.Errorf("%q: DELETE gives %d: %s", name, got.Code, got.body)
		}
	}
	if x.calls != 3*len(hostileNames) {
		t.Errorf("OnChange was called %d times, not %d", x.calls, 3*len(hostileNames))
	}
	for _, name := range []string{"", ".", "..", " lead", "a\x00b", "line\nbreak", strings.Repeat("x", 129)} {
		body := string(mustJSON(map[string]any{"name": name, "endpoint": map[string]any{"host": "h"}}))
		wantProblem(t, x.do(t, http.MethodPost, "/api/v1/servers", body), http.StatusBadRequest, kindInvalid, "name")
	}
}

// wantProblem checks a problem document.
func wantProblem(t *testing.T, got answer, status int, kind, field string) (p problem) {
	t.Helper()
	if err := json.Unmarshal([]byte(got.body), &p); err != nil {
		t.Fatalf("the answer %q is no problem document: %v", got.body, err)
	}
	if got.Code != status || p.Status != status || p.Kind != kind || p.Field != field || p.Detail == "" {
		t.Errorf("got %d %s, want status %d, kind %q, field %q", got.Code, got.body, status, kind, field)
	}
	return p
}

func TestBadServerBodies(t *testing.T) {
	x := newSite(t, func(c *Config) {
		c.CheckSchedule = func(expression, _ string) error {
			if expression == "@every 0.5s" {
				return &monolith.InvalidError{Field: "schedule", Column: 8, Reason: "under one second"}
			}
			return nil
		}
	})
	x.add(t, "db1", "")
	for _, c := range []struct {
		body, kind, field string
		status            int
		cure              string
	}{
		{`{"name":"x","endpiont":{}}`, kindInvalid, "endpiont", 400, "did you mean endpoint?"},
		{`{"name":"x","endpoint":{"hots":"h"}}`, kindInvalid, "endpoint.hots", 400, "did you mean host?"},
		{`{"name":"x","endpoint":{"host":"h","port":"3306"}}`, kindInvalid, "endpoint.port", 400, "give a whole number"},
		{`{"name":"x","endpoint":[]}`, kindInvalid, "endpoint", 400, "give an object"},
		{`{"name":"x","endpoint":{"host":"h"},"position":3}`, kindInvalid, "position", 400, "POST /api/v1/servers/order sets the order"},
		{`{"name":"x","endpoint":{"host":"h"},"tags":["a",1]}`, kindInvalid, "tags", 400, "give a text"},
		{`{"name":"x","endpoint":{"host":"h"},"schedules":{"fast":"@every 0.5s"}}`, kindInvalid, "schedules.fast", 400, ""},
		{`{"name":"x","endpoint":{"host":"h","port":70000}}`, kindInvalid, "endpoint.port", 400, ""},
		{`{"name":"x"}`, kindInvalid, "endpoint.host", 400, "give one of them"},
		{`{"name":"db1","endpoint":{"host":"h"}}`, kindConflict, "name", 409, "choose another name"},
		{`{"name":`, kindInvalid, "", 400, ""},
		{`[1]`, kindInvalid, "", 400, "give an object"},
		{``, kindInvalid, "", 400, "send a JSON object"},
		{`{"name":"x"} trailing`, kindInvalid, "", 400, ""},
	} {
		p := wantProblem(t, x.do(t, http.MethodPost, "/api/v1/servers", c.body), c.status, c.kind, c.field)
		if p.Cure != c.cure {
			t.Errorf("%s: the cure is %q, want %q", c.body, p.Cure, c.cure)
		}
	}
	got := x.do(t, http.MethodPost, "/api/v1/servers", "name=x", "Content-Type", "application/x-www-form-urlencoded")
	wantProblem(t, got, http.StatusUnsupportedMediaType, kindMediaType, "")
	got = x.do(t, http.MethodPost, "/api/v1/servers", `{"name":"`+strings.Repeat("x", maxBody)+`"}`)
	wantProblem(t, got, http.StatusRequestEntityTooLarge, kindTooLarge, "")
}

// A body that breaks off is the sender's trouble and no failure inside.
func TestBodyThatBreaksOff(t *testing.T) {
	x := newSite(t)
	body := io.MultiReader(strings.NewReader(`{"text":`), iotest.ErrReader(io.ErrUnexpectedEOF))
	w := httptest.NewRecorder()
	x.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost:8080/api/v1/marks", body))
	wantProblem(t, answer{w, w.Body.String()}, http.StatusBadRequest, kindInvalid, "")
	if strings.Contains(x.log.String(), "level=ERROR") {
		t.Errorf("the log calls it a failure: %s", x.log)
	}
}

func TestPatchIsAMerge(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "acme/prod")
	got := x.do(t, http.MethodPatch, "/api/v1/servers/db1", `{"tags":["a","b"],"ram":1024,"schedules":{"fast":"@every 1s","slow":"@every 30s"}}`)
	if got.Code != http.StatusOK {
		t.Fatal(got.body)
	}
	got = x.do(t, http.MethodPatch, "/api/v1/servers/db1", `{"tags":null,"schedules":{"fast":null},"name":"db2","group":"acme/stage"}`)
	if got.Code != http.StatusOK {
		t.Fatal(got.body)
	}
	after, err := x.store.Server(t.Context(), "db2")
	if err != nil {
		t.Fatal(err)
	}
	want := *s
	want.Name, want.Group, want.RAM, want.Schedules = "db2", "acme/stage", 1024, map[string]string{"slow": "@every 30s"}
	if diff := cmp.Diff(want, after); diff != "" {
		t.Error(diff)
	}
	if after.Endpoint.Password.Reveal() != "canary-Zx9" {
		t.Error("the password was lost")
	}
}

func TestMovingAServerAsksForItsPassword(t *testing.T) {
	x := newSite(t)
	x.add(t, "db1", "")
	for _, change := range []string{`"host":"evil.example"`, `"port":3307`, `"user":"root"`, `"tls":"disabled"`, `"tls_server_name":"evil"`, `"ca":"/tmp/ca.pem"`} {
		p := wantProblem(t, x.do(t, http.MethodPatch, "/api/v1/servers/db1", `{"endpoint":{`+change+`}}`), http.StatusBadRequest, kindPassword, "endpoint.password")
		if !strings.Contains(p.Detail, "never sent to another place") {
			t.Errorf("the problem does not say why: %s", p.Detail)
		}
	}
	if s, _ := x.store.Server(t.Context(), "db1"); s.Endpoint.Host != "db.example" || x.calls != 0 {
		t.Errorf("a refused change was kept: %v", s)
	}
	got := x.do(t, http.MethodPatch, "/api/v1/servers/db1", `{"endpoint":{"host":"new.example","password":"again"}}`)
	if got.Code != http.StatusOK {
		t.Fatal(got.body)
	}
	if s, _ := x.store.Server(t.Context(), "db1"); s.Endpoint.Host != "new.example" || s.Endpoint.Password.Reveal() != "again" || s.Endpoint.User != "mon" {
		t.Errorf("got %#v", s.Endpoint)
	}
}

// A test of a watched server may use its kept password, but only for the place that it is for.
func TestConnectionTestKeepsThePassword(t *testing.T) {
	x := newSite(t)
	x.add(t, "db1", "")
	for _, c := range []struct{ body, password string }{
		{`{"name":"db1"}`, "canary-Zx9"},
		{`{"name":"db1","endpoint":{"host":"evil.example"}}`, ""},
		{`{"name":"db1","endpoint":{"user":"other"}}`, ""},
		{`{"name":"db1","endpoint":{"host":"evil.example","password":"typed"}}`, "typed"},
		{`{"endpoint":{"host":"h","password":"typed"}}`, "typed"},
	} {
		x.poller.tested = nil
		got := x.do(t, http.MethodPost, "/api/v1/servers/test", c.body)
		if got.Code != http.StatusOK || len(x.poller.tested) != 1 {
			t.Fatalf("%s: %d %s", c.body, got.Code, got.body)
		}
		if pw := x.poller.tested[0].Endpoint.Password.Reveal(); pw != c.password {
			t.Errorf("%s: tested with the password %q, want %q", c.body, pw, c.password)
		}
		if !strings.Contains(got.body, `"took_ms":1`) {
			t.Errorf("the report does not say how long it took: %s", got.body)
		}
	}
}

func TestNothingSecretLeaves(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "acme")
	x.poller.take(poll(s.ID, 1, 100, nil))
	where := "/api/v1/servers/db1"
	var all strings.Builder
	for _, target := range []string{"/api/v1/servers", where, where + "/status", where + "/variables", where + "/problems", where + "/collectors", "/readyz", "/metrics"} {
		all.WriteString(x.get(t, target).body)
		all.WriteString(x.get(t, target, "Accept", "application/xml").body)
	}
	all.WriteString(x.do(t, http.MethodPatch, where, `{"endpoint":{"password":"canary-Zx9","tls":"required"}}`).body)
	all.WriteString(x.do(t, http.MethodPatch, where, `{"endpoint":{"password":"canary-Zx9","tsl":"required"}}`).body)
	all.WriteString(x.do(t, http.MethodPost, "/api/v1/servers/test", `{"endpoint":{"host":"h","password":"canary-Zx9"}}`).body)
	all.WriteString(x.log.String())
	if strings.Contains(all.String(), "canary") {
		t.Error("the password is in an answer or in the log")
	}
	if !strings.Contains(all.String(), `"password_set":true`) {
		t.Error("answers do not say that a password is set")
	}
}

// Every password arrives as it was given, by the form and by programs: also with blanks at its ends, and with what other formats treat
// as their own.
func TestPasswordsArriveAsTheyAre(t *testing.T) {
	x := newSite(t)
	r := rand.New(rand.NewPCG(5, 6))
	passwords := []string{"a?b", "p&ss", "%j+x", "s#arp", "semi;colon", "at@sla/sh:", " leading", "trailing ", "   ", `quote'and"back\slash`, "<b>&amp;", "null", "日本 🔑"}
	for range 150 {
		var b strings.Builder
		for range 1 + r.IntN(20) {
			b.WriteRune([]rune{rune(' ' + r.IntN('~'-' '+1)), rune('ß' + r.IntN(99))}[r.IntN(8)/7])
		}
		passwords = append(passwords, b.String())
	}
	for i, pw := range passwords {
		api, form := fmt.Sprintf("api%d", i), fmt.Sprintf("form%d", i)
		body := string(mustJSON(map[string]any{"name": api, "endpoint": map[string]any{"host": "h", "user": "u", "password": pw}}))
		if made := x.do(t, http.MethodPost, "/api/v1/servers", body); made.Code != http.StatusCreated {
			t.Fatalf("%q: %d %s", pw, made.Code, made.body)
		}
		if made := x.post(t, "/servers/new", "name", form, "endpoint.host", "h", "endpoint.user", "u", "endpoint.password", pw); made.Code != http.StatusSeeOther {
			t.Fatalf("%q: %d", pw, made.Code)
		}
		for _, name := range []string{api, form} {
			if s, err := x.store.Server(t.Context(), name); err != nil || s.Endpoint.Password.Reveal() != pw {
				t.Errorf("%s: %q arrives as %q, %v", name, pw, s.Endpoint.Password.Reveal(), err)
			}
		}
	}
}

// Whatever is sent, the answer is a problem or a server that can be sent back.
func FuzzServerBody(f *testing.F) {
	f.Add(`{"name":"x","endpoint":{"host":"h","port":3306},"tags":["a"],"schedules":{"fast":"@every 1s"}}`)
	f.Add(`{"endpoint":null,"tags":null,"schedules":null,"ram":null}`)
	f.Add(`{"name":{"a":1},"endpoint":[[]],"schedules":[]}`)
	f.Add(`{"Name":"x","name":"y","name":"z"}`)
	f.Add("null")
	f.Fuzz(func(t *testing.T, body string) {
		server := monolith.Server{Name: "old", Tags: []string{"a", "b"}, Schedules: map[string]string{"fast": "@every 2s"},
			Endpoint: monolith.Endpoint{Host: "h", Password: "canary"}}
		before := server
		if _, err := readServerJSON([]byte(body), &server); err != nil {
			if !errors.Is(err, monolith.ErrInvalid) || strings.Contains(err.Error(), "canary") {
				t.Errorf("%q: %v", body, err)
			}
			return
		}
		if len(before.Tags) != 2 || before.Tags[0] != "a" || before.Tags[1] != "b" || before.Schedules["fast"] != "@every 2s" {
			t.Errorf("%q changed what it was read over: %v %v", body, before.Tags, before.Schedules)
		}
	})
}

func TestListsAreStableAndPaged(t *testing.T) {
	x := newSite(t)
	for _, name := range []string{"c", "a", "d", "b", "e"} {
		x.add(t, name, map[bool]string{true: "acme/prod", false: "acmeother"}[name != "d"])
	}
	names := func(target string) (out []string, next string) {
		t.Helper()
		var v struct {
			Servers []struct{ Name string }
			Next    string
		}
		got := x.get(t, target)
		if err := json.Unmarshal([]byte(got.body), &v); err != nil {
			t.Fatal(err, got.body)
		}
		for _, s := range v.Servers {
			out = append(out, s.Name)
		}
		return out, v.Next
	}
	var all []string
	next := ""
	for range 10 {
		part, n := names("/api/v1/servers?group=acme&limit=3&cursor=" + url.QueryEscape(next))
		all = append(all, part...)
		if next = n; next == "" {
			break
		}
	}
	if diff := cmp.Diff([]string{"c", "a", "b", "e"}, all); diff != "" {
		t.Errorf("pages of the group: %s", diff)
	}
	wantProblem(t, x.get(t, "/api/v1/servers?cursor=nonsense"), http.StatusBadRequest, kindInvalid, "cursor")
	wantProblem(t, x.get(t, "/api/v1/servers?limit=0"), http.StatusBadRequest, kindInvalid, "limit")
	p := wantProblem(t, x.get(t, "/api/v1/servers?gruop=acme"), http.StatusBadRequest, kindInvalid, "gruop")
	if p.Cure != "did you mean group?" {
		t.Errorf("cure: %q", p.Cure)
	}
	p = wantProblem(t, x.get(t, "/api/v1/servers/A"), http.StatusNotFound, kindNotFound, "")
	if !strings.Contains(p.Cure, `"a"`) {
		t.Errorf("cure: %q names no server", p.Cure)
	}
}

func TestGroupThatIsNotThereIsRefused(t *testing.T) {
	x := newSite(t)
	x.add(t, "db1", "acme/prod/eu")
	x.store.groups = []monolith.Group{{Path: "globex/stage"}}
	for _, target := range []string{"/api/v1/servers?group=", "/api/v1/marks?group=", "/api/v1/series?expr=status.Threads_running&group=", "/api/v1/live?group="} {
		got := x.get(t, target+"acme/prd")
		if got.Code != http.StatusNotFound || !strings.Contains(got.body, `there is no group \"acme/prd\"`) || !strings.Contains(got.body, `"field":"group"`) || !strings.Contains(got.body, `did you mean \"acme/prod\"?`) {
			t.Errorf("%s: %d %s", target, got.Code, got.body)
		}
	}
	for _, path := range []string{"acme", "acme/prod", "/acme/prod/", "acme/prod/eu", "globex", "globex/stage", ""} {
		if got := x.get(t, "/api/v1/servers?group="+path); got.Code != http.StatusOK || strings.Contains(got.body, "db1") == strings.HasPrefix(path, "globex") {
			t.Errorf("group %q: %d %s", path, got.Code, got.body)
		}
	}
	if got := x.do(t, http.MethodPost, "/api/v1/marks", `{"group":"acme/prd","text":"deploy"}`, "Content-Type", "application/json"); got.Code != http.StatusNotFound || len(x.store.marks) > 0 {
		t.Errorf("a note for a group that is not there: %d %s", got.Code, got.body)
	}
	page := x.html(t, "/?group=acme%2Fprd")
	if page.Code != http.StatusNotFound || !strings.Contains(page.body, "There is no group") || !strings.Contains(page.body, "Did you mean") {
		t.Errorf("the page: %d %s", page.Code, page.body)
	}
}

func TestCollectorThatIsNotThereIsNotSwitchedOff(t *testing.T) {
	x := newSite(t, func(c *Config) {
		c.Collectors = []monolith.CollectorStatus{{Name: "status", Title: "Global status"}, {Name: "schemas", Title: "Schema sizes"}}
	})
	x.add(t, "db1", "")
	for off, want := range map[string]string{`"schema"`: `did you mean \"schemas\"? There are status, schemas`, `"schemas","weather"`: `"cure":"there are status, schemas"`} {
		got := x.do(t, http.MethodPatch, "/api/v1/servers/db1", `{"collectors_off":[`+off+`]}`, "Content-Type", "application/json")
		if got.Code != http.StatusBadRequest || !strings.Contains(got.body, `"field":"collectors_off"`) || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s", off, got.Code, got.body)
		}
	}
	if got := x.do(t, http.MethodPatch, "/api/v1/servers/db1", `{"collectors_off":["schemas"]}`, "Content-Type", "application/json"); got.Code != http.StatusOK {
		t.Errorf("%d %s", got.Code, got.body)
	}
	// A server that is new can be given them too, and the form says what is wrong beside them.
	if page := x.html(t, "/servers/new"); !strings.Contains(page.body, `name="collectors_off" value="schemas"`) {
		t.Error("the form of a new server lacks the collectors")
	}
	a := x.do(t, http.MethodPost, "/servers/new", "endpoint.host=h&endpoint.user=u&collectors_off=weather", "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html")
	if checks := cutBetween(t, a.body, "Collectors switched off", "Paused:"); a.Code != http.StatusBadRequest || !strings.Contains(checks, "There is no collector") {
		t.Errorf("%d %s", a.Code, checks)
	}
}

package web

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"monolith"
)

func TestHostNames(t *testing.T) {
	allowed := []string{"mono.example"}
	for host, want := range map[string]bool{
		"localhost": true, "localhost:8080": true, "LOCALHOST.": true, "127.0.0.1:8080": true, "127.8.9.1": true, "[::1]:8080": true, "[::1]": true, "::1": true,
		"mono.example": true, "Mono.Example:443": true, "mono.example.": true,
		"": false, "evil.example": false, "evil.example:8080": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
		"10.0.0.1": false, "[::ffff:10.0.0.1]": false, "x.mono.example": false, ":8080": false, "[::1%25eth0]:80": false, "localhost@evil.example": false,
	} {
		if got := hostAllowed(host, allowed); got != want {
			t.Errorf("%q is allowed: %v, want %v", host, got, want)
		}
	}
}

func TestBadHostsAreRefusedAtTheStart(t *testing.T) {
	x := newSite(t)
	for _, bad := range []string{"", "http://mono.example", "a b", "*", "*.example", "mono.example:80", "[::1]:80"} {
		if _, err := New(Config{Store: x.store, Poller: x.poller, Hosts: []string{bad}}); !errors.Is(err, monolith.ErrInvalid) {
			t.Errorf("host %q is taken: %v", bad, err)
		}
	}
}

func TestForeignHostIsRefusedEverywhere(t *testing.T) {
	x := newSite(t, func(c *Config) { c.Hosts = []string{"Mono.Example"} })
	for _, target := range []string{"/", "/api/v1/servers", "/metrics", "/healthz", "/nothing"} {
		wantProblem(t, x.get(t, target, "Host", "rebound.example:8080"), http.StatusMisdirectedRequest, kindForeignHost, "")
	}
	if got := x.get(t, "/api/v1/servers", "Host", "mono.example:443"); got.Code != http.StatusOK {
		t.Errorf("a named host is refused: %d", got.Code)
	}
}

func TestCrossOriginWritesAreRefused(t *testing.T) {
	x := newSite(t)
	x.add(t, "db1", "")
	body := `{"name":"x","endpoint":{"host":"h"}}`
	for _, foreign := range [][]string{
		{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}, {"Origin", "null"},
		{"Origin", "http://localhost:9999"},
	} {
		for _, c := range [][2]string{{"POST", "/api/v1/servers"}, {"PATCH", "/api/v1/servers/db1"}, {"DELETE", "/api/v1/servers/db1"},
			{"PUT", "/api/v1/retention"}, {"POST", "/api/v1/marks"}, {"POST", "/api/v1/servers/test"}} {
			wantProblem(t, x.do(t, c[0], c[1], body, foreign...), http.StatusForbidden, kindCrossOrigin, "")
		}
		if got := x.get(t, "/api/v1/servers", foreign...); got.Code != http.StatusOK {
			t.Errorf("%v: GET gives %d", foreign, got.Code)
		}
	}
	if len(x.store.servers) != 1 || x.calls != 0 {
		t.Error("a refused write was carried out")
	}
	for _, own := range [][]string{{}, {"Sec-Fetch-Site", "same-origin"}, {"Origin", "http://localhost:8080"}} {
		x.do(t, "DELETE", "/api/v1/servers/x", "")
		if got := x.do(t, "POST", "/api/v1/servers", body, own...); got.Code != http.StatusCreated {
			t.Errorf("%v: POST gives %d %s", own, got.Code, got.body)
		}
	}
}

func TestSecurityHeaders(t *testing.T) {
	x := newSite(t)
	for _, target := range []string{"/", "/api/v1/servers", "/nothing", "/healthz"} {
		h := x.get(t, target).Header()
		csp := h.Get("Content-Security-Policy")
		if !strings.HasPrefix(csp, "default-src 'self'") || strings.Contains(csp, "unsafe") || h.Get("X-Content-Type-Options") != "nosniff" ||
			h.Get("X-Frame-Options") != "DENY" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: headers are %v", target, h)
		}
	}
}

func TestErrorsBecomeStatuses(t *testing.T) {
	x := newSite(t)
	for _, c := range []struct {
		err    error
		status int
		kind   string
	}{
		{fmt.Errorf("store: read: %w", monolith.ErrUnavailable), 503, kindUnavailable},
		{fmt.Errorf("store: read: %w", context.DeadlineExceeded), 504, kindTimeout},
		{fmt.Errorf("store: put: %w", monolith.Invalid("x", "bad")), 400, kindInvalid},
		{fmt.Errorf("store: put: %w", monolith.ErrConflict), 409, kindConflict},
		{fmt.Errorf("store: put: %w", monolith.ErrNotFound), 404, kindNotFound},
		{errors.New("secret detail of table x"), 500, kindInternal},
	} {
		x.log.Reset()
		x.store.broken = c.err
		got := x.get(t, "/api/v1/retention")
		var p problem
		if err := json.Unmarshal([]byte(got.body), &p); err != nil || p.Kind != c.kind || got.Code != c.status {
			t.Errorf("%v: %d %s, want %d %s", c.err, got.Code, got.body, c.status, c.kind)
		}
		if got.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%v: the problem may be cached", c.err)
		}
		if c.status == 500 {
			if strings.Contains(got.body, "secret") || p.ID == "" || !strings.Contains(x.log.String(), p.ID) || !strings.Contains(x.log.String(), "secret detail") {
				t.Errorf("the id does not stand for the rest: %s; log %s", got.body, x.log)
			}
		}
		if c.status == 503 && got.Header().Get("Retry-After") == "" {
			t.Error("503 does not say when to come back")
		}
	}
}

func TestPanicsAreSurvived(t *testing.T) {
	x := newSite(t)
	x.store.broken = nil
	x.Server.poller = panicky{x.poller}
	x.add(t, "db1", "")
	p := wantProblem(t, x.get(t, "/api/v1/servers/db1"), http.StatusInternalServerError, kindInternal, "")
	if !strings.Contains(x.log.String(), "lost my mind") || !strings.Contains(x.log.String(), p.ID) || !strings.Contains(x.log.String(), "stack=") {
		t.Errorf("the log lacks the panic: %s", x.log)
	}
}

// A panic in the middle of an answer cuts the connection: half an answer must not look like a whole one.
func TestPanicInTheMiddle(t *testing.T) {
	x := newSite(t)
	h := x.observe(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "half")
		panic("lost my mind")
	}))
	root := chi.NewRouter()
	root.Handle("/", h)
	server := httptest.NewServer(root)
	defer server.Close()
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	resp, err := http.Get(server.URL)
	if err == nil {
		_, err = io.ReadAll(resp.Body)
		resp.Body.Close()
	}
	if err == nil {
		t.Error("the client takes half an answer for the whole")
	}
}

type panicky struct{ Poller }

func (panicky) State(monolith.ServerID) *monolith.State { panic("lost my mind") }

func TestMethodsAndUnknownAddresses(t *testing.T) {
	x := newSite(t)
	x.add(t, "db1", "")
	got := x.do(t, http.MethodPut, "/api/v1/servers/db1", "{}")
	wantProblem(t, got, http.StatusMethodNotAllowed, kindMethod, "")
	if allow := got.Header().Get("Allow"); allow != "GET, HEAD, PATCH, DELETE" {
		t.Errorf("Allow: %q", allow)
	}
	wantProblem(t, x.get(t, "/api/v1/nothing"), http.StatusNotFound, kindNotFound, "")
	if got := x.get(t, "/nothing", "Accept", "text/html,*/*"); got.Code != http.StatusNotFound || !strings.Contains(got.body, "<") {
		t.Errorf("a person gets %d %q", got.Code, got.body)
	}
	head := x.do(t, http.MethodHead, "/api/v1/servers/db1", "")
	if head.Code != http.StatusOK || head.body != "" || head.Header().Get("Etag") == "" {
		t.Errorf("HEAD gives %d %q", head.Code, head.body)
	}
}

func TestETags(t *testing.T) {
	x := newSite(t)
	x.add(t, "db1", "")
	tag := x.get(t, "/api/v1/servers").Header().Get("Etag")
	if got := x.get(t, "/api/v1/servers", "If-None-Match", `"x", W/`+tag); got.Code != http.StatusNotModified || got.body != "" {
		t.Errorf("the same again gives %d", got.Code)
	}
	x.add(t, "db2", "")
	if got := x.get(t, "/api/v1/servers", "If-None-Match", tag); got.Code != http.StatusOK {
		t.Errorf("something new gives %d", got.Code)
	}
}

func TestXML(t *testing.T) {
	x := newSite(t)
	s := x.add(t, `a]]>&"<b> `+"\u202e", "")
	x.poller.take(poll(s.ID, 1, 100, nil))
	where := x.link("api", "v1", "servers", s.Name)
	for _, target := range []string{"/api/v1/servers.xml", where + ".xml", where + "/status.xml", where + "/variables.xml", where + "/replication.xml",
		"/api/v1/graphs.xml", "/api/v1/nothing.xml", "/api/v1/servers.xml?x=1"} {
		got := x.get(t, target)
		wellFormed(t, target, got.body)
		if !strings.HasSuffix(strings.Split(got.Header().Get("Content-Type"), ";")[0], "xml") {
			t.Errorf("%s: type %q", target, got.Header().Get("Content-Type"))
		}
	}
	got := x.get(t, where+"/status", "Accept", "application/xml;q=0.9, application/json;q=0.1")
	wellFormed(t, "status", got.body)
	for _, want := range []string{"<name>Innodb_buffer_pool_pages_misc</name><value>-1</value>", `<value null="true"/>`, "evil &lt;script&gt;\uFFFD"} {
		if !strings.Contains(got.body, want) {
			t.Errorf("the answer lacks %q: %s", want, got.body)
		}
	}
	if got := x.get(t, where, "Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"); !strings.HasPrefix(got.body, "{") {
		t.Error("a browser gets XML")
	}
}

func wellFormed(t *testing.T, what, text string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := dec.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Errorf("%s is not well-formed: %v: %s", what, err, text)
			return
		}
	}
}

func FuzzXML(f *testing.F) {
	f.Add("key", "value")
	f.Add("1 bad<name>", "]]>\x00\x08\ufffe\xff")
	f.Add("xmlns:x", "&amp;")
	f.Fuzz(func(t *testing.T, key, value string) {
		body := mustJSON(map[string]any{key: value, "list": []any{value, nil, 1, map[string]string{key: value}}})
		wellFormed(t, "fuzz", string(xmlOf("root", "", body)))
	})
}

func TestAPIBasePath(t *testing.T) {
	x := newSite(t, func(c *Config) { c.BasePath = "/mono" })
	x.add(t, "a/b", "")
	if got := x.get(t, "/mono/api/v1/servers/a%2Fb"); got.Code != http.StatusOK {
		t.Errorf("below the base path: %d %s", got.Code, got.body)
	}
	wantProblem(t, x.get(t, "/api/v1/servers"), http.StatusNotFound, kindNotFound, "")
	if got := x.get(t, "/mono/"); got.Code != http.StatusOK {
		t.Errorf("the first page: %d", got.Code)
	}
	if got := x.get(t, "/mono"); got.Code >= 400 {
		t.Errorf("without the slash: %d", got.Code)
	}
	for _, target := range []string{"/healthz", "/mono/healthz", "/metrics", "/mono/readyz"} {
		if got := x.get(t, target); got.Code != http.StatusOK {
			t.Errorf("%s: %d %s", target, got.Code, got.body)
		}
	}
	made := x.do(t, http.MethodPost, "/mono/api/v1/servers", `{"name":"c/d","endpoint":{"host":"h"}}`)
	if where := made.Header().Get("Location"); where != "/mono/api/v1/servers/c%2Fd" {
		t.Errorf("Location: %q", where)
	}
	for _, bad := range []string{"mono", "/mono/", "/", "//x", "/a b", "/{x}", "/x?y", "/a//b"} {
		if _, err := New(Config{Store: x.store, Poller: x.poller, BasePath: bad}); !errors.Is(err, monolith.ErrInvalid) {
			t.Errorf("base path %q is taken: %v", bad, err)
		}
	}
}

func TestProbes(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "")
	ready := func() (v struct {
		Ready  bool
		Checks []check
	}, code int) {
		got := x.get(t, "/readyz")
		if err := json.Unmarshal([]byte(got.body), &v); err != nil {
			t.Fatal(err)
		}
		return v, got.Code
	}
	if v, code := ready(); !v.Ready || code != 200 {
		t.Errorf("at the start: %d %+v", code, v)
	}
	x.poller.take(poll(s.ID, 1, 100, nil))
	x.clock = noon.Add(59e9)
	if v, code := ready(); !v.Ready || code != 200 {
		t.Errorf("polled a minute ago: %d %+v", code, v)
	}
	x.clock = noon.Add(600e9)
	if v, code := ready(); v.Ready || code != 503 || !strings.Contains(v.Checks[1].Why, "db1") {
		t.Errorf("not polled for ten minutes: %d %+v", code, v)
	}
	x.store.broken = monolith.ErrUnavailable
	if v, code := ready(); v.Ready || code != 503 || v.Checks[0].OK {
		t.Errorf("without a store: %d %+v", code, v)
	}
	if got := x.get(t, "/healthz"); got.Code != 200 {
		t.Errorf("alive without a store: %d", got.Code)
	}
	got := x.get(t, "/metrics")
	if !strings.Contains(got.body, "monolith_store_up 0") || !strings.Contains(got.body, "monolith_polls_skipped_total 3") {
		t.Errorf("metrics without a store: %s", got.body)
	}
	x.store.broken = nil
	x.clock = x.clock.Add(time.Minute)
	x.store.stats = monolith.StoreStatistics{Commits: 11, CommitErrors: 12, Dropped: 13, SpoolPolls: 14, SpoolBytes: 15, Packs: 16, WALBytes: 77,
		CommitTime: 1500 * time.Millisecond, DamagedPolls: 17, DamagedBlocks: 18, FailingSince: noon}
	x.Push(t.Context(), poll(s.ID, 2, 200, nil))
	got = x.get(t, "/metrics")
	for _, want := range []string{"monolith_store_bytes 4096", "monolith_store_wal_bytes 77", "monolith_store_commits_total 11",
		"monolith_store_commit_errors_total 12", "monolith_spool_dropped_polls_total 13", "monolith_spool_polls 14", "monolith_spool_bytes 15",
		"monolith_store_packs_total 16", "monolith_store_damaged_polls_total 17", "monolith_store_damaged_blocks_total 18", "monolith_store_commit_seconds_total 1.5", "monolith_store_commits_failing 1", "monolith_polls_total 42", `monolith_poll_seconds_count{result="read"} 1`,
		"go_goroutines", "monolith_live_streams 0", `monolith_info{version="test"} 1`, `route="/readyz",status="503"`} {
		if !strings.Contains(got.body, want) {
			t.Errorf("metrics lack %q", want)
		}
	}
	if strings.Contains(got.body, "db1") {
		t.Error("metrics hold a server's name: their number would never end")
	}
}

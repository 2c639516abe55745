package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"monolith"
)

// pathParameter is a named part of a route.
var pathParameter = regexp.MustCompile(`\{([a-z]+)[^}]*\}|\*`)

// writingRoutes lists the routes that change something, with a name that is there for each named part: those of the
// API, or those of the pages.
func writingRoutes(tb testing.TB, x *site, api bool) (routes [][2]string) {
	tb.Helper()
	err := chi.Walk(x.root, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if method == http.MethodGet || method == http.MethodHead || strings.HasPrefix(route, "/api/") != api {
			return nil
		}
		path := pathParameter.ReplaceAllStringFunc(route, func(part string) string {
			if name := strings.Trim(part, "{}"); strings.HasPrefix(name, "id") {
				return "3"
			}
			return "a"
		})
		routes = append(routes, [2]string{method, path})
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	if len(routes) == 0 {
		tb.Fatal("there is no route that writes")
	}
	return routes
}

// refill leaves of a site one of each thing.
func (x *site) refill(tb testing.TB) {
	tb.Helper()
	x.log.Reset()
	x.store.lastID, x.store.servers, x.store.groups, x.store.retention = 0, nil, nil, monolith.DefaultRetention()
	x.add(tb, "a", "a")
	x.store.groups = append(x.store.groups, monolith.Group{Path: "a"})
	x.store.graphs = []monolith.SavedGraph{{ID: 3, Title: "Writes", Definition: ownDefinition}}
	x.store.marks = []monolith.Mark{{ID: 3, At: noon, Kind: monolith.MarkNote, Text: "x"}}
}

// FuzzBodies sends any body to every route of the API that changes something: what comes is an answer or a problem
// document, never a fault, and the password of a server is not in it.
func FuzzBodies(f *testing.F) {
	x := newSite(f)
	routes := writingRoutes(f, x, true)
	for i := range routes {
		for _, body := range []string{
			`{"name":"b","endpoint":{"host":"h","port":3306,"user":"u"},"group":"a"}`, `{"title":"t","definition":"id: x\ntitle: y\nlines: []\n"}`,
			`{"text":"deploy","at":"-1h","servers":["a"]}`, `{"raw":"14d","rawDays":14,"days":1e99}`, `{"path":"b/c","to":"d","order":["a"]}`,
			`{"id":"own","definition":"id: own\ntitle: t\nwhen: []\n","limits":{"warn":{"x":1}},"for":"5m"}`, `null`, `[[[[`, "{\"a\xff\":\"\u0000\"}",
		} {
			f.Add(byte(i), body)
		}
	}
	f.Fuzz(func(t *testing.T, which byte, body string) {
		route := routes[int(which)%len(routes)]
		x.refill(t)
		got := x.do(t, route[0], route[1], body, "Content-Type", "application/json")
		if got.Code >= 500 && got.Code != http.StatusServiceUnavailable && got.Code != http.StatusNotImplemented {
			t.Fatalf("%s %s with %q: %d %s\n%s", route[0], route[1], body, got.Code, got.body, x.log)
		}
		if got.body != "" && !json.Valid([]byte(got.body)) {
			t.Fatalf("%s %s with %q: no JSON: %s", route[0], route[1], body, got.body)
		}
		if strings.Contains(got.body+x.log.String(), "canary-Zx9") {
			t.Fatalf("%s %s with %q tells the password: %s", route[0], route[1], body, got.body)
		}
	})
}

// FuzzForms does the same with the forms of the pages.
func FuzzForms(f *testing.F) {
	x := newSite(f)
	routes := writingRoutes(f, x, false)
	for i := range routes {
		for _, form := range []string{
			"name=b&group=a%2Fb&endpoint.host=h%3A3306&endpoint.port=x&ram=16+GiB&tags=a%2Cb&schedules.fast=%40every+1s&endpoint.password=secret",
			"title=t&definition=id%3A+x&expr=rate(status.Questions)&expr=&label=&unit=%00&page=overview", "text=x&at=2026-03-10T12%3A00&from=-1h",
			"raw=14d&raw_days=-1&budget=20+GB&medium=1e99", "rows=1,,3&order=%5B%22a%22%5D", "%=&;&%zz=1&a=%ff", "",
		} {
			f.Add(byte(i), form)
		}
	}
	f.Fuzz(func(t *testing.T, which byte, form string) {
		route := routes[int(which)%len(routes)]
		x.refill(t)
		r := httptest.NewRequestWithContext(t.Context(), route[0], "http://localhost:8080"+route[1], strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Accept", "text/html")
		w := httptest.NewRecorder()
		x.Handler().ServeHTTP(w, r)
		if w.Code >= 500 && w.Code != http.StatusServiceUnavailable && w.Code != http.StatusNotImplemented {
			t.Fatalf("%s %s with %q: %d %s\n%s", route[0], route[1], form, w.Code, w.Body, x.log)
		}
		if strings.Contains(w.Body.String()+x.log.String(), "canary-Zx9") {
			t.Fatalf("%s %s with %q tells the password", route[0], route[1], form)
		}
	})
}

// FuzzAddress asks for any page by any address.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{"/", "/servers/a?from=2026-03-10T12:00&to=now&tz=Europe/Berlin", "/servers/%2e%2e/x", "/servers/a/graphs/queries.svg?width=-1&height=1e9", "//", "/servers/a/variables/%00", "/api/v1/servers/%ff", "/servers/a/spark.svg?x", "/?q=%3Cscript%3E&sort=-qps&env=prod&group=a"} {
		f.Add(s)
	}
	x := newSite(f)
	x.refill(f)
	f.Fuzz(func(t *testing.T, address string) {
		u, err := url.ParseRequestURI(address)
		if err != nil || !strings.HasPrefix(address, "/") || strings.HasPrefix(address, "/live") {
			return // no client can send it; or the answer has no end
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost:8080/", nil)
		r.URL.Path, r.URL.RawPath, r.URL.RawQuery = u.Path, u.RawPath, u.RawQuery
		r.Header.Set("Accept", "text/html")
		w := httptest.NewRecorder()
		x.Handler().ServeHTTP(w, r)
		if w.Code >= 500 && w.Code != http.StatusServiceUnavailable && w.Code != http.StatusNotImplemented {
			t.Fatalf("%s: %d %s\n%s", address, w.Code, w.Body, x.log)
		}
		x.log.Reset()
	})
}

// FuzzTyped reads what people type into fields of moments and amounts.
func FuzzTyped(f *testing.F) {
	for _, s := range []string{"", "now", "-2h", "2026-03-29T02:30", "2026-03-10 12:00:61", "16 GiB", "1e400", "0x10", "-1", "9223372036854775807", "4611686018427387904b", "NaN", "1.5 t"} {
		f.Add(s)
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := &pageBase{location: zone, Now: noon}
		// Zones had odd seconds before they were agreed upon.
		if m, err := b.readMoment("from", s, "now"); err == nil && m.at.Year() > 1900 {
			again, err := b.readMoment("from", m.text, "now")
			if err != nil || !again.at.Equal(m.at) {
				t.Errorf("%q is %v, and its text %q is %v, %v", s, m.at, m.text, again.at, err)
			}
		}
		if n, err := readBytes("ram", s); err == nil {
			if n < 0 {
				t.Errorf("%q is %d bytes", s, n)
			}
			if again, err := readBytes("ram", writeBytes(n)); err != nil || again != n {
				t.Errorf("%q is %d bytes, written %q, read %d, %v", s, n, writeBytes(n), again, err)
			}
		}
	})
}

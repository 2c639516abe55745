package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"monolith"
)

// FuzzAlertBodies sends whatever a program may send to everything about alerts that takes a body: it is done or refused
// with a reason, and the answer is JSON.
func FuzzAlertBodies(f *testing.F) {
	targets := []struct{ method, path string }{
		{"POST", "/alerts/101/ack"}, {"POST", "/alerts/101/take"}, {"POST", "/alerts/101/silence"}, {"POST", "/alerts/101/note"}, {"POST", "/silences"}, {"POST", "/windows"},
		{"PUT", "/rules/lag/settings"}, {"POST", "/rules/check"}, {"POST", "/rules"}, {"POST", "/rules/test"}, {"POST", "/servers/db1/rules/copy"}, {"GET", "/alerts?"}, {"GET", "/servers/db1/rules?"},
	}
	for i, body := range []string{`{"by":"eve","note":"x"}`, `by=eve`, `{"until":"-1h","for":"2h"}`, `{"text":"a\u0000b"}`, `{"server":"db1","rule":"lag","for":"1h"}`,
		`{"title":"x","start":"2026-03-14T12:30","duration":"90m","zone":"Europe/Berlin","every":"week","weekdays":["sun"]}`, `{"limits":{"warn":{"lag":1e999}}}`, `{"source":"id: x"}`,
		`{"source":"id: "}`, `{"rule":"lag","from":"-1d","servers":["db1"]}`, `{"to":["db1"]}`, `state=all&level=warn&from=-1h&limit=3`, `state=ok&cursor=%00`, `[]`, `null`, `%zz=&a=b`} {
		f.Add(i, i%2 == 1, body)
	}
	x := newSite(f)
	x.alerts.open(x.add(f, "db1", "acme"), "lag", monolith.LevelWarn, noon)
	f.Fuzz(func(t *testing.T, at int, form bool, body string) {
		target := targets[((at%len(targets))+len(targets))%len(targets)]
		path, kind := "/api/v1"+target.path, "application/json"
		if form {
			kind = "application/x-www-form-urlencoded"
		}
		r := httptest.NewRequestWithContext(t.Context(), target.method, "http://localhost:8080"+strings.TrimSuffix(path, "?"), strings.NewReader(body))
		if target.method == http.MethodGet {
			r = httptest.NewRequestWithContext(t.Context(), target.method, "http://localhost:8080"+strings.TrimSuffix(path, "?"), nil)
			r.URL.RawQuery = body
		}
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		x.Handler().ServeHTTP(w, r)
		if w.Code >= 500 || w.Body.Len() > 0 && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s %s with %q: %d %s", target.method, path, body, w.Code, w.Body)
		}
	})
}

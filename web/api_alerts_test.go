package web

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

func TestAlertsAreListedAndPaged(t *testing.T) {
	x := newSite(t)
	a, b := x.add(t, "eu/db 1", "acme/prod"), x.add(t, "db2", "other")
	var want []string
	for i := range 7 {
		level := monolith.LevelWarn
		if i%3 == 0 {
			level = monolith.LevelCritical
		}
		id := x.alerts.open(a, "lag", level, noon.Add(time.Duration(i-60)*time.Minute))
		want = append(want, fmt.Sprint(level.String(), id))
	}
	x.alerts.open(b, "scans", monolith.LevelInfo, noon.Add(-time.Hour))
	x.alerts.alerts[7].Closed = noon.Add(-30 * time.Minute)
	slices.SortFunc(want, func(a, b string) int { return strings.Compare(a[:4]+b[4:], b[:4]+a[4:]) }) // critical before warn, the newest first
	var got []string
	next := ""
	for range 10 {
		page := x.get(t, "/api/v1/alerts?server=eu%2Fdb+1&limit=3&cursor="+next)
		for _, v := range list[struct {
			ID                            int64
			Level, State, Server, Summary string
			For                           float64
		}](t, page, "alerts") {
			got = append(got, fmt.Sprint(v.Level, v.ID))
			if v.State != "open" || v.Server != "eu/db 1" || v.For < 3000 {
				t.Errorf("%+v", v)
			}
		}
		var v struct{ Next string }
		json.Unmarshal([]byte(page.body), &v)
		if next = v.Next; next == "" {
			break
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for target, n := range map[string]int{
		"?level=critical": 3, "?level=info": 0, "?level=info&level=critical&state=all": 4, "?state=closed": 1, "?state=all": 8, "?group=acme": 7, "?group=other": 0,
		"?group=other&state=all": 1, "?rule=scans&state=closed": 1, "?rule=lag": 7, "?to=-58m": 2, "?state=closed&from=-20m": 0, "?state=closed&from=-40m&to=-35m": 1,
	} {
		if got := list[json.RawMessage](t, x.get(t, "/api/v1/alerts"+target), "alerts"); len(got) != n {
			t.Errorf("%s gives %d, want %d", target, len(got), n)
		}
	}
	for target, field := range map[string]string{"?state=opne": "state", "?level=crit": "level", "?level=ok": "level", "?from=now&to=-1h": "from", "?cursor=x": "cursor", "?cursor=9999": "cursor"} {
		wantProblem(t, x.get(t, "/api/v1/alerts"+target), 400, kindInvalid, field)
	}
	for target, field := range map[string]string{"?server=nobody": "server", "?group=nowhere": "group", "?rule=lagg": "rule"} {
		wantProblem(t, x.get(t, "/api/v1/alerts"+target), 404, kindNotFound, field)
	}
}

func TestOpenAlertsAreCountedInMetrics(t *testing.T) {
	x := newSite(t)
	x.alerts.open(x.add(t, "db1", ""), "lag", monolith.LevelCritical, noon)
	for _, want := range []string{`monolith_alerts_open{level="critical"} 1`, `monolith_alerts_open{level="info"} 0`} {
		if got := x.get(t, "/metrics"); !strings.Contains(got.body, want) {
			t.Errorf("metrics lack %q", want)
		}
	}
}

func TestAlertWithItsHistory(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "")
	id := x.alerts.open(s, "lag", monolith.LevelCritical, noon.Add(-time.Hour))
	at := fmt.Sprintf("/api/v1/alerts/%d", id)
	got := x.get(t, at)
	var v struct {
		Server, Rule, Instance, Text, State string
		Values                              []struct {
			Name  string
			Value *float64
		}
		Events []monolith.AlertEvent
	}
	if err := json.Unmarshal([]byte(got.body), &v); err != nil || v.Server != "db1" || v.Rule != "lag" || v.Instance != "c<1>" || v.State != "open" || len(v.Events) != 1 || v.Events[0].Kind != monolith.EventOpened {
		t.Errorf("%v %s", err, got.body)
	}
	if len(v.Values) != 2 || v.Values[0].Value == nil || v.Values[1].Value != nil {
		t.Errorf("no value is no null: %s", got.body)
	}
	if strings.Contains(got.body, `"Server"`) || strings.Contains(got.body, `"Rule"`) {
		t.Errorf("internal names leave the house: %s", got.body)
	}
	// XML is whole whatever a server says.
	asXML := x.get(t, at, "Accept", "application/xml")
	if asXML.Header().Get("Content-Type") != "application/xml; charset=utf-8" || xml.Unmarshal([]byte(asXML.body), new(struct{ XMLName xml.Name })) != nil || !strings.Contains(asXML.body, "It lags. &lt;b&gt;\uFFFD\uFFFD") {
		t.Errorf("%s", asXML.body)
	}
	for _, path := range []string{"/api/v1/alerts/9999", "/api/v1/alerts/x", "/api/v1/alerts/0", "/api/v1/alerts/-1"} {
		wantProblem(t, x.get(t, path), 404, kindNotFound, "")
	}
	x.alerts.broken = monolith.ErrUnavailable
	wantProblem(t, x.get(t, at), 503, kindUnavailable, "")
	wantProblem(t, x.get(t, "/api/v1/alerts"), 503, kindUnavailable, "")
}

func TestPeopleHandleAlerts(t *testing.T) {
	for _, form := range []bool{false, true} {
		x := newSite(t)
		s := x.add(t, "db1", "")
		id := x.alerts.open(s, "lag", monolith.LevelWarn, noon.Add(-time.Hour))
		say := func(what string, members ...string) answer {
			t.Helper()
			fields, values := map[string]string{}, url.Values{}
			for i := 0; i < len(members); i += 2 {
				fields[members[i]] = members[i+1]
				values.Set(members[i], members[i+1])
			}
			body, kind := string(mustJSON(fields)), "application/json"
			if form {
				body, kind = values.Encode(), "application/x-www-form-urlencoded"
			}
			return x.do(t, "POST", fmt.Sprintf("/api/v1/alerts/%d/%s", id, what), body, "Content-Type", kind)
		}
		if got := say("ack", "by", "eve", "note", "known, ticket 7"); got.Code != 200 || !strings.Contains(got.body, `"acked_by":"eve"`) || !strings.Contains(got.body, `"ack_note":"known, ticket 7"`) {
			t.Errorf("%d %s", got.Code, got.body)
		}
		if got := say("take", "by", "eve"); got.Code != 200 || !strings.Contains(got.body, `"owner":"eve"`) {
			t.Errorf("%d %s", got.Code, got.body)
		}
		wantProblem(t, say("take"), 400, kindInvalid, "by")
		for _, turn := range "\u202A\u202B\u202C\u202D\u202E\u2066\u2067\u2068\u2069\x07" {
			wantProblem(t, say("take", "by", "eve"+string(turn)+"nimda"), 400, kindInvalid, "by")
		}
		if got := say("silence", "for", "2h", "reason", "rebuild"); got.Code != 200 || !strings.Contains(got.body, `"silenced_until":"2026-03-14T14:00:00Z"`) {
			t.Errorf("%d %s", got.Code, got.body)
		}
		if got := say("silence", "until", "2026-03-15T00:00:00Z"); got.Code != 200 || !strings.Contains(got.body, `"silenced_until":"2026-03-15T00:00:00Z"`) {
			t.Errorf("%d %s", got.Code, got.body)
		}
		if got := say("silence"); got.Code != 200 || !x.alerts.alerts[0].Silenced.IsZero() {
			t.Errorf("until it closes: %d %s", got.Code, got.body)
		}
		wantProblem(t, say("silence", "until", "-1h"), 400, kindInvalid, "until")
		wantProblem(t, say("silence", "until", "now", "for", "1h"), 400, kindInvalid, "for")
		wantProblem(t, say("silence", "for", "soon"), 400, kindInvalid, "for")
		wantProblem(t, say("ack", "note", "a\x00b"), 400, kindInvalid, "note")
		wantProblem(t, say("ack", "note", strings.Repeat("x", 1001)), 400, kindInvalid, "note")
		wantProblem(t, say("ack", "nte", "x"), 400, kindInvalid, "nte")
		wantProblem(t, say("note"), 400, kindInvalid, "text")
		x.alerts.alerts[0].Closed = noon
		if got := say("note", "text", "it was\nthe switch"); got.Code != 200 {
			t.Errorf("a note on what is over: %d %s", got.Code, got.body)
		}
		for _, what := range []string{"ack", "silence"} {
			wantProblem(t, say(what), 409, kindConflict, "")
		}
		wantProblem(t, x.do(t, "POST", "/api/v1/alerts/9999/ack", "{}"), 404, kindNotFound, "")
		if got := x.do(t, "POST", fmt.Sprintf("/api/v1/alerts/%d/ack", id), "{}", "Sec-Fetch-Site", "cross-site"); got.Code != http.StatusForbidden {
			t.Errorf("from another site: %d", got.Code)
		}
		last := x.alerts.events[len(x.alerts.events)-1]
		if last.Kind != monolith.EventNote || last.Text != "it was\nthe switch" {
			t.Errorf("%+v", last)
		}
	}
}

func TestWithoutARuleEngineNothingOfItIsThere(t *testing.T) {
	x := newSite(t, func(c *Config) { c.Alerts = nil })
	for _, path := range []string{"/api/v1/alerts", "/api/v1/rules", "/api/v1/silences", "/api/v1/windows"} {
		wantProblem(t, x.get(t, path), 404, kindNotFound, "")
	}
}

func TestSilences(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "acme/prod")
	id := x.alerts.open(s, "lag", monolith.LevelWarn, noon.Add(-time.Hour))
	made := x.do(t, "POST", "/api/v1/silences", `{"server":"db1","rule":"lag","for":"2h","reason":"rebuild","by":"eve"}`)
	var v silenceView
	if err := json.Unmarshal([]byte(made.body), &v); err != nil || made.Code != http.StatusCreated || v.Server != "db1" || !v.From.Equal(noon) || !v.To.Equal(noon.Add(2*time.Hour)) {
		t.Fatalf("%d %s", made.Code, made.body)
	}
	at := made.Header().Get("Location")
	if at != fmt.Sprintf("/api/v1/silences/%d", v.ID) || x.alerts.silences[0].Server != s.ID {
		t.Errorf("at %s: %+v", at, x.alerts.silences)
	}
	if got := x.do(t, "PUT", at, `{"group":"acme","from":"2026-03-14T13:00:00Z","for":"1h"}`); got.Code != 200 || x.alerts.silences[0].Server != 0 || x.alerts.silences[0].Group != "acme" || !x.alerts.silences[0].To.Equal(noon.Add(2*time.Hour)) {
		t.Errorf("%d %s", got.Code, got.body)
	}
	if got := x.do(t, "POST", "/api/v1/silences", fmt.Sprintf(`{"alert":%d}`, id)); got.Code != 201 {
		t.Errorf("%d %s", got.Code, got.body)
	}
	if got := list[silenceView](t, x.get(t, "/api/v1/silences"), "silences"); len(got) != 2 || got[0].Group != "acme" || got[1].Alert != id {
		t.Errorf("%+v", got)
	}
	for body, field := range map[string]string{
		`{"server":"db1"}`: "to", `{"server":"db1","to":"-1h"}`: "to", `{"server":"db1","for":"1h","group":"acme"}`: "group", `{"for":"1h"}`: "reason",
		`{"server":"db1","for":"0s"}`: "for", `{"alert":1,"rule":"lag"}`: "alert", `{"server":"db1","from":"x","for":"1h"}`: "from",
	} {
		wantProblem(t, x.do(t, "POST", "/api/v1/silences", body), 400, kindInvalid, field)
	}
	for body, field := range map[string]string{`{"server":"nobody","for":"1h"}`: "server", `{"group":"nowhere","for":"1h"}`: "group", `{"rule":"x","for":"1h"}`: "rule", `{"alert":9999}`: "alert"} {
		wantProblem(t, x.do(t, "POST", "/api/v1/silences", body), 404, kindNotFound, field)
	}
	if got := x.do(t, "DELETE", at, ""); got.Code != http.StatusNoContent || len(x.alerts.silences) != 1 {
		t.Errorf("%d", got.Code)
	}
	wantProblem(t, x.do(t, "DELETE", at, ""), 404, kindNotFound, "")
	wantProblem(t, x.do(t, "PUT", at, `{"group":"acme","for":"1h"}`), 404, kindNotFound, "")
}

func TestMaintenanceWindows(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "acme/prod")
	made := x.do(t, "POST", "/api/v1/windows", `{"title":"patch day","server":"db1","start":"2026-03-14T12:30","duration":"90m","zone":"Europe/Berlin","every":"week","weekdays":["sun","tue","sun"],"until":"2027-01-01T00:00:00Z"}`)
	var v windowView
	if err := json.Unmarshal([]byte(made.body), &v); err != nil || made.Code != http.StatusCreated {
		t.Fatalf("%d %s", made.Code, made.body)
	}
	// 12:30 in Berlin is 11:30 UTC: it is running at noon.
	want := windowView{ID: v.ID, Title: "patch day", Server: "db1", Start: "2026-03-14T12:30:00", Duration: 5400, Zone: "Europe/Berlin", Every: "week", Weekdays: []string{"sun", "tue"},
		Until: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC), NextFrom: noon.Add(-30 * time.Minute), NextTo: noon.Add(time.Hour), Running: true}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Error(diff)
	}
	x.alerts.windows[0].Start = x.alerts.windows[0].Start.UTC() // the same moment: the clock on the wall is that of the zone
	if got := list[windowView](t, x.get(t, "/api/v1/windows"), "windows"); got[0].Start != want.Start {
		t.Errorf("it begins at %s", got[0].Start)
	}
	if w := x.alerts.windows[0]; w.Server != s.ID || w.Duration != 90*time.Minute || !slices.Equal(w.Weekdays, []time.Weekday{time.Sunday, time.Tuesday}) {
		t.Errorf("%+v", w)
	}
	at := made.Header().Get("Location")
	if got := x.do(t, "PUT", at, `{"title":"once","group":"acme","start":"2026-03-10T00:00:00Z","duration":"1h"}`); got.Code != 200 || !strings.Contains(got.body, `"running":false`) || strings.Contains(got.body, "next_from") {
		t.Errorf("%d %s", got.Code, got.body)
	}
	if got := list[windowView](t, x.get(t, "/api/v1/windows"), "windows"); len(got) != 1 || got[0].Group != "acme" || got[0].Zone != "UTC" {
		t.Errorf("%+v", got)
	}
	for body, field := range map[string]string{
		`{"duration":"1h"}`: "start", `{"start":"tomorrow","duration":"1h"}`: "start", `{"start":"2026-03-14T12:30","duration":"1s"}`: "duration", `{"start":"2026-03-14T12:30"}`: "duration",
		`{"start":"2026-03-14T12:30","duration":"1h","zone":"Mars/Base"}`: "zone", `{"start":"2026-03-14T12:30","duration":"1h","every":"year"}`: "every",
		`{"start":"2026-03-14T12:30","duration":"1h","weekdays":["sun"]}`: "weekdays", `{"start":"2026-03-14T12:30","duration":"1h","every":"week","weekdays":["sunday"]}`: "weekdays[0]",
		`{"start":"2026-03-14T12:30","duration":"1h","until":"now"}`: "until",
	} {
		wantProblem(t, x.do(t, "POST", "/api/v1/windows", body), 400, kindInvalid, field)
	}
	if got := x.do(t, "DELETE", at, ""); got.Code != http.StatusNoContent || len(x.alerts.windows) != 0 {
		t.Errorf("%d", got.Code)
	}
	wantProblem(t, x.do(t, "DELETE", at, ""), 404, kindNotFound, "")
}

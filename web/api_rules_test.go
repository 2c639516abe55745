package web

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

func TestRules(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "acme")
	x.alerts.own = []monolith.OwnRule{{ID: "mine", Source: "id: mine\n", Version: 3, By: "eve", At: noon}}
	x.alerts.statuses[s.ID] = []monolith.RuleStatus{{AlertKey: monolith.AlertKey{Server: s.ID, Rule: "lag", Instance: "a"}, State: monolith.StateOpen},
		{AlertKey: monolith.AlertKey{Server: s.ID, Rule: "lag", Instance: "b"}, State: monolith.StateOK}}
	for target, want := range map[string][]string{"": {"lag", "scans", "mine"}, "?own=true": {"mine"}, "?category=queries": {"scans"}, "?plan=S28": {"scans"}, "?own=false&limit=1": {"lag"}} {
		var got []string
		for _, v := range list[struct{ ID string }](t, x.get(t, "/api/v1/rules"+target), "rules") {
			got = append(got, v.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", target, diff)
		}
	}
	var v struct {
		ID             string
		Window, Warmup float64
		States         map[string]int
		When           []monolith.RuleCondition
	}
	got := x.get(t, "/api/v1/rules/lag")
	if err := json.Unmarshal([]byte(got.body), &v); err != nil || v.Window != 300 || v.Warmup != 600 || v.States["open"] != 1 || v.States["ok"] != 1 || v.When[0].Limits["critical"]["lag"] != 600 {
		t.Errorf("%v %s", err, got.body)
	}
	if got := x.get(t, "/api/v1/rules/mine"); !strings.Contains(got.body, `"source":"id: mine\n"`) || !strings.Contains(got.body, `"version":3`) || !strings.Contains(got.body, `"by":"eve"`) {
		t.Errorf("%s", got.body)
	}
	wantProblem(t, x.get(t, "/api/v1/rules?category=querys"), 400, kindInvalid, "category")
	if got := x.get(t, "/api/v1/rules/lagg"); !strings.Contains(got.body, `did you mean \"lag\"?`) {
		t.Errorf("%s", got.body)
	}
}

func TestRuleSettings(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "eu/db1", "acme/prod")
	const at = "/api/v1/rules/lag/settings"
	if got := x.get(t, at+"?server=eu%2Fdb1"); got.Code != 200 || !strings.Contains(got.body, `"setting":null`) || !strings.Contains(got.body, `"in_force":{"rule":"lag","enabled":true,"enabled_from":"built-in"`) {
		t.Errorf("%d %s", got.Code, got.body)
	}
	put := x.do(t, "PUT", at+"?server=eu%2Fdb1", `{"enabled":true,"limits":{"warn":{"lag":120}},"by":"eve"}`)
	if put.Code != 200 || !strings.Contains(put.body, `"value":120,"from":"server"`) || x.alerts.settings[0].Server != s.ID || x.alerts.settings[0].By != "eve" || !x.alerts.settings[0].At.Equal(noon) {
		t.Errorf("%d %s", put.Code, put.body)
	}
	if got := x.do(t, "PUT", at+"?group=acme", `{"enabled":false}`); got.Code != 200 || !strings.Contains(got.body, `"group":"acme"`) || strings.Contains(got.body, "in_force") {
		t.Errorf("%d %s", got.Code, got.body)
	}
	if got := x.do(t, "PUT", at, `{"runbook":"https://wiki/lag","enabled":null}`); got.Code != 200 || x.alerts.settings[2].Enabled != nil {
		t.Errorf("%d %s", got.Code, got.body)
	}
	settings := list[settingView](t, x.get(t, "/api/v1/rules/lag"), "settings")
	if len(settings) != 3 || settings[0].Server != "eu/db1" || settings[1].Group != "acme" || settings[2].Runbook == "" {
		t.Errorf("%+v", settings)
	}
	if got := x.do(t, "DELETE", at+"?group=acme", ""); got.Code != http.StatusNoContent || len(x.alerts.settings) != 2 {
		t.Errorf("%d %+v", got.Code, x.alerts.settings)
	}
	wantProblem(t, x.do(t, "PUT", at, `{"limits":{"crit":{"lag":1}}}`), 400, kindInvalid, "level")
	wantProblem(t, x.do(t, "PUT", at, `{"limits":{"warn":{"lag":"much"}}}`), 400, kindInvalid, "limits")
	wantProblem(t, x.do(t, "PUT", at, `{"limit":{}}`), 400, kindInvalid, "limit")
	wantProblem(t, x.do(t, "PUT", at+"?server=eu%2Fdb1&group=acme", `{}`), 400, kindInvalid, "group")
	wantProblem(t, x.do(t, "PUT", at+"?server=nobody", `{}`), 404, kindNotFound, "server")
	wantProblem(t, x.get(t, "/api/v1/rules/nothing/settings"), 404, kindNotFound, "")

	to := x.add(t, "db2", "")
	if got := x.do(t, "POST", "/api/v1/servers/eu%2Fdb1/rules/copy", `{"to":["db2"]}`); got.Code != http.StatusNoContent || !slices.Equal(x.alerts.copied, []monolith.ServerID{to.ID}) {
		t.Errorf("%d %s", got.Code, got.body)
	}
	wantProblem(t, x.do(t, "POST", "/api/v1/servers/eu%2Fdb1/rules/copy", `{"to":["db2","eu/db1"]}`), 400, kindInvalid, "to[1]")
	wantProblem(t, x.do(t, "POST", "/api/v1/servers/eu%2Fdb1/rules/copy", `{"to":["nobody"]}`), 404, kindNotFound, "to[0]")
	wantProblem(t, x.do(t, "POST", "/api/v1/servers/eu%2Fdb1/rules/copy", `{"to":[]}`), 400, kindInvalid, "to")
}

func TestNoRuleIsSilentAboutAServer(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "")
	if got := x.get(t, "/api/v1/servers/db1/rules"); !strings.Contains(got.body, `"rules":[]`) || !strings.Contains(got.body, `"note":"this server was not polled yet"`) {
		t.Errorf("%s", got.body)
	}
	x.poller.take(poll(s.ID, 1, 100, nil))
	if got := x.get(t, "/api/v1/servers/db1/rules"); !strings.Contains(got.body, `"note":"no rule was evaluated yet"`) {
		t.Errorf("%s", got.body)
	}
	x.alerts.statuses[s.ID] = []monolith.RuleStatus{
		{AlertKey: monolith.AlertKey{Server: s.ID, Rule: "lag", Instance: "c"}, State: monolith.StateCannotEvaluate, Why: "no privilege", Input: "replica.lag", Since: noon},
		{AlertKey: monolith.AlertKey{Server: s.ID, Rule: "scans"}, State: monolith.StateNotApplicable, Why: "no such source yet", Since: noon},
	}
	got := x.get(t, "/api/v1/servers/db1/rules")
	rules := list[struct{ Title, Rule, Instance, State, Why, Input string }](t, got, "rules")
	if len(rules) != 2 || rules[0].Title != "Replication lag" || rules[0].State != "cannot_evaluate" || rules[0].Why != "no privilege" || rules[0].Input != "replica.lag" || rules[1].Rule != "scans" {
		t.Errorf("%s", got.body)
	}
	if !strings.Contains(got.body, `"states":{"cannot_evaluate":1,"not_applicable":1}`) {
		t.Errorf("%s", got.body)
	}
	if got := list[json.RawMessage](t, x.get(t, "/api/v1/servers/db1/rules?state=not_applicable&state=ok"), "rules"); len(got) != 1 {
		t.Errorf("%d", len(got))
	}
	if got := list[json.RawMessage](t, x.get(t, "/api/v1/servers/db1/rules?rule=lag"), "rules"); len(got) != 1 {
		t.Errorf("%d", len(got))
	}
	wantProblem(t, x.get(t, "/api/v1/servers/db1/rules?state=unknown"), 400, kindInvalid, "state")
	wantProblem(t, x.get(t, "/api/v1/servers/nobody/rules"), 404, kindNotFound, "")
}

func TestOwnRules(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "")
	if got := x.do(t, "POST", "/api/v1/rules/check", `{"source":"id: mine\n"}`); got.Code != 200 || len(x.alerts.own) != 0 {
		t.Errorf("%d %s", got.Code, got.body)
	}
	bad := x.do(t, "POST", "/api/v1/rules/check", `{"source":"rubbish"}`)
	wantProblem(t, bad, 400, kindInvalid, "source")
	if !strings.Contains(bad.body, `"column":3`) {
		t.Errorf("%s", bad.body)
	}
	made := x.do(t, "POST", "/api/v1/rules", `{"source":"id: mine\n","by":"eve"}`)
	if made.Code != http.StatusCreated || made.Header().Get("Location") != "/api/v1/rules/mine" || x.alerts.own[0].By != "eve" {
		t.Fatalf("%d %s", made.Code, made.body)
	}
	wantProblem(t, x.do(t, "POST", "/api/v1/rules", `{"source":"id: mine\n"}`), 409, kindConflict, "source.id")
	wantProblem(t, x.do(t, "POST", "/api/v1/rules", `{"source":"id: lag\n"}`), 409, kindConflict, "source.id")
	wantProblem(t, x.do(t, "POST", "/api/v1/rules", `{}`), 400, kindInvalid, "source")
	if got := x.do(t, "PUT", "/api/v1/rules/mine", `{"source":"id: mine\n# more\n"}`); got.Code != 200 || x.alerts.own[0].Version != 2 {
		t.Errorf("%d %s", got.Code, got.body)
	}
	wantProblem(t, x.do(t, "PUT", "/api/v1/rules/mine", `{"source":"id: other\n"}`), 400, kindInvalid, "source.id")
	wantProblem(t, x.do(t, "PUT", "/api/v1/rules/lag", `{"source":"id: lag\n"}`), 409, kindConflict, "")
	wantProblem(t, x.do(t, "DELETE", "/api/v1/rules/lag", ""), 409, kindConflict, "")

	got := x.do(t, "POST", "/api/v1/rules/test", `{"rule":"lag","limits":{"warn":{"lag":30}},"servers":["db1"],"from":"-2d"}`)
	if got.Code != 200 || !strings.Contains(got.body, `"opened":1,"open":3600,"unknown":60`) || !strings.Contains(got.body, `"step":60`) {
		t.Errorf("%d %s", got.Code, got.body)
	}
	want := monolith.BackTest{Rule: "lag", Limits: map[string]map[string]float64{"warn": {"lag": 30}}, Servers: []monolith.ServerID{s.ID}, From: noon.Add(-48 * time.Hour), To: noon}
	if diff := cmp.Diff(want, x.alerts.tested); diff != "" {
		t.Error(diff)
	}
	for body, field := range map[string]string{`{}`: "rule", `{"rule":"lag","source":"id: x"}`: "source", `{"rule":"lag","from":"now"}`: "from", `{"rule":"lag","to":"x"}`: "to"} {
		wantProblem(t, x.do(t, "POST", "/api/v1/rules/test", body), 400, kindInvalid, field)
	}
	wantProblem(t, x.do(t, "POST", "/api/v1/rules/test", `{"rule":"lag","from":"-93d"}`), 400, kindTooMuch, "from")
	wantProblem(t, x.do(t, "POST", "/api/v1/rules/test", `{"rule":"lagg"}`), 404, kindNotFound, "rule")
	if got := x.do(t, "DELETE", "/api/v1/rules/mine", ""); got.Code != http.StatusNoContent || len(x.alerts.own) != 0 {
		t.Errorf("%d", got.Code)
	}
}

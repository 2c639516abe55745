package web

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
	"monolith/graph"
)

func TestLimitsAreSetAtEachPlace(t *testing.T) {
	x := newFleet(t, 3) // in acme/prod
	x.store.groups = append(x.store.groups, monolith.Group{Path: "acme"})
	for _, way := range []struct {
		fields []string
		to     string
		scope  monolith.RuleScope
	}{
		{[]string{"limit.warn.lag", "90", "by", "eve"}, "/rules/lag?done=limits", monolith.RuleScope{}},
		{[]string{"limit.warn.lag", "80", "group", "acme"}, "/rules/lag?group=acme&done=limits", monolith.RuleScope{Group: "acme"}},
		{[]string{"limit.critical.lag", "300.5", "server", "db1", "enabled", "off", "runbook", "https://wiki/lag"}, "/rules/lag?server=db1&done=limits", monolith.RuleScope{Server: x.store.servers[0].ID}},
	} {
		got := x.post(t, "/rules/lag", append(way.fields, "action", "save")...)
		if got.Code != http.StatusSeeOther || got.Header().Get("Location") != way.to {
			t.Errorf("%v: %d %s", way.fields, got.Code, got.Header().Get("Location"))
		}
		last := x.alerts.settings[len(x.alerts.settings)-1]
		if last.RuleScope != way.scope || last.Rule != "lag" {
			t.Errorf("%+v", last)
		}
	}
	own := x.alerts.settings[2]
	if own.Limits["critical"]["lag"] != 300.5 || own.Limits["warn"] != nil || own.Enabled == nil || *own.Enabled || own.Runbook != "https://wiki/lag" {
		t.Errorf("%+v", own)
	}
	// Where a place says nothing, the next wider one holds, and the page says which.
	body := x.html(t, "/rules/lag?server=db1").body
	for _, want := range []string{`placeholder="80"`, "empty: 80, group acme", "empty: 600, built-in", `value="300.5"`, "■ off", ">group acme<", `href="https://wiki/lag"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for fields, field := range map[string]string{"limit.warn.lag=much": "limit.warn.lag", "runbook=javascript:alert(1)": "runbook", "limit.warn.lag=NaN": "limit.warn.lag"} {
		name, value, _ := strings.Cut(fields, "=")
		got := x.post(t, "/rules/lag", name, value, "server", "db1", "action", "save")
		if got.Code != http.StatusBadRequest || !strings.Contains(got.body, `name="`+field+`" value="`+value) && !strings.Contains(got.body, `value="`+value+`"`) || !strings.Contains(got.body, `aria-invalid="true"`) {
			t.Errorf("%s: %d", fields, got.Code)
		}
	}
	if got := x.post(t, "/rules/lag", "server", "db1", "action", "reset"); got.Code != http.StatusSeeOther || len(x.alerts.settings) != 2 {
		t.Errorf("%d %+v", got.Code, x.alerts.settings)
	}
	if got := x.post(t, "/rules/lag", "server", "nobody", "action", "save"); got.Code != http.StatusNotFound {
		t.Errorf("%d", got.Code)
	}
}

func TestBackTestOfLimits(t *testing.T) {
	x := newFleet(t, 3)
	got := x.post(t, "/rules/lag", "limit.warn.lag", "30", "server", "db2", "days", "2", "action", "test")
	if got.Code != http.StatusOK || !strings.Contains(got.body, "would have opened <strong>1 time</strong> in 2 days") || !strings.Contains(got.body, `value="30"`) {
		t.Errorf("%d %.300s", got.Code, got.body)
	}
	want := monolith.BackTest{Rule: "lag", Limits: map[string]map[string]float64{"warn": {"lag": 30}}, Servers: []monolith.ServerID{x.store.servers[1].ID}, From: noon.Add(-48 * time.Hour), To: noon}
	if diff := cmp.Diff(want, x.alerts.tested); diff != "" {
		t.Error(diff)
	}
	checkMarkup(t, "back-test", got.body)
	if len(x.alerts.settings) != 0 {
		t.Error("a back-test keeps nothing")
	}
}

func TestOwnRulesOnPages(t *testing.T) {
	x := newFleet(t, 3)
	bad := x.post(t, "/rules/new", "source", "rubbish\n", "action", "save")
	for _, want := range []string{"Line 1: this is no rule.", "begin with id", "column 3", "   1  rubbish\n        ^", ">rubbish\n</textarea>"} {
		if !strings.Contains(bad.body, want) {
			t.Errorf("%d: the page lacks %q", bad.Code, want)
		}
	}
	if got := x.post(t, "/rules/new", "source", "id: a<b>\r\n", "action", "check"); got.Code != http.StatusOK || !strings.Contains(got.body, "The rule can be read") || len(x.alerts.own) != 0 {
		t.Errorf("%d", got.Code)
	}
	got := x.post(t, "/rules/new", "source", "id: mine\n", "by", "eve", "action", "save")
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/rules/mine?done=rule-saved" || x.alerts.own[0].By != "eve" {
		t.Errorf("%d %s", got.Code, got.Header().Get("Location"))
	}
	for source, at := range map[string]string{"id: mine\n": "/rules/new", "id: lag\n": "/rules/new", "id: other\n": "/rules/mine/edit"} {
		if got := x.post(t, at, "source", source, "action", "save"); got.Code != http.StatusBadRequest {
			t.Errorf("%s at %s: %d", source, at, got.Code)
		}
	}
	if got := x.post(t, "/rules/mine/edit", "source", "id: mine\n# more\n", "action", "save"); got.Code != http.StatusSeeOther || x.alerts.own[0].Version != 2 {
		t.Errorf("%d %+v", got.Code, x.alerts.own)
	}
	if got := x.post(t, "/rules/mine/edit", "source", "id: mine\n", "days", "1", "server", "db1", "action", "test"); got.Code != http.StatusOK || !strings.Contains(got.body, "in 1 day") || x.alerts.tested.Source == "" {
		t.Errorf("%d", got.Code)
	}
	if got := x.html(t, "/rules/lag/edit"); got.Code != http.StatusConflict {
		t.Errorf("a built-in rule can be edited: %d", got.Code)
	}
	if got := x.post(t, "/rules/mine/delete"); got.Code != http.StatusSeeOther || len(x.alerts.own) != 0 {
		t.Errorf("%d", got.Code)
	}
}

// TestWhatARuleComparesHasItsLimits: each quantity is a line, those of one unit in one panel, with the limits that it is
// compared with as they stand.
func TestWhatARuleComparesHasItsLimits(t *testing.T) {
	rule := &monolith.RuleInfo{When: []monolith.RuleCondition{{Compares: []monolith.RuleComparison{{Name: "long", Limit: "long", Alone: true}}},
		{Compares: []monolith.RuleComparison{{Name: "short", Limit: "short"}, {Name: "share", Limit: "other"}}}}}
	d := &graph.Drawing{}
	drawTested(d, &monolith.BackTestServer{Times: []int64{60, 120}, Lines: []monolith.BackTestLine{{Name: "long", Value: monolith.Floats{1, 2}}, {Name: "share", Unit: "%", Value: monolith.Floats{7, 8}},
		{Name: "short", Value: monolith.Floats{3, math.NaN()}}}}, time.Minute)
	two, four, ten := 2., 4., 10.
	drawLimits(d, rule, limitsOfAlert(&monolith.Alert{Level: monolith.LevelCritical, Values: []monolith.AlertValue{{Name: "long", Limit: &two}, {Name: "short", Limit: &four}, {Name: "share", Limit: &ten}, {Name: "load"}}}))
	if len(d.Panels) != 2 || len(d.Panels[0].Lines) != 2 || d.Panels[0].Lines[1].Name != "short" || d.Panels[1].Unit != "%" || d.Step != 60 {
		t.Fatalf("%+v", d)
	}
	if l := d.Panels[0].Limits; len(l) != 2 || l[0].Name != "long" || l[1].Value != 4 || l[1].Level != monolith.LevelCritical {
		t.Errorf("%+v", l)
	}
	if l := d.Panels[1].Limits; len(l) != 0 {
		t.Errorf("a limit of another name is drawn: %+v", l)
	}
	d = &graph.Drawing{}
	if drawTested(d, &monolith.BackTestServer{Note: "no history"}, time.Minute); len(d.Panels) != 0 || d.Note != "no history" {
		t.Errorf("%+v", d)
	}
}

func TestMarkedLine(t *testing.T) {
	const source = "id: x\nif: a > b\n"
	for detail, want := range map[string]string{"line 2: column 5: b is unknown": "   2  if: a > b\n          ^", "line 2: no": "   2  if: a > b", "line 9: x": "", "line": "", "line x": "", "no place": "",
		"line 1: column x": "   1  id: x", "line 1: column 99": "   1  id: x"} {
		if got := markedLine(source, &problem{Detail: detail}); got != want {
			t.Errorf("%s: %q, want %q", detail, got, want)
		}
	}
}

func TestSettingsAreCopied(t *testing.T) {
	x := newFleet(t, 3)
	if got := x.post(t, "/servers/db1/alerts/copy", "to", "db2", "to", "db3"); got.Code != http.StatusSeeOther || len(x.alerts.copied) != 2 {
		t.Errorf("%d %v", got.Code, x.alerts.copied)
	}
	if got := x.post(t, "/servers/db1/alerts/copy"); got.Code != http.StatusBadRequest || !strings.Contains(got.body, "No server is chosen.") {
		t.Errorf("%d", got.Code)
	}
}

func TestQuietTimesOnPages(t *testing.T) {
	x := newFleet(t, 3)
	got := x.post(t, "/quiet/silences", "place", "server:db1", "rule", "lag", "end", "3h", "reason", "known", "by", "eve")
	want := monolith.Silence{ID: 101, Server: x.store.servers[0].ID, Rule: "lag", From: noon, To: noon.Add(3 * time.Hour), By: "eve", Reason: "known"}
	if diff := cmp.Diff([]monolith.Silence{want}, x.alerts.silences); got.Code != http.StatusSeeOther || diff != "" {
		t.Errorf("%d %s", got.Code, diff)
	}
	for _, way := range [][]string{{"end", ""}, {"end", "2026-03-14 11:00"}, {"place", "server:nobody", "end", "1h"}, {"rule", "nothing", "end", "1h"}, {"end", "1h"}, {"place", "group:nowhere", "end", "1h"}} {
		if got := x.post(t, "/quiet/silences", way...); got.Code < 400 || !strings.Contains(got.body, `class="error"`) {
			t.Errorf("%v: %d", way, got.Code)
		}
	}
	if got := x.post(t, "/quiet/silences", "remove", "101"); got.Code != http.StatusSeeOther || len(x.alerts.silences) != 0 {
		t.Errorf("%d", got.Code)
	}

	got = x.post(t, "/quiet/windows", "title", "patch day", "place", "group:acme/prod", "start", "2026-03-28 22:00", "duration", "2h", "zone", "Europe/Berlin", "every", "week", "weekdays", "sat", "weekdays", "sun", "until", "2026-12-31")
	if got.Code != http.StatusSeeOther || len(x.alerts.windows) != 1 {
		t.Fatalf("%d %.500s", got.Code, got.body)
	}
	w := x.alerts.windows[0]
	if w.Group != "acme/prod" || w.Start.Format(time.RFC3339) != "2026-03-28T22:00:00+01:00" || w.Duration != 2*time.Hour || len(w.Weekdays) != 2 || w.Until.IsZero() {
		t.Errorf("%+v", w)
	}
	body := x.html(t, "/quiet?window=102").body
	for _, want := range []string{"each Saturday, Sunday at 22:00 Europe/Berlin for 2h", `value="2026-03-28 22:00"`, `value="2h"`, `value="sat" checked`, "Change “patch day”"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if got := x.post(t, "/quiet/windows", "window", "102", "title", "patch night", "start", "2026-03-28 23:00", "duration", "1h"); got.Code != http.StatusSeeOther || x.alerts.windows[0].Title != "patch night" {
		t.Errorf("%d %+v", got.Code, x.alerts.windows)
	}
	for _, way := range [][]string{{"title", ""}, {"title", "x", "start", ""}, {"title", "x", "start", "2026-03-28 22:00", "duration", "forever"}, {"title", "x", "start", "2026-03-28 22:00", "duration", "1h", "zone", "Moon"}} {
		if got := x.post(t, "/quiet/windows", way...); got.Code < 400 || !strings.Contains(got.body, `class="error"`) {
			t.Errorf("%v: %d", way, got.Code)
		}
	}
}

// TestLimitsAndBandsOnGraphs: a line that a rule judges has the rule's limits, and stands before the times in which an
// alert was open.
func TestLimitsAndBandsOnGraphs(t *testing.T) {
	rules := []monolith.RuleInfo{{ID: "threads", Title: "Threads", Let: []monolith.RuleQuantity{{Name: "running", Is: "greatest(0, status.Threads_running - 1)"}},
		When: []monolith.RuleCondition{{Compares: []monolith.RuleComparison{{Name: "running", Limit: "running", Alone: true}}}}},
		{ID: "plain", When: []monolith.RuleCondition{{Compares: []monolith.RuleComparison{{Name: "status.Threads_running", Limit: "n", Alone: true}}}}},
		{ID: "both", When: []monolith.RuleCondition{{Compares: []monolith.RuleComparison{{Name: "status.Open_files", Limit: "n"}}}}}}
	all := comparisonsOf(rules)
	for expr, want := range map[string]string{"greatest(0,status.Threads_running-1)": "running", "status.Threads_running": "n"} {
		if got := all[expr]; len(got) != 1 || got[0].Limit != want {
			t.Errorf("%s: %+v", expr, all)
		}
	}
	if len(all) != 2 {
		t.Errorf("%+v", all)
	}

	x := newFleet(t, 3)
	srv := &x.store.servers[0]
	id := x.alerts.open(srv, "lag", monolith.LevelCritical, noon.Add(-30*time.Minute))
	d := &graph.Drawing{Panels: []graph.PanelDrawing{{Lines: []graph.Line{{Expr: "replica.lag", Inputs: []string{"replica.lag"}, Style: graph.StyleLine}, {Expr: "replica.lag", Style: graph.StyleStack}}}}}
	other := &graph.Drawing{Panels: []graph.PanelDrawing{{Lines: []graph.Line{{Expr: "rate(status.Questions)", Inputs: []string{"status.Questions"}}}}}}
	if err := x.judgeDrawings(t.Context(), srv, view{from: noon.Add(-time.Hour), to: noon}, []*graph.Drawing{d, other}); err != nil {
		t.Fatal(err)
	}
	if len(d.Bands) != 1 || d.Bands[0].Level != monolith.LevelCritical || !d.Bands[0].To.IsZero() || len(other.Bands) != 0 {
		t.Errorf("%+v %+v", d.Bands, other.Bands)
	}
	body := x.get(t, alertPath("/alerts/%d/drawing.json", "", id)).body
	if !strings.Contains(body, `"note"`) {
		t.Errorf("%s", body) // the fake has no values
	}
	if svg := x.get(t, alertPath("/alerts/%d/drawing.svg", "", id)); svg.Code != http.StatusOK || !strings.HasPrefix(svg.body, "<svg") {
		t.Errorf("%d", svg.Code)
	}
}

func TestLevelsOverTime(t *testing.T) {
	a := monolith.Alert{Level: monolith.LevelWarn, Opened: noon.Add(-4 * time.Hour)}
	steps := levelSteps(&a, []monolith.AlertEvent{{Kind: monolith.EventOpened, Level: monolith.LevelInfo, At: a.Opened}, {Kind: monolith.EventNote, At: noon},
		{Kind: monolith.EventRaised, Level: monolith.LevelCritical, At: noon.Add(-3 * time.Hour)}, {Kind: monolith.EventLowered, Level: monolith.LevelWarn, At: noon.Add(-time.Hour)}}, noon)
	bars := levelBars(steps)
	if len(bars) != 3 || bars[0].Level != monolith.LevelInfo || bars[1].X != 250 || bars[1].Width != 500 || bars[1].Height != 18 || bars[2].Level != monolith.LevelWarn {
		t.Errorf("%+v", bars)
	}
	if bars := levelBars(levelSteps(&a, nil, noon)); len(bars) != 1 || bars[0].Level != monolith.LevelWarn || bars[0].Width != 1000 {
		t.Errorf("%+v", bars)
	}
	if got := writeNumber(math.NaN()); got != "" {
		t.Errorf("%q", got)
	}
}

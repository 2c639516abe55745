package web

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"monolith"
)

// alertPaths lists an address of every page about alerts; %s stands for a server's name and %d for an alert.
var alertPaths = []string{"/", "/?level=critical", "/?level=unknown", "/alerts", "/alerts?by=rule", "/alerts?by=server", "/alerts?state=all", "/alerts?state=closed&from=-7d&rule=lag", "/alerts?level=warn",
	"/alerts/%d", "/servers/%s", "/servers/%s/alerts", "/servers/%s/alerts?state=cannot_evaluate", "/rules", "/rules?q=lag", "/rules/lag", "/rules/lag?place=server:%s", "/rules/lag?group=client1", "/rules/scans?state=ok", "/rules/mine",
	"/rules/new", "/rules/mine/edit", "/quiet", "/quiet?window=9", "/quiet?server=%s&rule=lag"}

func alertPath(path, server string, id monolith.AlertID) string {
	return strings.NewReplacer("%s", url.PathEscape(server), "%d", fmt.Sprint(id)).Replace(path)
}

func TestEveryAlertPageRenders(t *testing.T) {
	for _, n := range []int{1, 12, 1000} {
		x := newFleet(t, n)
		if n == 12 {
			x.fillGroups()
		}
		id := x.fillAlerts(t, "")
		for _, path := range alertPaths {
			if n != 12 && strings.Contains(path, "group=") {
				continue
			}
			path = alertPath(path, "db1", id)
			a := x.html(t, path)
			if a.Code != http.StatusOK {
				t.Errorf("%d servers: %s: %d: %.300s", n, path, a.Code, x.log)
				continue
			}
			checkMarkup(t, path, a.body)
		}
	}
}

// TestAlertOfTheMonitor: one that is about no server has a page, and stands on the first screen whatever group is chosen.
func TestAlertOfTheMonitor(t *testing.T) {
	x := newFleet(t, 3)
	id := x.alerts.open(&monolith.Server{}, "scans", monolith.LevelCritical, noon.Add(-time.Minute))
	x.alerts.edit(id, func(a *monolith.Alert) { a.Text = "Most servers are out of reach at once." })
	a := x.html(t, fmt.Sprintf("/alerts/%d", id))
	if a.Code != http.StatusOK || !strings.Contains(a.body, "Monolith itself") || strings.Contains(a.body, `id="range"`) {
		t.Errorf("%d", a.Code)
	}
	checkMarkup(t, "alert", a.body)
	if body := x.html(t, "/?group=acme/prod").body; !strings.Contains(body, "Title of scans") {
		t.Error("the first screen hides what is about Monolith itself")
	}
	if a := x.get(t, fmt.Sprintf("/alerts/%d/drawing.json", id)); a.Code != http.StatusOK {
		t.Errorf("%d %s", a.Code, a.body)
	}
}

// fillGroups adds the groups above those that hold servers.
func (x *site) fillGroups() {
	x.store.groups = append(x.store.groups, monolith.Group{Path: "client1"})
}

func TestHostileTextsOfAlerts(t *testing.T) {
	for i, evil := range hostileTexts {
		x := newFleet(t, 6)
		name := evil[:min(len(evil), 128)]
		x.store.servers[0].Name = name
		id := x.fillAlerts(t, evil)
		x.alerts.edit(id, func(a *monolith.Alert) { a.ServerName, a.Group = name, evil })
		for _, path := range alertPaths {
			if strings.Contains(path, "group=") {
				continue
			}
			if before, query, both := strings.Cut(path, "?"); both {
				path = before + "?" + strings.ReplaceAll(query, "%s", url.QueryEscape(name))
			}
			path = alertPath(path, name, id)
			a := x.html(t, path)
			if a.Code != http.StatusOK {
				t.Errorf("%d: %s: %d", i, path, a.Code)
				continue
			}
			checkMarkup(t, path, a.body)
		}
	}
}

func TestAlertPagesWithoutRuleEngine(t *testing.T) {
	x := newFleet(t, 3, func(c *Config) { c.Alerts = nil })
	for _, path := range []string{"/alerts", "/rules", "/quiet", "/servers/db1/alerts"} {
		if a := x.html(t, path); a.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, a.Code)
		}
	}
	if a := x.html(t, "/"); a.Code != http.StatusOK || strings.Contains(a.body, "critical") || strings.Contains(a.body, ">Alerts") {
		t.Errorf("%d", a.Code)
	}
	if a := x.html(t, "/servers/db1"); strings.Contains(a.body, "/servers/db1/alerts") {
		t.Error("a tab leads to alerts that are not there")
	}
}

func TestOpenCausesOfTheFirstScreen(t *testing.T) {
	x := newFleet(t, 12)
	id := x.fillAlerts(t, "")
	body := x.html(t, "/").body
	for _, want := range []string{"<b>1</b> critical", "<b>1</b> warn", "<b>2</b> info", "<b>1</b> cannot evaluate", "2 alerts that follow from it", "412 s behind (limit 300 s)", "taken by bob", "acknowledged by eve", "silenced until",
		fmt.Sprintf(`<a href="/alerts/%d">Replication lag</a>`, id)} {
		if !strings.Contains(body, want) {
			t.Errorf("the first screen lacks %q", want)
		}
	}
	if n := strings.Count(body, `<tr class="info"`) + strings.Count(body, `<tr class="warn"`) + strings.Count(body, `<tr class="critical`); n != 4 {
		t.Errorf("%d causes, want 4", n)
	}
	if at, later := strings.Index(body, `<tr class="critical`), strings.Index(body, `<tr class="info"`); at > later {
		t.Error("the worst is not the first")
	}
	for level, want := range map[string]string{"critical": "db1", "warn": "db6", "unknown": "db1"} {
		body := x.html(t, "/?level="+level).body
		if n := strings.Count(body, `<tr id="server-`); n != 1 || !strings.Contains(body, `data-server="`+want+`"`) {
			t.Errorf("level=%s: %d servers", level, n)
		}
	}
}

func TestRollUpEndsWhateverParentsSay(t *testing.T) {
	alerts := []monolith.Alert{{ID: 1, Parent: 2}, {ID: 2, Parent: 1}, {ID: 3, Parent: 9}, {ID: 4, Parent: 3}, {ID: 5, Parent: 4}, {ID: 6, Parent: 6}}
	rows := rollUp(alerts)
	seen := 0
	for _, r := range rows {
		seen += 1 + len(r.Children)
	}
	if seen != len(alerts) {
		t.Errorf("%d of %d alerts are shown: %+v", seen, len(alerts), rows)
	}
	for _, r := range rows {
		if r.ID == 3 && len(r.Children) != 2 {
			t.Errorf("the cause has %d children", len(r.Children))
		}
	}
}

// post sends a form as a browser does.
func (x *site) post(tb testing.TB, target string, fields ...string) answer {
	tb.Helper()
	form := url.Values{}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return x.do(tb, http.MethodPost, target, form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html", "Referer", "http://localhost:8080/?by=none")
}

func TestPeopleActOnAlerts(t *testing.T) {
	x := newFleet(t, 3)
	id := x.alerts.open(&x.store.servers[0], "lag", monolith.LevelWarn, noon.Add(-time.Hour))
	at := fmt.Sprintf("/alerts/%d", id)
	now := func() monolith.Alert { a, _ := x.alerts.Alert(t.Context(), id); return a }

	got := x.post(t, at+"/do/ack", "by", "eve", "note", "seen")
	if got.Code != http.StatusSeeOther || got.Header().Get("Location") != "/?by=none&done=acked" {
		t.Errorf("%d %s", got.Code, got.Header().Get("Location"))
	}
	if a := now(); a.AckedBy != "eve" || a.AckNote != "seen" {
		t.Errorf("%+v", a)
	}
	if c := got.Header().Get("Set-Cookie"); !strings.Contains(c, "by=eve") || !strings.Contains(c, "HttpOnly") {
		t.Errorf("the name is not kept: %q", c)
	}
	if got := x.post(t, at+"/do/take"); got.Code != http.StatusBadRequest || !strings.Contains(got.body, "Who takes it?") {
		t.Errorf("%d", got.Code)
	}
	if got := x.do(t, http.MethodPost, at+"/do/take", "", "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html", "Cookie", "by=bob"); got.Code != http.StatusSeeOther || now().Owner != "bob" {
		t.Errorf("%d %+v", got.Code, now())
	}
	for _, way := range []struct {
		fields []string
		want   time.Time
	}{
		{[]string{"until", "1h"}, noon.Add(time.Hour)}, {[]string{"until", "tomorrow"}, time.Date(2026, 3, 15, 8, 0, 0, 0, time.UTC)}, {[]string{"until", "close"}, time.Time{}},
		{[]string{"until", "own", "end", "3h"}, noon.Add(3 * time.Hour)}, {[]string{"until", "own", "end", "2026-03-14 18:00"}, noon.Add(6 * time.Hour)},
	} {
		if got := x.post(t, at+"/do/silence", way.fields...); got.Code != http.StatusSeeOther || !now().Silenced.Equal(way.want) {
			t.Errorf("%v: %d, until %v", way.fields, got.Code, now().Silenced)
		}
	}
	x.alerts.edit(id, func(a *monolith.Alert) { a.Silenced = monolith.UntilClosed() })
	if body := x.html(t, "/alerts").body; !strings.Contains(body, "silenced until it closes") {
		t.Error("a silence without an end of its own is told as a date")
	}
	for _, end := range []string{"", "yesterday", "2026-03-14 11:00"} {
		if got := x.post(t, at+"/do/silence", "until", "own", "end", end); got.Code != http.StatusBadRequest || !strings.Contains(got.body, `name="end"`) {
			t.Errorf("%q: %d", end, got.Code)
		}
	}
	// Where it is silenced until it closes the service gives the last year that can be written.
	x.alerts.edit(id, func(a *monolith.Alert) { a.Silenced = time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) })
	if got := x.get(t, "/alerts"); !strings.Contains(got.body, "silenced until it closes") || strings.Contains(got.body, "9999") {
		t.Error("the list of alerts names the year 9999")
	}
	x.alerts.edit(id, func(a *monolith.Alert) { a.Closed = noon })
	if got := x.post(t, at+"/do/ack"); got.Code != http.StatusConflict || !strings.Contains(got.body, "The alert is closed.") {
		t.Errorf("%d", got.Code)
	}
	if got := x.post(t, at+"/do/note", "note", "it was the backup"); got.Code != http.StatusSeeOther || !strings.Contains(x.html(t, at).body, "it was the backup") {
		t.Errorf("%d", got.Code)
	}
	for _, path := range []string{at + "/do/explode", "/alerts/99999/do/ack"} {
		if got := x.post(t, path); got.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}

func TestAlertHistoryIsPaged(t *testing.T) {
	x := newFleet(t, 3)
	for i := range 2*alertsOfPage + 50 {
		x.alerts.open(&x.store.servers[i%3], "lag", monolith.LevelWarn, noon.Add(-time.Duration(i)*time.Minute))
	}
	seen, target := 0, "/alerts?state=all&server=db1&level=warn"
	for range 5 {
		body := x.html(t, target).body
		seen += strings.Count(body, `<td class="a-level">`)
		_, rest, more := strings.Cut(body, `rel="next" href="`)
		if !more {
			break
		}
		next, _, _ := strings.Cut(rest, `"`)
		target = strings.ReplaceAll(next, "&amp;", "&")
	}
	if want := 150; seen != want {
		t.Errorf("%d alerts on all pages, want %d", seen, want)
	}
	for _, bad := range []string{"level=terrible", "from=never", "server=nobody", "cursor=x"} {
		if a := x.html(t, "/alerts?state=all&"+bad); a.Code != http.StatusOK || !strings.Contains(a.body, `role="alert"`) {
			t.Errorf("%s is not explained: %d", bad, a.Code)
		}
	}
}

func TestNoRuleIsSilentOnTheTab(t *testing.T) {
	x := newFleet(t, 12)
	x.fillAlerts(t, "")
	body := x.html(t, "/servers/db1/alerts").body
	for _, want := range []string{"cannot evaluate 1", "open 1", "the privilege PROCESS is missing", "innodb.transactions", "Table scans", "Replication lag"} {
		if !strings.Contains(body, want) {
			t.Errorf("the tab lacks %q", want)
		}
	}
	if body := x.html(t, "/servers/db1/alerts?state=cannot_evaluate").body; strings.Contains(body, `<th scope="row"><a href="/rules/lag?`) || !strings.Contains(body, "Table scans") {
		t.Error("the filter of states does not work")
	}
	if body := x.html(t, "/servers/db1").body; !strings.Contains(body, "412 s behind") {
		t.Error("the overview does not show what is open")
	}
}

// TestAlertsOfOneRuleAreOneRow: four accounts without password on one server are one thing to do.
func TestAlertsOfOneRuleAreOneRow(t *testing.T) {
	x := newFleet(t, 3)
	var ids []monolith.AlertID
	for i := range 4 {
		ids = append(ids, x.alerts.open(&x.store.servers[i/3], "lag", monolith.LevelWarn, noon.Add(time.Duration(i)*time.Minute)))
	}
	for _, page := range []string{"/servers/db1", "/servers/db1/alerts"} {
		if body := x.html(t, page).body; strings.Count(body, `<td class="a-level">`) != 1 || !strings.Contains(body, "2 more of this rule here") || !strings.Contains(body, "▲ 3") {
			t.Errorf("%s does not fold", page)
		}
	}
	for _, page := range []string{"/", "/alerts", "/alerts?by=server", "/alerts?by=rule"} {
		body := x.html(t, page).body
		if n := strings.Count(body, `<td class="a-level">`); n != 2 || !strings.Contains(body, "2 more of this rule here") || !strings.Contains(body, "Acknowledge all") {
			t.Errorf("%s: %d rows", page, n)
		}
	}
	if body := x.html(t, "/alerts").body; !strings.Contains(body, "<b>4</b> open") {
		t.Error("what is folded is not counted")
	}
	if got := x.post(t, fmt.Sprintf("/alerts/%d/do/ack", ids[2]), "also", fmt.Sprint(ids[0]), "also", fmt.Sprint(ids[1]), "also", "9999"); got.Code != http.StatusSeeOther {
		t.Errorf("%d", got.Code)
	}
	for i, id := range ids {
		if a, _ := x.alerts.Alert(t.Context(), id); a.AckedAt.IsZero() != (i == 3) {
			t.Errorf("alert %d: acknowledged at %v", i, a.AckedAt)
		}
	}
	if got := x.post(t, fmt.Sprintf("/alerts/%d/do/ack", ids[2]), "also", "x"); got.Code != http.StatusNotFound {
		t.Errorf("%d", got.Code)
	}
	// Those that nobody has seen are not hidden under those that are acknowledged.
	x.alerts.open(&x.store.servers[0], "lag", monolith.LevelInfo, noon)
	x.alerts.open(&x.store.servers[0], "lag", monolith.LevelInfo, noon)
	if n := strings.Count(x.html(t, "/").body, `<td class="a-level">`); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
}

// TestFoldedGroupsTellTheirWorst: a group that stands for its servers says how bad it is in there.
func TestFoldedGroupsTellTheirWorst(t *testing.T) {
	x := newFleet(t, 1000)
	x.alerts.open(&x.store.servers[0], "lag", monolith.LevelCritical, noon)
	if body := x.html(t, "/").body; !strings.Contains(body, `<a class="level critical" href="/alerts?group=client1%2fprod" title="1 open alert, the worst is critical">1 critical</a>`) {
		t.Error("the group does not tell")
	}
}

package web

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"monolith"
)

// measuredStore says what a test wants of its size.
type measuredStore struct {
	Store
	usage    monolith.Usage
	estimate monolith.Estimate
}

func (m *measuredStore) Usage(context.Context) (monolith.Usage, error) { return m.usage, nil }

func (m *measuredStore) Estimate(context.Context, monolith.Retention) (monolith.Estimate, error) {
	return m.estimate, nil
}

func newMeasured(t *testing.T) (*site, *measuredStore) {
	t.Helper()
	m := &measuredStore{}
	x := newSite(t, func(c *Config) { m.Store, c.Store = c.Store, m })
	return x, m
}

func TestWaitingPollsWarnOnlyWhenSomethingIsWrong(t *testing.T) {
	const plain, warned = "<dt>Waiting to be written</dt><dd>1 poll", `<dt>Waiting to be written</dt><dd class="warned">▲ 1 poll`
	for name, c := range map[string]struct {
		usage monolith.Usage
		want  string
	}{
		"in health":      {monolith.Usage{Spool: monolith.SpoolUsage{Polls: 1, Bytes: 900, Limit: 1 << 20, Oldest: noon.Add(-2 * time.Second)}}, plain},
		"for long":       {monolith.Usage{Spool: monolith.SpoolUsage{Polls: 1, Oldest: noon.Add(-6 * time.Second)}}, warned},
		"lost some":      {monolith.Usage{Spool: monolith.SpoolUsage{Polls: 1, Oldest: noon, Dropped: 3}}, warned},
		"after an error": {monolith.Usage{Spool: monolith.SpoolUsage{Polls: 1, Oldest: noon}, LastCommit: noon.Add(-time.Second), LastErrorAt: noon, LastError: "disk full"}, warned},
		"mended":         {monolith.Usage{Spool: monolith.SpoolUsage{Polls: 1, Oldest: noon}, LastCommit: noon, LastErrorAt: noon.Add(-time.Hour), LastError: "disk full"}, plain},
	} {
		x, m := newMeasured(t)
		m.usage = c.usage
		if page := x.html(t, "/settings"); !strings.Contains(page.body, c.want) {
			t.Errorf("%s: the page lacks %s", name, c.want)
		}
	}
	x, _ := newMeasured(t)
	if page := x.html(t, "/settings"); strings.Contains(page.body, "Waiting to be written") {
		t.Error("nothing waits, and it says that something does")
	}
}

func TestSizesNotMeasuredYetAreNotZero(t *testing.T) {
	x, m := newMeasured(t)
	tiers := []monolith.TierEstimate{{Tier: "raw"}, {Tier: "10m"}, {Tier: "1h"}}
	m.estimate = monolith.Estimate{Tiers: tiers}
	page := x.html(t, "/settings")
	if !strings.Contains(page.body, "<strong>not known yet</strong>: a quarter of an hour of polls is needed first") ||
		!strings.Contains(page.body, `<dt>Grows by</dt><dd><span class="muted">not known yet`) {
		t.Errorf("it does not say that the size is not known: %s", page.body)
	}
	if estimate := cutBetween(t, page.body, `id="estimate"`, "</table>"); strings.Contains(estimate, "0 B") {
		t.Errorf("a size that is not known is 0 B: %s", estimate)
	}
	tiers[0].BytesPerDay, tiers[0].Bytes = 1<<20, 30<<20
	m.estimate, m.usage.BytesPerDay = monolith.Estimate{Tiers: tiers, Bytes: 30 << 20}, 1<<20
	if page := x.html(t, "/settings"); strings.Contains(page.body, "not known yet:") || !strings.Contains(page.body, "30 MiB") {
		t.Errorf("what is known is not said: %s", page.body)
	}
}

// cutBetween gives what stands between two texts of a page.
func cutBetween(t *testing.T, body, from, to string) string {
	t.Helper()
	_, rest, ok := strings.Cut(body, from)
	part, _, end := strings.Cut(rest, to)
	if !ok || !end {
		t.Fatalf("the page lacks %q … %q", from, to)
	}
	return part
}

func TestZoneThatDoesNotExistIsExplainedAtItsField(t *testing.T) {
	x := newFleet(t, 3)
	form := []string{"Accept", "text/html", "Content-Type", "application/x-www-form-urlencoded"}
	bad := x.do(t, http.MethodPost, "/preferences", "theme=dark&zone=Mars%2FOlympus", form...)
	field := cutBetween(t, bad.body, `<label for="zone">`, "</form>")
	if bad.Code != http.StatusUnprocessableEntity || !strings.Contains(bad.body, `id="retention-form"`) ||
		!strings.Contains(field, "There is no time zone Mars/Olympus.") || !strings.Contains(field, `value="Mars/Olympus"`) || !strings.Contains(field, `aria-invalid="true"`) {
		t.Errorf("%d: %s", bad.Code, field)
	}
	if c := bad.Result().Cookies(); len(c) != 0 {
		t.Errorf("kept something of a form that is wrong: %v", c)
	}
	good := x.do(t, http.MethodPost, "/preferences", "theme=dark&zone=Europe%2FBerlin", form...)
	if c := good.Result().Cookies(); good.Code != http.StatusSeeOther || len(c) != 2 {
		t.Errorf("%d, cookies %v", good.Code, c)
	}
}

func TestZoneInTheAddress(t *testing.T) {
	x := newFleet(t, 3)
	for tz, says := range map[string]string{"Mars%2FOlympus": "There is no time zone &#34;Mars/Olympus&#34;", "Local": "There is no time zone", "Europe%2FBerlin": "", "browser": ""} {
		a := x.html(t, "/servers/db1?tz="+tz)
		if found := strings.Contains(a.body, "There is no time zone"); a.Code != http.StatusOK || found != (says != "") || !strings.Contains(a.body, says) {
			t.Errorf("%s: %d, a note: %t, want %q", tz, a.Code, found, says)
		}
	}
}

func TestPreferencesKeepOnlyWhatTheyKnow(t *testing.T) {
	x := newFleet(t, 1)
	a := x.do(t, http.MethodPost, "/preferences", "theme="+strings.Repeat("x", 60_000), "Content-Type", "application/x-www-form-urlencoded")
	if c := a.Result().Cookies(); a.Code != http.StatusSeeOther || len(c) != 1 || c[0].Value != "" {
		t.Errorf("%d, %d cookies", a.Code, len(c))
	}
}

func TestShortenedAddressLeadsToTheList(t *testing.T) {
	x := newFleet(t, 1, func(c *Config) { c.BasePath = "/dba" })
	a := x.html(t, "/dba/servers?sort=name")
	if to := a.Header().Get("Location"); a.Code != http.StatusFound || to != "/dba/?sort=name" {
		t.Errorf("%d to %q", a.Code, to)
	}
}

func TestGroupThatCannotGoIsExplainedInItsList(t *testing.T) {
	x := newFleet(t, 3)
	a := x.do(t, http.MethodPost, "/settings/groups", "action=remove&path=acme%2Fprod", "Accept", "text/html", "Content-Type", "application/x-www-form-urlencoded")
	if groups := cutBetween(t, a.body, `id="groups"`, "<table"); a.Code != http.StatusConflict || !strings.Contains(groups, "still holds servers") {
		t.Errorf("%d: %s", a.Code, groups)
	}
}

func TestPagesThatAreNotThereLeadToTheirLists(t *testing.T) {
	x := newFleet(t, 3)
	for path, links := range map[string][]string{
		"/servers/db1/graphs/never":    {`href="/servers/db1/graphs"`, `href="/"`},
		"/servers/nowhere":             {`href="/"`},
		"/servers/nowhere/graphs/none": {`href="/"`},
		"/graphs/own-999":              {`href="/graphs"`, `href="/"`},
		"/nothing":                     {`href="/"`},
	} {
		a := x.html(t, path)
		if a.Code != http.StatusNotFound || strings.Contains(a.body, "/api/v1/") {
			t.Errorf("%s: %d speaks of the interface to a person: %s", path, a.Code, cutBetween(t, a.body, "<main", "</main>"))
		}
		ways := cutBetween(t, a.body, `<p class="buttons">`, "</p>")
		for _, link := range links {
			if !strings.Contains(ways, link) {
				t.Errorf("%s: %s is not among %s", path, link, ways)
			}
		}
	}
	if a := x.html(t, "/servers/db11"); !strings.Contains(a.body, "Did you mean &#34;") {
		t.Error("a near name is not offered")
	}
}

func TestGroupsDefaultsAreEditedInTheirList(t *testing.T) {
	x := newFleet(t, 3, func(c *Config) {
		c.CheckSchedule = func(expression, _ string) error {
			if expression != "@every 5s" {
				return monolith.Invalid("schedule", "no schedule is written "+expression)
			}
			return nil
		}
	})
	send := func(form string) answer {
		return x.do(t, http.MethodPost, "/settings/groups", "action=save&"+form, "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html")
	}
	if a := send("path=acme%2Fprod&environment=prod&time_zone=Europe%2FBerlin&schedules.fast=%40every+5s"); a.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", a.Code, a.body)
	}
	groups, _ := x.store.Groups(t.Context())
	if g := groups[len(groups)-1]; len(groups) != 1 || g.Environment != "prod" || g.TimeZone != "Europe/Berlin" || g.Schedules[monolith.Fast] != "@every 5s" || len(g.Schedules) != 1 {
		t.Errorf("kept %+v", groups)
	}
	list := cutBetween(t, x.html(t, "/settings").body, `id="groups"`, "</table>")
	for _, want := range []string{`<option value="prod" selected>`, `name="time_zone" value="Europe/Berlin"`, `name="schedules.fast" value="@every 5s"`, `name="schedules.slow" value=""`} {
		if !strings.Contains(list, want) {
			t.Errorf("the list lacks %s", want)
		}
	}
	for form, want := range map[string]string{"path=acme%2Fprod&schedules.fast=often": "No schedule is written often", "path=acme%2Fprd": "There is no group"} {
		a := send(form)
		if said := cutBetween(t, a.body, `id="groups"`, "<table"); a.Code < 400 || !strings.Contains(said, want) {
			t.Errorf("%s: %d %s", form, a.Code, said)
		}
	}
	if groups, _ := x.store.Groups(t.Context()); len(groups) != 1 || groups[0].Environment != "prod" {
		t.Errorf("what was refused is kept: %+v", groups)
	}
}

// The first page offers the statements that deploy/grants has.
func TestFirstPageOffersTheAccountOfTheGrants(t *testing.T) {
	body := html.UnescapeString(newFleet(t, 0).html(t, "/").body)
	for _, file := range []string{"mysql.sql", "mariadb.sql"} {
		text, err := os.ReadFile("../deploy/grants/" + file)
		if err != nil {
			t.Fatal(err)
		}
		var statements []string
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "--") && strings.TrimSpace(line) != "" {
				statements = append(statements, strings.TrimSpace(line))
			}
		}
		if want := "<code>" + strings.Join(statements, "\n") + "</code>"; len(statements) < 3 || !strings.Contains(body, want) {
			t.Errorf("the page lacks what %s says: %s", file, want)
		}
	}
}

// TestFormWithAWrongPortKeepsTheRest: what was typed below the field that is wrong is not lost.
func TestFormWithAWrongPortKeepsTheRest(t *testing.T) {
	x := newFleet(t, 1)
	a := x.do(t, http.MethodPost, "/servers/new", "name=new&endpoint.host=h&endpoint.port=33o6&heartbeat_table=hb.beat&tags=billing&ram=16+GiB",
		"Accept", "text/html", "Content-Type", "application/x-www-form-urlencoded")
	for _, want := range []string{"33o6", "no port", `value="hb.beat"`, "billing", `value="16 GiB"`} {
		if !strings.Contains(a.body, want) {
			t.Errorf("%d: the form lost %s", a.Code, want)
		}
	}
}

// The form that the page shows, sent as it is, keeps what is kept.
func TestRetentionIsSavedFromItsPage(t *testing.T) {
	x := newSite(t)
	x.store.retention.DeliveryDays = 45
	page := x.html(t, "/settings").body
	form := url.Values{"action": {"save"}}
	for _, m := range regexp.MustCompile(`name="(\w+_(?:days|bytes))" value="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	form.Set("alert_days", "90")
	want := x.store.retention
	want.AlertDays = 90
	got := x.do(t, http.MethodPost, "/settings/retention", form.Encode(), "Accept", "text/html", "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin")
	if got.Code != http.StatusSeeOther || x.store.retention != want {
		t.Errorf("%d, kept %+v, want %+v", got.Code, x.store.retention, want)
	}
	form.Set("delivery_days", "0")
	if got := x.do(t, http.MethodPost, "/settings/retention", form.Encode(), "Accept", "text/html", "Content-Type", "application/x-www-form-urlencoded", "Sec-Fetch-Site", "same-origin"); got.Code != http.StatusUnprocessableEntity || x.store.retention != want {
		t.Errorf("no days at all: %d, kept %+v", got.Code, x.store.retention)
	}
}

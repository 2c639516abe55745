package web

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"monolith"
)

// allPages lists an address of every page; %s stands for a server's name, escaped.
var allPages = []string{"/", "/?by=none&sort=-qps", "/?state=stale&q=db&env=prod", "/servers/new", "/servers/%s", "/servers/%s/edit",
	"/servers/%s/graphs", "/servers/%s/graphs/query-rate?ago=1&from=-7d", "/servers/%s/graphs/own-77", "/servers/%s/graphs/explore?expr=rate(status.Questions)",
	"/servers/%s/changes", "/servers/%s/replication", "/servers/%s/processes?idle=1", "/servers/%s/status", "/servers/%s/status?namespace=host&q=cpu",
	"/servers/%s/variables", "/servers/%s/variables?against_at=-1d", "/servers/%s/variables/max_connections", "/servers/%s/schemas", "/servers/%s/accounts",
	"/servers/%s/monitoring", "/graphs", "/graphs/new?expr=rate(status.Questions)", "/graphs/own-77/edit", "/settings"}

// html reads an address as a browser does.
func (x *site) html(tb testing.TB, target string) answer {
	tb.Helper()
	return x.get(tb, target, "Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
}

func TestEveryPageRenders(t *testing.T) {
	for _, n := range []int{0, 3, 1000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			x := newFleet(t, n)
			for _, path := range allPages {
				if strings.Contains(path, "%s") {
					if n == 0 {
						continue
					}
					path = fmt.Sprintf(path, "db1")
				}
				a := x.html(t, path)
				if a.Code != http.StatusOK {
					t.Errorf("%s: %d: %.300s", path, a.Code, x.log)
					continue
				}
				checkMarkup(t, path, a.body)
			}
		})
	}
}

// TestFirstScreenOfAFleet holds what the list must tell apart.
func TestFirstScreenOfAFleet(t *testing.T) {
	x := newFleet(t, 60)
	body := x.html(t, "/").body
	for _, want := range []string{">unreachable<", "connection to 10.0.0.14:3306 was refused", "✖ stopped", ">paused<", ">late<", "1 problem<",
		`replica of <a href="/servers/db1">db1</a>`, ">primary<", ">standalone<", "MySQL 8.4.3", `data-group="client1/prod"`, "max_connections"} {
		if !strings.Contains(body, want) {
			t.Errorf("the first screen lacks %q", want)
		}
	}
	if n := strings.Count(body, `<tr id="server-`); n != 60 {
		t.Errorf("%d rows, want 60", n)
	}
	if !regexp.MustCompile(`<tr id="server-14" class="server off"`).MatchString(body) {
		t.Error("a server that is off must show its last values greyed")
	}
}

func TestFilterAndSortLiveInTheAddress(t *testing.T) {
	x := newFleet(t, 60)
	order := func(target string) []string {
		var names []string
		for _, m := range regexp.MustCompile(`data-server="([^"]+)"`).FindAllStringSubmatch(x.html(t, target).body, -1) {
			names = append(names, m[1])
		}
		return names
	}
	if got := order("/?state=unreachable"); !slices.Equal(got, []string{"db14", "db54"}) {
		t.Errorf("unreachable: %v", got)
	}
	if got := order("/?q=db59"); !slices.Contains(got, "db59") || len(got) > 2 {
		t.Errorf("search: %v", got)
	}
	if got := order("/?group=client3"); len(got) != 12 {
		t.Errorf("a group holds its sub-groups: %v", got)
	}
	by := order("/?by=none&sort=-uptime")
	if by[0] != "db40" || by[1] != "db39" {
		t.Errorf("by uptime: %v …", by[:3])
	}
	lags := order("/?by=none&sort=-lag")
	if lags[0] != "db32" {
		t.Errorf("a stopped replica is worse than any lag: %v", lags[:3])
	}
}

// hostileTexts are texts that monitored servers and people could send.
var hostileTexts = []string{`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `]]></script>`, `javascript:alert(1)`, "\u202eевил\u202c ← مرحبا",
	strings.Repeat("very-long-name-", 30), `a/b?c#d%2e&e=f`, `'; DROP TABLE x; --`, "{{.Server}}"}

// TestHostileTexts puts hostile texts everywhere and looks for any that came through as markup.
func TestHostileTexts(t *testing.T) {
	for i, evil := range hostileTexts {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			x := newFleet(t, 3)
			name := evil
			if len(name) > 128 {
				name = name[:128]
			}
			s := &x.store.servers[0]
			s.Name, s.Group, s.Tags, s.BackupUsers = name, evil, []string{evil}, []string{evil}
			s.Endpoint.Host, s.Endpoint.User, s.HeartbeatTable = evil, evil, evil
			snap := fleetPoll(s.ID, 1, 3, noon)
			snap.Identity.VersionText, snap.Identity.Comment, snap.Identity.Hostname = evil, evil, evil
			snap.Replicas[0].SourceHost, snap.Replicas[0].SQLError, snap.Replicas[0].IOState, snap.Replicas[0].Channel = evil, evil, evil, evil
			snap.Replicas[0].SQL = monolith.ThreadNo
			for j := range snap.Processes.Rows {
				p := &snap.Processes.Rows[j]
				p.User, p.Host, p.DB, p.State, p.Info, p.Command = evil, evil, evil, evil, evil, evil
			}
			snap.Processes.ByUser = []monolith.Count{{Name: evil, Count: 1}}
			snap.Schemas.Schemas[0].Schema, snap.Schemas.Largest[0].Table = evil, evil
			snap.Accounts[0].User, snap.Accounts[0].Plugin = evil, evil
			snap.Sections[1].TextNames = monolith.NewNames([]monolith.Metric{{Name: "variable." + evil}, {Name: "variable.datadir"}})
			snap.Sections[1].Texts = []string{evil, evil}
			snap.Problems = []monolith.Problem{{Collector: evil, Kind: monolith.ProblemPrivilege, Text: evil, Cure: evil}}
			x.poller.take(snap)
			x.store.changes = []monolith.Change{{ID: 1, Server: s.ID, At: noon, Name: "variable." + evil, From: evil, To: evil}}
			x.store.marks = []monolith.Mark{{ID: 2, Server: s.ID, At: noon.Add(-time.Minute), Kind: monolith.MarkNote, Text: evil}}
			x.store.graphs[0].Title = evil
			for _, path := range allPages {
				path = strings.Replace(path, "%s", url.PathEscape(name), 1)
				if strings.Contains(path, "variables/max_connections") {
					continue // this server no longer has it
				}
				a := x.html(t, path)
				if a.Code != http.StatusOK {
					t.Errorf("%s: %d", path, a.Code)
					continue
				}
				checkMarkup(t, path, a.body)
			}
			bad := x.html(t, "/servers/"+url.PathEscape(evil+"?")+"/status")
			checkMarkup(t, "not found", bad.body)
		})
	}
}

// checkMarkup reads a page as a tree: no element or attribute may stand there that the templates do
// not write, which is how a text that was not escaped would show.
func checkMarkup(t *testing.T, path, body string) {
	t.Helper()
	if !strings.HasPrefix(body, "<!doctype html>") || !strings.HasSuffix(strings.TrimSpace(body), "</html>") {
		t.Errorf("%s is no whole page: %.80q … %q", path, body, body[max(0, len(body)-40):])
	}
	if strings.Contains(body, "ZgotmplZ") {
		t.Errorf("%s: a template had to drop an unsafe address", path)
	}
	dec := xml.NewDecoder(strings.NewReader(strings.ReplaceAll(body, "<!doctype html>", "")))
	dec.Strict, dec.AutoClose, dec.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	scripts := 0
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Errorf("%s: markup: %v", path, err)
			return
		}
		e, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		if e.Name.Local == "script" {
			scripts++
		}
		for _, a := range e.Attr {
			switch {
			case strings.HasPrefix(a.Name.Local, "on"), a.Name.Local == "style":
				t.Errorf("%s: <%s %s=%q> is forbidden by the content security policy", path, e.Name.Local, a.Name.Local, a.Value)
			case (a.Name.Local == "href" || a.Name.Local == "src" || a.Name.Local == "action") &&
				!strings.HasPrefix(a.Value, "/") && !strings.HasPrefix(a.Value, "#") && !strings.HasPrefix(a.Value, "?"):
				t.Errorf("%s: <%s %s=%q> leads away", path, e.Name.Local, a.Name.Local, a.Value)
			}
		}
	}
	if scripts > 1 {
		t.Errorf("%s holds %d scripts", path, scripts)
	}
}

// TestBasePath holds that every address on every page lies below the base path.
func TestBasePath(t *testing.T) {
	x := newFleet(t, 3, func(c *Config) { c.BasePath = "/dba" })
	for _, path := range allPages {
		if strings.Contains(path, "%s") {
			path = fmt.Sprintf(path, "db1")
		}
		body := x.html(t, "/dba"+path).body
		for _, m := range regexp.MustCompile(`(?:href|src|action|srcset|data-url|data-source)="(/[^"]*)"`).FindAllStringSubmatch(body, -1) {
			if !strings.HasPrefix(m[1], "/dba/") && m[1] != "/dba" {
				t.Errorf("%s: %s", path, m[1])
			}
		}
	}
}

func TestAssetsAreHashedAndImmutable(t *testing.T) {
	x := newFleet(t, 0)
	css := regexp.MustCompile(`href="(/assets/app\.[0-9a-f]{8}\.css)"`).FindStringSubmatch(x.html(t, "/").body)
	if css == nil {
		t.Fatal("the page names no style sheet")
	}
	a := x.get(t, css[1], "Accept-Encoding", "gzip")
	if a.Code != 200 || a.Header().Get("Content-Encoding") != "gzip" || !strings.Contains(a.Header().Get("Cache-Control"), "immutable") ||
		!strings.HasPrefix(a.Header().Get("Content-Type"), "text/css") {
		t.Errorf("%d %v", a.Code, a.Header())
	}
	if again := x.get(t, css[1], "Accept-Encoding", "gzip", "If-None-Match", a.Header().Get("Etag")); again.Code != http.StatusNotModified {
		t.Errorf("asked again: %d", again.Code)
	}
}

func TestServerFormKeepsWhatWasTypedAndSaysWhere(t *testing.T) {
	x := newFleet(t, 3)
	post := func(target string, form url.Values) answer {
		return x.do(t, http.MethodPost, target, form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html", "Sec-Fetch-Site", "same-origin")
	}
	a := post("/servers/new", url.Values{"endpoint.host": {"db9.example:3307"}, "endpoint.user": {"mon"}, "endpoint.password": {"canary-Zx9"}, "ram": {"16 parsecs"}})
	if a.Code != http.StatusBadRequest || !strings.Contains(a.body, "is not an amount of memory") || !strings.Contains(a.body, `value="db9.example"`) || !strings.Contains(a.body, `value="16 parsecs"`) {
		t.Errorf("%d: the form must come back with what was typed and the error", a.Code)
	}
	if strings.Contains(a.body, "canary") {
		t.Error("the password came back")
	}
	a = post("/servers/new", url.Values{"endpoint.host": {"db9.example:3307"}, "endpoint.user": {"mon"}, "endpoint.password": {"secret"}, "ram": {"16 GiB"}, "group": {"/acme/prod/"}, "tags": {"a, b"}, "schedules.fast": {"@every 1s"}})
	if a.Code != http.StatusSeeOther || a.Header().Get("Location") != "/servers/db9.example:3307?done=added" {
		t.Fatalf("%d %s", a.Code, a.Header().Get("Location"))
	}
	got, err := x.store.Server(t.Context(), "db9.example:3307")
	if err != nil || got.Endpoint.Port != 3307 || got.RAM != 16<<30 || got.Group != "acme/prod" || !slices.Equal(got.Tags, []string{"a", "b"}) ||
		got.Schedules[monolith.Fast] != "@every 1s" || got.Endpoint.Password.Reveal() != "secret" {
		t.Errorf("%+v %v", got, err)
	}
	// Another target needs the password again; the same one keeps it.
	form := url.Values{"name": {"db1"}, "endpoint.host": {"evil.example"}, "endpoint.user": {"monolith"}}
	if a = post("/servers/db1/edit", form); a.Code != http.StatusBadRequest || !strings.Contains(a.body, "password is needed again") {
		t.Errorf("%d", a.Code)
	}
	form.Set("endpoint.host", "10.0.0.1")
	form.Set("name", "db one")
	if a = post("/servers/db1/edit", form); a.Code != http.StatusSeeOther {
		t.Errorf("%d %.200s", a.Code, a.body)
	}
	if got, _ = x.store.Server(t.Context(), "db one"); got.Endpoint.Password.Reveal() != "canary-Zx9" {
		t.Error("the kept password is lost")
	}
	// A test of another address must not send the kept password there.
	form.Set("endpoint.host", "evil.example")
	form.Set("action", "test")
	if a = post("/servers/db%20one/edit", form); a.Code != http.StatusOK || !strings.Contains(a.body, `id="report"`) {
		t.Errorf("%d", a.Code)
	}
	if last := x.poller.tested[len(x.poller.tested)-1]; last.Endpoint.Password != "" {
		t.Error("the kept password was sent to another place")
	}
	if a = post("/servers/db%20one/do/remove", url.Values{"confirm": {"wrong"}}); a.Code != http.StatusUnprocessableEntity {
		t.Errorf("removed without its name: %d", a.Code)
	}
	if a = post("/servers/db%20one/do/remove", url.Values{"confirm": {"db one"}}); a.Code != http.StatusSeeOther {
		t.Errorf("%d", a.Code)
	}
}

func TestGraphEditorFindsTheLineOfAnError(t *testing.T) {
	x := newFleet(t, 3)
	form := url.Values{"title": {"mine"}, "unit": {"1/s"}, "expr": {"rate(status.Questions)", "", "rate(status.Questoins)"}, "name": {"q", "", "oops"}, "style": {"area", "line", "line"}, "axis": {"", "", ""}}
	send := func(target string) answer {
		return x.do(t, http.MethodPost, target, form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html")
	}
	a := send("/graphs/new")
	if a.Code != http.StatusBadRequest || !strings.Contains(a.body, "Questions") || strings.Count(a.body, `aria-invalid="true"`) != 1 {
		t.Errorf("%d: one line must be marked", a.Code)
	}
	p := x.do(t, http.MethodPost, "/graphs/preview?from=-1h", form.Encode()+"&preview=db1", "Content-Type", "application/x-www-form-urlencoded", "Accept", "application/json")
	if p.Code != http.StatusBadRequest || !strings.Contains(p.body, `"field":"expr.1"`) || !strings.Contains(p.body, `"column":`) {
		t.Errorf("%d %s", p.Code, p.body)
	}
	form["expr"][2] = "rate(status.Com_select)"
	if a = send("/graphs/new"); a.Code != http.StatusSeeOther {
		t.Fatalf("%d", a.Code)
	}
	edit := x.html(t, a.Header().Get("Location")+"/edit").body
	if !strings.Contains(edit, `value="rate(status.Com_select)"`) || !strings.Contains(edit, `<option selected>area`) {
		t.Error("the saved graph does not come back into the fields")
	}
}

func TestNotesStandOnTheTimeline(t *testing.T) {
	x := newFleet(t, 3)
	send := func(form url.Values) answer {
		return x.do(t, http.MethodPost, "/servers/db1/changes", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html")
	}
	if a := send(url.Values{"text": {"deploy 7"}, "at": {"2026-03-14 09:30"}}); a.Code != http.StatusSeeOther {
		t.Fatalf("%d", a.Code)
	}
	body := x.html(t, "/servers/db1/changes").body
	if !strings.Contains(body, "deploy 7") || !strings.Contains(body, `datetime="2026-03-14T09:30:00Z"`) {
		t.Error("the note is not there, or at another time")
	}
	if a := send(url.Values{"text": {"x"}, "at": {"yesterday"}}); a.Code != http.StatusUnprocessableEntity || !strings.Contains(a.body, "is not a time") {
		t.Errorf("%d", a.Code)
	}
}

func TestTimelinePagesLoseNothing(t *testing.T) {
	x := newFleet(t, 1)
	x.store.changes, x.store.marks = nil, nil
	for i := range 700 {
		x.store.changes = append(x.store.changes, monolith.Change{ID: int64(i + 1), Server: 1, At: noon.Add(-time.Duration((700-i)/150) * time.Hour),
			Name: fmt.Sprintf("variable.v%03d", i), From: "0", To: "1"})
	}
	seen := map[string]int{}
	for target, pages := "/servers/db1/changes", 0; target != "" && pages < 10; pages++ {
		body := x.html(t, target).body
		for _, m := range regexp.MustCompile(`>(v\d{3})<`).FindAllStringSubmatch(body, -1) {
			seen[m[1]]++
		}
		next := regexp.MustCompile(`href="([^"]*before=[^"]*)">Older`).FindStringSubmatch(body)
		if target = ""; next != nil {
			target = strings.ReplaceAll(next[1], "&amp;", "&")
		}
	}
	if len(seen) != 700 {
		t.Errorf("%d of 700 changes are on the pages", len(seen))
	}
	for name, n := range seen {
		if n > 1 {
			t.Errorf("%s stands on %d pages", name, n)
		}
	}
}

// TestLookAtPages serves an invented fleet for people to look at, at the address in MONOLITH_LOOK, for
// as long as the test may run.
func TestLookAtPages(t *testing.T) {
	addr := os.Getenv("MONOLITH_LOOK")
	if addr == "" || addr == "shots" {
		t.Skip("set MONOLITH_LOOK=127.0.0.1:8090 to look at the pages of an invented fleet; -timeout says for how long")
	}
	n := 3
	fmt.Sscan(os.Getenv("MONOLITH_LOOK_SERVERS"), &n)
	x := newFleet(t, n, func(c *Config) { c.Now = time.Now })
	go x.keepPolling(t)
	server := &http.Server{Addr: addr, Handler: x.Handler(), ReadHeaderTimeout: time.Second}
	t.Log(server.ListenAndServe())
}

func BenchmarkFirstScreen(b *testing.B) {
	x := newFleet(b, 1000)
	for b.Loop() {
		if a := x.html(b, "/"); a.Code != http.StatusOK {
			b.Fatal(a.Code)
		}
	}
}

func BenchmarkRowsOnScreen(b *testing.B) {
	x := newFleet(b, 1000)
	for b.Loop() {
		if a := x.html(b, "/rows?server=db1&server=db2&server=db3&server=db4&server=db5"); a.Code != http.StatusOK {
			b.Fatal(a.Code)
		}
	}
}

// upStore answers that a server was read but for half a day, six days ago, in which it only said that it was up;
// before began it was not polled.
type upStore struct {
	Store
	now, began time.Time
}

func (u upStore) Read(_ context.Context, q monolith.Query) (*monolith.Range, error) {
	r := &monolith.Range{Start: q.From.Truncate(q.Step), Step: q.Step}
	s := monolith.Series{Metric: monolith.Metric{Name: q.Metrics[0]}}
	for t := r.Start; t.Before(q.To); t = t.Add(q.Step) {
		v := 1.0
		switch ago := u.now.Sub(t); {
		case t.Before(u.began):
			v = math.NaN()
		case ago > 6*24*time.Hour && ago <= 6*24*time.Hour+12*time.Hour:
			if v = 0; q.Metrics[0] == "server.up" {
				v = 1
			}
		}
		s.Avg = append(s.Avg, v)
	}
	r.N, r.Series = len(s.Avg), []monolith.Series{s}
	return r, nil
}

func TestAvailability(t *testing.T) {
	now := time.Date(2026, 3, 31, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		began         time.Time
		value, detail string
	}{
		{now.Add(-90 * 24 * time.Hour), "100 %", "7 d 92.85 %, 30 d 98.33 %"}, // rounded down
		{now.Add(-time.Hour), "100 %", "7 d 100 %, 30 d 100 %"},
	} {
		var a availability
		facts, err := a.of(t.Context(), upStore{now: now, began: c.began}, 1, now)
		if err != nil {
			t.Fatal(err)
		}
		if len(facts) != 1 || facts[0].Value != c.value || strings.ReplaceAll(facts[0].Detail, "\u00a0", " ") != c.detail {
			t.Errorf("polled since %v: got %+v", c.began, facts)
		}
	}
	var a availability
	if facts, err := a.of(t.Context(), upStore{now: now, began: now}, 1, now); err != nil || len(facts) > 0 {
		t.Errorf("a server without history is said to be available: %+v, %v", facts, err)
	}
}

// Open pages ask at each poll: history is read once, and again a minute later.
func TestAvailabilityIsReadOnceAMinute(t *testing.T) {
	x := newSite(t)
	x.add(t, "db1", "")
	read := func() int {
		before := x.store.reads
		if got := x.html(t, "/servers/db1"); got.Code != http.StatusOK {
			t.Fatal(got.Code)
		}
		return x.store.reads - before
	}
	if first, second := read(), read(); first != 1 || second != 0 {
		t.Errorf("two looks at the overview read history %d and %d times", first, second)
	}
	x.clock = x.clock.Add(availabilityGood)
	if again := read(); again != 1 {
		t.Errorf("a minute later it was read %d times", again)
	}
	x.availability.of(t.Context(), x.store, 99, x.clock.Add(2*availabilityGood))
	if n := len(x.availability.known); n != 1 {
		t.Errorf("%d servers are remembered, also those long not looked at", n)
	}
}

// A form that can't be decoded is the sender's mistake, not ours.
func TestFormsThatCanNotBeRead(t *testing.T) {
	x := newFleet(t, 1)
	for _, path := range []string{"/servers/db1/edit", "/graphs/new", "/graphs/preview"} {
		for _, body := range []string{"name=%zz", "name=a;b=c"} {
			if got := x.do(t, http.MethodPost, path, body, "Content-Type", "application/x-www-form-urlencoded"); got.Code != http.StatusBadRequest {
				t.Errorf("POST %s with %q: %d", path, body, got.Code)
			}
		}
	}
}

func TestHeadHasNoEmptyParts(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "acme/prod")
	snap := poll(s.ID, 1, 10, nil)
	snap.Rows, snap.Replicas = monolith.Rows{}, nil // replication was not read: the role is not known
	x.poller.take(snap)
	crumbs := cutBetween(t, x.html(t, "/servers/db1").body, `<span class="crumbs parted">`, `<span class="space">`)
	if !strings.Contains(crumbs, "acme/prod") || !strings.Contains(crumbs, "<span>MariaDB 10.11.6</span>") || strings.Contains(crumbs, "<span></span>") || strings.Contains(crumbs, "·") {
		t.Errorf("the head says %s", crumbs)
	}
}

func TestCollectorsCountRunsAndLateOnesApart(t *testing.T) {
	x := newFleet(t, 1)
	table := cutBetween(t, x.html(t, "/servers/db1/monitoring").body, `<table class="collectors">`, "</table>")
	head, body, _ := strings.Cut(table, "</thead>")
	if strings.Count(head, "<th>")+strings.Count(head, "<th ") != 11 || !strings.Contains(head, ">Runs</th>") || !strings.Contains(head, ">Late</th>") ||
		strings.Count(body, "<td")+strings.Count(body, "<th ") != 11 {
		t.Errorf("the table of collectors: %s", table)
	}
}

func TestNameThatIsNotThereLeadsToTheNearest(t *testing.T) {
	x := newFleet(t, 3)
	if got := x.html(t, "/servers/bd1/status"); got.Code != http.StatusNotFound || !strings.Contains(got.body, `<a class="button" href="/servers/db1">db1</a>`) {
		t.Errorf("%d %s", got.Code, got.body)
	}
}

package web

import (
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"monolith"
)

var (
	rowPattern  = regexp.MustCompile(`<tr id="server-\d+"[^>]* data-server="([^"]+)"`)
	foldPattern = regexp.MustCompile(`<tr class="fold">`)
)

func rowsOfBody(body string) []string {
	var names []string
	for _, m := range rowPattern.FindAllStringSubmatch(body, -1) {
		names = append(names, m[1])
	}
	return names
}

func TestManyServersAreFoldedIntoTheirGroups(t *testing.T) {
	x := newFleet(t, 1000) // in 126 groups of eight
	x.store.groups = append(x.store.groups, monolith.Group{Path: "newcomer"})
	page := x.html(t, "/")
	if page.Code != http.StatusOK || len(rowsOfBody(page.body)) > 0 || len(foldPattern.FindAllString(page.body, -1)) != 126 {
		t.Fatalf("%d: %d rows, %d folded groups", page.Code, len(rowsOfBody(page.body)), len(foldPattern.FindAllString(page.body, -1)))
	}
	if len(page.body) > 500_000 {
		t.Errorf("the page has %d bytes", len(page.body))
	}
	if !strings.Contains(page.body, `newcomer`) || !strings.Contains(page.body, "Add a server here") {
		t.Error("a group without servers is lost")
	}
	// db14 stands in client1/stage and is off.
	row := cutBetween(t, page.body, `<tbody data-group="client1/stage">`, "</tbody>")
	for _, want := range []string{`href="/?group=client1%2Fstage"`, "8 servers", `href="/?group=client1%2Fstage&amp;state=unreachable">✖ 1 unreachable`, "● 6 up", `<a href="/servers/db14" title="unreachable: connection`, "the worst of the group: db"} {
		if !strings.Contains(row, want) {
			t.Errorf("the row of client1/stage lacks %s: %s", want, row)
		}
	}
	// One step opens a group, and the counts lead to what is wrong.
	if got := rowsOfBody(x.html(t, "/?group=client1%2Fstage").body); !slices.Equal(got, []string{"db2", "db5", "db8", "db11", "db14", "db17", "db20", "db23"}) {
		t.Errorf("the opened group: %v", got)
	}
	if got := rowsOfBody(x.html(t, "/?group=client1%2Fstage&state=unreachable").body); !slices.Equal(got, []string{"db14"}) {
		t.Errorf("what is unreachable in it: %v", got)
	}
	if got := rowsOfBody(x.html(t, "/?state=unreachable").body); len(got) != 25 {
		t.Errorf("%d unreachable, want 25 rows that are not folded", len(got))
	}
}

func TestLongListsHavePagesThatKeepTheirOrder(t *testing.T) {
	x := newFleet(t, 450)
	var all []string
	next := "/?by=none&sort=-uptime"
	for pages := 1; next != ""; pages++ {
		body := x.html(t, next).body
		rows := rowsOfBody(body)
		all = append(all, rows...)
		if from, to := len(all)-len(rows)+1, len(all); !strings.Contains(body, fmt.Sprintf("%d–%d of 450", from, to)) || pages > 3 {
			t.Fatalf("page %d holds %d rows", pages, len(rows))
		}
		next = ""
		if m := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(body); m != nil {
			next = strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	seen := slices.Compact(slices.Sorted(slices.Values(all)))
	if len(all) != 450 || len(seen) != 450 || all[0] != "db40" {
		t.Errorf("%d rows, %d servers, the first is %s", len(all), len(seen), all[0])
	}
	// A ranking is one of all servers, and a page that is not there is the last one.
	if got := rowsOfBody(x.html(t, "/?sort=-uptime").body); !slices.Equal(got, all[:200]) {
		t.Errorf("sorted without a word on groups: %d rows", len(got))
	}
	for _, page := range []string{"99", "3"} {
		if got := rowsOfBody(x.html(t, "/?by=none&sort=-uptime&page="+page).body); !slices.Equal(got, all[400:]) {
			t.Errorf("page %s: %d rows", page, len(got))
		}
	}
	// Another order begins at the first page.
	if body := x.html(t, "/?by=none&page=2").body; !strings.Contains(body, `href="/?by=none&amp;sort=-qps"`) || strings.Contains(body, "page=2&amp;sort") {
		t.Error("a heading that sorts keeps the page")
	}
}

// Servers without a group have no address that narrows to them: those that do not fit are counted.
func TestServersWithoutGroupAreNotFolded(t *testing.T) {
	x := newFleet(t, 300)
	for i := range x.store.servers[:290] {
		x.store.servers[i].Group = ""
	}
	body := x.html(t, "/").body
	if got := rowsOfBody(body); len(got) != rowsOfPage || !strings.Contains(body, "90 servers more without a group") || len(foldPattern.FindAllString(body, -1)) != 3 {
		t.Errorf("%d rows", len(got))
	}
	for i := range x.store.servers {
		x.store.servers[i].Group = ""
	}
	if body := x.html(t, "/").body; len(rowsOfBody(body)) != rowsOfPage || !strings.Contains(body, "1–200 of 300") {
		t.Error("servers without any group have pages")
	}
}

func TestFoldNamesTheWorst(t *testing.T) {
	nan := math.NaN()
	row := func(name, look string, v float64, l lag) serverRow {
		return serverRow{Server: monolith.Server{Name: name}, Health: health{Look: look}, Off: look == "bad" || look == "off",
			QPS: v, Conns: v, Hit: 100 - v, CPU: v, DiskFree: 1000 - v, Lag: l, Polled: noon.Add(-time.Duration(nanZero(v)) * time.Second)}
	}
	f := foldRows([]serverRow{row("a", "up", 5, lag{}), row("b", "warn", 50, lag{Any: true, Known: true, Seconds: 3}), row("c", "bad", 99, lag{Any: true, Stopped: true}),
		row("d", "up", nan, lag{Any: true, Known: true, Seconds: 7}), row("e", "off", 98, lag{})})
	if f.QPS != 55 || f.Up != 2 || f.Counts.All != 5 {
		t.Errorf("sums: %+v", f)
	}
	for what, got := range map[string]*serverRow{"connections": f.Conns, "hit": f.Hit, "cpu": f.CPU, "disk": f.Disk, "data": f.Oldest} {
		if got == nil || got.Server.Name != "b" {
			t.Errorf("%s: %+v, want b: values of servers that are off are old", what, got)
		}
	}
	if f.Lag.Server.Name != "d" || len(f.Wrong) != 2 || f.Wrong[0].Server.Name != "c" {
		t.Errorf("lag of %s, not well %v", f.Lag.Server.Name, f.Wrong)
	}
	if f := foldRows([]serverRow{row("a", "wait", nan, lag{})}); !math.IsNaN(f.QPS) || f.Conns != nil || f.Lag != nil {
		t.Errorf("what nobody knows is not 0: %+v", f)
	}
}

func TestLastChangeIsShort(t *testing.T) {
	for ago, want := range map[time.Duration]string{10*time.Hour + 46*time.Minute: ">10 h<", 4 * time.Second: ">4 s<", 26 * time.Hour: ">1 d<"} {
		if got := string(pageBase{Now: noon, location: time.UTC}.ShortAge(noon.Add(-ago))); !strings.Contains(got, want) || !strings.Contains(got, `data-show="short"`) {
			t.Errorf("%v: %s", ago, got)
		}
	}
	if body := newFleet(t, 3).html(t, "/").body; strings.Count(body, `data-show="short"`) != 3 {
		t.Error("the rows show the whole age")
	}
}

func TestSharesHaveAsManyFiguresAsHelp(t *testing.T) {
	for _, c := range []struct {
		v          float64
		plain, hit string
	}{{0, "0 %", "0 %"}, {0.449, "0.4 %", "0.4 %"}, {9.96, "10 %", "10 %"}, {75.28, "75 %", "75.3 %"}, {98.96, "99 %", "99 %"}, {99.9969, "100 %", "99.99 %"}, {100, "100 %", "100 %"}} {
		if got := string(pageBase{}.Percent(c.v)); !strings.Contains(got, ">"+c.plain+"<") || !strings.Contains(got, fmt.Sprintf(`title="%v %%"`, c.v)) {
			t.Errorf("%v: %s", c.v, got)
		}
		if got := string(pageBase{}.Hit(c.v)); !strings.Contains(got, ">"+c.hit+"<") {
			t.Errorf("hit %v: %s", c.v, got)
		}
	}
	if got := string(pageBase{}.Hit(math.NaN())); !strings.Contains(got, "no value") {
		t.Error(got)
	}
}

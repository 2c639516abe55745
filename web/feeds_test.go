package web

import (
	"context"
	"encoding/xml"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	ics "github.com/arran4/golang-ical"
	"github.com/mmcdole/gofeed"

	"monolith"
)

// NewestEvents and AlertsByID make a [FeedSource] of the fake engine.
func (f *fakeAlerts) NewestEvents(_ context.Context, q monolith.AlertEventQuery) (out []monolith.AlertEvent, err error) {
	defer f.lock()()
	for _, e := range slices.Backward(f.events) {
		i := slices.IndexFunc(f.alerts, func(a monolith.Alert) bool { return a.ID == e.Alert })
		if slices.Contains(q.Levels, e.Level) && monolith.InGroup(f.alerts[i].Group, q.Group) &&
			(len(q.Servers) == 0 || slices.Contains(q.Servers, f.alerts[i].Server)) {
			out = append(out, e)
		}
	}
	return out, f.broken
}

func (f *fakeAlerts) AlertsByID(_ context.Context, ids []monolith.AlertID) (map[monolith.AlertID]monolith.Alert, error) {
	defer f.lock()()
	out := map[monolith.AlertID]monolith.Alert{}
	for _, a := range f.alerts {
		if slices.Contains(ids, a.ID) {
			out[a.ID] = a
		}
	}
	return out, f.broken
}

// feedSite is a site with feeds of a server whose name and texts are hostile.
func feedSite(t *testing.T) (*site, *monolith.Server) {
	t.Helper()
	x := newSite(t, func(c *Config) { c.Feeds, c.Instance = c.Alerts.(*fakeAlerts), "abc123" })
	return x, x.add(t, "db3 ]]> <script>&\u202e", "acme/prod")
}

// readFeed reads a feed with a parser that is not ours, and lets xmllint look at it.
func readFeed(t *testing.T, x *site, path string) *gofeed.Feed {
	t.Helper()
	w := x.get(t, path)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.body)
	}
	if strings.Contains(w.body, "\u202e") {
		t.Errorf("%s: a text of a server turns the direction of writing", path)
	}
	f, err := gofeed.NewParser().ParseString(w.body)
	if err != nil {
		t.Fatalf("%s: %v\n%s", path, err, w.body)
	}
	if !strings.Contains(path, ".json") {
		lint := exec.CommandContext(t.Context(), "xmllint", "--noout", "-")
		lint.Stdin = strings.NewReader(w.body)
		if out, err := lint.CombinedOutput(); err != nil {
			t.Errorf("%s: xmllint: %v\n%s", path, err, out)
		}
	}
	return f
}

func TestFeeds(t *testing.T) {
	t.Parallel()
	x, server := feedSite(t)
	other := x.add(t, "db4", "acme/dev")
	x.alerts.open(other, "lag", monolith.LevelCritical, noon.Add(-time.Hour))
	x.alerts.open(other, "scans", monolith.LevelWarn, noon)
	id := x.alerts.open(server, "lag", monolith.LevelCritical, noon)
	for _, format := range []string{"rss", "atom", "json"} {
		path := "/feeds/critical." + format
		f := readFeed(t, x, path)
		if len(f.Items) != 2 {
			t.Fatalf("%s: %d items", format, len(f.Items))
		}
		item := f.Items[0]
		const guid = "tag:abc123.monolith.invalid,2026:alert:"
		if !strings.HasPrefix(item.GUID, guid) || item.Link != "http://localhost:8080/alerts/105" {
			t.Errorf("%s: guid %q, link %q", format, item.GUID, item.Link)
		}
		if !strings.Contains(item.Title, "[CRITICAL] acme/prod/db3 ]]> <script>&\uFFFD") || !strings.Contains(item.Title, "lag 90 s, limit 60 s") {
			t.Errorf("%s: title %q", format, item.Title)
		}
		if text := item.Content; !strings.Contains(text, "It lags. &lt;b&gt;\uFFFD") || strings.Contains(text, "<script>") {
			t.Errorf("%s: content %q", format, text)
		}
		if format != "json" && f.FeedLink != "http://localhost:8080"+path {
			t.Errorf("%s: the feed's own address is %q", format, f.FeedLink)
		}
		for query, want := range map[string]int{"?group=acme/dev": 1, "?group=acme": 2, "?server=db4": 1, "?server=db4&group=acme/prod": 0} {
			if f := readFeed(t, x, path+query); len(f.Items) != want {
				t.Errorf("%s%s: %d items, want %d", path, query, len(f.Items), want)
			}
		}
		if f := readFeed(t, x, "/feeds/info."+format); len(f.Items) != 0 {
			t.Errorf("%s: %d items at info", format, len(f.Items))
		}
	}

	// The alert closes: the same item, updated.
	before := readFeed(t, x, "/feeds/critical.atom").Items[0]
	if _, err := x.alerts.change(id, false, monolith.EventClosed, "", "", func(a *monolith.Alert) { a.Closed = noon.Add(time.Minute) }); err != nil {
		t.Fatal(err)
	}
	after := readFeed(t, x, "/feeds/critical.atom").Items[0]
	if after.GUID != before.GUID || !after.UpdatedParsed.After(*before.UpdatedParsed) || !after.PublishedParsed.Equal(*before.PublishedParsed) {
		t.Errorf("before %+v\nafter %+v", before, after)
	}
	if !strings.HasPrefix(after.Title, "Closed: ") || !strings.Contains(after.Content, "after 1m0s") {
		t.Errorf("closed: %q %q", after.Title, after.Content)
	}
}

// A feed is one and the same by whichever name the server is reached, and names the page with the same things, which is there.
func TestFeedIsOne(t *testing.T) {
	t.Parallel()
	x, server := feedSite(t)
	for path, want := range map[string][2]string{
		"/feeds/critical.atom":                                       {"critical", "/alerts?level=critical"},
		"/feeds/warn.atom?group=/acme/":                              {"warn?group=acme", "/alerts?group=acme&level=warn"},
		"/feeds/info.atom?server=" + url.QueryEscape(server.Name):    {"info?server=" + url.QueryEscape(server.Name), "/alerts?level=info&server=" + url.QueryEscape(server.Name)},
		"/feeds/changes.atom":                                        {"changes", "/"},
		"/feeds/changes.atom?group=acme":                             {"changes?group=acme", "/?group=acme"},
		"/feeds/changes.atom?server=" + url.QueryEscape(server.Name): {"changes?server=" + url.QueryEscape(server.Name), "/servers/" + url.PathEscape(server.Name) + "/changes"},
	} {
		w := x.get(t, path)
		var f struct {
			ID   string `xml:"id"`
			Link []struct {
				Rel  string `xml:"rel,attr"`
				Href string `xml:"href,attr"`
			} `xml:"link"`
		}
		if err := xml.Unmarshal([]byte(w.body), &f); err != nil {
			t.Fatal(err)
		}
		if f.ID != "tag:abc123.monolith.invalid,2026:feed:"+want[0] {
			t.Errorf("%s: id %q", path, f.ID)
		}
		for _, l := range f.Link {
			if l.Rel != "alternate" {
				continue
			}
			if l.Href != "http://localhost:8080"+want[1] {
				t.Errorf("%s: its page is %q, want %q", path, l.Href, want[1])
			}
			if page := x.get(t, strings.TrimPrefix(l.Href, "http://localhost:8080"), "Accept", "text/html"); page.Code != http.StatusOK {
				t.Errorf("%s: its page %q gives %d", path, l.Href, page.Code)
			}
		}
	}
}

func TestFeedOfChanges(t *testing.T) {
	t.Parallel()
	x, server := feedSite(t)
	x.store.changes = []monolith.Change{
		{ID: 8, Server: server.ID, At: noon, Name: "variable.init_connect", From: "]]>\x00", To: "\xff<i>"},
		{ID: 7, Server: server.ID + 9, At: noon, Name: "variable.max_connections", From: "1", To: "2"},
	}
	for _, format := range []string{"rss", "atom", "json"} {
		f := readFeed(t, x, "/feeds/changes."+format)
		if len(f.Items) != 1 || !strings.Contains(f.Items[0].Title, "init_connect ]]>\uFFFD → \uFFFD<i>") {
			t.Errorf("%s: %+v", format, f.Items)
		}
	}
}

func TestFeedConditional(t *testing.T) {
	t.Parallel()
	x, server := feedSite(t)
	x.alerts.open(server, "lag", monolith.LevelWarn, noon)
	w := x.get(t, "/feeds/warn.rss")
	tag, modified := w.Header().Get("Etag"), w.Header().Get("Last-Modified")
	if tag == "" || modified == "" {
		t.Fatalf("headers %v", w.Header())
	}
	for name, value := range map[string]string{"If-None-Match": tag, "If-Modified-Since": modified} {
		if w := x.get(t, "/feeds/warn.rss", name, value); w.Code != http.StatusNotModified || w.body != "" {
			t.Errorf("%s: %d %q", name, w.Code, w.body)
		}
	}
	x.clock = x.clock.Add(time.Hour)
	if again := x.get(t, "/feeds/warn.rss"); again.Header().Get("Etag") != tag {
		t.Error("an hour without news gives another feed")
	}
	// Acknowledged: the item says so at once, though the feed was kept.
	if _, err := x.alerts.Acknowledge(t.Context(), 101, "eve", "ticket 4711"); err != nil {
		t.Fatal(err)
	}
	if w := x.get(t, "/feeds/warn.rss"); !strings.Contains(w.body, "ticket 4711") {
		t.Error("an acknowledgement is not in the feed")
	}
	x.alerts.open(server, "scans", monolith.LevelWarn, noon.Add(time.Minute))
	if w := x.get(t, "/feeds/warn.rss", "If-None-Match", tag); w.Code != http.StatusOK {
		t.Errorf("with news: %d", w.Code)
	}
}

func TestFeedRefusals(t *testing.T) {
	t.Parallel()
	x, _ := feedSite(t)
	for path, want := range map[string]int{
		"/feeds/fatal.rss": http.StatusNotFound, "/feeds/ok.rss": http.StatusNotFound, "/feeds/warn.pdf": http.StatusNotFound,
		"/feeds/warn.rss?server=nobody": http.StatusNotFound, "/feeds/warn.rss?group=nowhere": http.StatusNotFound, "/feeds/warn.rss?levels=x": http.StatusBadRequest,
	} {
		if w := x.get(t, path); w.Code != want {
			t.Errorf("%s: %d, want %d: %s", path, w.Code, want, w.body)
		}
	}
	// Not an empty feed, which readers would take for "all is well".
	x.alerts.broken = monolith.ErrUnavailable
	if w := x.get(t, "/feeds/warn.rss"); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" {
		t.Errorf("while the store is away: %d %v", w.Code, w.Header())
	}
}

// A server that changes all the time does not push the changes of others out of the feeds that are narrowed to them.
func TestFeedOfChangesBesideANoisyServer(t *testing.T) {
	t.Parallel()
	x, server := feedSite(t)
	x.add(t, "db4", "acme/prod")
	noisy := x.add(t, "noisy", "other")
	x.store.changes = []monolith.Change{{ID: 1, Server: server.ID, At: noon, Name: "variable.max_connections", From: "151", To: "500"}}
	for i := range int64(3000) {
		x.store.changes = append(x.store.changes, monolith.Change{ID: 2 + i, Server: noisy.ID, At: noon, Name: "variable.gtid_executed", From: "1", To: "2"})
	}
	for path, want := range map[string]int{"": 100, "?group=acme": 1, "?server=db4": 0, "?server=db4&server=" + url.QueryEscape(server.Name): 1} {
		if f := readFeed(t, x, "/feeds/changes.rss"+path); len(f.Items) != want {
			t.Errorf("%s: %d items, want %d", path, len(f.Items), want)
		}
	}
	if err := x.store.PutGroup(t.Context(), monolith.Group{Path: "empty"}); err != nil {
		t.Fatal(err)
	}
	if f := readFeed(t, x, "/feeds/changes.rss?group=empty"); len(f.Items) != 0 {
		t.Errorf("a group without servers: %d items", len(f.Items))
	}
}

func TestMaintenanceCalendar(t *testing.T) {
	t.Parallel()
	x, server := feedSite(t)
	x.alerts.windows = []monolith.MaintenanceWindow{
		{ID: 1, Title: "Upgrade\r\nATTENDEE:evil " + strings.Repeat("ü数", 40), Server: server.ID, Start: noon.Add(time.Hour), Duration: 2 * time.Hour},
		{ID: 2, Group: "other", Start: noon.Add(-time.Hour), Duration: 30 * time.Minute},
		{ID: 3, Start: noon.Add(24 * time.Hour), Duration: time.Hour},
	}
	read := func(path string) []*ics.VEvent {
		w := x.get(t, path)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/calendar") {
			t.Fatalf("%s: %d %v", path, w.Code, w.Header())
		}
		if strings.Contains(w.body, "\nATTENDEE") {
			t.Errorf("a title became a line of its own:\n%s", w.body)
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(w.body, "\r\n"), "\r\n") {
			if len(line) > 75 || strings.ContainsAny(line, "\r\n") || !utf8.ValidString(line) {
				t.Errorf("%s: a line that RFC 5545 does not allow: %q", path, line)
			}
		}
		cal, err := ics.ParseCalendar(strings.NewReader(w.body))
		if err != nil {
			t.Fatalf("%v\n%s", err, w.body)
		}
		return cal.Events()
	}
	events := read("/feeds/maintenance.ics")
	if len(events) != 2 {
		t.Fatalf("%d events", len(events))
	}
	start, err := events[0].GetStartAt()
	if err != nil || !start.Equal(noon.Add(time.Hour)) {
		t.Errorf("begins %v, %v", start, err)
	}
	if got := events[0].GetProperty(ics.ComponentPropertyUniqueId).Value; !strings.HasPrefix(got, "tag:abc123.monolith.invalid,2026:maintenance:1:") {
		t.Errorf("id %q", got)
	}
	if events := read("/feeds/maintenance.ics?group=acme/prod"); len(events) != 2 {
		t.Errorf("of the group: %d events", len(events))
	}
	// One component at least, also without a window; or strict readers refuse the whole calendar.
	x.alerts.windows = nil
	w := x.get(t, "/feeds/maintenance.ics")
	cal, err := ics.ParseCalendar(strings.NewReader(w.body))
	if err != nil || len(cal.Events()) != 0 || len(cal.Timezones()) != 1 || !strings.Contains(w.body, "BEGIN:STANDARD\r\nDTSTART:19700101T000000\r\n") || !strings.Contains(w.body, "\r\nREFRESH-INTERVAL;VALUE=DURATION:PT1H\r\n") {
		t.Errorf("empty: %v\n%s", err, w.body)
	}
	if again := x.get(t, "/feeds/maintenance.ics", "If-None-Match", w.Header().Get("Etag")); again.Code != http.StatusNotModified {
		t.Errorf("the same calendar again: %d", again.Code)
	}
	if w := x.get(t, "/feeds/maintenance.ics?server=nobody"); w.Code != http.StatusNotFound {
		t.Errorf("an unknown server: %d", w.Code)
	}
}

func FuzzCleanXML(f *testing.F) {
	f.Add("a]]>\x00\xff\ufffe")
	f.Fuzz(func(t *testing.T, text string) {
		clean := cleanXML(text)
		if cleanXML(clean) != clean {
			t.Fatalf("%q is cleaned to %q, and that again", text, clean)
		}
	})
}

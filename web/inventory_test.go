package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"monolith"
)

// withoutStore is a site with two servers that were polled, seen once, whose store is gone since.
func withoutStore(t *testing.T) *site {
	t.Helper()
	x := newSite(t)
	a, b := x.add(t, "db1", "acme/prod"), x.add(t, "db2", "")
	x.store.groups = []monolith.Group{{Path: "acme"}, {Path: "acme/prod"}}
	x.store.changes = []monolith.Change{{Server: a.ID, At: noon.Add(-time.Hour), Name: "variable.max_connections", From: "100", To: "151"}}
	lag := int64(4)
	x.poller.take(poll(a.ID, 1, 100, &lag))
	x.poller.take(poll(b.ID, 1, 100, nil))
	x.clock = noon.Add(15 * time.Second)
	if got := x.get(t, "/", "Accept", "text/html"); got.Code != http.StatusOK || strings.Contains(got.body, "since <time") {
		t.Fatalf("with its store: %d %s", got.Code, got.body)
	}
	x.store.broken = fmt.Errorf("store: list servers: %w", monolith.ErrUnavailable)
	x.clock = noon.Add(20 * time.Second)
	x.store.stats = monolith.StoreStatistics{SpoolPolls: 17, SpoolBytes: 5000, FailingSince: noon.Add(18 * time.Second)}
	return x
}

func TestPagesGoOnWithoutTheStore(t *testing.T) {
	x := withoutStore(t)
	for target, words := range map[string][]string{
		"/":                        {"db1", "db2", "acme", "max_connections"},
		"/servers/db1":             {"db1", "The store could not tell", "what was changed lately", "how much of the time", "graphs of your own", "10.11.6"},
		"/servers/db1/replication": {"db1"},
		"/servers/db1/processes":   {"db1"},
		"/servers/db1/status":      {"Threads_running"},
		"/servers/db1/monitoring":  {"status"},
		"/servers/db1/graphs":      {"The store could not tell the graphs of your own", "query-rate"},
		"/servers/db1/variables":   {"max_connections", "The store could not tell when variables were changed"},
		"/servers/db1/schemas":     {"db1"},
		"/servers/db1/accounts":    {"db1"},
		"/rows?server=db1":         {"db1"},

		"/servers/db1/changes":                   {"The store could not tell what was changed, restarts and notes", "as soon as the store answers", `aria-current="page">Changes`},
		"/servers/db1/variables/max_connections": {"<code>151</code>", "The store could not tell the history of this variable", `aria-current="page">Variables`},
		"/settings":                              {"The store could not tell how long history is kept, what it takes", "acme/prod", `id="browser"`},
		"/graphs":                                {"The store could not tell the graphs of your own"},
	} {
		got := x.get(t, target, "Accept", "text/html")
		if got.Code != http.StatusOK {
			t.Errorf("%s: %d", target, got.Code)
			continue
		}
		for _, w := range append(words, "The store can't be reached since", "2026-03-14T12:00:18Z", "17 polls", "Nothing is lost so far") {
			if !strings.Contains(got.body, w) {
				t.Errorf("%s lacks %q", target, w)
			}
		}
	}
	for target, word := range map[string]string{
		"/api/v1/servers": `"db2"`, "/api/v1/servers/db1": `"db1"`, "/api/v1/servers/db1/status": "Threads_running",
		"/api/v1/servers/db1/replication": `"channels"`, "/api/v1/servers/db1/processes": `"processes"`,
		"/api/v1/servers/db1/problems": `"problems"`, "/api/v1/servers/db1/collectors": `"status"`, "/api/v1/groups": "acme/prod",
	} {
		if got := x.get(t, target); got.Code != http.StatusOK || !strings.Contains(got.body, word) {
			t.Errorf("%s: %d %s", target, got.Code, got.body)
		}
	}
	x.store.stats.Dropped = 3
	if got := x.get(t, "/", "Accept", "text/html"); !strings.Contains(got.body, "more did not fit: 3 polls") || strings.Contains(got.body, "Nothing is lost") {
		t.Error("the page does not say that polls were lost")
	}
}

func TestWhatTheStoreAloneKnowsIsRefusedNotEmpty(t *testing.T) {
	x := withoutStore(t)
	for _, target := range []string{"/api/v1/series?server=db1&expr=status.Threads_running&from=-1h", "/api/v1/servers/db1/graphs/threads.json", "/api/v1/servers/db1/metrics",
		"/api/v1/changes?server=db1", "/api/v1/marks", "/api/v1/graphs", "/api/v1/retention", "/api/v1/usage", "/api/v1/servers/new-one"} {
		if got := x.get(t, target); got.Code != http.StatusServiceUnavailable && got.Code != http.StatusNotFound || strings.HasSuffix(target, "new-one") && got.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: %d %s", target, got.Code, got.body)
		}
	}
	got := x.get(t, "/api/v1/servers/db1/graphs/query-rate.svg", "Sec-Fetch-Dest", "image")
	if got.Code != http.StatusServiceUnavailable || got.Header().Get("Content-Type") != "image/svg+xml" || !strings.Contains(got.body, "The store can") {
		t.Errorf("in an image: %d %s %s", got.Code, got.Header(), got.body)
	}
	// A page that can show nothing at all says what still works, and leads there.
	got = x.html(t, "/graphs/own-1/edit")
	if got.Code != http.StatusServiceUnavailable || !strings.Contains(got.body, "17 polls") || !strings.Contains(got.body, "Polling goes on") {
		t.Errorf("the editor: %d %s", got.Code, got.body)
	}
	got = x.html(t, "/servers/db1/graphs/own-1")
	if got.Code != http.StatusServiceUnavailable || !strings.Contains(got.body, `href="/servers/db1/status"`) || !strings.Contains(got.body, "Polling goes on") {
		t.Errorf("a graph of one's own: %d %s", got.Code, got.body)
	}
	// A note that can't be kept now is not lost.
	got = x.do(t, http.MethodPost, "/servers/db1/changes", "text=deploy+4.2&at=", "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html")
	if got.Code != http.StatusServiceUnavailable || !strings.Contains(got.body, `value="deploy 4.2"`) || !strings.Contains(got.body, `role="alert"`) {
		t.Errorf("a note: %d", got.Code)
	}
	if got := x.get(t, "/readyz"); got.Code != http.StatusServiceUnavailable || !strings.Contains(got.body, "17 polls wait") {
		t.Errorf("readyz: %d %s", got.Code, got.body)
	}
}

func TestStoreThatComesBackIsSeenByItself(t *testing.T) {
	x := withoutStore(t)
	x.get(t, "/")
	x.store.broken = nil
	x.store.stats = monolith.StoreStatistics{}
	x.add(t, "db3", "")
	x.clock = x.clock.Add(2 * inventoryAgain)
	got := x.get(t, "/", "Accept", "text/html")
	if got.Code != http.StatusOK || !strings.Contains(got.body, "db3") || strings.Contains(got.body, "The store can") {
		t.Errorf("%d, the page still shows what was", got.Code)
	}
	if !strings.Contains(x.log.String(), "the store answers again") {
		t.Error("the log does not say that the store is back")
	}
}

func TestWritesThatFailAreSaidOnPages(t *testing.T) {
	x := newSite(t)
	x.add(t, "db1", "")
	x.store.stats = monolith.StoreStatistics{SpoolPolls: 2, FailingSince: noon, Failing: "the disk is full (free some space)"}
	for _, part := range []string{"The store takes no writes since", "the disk is full", "2 polls"} {
		if got := x.get(t, "/", "Accept", "text/html"); !strings.Contains(got.body, part) {
			t.Errorf("the page does not say %q", part)
		}
	}
	if got := x.get(t, "/readyz"); got.Code != http.StatusServiceUnavailable || !strings.Contains(got.body, "takes no writes: the disk is full") {
		t.Errorf("readyz: %d %s", got.Code, got.body)
	}
	x.store.broken = fmt.Errorf("store: add mark: %w", monolith.ErrUnavailable)
	if got := x.do(t, http.MethodPost, "/api/v1/marks", `{"text":"x"}`); !strings.Contains(got.body, "takes no writes") {
		t.Errorf("a note: %d %s", got.Code, got.body)
	}
}

func TestRememberedServersAreNotShared(t *testing.T) {
	x := newSite(t)
	s := x.add(t, "db1", "")
	s.Tags, s.Schedules = []string{"a"}, map[string]string{"fast": "@every 1s"}
	if err := x.store.UpdateServer(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	x.get(t, "/api/v1/servers")
	x.store.broken = monolith.ErrUnavailable
	for range 2 {
		got, err := x.inventory.Server(t.Context(), "db1")
		if err != nil || got.Tags[0] != "a" || got.Schedules["fast"] != "@every 1s" || got.Endpoint.Password.Reveal() != "canary-Zx9" {
			t.Fatalf("%+v, %v", got, err)
		}
		got.Tags[0], got.Schedules["fast"] = "b", "@every 9s"
	}
}

// hungStore answers nothing until the caller gives up.
type hungStore struct{ *fakeStore }

func (h hungStore) Servers(ctx context.Context) ([]monolith.Server, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestStoreThatHangsIsWaitedForOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t)
		x.add(t, "db1", "")
		x.get(t, "/api/v1/servers")
		x.inventory.Store, x.inventory.now = hungStore{x.store}, time.Now
		began := time.Now()
		for range 5 {
			if list, err := x.inventory.Servers(t.Context()); err != nil || len(list) != 1 {
				t.Fatalf("%v, %v", list, err)
			}
		}
		if took := time.Since(began); took != inventoryWait {
			t.Errorf("five reads waited %s, want %s", took, inventoryWait)
		}
		if _, err := x.inventory.Marks(t.Context(), monolith.MarkQuery{}); !unanswered(err) {
			t.Errorf("marks: %v", err)
		}
	})
}

// busyStore lets the lists wait while history is read.
type busyStore struct {
	hungStore
	history func()
}

func (b busyStore) Servers(ctx context.Context) ([]monolith.Server, error) {
	b.history()
	return b.hungStore.Servers(ctx)
}

func TestBusyStoreIsNotTakenForDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newSite(t)
		x.add(t, "db1", "")
		x.get(t, "/api/v1/servers")
		x.inventory.now = time.Now
		x.inventory.Store = busyStore{hungStore{x.store}, func() {
			if _, err := x.inventory.Marks(t.Context(), monolith.MarkQuery{}); err != nil {
				t.Error(err)
			}
		}}
		if list, err := x.inventory.Servers(t.Context()); err != nil || len(list) != 1 {
			t.Errorf("%v, %v", list, err)
		}
		if x.trouble() != nil {
			t.Error("a store that answers others is called dead")
		}
	})
}

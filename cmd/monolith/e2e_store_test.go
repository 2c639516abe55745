package main

import (
	"database/sql"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"monolith/internal/browsertest"
	"monolith/internal/mysqltest"
)

// page gives a page as people see it.
func (p *program) page(path string) (status int, text string) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.address+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Accept", "text/html")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// polled gives the moment of a server's newest values.
func (p *program) polled(server string) (at time.Time) {
	p.t.Helper()
	var answer struct{ At time.Time }
	p.get("/api/v1/servers/"+server+"/status", &answer)
	return answer.At
}

// watched gives a server to watch, as --server takes it.
func watched(t *testing.T) (dsn string) {
	t.Helper()
	server := mysqltest.Shared(t)
	user, password := server.NewUser(t, "PROCESS, BINLOG MONITOR, REPLICA MONITOR")
	return "db1=" + server.DSN(user, password)
}

// TestStoreGoneForAWhile kills the store under a program that goes on: pages show what is polled, and history has no
// gap and nothing twice once the store is back.
func TestStoreGoneForAWhile(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	needFrontEnd(t)
	store := mysqltest.MariaDB(t, mysqltest.Options("innodb_flush_log_at_trx_commit=1"))
	dsn := watched(t)
	place := store.NewDatabase(t)
	_, schema, _ := strings.Cut(place, ")/")
	schema, _, _ = strings.Cut(schema, "?")
	p := serve(t, build(t), []string{"MONOLITH_STORE=" + place}, "--data", t.TempDir(), "--migrate", "--server", dsn)
	begin := time.Now()
	change := map[string]any{"schedules": map[string]string{"fast": "@every 2s"}, "group": "acme/prod"}
	if status := p.do(http.MethodPatch, "/api/v1/servers/db1", change, nil); status != http.StatusOK {
		t.Fatalf("change: %d", status)
	}
	until(t, "a first history", func() bool { return p.values("db1", "status.Threads_connected", begin).points() >= 3 })
	b := browsertest.New(t, browsertest.Width(1440))
	b.Allow("503")
	b.Allow("Failed to load resource")
	b.Open(p.address + "/")
	b.Wait("tr[data-server=db1] .state")

	t.Log("the store dies under an open page")
	store.Kill(t)
	killed := time.Now()
	b.Until(`document.querySelector("#store-trouble").innerText.includes("can't be reached")`, 20*time.Second)
	b.Screenshot("e2e-store-gone-servers")
	until(t, "polling goes on", func() bool { return p.polled("db1").Sub(killed) > 4*time.Second })
	p.inTrouble("db1")
	for _, path := range []string{"/", "/servers/db1", "/servers/db1/replication", "/servers/db1/processes", "/servers/db1/status", "/servers/db1/monitoring"} {
		status, text := p.page(path)
		if status != http.StatusOK || !strings.Contains(text, "Nothing is lost so far") || !strings.Contains(text, "db1") {
			t.Errorf("%s without the store: %d", path, status)
		}
	}
	if status := p.get("/readyz", nil); status != http.StatusServiceUnavailable {
		t.Errorf("readyz without the store: %d", status)
	}
	b.Open(p.address + "/servers/db1")
	b.Until(`document.querySelector("figure.graph .plot-note")?.innerText.includes("store can't be reached")`, 20*time.Second)
	b.Screenshot("e2e-store-gone-overview")

	t.Log("it comes back, and everything with it")
	store.Start(t)
	b.Until(`!document.querySelector("#store-trouble").innerText && document.querySelectorAll("figure.graph canvas").length >= 4`, 40*time.Second)
	b.Screenshot("e2e-store-back")
	until(t, "ready again", func() bool { return p.get("/readyz", nil) == http.StatusOK })
	if s := p.values("db1", "status.Threads_connected", begin); s.gap() {
		t.Errorf("history has a gap: %v", s.Series[0].V)
	}

	t.Log("it hangs: nobody waits long for it")
	store.Signal(t, syscall.SIGSTOP)
	trouble := func() bool { _, text := p.page("/"); return strings.Contains(text, "can't be reached") }
	until(t, "the page says so", trouble)
	for _, path := range []string{"/", "/servers/db1", "/servers/db1/status", "/servers/db1/replication"} {
		asked := time.Now()
		status, text := p.page(path)
		if took := time.Since(asked); status != http.StatusOK || !strings.Contains(text, "can't be reached") || took > 15*time.Second { // it would be for ever
			t.Errorf("%s of a store that hangs: %d after %v", path, status, took)
		}
	}
	for _, path := range []string{"/feeds/warn.atom", "/feeds/changes.rss", "/feeds/maintenance.ics", "/api/v1/alerts", "/api/v1/alerts/999", "/api/v1/subscriptions", "/api/v1/silences"} {
		asked := time.Now()
		if status := p.get(path, nil); status != http.StatusServiceUnavailable || time.Since(asked) > 30*time.Second { // it would be a minute
			t.Errorf("%s of a store that hangs: %d after %v", path, status, time.Since(asked))
		}
	}
	store.Signal(t, syscall.SIGCONT)
	until(t, "the page is quiet again", func() bool { return !trouble() && p.get("/readyz", nil) == http.StatusOK })
	p.stop()
	var rows, polls int
	if err := store.DB(t).QueryRowContext(t.Context(), "SELECT COUNT(*), COUNT(DISTINCT seq) FROM "+schema+".head").Scan(&rows, &polls); err != nil {
		t.Fatal(err)
	}
	if rows == 0 || rows != polls {
		t.Errorf("the store holds %d rows of %d polls", rows, polls)
	}
}

// TestLockedStore holds the write lock of the embedded store, as a backup or a curious hand would.
func TestLockedStore(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	t.Parallel()
	data := t.TempDir()
	p := serve(t, build(t), nil, "--data", data, "--server", watched(t))
	begin := time.Now()
	if status := p.do(http.MethodPatch, "/api/v1/servers/db1", map[string]any{"schedules": map[string]string{"fast": "@every 2s"}}, nil); status != http.StatusOK {
		t.Fatalf("change: %d", status)
	}
	until(t, "a first history", func() bool { return p.values("db1", "status.Threads_connected", begin).points() >= 2 })
	other, err := sql.Open("sqlite", filepath.Join(data, "monolith.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	if _, err := other.Exec("BEGIN EXCLUSIVE"); err != nil {
		t.Fatal(err)
	}
	until(t, "the page says that writes fail", func() bool {
		status, text := p.page("/")
		return status == http.StatusOK && strings.Contains(text, "takes no writes") && strings.Contains(text, "db1")
	})
	p.inTrouble("db1")
	if status, text := p.page("/servers/db1"); status != http.StatusOK || strings.Contains(text, "could not tell") {
		t.Errorf("the overview of a store that can be read: %d", status)
	}
	if _, err := other.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	until(t, "the page is quiet again", func() bool {
		_, text := p.page("/")
		return !strings.Contains(text, "takes no writes")
	})
	if s := p.values("db1", "status.Threads_connected", begin); s.gap() {
		t.Errorf("history has a gap: %v", s.Series[0].V)
	}
	if all := p.alerts("server-unreachable", "all"); len(all) > 0 {
		t.Errorf("a store that takes no writes made the server unreachable: %+v", all)
	}
	p.stop()
}

package main

import (
	"context"
	"database/sql"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"monolith/internal/mysqltest"
)

// inTrouble checks, while something on Monolith's own side fails, that the server it watches is not shown as down: not by
// the API, not by the list of servers, not on the server's page.
func (p *program) inTrouble(server string) {
	p.t.Helper()
	var one struct {
		State *struct {
			Up, OK  bool
			Problem string
		}
	}
	p.get("/api/v1/servers/"+url.PathEscape(server), &one)
	if one.State == nil || !one.State.Up || !one.State.OK {
		p.t.Errorf("the API says of %s %+v", server, one.State)
	}
	var all struct {
		Servers []struct {
			Name  string
			State *struct{ Up bool }
		}
	}
	p.get("/api/v1/servers", &all)
	if len(all.Servers) != 1 || all.Servers[0].State == nil || !all.Servers[0].State.Up {
		p.t.Errorf("the API's list says %+v", all.Servers)
	}
	for _, path := range []string{"/", "/servers", "/servers/" + url.PathEscape(server)} {
		status, text := p.page(path)
		if status != http.StatusOK || !strings.Contains(text, server) {
			p.t.Errorf("%s: %d", path, status)
		}
		for _, word := range []string{">unreachable<", ">no answer<", ">refused<", ">unreadable<", ">stale<", `class="state bad"`} {
			if strings.Contains(text, word) {
				p.t.Errorf("%s shows %s as %s", path, server, word)
			}
		}
	}
}

// ready gives the answer of /readyz, and all that it says.
func (p *program) ready() (ok bool, says string) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.address+"/readyz", nil)
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode == http.StatusOK, string(text)
}

// often lets the server be polled each second.
func (p *program) often(server string) {
	p.t.Helper()
	change := map[string]any{"schedules": map[string]string{"fast": "@every 1s"}}
	if status := p.do(http.MethodPatch, "/api/v1/servers/"+server, change, nil); status != http.StatusOK {
		p.t.Fatalf("change: %d", status)
	}
}

// waits waits until the page and /readyz say that something is wrong with the store, and the page says so with the words.
func (p *program) waits(words string) {
	p.t.Helper()
	until(p.t, "the page says "+words, func() bool {
		_, text := p.page("/")
		return strings.Contains(text, words)
	})
	if ok, says := p.ready(); ok {
		p.t.Errorf("while the page says %s, readyz says %s", words, says)
	}
}

// quiet waits until nothing is wrong with the store any more.
func (p *program) quiet(words string) {
	p.t.Helper()
	until(p.t, "the trouble is over", func() bool {
		_, text := p.page("/")
		ok, _ := p.ready()
		return ok && !strings.Contains(text, words)
	})
}

// TestStoreFailsOver moves the address of the store to its replica and back under a program that goes on.
func TestStoreFailsOver(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	t.Parallel()
	durable := mysqltest.Options("innodb_flush_log_at_trx_commit=1")
	primary := mysqltest.MariaDB(t, durable)
	place := primary.NewDatabase(t)
	_, schema, _ := strings.Cut(place, ")/")
	schema, _, _ = strings.Cut(schema, "?")
	replica := mysqltest.Replica(t, primary, durable)
	user, password := primary.NewUser(t, "ALL ON "+schema+".*") // whom read_only binds
	replica.CatchUp(t, primary)
	relay := mysqltest.NewRelay(t, primary, nil)
	store := relay.DSN(t, primary.DSN(user, password)) + schema
	p := serve(t, build(t), []string{"MONOLITH_STORE=" + store}, "--data", t.TempDir(), "--migrate", "--server", watched(t))
	begin := time.Now()
	p.often("db1")
	until(t, "a first history", func() bool { return p.values("db1", "status.Threads_connected", begin).points() >= 3 })
	replica.CatchUp(t, primary)
	replica.Exec(t, "STOP SLAVE")

	t.Log("the address goes to the replica, which takes no writes yet")
	relay.To(replica)
	moved := time.Now()
	p.waits("read-only")
	until(t, "polling goes on", func() bool { return p.polled("db1").Sub(moved) > 3*time.Second })
	p.inTrouble("db1")
	replica.Exec(t, "RESET SLAVE ALL", "SET GLOBAL read_only = OFF")
	p.quiet("read-only")
	p.inTrouble("db1")
	if s := p.values("db1", "status.Threads_connected", begin); s.gap() {
		t.Errorf("history has a gap: %v", s.Series[0].V)
	}
	p.stop()
	var rows, polls int
	if err := replica.DB(t).QueryRow("SELECT COUNT(*), COUNT(DISTINCT seq) FROM "+schema+".head").Scan(&rows, &polls); err != nil {
		t.Fatal(err)
	}
	if rows == 0 || rows != polls {
		t.Errorf("the store holds %d rows of %d polls", rows, polls)
	}
}

// TestDamagedFile breaks the pages of the embedded store, under a program and before its start: the file is named with what
// helps, and the watched server is not blamed.
func TestDamagedFile(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	t.Parallel()
	data := t.TempDir()
	path := build(t)
	p := serve(t, path, nil, "--data", data, "--server", watched(t))
	begin := time.Now()
	p.often("db1")
	until(t, "a first history", func() bool { return p.values("db1", "status.Threads_connected", begin).points() >= 2 })
	file := filepath.Join(data, "monolith.db")
	p.stop()
	damage(t, file)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	said, err := runProgram(ctx, path, "serve", "--listen", "127.0.0.1:0", "--data", data)
	if err == nil || !strings.Contains(said, file) || !strings.Contains(said, "damaged") || !strings.Contains(said, "last backup") {
		t.Errorf("started with a damaged file it ends with %v: %s", err, said)
	}
}

// damage overwrites every page of a database but the first.
func damage(t *testing.T, file string) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4096; i < len(content); i += 4096 {
		copy(content[i:], "nonsense")
	}
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedUnderTheProgram breaks a row of the embedded store while the program works with it.
func TestDamagedUnderTheProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	t.Parallel()
	data := t.TempDir()
	p := serve(t, build(t), nil, "--data", data, "--server", watched(t))
	begin := time.Now()
	p.often("db1")
	until(t, "a first history", func() bool { return p.values("db1", "status.Threads_connected", begin).points() >= 2 })
	file := filepath.Join(data, "monolith.db")
	other, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var whole string
	if err := other.QueryRow("SELECT attributes FROM server").Scan(&whole); err != nil {
		t.Fatal(err)
	}
	put := func(attributes string) {
		t.Helper()
		if _, err := other.Exec("UPDATE server SET attributes = ?", attributes); err != nil {
			t.Fatal(err)
		}
	}
	put(whole[:len(whole)/2])
	broken := time.Now()
	p.waits(file + " is damaged (stop monolith")
	until(t, "polling goes on", func() bool { return p.polled("db1").Sub(broken) > 3*time.Second })
	p.inTrouble("db1")
	put(whole)
	p.quiet("is damaged")
	if s := p.values("db1", "status.Threads_connected", begin); s.gap() {
		t.Errorf("history has a gap: %v", s.Series[0].V)
	}
	p.stop()
}

package main

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"monolith/internal/browsertest"
	"monolith/internal/mysqltest"
)

// fleet is the servers that the whole program is tried on.
type fleet struct {
	primary, replica, old *mysqltest.Server
	file                  string // for --server-file
	monolith              string // the program
}

// newFleet starts a MariaDB primary with a load, its replica, and a MySQL 5.6.
func newFleet(t *testing.T) *fleet {
	t.Helper()
	f := &fleet{primary: mysqltest.MariaDB(t), old: mysqltest.MySQL56(t), monolith: build(t)}
	f.replica = mysqltest.Replica(t, f.primary)
	user, password := f.primary.NewUser(t, "PROCESS, SHOW VIEW, REFERENCES, BINLOG MONITOR, REPLICA MONITOR", "SELECT ON mysql.*")
	oldUser, oldPassword := f.old.NewUser(t, "PROCESS, SHOW VIEW, REFERENCES, REPLICATION CLIENT", "SELECT ON mysql.*", "SELECT ON performance_schema.*")
	f.primary.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.visits (at INT, page INT)")
	f.replica.CatchUp(t, f.primary)
	f.file = filepath.Join(t.TempDir(), "servers")
	lines := fmt.Sprintf("db1=%s\ndb2=%s\nold=%s\n", f.primary.DSN(user, password), f.replica.DSN(user, password), f.old.DSN(oldUser, oldPassword))
	if err := os.WriteFile(f.file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	load(t, f.primary.DB(t))
	return f
}

// load writes and reads until the test ends. Errors are passed over: the server is restarted meanwhile.
func load(t *testing.T, db *sql.DB) {
	done := make(chan struct{})
	tick := time.NewTicker(40 * time.Millisecond)
	go func() {
		defer close(done)
		for {
			select {
			case <-t.Context().Done():
				return
			case <-tick.C:
				_, _ = db.ExecContext(t.Context(), "INSERT INTO shop.visits VALUES (1, ?)", rand.IntN(1000))
				var n int
				_ = db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM shop.visits WHERE page = 7").Scan(&n)
			}
		}
	}()
	t.Cleanup(func() {
		tick.Stop()
		<-done
	})
}

// TestWholeProgram is the story of a first evening with Monolith, once with each store.
func TestWholeProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two minutes")
	}
	needFrontEnd(t)
	f := newFleet(t)
	if !t.Run("embedded store", func(t *testing.T) { firstEvening(t, f, "") }) {
		return // the servers are left in the middle of the story
	}
	t.Run("MariaDB store", func(t *testing.T) {
		store := mysqltest.Shared(t)
		user, password := store.NewUser(t, "ALL")
		_, schema, _ := strings.Cut(store.NewDatabase(t), "/t_")
		firstEvening(t, f, store.DSN(user, password)+"t_"+schema)
	})
}

func firstEvening(t *testing.T, f *fleet, store string) {
	var environment []string
	args := []string{"--data", t.TempDir(), "--server-file", f.file}
	if store != "" {
		environment = []string{"MONOLITH_STORE=" + store}
		args = append(args, "--migrate")
	}
	begin := time.Now()
	p := serve(t, f.monolith, environment, args...)
	for name, group := range map[string]string{"db1": "acme/prod", "db2": "acme/prod", "old": "acme/dev"} {
		change := map[string]any{"group": group, "schedules": map[string]string{"fast": "@every 2s", "slow": "@every 3s"}}
		if status := p.do(http.MethodPatch, "/api/v1/servers/"+name, change, nil); status != http.StatusOK {
			t.Fatalf("change of %s: %d", name, status)
		}
	}
	b := browsertest.New(t, browsertest.Width(1440))

	t.Log("the first screen shows three servers that are up, under their groups")
	b.Open(p.address + "/")
	for _, name := range []string{"db1", "db2", "old"} {
		b.Until(fmt.Sprintf(`document.querySelector("#servers tr[data-server=%s] .state.up")`, name), 30*time.Second)
	}
	if text := b.Text("#servers"); !strings.Contains(text, "prod") || !strings.Contains(text, "dev") {
		t.Errorf("the groups are missing: %s", text)
	}
	b.Screenshot("e2e-servers")

	t.Log("the server's page has living graphs")
	b.Open(p.address + "/servers/db1")
	b.Until(`document.querySelectorAll("figure.graph canvas").length >= 8`, 0)
	b.Until(inked, 30*time.Second)
	b.Eval(`globalThis.before = document.querySelector("figure.graph canvas").toDataURL()`, nil)
	b.Until(`document.querySelector("figure.graph canvas").toDataURL() !== globalThis.before`, 30*time.Second)
	few := p.values("db1", "rate(status.Questions)", begin).points()
	until(t, "more points come", func() bool {
		return p.values("db1", "rate(status.Questions)", begin).points() >= few+3
	})
	b.Screenshot("e2e-overview")

	t.Log("the replica's threads and lag are there")
	b.Open(p.address + "/servers/db2")
	if text := b.Text("#overview-replication"); !strings.Contains(text, "Yes") {
		t.Errorf("replication: %s", text)
	}
	until(t, "the replica's lag", func() bool { return p.values("db2", "replica.lag", begin).points() > 0 })

	t.Log("a variable changed by hand is a mark and stands in the history, without a reload")
	b.Open(p.address + "/servers/db1/changes")
	connections := 120 + rand.IntN(800)
	f.primary.Exec(t, fmt.Sprintf("SET GLOBAL max_connections = %d", connections))
	b.Until(fmt.Sprintf(`document.querySelector("#timeline").innerText.includes("%d")`, connections), 30*time.Second)
	until(t, "the variable's mark", func() bool {
		return p.values("db1", "rate(status.Questions)", begin).marked("variable", "max_connections")
	})
	b.Open(p.address + "/servers/db1/variables/max_connections")
	if text := b.Text("#main"); !strings.Contains(text, fmt.Sprint(connections)) {
		t.Errorf("the variable's page does not show %d: %s", connections, text)
	}

	t.Log("a restart is an outage on the page, then a gap and a mark")
	b.Open(p.address + "/servers/db1")
	f.primary.Stop(t)
	b.Until(`document.querySelector("#head-state .state.bad")`, 30*time.Second)
	b.Until(`document.querySelector("#head-why").textContent.includes("→")`, 20*time.Second)
	until(t, "some polls fail", func() bool {
		return lastMissing(p.values("db1", "rate(status.Questions)", begin)) >= 5
	})
	f.primary.Start(t)
	b.Until(`document.querySelector("#head-state .state.up, #head-state .state.warn")`, 40*time.Second)
	until(t, "the restart's gap and mark", func() bool {
		s := p.values("db1", "rate(status.Questions)", begin)
		return s.gap() && s.marked("restart", "")
	})
	b.Screenshot("e2e-restart")

	t.Log("a graph of one's own is saved and shown")
	b.Open(p.address + "/graphs/new?server=db1")
	b.Type("#title", "Inserts and selects")
	b.Type("#lines input[name=expr]", "rate(status.Com_insert)")
	b.Click("#graph-form button.primary")
	b.Until(`document.body.innerText.includes("Inserts and selects") && !document.querySelector("#graph-form")`, 0)
	own := ownGraph(t, p)
	b.Open(p.address + "/servers/db1/graphs/" + own)
	b.Until(inked, 0)

	t.Log("without script the same graph comes as a picture")
	plain := browsertest.New(t, browsertest.NoScript(), browsertest.Dark(), browsertest.Width(390))
	plain.Open(p.address + "/servers/db1/graphs/" + own)
	plain.Until(`[...document.querySelectorAll("figure.graph img")].some(i => i.complete && i.naturalWidth > 100)`, 0)
	plain.Screenshot("e2e-plain-dark-narrow")
	plain.Open("about:blank")

	t.Log("a formula that makes no sense is told the place and the cure")
	b.Open(p.address + "/servers/db1/graphs/explore?" + url.Values{"expr": {"rate(status.Questionz)"}}.Encode())
	if text := b.Text("[role=alert]"); !strings.Contains(text, "Questions") {
		t.Errorf("no nearest name: %s", text)
	}
	b.Open("about:blank") // an open page would complain about a Monolith that is gone

	t.Log("a wrong password is named with its cure, and harms no other server")
	wrong := map[string]any{"name": "wrong", "endpoint": map[string]any{"host": f.old.Host, "port": f.old.Port, "user": "root", "password": "no", "tls": "disabled"}}
	if status := p.do(http.MethodPost, "/api/v1/servers", wrong, nil); status != http.StatusCreated {
		t.Errorf("add: %d", status)
	}
	until(t, "the refusal", func() bool {
		var server struct{ State *struct{ Problem string } }
		p.get("/api/v1/servers/wrong", &server)
		return server.State != nil && strings.Contains(strings.ToLower(server.State.Problem), "password")
	})
	if status := p.do(http.MethodDelete, "/api/v1/servers/wrong", nil, nil); status/100 != 2 {
		t.Errorf("delete: %d", status)
	}

	t.Log("history survives a crash and a restart")
	kept := p.values("old", "rate(status.Questions)", begin)
	settled := p.values("old", "rate(status.Questions)", begin).points()
	if settled < 5 {
		t.Fatalf("only %d points: %+v", settled, kept)
	}
	p.kill()
	p = serve(t, f.monolith, environment, args...)
	if points := p.values("old", "rate(status.Questions)", begin).points(); points < settled-1 {
		t.Errorf("%d points before the crash, %d after it", settled, points)
	}
	p.stop()
	p = serve(t, f.monolith, environment, args...)
	s := p.values("db1", "rate(status.Questions)", begin)
	if !s.marked("variable", "max_connections") || !s.marked("restart", "") || !s.gap() {
		t.Errorf("marks or gap are lost: %+v", s.Marks)
	}
	b.Open(p.address + "/servers/db1/graphs/" + own)
	b.Until(`document.querySelector("figure.graph canvas")`, 0)
	b.Open("about:blank")
	p.stop()
	f.primary.Exec(t, "SET GLOBAL max_connections = 151")
}

// inked is true when the page's first plot is there and shows something.
const inked = `(canvas => {
	if (!canvas || !canvas.width) return false
	const colours = new Set(new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer))
	return colours.size > 8
})(document.querySelector("figure.graph canvas"))`

// lastMissing counts the steps without a value at the end.
func lastMissing(s *series) (n int) {
	v := s.Series[0].V
	for i := len(v) - 1; i >= 0 && v[i] == nil; i-- {
		n++
	}
	return n
}

// ownGraph gives the id of the one saved graph.
func ownGraph(t *testing.T, p *program) string {
	t.Helper()
	var answer struct {
		Graphs []struct {
			ID, Title string
		}
	}
	p.get("/api/v1/graphs", &answer)
	for _, g := range answer.Graphs {
		if g.Title == "Inserts and selects" {
			return g.ID
		}
	}
	t.Fatalf("the graph was not saved: %+v", answer)
	return ""
}

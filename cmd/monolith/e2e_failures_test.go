package main

import (
	"database/sql"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"monolith/internal/browsertest"
	"monolith/internal/mysqltest"
)

// problem is what the API says is wrong with a server.
type problem struct {
	Collector, Kind, Text, Cure string
	Code                        int
}

// trouble gives the problem of the connection to a server, if there is one, and whether the server is up.
func (p *program) trouble(name string) (wrong problem, up bool) {
	p.t.Helper()
	var answer struct{ Problems []problem }
	p.get("/api/v1/servers/"+url.PathEscape(name)+"/problems", &answer)
	var server struct{ State *struct{ Up bool } }
	p.get("/api/v1/servers/"+url.PathEscape(name), &server)
	up = server.State != nil && server.State.Up
	for _, q := range answer.Problems {
		if q.Collector == "" {
			return q, up
		}
	}
	return problem{}, up
}

// TestServersThatCannotBeWatched adds servers in every kind of trouble: each gets a clear word with its cure in the
// API and on the first screen, and a healthy one beside them never misses a poll.
func TestServersThatCannotBeWatched(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	needFrontEnd(t)
	healthy := mysqltest.Shared(t)
	user, password := healthy.NewUser(t, "PROCESS, BINLOG MONITOR, REPLICA MONITOR")

	hanging := mysqltest.MariaDB(t)
	hangUser, hangPassword := hanging.NewUser(t, "PROCESS, BINLOG MONITOR, REPLICA MONITOR")

	full := mysqltest.MariaDB(t)
	fullUser, fullPassword := full.NewUser(t, "PROCESS")
	fill(t, full)

	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refusing := nobody.Addr().String()
	nobody.Close()

	data := t.TempDir()
	p := serve(t, build(t), nil, "--data", data)
	add := func(name, address, user, password string) {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			t.Fatal(err)
		}
		number, err := strconv.Atoi(port)
		if err != nil {
			t.Fatal(err)
		}
		server := map[string]any{
			"name":      name,
			"endpoint":  map[string]any{"host": host, "port": number, "user": user, "password": password},
			"schedules": map[string]string{"fast": "@every 2s"},
		}
		if status := p.do(http.MethodPost, "/api/v1/servers", server, nil); status != http.StatusCreated {
			t.Fatalf("add %s: %d", name, status)
		}
	}
	at := func(s *mysqltest.Server) string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }
	begin := time.Now()
	add("healthy", at(healthy), user, password)
	add("wrong password", at(healthy), user, "canary-Zx9")
	add("nobody there", refusing, user, password)
	add("silent", mysqltest.Blackhole(t), user, password)
	add("unknown host", "no-such-host.invalid:3306", user, password)
	add("full", at(full), fullUser, fullPassword)
	add("hanging", at(hanging), hangUser, hangPassword)
	until(t, "the hanging server's first poll", func() bool {
		_, up := p.trouble("hanging")
		return up
	})
	hanging.Signal(t, syscall.SIGSTOP)

	for _, c := range []struct {
		name string
		up   bool
		says string // words of the problem's text, | between alternatives
	}{
		{"wrong password", true, "password"},
		{"nobody there", false, "refuses"},
		{"silent", false, "says nothing"},
		{"unknown host", false, "no-such-host.invalid"},
		{"full", true, "full"},
		{"hanging", false, "nothing|no answer"},
	} {
		var wrong problem
		var up bool
		until(t, c.name+" is told", func() bool {
			wrong, up = p.trouble(c.name)
			return wrong.Text != ""
		})
		said := slices.ContainsFunc(strings.Split(c.says, "|"), func(words string) bool {
			return strings.Contains(strings.ToLower(wrong.Text), words)
		})
		if !said || wrong.Cure == "" || up != c.up {
			t.Errorf("%s: up %v, %+v", c.name, up, wrong)
		}
	}

	b := browsertest.New(t, browsertest.Width(1440))
	b.Open(p.address + "/")
	b.Until(`document.querySelectorAll("#servers tr.server .state.bad").length === 6`, 30*time.Second)
	if text := b.Text("#servers"); !strings.Contains(text, "no server listens") || !strings.Contains(text, "full") {
		t.Errorf("the first screen does not say why: %s", text)
	}
	b.Screenshot("e2e-troubles")

	hanging.Signal(t, syscall.SIGCONT)
	b.Until(`document.querySelector("#servers tr[data-server=hanging] .state:not(.bad)")`, 30*time.Second)
	s := p.values("healthy", "rate(status.Questions)", begin)
	if s.gap() || s.points() < 3 {
		t.Errorf("the healthy server was not polled all the time: %d points of %d", s.points(), len(s.T))
	}
	b.Open("about:blank")
	names := []string{"healthy", "wrong password", "nobody there", "silent", "unknown host", "full", "hanging"}
	p.hides(data, names, password, "canary-Zx9", fullPassword, hangPassword)
	p.stop()
}

// hides looks for secrets in everything that leaves the program, in what it logged, in its arguments and, as they are, in its files,
// which are for its own account alone.
func (p *program) hides(data string, servers []string, secrets ...string) {
	p.t.Helper()
	places := map[string]string{"the log": p.log()}
	paths := []string{"/", "/monitoring", "/settings", "/alerts", "/api/v1/servers", "/api/v1/problems", "/api/v1/alerts", "/api/v1/export.xml", "/api/v1/export.json",
		"/feeds/warn.atom", "/feeds/critical.rss", "/metrics", "/readyz"}
	for _, name := range servers {
		for _, below := range []string{"", "/problems", "/collectors", "/variables", "/changes"} {
			paths = append(paths, "/api/v1/servers/"+url.PathEscape(name)+below)
		}
		for _, below := range []string{"", "/edit", "/monitoring", "/variables"} {
			paths = append(paths, "/servers/"+url.PathEscape(name)+below)
		}
	}
	found := 0
	for _, path := range paths {
		status, text := p.page(path)
		if places[path] = text; status == http.StatusOK {
			found++
		}
	}
	if found < len(paths)*3/4 {
		p.t.Errorf("only %d of %d addresses were found", found, len(paths))
	}
	if arguments, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", p.cmd.Process.Pid)); err == nil {
		places["the arguments"] = string(arguments)
	}
	err := filepath.WalkDir(data, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			p.t.Errorf("others may use %s: %v", d.Name(), info.Mode())
		}
		content, err := os.ReadFile(path)
		places[d.Name()] = string(content)
		return err
	})
	if err != nil {
		p.t.Error(err)
	}
	for place, text := range places {
		for i, secret := range secrets {
			if len(secret) < 8 || strings.Contains(text, secret) {
				p.t.Errorf("%s holds password %d", place, i)
			}
		}
	}
}

// fill takes all connections of a server, also the one that is kept for administrators.
func fill(t *testing.T, s *mysqltest.Server) {
	t.Helper()
	s.Exec(t, "SET GLOBAL max_connections = 10")
	db, err := sql.Open("mysql", s.RootDSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for range 11 {
		conn, err := db.Conn(t.Context())
		if err != nil {
			return // it is full: the test's own pool holds one too
		}
		t.Cleanup(func() { conn.Close() })
	}
}

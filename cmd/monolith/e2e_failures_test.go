package main

import (
	"database/sql"
	"net"
	"net/http"
	"net/url"
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

	p := serve(t, build(t), nil, "--data", t.TempDir())
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
	add("wrong password", at(healthy), user, "no")
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
	p.stop()
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

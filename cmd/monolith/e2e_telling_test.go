package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"monolith/internal/mailtest"
	"monolith/internal/mysqltest"
)

// toldNotice is what a webhook gets, as far as the test looks.
type toldNotice struct {
	Kind, Key, Title, Level, Link, By string
	Server                            struct{ Name, Group, Version, Environment string }
	Changes                           []struct{ Text string }
	About                             string
}

// TestTellingOfTheWholeProgram follows an alert from the value on a real server to who is told of it, over a crash of the
// program, and sees that a heartbeat is sent.
func TestTellingOfTheWholeProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	var mu sync.Mutex
	var got []toldNotice
	beats := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path == "/beat" {
			beats++
			return
		}
		var n toldNotice
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Error(err)
		}
		got = append(got, n)
	}))
	defer srv.Close()
	told := func() []toldNotice {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(got)
	}
	server := mysqltest.MariaDB(t)
	user, password := server.NewUser(t, "PROCESS, SHOW VIEW, REFERENCES, BINLOG MONITOR, REPLICA MONITOR", "SELECT ON mysql.*")
	args := []string{"--data", t.TempDir(), "--server", "db1=" + server.DSN(user, password), "--public-url", "https://monitor.example/m/"}
	p := serve(t, build(t), nil, args...)
	change := map[string]any{"group": "acme/prod", "environment": "prod", "schedules": map[string]string{"fast": "@every 1s", "slow": "@every 2s"}}
	if status := p.do(http.MethodPatch, "/api/v1/servers/db1", change, nil); status != http.StatusOK {
		t.Fatalf("change: %d", status)
	}
	var st struct{ Level, Text string }
	if p.get("/api/v1/telling", &st); st.Level != "critical" || !strings.Contains(st.Text, "no channel") {
		t.Errorf("without a channel: %+v", st)
	}
	var channel, subscription struct{ ID int64 }
	hook := map[string]any{"name": "tickets", "kind": "webhook", "config": map[string]string{"url": srv.URL + "/hook"}, "secrets": map[string]string{"key": "canary-Vk2"}}
	if status := p.do(http.MethodPost, "/api/v1/channels", hook, &channel); status != http.StatusCreated {
		t.Fatalf("channel: %d", status)
	}
	var test struct {
		OK       bool
		Dialogue string
	}
	if p.do(http.MethodPost, fmt.Sprintf("/api/v1/channels/%d/test", channel.ID), nil, &test); !test.OK || strings.Contains(test.Dialogue, "canary") {
		t.Errorf("test: %+v", test)
	}
	sub := map[string]any{"name": "all of acme", "channel": channel.ID, "groups": []string{"acme"}, "rules": []string{"few-connections"}}
	if status := p.do(http.MethodPost, "/api/v1/rules", map[string]any{"source": fewConnections, "by": "eve"}, nil); status != http.StatusCreated {
		t.Fatalf("the rule: %d", status)
	}
	if status := p.do(http.MethodPost, "/api/v1/subscriptions", sub, &subscription); status != http.StatusCreated {
		t.Fatalf("subscription: %d", status)
	}
	if status := p.do(http.MethodPut, "/api/v1/heartbeat", map[string]any{"url": srv.URL + "/beat", "every": "10s"}, nil); status != http.StatusOK {
		t.Errorf("heartbeat: %d", status)
	}
	relay := mailtest.Start(t, mailtest.Plain, "")
	var mail struct{ ID int64 }
	config := map[string]string{"host": "127.0.0.1", "port": strconv.Itoa(relay.Port), "tls": "none", "from": "monolith@example.com", "to": "dba@example.com"}
	if status := p.do(http.MethodPost, "/api/v1/channels", map[string]any{"name": "mail", "kind": "mail", "config": config}, &mail); status != http.StatusCreated {
		t.Fatalf("channel of mails: %d", status)
	}
	if status := p.do(http.MethodPost, "/api/v1/subscriptions", map[string]any{"name": "by mail", "channel": mail.ID, "rules": []string{"few-connections"}}, nil); status != http.StatusCreated {
		t.Fatalf("subscription of mails: %d", status)
	}
	if p.get("/api/v1/telling", &st); st.Level != "ok" {
		t.Errorf("with a channel: %+v", st)
	}
	until(t, "a heartbeat", func() bool { mu.Lock(); defer mu.Unlock(); return beats > 0 })

	server.Exec(t, "SET GLOBAL max_connections = 77")
	until(t, "the problem is told", func() bool { return len(told()) == 2 })
	n := told()[1]
	a := p.alerts("few-connections", "open")[0]
	if n.Kind != "problem" || n.Title != "[WARN] acme/prod/db1 Few connections allowed: 77 connections are allowed, want 100" || n.Link != fmt.Sprintf("https://monitor.example/m/alerts/%d", a.ID) ||
		n.Server.Name != "db1" || n.Server.Environment != "prod" || !strings.Contains(n.Server.Version, "MariaDB") || n.About != "More clients will come." {
		t.Errorf("%+v", n)
	}
	if text := relay.Messages(1)[0].Text; !strings.Contains(text, "Last hour: allowed min 77, mean ") || !strings.Contains(text, ", now 77") {
		t.Errorf("the mail does not tell the last hour: %s", text)
	}
	if len(n.Changes) == 0 || !strings.Contains(n.Changes[0].Text, "max_connections") {
		t.Errorf("what changed lately: %+v", n.Changes)
	}
	var who struct {
		Audience []struct {
			Told bool
			Why  string
		}
	}
	if p.get(fmt.Sprintf("/api/v1/alerts/%d/audience", a.ID), &who); len(who.Audience) != 2 || !who.Audience[0].Told || !who.Audience[1].Told {
		t.Errorf("who: %+v", who)
	}

	p.kill()
	p = serve(t, build(t), nil, args...)
	until(t, "polls go on", func() bool {
		var said struct{ Rules []struct{ State string } }
		p.get("/api/v1/servers/db1/rules?rule=few-connections", &said)
		return len(said.Rules) == 1 && said.Rules[0].State == "open"
	})
	if status := p.do(http.MethodPost, fmt.Sprintf("/api/v1/alerts/%d/ack", a.ID), map[string]any{"by": "eve"}, nil); status != http.StatusOK {
		t.Errorf("acknowledge: %d", status)
	}
	until(t, "the acknowledgement is told", func() bool { return len(told()) == 3 })
	server.Exec(t, "SET GLOBAL max_connections = 200")
	until(t, "the recovery is told", func() bool { return len(told()) == 4 })
	all := told()
	if all[2].Kind != "acknowledged" || all[2].By != "eve" || all[3].Kind != "recovery" || all[2].Key != n.Key || all[3].Key != n.Key {
		t.Errorf("%+v", all[2:])
	}
	var log struct {
		Deliveries []struct {
			Kind, State string
			Attempts    int
		}
	}
	if p.get(fmt.Sprintf("/api/v1/deliveries?channel=%d", channel.ID), &log); len(log.Deliveries) != 3 {
		t.Errorf("%+v", log)
	}
	for _, d := range log.Deliveries {
		if d.State != "sent" || d.Attempts != 1 {
			t.Errorf("%+v", d)
		}
	}
	p.stop()
}

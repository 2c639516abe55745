package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"monolith/internal/mysqltest"
)

// alert is what the API says of an alert.
type alert struct {
	ID                                                        int64
	Rule, Server, Level, State, Summary, Reason, Owner, Group string
	AckedBy                                                   string `json:"acked_by"`
	Events                                                    []struct{ Kind, By, Text string }
}

// kinds gives what happened to the alert, in order.
func (a *alert) kinds() (kinds []string) {
	for _, e := range a.Events {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// alerts gives the alerts of a rule in a state, without their events.
func (p *program) alerts(rule, state string) []alert {
	p.t.Helper()
	var answer struct{ Alerts []alert }
	p.get("/api/v1/alerts?state="+state+"&rule="+rule, &answer)
	return answer.Alerts
}

func (p *program) alert(id int64) (a alert) {
	p.t.Helper()
	if status := p.get(fmt.Sprintf("/api/v1/alerts/%d", id), &a); status != http.StatusOK {
		p.t.Fatalf("alert %d: status %d", id, status)
	}
	return a
}

const fewConnections = `id: few-connections
title: Few connections allowed
category: own
about: More clients will come.
each: server
every: poll
let:
  allowed: {is: variable.max_connections}
when:
- if: allowed < limit.allowed
  limits:
    warn: {allowed: 100}
  clear: {after: 0s}
summary: "{allowed} connections are allowed, want {limit.allowed}"
says: "max_connections is {allowed}."
`

// TestAlertsOfTheWholeProgram follows a rule of one's own from its making to its switching off, over a crash of the program, and the
// death of a server.
func TestAlertsOfTheWholeProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	t.Parallel()
	server := mysqltest.MariaDB(t)
	user, password := server.NewUser(t, "PROCESS, SHOW VIEW, REFERENCES, BINLOG MONITOR, REPLICA MONITOR", "SELECT ON mysql.*")
	args := []string{"--data", t.TempDir(), "--server", "db1=" + server.DSN(user, password)}
	p := serve(t, build(t), nil, args...)
	change := map[string]any{"group": "acme/prod", "schedules": map[string]string{"fast": "@every 1s", "slow": "@every 2s"}}
	if status := p.do(http.MethodPatch, "/api/v1/servers/db1", change, nil); status != http.StatusOK {
		t.Fatalf("change: %d", status)
	}

	t.Log("no rule is silent")
	until(t, "every rule has a line", func() bool {
		var rules struct{ Rules []struct{ ID, Each string } }
		var said struct {
			Rules []struct{ Rule, State, Why string }
		}
		p.get("/api/v1/rules", &rules)
		p.get("/api/v1/servers/db1/rules", &said)
		silent := 0
		for _, r := range rules.Rules {
			if r.Each != "fleet" && !slices.ContainsFunc(said.Rules, func(s struct{ Rule, State, Why string }) bool { return s.Rule == r.ID }) {
				silent++
			}
		}
		for _, s := range said.Rules {
			if (s.State == "learning" || s.State == "cannot_evaluate" || s.State == "not_applicable") && s.Why == "" {
				t.Errorf("%s is %s and does not say why", s.Rule, s.State)
			}
		}
		return len(rules.Rules) >= 90 && silent == 0
	})

	t.Log("a rule of one's own opens an alert, which is handled")
	if status := p.do(http.MethodPost, "/api/v1/rules", map[string]any{"source": fewConnections, "by": "eve"}, nil); status != http.StatusCreated {
		t.Fatalf("the rule: %d", status)
	}
	server.Exec(t, "SET GLOBAL max_connections = 77")
	until(t, "the alert", func() bool { return len(p.alerts("few-connections", "open")) == 1 })
	a := p.alerts("few-connections", "open")[0]
	if a.Server != "db1" || a.Group != "acme/prod" || a.Level != "warn" || a.Summary != "77 connections are allowed, want 100" {
		t.Errorf("%+v", a)
	}
	if status := p.do(http.MethodPost, fmt.Sprintf("/api/v1/alerts/%d/ack", a.ID), map[string]any{"by": "eve", "note": "known"}, nil); status != http.StatusOK {
		t.Errorf("acknowledge: %d", status)
	}
	if status := p.do(http.MethodPost, fmt.Sprintf("/api/v1/alerts/%d/take", a.ID), map[string]any{"by": "eve"}, nil); status != http.StatusOK {
		t.Errorf("take: %d", status)
	}

	t.Log("a crash neither closes nor opens anything")
	p.kill()
	p = serve(t, build(t), nil, args...)
	until(t, "polls go on", func() bool {
		var said struct{ Rules []struct{ State string } }
		p.get("/api/v1/servers/db1/rules?rule=few-connections", &said)
		return len(said.Rules) == 1 && said.Rules[0].State == "open"
	})
	again := p.alert(a.ID)
	if again.State != "open" || again.AckedBy != "eve" || again.Owner != "eve" || !slices.Equal(again.kinds(), []string{"opened", "acknowledged", "taken"}) {
		t.Errorf("after the crash: %+v", again)
	}
	if all := p.alerts("few-connections", "all"); len(all) != 1 {
		t.Errorf("%d alerts after the crash", len(all))
	}

	t.Log("another limit closes it, a switch keeps it quiet")
	setting := "/api/v1/rules/few-connections/settings?group=acme"
	if status := p.do(http.MethodPut, setting, map[string]any{"limits": map[string]any{"warn": map[string]any{"allowed": 50}}}, nil); status != http.StatusOK {
		t.Errorf("the limit: %d", status)
	}
	until(t, "it closes", func() bool { return len(p.alerts("few-connections", "open")) == 0 })
	if closed := p.alert(a.ID); closed.Reason != "cleared" || closed.kinds()[len(closed.kinds())-1] != "closed" {
		t.Errorf("closed: %+v", closed)
	}
	if status := p.do(http.MethodPut, setting, map[string]any{"enabled": false}, nil); status != http.StatusOK {
		t.Errorf("the switch: %d", status)
	}
	until(t, "it is off", func() bool {
		var said struct{ Rules []struct{ State, Why string } }
		p.get("/api/v1/servers/db1/rules?rule=few-connections", &said)
		return len(said.Rules) == 1 && said.Rules[0].State == "not_applicable" && strings.Contains(said.Rules[0].Why, "group acme")
	})

	t.Log("it follows its group to another place")
	if status := p.do(http.MethodPost, "/api/v1/groups/move", map[string]any{"from": "acme", "to": "new/acme"}, nil); status/100 != 2 {
		t.Errorf("move: %d", status)
	}
	until(t, "it is off there", func() bool {
		var said struct{ Rules []struct{ State, Why string } }
		p.get("/api/v1/servers/db1/rules?rule=few-connections", &said)
		return len(said.Rules) == 1 && said.Rules[0].State == "not_applicable" && strings.Contains(said.Rules[0].Why, "group new/acme")
	})

	t.Log("the death of a server is an alert, a mark and a line of its timeline, and over when it comes back")
	server.Stop(t)
	until(t, "it is known to be gone", func() bool { return len(p.alerts("server-unreachable", "open")) == 1 })
	gone := p.alerts("server-unreachable", "open")[0]
	server.Start(t)
	until(t, "it is back", func() bool { return p.alert(gone.ID).State == "closed" })
	var marks struct {
		Marks []struct{ Server, Text string }
	}
	p.get("/api/v1/marks?kind=alert&server=db1", &marks)
	var texts []string
	for _, m := range marks.Marks {
		texts = append(texts, m.Text)
	}
	if all := strings.Join(texts, "\n"); !strings.Contains(all, "warn: Server not reachable: ") || !strings.Contains(all, "over: warn: Server not reachable") {
		t.Errorf("marks:\n%s", all)
	}
	p.stop()
}

package poller

import (
	"slices"
	"strings"
	"testing"
	"time"

	"monolith"
)

// The set-up of a session on every kind of server: what the version does not know is not sent.
func TestSetupByVersion(t *testing.T) {
	t.Parallel()
	old := map[string]string{"wait_timeout": "28800", "long_query_time": "10", "innodb_lock_wait_timeout": "50"}
	newer := map[string]string{"wait_timeout": "28800", "long_query_time": "10", "innodb_lock_wait_timeout": "50", "lock_wait_timeout": "31536000", "min_examined_row_limit": "0"}
	with := func(m map[string]string, version, comment string, more ...string) map[string]string {
		out := map[string]string{"version": version, "version_comment": comment}
		for k, v := range m {
			out[k] = v
		}
		for _, n := range more {
			out[n] = "0"
		}
		return out
	}
	for _, c := range []struct {
		name      string
		vars      map[string]string
		has       []string
		hasNot    []string
		limit     string
		fineClock bool
	}{
		{"MySQL 5.0", with(old, "5.0.96-log", "MySQL Community Server"), []string{"SET NAMES utf8"},
			[]string{"READ ONLY", "lock_wait_timeout", "min_examined", "utf8mb4"}, "", false},
		{"MySQL 5.1", with(old, "5.1.73", "Source distribution", "min_examined_row_limit"), []string{"SET NAMES utf8", "min_examined_row_limit"},
			[]string{"READ ONLY", "lock_wait_timeout", "utf8mb4"}, "", false},
		{"MySQL 5.5", with(newer, "5.5.62", "MySQL Community Server (GPL)"), []string{"utf8mb4", "SESSION lock_wait_timeout=2", "innodb_lock_wait_timeout=2"}, []string{"READ ONLY"}, "", false},
		{"MySQL 5.6", with(newer, "5.6.24", "MySQL Community Server (GPL)"), []string{"READ ONLY"}, nil, "", true},
		{"Percona 5.6", with(newer, "5.6.51-91.0", "Percona Server (GPL)", "max_statement_time"), []string{"READ ONLY"}, nil, "SET SESSION max_statement_time=2500", true},
		{"MySQL 5.7", with(newer, "5.7.44", "MySQL Community Server (GPL)", "max_execution_time"), []string{"READ ONLY"}, nil, "SET SESSION max_execution_time=2500", true},
		{"MySQL 9", with(newer, "9.5.0", "MySQL Community Server - GPL", "max_execution_time"), []string{"READ ONLY"}, nil, "SET SESSION max_execution_time=2500", true},
		{"MariaDB 5.5", with(newer, "5.5.68-MariaDB", "MariaDB Server"), []string{"utf8mb4"}, []string{"READ ONLY"}, "", true},
		{"MariaDB 10.0", with(newer, "5.5.5-10.0.38-MariaDB", "mariadb.org"), []string{"READ ONLY"}, nil, "", true},
		{"MariaDB 12", with(newer, "12.3.1-MariaDB-log", "mariadb.org", "max_statement_time"), []string{"READ ONLY"}, nil, "SET SESSION max_statement_time=2.500", true},
	} {
		id := monolith.Identify(c.vars)
		list := setupStatements(id, c.vars, 10*time.Second)
		all := strings.Join(list, ";")
		for _, want := range append(c.has, "autocommit=1", "READ COMMITTED", "time_zone='+00:00'", "sql_mode=''", "long_query_time=31536000") {
			if !strings.Contains(all, want) {
				t.Errorf("%s is not told %q: %v", c.name, want, list)
			}
		}
		for _, not := range append(c.hasNot, "wait_timeout=9") {
			if slices.ContainsFunc(list, func(s string) bool { return strings.Contains(s, not) }) {
				t.Errorf("%s is told %q: %v", c.name, not, list)
			}
		}
		if got := limitStatement(id, c.vars, 2500*time.Millisecond); got != c.limit {
			t.Errorf("%s: limit by %q, want %q", c.name, got, c.limit)
		}
		if got := fineClock(id); got != c.fineClock {
			t.Errorf("%s: fine clock %v", c.name, got)
		}
	}
	short := with(newer, "10.11.6-MariaDB", "", "max_statement_time")
	short["wait_timeout"] = "30"
	if list := setupStatements(monolith.Identify(short), short, time.Minute); !slices.Contains(list, "SET SESSION wait_timeout=240") {
		t.Errorf("a wait_timeout shorter than the interval stays: %v", list)
	}
}

func TestSameServer(t *testing.T) {
	t.Parallel()
	a := monolith.Identity{Hostname: "a", ServerID: 1, Port: 3306, UUID: "u1"}
	for _, c := range []struct {
		b    monolith.Identity
		same bool
	}{
		{monolith.Identity{Hostname: "renamed", ServerID: 2, Port: 3306, UUID: "u1"}, true},
		{monolith.Identity{Hostname: "a", ServerID: 1, Port: 3306, UUID: "u2"}, false},
		{monolith.Identity{Hostname: "a", ServerID: 1, Port: 3306}, true},
		{monolith.Identity{Hostname: "b", ServerID: 1, Port: 3306}, false},
		{monolith.Identity{Hostname: "a", ServerID: 2, Port: 3306}, false},
	} {
		if sameServer(a, c.b) != c.same {
			t.Errorf("%+v: same = %v", c.b, !c.same)
		}
	}
}

func TestRestarted(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_000_000, 0)
	for _, c := range []struct {
		before, now uint64
		between     time.Duration
		want        bool
	}{
		{5550, 5560, 10 * time.Second, false},
		{5550, 3, 10 * time.Second, true},
		{5550, 5549, 10 * time.Second, true},
		{3, 20, time.Minute, true},           // restarted twenty seconds ago, though Uptime did not fall
		{3, 62, time.Minute, false},          // whole seconds
		{100, 86_000, 24 * time.Hour, false}, // clocks differ a little over a day
		{100, 50_000, 24 * time.Hour, true},
	} {
		if got := restarted(monolith.Uint(c.before), at, monolith.Uint(c.now), at.Add(c.between)); got != c.want {
			t.Errorf("uptime %d, %v later %d: restarted = %v", c.before, c.between, c.now, got)
		}
	}
	if restarted(monolith.Num{}, time.Time{}, monolith.Uint(30), at) {
		t.Error("a server seen for the first time was restarted")
	}
}

func TestClockGap(t *testing.T) {
	t.Parallel()
	maria := monolith.Identity{Flavour: monolith.MariaDB, Version: monolith.Version{Major: 10, Minor: 11}}
	old := monolith.Identity{Flavour: monolith.MySQL, Version: monolith.Version{Major: 5, Minor: 5}}
	sent := time.Unix(1000, 0)
	done := sent.Add(200 * time.Millisecond)
	for _, c := range []struct {
		text string
		id   monolith.Identity
		want time.Duration
	}{
		{"1003.100000", maria, 3 * time.Second},
		{"990.100000", maria, -10 * time.Second},
		{"1000.100000", maria, 1}, // measured, and none
		{"1002", old, 2400 * time.Millisecond},
		{"", maria, 0}, {"NULL", maria, 0}, {"-1", maria, 0},
	} {
		if got := clockGap([]byte(c.text), sent, done, c.id); (got - c.want).Abs() > time.Microsecond {
			t.Errorf("%q: gap %v, want %v", c.text, got, c.want)
		}
	}
}

package alerts

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"monolith"
)

// channelCase is what one channel of a replica says.
type channelCase struct {
	name    string
	io, sql string
	lag     any // seconds, or nil for NULL
	delay   int // wanted
	errno   int // of the applier
	ioErrno int
	until   bool // stopped where it was told to stop
}

func (c channelCase) String() string {
	return fmt.Sprintf("%q io=%s sql=%s lag=%v delay=%d errno=%d/%d", c.name, c.io, c.sql, c.lag, c.delay, c.ioErrno, c.errno)
}

// row is the channel in the form of the replication collector.
func (c channelCase) row() map[string]any {
	until := "None"
	if c.until {
		until = "Master"
	}
	return map[string]any{"channel": c.name, "io": c.io, "sql": c.sql, "lag": c.lag, "sql_delay": c.delay, "sql_errno": c.errno, "io_errno": c.ioErrno,
		"sql_error": "e", "io_error": "e", "until_condition": until, "source_host": "db1", "source_port": 3306}
}

// expected says what a person who knows replication would be told of a channel after twenty minutes of the same, by rule.
func (c channelCase) expected(role string) map[string]monolith.Level {
	want := map[string]monolith.Level{}
	if c.io == "No" && c.sql == "No" { // one alert speaks, of the server
		want["replica-not-active"] = monolith.LevelCritical
		if role == "primary" {
			want["replica-not-active"] = monolith.LevelInfo
		}
	} else {
		if c.sql != "Yes" {
			want["replica-sql-thread-stopped"] = monolith.LevelCritical
			if c.until && c.errno == 0 {
				want["replica-sql-thread-stopped"] = monolith.LevelInfo
			}
		}
		if c.io != "Yes" {
			want["replica-io-thread-stopped"] = monolith.LevelCritical
		}
		if lag, ok := c.lag.(int); ok && c.io == "Yes" { // nobody knows the lag without the receiver
			switch behind := lag - c.delay; {
			case behind >= 600:
				want["replica-lag"] = monolith.LevelCritical
			case behind >= 120:
				want["replica-lag"] = monolith.LevelWarn
			case behind >= 30:
				want["replica-lag"] = monolith.LevelInfo
			}
		}
	}
	if c.errno != 0 && c.sql != "Yes" || c.ioErrno != 0 && c.io != "Yes" {
		want["replication-error"] = monolith.LevelCritical
	}
	return want
}

// replicationRules are the rules that the table holds for.
var replicationRules = []string{"replica-not-active", "replica-sql-thread-stopped", "replica-io-thread-stopped", "replica-lag", "replication-error"}

// channelCases are all states of the threads with every kind of lag, and the errors that belong to them.
func channelCases() (all []channelCase) {
	for _, io := range []string{"Yes", "Connecting", "No"} {
		for _, sql := range []string{"Yes", "No"} {
			running := io == "Yes" && sql == "Yes"
			lags := []any{nil}
			if sql == "Yes" {
				lags = []any{0, 29, 45, 300, 5000}
				if io != "Yes" {
					lags = append(lags, nil) // most versions give NULL then
				}
			}
			for _, lag := range lags {
				for _, delay := range []int{0, 3600} {
					c := channelCase{io: io, sql: sql, lag: lag, delay: delay}
					if n, ok := lag.(int); ok && delay > 0 {
						c.lag = n + delay
					}
					all = append(all, c)
				}
			}
			if !running {
				broken := channelCase{io: io, sql: sql, lag: lags[0]}
				if sql == "No" {
					broken.errno = 1062
				}
				if io != "Yes" {
					broken.ioErrno = map[string]int{"Connecting": 2003, "No": 1236}[io]
				}
				all = append(all, broken)
			}
		}
	}
	return append(all, channelCase{io: "Yes", sql: "No", lag: nil, until: true})
}

// stateAfter plays twenty minutes of a server with these channels and gives what a rule says of each instance.
func stateAfter(t *testing.T, cat *Catalogue, rule string, server serverEntry, channels ...channelCase) map[string]monolith.RuleStatus {
	t.Helper()
	r := cat.byID[rule]
	var rows []any
	for _, c := range channels {
		rows = append(rows, c.row())
	}
	held, asked := span(20*time.Minute), ""
	if len(channels) > 0 {
		asked = channels[0].name
	}
	w, err := playTest(cat, r, &testEntry{Phase: phaseEntry{Server: server, Held: &held, Instance: &asked, Rows: map[string]anyNode{"replicas": {rows}},
		Set: map[string]any{"variable.read_only": "ON"}}}, &TestResult{})
	if err != nil {
		t.Fatalf("%s: %v", rule, err)
	}
	out := map[string]monolith.RuleStatus{}
	for _, s := range w.engine.statuses(w.server.ID, rule, false) {
		if s.Rule == rule {
			out[s.Instance] = s
		}
	}
	return out
}

// Every combination of threads, lag, delay and error, on servers of every kind and age: exactly the alerts that belong to
// it are open, at the level that belongs to it.
func TestReplicationTable(t *testing.T) {
	t.Parallel()
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	servers := []serverEntry{
		{Flavour: "mysql", Version: "5.0.96"}, {Flavour: "mysql", Version: "5.5.62"}, {Flavour: "mysql", Version: "5.7.44"}, {Flavour: "mysql", Version: "8.0.36"},
		{Flavour: "mysql", Version: "9.5.0"}, {Flavour: "percona", Version: "8.0.32"}, {Flavour: "mariadb", Version: "5.5.64"}, {Flavour: "mariadb", Version: "10.11.6"},
		{Flavour: "mariadb", Version: "11.8.5"}, {Flavour: "mysql", Version: "8.0.36", Role: "primary"}, {Flavour: "mysql", Version: "8.4.3", Role: "replica"},
	}
	cases := channelCases()
	if len(cases) < 40 {
		t.Fatalf("%d cases", len(cases))
	}
	for i, server := range servers {
		t.Run(strings.TrimSpace(server.Flavour+" "+server.Version+" "+server.Role), func(t *testing.T) {
			t.Parallel()
			for k, c := range cases {
				if (k+i)%3 != 0 && i > 0 { // the first server sees all, the others a third each
					continue
				}
				want := c.expected(server.Role)
				for _, rule := range replicationRules {
					got := stateAfter(t, cat, rule, server, c)[""]
					level := monolith.LevelOK
					if got.State == monolith.StateOpen {
						level = got.Level
					}
					if level != want[rule] {
						t.Errorf("%v: %s is %s %s (%s), want %s", c, rule, got.State, got.Level, got.Why, want[rule])
					}
				}
			}
		})
	}
}

// Several channels of one server are judged each by itself, and those of Group Replication not at all.
func TestReplicationChannels(t *testing.T) {
	t.Parallel()
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, server := range []serverEntry{{Flavour: "mysql", Version: "8.0.36"}, {Flavour: "mariadb", Version: "10.11.6"}} {
		channels := []channelCase{
			{name: "eu", io: "Yes", sql: "Yes", lag: 0},
			{name: "us", io: "Yes", sql: "No", lag: nil, errno: 1032},
			{name: "asia", io: "Connecting", sql: "Yes", lag: nil, ioErrno: 2003},
			{name: "group_replication_applier", io: "No", sql: "No", lag: nil},
		}
		for rule, want := range map[string]map[string]monolith.Level{
			"replica-sql-thread-stopped": {"us": monolith.LevelCritical},
			"replica-io-thread-stopped":  {"asia": monolith.LevelCritical},
			"replication-error":          {"us": monolith.LevelCritical, "asia": monolith.LevelCritical},
			"replica-not-active":         {},
			"replica-lag":                {},
		} {
			for instance, s := range stateAfter(t, cat, rule, server, channels...) {
				if open := s.State == monolith.StateOpen; open != (want[instance] != monolith.LevelOK) || open && s.Level != want[instance] {
					t.Errorf("%s %s: %s of %q is %s %s, want %s", server.Flavour, server.Version, rule, instance, s.State, s.Level, want[instance])
				}
			}
		}
	}
}

// Sources, Galera nodes, members of a group and Aurora readers are no replicas in this sense, and are not reported for it.
func TestNoReplica(t *testing.T) {
	t.Parallel()
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for name, server := range map[string]serverEntry{
		"source": {Flavour: "mysql", Version: "8.0.36", Role: "primary"}, "alone": {Flavour: "mariadb", Version: "10.11.6"},
		"Galera": {Flavour: "mariadb", Version: "10.6.16", Galera: true}, "Aurora": {Flavour: "aurora", Version: "8.0.28", Aurora: true},
		"group member": {Flavour: "mysql", Version: "8.0.36", GroupReplication: true, Role: "replica"},
	} {
		for _, rule := range replicationRules {
			for instance, s := range stateAfter(t, cat, rule, server) {
				if s.State != monolith.StateNotApplicable {
					t.Errorf("%s: %s %q is %s: %s", name, rule, instance, s.State, s.Why)
				}
			}
		}
	}
	missing := stateAfter(t, cat, "replica-not-active", serverEntry{Flavour: "mysql", Version: "8.0.36", Role: "replica"})[""]
	if missing.State != monolith.StateOpen || missing.Level != monolith.LevelCritical {
		t.Errorf("a replica without replication is %s %s", missing.State, missing.Level)
	}
}

package formula

import (
	"slices"
	"strings"
	"testing"

	"monolith"
)

func TestNameTable(t *testing.T) {
	for ns, least := range map[string]int{"status": 1000, "variable": 1200, "innodb": 250, "host": 50, "replica": 10,
		"schema": 10, "server": 10, "self": 30} {
		all := Names(ns)
		if len(all) < least {
			t.Errorf("%s: %d names", ns, len(all))
		}
		if !slices.IsSorted(all) {
			t.Errorf("%s is not sorted", ns)
		}
		text, err := names.ReadFile("names/" + ns + ".txt")
		if err != nil || len(strings.Fields(string(text))) != len(all) || !strings.HasSuffix(string(text), "\n") {
			t.Errorf("%s: one name a line, each once: %v", ns, err)
		}
		for _, n := range all {
			if m := (monolith.Metric{Name: n}); m.Namespace() != ns {
				t.Errorf("%s stands in %s", n, ns)
			}
			if _, err := Parse(quotedName(n)); err != nil {
				t.Errorf("%s: %v", n, err)
			}
		}
	}
	if Names("nothing") != nil {
		t.Error("a namespace that does not exist has names")
	}
	// Names of every family and age.
	for _, n := range []string{
		"status.Questions", "status.Qcache_hits", "status.Com_show_slave_status", "status.Innodb_redo_log_current_lsn",
		"status.wsrep_flow_control_paused_ns", "status.Aria_pagecache_reads", "status.Rpl_semi_sync_source_yes_tx",
		"status.Innodb_checkpoint_age", "status.Tmp_space_used", "status.Mysqlx_bytes_sent", "status.Access_denied_errors",
		"variable.table_cache", "variable.tx_isolation", "variable.transaction_isolation", "variable.innodb_redo_log_capacity",
		"variable.max_binlog_total_size", "variable.binlog_space_limit", "variable.wsrep_slave_threads", "variable.validate_password.policy",
		"variable.log_replica_updates", "variable.expire_logs_days", "innodb.lock_deadlocks", "innodb.trx_rseg_history_len",
		"innodb.log_max_modified_age_sync", "host.disk_busy_seconds_total", "replica.delay", "schema.engine_data_bytes", "server.up", "self.Questions",
	} {
		if !nameTable().has(n) {
			t.Errorf("%s is not known", n)
		}
	}
	// Monolith's own part in a counter is called like the counter.
	if !nameTable().has("self.Com_show_collations") || nameTable().has("self.Not_a_counter") {
		t.Error("self follows status")
	}
	first := Names("host")
	first[0] = "spoilt"
	if Names("host")[0] == "spoilt" {
		t.Error("the table can be changed from outside")
	}
}

func TestComplete(t *testing.T) {
	got := Complete("status.Com_sel", 10)
	if len(got) != 1 || got[0] != (Name{"status.Com_select", "counter"}) {
		t.Errorf("%v", got)
	}
	got = Complete("threads_r", 3)
	if len(got) == 0 || got[0].Name != "status.Threads_running" || got[0].Kind != "gauge" {
		t.Errorf("%v", got)
	}
	// What begins with the text comes before what holds it.
	got = Complete("query_cache_s", 100)
	if len(got) == 0 || got[0].Name != "variable.query_cache_size" {
		t.Errorf("%v", got)
	}
	if got = Complete("", 7); len(got) != 7 {
		t.Errorf("%d names", len(got))
	}
	if got = Complete("threads", -1); len(got) != 0 {
		t.Errorf("%d names", len(got))
	}
	if got = Complete("no such thing", 5); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "acb", 1}, {"abc", "ab", 1}, {"abc", "xabc", 1},
		{"kitten", "sitting", 3}, {"abcdef", "badcfe", 3},
	} {
		if got := distance(c.a, c.b, 10); got != c.want || distance(c.b, c.a, 10) != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
	if distance("a", "abcdefgh", 3) != 4 {
		t.Error("the limit is not kept")
	}
}

func TestNearest(t *testing.T) {
	words := []string{"from", "to", "group", "version", "Threads_running"}
	for word, want := range map[string]string{"foo": "", "t": "", "tu": "", "TO": "to", "form": "from", "verson": "version", "groop": "group", "treads_runing": "Threads_running", "weather": ""} {
		if got := Nearest(word, words); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}

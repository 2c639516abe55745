package graph

import (
	"slices"
	"strings"
	"testing"
	"time"

	"monolith"
)

// withNumbers gives a state that knows numbers too.
func withNumbers(st *monolith.State, collector string, numbers map[monolith.Metric]float64) *monolith.State {
	var names []monolith.Metric
	var nums []monolith.Num
	for m, v := range numbers {
		names, nums = append(names, m), append(nums, monolith.Float(v))
	}
	return st.With(&monolith.Snapshot{Server: 1, At: st.At, Polled: true, Up: true, Interval: st.Interval, Identity: st.Identity,
		Sections: []monolith.Section{{Collector: collector, NumNames: monolith.NewNames(names), Nums: nums}}})
}

// draw draws a built-in graph of readings of three polls.
func (h *readings) draw(t *testing.T, st *monolith.State, id string) *Drawing {
	t.Helper()
	ds, err := Draw(t.Context(), h, Target{ID: 1, Name: "db1", State: st},
		Request{From: start, To: start.Add(3 * h.every), Step: h.every}, Find(id))
	if err != nil {
		t.Fatal(err)
	}
	return ds[0]
}

// panel gives the lines of a panel as "name[instance]", and its note.
func panel(d *Drawing, title string) (lines []string, note string) {
	for _, p := range d.Panels {
		if p.Title != title {
			continue
		}
		for _, l := range p.Lines {
			lines = append(lines, monolith.Metric{Name: l.Name, Instance: l.Instance}.String())
		}
		return lines, p.Note
	}
	return nil, "no such panel"
}

// TestEachFlavourDrawsWhatItHas: of the same graph every server draws what its version knows, and no zeros.
func TestEachFlavourDrawsWhatItHas(t *testing.T) {
	t.Parallel()
	const none = "no such panel"
	three := func(v float64) []float64 { return []float64{v, v + 10, v + 20} }
	for _, c := range []struct {
		what, version string
		flavour       monolith.Flavour
		variables     string // name=value, space between
		names         string // that the server has, with instances
		graph, panel  string
		lines, note   string
	}{
		{"TempTable", "8.4.0", monolith.MySQL, "temptable_max_ram=1073741824", "server.temptable_ram_bytes server.temptable_disk_bytes status.Created_tmp_tables",
			"temp-tables", "space", "TempTable in memory, TempTable on disk", ""},
		{"TempTable without the privilege", "8.4.0", monolith.MySQL, "temptable_max_ram=1073741824", "status.Created_tmp_tables",
			"temp-tables", "space", "", "there is no reading for server.temptable_ram_bytes in this range"},
		{"MariaDB 11.8's own figure", "11.8.5", monolith.MariaDB, "port=1", "status.Tmp_space_used", "temp-tables", "space", "temporary space", ""},
		{"neither", "10.11.6", monolith.MariaDB, "port=1", "status.Created_tmp_tables", "temp-tables", "space", "",
			"MariaDB 10.11.6 does not tell how much space temporary tables take."},

		{"counted binary log", "10.11.6", monolith.MariaDB, "log_bin=ON", "status.Binlog_bytes_written server.binary_log_bytes", "binlog", "written",
			"written, total on disk", ""},
		{"MySQL's position", "8.4.0", monolith.MySQL, "log_bin=ON", "server.binlog_written_bytes_total server.binary_log_bytes", "binlog", "written",
			"written, total on disk", ""},
		{"limited binary log", "11.8.5", monolith.MariaDB, "log_bin=ON max_binlog_total_size=1000", "status.Binlog_bytes_written status.Binlog_disk_use server.binary_log_bytes",
			"binlog", "written", "written, total on disk", ""},

		{"own figure of MySQL 8.0", "8.0.36", monolith.MySQL, "port=1", "server.memory_allocated_bytes", "memory", "server", "memory used by its own count", ""},
		{"own figure of MariaDB", "10.11.6", monolith.MariaDB, "port=1", "status.Memory_used", "memory", "server", "memory used by its own count", ""},

		{"files and binary logs", "8.4.0", monolith.MySQL, "log_bin=ON", "schema.total_file_bytes server.binary_log_bytes", "data-size", "whole server",
			"overall on disk, binary logs", ""},
		{"files alone", "8.4.0", monolith.MySQL, "log_bin=OFF", "schema.total_file_bytes", "data-size", "whole server", "overall on disk", ""},

		{"retries of a channel", "8.4.0", monolith.MySQL, "port=1", "replica.retried_transactions_total[west] replica.gtid_backlog[west]", "replication-flow", "backlog",
			"received and not applied[west], retries[west]", ""},
		{"retries of MySQL 5.6", "5.6.51", monolith.MySQL, "port=1", "status.Slave_retried_transactions replica.gtid_backlog", "replication-flow", "backlog",
			"received and not applied, retries", ""},
		{"no retries without a source", "10.11.6", monolith.MariaDB, "port=1", "status.Slave_retried_transactions replica.connected_replicas", "replication-flow", "backlog",
			"", none},
		{"busy workers", "8.4.0", monolith.MySQL, "port=1", "replica.busy_workers", "replication-flow", "workers", "busy", ""},
		{"workers of MariaDB", "10.11.6", monolith.MariaDB, "slave_parallel_threads=4", "server.processes_applying variable.slave_parallel_threads", "replication-flow", "workers",
			"busy, slave_parallel_threads", ""},
		{"no workers", "10.11.6", monolith.MariaDB, "slave_parallel_threads=0", "server.processes_applying variable.slave_parallel_threads", "replication-flow", "workers", "", none},
		{"semi-sync", "8.4.0", monolith.MySQL, "rpl_semi_sync_source_enabled=ON", "status.Rpl_semi_sync_source_yes_tx status.Rpl_semi_sync_source_no_tx" +
			" status.Rpl_semi_sync_source_tx_waits status.Rpl_semi_sync_source_tx_wait_time", "replication-flow", "semi-synchronous", "acknowledged, not acknowledged, mean wait", ""},
		{"semi-sync of MariaDB", "10.11.6", monolith.MariaDB, "rpl_semi_sync_master_enabled=ON", "status.Rpl_semi_sync_master_yes_tx status.Rpl_semi_sync_master_no_tx",
			"replication-flow", "semi-synchronous", "acknowledged, not acknowledged", ""},
		{"semi-sync that is off", "10.11.6", monolith.MariaDB, "rpl_semi_sync_master_enabled=OFF", "status.Rpl_semi_sync_master_yes_tx replica.relay_log_space",
			"replication-flow", "semi-synchronous", "", none},

		{"undo tablespaces", "8.4.0", monolith.MySQL, "port=1", "status.Innodb_undo_tablespaces_total status.Innodb_undo_tablespaces_active", "history-transactions",
			"undo tablespaces", "there, in use", ""},
		{"no undo tablespaces", "5.6.51", monolith.MySQL, "port=1", "innodb.transactions", "history-transactions", "undo tablespaces", "", none},

		{"flushes", "8.4.0", monolith.MySQL, "port=1", "host.disk_reads_total[sda] host.disk_flushes_total[sda]", "io", "operations", "reads[sda], flushes[sda]", ""},
		{"an old kernel", "8.4.0", monolith.MySQL, "port=1", "host.disk_reads_total[sda]", "io", "operations", "reads[sda]", ""},
		{"space for temporary files", "8.4.0", monolith.MySQL, "port=1", "host.tmpdir_used_bytes[/tmp] host.tmpdir_available_bytes[/tmp] status.Created_tmp_files", "temp-files", "",
			"temporary files created, many files a second, tmpdir used[/tmp]", ""},

		{"Galera", "10.11.6", monolith.MariaDB, "wsrep_on=ON", "status.wsrep_local_state status.wsrep_cluster_size", "cluster", "state of this node", "synced", ""},
		{"Galera is no group", "10.11.6", monolith.MariaDB, "wsrep_on=ON", "status.wsrep_local_state", "cluster", "members by state", "", none},
		{"a group", "8.4.0", monolith.MySQL, "group_replication_group_name=aaaa", "server.group_members[ONLINE] server.group_members[ERROR]", "cluster", "members by state",
			"members[ERROR], members[ONLINE]", ""},
		{"a group's queues", "5.7.44", monolith.MySQL, "group_replication_group_name=aaaa", "server.group_waiting_transactions server.group_conflicts_total", "cluster", "queues of this member",
			"waiting for the check", ""},
	} {
		h := &readings{every: 10 * time.Second, values: map[monolith.Metric][]float64{}}
		for name := range strings.FieldsSeq(c.names) {
			metric, instance, _ := strings.Cut(strings.TrimSuffix(name, "]"), "[")
			h.values[monolith.Metric{Name: metric, Instance: instance}] = three(100)
		}
		variables := map[string]string{}
		for v := range strings.FieldsSeq(c.variables) {
			name, value, _ := strings.Cut(v, "=")
			variables[name] = value
		}
		channels := map[monolith.Metric]float64{{Name: "replica.channels"}: 1}
		if strings.Contains(c.names, "connected_replicas") {
			channels[monolith.Metric{Name: "replica.channels"}] = 0
		}
		d := h.draw(t, withNumbers(state(c.flavour, c.version, variables), "replication", channels), c.graph)
		lines, note := panel(d, c.panel)
		if got := strings.Join(lines, ", "); got != c.lines || note != c.note {
			t.Errorf("%s: lines %q, note %q; want %q, %q (graph: %q)", c.what, got, note, c.lines, c.note, d.Note)
		}
	}
}

// TestTheBinaryLogIsCountedByWhoKnows: what is summed only where there is a limit is no 0 elsewhere.
func TestTheBinaryLogIsCountedByWhoKnows(t *testing.T) {
	t.Parallel()
	src := history{"status.Binlog_bytes_written": 10, "status.Binlog_disk_use": 0, "server.binary_log_bytes": 500, "server.binlog_written_bytes_total": 10}
	for limit, want := range map[string]string{"0": "server.binary_log_bytes", "1000": "status.Binlog_disk_use", "": "server.binary_log_bytes"} {
		variables := map[string]string{"log_bin": "ON", "max_binlog_total_size": limit}
		if limit == "" {
			delete(variables, "max_binlog_total_size")
		}
		d := drawOne(t, src, state(monolith.MariaDB, "11.8.5", variables), "binlog")
		if l := find(t, d, "total on disk"); l.Expr != want {
			t.Errorf("with the limit %q the total is %s", limit, l.Expr)
		}
		if l := find(t, d, "written"); l.Expr != "rate(status.Binlog_bytes_written)" {
			t.Errorf("written is %s", l.Expr)
		}
	}
}

func TestTheCertificateIsDrawnWhereThereIsOne(t *testing.T) {
	t.Parallel()
	for text, drawn := range map[string]bool{"May  3 12:00:00 2034 GMT": true, "": false} {
		st := state(monolith.MySQL, "8.4.0", map[string]string{"port": "1"})
		st = st.With(&monolith.Snapshot{Server: 1, At: st.At, Polled: true, Identity: st.Identity, Sections: []monolith.Section{{Collector: "status",
			TextNames: monolith.NewNames([]monolith.Metric{{Name: "status.Ssl_server_not_after"}}), Texts: []string{text}}}})
		d := drawOne(t, history{"status.Connections": 1, "server.certificate_days_left": 40}, st, "tls-logins")
		if lines, _ := panel(d, "certificate"); (len(lines) == 1) != drawn {
			t.Errorf("%q: lines %q", text, lines)
		}
	}
}

func TestClusterOfNeitherKind(t *testing.T) {
	t.Parallel()
	for _, variables := range []map[string]string{{"port": "1"}, {"wsrep_on": "OFF"}, {"group_replication_group_name": ""}} {
		d := drawOne(t, history{}, state(monolith.MariaDB, "10.11.6", variables), "cluster")
		if want := "MariaDB 10.11.6 belongs to no Galera cluster and to no replication group."; d.Note != want || len(d.Panels) > 0 {
			t.Errorf("%v: %q with %d panels", variables, d.Note, len(d.Panels))
		}
	}
	for local, want := range map[float64]float64{4: 1, 2: 0.5, 3: 0.5, 1: 0} {
		d := drawOne(t, history{"status.wsrep_local_state": local}, state(monolith.MariaDB, "10.11.6", map[string]string{"wsrep_on": "ON"}), "cluster")
		if got := *find(t, d, "synced").Stats.Last; got != want {
			t.Errorf("wsrep_local_state %v is drawn as %v", local, got)
		}
	}
}

// TestKeyCachesThatNobodyUses are left out: neither tables of their engines nor a read a second.
func TestKeyCachesThatNobodyUses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what                          string
		myisam, aria, requests, aria2 float64 // aria2 < 0: no Aria in the status
		drawn                         bool
	}{
		{"nothing", 0, 0, 50, 50, false}, {"MyISAM tables", 3, 0, 50, 50, true}, {"Aria tables", 0, 2, 50, 50, true},
		{"busy with system tables", 0, 0, 2000, 50, true}, {"busy with temporary tables", 0, 0, 50, 2000, true}, {"MySQL", 0, 0, 50, -1, false},
	} {
		st := state(monolith.MariaDB, "10.11.6", map[string]string{"port": "1"})
		st = withNumbers(st, "sizes", map[monolith.Metric]float64{{Name: "schema.engine_tables", Instance: "MyISAM"}: c.myisam,
			{Name: "schema.engine_tables", Instance: "Aria"}: c.aria})
		status := map[monolith.Metric]float64{{Name: "status.Uptime"}: 1000, {Name: "status.Key_read_requests"}: c.requests}
		if c.aria2 >= 0 {
			status[monolith.Metric{Name: "status.Aria_pagecache_read_requests"}] = c.aria2
		}
		st = withNumbers(st, "status", status)
		d := drawOne(t, history{"status.Key_reads": 1, "status.Key_read_requests": 10}, st, "myisam-keys")
		if drawn := len(d.Panels) > 0; drawn != c.drawn || drawn != (d.Note == "") {
			t.Errorf("%s: %d panels, note %q", c.what, len(d.Panels), d.Note)
		}
	}
	// As long as the tables were not counted, nothing is hidden.
	st := withNumbers(state(monolith.MySQL, "8.4.0", map[string]string{"port": "1"}), "status", map[monolith.Metric]float64{{Name: "status.Uptime"}: 1000,
		{Name: "status.Key_read_requests"}: 0})
	if d := drawOne(t, history{"status.Key_reads": 1, "status.Key_read_requests": 10}, st, "myisam-keys"); len(d.Panels) == 0 {
		t.Errorf("hidden before the tables were counted: %q", d.Note)
	}
}

// TestQuietLines: a line is hidden while it says nothing, and shown as soon as it does.
func TestQuietLines(t *testing.T) {
	t.Parallel()
	net := map[string][]float64{"host.net_receive_errors_total": {5, 5, 5}, "host.net_send_errors_total": {0, 0, 0},
		"host.net_receive_drops_total": {0, 0, 0}, "host.net_send_drops_total": {0, 0, 0}}
	if l := find(t, counters(10*time.Second, net).draw(t, nil, "data-transfer"), "errors and drops"); !l.Hidden || *l.Stats.Max != 0 {
		t.Errorf("no errors: %+v", l)
	}
	net["host.net_send_drops_total"] = []float64{0, 0, 1}
	if l := find(t, counters(10*time.Second, net).draw(t, nil, "data-transfer"), "errors and drops"); l.Hidden {
		t.Error("a dropped packet is hidden")
	}
	for used, hidden := range map[float64]bool{50: true, 51: false} {
		d := drawOne(t, history{"host.mount_inodes_used": used, "host.mount_inodes": 100}, nil, "disk-space")
		if l := find(t, d, "inodes used"); l.Hidden != hidden {
			t.Errorf("%v %% of inodes: hidden %v", used, l.Hidden)
		}
	}
}

// A number of pages that can't be is no area.
func TestMiscPagesThatCannotBe(t *testing.T) {
	t.Parallel()
	for misc, want := range map[float64]any{100: 1_638_400.0, 1001: nil, -3: nil} {
		d := drawOne(t, history{"status.Innodb_buffer_pool_pages_misc": misc, "status.Innodb_buffer_pool_pages_total": 1000, "status.Innodb_page_size": 16384},
			nil, "buffer-pool-pages")
		got := any(nil)
		if last := find(t, d, "misc").Stats.Last; last != nil {
			got = *last
		}
		if got != want {
			t.Errorf("%v pages of 1000 are drawn as %v, want %v", misc, got, want)
		}
	}
}

// TestStacksAddUp: what is stacked has a total that means something, which ratios have not; only the CPU's shares are parts
// of one whole.
func TestStacksAddUp(t *testing.T) {
	t.Parallel()
	for _, g := range Catalogue() {
		for _, p := range g.Panels {
			stacked := slices.ContainsFunc(p.Series, func(s Series) bool { return s.Style == StyleStack })
			for _, s := range p.Series {
				ratio := slices.ContainsFunc(s.Expr, func(e string) bool { return strings.Contains(e, "percent(") || strings.Contains(e, " / ") })
				if s.Style == StyleStack && (ratio || p.Unit == "%") && g.ID != "cpu" {
					t.Errorf("%s stacks a ratio: %s", g.ID, s.Name)
				}
				if s.Style == StyleStack && s.Axis == "right" {
					t.Errorf("%s stacks on the right axis: %s", g.ID, s.Name)
				}
			}
			if !stacked {
				continue
			}
			if p.Log || p.Min != nil && *p.Min != 0 {
				t.Errorf("%s: a stack does not begin at 0", g.ID)
			}
		}
	}
}

// TestApplies: a page that offers graphs leaves out what a server can't have, and nothing else.
func TestApplies(t *testing.T) {
	t.Parallel()
	replication := func(values map[monolith.Metric]float64) *monolith.State {
		return withNumbers(state(monolith.MariaDB, "10.11.6", map[string]string{"wsrep_on": "OFF"}), "replication", values)
	}
	single := replication(map[monolith.Metric]float64{{Name: "replica.channels"}: 0})
	replica := replication(map[monolith.Metric]float64{{Name: "replica.channels"}: 1, {Name: "replica.delay", Instance: "west"}: 3})
	node := state(monolith.MariaDB, "10.11.6", map[string]string{"wsrep_on": "ON"})
	member := state(monolith.MySQL, "8.4.0", map[string]string{"group_replication_group_name": "aaaa"})
	for _, c := range []struct {
		what, graph string
		state       *monolith.State
		want        bool
	}{
		{"no replica", "replica-delay", single, false},
		{"a replica with one named channel", "replica-delay", replica, true},
		{"replication was not read yet", "replica-delay", node, true},
		{"no cluster", "cluster", single, false},
		{"a node of Galera", "cluster", node, true},
		{"a member of a group", "cluster", member, true},
		{"nothing is known", "cluster", nil, true},
	} {
		if got := Find(c.graph).Applies(t.Context(), c.state); got != c.want {
			t.Errorf("%s: %s applies: %t, want %t", c.what, c.graph, got, c.want)
		}
	}
}

// TestAvailabilityCountsPollsThatWereRead: a server that answers and lets nobody in was not available to the poller.
func TestAvailabilityCountsPollsThatWereRead(t *testing.T) {
	t.Parallel()
	d := drawOne(t, history{"server.up": 1, "server.polled": 0, "status.Uptime": 5}, state(monolith.MySQL, "8.4.0", map[string]string{"port": "1"}), "uptime")
	if got := *find(t, d, "answered polls").Stats.Last; got != 0 {
		t.Errorf("a server that refuses each login is drawn as %v %% available", got)
	}
}

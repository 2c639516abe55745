package poller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

func processList(rows ...string) answer {
	a := answer{columns: []string{"Id", "User", "Host", "db", "Command", "Time", "State", "Info"}}
	for _, r := range rows {
		row := strings.Split(r, "|")
		for i, v := range row {
			if v == "NULL" {
				row[i] = null
			}
		}
		a.rows = append(a.rows, row)
	}
	return a
}

func TestProcessesAreGroupedAndMasked(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{"SHOW FULL PROCESSLIST": processList(
		"1|event_scheduler|localhost|NULL|Daemon|99999|Waiting on empty queue|NULL",
		"5|system user||NULL|Connect|4294967295|Waiting for master to send event|NULL",
		"7|app|10.0.0.9:4711|shop|Query|70|Waiting for table metadata lock|ALTER TABLE t ADD x INT",
		"8|app|10.0.0.9:4712|shop|Query|3|Sending data|SELECT * FROM t WHERE card = '4111'",
		"9|app|[::1]:4713|shop|Query|4|Writing to net|SELECT 2",
		"10|app|10.0.0.8:1|shop|Query|1|waiting for handler commit|COMMIT",
		"11|app|10.0.0.8:2|shop|Sleep|900||NULL",
		"12|repl|10.0.0.7:3|NULL|Binlog Dump GTID|5000|Source has sent all binlog|NULL",
		"42|monolith|localhost|NULL|Query|0|init|SHOW FULL PROCESSLIST",
		"13|app|10.0.0.8:2|shop|Query|2|executing|INSERT INTO b VALUES ('\xff\xfe\x00\x80', 5)",
	)}}
	snap, err := collect(t, processesCollector(), server("8.4.0", ""), f)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, snap, map[string]string{
		"server.processes_total": "9", "server.processes_waiting_lock": "1", "server.processes_executing": "2", "server.processes_sending": "1",
		"server.processes_waiting_io": "1", "server.processes_sleeping": "1", "server.processes_other": "3", "server.processes_longest_seconds": "70",
		"server.processes_metadata_lock": "1", "server.processes_dump": "1",
	})
	p := snap.Processes
	if p.OnlyOwn || p.Total != 10 || len(p.Rows) != 10 || p.Rows[0].ID != 7 {
		t.Errorf("list %+v", p)
	}
	for _, r := range p.Rows {
		if strings.Contains(r.Info, "4111") || !utf8.ValidString(r.Info) || strings.Contains(r.Info, "\x00") || r.Own != (r.ID == 42) || r.Seconds > 1<<31 {
			t.Errorf("row %+v", r)
		}
	}
	if diff := cmp.Diff(monolith.Count{Name: "10.0.0.8", Count: 3}, p.ByHost[0]); diff != "" {
		t.Error(diff)
	}
	if !slices.Contains(p.ByUser, monolith.Count{Name: "app", Count: 6}) {
		t.Errorf("by user %v", p.ByUser)
	}
}

// TestBusyWorkersOfMariaDB: its workers tell by their state whether they have something to do.
func TestBusyWorkersOfMariaDB(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{"SHOW FULL PROCESSLIST": processList(
		"5|system user||NULL|Slave_SQL|3|Slave has read all relay log; waiting for more updates|NULL",
		"6|system user||NULL|Slave_worker|3|Waiting for work from SQL thread|NULL",
		"7|system user||NULL|Slave_worker|0|Write_rows_log_event::write_row(-1) on table `t`|NULL",
		"8|system user||NULL|Slave_worker|0|Waiting for prior transaction to commit|NULL",
		"42|monolith|localhost|NULL|Query|0|init|SHOW FULL PROCESSLIST")}}
	snap, err := collect(t, processesCollector(), server("10.11.6-MariaDB", ""), f)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, snap, map[string]string{"server.processes_applying": "2", "server.processes_other": "4"})
	if snap, err = collect(t, processesCollector(), server("8.4.0", ""), f); err != nil {
		t.Fatal(err)
	}
	wants(t, snap, map[string]string{"server.processes_applying": "absent"})
}

func TestProcessesWithoutThePrivilegeAreNotCounted(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{
		"SHOW FULL PROCESSLIST": processList("42|monolith|localhost|NULL|Query|0|init|SHOW FULL PROCESSLIST"),
		"SHOW GLOBAL STATUS":    {columns: []string{"Variable_name", "Value"}, rows: [][]string{{"Threads_connected", "57"}}},
	}}
	snap, err := collect(t, processesCollector(), server("5.7.44", ""), f)
	if err != nil || !snap.Processes.OnlyOwn || problemKinds(snap) != "[partial]" || find(snap, "server.processes_total", "") != "absent" {
		t.Errorf("%+v, %v, %v", snap.Processes, snap.Problems, err)
	}
	if cure := snap.Problems[0].Cure; cure != "GRANT PROCESS ON *.* TO 'monolith'@'%';" {
		t.Errorf("cure %q", cure)
	}
	// A server on which nobody else is connected is complete.
	f.answers["SHOW GLOBAL STATUS"] = answer{columns: []string{"Variable_name", "Value"}, rows: [][]string{{"Threads_connected", "1"}}}
	snap, err = collect(t, processesCollector(), server("5.7.44", ""), f)
	if err != nil || snap.Processes.OnlyOwn || find(snap, "server.processes_total", "") != "0" {
		t.Errorf("%+v, %v", snap.Processes, err)
	}
}

func TestProcessRowsAreCapped(t *testing.T) {
	t.Parallel()
	var rows []string
	for i := range 1000 {
		rows = append(rows, fmt.Sprintf("%d|u%d|h:%d|d|Sleep|%d||NULL", 100+i, i, i, i))
	}
	rows = append(rows, "5|late|h:1|d|Query|1|executing|SELECT 1")
	snap, err := collect(t, processesCollector(), server("5.7.44", ""), &fakeSession{answers: map[string]answer{"SHOW FULL": processList(rows...)}})
	if err != nil || len(snap.Processes.Rows) != maxProcessRows || snap.Processes.Rows[0].ID != 5 || len(snap.Processes.ByUser) != maxCounts {
		t.Errorf("%d rows, first %+v, %d users, %v", len(snap.Processes.Rows), snap.Processes.Rows[0], len(snap.Processes.ByUser), err)
	}
}

func TestHostOf(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"10.0.0.1:99": "10.0.0.1", "localhost": "localhost", "[::1]:99": "[::1]", "": "", "db.example": "db.example",
		"fe80::1:3306": "fe80::1"} {
		if got := hostOf(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestBinlogs(t *testing.T) {
	t.Parallel()
	c := binlogsCollector()
	f := &fakeSession{answers: map[string]answer{"SHOW BINARY LOGS": {columns: []string{"Log_name", "File_size", "Encrypted"},
		rows: [][]string{{"b.000001", "100", "No"}, {"b.000002", "23", "No"}}}}}
	snap, err := collect(t, c, server("8.4.0", ""), f)
	if err != nil || len(snap.BinaryLogs) != 2 {
		t.Fatal(snap.BinaryLogs, err)
	}
	wants(t, snap, map[string]string{"server.binary_logs": "2", "server.binary_log_bytes": "123"})

	if ok, why := c.Applies(&Gather{Variables: variablesOf(map[string]string{"log_bin": "OFF"})}); ok || !strings.Contains(why, "log_bin=OFF") {
		t.Errorf("without a binary log: %v %q", ok, why)
	}
	off := &fakeSession{answers: map[string]answer{"SHOW BINARY LOGS": refuse(1381, "You are not using binary logging")}}
	if snap, err = collect(t, c, server("5.6.51", ""), off); err != nil || problemKinds(snap) != "[unsupported]" {
		t.Errorf("%v, %v", snap.Problems, err)
	}
}

func TestVariablesHideSecrets(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{"SHOW GLOBAL VARIABLES": {columns: []string{"Variable_name", "Value"}, rows: [][]string{
		{"version", "8.4.0"}, {"wsrep_sst_auth", "sst:hunter2"}, {"init_connect", "SET PASSWORD = 'hunter2'"}, {"init_replica", ""},
		{"authentication_ldap_simple_bind_root_pwd", "hunter2"}, {"authentication_ldap_simple_bind_root_dn", "cn=admin"},
		{"wsrep_provider_options", "base_dir = /d; socket.ssl_password = hunter2; gcache.size = 128M"},
		{"validate_password.length", "8"}, {"validate_password_policy", "MEDIUM"}, {"default_password_lifetime", "0"}, {"password_history", "5"},
		{"old_passwords", "0"}, {"ssl_key", "server-key.pem"}, {"caching_sha2_password_private_key_path", "private.pem"},
		{"tls_key_passphrase", "hunter2"}, {"my_plugin_secret_key", "hunter2"}, {"vault_auth_token", "hunter2"},
		{"gtid_executed", "uuid:1-99"}, {"timestamp", "1"}, {"mysql_native_password_proxy_users", "OFF"}, {"report_password", "hunter2"},
		{"file_key_management_filekey", "hunter2"}, {"keyring_hashicorp_secret_id", "hunter2"}, {"disconnect_on_expired_password", "ON"},
		{"innodb_ft_max_token_size", "84"}, {"s3_access_key", "hunter2"}, {"ssl_passphrase", ""},
	}}}}
	g := gatherFor(variablesCollector(), new(memory))
	g.Session = f
	if err := collectVariables(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"version": "8.4.0", "wsrep_sst_auth": secretSet, "init_connect": secretSet, "init_replica": secretNotSet,
		"authentication_ldap_simple_bind_root_pwd": secretSet, "authentication_ldap_simple_bind_root_dn": "cn=admin",
		"wsrep_provider_options":   "base_dir = /d; socket.ssl_password = (set); gcache.size = 128M",
		"validate_password.length": "8", "validate_password_policy": "MEDIUM", "default_password_lifetime": "0", "password_history": "5",
		"old_passwords": "0", "ssl_key": "server-key.pem", "caching_sha2_password_private_key_path": "private.pem",
		"tls_key_passphrase": secretSet, "my_plugin_secret_key": secretSet, "vault_auth_token": secretSet,
		"mysql_native_password_proxy_users": "OFF", "report_password": secretSet,
		"file_key_management_filekey": secretSet, "keyring_hashicorp_secret_id": secretSet, "disconnect_on_expired_password": "ON",
		"innodb_ft_max_token_size": "84", "s3_access_key": secretSet, "ssl_passphrase": secretNotSet,
	}
	if diff := cmp.Diff(want, maps.Collect(g.Variables.All())); diff != "" {
		t.Error(diff)
	}
	if fmt.Sprint(g.snapshot) != strings.ReplaceAll(fmt.Sprint(g.snapshot), "hunter2", "") {
		t.Error("a secret is in the snapshot")
	}
	// What is gone from the server is gone from the variables.
	f.answers["SHOW GLOBAL VARIABLES"] = answer{columns: []string{"Variable_name", "Value"}, rows: [][]string{{"version", "8.4.1"}}}
	if err := collectVariables(t.Context(), g); err != nil || g.Variables.Len() != 1 || g.Variables.Value("version") != "8.4.1" {
		t.Errorf("%v, %v", g.Variables, err)
	}
}

// holds gives the account global rights.
func holds(names ...string) func(*Gather) {
	return func(g *Gather) {
		g.rights = rights{known: true, held: map[string]bool{"USAGE": true}}
		for _, n := range names {
			g.rights.held[n] = true
		}
	}
}

func TestSizesAreCountedFirstAndCapped(t *testing.T) {
	t.Parallel()
	count := answer{columns: []string{"TABLE_SCHEMA", "N"}, rows: [][]string{{"huge", "300000"}, {"it's\\odd", "1"}}}
	tables := func(schema string) answer {
		return answer{columns: []string{"TABLE_SCHEMA", "TABLE_NAME", "ENGINE", "TABLE_ROWS", "DATA_LENGTH", "INDEX_LENGTH", "DATA_FREE"},
			rows: [][]string{{schema, "a", "InnoDB", "10", "1000", "200", "5"}, {schema, "broken", null, null, null, null, null}}}
	}
	const scan = "SELECT /*+ MAX_EXECUTION_TIME(60000) */ TABLE_SCHEMA AS table_schema, TABLE_NAME AS table_name, ENGINE AS engine, TABLE_ROWS AS table_rows," +
		" DATA_LENGTH AS data_length, INDEX_LENGTH AS index_length, DATA_FREE AS data_free FROM information_schema.TABLES WHERE TABLE_SCHEMA = "
	f := &fakeSession{answers: map[string]answer{
		"SET SESSION information_schema_stats_expiry = 0":                             {},
		"SELECT /*+ MAX_EXECUTION_TIME(60000) */ TABLE_SCHEMA AS table_schema, COUNT": count,
		scan + "'huge'":       tables("huge"),
		scan + `'it''s\\odd'`: tables(`it's\odd`),
		"SELECT /*+ MAX_EXECUTION_TIME(60000) */ SUM(FILE_SIZE) AS bytes FROM information_schema.INNODB_TABLESPACES": {
			columns: []string{"bytes"}, rows: [][]string{{"123456789"}}},
	}}
	snap, err := collect(t, sizesCollector(), server("8.4.0", ""), f, holds("SHOW VIEW"))
	if err != nil || !snap.Schemas.Sampled || snap.Schemas.Listed != 300001 || snap.Schemas.Tables != 4 || snap.Schemas.Views != 0 || problemKinds(snap) != "[partial partial]" {
		t.Fatalf("%+v, %v, %v", snap.Schemas, snap.Problems, err)
	}
	wants(t, snap, map[string]string{"schema.data_bytes[huge]": "1000", "schema.tables[it's\\odd]": "2", "schema.total_index_bytes": "400",
		"schema.engine_data_bytes[InnoDB]": "2000", "schema.engine_tables[unknown]": "2", "schema.total_file_bytes": "123456789",
		// Tables that can't be opened have a size that is not known, and engines may be among what was left out.
		"schema.engine_data_bytes[unknown]": "none", "schema.engine_index_bytes[unknown]": "none",
		"schema.engine_tables[MyISAM]": "absent", "schema.engine_tables[Aria]": "absent"})
	if !strings.Contains(fmt.Sprint(snap.Problems), "can't open 2 of the tables, such as it's\\odd.broken") {
		t.Errorf("broken tables are not named: %v", snap.Problems)
	}
	if !strings.HasPrefix(f.sent[0], "SET SESSION information_schema_stats_expiry") || !strings.HasSuffix(f.sent[3], "LIMIT 19999") {
		t.Errorf("sent %q", f.sent)
	}

	// Neither the variable nor the hint exists on MariaDB and old MySQL.
	for version, begin := range map[string]string{"10.11.6-MariaDB": "SET STATEMENT max_statement_time=60 FOR SELECT", "5.6.51": "SELECT TABLE_SCHEMA", "5.5.68-MariaDB": "SELECT TABLE_SCHEMA"} {
		f := &fakeSession{answers: map[string]answer{begin: {columns: []string{"TABLE_SCHEMA", "N"}}}}
		snap, err := collect(t, sizesCollector(), server(version, ""), f, holds())
		files := 0 // MariaDB before 10.2 and MySQL before 5.7.8 do not tell how large the files are
		if strings.HasPrefix(version, "10.11") {
			files = 1
		}
		if err != nil || len(f.sent) != 1+files || problemKinds(snap) != "[partial]" || snap.Problems[0].Cure != "GRANT SHOW VIEW ON *.* TO 'monolith'@'%';" {
			t.Errorf("%s: %v, sent %q", version, err, f.sent)
		}
		if snap.Schemas != nil {
			t.Errorf("%s: nothing seen is taken for nothing there: %+v", version, snap.Schemas)
		}
		wants(t, snap, map[string]string{"schema.total_data_bytes": "none", "schema.total_index_bytes": "none", "schema.total_free_bytes": "none",
			"schema.total_tables": "none", "schema.engine_tables[MyISAM]": "absent"})
	}
	// Without PROCESS the files can't be seen; the rest is there, and the cure says what is missing.
	f = &fakeSession{answers: map[string]answer{"SET STATEMENT max_statement_time=60 FOR SELECT TABLE_SCHEMA": {columns: []string{"TABLE_SCHEMA", "N"}},
		"SET STATEMENT max_statement_time=60 FOR SELECT SUM(FILE_SIZE)": refuse(1227, "Access denied")}}
	snap, err = collect(t, sizesCollector(), server("10.11.6-MariaDB", ""), f, holds("SHOW VIEW"))
	if err != nil || problemKinds(snap) != "[privilege]" || snap.Problems[0].Cure != "GRANT PROCESS ON *.* TO 'monolith'@'%';" {
		t.Errorf("%v, %v", snap.Problems, err)
	}
	wants(t, snap, map[string]string{"schema.total_tables": "0", "schema.total_file_bytes": "none"})

	c := sizesCollector()
	g := &Gather{Server: &monolith.Server{}, Variables: variablesOf(map[string]string{"innodb_stats_on_metadata": "ON"})}
	if ok, why := c.Applies(g); ok || why == "" {
		t.Error("a scan runs while it makes the server sample every table")
	}
	g.Server.ScanSizes = true
	if ok, _ := c.Applies(g); !ok {
		t.Error("an allowed scan does not run")
	}
}

func TestSizesCountTheSharedTablespaceOnce(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{
		"SELECT TABLE_SCHEMA AS table_schema, COUNT": {columns: []string{"table_schema", "n"}, rows: [][]string{{"a", "1"}, {"b", "1"}}},
		"SELECT TABLE_SCHEMA AS table_schema, TABLE_NAME": {columns: []string{"table_schema", "table_name", "engine", "data_length", "data_free"},
			rows: [][]string{{"a", "t", "InnoDB", "10", "700"}, {"b", "t", "InnoDB", "10", "700"}, {"b", "m", "MyISAM", "1", "5"}}}}}
	snap, err := collect(t, sizesCollector(), server("5.5.62", ""), f, holds("SELECT"), func(g *Gather) {
		g.Variables = variablesOf(map[string]string{"innodb_file_per_table": "OFF"})
	})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, snap, map[string]string{"schema.total_free_bytes": "705", "schema.total_data_bytes": "21", "schema.free_bytes[b]": "5", "schema.tables[b]": "2"})
}

func TestOriginsOfMySQL8(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{"SELECT i.VARIABLE_NAME": {
		columns: []string{"name", "origin", "path", "value", "set_at", "set_user", "set_host"},
		rows: [][]string{
			{"max_connections", "PERSISTED", "/d/mysqld-auto.cnf", "500", "1700000000", "root", "localhost"},
			{"sort_buffer_size", "COMPILED", "", "262144", null, null, null},
			{"port", "GLOBAL", "/etc/my.cnf", "3306", null, null, null},
			{"init_connect", "COMPILED", "", "x", null, null, null},
		}}}}
	snap, err := collect(t, originsCollector(), server("8.4.0", ""), f)
	if err != nil || len(snap.Variables) != 4 {
		t.Fatal(snap.Variables, err)
	}
	by := map[string]monolith.VariableInfo{}
	for _, v := range snap.Variables {
		by[v.Name] = v
	}
	if v := by["max_connections"]; v.Changed == nil || !*v.Changed || v.Default != nil || v.Origin != monolith.OriginPersisted || v.SetBy != "root@localhost" || v.SetAt == nil {
		t.Errorf("%+v", v)
	}
	if v := by["sort_buffer_size"]; v.Changed == nil || *v.Changed || v.Default == nil || *v.Default != "262144" || v.SetAt != nil {
		t.Errorf("%+v", v)
	}
	if v := by["port"]; v.Origin != monolith.OriginFile || v.Path != "/etc/my.cnf" || !*v.Changed {
		t.Errorf("%+v", v)
	}
	if v := by["init_connect"]; *v.Default != secretSet {
		t.Errorf("%+v", v)
	}
}

package poller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-sql-driver/mysql"
	"github.com/google/go-cmp/cmp"

	"monolith"
)

// The spellings of three families, with the same content.
const (
	oldRow = `
		Slave_IO_State: Waiting for master to send event
		Master_Host: 10.0.0.1
		Master_User: repl
		Master_Port: 3306
		Connect_Retry: 60
		Master_Log_File: binlog.000012
		Read_Master_Log_Pos: 5000
		Relay_Log_File: relay.000003
		Relay_Log_Pos: 700
		Relay_Master_Log_File: binlog.000011
		Slave_IO_Running: Yes
		Slave_SQL_Running: Yes
		Last_Errno: 0
		Last_Error:
		Exec_Master_Log_Pos: 4000
		Relay_Log_Space: 123456
		Until_Condition: None
		Master_SSL_Allowed: Yes
		Seconds_Behind_Master: 13
		Last_IO_Errno: 0
		Last_IO_Error:
		Last_SQL_Errno: 0
		Last_SQL_Error:
		Master_Server_Id: 7
		Master_UUID: 1eef6886-e592-11e4-a12f-84a6c8c6729e
		SQL_Delay: 3
		SQL_Remaining_Delay: NULL
		Slave_SQL_Running_State: Reading event from the relay log
		Retrieved_Gtid_Set: 1eef6886-e592-11e4-a12f-84a6c8c6729e:1-5
		Executed_Gtid_Set: 1eef6886-e592-11e4-a12f-84a6c8c6729e:1-5,\n2eef6886-e592-11e4-a12f-84a6c8c6729e:1
		Auto_Position: 1`
)

// renamed gives the row with the names of MySQL ≥ 8.0.22; Master_UUID kept its name in some versions.
func renamed(row string) string {
	return strings.NewReplacer("Slave_", "Replica_", "Master_UUID", "Master_UUID", "Master_", "Source_", "_Master", "_Source").Replace(row)
}

// commitDelay begins the statement about what is being applied, which MySQL ≥ 8.0.1 is asked.
const commitDelay = "SELECT CHANNEL_NAME AS channel_name, MAX("

func applierDelay(channel, delay string) answer {
	return answer{columns: []string{"channel_name", "delay"}, rows: [][]string{{channel, delay}}}
}

// retries begins the statement that MySQL ≥ 5.7.9 is asked how often transactions were tried again.
const retries = "SELECT CHANNEL_NAME AS channel_name, COUNT_TRANSACTIONS_RETRIES"

func applierRetries(rows ...[]string) answer {
	return answer{columns: []string{"channel_name", "retries"}, rows: rows}
}

func with(row string, changes ...string) string {
	for i := 0; i < len(changes); i += 2 {
		name, value := changes[i], changes[i+1]
		found := false
		lines := strings.Split(row, "\n")
		for j, line := range lines {
			if strings.HasPrefix(strings.TrimSpace(line), name+":") {
				found = true
				if value == "-" {
					lines[j] = ""
				} else {
					lines[j] = name + ": " + value
				}
			}
		}
		if row = strings.Join(lines, "\n"); !found {
			row += "\n" + name + ": " + value
		}
	}
	return row
}

func TestReplicationNormalisesEverySpelling(t *testing.T) {
	t.Parallel()
	lag, delay := int64(13), int64(10)
	want := monolith.Replica{
		SourceHost: "10.0.0.1", SourcePort: 3306, SourceUser: "repl", SourceUUID: "1eef6886-e592-11e4-a12f-84a6c8c6729e", SourceServerID: 7,
		IO: monolith.ThreadYes, IOState: "Waiting for master to send event", SQL: monolith.ThreadYes, SQLState: "Reading event from the relay log",
		Lag: &lag, SQLDelay: 3, Delay: &delay, DelayBy: monolith.ByServer, SourceLogFile: "binlog.000012", ReadLogPos: 5000, RelaySourceLog: "binlog.000011", ExecLogPos: 4000,
		RelayLogFile: "relay.000003", RelayLogPos: 700, RelaySpace: 123456, UntilCondition: "None", AutoPosition: true, SSL: true,
		RetrievedGTID: "1eef6886-e592-11e4-a12f-84a6c8c6729e:1-5",
		ExecutedGTID:  "1eef6886-e592-11e4-a12f-84a6c8c6729e:1-5,2eef6886-e592-11e4-a12f-84a6c8c6729e:1",
	}
	for _, c := range []struct{ version, comment, statement, row string }{
		{"5.6.51", "MySQL", "SHOW SLAVE STATUS", oldRow},
		{"5.7.44", "MySQL", "SHOW SLAVE STATUS", oldRow},
		{"8.0.21", "MySQL", "SHOW SLAVE STATUS", oldRow},
		{"8.0.22", "MySQL", "SHOW REPLICA STATUS", renamed(oldRow)},
		{"8.0.30", "MySQL", "SHOW REPLICA STATUS", strings.ReplaceAll(renamed(oldRow), "Master_UUID", "Source_UUID")},
		{"8.4.3", "MySQL", "SHOW REPLICA STATUS", renamed(oldRow)},
		{"9.5.0", "MySQL", "SHOW REPLICA STATUS", renamed(oldRow)},
		{"26.7.0", "MySQL", "SHOW REPLICA STATUS", renamed(oldRow)},
		{"8.0.36-28", "Percona Server", "SHOW REPLICA STATUS", renamed(oldRow)},
		{"5.5.68-MariaDB", "", "SHOW SLAVE STATUS", oldRow},
		{"10.4.34-MariaDB", "", "SHOW ALL SLAVES STATUS", oldRow},
		{"11.8.5-MariaDB", "", "SHOW ALL SLAVES STATUS", oldRow},
	} {
		f := &fakeSession{answers: map[string]answer{c.statement: vertical(c.row)}}
		if strings.Contains(c.statement, "REPLICA") || c.version == "8.0.21" {
			f.answers[commitDelay] = applierDelay("", "0")
		}
		newer := strings.Contains(c.statement, "REPLICA") || c.version == "8.0.21" || c.version == "5.7.44"
		if newer {
			f.answers[retries] = applierRetries([]string{"", "6"})
		}
		snap, err := collect(t, replicationCollector(), server(c.version, c.comment), f)
		if err != nil || len(f.refused) > 0 {
			t.Errorf("%s: %v, refused %q", c.version, err, f.refused)
			continue
		}
		if diff := cmp.Diff([]monolith.Replica{want}, snap.Replicas); diff != "" {
			t.Errorf("%s:\n%s", c.version, diff)
		}
		wants(t, snap, map[string]string{
			"replica.lag": "13", "replica.delay": "10", "replica.sql_delay": "3", "replica.io_running": "1", "replica.sql_running": "1",
			"replica.relay_log_space": "123456", "replica.read_log_pos": "5000", "replica.exec_log_pos": "4000", "replica.read_log_file": "12",
			"replica.exec_log_file": "11", "replica.gtid_backlog": "0",
			"replica.retried_transactions_total": map[bool]string{true: "6", false: "absent"}[newer], "replica.sql_remaining_delay": "none", "replica.io_errno": "0",
		})
	}
}

// TestReplicationTruthTable: NULL lag is unknown, Connecting is neither Yes nor No, and a lag that the server gives
// while a thread stands still is worth nothing.
func TestReplicationTruthTable(t *testing.T) {
	t.Parallel()
	for _, io := range []string{"Yes", "Connecting", "No"} {
		for _, sql := range []string{"Yes", "No"} {
			for _, lag := range []string{"0", "13", "NULL", "18446744073709551615"} {
				f := &fakeSession{answers: map[string]answer{retries: applierRetries(), "SHOW SLAVE STATUS": vertical(with(oldRow,
					"Slave_IO_Running", io, "Slave_SQL_Running", sql, "Seconds_Behind_Master", lag, "SQL_Delay", "0"))}}
				snap, err := collect(t, replicationCollector(), server("5.7.44", ""), f)
				if err != nil {
					t.Fatal(err)
				}
				r := snap.Replicas[0]
				if string(r.IO) != io || string(r.SQL) != sql || (r.Lag == nil) != (lag == "NULL") {
					t.Errorf("%s/%s/%s became %+v", io, sql, lag, r)
				}
				known := io == "Yes" && sql == "Yes" && lag != "NULL"
				want := map[bool]string{true: lag, false: "none"}[known]
				if want == "18446744073709551615" {
					want = "0" // −1 in unsigned clothing: the clocks differ
				}
				wants(t, snap, map[string]string{
					"replica.lag": want, "replica.delay": want,
					"replica.io_running":  map[string]string{"Yes": "1", "Connecting": "0.5", "No": "0"}[io],
					"replica.sql_running": map[string]string{"Yes": "1", "No": "0"}[sql],
				})
				if (r.Delay != nil) != known {
					t.Errorf("%s/%s/%s has the delay %v", io, sql, lag, r.Delay)
				}
			}
		}
	}
}

func TestReplicationChannels(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{"SHOW ALL SLAVES STATUS": vertical(
		with(oldRow, "Connection_name", "", "Using_Gtid", "Slave_Pos", "Gtid_IO_Pos", "0-1-5", "Retried_transactions", "4"),
		with(oldRow, "Connection_name", "west", "Using_Gtid", "No", "Gtid_IO_Pos", "", "Retried_transactions", "0", "Slave_SQL_Running", "No"))}}
	snap, err := collect(t, replicationCollector(), server("10.11.6-MariaDB", ""), f)
	if err != nil || len(snap.Replicas) != 2 {
		t.Fatalf("%d channels, %v", len(snap.Replicas), err)
	}
	if snap.Replicas[0].Channel != "" || snap.Replicas[1].Channel != "west" || snap.Replicas[0].GTIDMode != "Slave_Pos" {
		t.Errorf("channels %+v", snap.Replicas)
	}
	wants(t, snap, map[string]string{"replica.lag": "13", "replica.lag[west]": "none", "replica.sql_running[west]": "0",
		"replica.retried_transactions_total": "4", "replica.retried_transactions_total[west]": "0"})

	group := &fakeSession{answers: map[string]answer{"SHOW REPLICA STATUS": vertical(with(renamed(oldRow), "Channel_Name", "group_replication_applier"))}}
	snap, err = collect(t, replicationCollector(), server("8.4.0", ""), group)
	if err != nil || len(snap.Replicas) != 1 || !snap.Replicas[0].ReadsFromGroup() {
		t.Errorf("%+v, %v", snap.Replicas, err)
	}
}

func TestReplicationMissingColumnIsNamed(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{"SHOW REPLICA STATUS": vertical(with(renamed(oldRow),
		"Seconds_Behind_Source", "-", "Replica_IO_Running", "-", "Relay_Log_Space", "-"))}}
	snap, err := collect(t, replicationCollector(), server("8.4.0", ""), f)
	if err != nil {
		t.Fatal(err)
	}
	if r := snap.Replicas[0]; r.IO != "" || r.SQL != monolith.ThreadYes || r.Delay != nil {
		t.Errorf("a thread without a column is %+v", r)
	}
	got := snap.Replicas[0].Missing
	slices.Sort(got)
	if diff := cmp.Diff([]string{"io", "lag", "relay_log_space"}, got); diff != "" {
		t.Error(diff)
	}
	wants(t, snap, map[string]string{"replica.io_running": "none", "replica.lag": "none", "replica.relay_log_space": "none", "replica.sql_running": "1"})

	noDelay := &fakeSession{answers: map[string]answer{"SHOW SLAVE STATUS": vertical(with(oldRow, "SQL_Delay", "-"))}}
	snap, err = collect(t, replicationCollector(), server("5.7.44", ""), noDelay)
	if err != nil || snap.Replicas[0].Delay != nil {
		t.Errorf("without the wanted delay the delay is %+v, %v", snap.Replicas, err)
	}
	wants(t, snap, map[string]string{"replica.lag": "13", "replica.delay": "none", "replica.sql_delay": "none"})

	// What a version never had is not missing.
	noDelay.answers["SHOW ALL SLAVES STATUS"] = noDelay.answers["SHOW SLAVE STATUS"]
	snap, err = collect(t, replicationCollector(), server("10.1.48-MariaDB", ""), noDelay)
	if err != nil || len(snap.Replicas[0].Missing) > 0 || *snap.Replicas[0].Delay != 13 {
		t.Errorf("MariaDB 10.1: %+v, %v", snap.Replicas, err)
	}
	old := &fakeSession{answers: map[string]answer{"SHOW SLAVE STATUS": vertical(with(oldRow, "Last_IO_Errno", "-", "Last_IO_Error", "-",
		"Last_SQL_Errno", "-", "Last_SQL_Error", "-", "SQL_Delay", "-", "SQL_Remaining_Delay", "-", "Master_UUID", "-", "Auto_Position", "-",
		"Retrieved_Gtid_Set", "-", "Executed_Gtid_Set", "-", "Last_Errno", "1062"))}}
	snap, err = collect(t, replicationCollector(), server("5.0.96", ""), old)
	if err != nil || len(snap.Replicas[0].Missing) > 0 || snap.Replicas[0].SQLErrno != 1062 {
		t.Errorf("%+v, %v", snap.Replicas, err)
	}
}

// TestReplicationNumbersThatAreNone: a number that is NULL or no number is not 0. With GTID_ONLY the log files are named INVALID and
// the positions are 0, which is as it should be.
func TestReplicationNumbersThatAreNone(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{commitDelay: applierDelay("", "0"), retries: applierRetries(), "SHOW REPLICA STATUS": vertical(with(renamed(oldRow),
		"Relay_Log_Space", "NULL", "Read_Source_Log_Pos", "18446744073709551615", "Last_SQL_Errno", "none", "SQL_Delay", "NULL"))}}
	snap, err := collect(t, replicationCollector(), server("8.4.0", ""), f)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, snap, map[string]string{"replica.relay_log_space": "none", "replica.read_log_pos": "none", "replica.sql_errno": "none", "replica.sql_delay": "none",
		"replica.delay": "none", "replica.lag": "13", "replica.exec_log_pos": "4000", "replica.io_errno": "0"})

	f.answers["SHOW REPLICA STATUS"] = vertical(with(renamed(oldRow), "Source_Log_File", "INVALID", "Relay_Source_Log_File", "INVALID",
		"Read_Source_Log_Pos", "0", "Exec_Source_Log_Pos", "0"))
	snap, err = collect(t, replicationCollector(), server("8.4.0", ""), f)
	if err != nil || len(snap.Problems) > 0 || len(snap.Replicas[0].Missing) > 0 || snap.Replicas[0].Delay == nil {
		t.Errorf("GTID_ONLY: %+v, %v, %v", snap.Replicas, snap.Problems, err)
	}
	wants(t, snap, map[string]string{"replica.read_log_file": "none", "replica.exec_log_file": "none", "replica.lag": "13", "replica.gtid_backlog": "0"})
}

// TestReplicationErrorsMayBeAnything: an error's text has several lines and bytes of other character sets, and is cut with a mark.
func TestReplicationErrorsMayBeAnything(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{retries: applierRetries(), "SHOW SLAVE STATUS": vertical(with(oldRow, "Slave_SQL_Running", "No", "Last_SQL_Errno", "1146",
		"Last_SQL_Error", "Error 'Table 'm\xfcller.t' doesn't exist' on query.\\nSlave_IO_Running: No\\nQuery: 'UPDATE\x00t'",
		"Last_IO_Error", "no route "+strings.Repeat("é", 20_000)))}}
	snap, err := collect(t, replicationCollector(), server("5.7.44", ""), f)
	if err != nil {
		t.Fatal(err)
	}
	r := snap.Replicas[0]
	if r.IO != monolith.ThreadYes || !strings.Contains(r.SQLError, "m\uFFFDller.t") || strings.Count(r.SQLError, "\n") != 2 ||
		!utf8.ValidString(r.SQLError) || strings.Contains(r.SQLError, "\x00") {
		t.Errorf("receiver %s, applier's error %q", r.IO, r.SQLError)
	}
	if !utf8.ValidString(r.IOError) || len(r.IOError) > maxErrorText+4 || !strings.HasSuffix(r.IOError, "…") {
		t.Errorf("the receiver's error has %d bytes and ends with %q", len(r.IOError), r.IOError[max(0, len(r.IOError)-9):])
	}
}

// TestReplicationOfManyChannels: as many rows as there are channels, one of them broken.
func TestReplicationOfManyChannels(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 3, 10} {
		blocks := make([]string, n)
		for i := range blocks {
			blocks[i] = with(renamed(oldRow), "Channel_Name", fmt.Sprint("ch", i))
		}
		if n > 0 {
			blocks[n-1] = with(blocks[n-1], "Replica_SQL_Running", "No")
		}
		a := vertical(blocks...)
		if n == 0 {
			a.columns = []string{"Replica_IO_State"}
		}
		f := &fakeSession{answers: map[string]answer{commitDelay: applierDelay("", "0"), retries: applierRetries(), "SHOW REPLICA STATUS": a}}
		snap, err := collect(t, replicationCollector(), server("8.4.0", ""), f)
		if err != nil || len(snap.Replicas) != n {
			t.Fatalf("%d channels became %+v, %v", n, snap.Replicas, err)
		}
		wants(t, snap, map[string]string{"replica.channels": fmt.Sprint(n)})
		for i, r := range snap.Replicas {
			want := map[bool]string{true: "none", false: "13"}[i == n-1]
			if r.Channel != fmt.Sprint("ch", i) || find(snap, "replica.lag", r.Channel) != want {
				t.Errorf("%d channels: %q has the lag %s, want %s", n, r.Channel, find(snap, "replica.lag", r.Channel), want)
			}
		}
	}
}

func TestReplicationNoRowIsNoReplicaAndDeniedIsAnError(t *testing.T) {
	t.Parallel()
	empty := &fakeSession{answers: map[string]answer{"SHOW SLAVE STATUS": {columns: []string{"Slave_IO_State"}}}}
	snap, err := collect(t, replicationCollector(), server("5.7.44", ""), empty)
	if err != nil || snap.Replicas == nil || len(snap.Replicas) != 0 || snap.Section("replication") == nil {
		t.Errorf("no rows: %v, %v", snap.Replicas, err)
	}
	denied := &fakeSession{answers: map[string]answer{"SHOW SLAVE STATUS": refuse(1227, "Access denied")}}
	snap, err = collect(t, replicationCollector(), server("5.7.44", ""), denied)
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) || snap.Replicas != nil {
		t.Errorf("denied: %v, %v", snap.Replicas, err)
	}
}

func TestReplicationTextsAreMasked(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{"SHOW SLAVE STATUS": vertical(with(oldRow, "Last_SQL_Errno", "1062",
		"Last_SQL_Error", `Error 'Duplicate entry 'hunter2' for key 'PRIMARY'' on query. Default database: 'shop'. Query: 'INSERT INTO t\nVALUES ('hunter2')'`))}}
	snap, err := collect(t, replicationCollector(), server("5.7.44", ""), f)
	if err != nil || strings.Contains(snap.Replicas[0].SQLError, "hunter2") || !strings.Contains(snap.Replicas[0].SQLError, "for key 'PRIMARY'") {
		t.Errorf("%q, %v", snap.Replicas[0].SQLError, err)
	}
	snap, _ = collect(t, replicationCollector(), server("5.7.44", ""), f, func(g *Gather) { g.Server.KeepTexts = true })
	if !strings.Contains(snap.Replicas[0].SQLError, "hunter2") {
		t.Errorf("kept texts are masked: %q", snap.Replicas[0].SQLError)
	}
}

func TestReceiversErrorKeepsItsNames(t *testing.T) {
	t.Parallel()
	const text = "error connecting to master 'repl@10.0.0.1:3306': Authentication plugin 'caching_sha2_password' reported error"
	f := &fakeSession{answers: map[string]answer{"SHOW SLAVE STATUS": vertical(with(oldRow, "Last_IO_Errno", "2061", "Last_IO_Error", text))}}
	snap, err := collect(t, replicationCollector(), server("5.7.44", ""), f)
	if err != nil || snap.Replicas[0].IOError != text || snap.Replicas[0].IOErrno != 2061 {
		t.Errorf("%q, %v", snap.Replicas[0].IOError, err)
	}
}

func TestAuroraReaderHasItsOwnLag(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{
		"SHOW REPLICA STATUS":                {columns: []string{"Replica_IO_State"}},
		"SELECT replica_lag_in_milliseconds": {columns: []string{"lag_ms"}, rows: [][]string{{"18.9"}}},
	}}
	id := server("8.0.28", "")
	id.Flavour = monolith.Aurora
	snap, err := collect(t, replicationCollector(), id, f)
	if err != nil || len(snap.Replicas) != 0 {
		t.Fatal(snap.Replicas, err)
	}
	wants(t, snap, map[string]string{"replica.aurora_lag": "0.0189"})
}

func TestConnectedReplicas(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{"SHOW": {columns: []string{"x"}}}}
	snap, err := collect(t, replicationCollector(), server("10.11.6-MariaDB", ""), f, func(g *Gather) {
		names := monolith.NewNames([]monolith.Metric{{Name: "status.Slaves_connected"}})
		g.State = g.State.With(&monolith.Snapshot{Sections: []monolith.Section{{Collector: "status", NumNames: names, Nums: []monolith.Num{monolith.Uint(2)}}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	wants(t, snap, map[string]string{"replica.connected_replicas": "2"})
}

func TestOtherLags(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{
		"SHOW REPLICA STATUS": vertical(with(renamed(oldRow), "Channel_Name", "a"), with(renamed(oldRow), "Channel_Name", "b", "Replica_SQL_Running", "No")),
		commitDelay: {columns: []string{"channel_name", "delay", "busy"},
			rows: [][]string{{"a", "1.5", "3"}, {"b", "0", "0"}, {"gone", "9", "1"}}},
		retries: applierRetries([]string{"a", "2"}, []string{"gone", "9"}),
		"SELECT TIMESTAMPDIFF(SECOND, CAST(REPLACE(MAX(ts)": {columns: []string{"utc", "local"}, rows: [][]string{{"7", "7207"}}},
	}}
	heartbeat := func(g *Gather) { g.Server.HeartbeatTable = "percona.heart`beat" }
	snap, err := collect(t, replicationCollector(), server("8.4.0", ""), f, heartbeat)
	if err != nil || len(snap.Problems) > 0 {
		t.Fatal(err, snap.Problems)
	}
	if a := snap.Replicas[0]; a.DelayBy != monolith.ByCommit { // whose the heartbeat is, is not known
		t.Errorf("of one of two channels: %+v", a)
	}
	wants(t, snap, map[string]string{"replica.channels": "2", "replica.commit_delay[a]": "1.5", "replica.commit_delay[b]": "none",
		"replica.commit_delay[gone]": "absent", "replica.heartbeat_lag": "7", "replica.busy_workers[a]": "3", "replica.busy_workers[b]": "none",
		"replica.retried_transactions_total[a]": "2", "replica.retried_transactions_total[b]": "none", "replica.retried_transactions_total[gone]": "absent"})
	if last := f.sent[len(f.sent)-1]; !strings.Contains(last, "FROM `percona`.`heart``beat` WHERE") {
		t.Errorf("sent %q", last)
	}

	// What may not be read is named with its grant, and the channels are there all the same.
	f.answers[commitDelay] = refuse(1142, "SELECT command denied to user 'monolith'@'%' for table 'replication_applier_status_by_worker'")
	f.answers["SELECT TIMESTAMPDIFF"] = refuse(1146, "Table 'percona.heart`beat' doesn't exist")
	delete(f.answers, "SELECT TIMESTAMPDIFF(SECOND, CAST(REPLACE(MAX(ts)")
	snap, err = collect(t, replicationCollector(), server("8.4.0", ""), f, heartbeat)
	if err != nil || len(snap.Replicas) != 2 || problemKinds(snap) != "[privilege partial]" ||
		snap.Problems[0].Cure != "GRANT SELECT ON performance_schema.* TO 'monolith'@'%';" || snap.Problems[1].Cure != "" {
		t.Errorf("%v, %v", snap.Problems, err)
	}
}

// TestMariaDBHasACommitDelay: from 11.6 on it stands in the row of the channel.
func TestMariaDBHasACommitDelay(t *testing.T) {
	t.Parallel()
	f := &fakeSession{answers: map[string]answer{"SHOW ALL SLAVES STATUS": vertical(
		with(oldRow, "Connection_name", "a", "Master_Slave_time_diff", "4"), with(oldRow, "Connection_name", "b", "Master_Slave_time_diff", "NULL"),
		with(oldRow, "Connection_name", "c", "Master_Slave_time_diff", "9", "Slave_SQL_Running", "No"),
		with(oldRow, "Connection_name", "d", "Master_Slave_time_diff", "-1"))}}
	snap, err := collect(t, replicationCollector(), server("11.8.5-MariaDB", ""), f)
	if err != nil || len(f.sent) != 1 {
		t.Fatalf("%v, sent %q", err, f.sent)
	}
	wants(t, snap, map[string]string{"replica.commit_delay[a]": "4", "replica.commit_delay[b]": "none", "replica.commit_delay[c]": "none",
		"replica.commit_delay[d]": "0"})
	f.answers["SHOW ALL SLAVES STATUS"] = vertical(with(oldRow, "Connection_name", ""))
	snap, err = collect(t, replicationCollector(), server("10.11.6-MariaDB", ""), f)
	if err != nil {
		t.Fatal(err)
	}
	wants(t, snap, map[string]string{"replica.commit_delay": "absent", "replica.busy_workers": "absent"})
}

func TestHeartbeatLagKnowsNoZone(t *testing.T) {
	t.Parallel()
	none := monolith.Num{}
	for _, c := range []struct {
		what             string
		utc, local, want monolith.Num
	}{
		{"UTC on a CEST host", monolith.Int(0), monolith.Int(7200), monolith.Int(0)},
		{"local on a CEST host", monolith.Int(-7197), monolith.Int(3), monolith.Int(3)},
		{"UTC in New York", monolith.Int(4), monolith.Int(-17996), monolith.Int(4)},
		{"local in New York", monolith.Int(18009), monolith.Int(9), monolith.Int(9)},
		{"clocks differ a little", monolith.Int(-2), monolith.Int(-2), monolith.Int(0)},
		{"no heartbeat", none, none, none},
		{"all in the future", monolith.Int(-9000), monolith.Int(-1800), none},
	} {
		if got := heartbeatLag(c.utc, c.local); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

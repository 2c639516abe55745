package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
	"monolith/internal/replay"
	"monolith/internal/sqltext"
	"monolith/poller"
)

// otherVersions are servers that can't be installed here, by what tells their statements apart. Their recordings know which
// statements the version has, and refuse the others.
var otherVersions = map[string]map[string]string{
	"MySQL 5.0":    {"version": "5.0.96-log", "version_comment": "MySQL Community Server (GPL)"},
	"MySQL 5.1":    {"version": "5.1.73-log", "version_comment": "MySQL Community Server (GPL)"},
	"MySQL 5.5":    {"version": "5.5.62-log", "version_comment": "MySQL Community Server (GPL)", "performance_schema": "ON"},
	"MySQL 5.7":    {"version": "5.7.44-log", "version_comment": "MySQL Community Server (GPL)", "performance_schema": "ON", "gtid_mode": "ON", "max_execution_time": "0", "group_replication_group_name": "x", "have_ssl": "YES"},
	"MySQL 8.0.11": {"version": "8.0.11", "version_comment": "MySQL Community Server - GPL", "performance_schema": "ON", "gtid_mode": "ON"},
	"MySQL 8.0": {"version": "8.0.36", "version_comment": "MySQL Community Server - GPL", "performance_schema": "ON", "gtid_mode": "ON", "persisted_globals_load": "ON",
		"max_execution_time": "0", "show_gipk_in_create_table_and_information_schema": "OFF", "have_ssl": "YES"},
	"MySQL 8.4":      {"version": "8.4.3", "version_comment": "MySQL Community Server - GPL", "performance_schema": "ON", "group_replication_group_name": "x", "gtid_mode": "ON"},
	"MySQL 9.4":      {"version": "9.4.0", "version_comment": "MySQL Community Server - GPL", "performance_schema": "ON", "group_replication_group_name": "x"},
	"Percona 5.7":    {"version": "5.7.44-48-log", "version_comment": "Percona Server (GPL), Release 48, Revision 1", "performance_schema": "ON"},
	"Aurora":         {"version": "8.0.mysql_aurora.3.04.0", "version_comment": "Source distribution", "aurora_version": "3.04.0", "aurora_server_id": "a", "performance_schema": "ON"},
	"MariaDB 5.5":    {"version": "5.5.68-MariaDB", "version_comment": "MariaDB Server"},
	"MariaDB 10.1":   {"version": "10.1.48-MariaDB", "version_comment": "MariaDB Server", "performance_schema": "ON"},
	"MariaDB 10.3":   {"version": "10.3.39-MariaDB", "version_comment": "MariaDB Server", "performance_schema": "ON"},
	"MariaDB Galera": {"version": "10.6.16-MariaDB", "version_comment": "MariaDB Server", "wsrep_on": "ON", "performance_schema": "ON"},
	"MariaDB 11.8":   {"version": "11.8.3-MariaDB", "version_comment": "mariadb.org binary distribution", "performance_schema": "ON"},
}

// TestEveryStatementOfThePoller watches real servers with every collector and wants that no statement is one which they
// don't understand, and that all SQL in the poller's source was sent to one of them, or, where neither MariaDB 10.11 nor
// MySQL 5.6 has such a thing, to a recorded server of a version that has it.
func TestEveryStatementOfThePoller(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	t.Parallel()
	const schema = "performance_schema=ON"
	primary := mysqltest.MariaDB(t, mysqltest.Options(schema, "performance_schema_instrument=wait/lock/metadata/sql/mdl=ON", "wait_timeout=40"))
	old := mysqltest.MySQL56(t, mysqltest.Options(schema, "innodb_stats_on_metadata=OFF"))
	replica := mysqltest.Replica(t, primary, mysqltest.Options(schema))
	real := []*mysqltest.Server{primary, old, replica}
	var servers []monolith.Server
	add := func(name, dsn string) {
		endpoint, err := poller.ParseDSN(dsn)
		if err != nil {
			t.Fatal(err)
		}
		endpoint.TLS = "disabled"
		s := monolith.Server{ID: monolith.ServerID(len(servers) + 1), Name: name, Endpoint: endpoint, ScanSizes: true, Schedules: map[string]string{}}
		for _, schedule := range monolith.ScheduleNames {
			s.Schedules[schedule] = "@every 2s"
		}
		if strings.HasPrefix(name, "real") {
			s.HeartbeatTable = "monitor.heartbeat"
		}
		servers = append(servers, s)
	}
	var relays []*mysqltest.Relay
	for i, server := range real {
		if server != replica {
			server.Exec(t, "CREATE DATABASE monitor", "CREATE TABLE monitor.heartbeat (ts VARCHAR(26) NOT NULL, server_id INT UNSIGNED NOT NULL PRIMARY KEY)",
				"INSERT INTO monitor.heartbeat VALUES (NOW(), 99999)", "CREATE TABLE monitor.t (a INT PRIMARY KEY AUTO_INCREMENT, b INT, KEY (b))")
		}
		from := server
		if server == replica {
			from = primary
		}
		account, secret := from.NewUser(t, "ALL")
		if server == replica {
			replica.CatchUp(t, primary)
		}
		relay := mysqltest.NewRelay(t, server, sqltext.Normal)
		relays = append(relays, relay)
		add(fmt.Sprint("real ", i), relay.DSN(t, server.DSN(account, secret)))
	}
	// An account whose rights come from a role.
	role, secret := primary.NewUser(t, "SELECT ON monitor.*")
	primary.Exec(t, "CREATE ROLE watcher", "GRANT PROCESS ON *.* TO watcher", "GRANT watcher TO "+role, "SET DEFAULT ROLE watcher FOR "+role)
	add("real, by a role", relays[0].DSN(t, primary.DSN(role, secret)))
	block(t, primary, old)
	recording := recorded(t, primary.DB(t))
	var others []*replay.Server
	for _, name := range slices.Sorted(maps.Keys(otherVersions)) {
		one := recording.WithVariables(otherVersions[name])
		if name != "Aurora" { // whose readers are no replicas in the eyes of MySQL
			one = busy(one)
		}
		s := replay.Start(t, one)
		if name == "MySQL 8.4" { // the statement goes on there when we have given it up
			s.Set(replay.Hang().On("SHOW BINARY LOGS"))
		}
		others = append(others, s)
		add(name, s.DSN())
	}
	ran := &runs{times: map[monolith.ServerID]map[string]int{}}
	// A collector has run when it was given up too; the thread that is left is killed by the next connection.
	killed := func() bool {
		return slices.ContainsFunc(others, func(s *replay.Server) bool {
			return slices.ContainsFunc(s.Statements(), func(text string) bool { return strings.Contains(text, "KILL ") })
		})
	}
	watchAll(t, servers, ran, killed)

	var sent, elsewhere []string
	for i, relay := range relays {
		for text, said := range relay.Statements() {
			sent = append(sent, text)
			if said.Refused != 0 && slices.Contains([]uint16{1054, 1064, 1109, 1146, 1193, 1305}, said.Refused) {
				t.Errorf("real server %d refuses %s: %d %s", i, text, said.Refused, said.Why)
			}
		}
	}
	for _, s := range others {
		for _, text := range s.Statements() {
			elsewhere = append(elsewhere, sqltext.Normal(text))
		}
	}
	texts, err := sqltext.Source("../../poller", "explain.go", "explain_codes.go")
	if err != nil {
		t.Fatal(err)
	}
	here, other := 0, 0
	for _, text := range texts {
		switch {
		case text.Sent(sent):
			here++
		case text.Sent(elsewhere):
			other++
			t.Logf("only to recorded servers: %s: %s", text.Where, text.SQL)
		default:
			t.Errorf("%s: nobody is sent %q", text.Where, text.SQL)
		}
	}
	t.Logf("%d parts of statements ran on MariaDB 10.11 or MySQL 5.6, %d on recorded servers of other versions", here, other)
}

// block leaves transactions on servers that wait for each other's locks until the test ends.
func block(t *testing.T, servers ...*mysqltest.Server) {
	t.Helper()
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	var waiting sync.WaitGroup
	t.Cleanup(func() {
		end()
		waiting.Wait()
	})
	for _, s := range servers {
		begin := func(statements ...string) {
			conn, err := s.DB(t).Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for i, statement := range statements {
				if i == len(statements)-1 && i > 1 { // it waits for the first one's lock
					waiting.Go(func() {
						defer conn.Close()
						_, _ = conn.ExecContext(ctx, statement) // its end is the test's
					})
					return
				}
				if _, err := conn.ExecContext(ctx, statement); err != nil {
					t.Fatal(err)
				}
			}
			t.Cleanup(func() { conn.Close() })
		}
		s.Exec(t, "INSERT INTO monitor.t VALUES (1, 1)")
		begin("SET SESSION autocommit=0", "UPDATE monitor.t SET b = 2 WHERE a = 1")
		begin("SET SESSION autocommit=0", "SET SESSION innodb_lock_wait_timeout=600", "UPDATE monitor.t SET b = 3 WHERE a = 1")
		begin("SET SESSION autocommit=1", "SET SESSION lock_wait_timeout=600", "ALTER TABLE monitor.t ADD c INT")
		until(t, "somebody waits for a metadata lock", func() bool {
			var n int
			err := s.DB(t).QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE LIKE '%metadata lock%'").Scan(&n)
			return err == nil && n > 0
		})
	}
}

// busy gives a recording of a replica whose transactions wait, and which shows its account no thread.
func busy(r *replay.Recording) *replay.Recording {
	one := func(columns ...string) *replay.Result {
		row := make([]string, len(columns))
		for i, c := range columns {
			row[i] = map[string]string{"Slave_IO_Running": "Yes", "Slave_SQL_Running": "Yes", "Replica_IO_Running": "Yes", "Replica_SQL_Running": "Yes",
				"trx_state": "LOCK WAIT", "state": "LOCK WAIT", "lock_wait": "5", "thread": "7", "trx_mysql_thread_id": "7"}[c]
		}
		return replay.Table(columns, row)
	}
	return r.With("SHOW SLAVE STATUS", one("Slave_IO_State", "Master_Host", "Slave_IO_Running", "Slave_SQL_Running", "Seconds_Behind_Master", "Channel_Name")).
		With("SHOW REPLICA STATUS", one("Replica_IO_State", "Source_Host", "Replica_IO_Running", "Replica_SQL_Running", "Seconds_Behind_Source", "Channel_Name")).
		With("SHOW FULL PROCESSLIST", replay.Table([]string{"Id", "User", "Host", "db", "Command", "Time", "State", "Info"})).
		With("SELECT trx_id", one("id", "state", "seconds", "thread", "lock_wait"))
}

// runs counts the runs of collectors by server.
type runs struct {
	mu    sync.Mutex
	times map[monolith.ServerID]map[string]int
}

func (r *runs) handle(_ context.Context, snap *monolith.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.times[snap.Server] == nil {
		r.times[snap.Server] = map[string]int{}
	}
	for _, c := range snap.Costs {
		r.times[snap.Server][c.Collector]++
	}
	r.times[snap.Server][""]++
}

// missing says which collectors have not run twice yet.
func (r *runs) missing(servers []monolith.Server, collectors []*poller.Collector) (missing []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range servers {
		for _, c := range collectors {
			if !c.Host && r.times[s.ID][c.Name] < 2 && r.times[s.ID][""] < 8 {
				missing = append(missing, s.Name+": "+c.Name)
			}
		}
	}
	return missing
}

// watchAll polls the servers until every collector ran twice on each, or could have.
func watchAll(t *testing.T, servers []monolith.Server, ran *runs, also func() bool) {
	t.Helper()
	collectors := poller.Collectors()
	p, err := poller.New(poller.Config{Collectors: collectors, Handle: []func(context.Context, *monolith.Snapshot){ran.handle}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	p.Apply(servers, nil)
	begin := time.Now()
	until(t, "every collector ran, and a thread that was left behind is killed", func() bool { return len(ran.missing(servers, collectors)) == 0 && also() })
	t.Logf("after %v every collector ran; %s", time.Since(begin).Round(time.Second), strings.Join(ran.missing(servers, collectors), ", "))
	stop()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// recorded takes down what a real server says.
func recorded(t *testing.T, db *sql.DB) *replay.Recording {
	t.Helper()
	pairs := func(statement string) map[string]string {
		rows, err := db.QueryContext(t.Context(), statement)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		all := map[string]string{}
		for rows.Next() {
			var name, value string
			if err := rows.Scan(&name, &value); err != nil {
				t.Fatal(err)
			}
			all[name] = value
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		return all
	}
	return replay.Record(pairs("SHOW GLOBAL VARIABLES"), pairs("SHOW GLOBAL STATUS"))
}

package replay

import (
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// open gives a pool of one connection with the driver's configuration changed.
func open(t *testing.T, s *Server, change ...func(*mysql.Config)) *sql.DB {
	t.Helper()
	cfg, err := mysql.ParseDSN(s.DSN())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(cfg)
	}
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

// status reads pairs.
func status(t *testing.T, db *sql.DB, statement string) map[string]string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), statement)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	m := map[string]string{}
	for rows.Next() {
		var name string
		var value sql.NullString
		if err := rows.Scan(&name, &value); err != nil {
			t.Fatal(err)
		}
		m[name] = value.String
		if !value.Valid {
			m[name] = "NULL"
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return m
}

func errno(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

func recording(version string) *Recording {
	return Record(map[string]string{"version": version, "version_comment": "", "log_bin": "ON", "wait_timeout": "28800"},
		map[string]string{"Uptime": "1000", "Questions": "70000", "Threads_connected": "3", "Innodb_page_size": "16384"})
}

func TestLogins(t *testing.T) {
	t.Parallel()
	noTLS := func(*mysql.Config) {}
	overTLS := func(c *mysql.Config) { c.TLS = &tls.Config{InsecureSkipVerify: true} }
	for _, c := range []struct {
		name, version string
		opts          []Option
		change        func(*mysql.Config)
	}{
		{"no plug-ins", "5.0.96", nil, noTLS},
		{"native", "5.7.44", nil, noTLS},
		{"native on MariaDB over TLS", "10.11.6-MariaDB", []Option{TLS()}, overTLS},
		{"sha2 with the server's key", "8.4.0", nil, noTLS},
		{"sha2 over TLS", "8.4.0", []Option{TLS()}, overTLS},
		{"switched to native", "8.0.40", []Option{Plugin("mysql_native_password")}, noTLS},
		{"switched to sha2", "8.0.3", []Option{Plugin("caching_sha2_password")}, noTLS},
		{"no password", "8.4.0", []Option{Account("root", "")}, noTLS},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := Start(t, recording(c.version), c.opts...)
			for range 2 { // the second time sha2 takes its fast path
				db := open(t, s, c.change)
				if got := status(t, db, "SHOW GLOBAL STATUS")["Questions"]; got != "70000" {
					t.Errorf("Questions is %q", got)
				}
			}
			if s.password == "" {
				return
			}
			err := open(t, s, c.change, func(cfg *mysql.Config) { cfg.Passwd = "wrong" }).PingContext(t.Context())
			if errno(err) != 1045 || !strings.Contains(err.Error(), "using password: YES") {
				t.Errorf("a wrong password gives %v", err)
			}
			err = open(t, s, c.change, func(cfg *mysql.Config) { cfg.User = "nobody" }).PingContext(t.Context())
			if errno(err) != 1045 {
				t.Errorf("a wrong user gives %v", err)
			}
		})
	}
	s := Start(t, recording("8.4.0"), Plugin("authentication_ldap"))
	if err := open(t, s).PingContext(t.Context()); !errors.Is(err, mysql.ErrUnknownPlugin) {
		t.Errorf("an unknown plug-in gives %v", err)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	rec := recording("8.0.40").
		With("SHOW BINARY LOGS", Table([]string{"Log_name", "File_size"}, []string{"binlog.000001", "157"})).
		With("TABLE performance_schema.threads", Table([]string{"n"}, []string{"42"}))
	s := Start(t, rec)
	db := open(t, s)
	if got := status(t, db, "/* monitor */ SHOW  BINARY LOGS;"); got["binlog.000001"] != "157" {
		t.Errorf("%v", got)
	}
	if got := status(t, db, "SHOW GLOBAL STATUS LIKE 'Threads%'"); len(got) != 1 || got["Threads_connected"] != "3" {
		t.Errorf("%v", got)
	}
	if got := status(t, db, "SHOW VARIABLES WHERE Variable_name IN ('version','absent') OR Variable_name LIKE 'pseudo%'"); len(got) != 2 || got["version"] != "8.0.40" || got["pseudo_thread_id"] == "" {
		t.Errorf("%v", got)
	}
	var user string
	var id, n int
	var now float64
	err := db.QueryRowContext(t.Context(), "SELECT CURRENT_USER() AS u, CONNECTION_ID(), UNIX_TIMESTAMP(NOW(6))").Scan(&user, &id, &now)
	if err != nil || user != User+"@127.0.0.1" || id < 1 || time.Since(time.UnixMicro(int64(now*1e6))).Abs() > time.Minute {
		t.Errorf("%q, %d, %f, %v", user, id, now, err)
	}
	if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) AS n FROM performance_schema.threads").Scan(&n); err != nil || n != 42 {
		t.Errorf("%d, %v", n, err)
	}
	var sum sql.NullInt64
	err = db.QueryRowContext(t.Context(), "SELECT COUNT(*) AS n, SUM(IF(trx_state = 'a,b', 1, 0)) AS s FROM information_schema.INNODB_TRX").Scan(&n, &sum)
	if err != nil || n != 0 || sum.Valid {
		t.Errorf("an empty table counts %d, %v, %v", n, sum, err)
	}
	want := "/* monitor */ SHOW  BINARY LOGS;"
	if got := s.Statements(); !slices.Contains(got, want) {
		t.Errorf("%q", got)
	}
	s.Forget()
	if got := s.Statements(); len(got) != 0 {
		t.Errorf("%q after Forget", got)
	}
}

// What a version does not have is refused, and would fail the test.
func TestLanguage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version, statement string
		code               uint16
	}{
		{"8.4.0", "SHOW SLAVE STATUS", 1064},
		{"8.4.0", "SHOW REPLICA STATUS", 0},
		{"8.0.21", "SHOW REPLICA STATUS", 1064},
		{"10.4.34-MariaDB", "SHOW REPLICA STATUS", 1064},
		{"10.4.34-MariaDB", "SHOW ALL SLAVES STATUS", 0},
		{"5.5.64-MariaDB", "SHOW ALL SLAVES STATUS", 1064},
		{"8.4.0", "SHOW MASTER STATUS", 1064},
		{"9.5.0", "SHOW BINARY LOG STATUS", 0},
		{"5.5.62", "SELECT UNIX_TIMESTAMP(NOW(6))", 1064},
		{"5.5.62", "SET SESSION TRANSACTION READ ONLY", 1064},
		{"5.1.72", "SET NAMES utf8mb4", 1115},
		{"5.6.51", "SET SESSION max_execution_time=1000", 1193},
		{"10.11.6-MariaDB", "SELECT NAME FROM information_schema.INNODB_METRICS WHERE ENABLED = 1", 0},
		{"8.0.40", "SELECT NAME FROM information_schema.INNODB_METRICS WHERE ENABLED = 1", 1054},
		{"5.0.96", "SELECT COUNT(*) FROM information_schema.INNODB_TRX", 1109},
		{"5.5.62", "SELECT HOST FROM mysql.global_grants", 1146},
		{"8.0.40", "SET STATEMENT max_statement_time=1 FOR SELECT 1", 1064},
		{"10.11.6-MariaDB", "SET STATEMENT max_statement_time=1 FOR SELECT COUNT(*) FROM information_schema.TABLES", 0},
		{"8.0.40", "DROP TABLE t", 1064},
	} {
		s := Start(t, recording(c.version), Refusing())
		_, err := open(t, s).ExecContext(t.Context(), c.statement)
		if errno(err) != c.code || (err == nil) != (c.code == 0) {
			t.Errorf("%s on %s: %v, expected %d", c.statement, c.version, err, c.code)
		}
		if refused := len(s.Refused()) == 1; refused != (c.code != 0) {
			t.Errorf("%s on %s: refused are %q", c.statement, c.version, s.Refused())
		}
		s.Close()
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	s := Start(t, recording("8.0.40"))
	db := open(t, s)
	const show = "SHOW GLOBAL STATUS"
	read := func(faults ...Fault) map[string]string {
		t.Helper()
		s.Clear()
		s.Set(faults...)
		return status(t, db, show)
	}
	if got := read(Value("Questions", "18446744073709551615"))["Questions"]; got != "18446744073709551615" {
		t.Errorf("Value gives %q", got)
	}
	if got := read(Null("Questions"))["Questions"]; got != "NULL" {
		t.Errorf("Null gives %q", got)
	}
	if got, there := read(Missing("Questions"))["Questions"]; there {
		t.Errorf("Missing gives %q", got)
	}
	if got := read(Renamed("Questions", "Fragen"))["Fragen"]; got != "70000" {
		t.Errorf("Renamed gives %q", got)
	}
	if got := read(Value("Value", "\xff\x00").On("SHOW VARIABLES"))["Questions"]; got != "70000" {
		t.Errorf("a fault of another statement gives %q", got)
	}
	if got := read(Drip(time.Microsecond))["Questions"]; got != "70000" {
		t.Errorf("Drip gives %q", got)
	}
	s.Clear()
	s.Set(Fail(1227, "42000", "Access denied").On("show global"))
	if _, err := db.ExecContext(t.Context(), show); errno(err) != 1227 {
		t.Errorf("Fail gives %v", err)
	}
	s.Clear()
	s.Set(Missing("Value"))
	rows, err := db.QueryContext(t.Context(), show)
	if err != nil {
		t.Fatal(err)
	}
	if names, err := rows.Columns(); err != nil || len(names) != 1 {
		t.Errorf("a missing column leaves %q, %v", names, err)
	}
	rows.Close()
	s.Clear()
	s.Set(Rows(100_000).On(show))
	rows, err = db.QueryContext(t.Context(), show)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for rows.Next() {
		n++
	}
	if n != 100_000 || rows.Err() != nil {
		t.Errorf("%d rows, %v", n, rows.Err())
	}
	rows.Close()
	s.Clear()
	s.Set(CutRow())
	if rows, err = db.QueryContext(t.Context(), show); err == nil {
		for rows.Next() {
			t.Error("a row, although it was cut")
		}
		err = rows.Err()
		rows.Close()
	}
	if err == nil {
		t.Error("a cut answer is no error")
	}
	s.Clear()
	s.Set(TooManyConnections())
	if err := open(t, s).PingContext(t.Context()); errno(err) != 1040 {
		t.Errorf("%v", err)
	}
	s.Clear()
	s.Set(Offline())
	if err := open(t, s).PingContext(t.Context()); errno(err) != 3032 {
		t.Errorf("%v", err)
	}
	s.Clear()
	s.Set(ClockJump(time.Hour))
	var now int64
	if err := open(t, s).QueryRowContext(t.Context(), "SELECT UNIX_TIMESTAMP()").Scan(&now); err != nil || time.Until(time.Unix(now, 0)) < 50*time.Minute {
		t.Errorf("the clock is %v, %v", time.Unix(now, 0), err)
	}
}

func TestSilentServerSaysNothing(t *testing.T) {
	t.Parallel()
	s := Start(t, recording("8.0.40"))
	s.Set(Silent())
	conn, err := net.Dial("tcp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err == io.EOF {
		t.Errorf("%d bytes, %v", n, err)
	}
	s.Clear()
	conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	if n, err := conn.Read(make([]byte, 1)); n != 1 {
		t.Errorf("after Clear: %d bytes, %v", n, err)
	}
}

// A statement whose client went away goes on until somebody kills it.
func TestHangingStatementIsKilled(t *testing.T) {
	t.Parallel()
	s := Start(t, recording("8.0.40"))
	s.Set(Hang().On("SHOW GLOBAL STATUS"))
	victim := open(t, s)
	var id int
	if err := victim.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	done := make(chan error)
	go func() {
		_, err := victim.ExecContext(t.Context(), "SHOW GLOBAL STATUS")
		done <- err
	}()
	killer := open(t, s)
	waitFor(t, func() bool { return slices.Contains(s.Statements(), "SHOW GLOBAL STATUS") })
	if _, err := killer.ExecContext(t.Context(), "KILL ?", id); err == nil {
		t.Error("a statement that was prepared is answered")
	}
	if now, most := s.Threads(); now < 2 || most < 2 {
		t.Errorf("%d threads, %d at most", now, most)
	}
	if _, err := killer.ExecContext(t.Context(), "KILL 4711"); errno(err) != 1094 {
		t.Errorf("%v", err)
	}
	if !s.kill(uint32(id)) {
		t.Error("the thread is gone")
	}
	if err := <-done; err == nil {
		t.Error("a killed statement is no error")
	}
}

func TestRestartCountsAnew(t *testing.T) {
	t.Parallel()
	s := Start(t, recording("8.0.40"), Counters(func(_ string, recorded uint64, up time.Duration) uint64 { return recorded + uint64(up/time.Hour) + 5 }))
	first := status(t, open(t, s), "SHOW GLOBAL STATUS")
	s.Restart()
	second := status(t, open(t, s), "SHOW GLOBAL STATUS")
	if first["Questions"] != "70005" || second["Questions"] != "0" || second["Threads_connected"] != "3" || len(second["Uptime"]) > 2 || len(first["Uptime"]) != 4 {
		t.Errorf("%v, then %v", first, second)
	}
	s.Replace(recording("5.7.44"))
	if got := status(t, open(t, s), "SHOW VARIABLES")["version"]; got != "5.7.44" {
		t.Errorf("%q", got)
	}
	s.Set(Reset())
	if got := status(t, open(t, s), "SHOW GLOBAL STATUS"); got["Questions"] != "0" || len(got["Uptime"]) != 4 {
		t.Errorf("after Reset: %v", got)
	}
}

func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(20 * time.Second); !condition(); {
		<-tick.C
		if time.Now().After(deadline) {
			t.Fatal("the condition does not come true")
		}
	}
}

// BenchmarkStatus is what a poll of 560 counters that move costs the recorded server.
func BenchmarkStatus(b *testing.B) {
	values := map[string]string{"Uptime": "1000"}
	for i := range 560 {
		values[fmt.Sprintf("Com_of_kind_%d", i)] = strconv.Itoa(1000 * i)
	}
	rec := Record(map[string]string{"version": "8.0.40"}, values)
	s, err := Serve(rec, Counters(func(_ string, recorded uint64, up time.Duration) uint64 { return recorded + uint64(up) }))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	c := &conn{s: s, rec: rec}
	b.ReportAllocs()
	for b.Loop() {
		if e := c.answer("SHOW GLOBAL STATUS", plan{}); len(e.bytes) < 10_000 {
			b.Fatal(len(e.bytes))
		}
	}
}

// A row of more than 16 MiB goes in two packets.
func TestRowOfTwoPackets(t *testing.T) {
	t.Parallel()
	for _, n := range []int{maxPacket - 4, maxPacket - 3, maxPacket + 10} {
		s := Start(t, recording("8.0.40").With("SHOW CREATE TABLE t", Table([]string{"text"}, []string{strings.Repeat("x", n)})))
		var text string
		if err := open(t, s).QueryRowContext(t.Context(), "SHOW CREATE TABLE t").Scan(&text); err != nil || len(text) != n {
			t.Errorf("%d bytes of %d, %v", len(text), n, err)
		}
		s.Close()
	}
}

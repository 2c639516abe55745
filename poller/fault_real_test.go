package poller

import (
	"context"
	"strings"
	"testing"
	"time"

	"monolith/internal/mysqltest"
)

// Where autocommit is off for everybody, whoever reads a table holds it until a commit. Our connection reads tables and
// stays open: an ALTER of any of them must not wait for us.
func TestAlterIsNeverHeldUp(t *testing.T) {
	t.Parallel()
	tables := map[string][]string{
		"MariaDB":   {"mysql.global_priv", "mysql.db", "mysql.tables_priv", "mysql.columns_priv", "mysql.procs_priv", "mysql.proxies_priv", "mysql.roles_mapping"},
		"MySQL 5.6": {"mysql.user", "mysql.db", "mysql.tables_priv", "mysql.columns_priv", "mysql.procs_priv", "mysql.proxies_priv"},
	}
	for name, start := range bothServers {
		t.Run(name, func(t *testing.T) {
			s := start(t, mysqltest.Options("autocommit=0"))
			s.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.heartbeat (ts VARCHAR(26) NOT NULL, server_id INT UNSIGNED PRIMARY KEY) ENGINE=InnoDB",
				"INSERT INTO shop.heartbeat VALUES (UTC_TIMESTAMP(), 4711)", "COMMIT", "CREATE TABLE shop.t (a INT) ENGINE=InnoDB", "CREATE TABLE shop.m (a INT) ENGINE=MyISAM")
			user, password := s.NewUser(t, "ALL ON *.*")
			w := watch(t, s, user, password)
			w.server.HeartbeatTable = "shop.heartbeat"
			for range 2 {
				w.poll(t)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			conn, err := s.DB(t).Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := conn.ExecContext(ctx, "SET SESSION lock_wait_timeout=1"); err != nil {
				t.Fatal(err)
			}
			for _, table := range append(tables[name], "shop.heartbeat", "shop.t", "shop.m") {
				if _, err := conn.ExecContext(ctx, "ALTER TABLE "+table+" COMMENT='altered'"); err != nil {
					t.Errorf("%s: %v", table, err)
				}
			}
			var open int
			if err := conn.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.INNODB_TRX").Scan(&open); err != nil || open > 1 {
				t.Errorf("%d transactions are open, %v", open, err) // that of the asking connection itself
			}
			w.poll(t) // our connection lives
		})
	}
}

// A server that takes no writes is read like any other.
func TestReadOnlyServerIsRead(t *testing.T) {
	t.Parallel()
	for name, start := range bothServers {
		t.Run(name, func(t *testing.T) {
			s := start(t)
			user, password := s.NewUser(t, "PROCESS ON *.*", "REPLICATION CLIENT ON *.*", "SELECT ON *.*", "SHOW VIEW ON *.*")
			s.Exec(t, "SET GLOBAL read_only=ON")
			w := watch(t, s, user, password)
			for range 2 {
				if _, failed := w.poll(t, "replication binlogs"); len(failed) > 0 && name == "MySQL 5.6" {
					t.Errorf("%v", failed) // MariaDB wants rights of their own for these two
				}
			}
			if got := w.vars.Value("read_only"); got != "ON" {
				t.Errorf("read_only is %q", got)
			}
			for _, refused := range w.refused {
				if strings.Contains(refused, "read-only") {
					t.Error(refused)
				}
			}
		})
	}
}

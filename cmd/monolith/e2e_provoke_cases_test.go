package main

import (
	"slices"
	"time"

	"monolith"
)

// rounds gives all provocations.
func rounds() []round {
	return slices.Concat([]round{settings(), oversized(), late(), accounts(), schemas(), connections(), full(), locks(), deadlocks()}, replication(), []round{queries(), caches(), waiting(), outages(), logless(), changed(), day()})
}

// set makes a provocation of a variable that is set to a wrong value and back.
func set(server, rule, level, variable, wrong, right string, says ...string) provocation {
	return provocation{
		server: server, rule: rule, level: level, says: says, how: "SET GLOBAL " + variable + " = " + wrong,
		begin: []string{"SET GLOBAL " + variable + " = " + wrong}, cure: []string{"SET GLOBAL " + variable + " = " + right},
	}
}

// settings are variables that somebody set wrongly.
func settings() round {
	return round{
		name: "settings", opens: 40 * time.Minute, closes: 20 * time.Minute,
		all: []provocation{
			set("old", "flush-time-nonzero", "warn", "flush_time", "1800", "0", "flush_time=1800", "Every 30 minutes"),
			set("db1", "thread-cache-not-enabled", "info", "thread_cache_size", "0", "60", "thread_cache_size=0"),
			set("db1", "sort-buffer-too-large", "warn", "sort_buffer_size", "67108864", "2097152", "sort_buffer_size 64 MiB × 60 = 3.75 GiB"),
			set("db1", "join-buffer-too-large", "info", "join_buffer_size", "8388608", "262144", "join_buffer_size 8 MiB × 60 = 480 MiB"),
			set("db1", "innodb-isolation-not-acid", "critical", "tx_isolation", "'READ-UNCOMMITTED'", "'REPEATABLE-READ'", "READ-UNCOMMITTED"),
			set("db1", "sync-binlog-not-1", "warn", "sync_binlog", "0", "1", "sync_binlog=0", "error 1236"),
			set("db1", "innodb-durability-relaxed", "warn", "innodb_flush_log_at_trx_commit", "0", "1", "innodb_flush_log_at_trx_commit=0"),
			set("old", "innodb-durability-relaxed", "info", "innodb_flush_log_at_trx_commit", "2", "1", "innodb_flush_log_at_trx_commit=2"),
			{
				server: "db1", rule: "semi-sync-degraded", level: "warn", how: "SET GLOBAL rpl_semi_sync_master_enabled = ON, while the replica knows nothing of it", says: []string{"semi-synchronous replication OFF, 0 replicas"},
				begin: []string{"SET GLOBAL rpl_semi_sync_master_timeout = 100", "SET GLOBAL rpl_semi_sync_master_enabled = ON"},
				each:  []string{"UPDATE shop.orders SET n = n + 1 WHERE id = 2"},
				cure:  []string{"SET GLOBAL rpl_semi_sync_master_enabled = OFF"}, reason: monolith.ClosedNotApplicable,
			},
			set("db1", "binlog-format-unsafe", "warn", "binlog_format", "STATEMENT", "ROW", "binlog_format=STATEMENT"),
			set("db2", "replica-not-read-only", "warn", "read_only", "OFF", "ON", "read_only=OFF"),
			set("db2", "relay-logs-not-purged", "warn", "relay_log_purge", "OFF", "ON", "relay_log_purge=OFF"),
			set("db2", "replica-skips-errors", "warn", "slave_exec_mode", "IDEMPOTENT", "STRICT", "exec mode IDEMPOTENT", "slave_exec_mode is IDEMPOTENT"),
		},
	}
}

// late are wrong settings, and logins, that are told only after long.
func late() round {
	cache := set("db1", "query-cache-too-large", "info", "query_cache_size", "167772160", "1048576", "size 160 MiB")
	cache.begin, cache.cure = append(cache.begin, "SET GLOBAL query_cache_type = ON"), append(cache.cure, "SET GLOBAL query_cache_type = OFF")
	cache.how, cache.reason = "SET GLOBAL query_cache_type = ON, and 160 MiB", monolith.ClosedNotApplicable
	return round{
		name: "late", long: true, opens: 80 * time.Minute, closes: 50 * time.Minute,
		all: []provocation{
			cache,
			set("db1", "general-log-on", "warn", "general_log", "ON", "OFF", "general_log=ON", "log_output=FILE"),
			set("db1", "binlogs-not-purged", "warn", "expire_logs_days", "0", "7", "never purged"),
			{
				server: "db2", rule: "connection-failures", level: "warn", how: "6 logins a minute with a wrong password", says: []string{"failed ("},
				minute: func(s *stage) {
					for range 6 {
						if _, err := s.login("db2", "nobody", "wrong"); err == nil {
							s.t.Error("nobody may log in")
						}
					}
				},
			},
		},
	}
}

// account makes a provocation of a statement that makes an account worse.
func account(server, rule, level, user, how string, says ...string) provocation {
	return provocation{
		server: server, rule: rule, level: level, says: says, how: how,
		begin: []string{how}, cure: []string{"DROP USER " + user}, reason: monolith.ClosedNotApplicable,
	}
}

// accounts are accounts that nobody should have.
func accounts() round {
	never := account("db1", "account-empty-password", "critical", "'app'@'10.%'", "CREATE USER 'app'@'10.%'", "app@10.% has no password")
	never.instance = "app@10.%"
	remote := account("db1", "root-no-password", "critical", "'root'@'10.%'", "CREATE USER 'root'@'10.%'", "'root'@'10.%' needs no password")
	remote.instance = "root@10.%"
	login := provocation{server: "db1", rule: "root-remote-login", instance: "root@10.%", level: "info", how: "CREATE USER 'root'@'10.%', on a server that listens on its own machine", says: []string{"'root'@'10.%', but the server listens on this machine only"}, reason: monolith.ClosedNotApplicable}
	expire := account("db1", "password-expiry", "warn", "'late'@'10.%'", "CREATE USER 'late'@'10.%' IDENTIFIED BY 'a' PASSWORD EXPIRE INTERVAL 3 DAY", "password of late@10.% ends in")
	veteran := account("old", "account-old-password", "warn", "'veteran'@'10.%'", "CREATE USER 'veteran'@'10.%' IDENTIFIED WITH mysql_old_password", "'veteran'@'10.%': old password format")
	veteran.begin = append(veteran.begin, "UPDATE mysql.user SET Password = '5d2e19393cc5ef67' WHERE User = 'veteran'", "FLUSH PRIVILEGES")
	veteran.how, veteran.reason = "an account with a password of before 4.1", monolith.ClosedCleared
	boss := account("db1", "account-global-privileges", "critical", "'boss'@'%'", "GRANT ALL ON *.* TO 'boss'@'%' IDENTIFIED BY 'a' WITH GRANT OPTION", "'boss'@'%'", "log in from anywhere")
	boss.instance = "boss@%"
	grant := provocation{server: "db1", rule: "account-grant-option", instance: "boss@%", level: "warn", says: []string{"'boss'@'%' may hand on rights on all schemas"}, reason: monolith.ClosedNotApplicable}
	return round{
		name: "accounts", opens: 10 * time.Minute, closes: 10 * time.Minute,
		all: []provocation{
			remote, login, never, expire, veteran, boss, grant,
			account("db1", "anonymous-account", "critical", "''@'10.%'", "CREATE USER ''@'10.%'", "''@'10.%' without a password"),
			account("db1", "usage-only-account", "info", "'idle'@'10.%'", "CREATE USER 'idle'@'10.%' IDENTIFIED BY 'a'", "'idle'@'10.%' has no privilege"),
		},
	}
}

// schemas are things that stand in the schemas.
func schemas() round {
	return round{
		name: "schemas", opens: 30 * time.Minute, closes: 30 * time.Minute,
		all: []provocation{
			{
				server: "old", rule: "test-database", level: "warn", how: "CREATE DATABASE test, and a grant on it for everybody", says: []string{"schema test exists"},
				begin: []string{"CREATE DATABASE test", "INSERT INTO mysql.db (Host, Db, User, Select_priv, Insert_priv) VALUES ('%', 'test', '', 'Y', 'Y')", "FLUSH PRIVILEGES"},
				cure:  []string{"DROP DATABASE test", "DELETE FROM mysql.db WHERE Db = 'test'", "FLUSH PRIVILEGES"},
			},
			{
				server: "db1", rule: "tables-without-primary-key", level: "info", how: "a table without a key", says: []string{"1 table without primary key", "keyless"},
				begin: []string{"CREATE DATABASE loose", "CREATE TABLE loose.keyless (a INT) ENGINE=InnoDB"},
				cure:  []string{"DROP DATABASE loose"},
			},
			{
				server: "old", rule: "auto-increment-exhaustion", level: "critical", how: "a TINYINT AUTO_INCREMENT at 250", says: []string{"id at 98"},
				begin: []string{"CREATE DATABASE small", "CREATE TABLE small.tags (id TINYINT UNSIGNED AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB AUTO_INCREMENT=250", "INSERT INTO small.tags VALUES ()"},
				cure:  []string{"DROP DATABASE small"}, reason: monolith.ClosedNotApplicable,
			},
			{
				server: "db1", rule: "concurrent-insert", level: "info", how: "a MyISAM table, and SET GLOBAL concurrent_insert = NEVER", says: []string{"concurrent_insert=NEVER, 1 MyISAM table"},
				begin: []string{"CREATE DATABASE isam", "CREATE TABLE isam.t (a INT) ENGINE=MyISAM", "SET GLOBAL concurrent_insert = NEVER"},
				cure:  []string{"SET GLOBAL concurrent_insert = AUTO", "DROP DATABASE isam"},
			},
		},
	}
}

// changed is a variable that somebody changed, which is told for a day.
func changed() round {
	p := set("db1", "variable-changed", "warn", "max_connections", "70", "60", "max_connections: 60 → 70")
	p.instance, p.reason = "max_connections", monolith.ClosedNotApplicable
	return round{
		name: "changed", long: true, opens: 150 * time.Minute, closes: 26 * time.Hour,
		set: func(s *monolith.Server) {
			s.Schedules = map[string]string{monolith.Fast: "@every 5m", monolith.Slow: "@every 5m"}
		},
		all: []provocation{
			p,
			{
				server: "db1", rule: "poller-data-incomplete", level: "info", how: "Monolith's right to read mysql.* is revoked", says: []string{"accounts"},
				start: func(s *stage) { s.exec("db1", "REVOKE SELECT ON mysql.* FROM '"+s.user("db1")+"'@'%'") },
				stop:  func(s *stage) { s.exec("db1", "GRANT SELECT ON mysql.* TO '"+s.user("db1")+"'@'%'") },
			},
		},
	}
}

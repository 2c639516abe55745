package main

import (
	"database/sql"
	"fmt"
	"sync"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

// many gives a statement n times.
func many(n int, statement string) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = statement
	}
	return all
}

// queries are statements that make much work.
func queries() round {
	return round{
		name: "queries", long: true, opens: 80 * time.Minute, closes: 150 * time.Minute,
		all: []provocation{
			{
				server: "db1", rule: "table-scans-excessive", level: "warn", how: "66 scans of 12,000 rows a minute", says: []string{"rows read per SELECT (limit 4,000)"},
				each: many(66, "SELECT COUNT(*) FROM shop.big WHERE name = 'x'"),
			},
			{
				server: "db1", rule: "redo-log-too-small", level: "warn", how: "140 MB written within an hour, with a redo log of 8 MiB", says: []string{"redo log holds"},
				begin: []string{
					"CREATE TABLE shop.blobs (id INT PRIMARY KEY, b MEDIUMBLOB) ENGINE=InnoDB",
					"SET STATEMENT sql_log_bin = 0 FOR INSERT INTO shop.blobs SELECT seq, REPEAT('x', 200000) FROM shop.seq_1_to_700",
				},
				cure: []string{"DROP TABLE shop.blobs"},
			},
			{server: "db1", rule: "indexes-not-used", level: "critical", says: []string{"of rows read without index"}},
			{
				server: "old", rule: "tmp-disk-ratio-high", level: "critical", how: "66 temporary tables on disk a minute", says: []string{"on disk"},
				begin: []string{"CREATE TABLE shop.texts (a TEXT) ENGINE=InnoDB", "INSERT INTO shop.texts VALUES ('x'), ('y')"},
				each:  many(66, "SELECT DISTINCT a FROM shop.texts"),
			},
			{server: "old", rule: "disk-tmp-tables-excessive", level: "info", says: []string{"tables/s on disk"}},
			{
				server: "db2", rule: "slow-query-rate", level: "info", how: "12 of 620 queries a minute take longer than long_query_time", says: []string{"of the queries are slow"},
				begin: []string{"SET GLOBAL long_query_time = 0.1"}, cure: []string{"SET GLOBAL long_query_time = 10"},
				minute: func(s *stage) {
					var group sync.WaitGroup
					for range 12 {
						group.Go(func() {
							c, err := s.root("db2").Conn(s.t.Context())
							if err != nil {
								s.t.Error(err)
								return
							}
							defer c.Close()
							for _, statement := range []string{"SET SESSION long_query_time = 0.02", "DO SLEEP(0.021)"} {
								if _, err := c.ExecContext(s.t.Context(), statement); err != nil {
									s.t.Error(err)
								}
							}
						})
					}
					group.Wait()
					s.exec("db2", many(620, "DO 1")...)
				},
			},
		},
	}
}

// caches are caches that are too small for what is done.
func caches() round {
	const tables = 20
	make1, use := []string{"SET GLOBAL table_open_cache = 10"}, []string{}
	for i := range tables {
		make1 = append(make1, fmt.Sprintf("CREATE TABLE shop.t%d (id INT PRIMARY KEY) ENGINE=InnoDB", i))
		use = append(use, fmt.Sprintf("DO (SELECT COUNT(*) FROM shop.t%d)", i))
	}
	drop := []string{"SET GLOBAL table_open_cache = 2000"}
	for i := range tables {
		drop = append(drop, fmt.Sprintf("DROP TABLE shop.t%d", i))
	}
	return round{
		name: "caches", long: true, opens: 150 * time.Minute, closes: 200 * time.Minute,
		all: []provocation{
			{
				server: "db1", rule: "table-cache-too-small", level: "info", how: "table_open_cache = 10, and 20 tables read in turn", says: []string{"opened (limit 1 tables/s)"},
				begin: make1, cure: drop,
				each: append(append(append([]string{}, use...), append(use, use...)...), use...),
			},
			{server: "db1", rule: "table-open-cache-overflows", level: "info", says: []string{"a table is closed to make room in the table cache (10)"}},
			{
				server: "old", rule: "innodb-buffer-too-small", level: "warn", how: "a table of 30 MB is read once a minute, with a buffer pool of 16 MiB", says: []string{"of the page requests must be read from the disk", "does not fit into 16 MiB"},
				begin: append([]string{
					"SET GLOBAL innodb_read_ahead_threshold = 0", // read ahead are pages that nobody waits for
					"CREATE TABLE shop.wide (id INT AUTO_INCREMENT PRIMARY KEY, a CHAR(250), b CHAR(250)) ENGINE=InnoDB CHARACTER SET latin1",
					"INSERT INTO shop.wide (a, b) VALUES ('x', 'y')",
				}, many(16, "INSERT INTO shop.wide (a, b) SELECT a, b FROM shop.wide")...),
				each: []string{"DO (SELECT SUM(LENGTH(b)) FROM shop.wide)"},
				cure: []string{"DROP TABLE shop.wide"},
			},
			{
				server: "db1", rule: "binlog-size-too-small", level: "warn", how: "max_binlog_size = 4096, and some writes", says: []string{"one file lasts"},
				begin: []string{"SET GLOBAL max_binlog_size = 4096"}, cure: []string{"SET GLOBAL max_binlog_size = 1073741824"},
				each: many(12, "UPDATE shop.orders SET n = n + 1 WHERE id = 1"),
			},
			{
				server: "db2", rule: "thread-cache-too-small", level: "info", how: "thread_cache_size = 1, and 80 logins a minute, 8 at once", says: []string{"created a thread"},
				begin: []string{"SET GLOBAL thread_cache_size = 1"}, cure: []string{"SET GLOBAL thread_cache_size = 100"},
				minute: func(s *stage) {
					for range 10 {
						var all []*sql.Conn
						db, err := sql.Open("mysql", s.servers["db2"].RootDSN())
						if err != nil {
							s.t.Fatal(err)
						}
						for range 8 {
							c, err := db.Conn(s.t.Context())
							if err != nil {
								s.t.Fatal(err)
							}
							all = append(all, c)
						}
						for _, c := range all {
							c.Close()
						}
						db.Close()
					}
				},
			},
			{
				server: "old", rule: "sort-buffer-too-small", level: "info", how: "sort_buffer_size = 32 KiB, and sorts of 3,000 rows", says: []string{"merge passes per sort"},
				begin: []string{
					"CREATE TABLE shop.names (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(200)) ENGINE=InnoDB",
					"INSERT INTO shop.names (name) VALUES ('a'), ('b'), ('c'), ('d'), ('e')",
					"INSERT INTO shop.names (name) SELECT REPEAT(MD5(a.id * b.id + c.id * d.id), 4) FROM shop.names a, shop.names b, shop.names c, shop.names d, shop.names e",
				},
				minute: func(s *stage) {
					c, err := s.root("old").Conn(s.t.Context())
					if err != nil {
						s.t.Fatal(err)
					}
					defer c.Close()
					for _, statement := range append([]string{"SET SESSION sort_buffer_size = 32768"}, many(6, "SELECT name FROM shop.names ORDER BY name LIMIT 3000, 1")...) {
						if _, err := c.ExecContext(s.t.Context(), statement); err != nil {
							s.t.Error(err)
						}
					}
				},
			},
			{
				server: "db1", rule: "table-locks-high", level: "info", how: "5 of 85 statements a minute wait for a long read of a MyISAM table", says: []string{"table lock requests waited"},
				begin:  []string{"CREATE TABLE shop.isam (a INT) ENGINE=MyISAM", "INSERT INTO shop.isam VALUES (1)"},
				each:   many(80, "DO (SELECT COUNT(*) FROM shop.isam)"),
				minute: func(s *stage) { s.contend("db1") },
				cure:   []string{"DROP TABLE shop.isam"},
			},
			{
				server: "db2", rule: "query-cache-too-small", level: "warn", how: "a query cache of 256 KiB, and results that push each other out", says: []string{"of inserts (limit 50 %)"},
				begin: []string{"SET GLOBAL query_cache_type = ON", "SET GLOBAL query_cache_size = 262144"},
				cure:  []string{"SET GLOBAL query_cache_size = 1048576", "SET GLOBAL query_cache_type = OFF"}, reason: monolith.ClosedNotApplicable,
				minute: func(s *stage) {
					c, err := s.root("db2").Conn(s.t.Context())
					if err != nil {
						s.t.Fatal(err)
					}
					defer c.Close()
					statements := []string{"SET SESSION query_cache_type = ON"}
					for i := range 30 {
						for range 3 {
							statements = append(statements, fmt.Sprintf("SELECT id, name, %d FROM shop.big LIMIT 400", i))
						}
					}
					for _, statement := range statements {
						rows, err := c.QueryContext(s.t.Context(), statement)
						if err != nil {
							s.t.Fatal(err)
						}
						for rows.Next() {
						}
						rows.Close()
					}
				},
			},
		},
	}
}

// contend lets updates wait for a reader of a MyISAM table.
func (s *stage) contend(server string) {
	const reads = "SELECT SLEEP(0.15) FROM shop.isam"
	var group sync.WaitGroup
	group.Go(func() {
		if _, err := s.root(server).ExecContext(s.t.Context(), reads); err != nil {
			s.t.Error(err)
		}
	})
	s.settle(server, 1, reads)
	for range 5 {
		group.Go(func() {
			if _, err := s.root(server).ExecContext(s.t.Context(), "UPDATE shop.isam SET a = a + 1"); err != nil {
				s.t.Error(err)
			}
		})
	}
	group.Wait()
}

// replication is a replica that does not follow, in all ways.
func replication() []round {
	var blocker *sql.Conn
	return []round{
		{
			name: "SQL thread", opens: 10 * time.Minute, closes: 10 * time.Minute,
			all: []provocation{{
				server: "db2", rule: "replica-sql-thread-stopped", level: "critical", how: "STOP SLAVE SQL_THREAD", says: []string{"SQL thread No"},
				begin: []string{"STOP SLAVE SQL_THREAD"}, cure: []string{"START SLAVE SQL_THREAD"},
			}},
		},
		{
			name: "I/O thread", opens: 10 * time.Minute, closes: 10 * time.Minute,
			all: []provocation{{
				server: "db2", rule: "replica-io-thread-stopped", level: "critical", how: "STOP SLAVE IO_THREAD", says: []string{"I/O thread No"},
				begin: []string{"STOP SLAVE IO_THREAD"}, cure: []string{"START SLAVE IO_THREAD"},
			}},
		},
		{
			name: "both threads", opens: 10 * time.Minute, closes: 10 * time.Minute,
			all: []provocation{{
				server: "db2", rule: "replica-not-active", level: "critical", how: "STOP SLAVE", says: []string{"both threads stopped, source 127.0.0.1"},
				begin: []string{"STOP SLAVE"}, cure: []string{"START SLAVE"},
			}},
		},
		{
			name: "duplicate key", opens: 10 * time.Minute, closes: 10 * time.Minute,
			all: []provocation{
				{
					server: "db2", rule: "replication-error", level: "critical", how: "a row that the replica has already", says: []string{"1062"},
					start: func(s *stage) {
						s.exec("db1", "CREATE TABLE shop.twice (id INT PRIMARY KEY) ENGINE=InnoDB")
						s.outside.do(func() { s.servers["db2"].CatchUp(s.outside.t, s.servers["db1"]) })
						s.exec("db2", "SET STATEMENT sql_log_bin = 0 FOR INSERT INTO shop.twice VALUES (7)")
						s.exec("db1", "INSERT INTO shop.twice VALUES (7)")
					},
					stop: func(s *stage) {
						s.exec("db2", "SET STATEMENT sql_log_bin = 0 FOR DELETE FROM shop.twice", "START SLAVE")
					},
				},
				{server: "db2", rule: "replica-sql-thread-stopped", level: "critical", says: []string{"error 1062"}},
			},
		},
		{
			name: "lag", opens: 20 * time.Minute, closes: 20 * time.Minute,
			all: []provocation{{
				server: "db2", rule: "replica-lag", level: "warn", how: "a change of five minutes ago that waits for a lock on the replica", says: []string{"(limit 120 s)", "behind 127.0.0.1"},
				start: func(s *stage) {
					var err error
					if blocker, err = s.root("db2").Conn(s.t.Context()); err != nil {
						s.t.Fatal(err)
					}
					if _, err := blocker.ExecContext(s.t.Context(), "LOCK TABLES shop.orders READ"); err != nil {
						s.t.Fatal(err)
					}
					c, err := s.root("db1").Conn(s.t.Context())
					if err != nil {
						s.t.Fatal(err)
					}
					defer c.Close()
					for _, statement := range []string{"SET SESSION timestamp = UNIX_TIMESTAMP() - 300", "INSERT INTO shop.orders VALUES (100, 1)", "SET SESSION timestamp = DEFAULT"} {
						if _, err := c.ExecContext(s.t.Context(), statement); err != nil {
							s.t.Fatal(err)
						}
					}
				},
				stop: func(s *stage) {
					if _, err := blocker.ExecContext(s.t.Context(), "UNLOCK TABLES"); err != nil {
						s.t.Fatal(err)
					}
					blocker.Close()
				},
			}},
		},
		{
			name: "role", opens: 10 * time.Minute, closes: 10 * time.Minute,
			set: func(s *monolith.Server) {
				if s.Name == "db1" {
					s.Role = "primary"
				}
			},
			all: []provocation{set("db1", "read-only-role-mismatch", "critical", "read_only", "ON", "OFF", "role primary, read_only=ON")},
		},
	}
}

// outages are servers that go and come.
func outages() round {
	stop := func(name string) func(*stage) {
		return func(s *stage) { s.outside.do(func() { s.servers[name].Stop(s.outside.t) }) }
	}
	start := func(name string) func(*stage) {
		return func(s *stage) {
			s.outside.do(func() { s.servers[name].Start(s.outside.t) })
		}
	}
	return round{
		name: "outages", opens: 30 * time.Minute, closes: 90 * time.Minute,
		all: []provocation{
			{server: "db1", rule: "server-unreachable", level: "critical", how: "the server is stopped", says: []string{"refuse"}, start: stop("db1"), stop: start("db1")},
			{server: "db2", rule: "replica-io-thread-stopped", level: "critical", how: "its source is stopped", says: []string{"I/O thread Connecting"}},
		},
	}
}

// logless is a server that was started without its binary log.
func logless() round {
	restart := func(option string) func(*stage) {
		return func(s *stage) {
			s.outside.do(func() {
				s.servers["old"].Kill(s.outside.t)
				s.servers["old"].Start(s.outside.t, mysqltest.Options(option))
			})
		}
	}
	return round{
		name: "no binary log", long: true, opens: 30 * time.Minute, closes: 80 * time.Minute,
		all: []provocation{
			{
				server: "old", rule: "binary-logging-disabled", level: "warn", how: "the server is killed, and started with skip_log_bin", says: []string{"log_bin=OFF"},
				start: restart("skip_log_bin"), stop: restart("log_bin=binlog"),
			},
			{server: "old", rule: "server-restarted", level: "warn", says: []string{"restarted"}},
		},
	}
}

package main

import (
	"database/sql"
	"fmt"
	"time"

	"monolith"
)

// oversized are caches and buffers that are larger than the machine, or the server's own limits, allow.
func oversized() round {
	memory := provocation{
		server: "db2", rule: "memory-over-85", level: "warn", how: "sort_buffer_size × max_connections = 120 % of the memory", says: []string{"If all 151 connections used all their buffers"},
		start: func(s *stage) {
			limit, _, ok := s.poller.State(s.ids["db2"]).Value(monolith.Metric{Name: "host.memory_limit_bytes"})
			if !ok {
				s.t.Fatal("the machine's memory is not known")
			}
			s.exec("db2", fmt.Sprintf("SET GLOBAL sort_buffer_size = %d", int64(limit.Float64()*1.2/151)))
		},
		cure: []string{"SET GLOBAL sort_buffer_size = 2097152"},
	}
	return round{
		name: "oversized", opens: 40 * time.Minute, closes: 40 * time.Minute,
		all: []provocation{
			memory,
			set("db1", "open-files-near-limit", "info", "table_open_cache", "1048576", "2000", "table_open_cache and max_connections need 2,097,"),
			set("old", "key-buffer-too-large", "info or warn", "key_buffer_size", "268435456", "8388608", "256 MiB are kept for MyISAM indexes"),
		},
	}
}

// undo is a transaction that keeps the others' old versions from being purged.
func undo() round {
	var reader *sql.Tx
	history := func(s *stage) (n int64) {
		var name string
		if err := s.root("tls").QueryRowContext(s.t.Context(), "SHOW GLOBAL STATUS LIKE 'Innodb_history_list_length'").Scan(&name, &n); err != nil {
			s.t.Fatal(err)
		}
		return n
	}
	return round{
		name: "undo", opens: 40 * time.Minute, closes: 40 * time.Minute,
		all: []provocation{{
			server: "tls", rule: "history-list-length", level: "warn", how: "a transaction that reads, and 100,500 changes of a row", says: []string{"old transactions wait to be purged", "times as many as an hour ago"},
			begin: []string{"CREATE TABLE shop.counter (id INT PRIMARY KEY, n INT) ENGINE=InnoDB", "INSERT INTO shop.counter VALUES (1, 0)"},
			start: func(s *stage) {
				var err error
				if reader, err = s.root("tls").Begin(); err != nil {
					s.t.Fatal(err)
				}
				var rows int
				if err := reader.QueryRow("SELECT COUNT(*) FROM shop.counter").Scan(&rows); err != nil { // DO would lock them
					s.t.Fatal(err)
				}
				s.session("tls", "SET SESSION sql_log_bin = 0", "SET GLOBAL innodb_flush_log_at_trx_commit = 0",
					"BEGIN NOT ATOMIC DECLARE i INT DEFAULT 0; WHILE i < 100500 DO UPDATE shop.counter SET n = n + 1 WHERE id = 1; SET i = i + 1; END WHILE; END",
					"SET GLOBAL innodb_flush_log_at_trx_commit = 1", "SET SESSION sql_log_bin = 1")
			},
			stop: func(s *stage) {
				if err := reader.Rollback(); err != nil {
					s.t.Error(err)
				}
				for range 1000 { // by the clock that stands still in the bubble
					if history(s) < 50000 {
						break
					}
					s.exec("tls", "DO SLEEP(0.05)")
				}
			},
			cure: []string{"DROP TABLE shop.counter"},
		}},
	}
}

// day is what is told only after a day of it.
func day() round {
	return round{
		name: "day", long: true, opens: 26 * time.Hour, closes: 26 * time.Hour,
		set: func(s *monolith.Server) {
			s.Schedules = map[string]string{monolith.Fast: "@every 5m", monolith.Slow: "@every 5m", monolith.Sizes: "@every 1h"}
		},
		all: []provocation{
			{
				server: "db1", rule: "join-buffer-too-small", level: "info or warn", how: "a join without an index a minute", says: []string{"joins a day run without an index"},
				begin: []string{"CREATE TABLE shop.pairs (n INT) ENGINE=InnoDB", "INSERT INTO shop.pairs VALUES (1), (2)"}, cure: []string{"DROP TABLE shop.pairs"},
				each: []string{"SELECT COUNT(*) FROM shop.pairs a JOIN shop.pairs b ON a.n = b.n"},
			},
			{
				server: "old", rule: "query-cache-not-enabled", level: "info", how: "15 SELECTs a minute and no writes, with query_cache_type = OFF", says: []string{"query cache off", "reads per write"},
				each: many(15, "SELECT name FROM shop.people WHERE id = 7"),
			},
		},
	}
}

package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith"
)

// quiet connects without a word on standard error about connections that are killed.
func quiet(dsn string) (driver.Connector, error) {
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	c.Logger = &mysql.NopLogger{}
	return mysql.NewConnector(c)
}

// login opens a session of an account that is not root, over TCP, and gives what closes it.
func (s *stage) login(server, user, password string) (closes func(), err error) {
	connector, err := quiet(s.servers[server].DSN(user, password))
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	if err := db.PingContext(s.t.Context()); err != nil {
		db.Close()
		return nil, err
	}
	s.t.Cleanup(func() { db.Close() })
	return func() { db.Close() }, nil
}

// sessions opens that many sessions of an account, or as many as the server lets in, and gives what closes them.
func (s *stage) sessions(server, user, password string, n int) (closes func()) {
	var all []func()
	for range n {
		one, err := s.login(server, user, password)
		if err != nil {
			break
		}
		all = append(all, one)
	}
	return func() {
		for _, one := range all {
			one()
		}
	}
}

// kill ends the sessions of Monolith, so that it has to log in anew.
func (s *stage) kill(server string) {
	s.t.Helper()
	srv, err := s.db.Server(s.t.Context(), server)
	if err != nil {
		s.t.Fatal(err)
	}
	rows, err := s.root(server).QueryContext(s.t.Context(), "SELECT id FROM information_schema.processlist WHERE user = ?", srv.Endpoint.User)
	if err != nil {
		s.t.Fatal(err)
	}
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			s.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	rows.Close()
	for _, id := range ids {
		s.exec(server, fmt.Sprintf("KILL %d", id))
	}
}

// connections are sessions that come, fail or fill a server.
func connections() round {
	var leave func()
	return round{
		name: "connections", opens: 30 * time.Minute, closes: 50 * time.Minute,
		all: []provocation{
			{
				server: "db1", rule: "max-used-connections-high", level: "critical", how: "SET GLOBAL max_connections = 20, and 19 sessions", says: []string{"/20"},
				begin: []string{"CREATE USER 'shopper'@'127.0.0.1' IDENTIFIED BY 'a'", "SET GLOBAL max_connections = 20"},
				start: func(s *stage) { leave = s.sessions("db1", "shopper", "a", 16) },
				stop:  func(*stage) { leave() },
				cure:  []string{"SET GLOBAL max_connections = 60", "FLUSH STATUS", "DROP USER 'shopper'@'127.0.0.1'"},
			},
			{
				server: "old", rule: "server-unreachable", level: "warn", how: "the password of Monolith's account is changed", says: []string{"Access denied"},
				start: func(s *stage) {
					s.exec("old", "CREATE TABLE mysql.kept AS SELECT User, Host, Password FROM mysql.user WHERE User = '"+s.user("old")+"'")
					s.exec("old", "UPDATE mysql.user SET Password = PASSWORD('other') WHERE User = '"+s.user("old")+"'", "FLUSH PRIVILEGES")
					s.kill("old")
				},
				cure: []string{"UPDATE mysql.user u JOIN mysql.kept k USING (User, Host) SET u.Password = k.Password", "DROP TABLE mysql.kept", "FLUSH PRIVILEGES"},
			},
		},
	}
}

// user is the account that Monolith uses on a server.
func (s *stage) user(server string) string {
	srv, err := s.db.Server(s.t.Context(), server)
	if err != nil {
		s.t.Fatal(err)
	}
	return srv.Endpoint.User
}

// full is a server that lets nobody in any more, Monolith neither.
func full() round {
	var leave, disperse func()
	return round{
		name: "full", opens: 30 * time.Minute, closes: 40 * time.Minute,
		all: []provocation{
			{
				server: "db2", rule: "server-unreachable", level: "critical", how: "as many sessions as max_connections allows, Monolith's own killed", says: []string{"all max_connections are in use"},
				begin: []string{"CREATE USER 'guest'@'127.0.0.1' IDENTIFIED BY 'a'", "SET GLOBAL max_connections = 12"},
				start: func(s *stage) {
					s.kill("db2")
					leave = s.sessions("db2", "guest", "a", 20)
				},
				stop: func(*stage) { leave() },
				cure: []string{"SET GLOBAL max_connections = 151", "FLUSH STATUS", "DROP USER 'guest'@'127.0.0.1'"},
			},
			{
				// MariaDB counts a part of those that it turns away, now more than five and now fewer.
				server: "db1", rule: "connection-errors", level: "warn or critical", how: "8 sessions that max_connections turns away", says: []string{"turned away at least "},
				begin: []string{"CREATE USER 'crowd'@'127.0.0.1' IDENTIFIED BY 'a'"},
				start: func(s *stage) {
					s.exec("db1", "SET GLOBAL max_connections = 12")
					disperse = s.sessions("db1", "crowd", "a", 30)
					for range 8 {
						if _, err := s.login("db1", "crowd", "a"); err == nil {
							s.t.Error("a session beyond max_connections")
						}
					}
				},
				stop: func(*stage) { disperse() },
				cure: []string{"SET GLOBAL max_connections = 60", "FLUSH STATUS", "DROP USER 'crowd'@'127.0.0.1'"},
			},
		},
	}
}

// crowd is sessions that wait for something, outside of the bubble.
type crowd struct {
	db    *sql.DB
	stop  context.CancelFunc
	group sync.WaitGroup
}

// gather starts n sessions of root that run the statement until they are sent away.
func (s *stage) gather(server string, n int, statement string) *crowd {
	c := &crowd{}
	connector, err := quiet(s.servers[server].RootDSN())
	if err != nil {
		s.t.Fatal(err)
	}
	s.outside.do(func() {
		db := sql.OpenDB(connector)
		db.SetMaxIdleConns(0)
		ctx, cancel := context.WithCancel(context.Background())
		c.db, c.stop = db, cancel
		for range n {
			c.group.Go(func() { _, _ = db.ExecContext(ctx, statement) })
		}
	})
	s.settle(server, n, statement)
	return c
}

// settle waits until that many sessions run the statement: within the bubble a second passes without one going by outside.
func (s *stage) settle(server string, n int, statement string) {
	s.t.Helper()
	for range 10000 {
		var running int
		err := s.root(server).QueryRowContext(s.t.Context(), "SELECT COUNT(*) FROM information_schema.processlist WHERE info = ?", statement).Scan(&running)
		if err != nil {
			s.t.Fatal(err)
		}
		if running >= n {
			return
		}
	}
	s.t.Errorf("%s: there are not %d sessions that run %s", server, n, statement)
}

// leave sends a crowd away: its statements are killed, since the driver alone only closes its end.
func (s *stage) leave(server string, c *crowd, statement string) {
	rows, err := s.root(server).QueryContext(s.t.Context(), "SELECT id FROM information_schema.processlist WHERE info = ?", statement)
	if err != nil {
		s.t.Fatal(err)
	}
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			s.t.Fatal(err)
		}
		ids = append(ids, id)
	}
	rows.Close()
	for _, id := range ids {
		if _, err := s.root(server).ExecContext(s.t.Context(), fmt.Sprintf("KILL %d", id)); err != nil {
			s.t.Log(err) // it ended meanwhile
		}
	}
	s.outside.do(func() {
		c.stop()
		c.group.Wait()
		c.db.Close()
	})
}

// locks are sessions that wait for each other.
func locks() round {
	const update, alter = "UPDATE shop.orders SET n = n + 1 WHERE id = 1", "ALTER TABLE shop.dates ADD COLUMN m INT"
	var rows, meta *crowd
	var holder, reader *sql.Tx
	begin := func(s *stage, server, statement string) *sql.Tx {
		tx, err := s.root(server).Begin()
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := tx.Exec(statement); err != nil {
			s.t.Fatal(err)
		}
		return tx
	}
	end := func(s *stage, tx *sql.Tx) {
		if err := tx.Rollback(); err != nil {
			s.t.Error(err)
		}
	}
	return round{
		name: "locks", opens: 20 * time.Minute, closes: 90 * time.Minute,
		limits: []monolith.RuleSetting{{Rule: "metadata-lock-waits", Limits: map[string]map[string]float64{"warn": {"longest": 0}}}},
		all: []provocation{
			{
				server: "db1", rule: "row-lock-waits", level: "warn", how: "34 sessions that wait for one row", says: []string{"row lock"},
				start: func(s *stage) {
					holder = begin(s, "db1", update)
					rows = s.gather("db1", 34, update)
				},
				stop: func(s *stage) {
					s.leave("db1", rows, update)
					end(s, holder)
				},
			},
			{server: "db1", rule: "concurrent-queries-high", level: "warn", says: []string{"queries running on"}},
			{
				server: "old", rule: "metadata-lock-waits", level: "warn", how: "ALTER TABLE while a transaction has read the table (limit 0 s)", says: []string{"1 session"},
				begin: []string{"CREATE TABLE shop.dates (id INT PRIMARY KEY) ENGINE=InnoDB"},
				start: func(s *stage) {
					reader = begin(s, "old", "SELECT * FROM shop.dates")
					meta = s.gather("old", 1, alter)
				},
				stop: func(s *stage) {
					end(s, reader)
					s.leave("old", meta, alter)
				},
				cure: []string{"DROP TABLE shop.dates"},
			},
		},
	}
}

// deadlocks are counted over an hour.
func deadlocks() round {
	return round{
		name: "deadlocks", long: true, opens: 70 * time.Minute, closes: 90 * time.Minute,
		all: []provocation{
			{
				server: "db1", rule: "deadlock-rate", level: "warn", how: "12 deadlocks", says: []string{"12 deadlocks", "of all transactions"},
				begin: []string{"CREATE TABLE shop.knots (id INT PRIMARY KEY, n INT) ENGINE=InnoDB", "INSERT INTO shop.knots VALUES (1, 0), (2, 0)"},
				start: func(s *stage) {
					for range 12 {
						s.deadlock("db1")
					}
				},
				cure: []string{"DROP TABLE shop.knots"},
			},
		},
	}
}

// deadlock lets two transactions wait for each other.
func (s *stage) deadlock(server string) {
	s.t.Helper()
	var tx [2]*sql.Tx
	for i := range tx {
		var err error
		if tx[i], err = s.root(server).Begin(); err != nil {
			s.t.Fatal(err)
		}
		defer tx[i].Rollback()
		if _, err := tx[i].Exec("UPDATE shop.knots SET n = n + 1 WHERE id = ?", i+1); err != nil {
			s.t.Fatal(err)
		}
	}
	failed := make(chan error, 2)
	for i := range tx {
		go func() {
			_, err := tx[i].Exec("UPDATE shop.knots SET n = n + 1 WHERE id = ?", 2-i)
			if err == nil {
				err = tx[i].Commit()
			} else {
				_ = tx[i].Rollback()
			}
			failed <- err
		}()
	}
	one, other := <-failed, <-failed
	if (one == nil) == (other == nil) {
		s.t.Errorf("no deadlock: %v, %v", one, other)
	}
}

// waiting is a transaction that began with the test.
func waiting() round {
	return round{
		name: "old transaction", opens: 10 * time.Minute, closes: 10 * time.Minute,
		all: []provocation{{
			server: "db1", rule: "long-running-transaction", level: "warn", how: "a transaction that changed a row and does nothing (limit 10 s)", says: []string{"oldest transaction"},
			start: func(s *stage) {
				limit := monolith.RuleSetting{Rule: "long-running-transaction", Limits: map[string]map[string]float64{"info": {"idle_changed": 7}, "warn": {"idle_changed": 10}}}
				if err := s.alerts.PutRuleSettings(s.t.Context(), []monolith.RuleSetting{limit}); err != nil {
					s.t.Fatal(err)
				}
				for seconds := 0; seconds <= 10; { // by the clock that stands still in the bubble
					s.exec("db1", "DO SLEEP(0.1)")
					if err := s.root("db1").QueryRowContext(s.t.Context(), "SELECT TIMESTAMPDIFF(SECOND, MIN(trx_started), NOW()) FROM information_schema.innodb_trx").Scan(&seconds); err != nil {
						s.t.Fatal(err)
					}
				}
			},
			stop: func(s *stage) {
				rows, err := s.root("db1").QueryContext(s.t.Context(), "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_rows_modified > 0")
				if err != nil {
					s.t.Fatal(err)
				}
				defer rows.Close()
				for rows.Next() {
					var id int64
					if err := rows.Scan(&id); err != nil {
						s.t.Fatal(err)
					}
					s.exec("db1", fmt.Sprintf("KILL %d", id))
				}
			},
		}},
	}
}

package main

import (
	"database/sql"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

// TestProvokedGalera provokes alerts on a cluster of three nodes, after an hour by the clock of the bubble in which it is healthy.
func TestProvokedGalera(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	nodes := mysqltest.GaleraCluster(t, 3, mysqltest.Options("sync_binlog=1", "innodb_flush_log_at_trx_commit=1", "expire_logs_days=7", "max_connections=60"))
	user, password := nodes[0].NewUser(t, "PROCESS, SHOW VIEW, REFERENCES, BINLOG MONITOR, REPLICA MONITOR", "SELECT ON mysql.*")
	nodes[0].Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.orders (id INT PRIMARY KEY, n INT) ENGINE=InnoDB", "INSERT INTO shop.orders VALUES (1, 0), (2, 0), (3, 0)")
	servers, endpoints := map[string]*mysqltest.Server{}, map[string]monolith.Endpoint{}
	for i, node := range nodes {
		name := fmt.Sprintf("node%d", i+1)
		servers[name] = node
		endpoints[name] = monolith.Endpoint{Host: node.Host, Port: node.Port, User: user, Password: monolith.Secret(password), TLS: "disabled"}
	}
	out := newOutside(t)
	warm(t)
	list := os.Getenv("MONOLITH_PROVOKED")
	dir, now := t.TempDir(), time.Now()
	var lines []provoked
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, servers, out, endpoints, dir, now, func(srv *monolith.Server) {
			srv.Schedules[monolith.Fast], srv.Schedules[monolith.Slow], srv.Schedules[monolith.Sizes] = "@every 1m", "@every 2m", "@every 10m"
		})
		s.healthyHour()
		s.knowsCluster(nodes)
		for _, r := range galeraRounds() {
			if r.long && list == "" {
				continue
			}
			lines = append(lines, s.play(&r)...)
		}
	})
	if list != "" {
		writeProvoked(t, list, lines)
	}
}

// healthyHour lets a cluster do its work for an hour, and wants that nothing opens above info.
func (s *stage) healthyHour() {
	s.t.Helper()
	for minute := range 60 {
		for name := range s.servers {
			s.exec(name, fmt.Sprintf("UPDATE shop.orders SET n = %d WHERE id = %s", minute, name[len("node"):]), "DO (SELECT COUNT(*) FROM shop.orders)")
		}
		time.Sleep(time.Minute)
	}
	all, err := s.alerts.Alerts(s.t.Context(), monolith.AlertQuery{Open: true, Closed: true, Limit: 5000})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, a := range all {
		if why := known(&a); why != "" {
			s.t.Logf("%s %s: %s (%s: %s)", a.ServerName, a.Peak, a.Summary, a.Rule, why)
			continue
		}
		s.t.Errorf("%s %s: %s %s: %s\n%s", a.ServerName, a.Peak, a.Rule, a.Instance, a.Summary, a.Text)
	}
}

// knowsCluster looks whether Monolith knows what the nodes are, and each who the others are.
func (s *stage) knowsCluster(nodes []*mysqltest.Server) {
	s.t.Helper()
	for name := range s.servers {
		state := s.poller.State(s.ids[name])
		if id := state.Identity; id.Flavour != monolith.MariaDB || !id.Galera {
			s.t.Errorf("%s is %+v", name, id)
		}
		if len(state.Rows.Members) != len(nodes) {
			s.t.Errorf("%s has the nodes %+v", name, state.Rows.Members)
		}
		for _, m := range state.Rows.Members {
			is := s.servers[m.Name]
			if is == nil || m.Host != is.Host || m.Port != is.Port || m.Own != (m.Name == name) || m.Own != (m.State == "Synced") {
				s.t.Errorf("%s has the node %+v", name, m)
			}
		}
	}
}

// await waits, by everybody's clock, until a server's status has a value.
func (s *stage) await(server, name, value string) {
	s.outside.do(func() { s.servers[server].AwaitStatus(s.outside.t, name, value) })
}

// galeraRounds gives what is provoked on a cluster. A node that hangs is not among it: it would hold the clock of the bubble.
func galeraRounds() []round {
	var lock *sql.Conn
	whole := func(s *stage) {
		s.await("node3", "wsrep_local_state_comment", "Synced")
		s.await("node1", "wsrep_cluster_size", "3")
		s.await("node2", "wsrep_cluster_size", "3")
	}
	locked := func(s *stage) { lock = s.lockAll("node3") }
	return []round{
		{
			name: "partition", opens: 20 * time.Minute, closes: 20 * time.Minute,
			all: []provocation{
				{
					server: "node3", rule: "galera-node-not-ready", level: "critical", how: "one node of three is cut off (gmcast.isolate=1)", says: []string{"wsrep_cluster_status=non-Primary"},
					start: func(s *stage) {
						s.kill("node3") // so that Monolith has to log in to a node that refuses nearly all statements, KILL too
						s.exec("node3", "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'")
						s.await("node3", "wsrep_cluster_status", "non-Primary")
						s.await("node1", "wsrep_cluster_size", "2")
						s.await("node2", "wsrep_cluster_size", "2")
					},
					stop: func(s *stage) {
						s.exec("node3", "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'")
						whole(s)
					},
				},
				{server: "node1", rule: "galera-cluster-size", level: "critical", says: []string{"2 of 3 nodes", "the next loss stops all writes"}},
				{server: "node3", rule: "galera-cluster-size", level: "critical", says: []string{"1 of 3 nodes", "without a majority it takes no writes"}},
			},
		},
		{
			name: "locked", opens: 20 * time.Minute, closes: 20 * time.Minute,
			all: []provocation{{
				server: "node3", rule: "galera-node-not-ready", level: "warn", how: "FLUSH TABLES WITH READ LOCK, as for a backup, outside of the backup's hours", says: []string{"The node is Donor/Desynced, not Synced"},
				start: locked, stop: func(s *stage) { s.unlock(lock) },
			}},
		},
		{
			name: "behind", opens: 20 * time.Minute, closes: 20 * time.Minute,
			all: []provocation{
				{
					server: "node1", rule: "galera-node-not-ready", level: "critical", how: "SET GLOBAL wsrep_reject_queries = ALL", says: []string{"wsrep_reject_queries=ALL", "error 1047"},
					begin: []string{"SET GLOBAL wsrep_reject_queries = ALL"}, cure: []string{"SET GLOBAL wsrep_reject_queries = NONE"},
				},
				{
					server: "node3", rule: "galera-node-not-ready", level: "warn", how: "SET GLOBAL wsrep_desync = ON, FLUSH TABLES WITH READ LOCK, and 120 writes elsewhere", says: []string{"The donor is behind", "write sets wait to be applied", "Donor/Desynced, 1"},
					begin: []string{"SET GLOBAL wsrep_desync = ON"},
					start: func(s *stage) {
						locked(s)
						s.exec("node2", many(120, "UPDATE shop.orders SET n = n + 1 WHERE id = 2")...)
					},
					stop: func(s *stage) { s.unlock(lock) },
					cure: []string{"SET GLOBAL wsrep_desync = OFF"},
				},
			},
		},
		{
			name: "death", long: true, opens: 20 * time.Minute, closes: 20 * time.Minute,
			all: []provocation{
				{
					server: "node3", rule: "server-unreachable", level: "critical", how: "kill -9 of one node of three", says: []string{"refuse"},
					start: func(s *stage) {
						s.outside.do(func() { s.servers["node3"].Kill(s.outside.t) })
						s.await("node1", "wsrep_cluster_size", "2")
						s.await("node2", "wsrep_cluster_size", "2")
					},
					stop: func(s *stage) {
						s.outside.do(func() { s.servers["node3"].Start(s.outside.t) })
						whole(s)
					},
				},
				{server: "node1", rule: "galera-cluster-size", level: "critical", says: []string{"2 of 3 nodes"}},
				{server: "node2", rule: "galera-cluster-size", level: "critical", says: []string{"2 of 3 nodes"}},
			},
		},
		{
			name: "flow control", long: true, opens: 60 * time.Minute, closes: 60 * time.Minute,
			all: []provocation{
				{
					server: "node1", rule: "galera-flow-control", level: "warn", how: "a table without a key, all of whose rows are changed: a node that applies that reads all for each", says: []string{"This node asked for it 0 times"},
					begin: []string{
						"CREATE TABLE shop.heap (a INT, n INT) ENGINE=InnoDB", "INSERT INTO shop.heap SELECT seq, 0 FROM shop.seq_1_to_1500",
					},
					start:  func(s *stage) { s.exec("node3", "SET GLOBAL wsrep_provider_options = 'gcs.fc_limit=1'") },
					minute: func(s *stage) { s.overrun("node1", 4*time.Second) },
					stop:   func(s *stage) { s.exec("node3", "SET GLOBAL wsrep_provider_options = 'gcs.fc_limit=16'") },
					cure:   []string{"DROP TABLE shop.heap"},
				},
				{server: "node3", rule: "galera-flow-control", level: "warn", says: []string{"This node asked for it"}},
			},
		},
	}
}

// overrun writes more than others can apply, until flow control has paused the cluster for so long, by everybody's clock.
func (s *stage) overrun(server string, most time.Duration) {
	s.t.Helper()
	paused := func() (ns int64) {
		var name string
		if err := s.root(server).QueryRowContext(s.t.Context(), "SHOW GLOBAL STATUS LIKE 'wsrep_flow_control_paused_ns'").Scan(&name, &ns); err != nil {
			s.t.Fatal(err)
		}
		return ns
	}
	before := paused()
	for range 200 {
		if time.Duration(paused()-before) >= most {
			return
		}
		s.exec(server, "UPDATE shop.heap SET n = n + 1")
	}
	s.t.Errorf("%s was paused for %v, want %v", server, time.Duration(paused()-before), most)
}

// lockAll locks all tables of a server until they are unlocked.
func (s *stage) lockAll(server string) *sql.Conn {
	s.t.Helper()
	c, err := s.root(server).Conn(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := c.ExecContext(s.t.Context(), "FLUSH TABLES WITH READ LOCK"); err != nil {
		s.t.Fatal(err)
	}
	return c
}

func (s *stage) unlock(c *sql.Conn) {
	s.t.Helper()
	if _, err := c.ExecContext(s.t.Context(), "UNLOCK TABLES"); err != nil {
		s.t.Fatal(err)
	}
	c.Close()
}

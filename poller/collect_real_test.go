package poller

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith"
	"monolith/internal/mysqltest"
)

// watched is a real server with a session on it and what the collectors keep between polls.
type watched struct {
	server   *monolith.Server
	session  *session
	memories map[string]*memory
	vars     *Variables
	state    *monolith.State
	seq      uint64
	refused  []string // statements that the server refused
	absent   map[string]string
}

// watch logs in to a real server as the given user.
func watch(t *testing.T, s *mysqltest.Server, user, password string) *watched {
	t.Helper()
	e := monolith.Endpoint{Host: s.Host, Port: s.Port, User: user, Password: monolith.Secret(password), TLS: "disabled"}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	w := &watched{server: &monolith.Server{ID: 1, Name: "real", Host: "local", Endpoint: e}, memories: map[string]*memory{}}
	nothing := func(int64) {}
	var err error
	w.session, err = openSession(ctx, e, openOptions{limit: 10 * time.Second, interval: 10 * time.Second, load: newLoad(), counts: &counters{
		statement: nothing, received: nothing,
		refused: func(statement string, err *mysql.MySQLError) {
			w.refused = append(w.refused, fmt.Sprintf("%s: %v", statement, err))
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.session.close)
	return w
}

// poll runs all collectors once and fails the test on an error of one that is not among mayFail. What the server does
// not have is in w.absent, with the reason.
func (w *watched) poll(t *testing.T, mayFail ...string) (*monolith.Snapshot, map[string]error) {
	t.Helper()
	w.seq++
	w.absent = map[string]string{}
	snap := &monolith.Snapshot{Server: 1, Seq: w.seq, At: time.Now(), Polled: true, Identity: w.session.identity, Run: 1, Interval: 10 * time.Second}
	failed := map[string]error{}
	for _, c := range Collectors() {
		if w.memories[c.Name] == nil {
			w.memories[c.Name] = new(memory)
		}
		part := &monolith.Snapshot{}
		g := &Gather{
			Session: &use{s: w.session, maxBytes: c.MaxBytes, limit: 10 * time.Second}, Server: w.server, Identity: w.session.identity,
			Account: w.session.account, rights: w.session.rights, Now: snap.At, Variables: w.vars, State: w.state, snapshot: part, collector: c, memory: w.memories[c.Name],
		}
		if c.Host {
			g.Session = nil
		}
		if c.Applies != nil {
			if ok, why := c.Applies(g); !ok {
				w.absent[c.Name] = why
				continue
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		err := c.Collect(ctx, g)
		cancel()
		if err != nil {
			failed[c.Name] = err
			if !strings.Contains(strings.Join(mayFail, " "), c.Name) {
				t.Fatalf("%s: %v", c.Name, err)
			}
			continue
		}
		if c.Name == "variables" {
			w.vars = g.Variables
		}
		belongs(t, c, part)
		snap.Sections = append(snap.Sections, part.Sections...)
		snap.Problems = append(snap.Problems, part.Problems...)
		snap.Rows.Take(part.Rows)
	}
	w.state = w.state.With(snap)
	return snap, failed
}

func value(t *testing.T, snap *monolith.Snapshot, name, instance string) float64 {
	t.Helper()
	for i := range snap.Sections {
		s := &snap.Sections[i]
		if at := s.NumNames.Index(monolith.Metric{Name: name, Instance: instance}); at >= 0 {
			return s.Nums[at].Float64()
		}
	}
	t.Fatalf("there is no %s[%s]", name, instance)
	return 0
}

func text(snap *monolith.Snapshot, name string) string {
	for i := range snap.Sections {
		s := &snap.Sections[i]
		if at := s.TextNames.Index(monolith.Metric{Name: name}); at >= 0 {
			return s.Texts[at]
		}
	}
	return "\x00absent"
}

// sections lists how many names each collector gave.
func sections(snap *monolith.Snapshot) string {
	var b strings.Builder
	for _, s := range snap.Sections {
		fmt.Fprintf(&b, " %s=%d+%d", s.Collector, s.NumNames.Len(), s.TextNames.Len())
	}
	return b.String()
}

func TestEveryCollectorReadsARealServer(t *testing.T) {
	t.Parallel()
	for _, f := range []struct {
		name  string
		start func(testing.TB, ...mysqltest.Option) *mysqltest.Server
	}{{"MariaDB", mysqltest.MariaDB}, {"MySQL 5.6", mysqltest.MySQL56}} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := f.start(t, mysqltest.Options("log_warnings=2", "max_connections=77"))
			s.Exec(t, "CREATE DATABASE shop",
				"CREATE TABLE shop.orders (id INT PRIMARY KEY, note TEXT) ENGINE=InnoDB", "CREATE TABLE shop.m (id INT) ENGINE=MyISAM",
				"INSERT INTO shop.orders VALUES (1, REPEAT('x', 5000)), (2, 'y')", "CREATE USER 'app'@'10.%' IDENTIFIED BY 'hunter2-is-secret'",
				"GRANT SELECT, INSERT ON shop.* TO 'app'@'10.%' WITH GRANT OPTION", "GRANT PROCESS ON *.* TO 'app'@'10.%'",
				"SET GLOBAL init_connect = 'SET @token = 1'")
			w := watch(t, s, "root", "")
			snap, _ := w.poll(t)
			t.Log(sections(snap))
			for _, p := range snap.Problems {
				t.Logf("problem of %s: %s: %s", p.Collector, p.Kind, p.Text)
			}
			if n := value(t, snap, "status.Threads_connected", ""); n < 1 {
				t.Errorf("Threads_connected is %v", n)
			}
			if got := text(snap, "variable.max_connections"); got != "77" || w.vars.Value("max_connections") != "77" {
				t.Errorf("max_connections is %q", got)
			}
			if got := text(snap, "variable.init_connect"); got != secretSet {
				t.Errorf("init_connect is %q", got)
			}
			if snap.Replicas == nil || len(snap.Replicas) != 0 {
				t.Errorf("a server without replication has the channels %v", snap.Replicas)
			}
			if len(snap.BinaryLogs) == 0 || value(t, snap, "server.binary_log_bytes", "") <= 0 {
				t.Errorf("binary logs: %v", snap.BinaryLogs)
			}
			if n := value(t, snap, "schema.tables", "shop"); n != 2 {
				t.Errorf("shop has %v tables", n)
			}
			if n := value(t, snap, "schema.engine_tables", "MyISAM"); n < 1 {
				t.Errorf("there are %v MyISAM tables", n)
			}
			if n := value(t, snap, "innodb.transactions", ""); n < 0 {
				t.Errorf("%v transactions", n)
			}
			if n := value(t, snap, "innodb.trx_rseg_history_len", ""); n < 0 {
				t.Errorf("history list length %v", n)
			}
			// MySQL 5.6 does not count it unless somebody switches the counter on: its text tells.
			if f.name == "MySQL 5.6" {
				lsn, age := value(t, snap, "innodb.log_lsn_current", ""), value(t, snap, "innodb.log_lsn_checkpoint_age", "")
				if last := value(t, snap, "innodb.log_lsn_last_checkpoint", ""); !(lsn > 0) || age != lsn-last {
					t.Errorf("checkpoint age %v of the log from %v to %v", age, last, lsn)
				}
			} else if n := value(t, snap, "status.Innodb_checkpoint_age", ""); !(n >= 0) {
				t.Errorf("checkpoint age %v", n)
			}
			if n := value(t, snap, "server.processes_total", ""); n < 1 {
				t.Errorf("%v processes", n)
			}
			if n := value(t, snap, "host.memory_total_bytes", ""); n < 1<<20 {
				t.Errorf("the host has %v bytes of memory", n)
			}
			checkDocumentation(t, snap)
			checkAccounts(t, snap)
			checkOrigins(t, snap)

			// The second poll uses the lists of the first.
			again, _ := w.poll(t)
			if again.Section("status").NumNames != snap.Section("status").NumNames {
				t.Error("the names of the status changed between two polls")
			}
			for _, s := range again.Sections {
				for i := range s.NumNames.Len() {
					if name := s.NumNames.At(i).Name; s.NumNames.Kind(i) == monolith.Untyped && !strings.Contains(name, "_lsn") {
						t.Errorf("the table of kinds does not know %s = %v", name, s.Nums[i])
					}
				}
			}
			// The process is known by now, since the variables say where its pid file is.
			if n := value(t, again, "host.mysqld_resident_bytes", ""); n < 1<<20 {
				t.Errorf("mysqld has %v bytes of memory", n)
			}
			if n := value(t, again, "host.tmpdir_size_bytes", w.vars.Value("tmpdir")); n < 1<<20 {
				t.Errorf("the folder for temporary files lies on %v bytes", n)
			}
		})
	}
}

// checkDocumentation: every name of ours stands in the documentation; those of the server are its own.
func checkDocumentation(t *testing.T, snap *monolith.Snapshot) {
	t.Helper()
	b, err := os.ReadFile("../docs/collectors.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range snap.Sections {
		for _, names := range []*monolith.Names{s.NumNames, s.TextNames} {
			for i := range names.Len() {
				switch m := names.At(i); m.Namespace() {
				case "status", "variable", "innodb":
				default:
					if !strings.Contains(string(b), "`"+m.Name+"`") && !strings.Contains(string(b), "`"+m.Name+"[") {
						t.Errorf("docs/collectors.md does not have %s", m.Name)
					}
				}
			}
		}
	}
}

func checkAccounts(t *testing.T, snap *monolith.Snapshot) {
	t.Helper()
	for _, a := range snap.Accounts {
		if a.User != "app" {
			continue
		}
		if a.Host != "10.%" || a.AuthEmpty || a.AuthLength < 20 || a.Locked || a.IsRole || a.SchemaGrants != 1 || !a.GrantBelow || a.GrantGlobal {
			t.Errorf("app is %+v", a)
		}
		if len(a.Privileges) != 1 || a.Privileges[0] != "PROCESS" {
			t.Errorf("app has the global rights %v", a.Privileges)
		}
		return
	}
	t.Errorf("app is not among %d accounts", len(snap.Accounts))
}

func checkOrigins(t *testing.T, snap *monolith.Snapshot) {
	t.Helper()
	seen := 0
	for _, v := range snap.Variables {
		switch v.Name {
		case "max_connections":
			seen++
			if v.Changed == nil || !*v.Changed || v.Default == nil || *v.Default != "151" {
				t.Errorf("max_connections: %+v", v)
			}
		case "sort_buffer_size", "wait_timeout":
			seen++
			if v.Changed == nil || *v.Changed || v.Default == nil {
				t.Errorf("%s: %+v", v.Name, v)
			}
		}
	}
	if seen != 3 {
		t.Errorf("%d of 3 variables have an origin", seen)
	}
}

package poller

import (
	"context"
	"database/sql"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith"
	"monolith/internal/mysqltest"
)

// pinned is one connection of a test and its thread.
type pinned struct {
	*sql.Conn
	id uint64
}

func pin(t *testing.T, s *mysqltest.Server, db string) pinned {
	t.Helper()
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = "root", "unix", s.Socket, db
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(connector)
	conn, err := pool.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); pool.Close() })
	p := pinned{Conn: conn}
	if err := conn.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&p.id); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p pinned) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := p.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// start sends a statement that will wait; what is received at the end is its error.
func (p pinned) start(t *testing.T, statement string) <-chan error {
	done := make(chan error, 1)
	go func() {
		_, err := p.ExecContext(context.WithoutCancel(t.Context()), statement)
		done <- err
	}()
	return done
}

// run polls one collector alone.
func (w *watched) run(t *testing.T, c *Collector) *monolith.Snapshot {
	t.Helper()
	snap := &monolith.Snapshot{}
	g := &Gather{Session: &use{s: w.session, limit: 10 * time.Second}, Server: w.server, Identity: w.session.identity, Account: w.session.account,
		rights: w.session.rights, Now: time.Now(), Variables: w.vars, State: w.state, snapshot: snap, collector: c, memory: new(memory)}
	c.layouts = newLayouts()
	if c.Applies != nil {
		if ok, why := c.Applies(g); !ok {
			t.Fatalf("%s: %s", c.Name, why)
		}
	}
	if err := c.Collect(t.Context(), g); err != nil {
		t.Fatalf("%s: %v", c.Name, err)
	}
	return snap
}

// until runs a collector until a condition holds: what waits begins to do so in its own time.
func (w *watched) until(t *testing.T, what string, c func() *Collector, ok func(*monolith.Snapshot) bool) *monolith.Snapshot {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(150 * time.Millisecond) // InnoDB gives the same list of transactions until nobody has read it for 100 ms
	defer tick.Stop()
	for {
		snap := w.run(t, c())
		if ok(snap) {
			return snap
		}
		select {
		case <-deadline:
			t.Fatalf("%s: still %+v", what, snap.Rows)
		case <-tick.C:
		}
	}
}

// TestRealLocks makes threads wait for a row, for a table's definition and for each other.
func TestRealLocks(t *testing.T) {
	t.Parallel()
	for _, f := range []struct {
		name  string
		start func(testing.TB, ...mysqltest.Option) *mysqltest.Server
		more  []string
	}{
		{"MariaDB", mysqltest.MariaDB, []string{"performance-schema-instrument=wait/lock/metadata/sql/mdl=ON"}},
		{"MySQL 5.6", mysqltest.MySQL56, nil},
	} {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := f.start(t, mysqltest.Options(append(f.more, "performance-schema=ON", "innodb-lock-wait-timeout=60")...))
			s.Exec(t, "CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY, v VARCHAR(30)) ENGINE=InnoDB", "INSERT INTO shop.t VALUES (1, 'a'), (2, 'b')")
			w := watch(t, s, "root", "")
			w.poll(t)
			if snap := w.run(t, transactionsCollector()); snap.Transactions == nil || len(snap.Transactions) != 0 {
				t.Errorf("an idle server has the transactions %+v", snap.Transactions)
			}

			holder, waiter, definer := pin(t, s, "shop"), pin(t, s, "shop"), pin(t, s, "shop")
			holder.exec(t, "BEGIN", "UPDATE t SET v = 'hunter2' WHERE id = 1")
			waiting := waiter.start(t, "UPDATE t SET v = 'swordfish' WHERE id = 1")
			snap := w.until(t, "a row lock", transactionsCollector, func(snap *monolith.Snapshot) bool {
				return len(snap.Transactions) == 1 && len(snap.Transactions[0].BlockedBy) > 0
			})
			tr := snap.Transactions[0]
			if tr.Thread != waiter.id || tr.LockWait == nil || tr.State != "LOCK WAIT" || !slices.Equal(tr.BlockedBy, []uint64{holder.id}) || tr.User != "root" || tr.DB != "shop" || tr.Idle {
				t.Errorf("%+v", tr)
			}
			if strings.Contains(tr.Statement, "swordfish") || !strings.Contains(tr.Statement, "UPDATE t") {
				t.Errorf("the statement reads %q", tr.Statement)
			}

			defining := definer.start(t, "ALTER TABLE t ADD COLUMN secret VARCHAR(9) DEFAULT 'swordfish'")
			snap = w.until(t, "a metadata lock", processesCollector, func(snap *monolith.Snapshot) bool { return len(snap.MetadataLocks) > 0 })
			lock := snap.MetadataLocks[0]
			wants(t, snap, map[string]string{"server.metadata_lock_waits": "1", "server.processes_metadata_lock": "1"})
			if lock.Thread != definer.id || !strings.Contains(lock.State, "metadata lock") || strings.Contains(lock.Statement, "swordfish") {
				t.Errorf("%+v", lock)
			}
			if f.name == "MariaDB" && (lock.Table != "t" || !slices.Contains(lock.BlockedBy, holder.id) || lock.BlockerUser != "root") {
				t.Errorf("who holds it is not told: %+v", lock)
			}

			holder.exec(t, "COMMIT")
			if err := <-waiting; err != nil {
				t.Error(err)
			}
			if err := <-defining; err != nil {
				t.Error(err)
			}
			realDeadlock(t, s, w)
			if len(w.refused) > 0 {
				t.Errorf("refused %q", w.refused)
			}
		})
	}
}

// realDeadlock makes two transactions wait for each other.
func realDeadlock(t *testing.T, s *mysqltest.Server, w *watched) {
	t.Helper()
	w.poll(t)
	w.poll(t)
	if snap := w.run(t, deadlockCollector()); w.state.Deadlock == nil || len(w.state.Deadlock.Transactions) != 0 || snap.Deadlock != nil {
		t.Errorf("before there was one: %+v, and again %+v", w.state.Deadlock, snap.Deadlock)
	}
	a, b := pin(t, s, "shop"), pin(t, s, "shop")
	a.exec(t, "BEGIN", "UPDATE t SET v = 'a' WHERE id = 1")
	b.exec(t, "BEGIN", "UPDATE t SET v = 'b' WHERE id = 2")
	first := a.start(t, "UPDATE t SET v = 'swordfish' WHERE id = 2")
	w.until(t, "the first side", transactionsCollector, func(snap *monolith.Snapshot) bool { return len(snap.Transactions) > 0 })
	second := b.start(t, "UPDATE t SET v = 'hunter2' WHERE id = 1")
	failed := 0
	for _, c := range []<-chan error{first, second} {
		if err := <-c; err != nil {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d of two were rolled back", failed)
	}
	w.poll(t) // the counter rises
	if s.Flavour == mysqltest.FlavourMySQL56 {
		if snap := w.run(t, deadlockCollector()); snap.Deadlock != nil && len(snap.Deadlock.Transactions) == 0 {
			t.Error("the deadlock was not found")
		}
		old := *w.state.Deadlock // its counter misses it: the text is read once an hour
		old.Taken = old.Taken.Add(-deadlockAge)
		w.state.Deadlock = &old
	}
	d := w.run(t, deadlockCollector()).Deadlock
	if d == nil || len(d.Transactions) != 2 || d.Count == nil || d.Victim < 1 || d.Victim > 2 || d.At.IsZero() {
		t.Fatalf("%+v", d)
	}
	for _, side := range d.Transactions {
		if side.Thread != a.id && side.Thread != b.id || side.User != "root" || !strings.Contains(side.Statement, "UPDATE t SET v") ||
			strings.Contains(side.Statement, "hunter2") || strings.Contains(side.Statement, "swordfish") || len(side.Waits) == 0 || !strings.Contains(side.Waits[0], "of shop.t") {
			t.Errorf("%+v", side)
		}
	}
	a.exec(t, "ROLLBACK")
	b.exec(t, "ROLLBACK")
}

// TestRealHostCache: a check of a load balancer and a wrong password are told apart.
func TestRealHostCache(t *testing.T) {
	t.Parallel()
	s := mysqltest.MariaDB(t, mysqltest.Options("performance-schema=ON"))
	user, _ := s.NewUser(t)
	w := watch(t, s, "root", "")
	w.server.ProbeAddresses = []string{"127.0.0.2"}
	w.poll(t)
	address := net.JoinHostPort(s.Host, itoa(s.Port))
	from := func(ip string) *net.Dialer { return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}} }
	probe, err := from("127.0.0.2").DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Skipf("this machine has no second loopback address: %v", err)
	}
	if _, err := probe.Read(make([]byte, 4)); err != nil && err != io.EOF {
		t.Fatal(err)
	}
	probe.Close()
	c := mysql.NewConfig()
	c.User, c.Passwd, c.Net, c.Addr = user, "wrong", "tcp", address
	c.DialFunc = from("127.0.0.3").DialContext
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	pool := sql.OpenDB(connector)
	defer pool.Close()
	if err := pool.PingContext(t.Context()); err == nil {
		t.Fatal("the wrong password is good")
	}
	snap := w.until(t, "both clients", hostCacheCollector, func(snap *monolith.Snapshot) bool { return len(snap.HostCache) == 2 })
	wants(t, snap, map[string]string{"server.host_cache_handshake_errors_total": "1", "server.host_cache_auth_errors_total": "1", "server.probe_handshake_errors_total": "1"})
	for _, e := range snap.HostCache {
		if e.Probe != (e.IP == "127.0.0.2") || e.Probe != (e.HandshakeErrors == 1) || e.Probe == (e.AuthErrors == 1) {
			t.Errorf("%+v", e)
		}
	}
}

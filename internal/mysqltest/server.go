package mysqltest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith/internal/realpart"
)

// patience bounds each start and stop: a loaded two-core machine needs several seconds, a healthy one less than one.
const patience = 90 * time.Second

// Server is a private server of a test, or the [Shared] one. Its address stays the same over stops and starts.
type Server struct {
	Flavour Flavour
	Host    string
	Port    int
	Socket  string

	spec   Spec
	shared bool
	root   *sql.DB

	mu      sync.Mutex
	process *Process
}

// An Option changes how a server is started.
type Option func(*Spec)

// Options gives further lines of the [mysqld] section, such as "long_query_time=0.1" or "skip_log_bin".
func Options(lines ...string) Option {
	return func(s *Spec) { s.Options = append(s.Options, lines...) }
}

// serverIDs makes every server_id of this program another one, as replication needs.
var serverIDs atomic.Int64

// MariaDB starts a MariaDB with a binary log and a server_id for one test; it is gone when the test ends.
func MariaDB(tb testing.TB, opts ...Option) *Server {
	tb.Helper()
	return start(tb, FlavourMariaDB, opts)
}

// MySQL56 starts a MySQL 5.6 with a binary log and a server_id for one test; it is gone when the test ends.
func MySQL56(tb testing.TB, opts ...Option) *Server {
	tb.Helper()
	return start(tb, FlavourMySQL56, opts)
}

var sharedServer = sync.OnceValues(func() (*Server, error) {
	s, err := launch(Spec{Flavour: FlavourMariaDB, Options: []string{"max_connections=500"}})
	if err != nil {
		return nil, err
	}
	s.shared = true
	return s, nil
})

// Shared gives the one MariaDB of this test binary, without a binary log, started by the first test that asks and
// gone when the binary ends. Take a schema of your own with [Server.NewDatabase] and accounts with
// [Server.NewUser]; change no global variable. It can't be stopped, restarted or signalled.
func Shared(tb testing.TB) *Server {
	tb.Helper()
	s, err := sharedServer()
	if err != nil {
		giveUp(tb, err)
	}
	return s
}

func start(tb testing.TB, flavour Flavour, opts []Option) *Server {
	tb.Helper()
	spec := Spec{
		Flavour:  flavour,
		ServerID: int(1000 + serverIDs.Add(1)),
		Options:  []string{"log_bin=binlog", "binlog_format=ROW", "sync_binlog=0"},
	}
	for _, opt := range opts {
		opt(&spec)
	}
	s, err := launch(spec)
	if err != nil {
		giveUp(tb, err)
	}
	tb.Cleanup(func() {
		s.root.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		if tb.Failed() {
			tb.Logf("%s's log ends:\n%s", flavour, s.process.LogTail(20))
		}
		s.process.Kill()
		if err := os.RemoveAll(s.spec.Dir); err != nil {
			tb.Errorf("mysqltest: remove folder: %v", err)
		}
	})
	return s
}

func launch(spec Spec) (*Server, error) {
	dir, err := scratchDir()
	if err != nil {
		return nil, err
	}
	spec.Dir = dir
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p, err := Launch(ctx, spec)
	if err != nil {
		return nil, err
	}
	spec.Port = p.Port
	root, err := p.open()
	if err != nil {
		p.Kill()
		return nil, err
	}
	return &Server{
		Flavour: spec.Flavour, Host: p.Host, Port: p.Port, Socket: p.Socket,
		spec: spec, root: root, process: p,
	}, nil
}

// giveUp ends the test: skipped when the server's program is missing and may be, else failed.
func giveUp(tb testing.TB, err error) {
	tb.Helper()
	if missing := new(MissingError); errors.As(err, &missing) {
		realpart.Missing(tb, missing.What, missing.How)
	}
	tb.Fatal(err)
}

// DSN is an account's over TCP, without a schema, in go-sql-driver's form.
func (s *Server) DSN(user, password string) string { return s.current().DSN(user, password) }

// PID is the server's process now; a restart gives it another.
func (s *Server) PID() int { return s.current().PID }

// RootDSN is root's, through the socket.
func (s *Server) RootDSN() string { return s.current().RootDSN() }

// DB is root's pool, closed when the server goes. It survives restarts of the server.
func (s *Server) DB(testing.TB) *sql.DB { return s.root }

// Exec runs statements as root and fails the test at the first that is refused.
func (s *Server) Exec(tb testing.TB, statements ...string) {
	tb.Helper()
	for _, statement := range statements {
		if _, err := s.root.ExecContext(tb.Context(), statement); err != nil {
			tb.Fatalf("%s: %v", statement, err)
		}
	}
}

// NewDatabase makes a schema of its own and gives root's DSN for it; it is dropped when the test ends.
func (s *Server) NewDatabase(tb testing.TB) (dsn string) {
	tb.Helper()
	name := "t_" + strings.ToLower(rand.Text()[:12])
	s.Exec(tb, "CREATE DATABASE "+name)
	tb.Cleanup(func() { s.cleanup(tb, "DROP DATABASE IF EXISTS "+name) })
	c, err := mysql.ParseDSN(s.RootDSN())
	if err != nil {
		tb.Fatal(err)
	}
	c.DBName = name
	return c.FormatDSN()
}

// NewUser makes an account with a password that may log in from everywhere. Each grant is what stands between
// GRANT and TO; without an ON it holds for everything: "PROCESS", "SELECT ON shop.*". The account is dropped
// when the test ends.
func (s *Server) NewUser(tb testing.TB, grants ...string) (user, password string) {
	tb.Helper()
	user, password = "u_"+strings.ToLower(rand.Text()[:10]), rand.Text()
	s.Exec(tb, fmt.Sprintf("CREATE USER '%s'@'%%' IDENTIFIED BY '%s'", user, password))
	tb.Cleanup(func() { s.cleanup(tb, fmt.Sprintf("DROP USER '%s'@'%%'", user)) })
	for _, grant := range grants {
		if !strings.Contains(strings.ToUpper(grant), " ON ") {
			grant += " ON *.*"
		}
		s.Exec(tb, fmt.Sprintf("GRANT %s TO '%s'@'%%'", grant, user))
	}
	return user, password
}

// cleanup runs a statement after the test, whose context has ended. On a server of the test's own it is
// neither needed nor always possible, since the test may have stopped it.
func (s *Server) cleanup(tb testing.TB, statement string) {
	if !s.shared {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := s.root.ExecContext(ctx, statement); err != nil {
		tb.Errorf("%s: %v", statement, err)
	}
}

// Stop shuts the server down as an operator would and waits.
func (s *Server) Stop(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.own(tb).Stop(ctx); err != nil {
		tb.Fatal(err)
	}
}

// Kill ends the server with SIGKILL and waits.
func (s *Server) Kill(tb testing.TB) {
	tb.Helper()
	s.own(tb).Kill()
}

// Signal sends the server a signal: SIGSTOP makes it hang with its connections open, SIGCONT go on.
func (s *Server) Signal(tb testing.TB, sig syscall.Signal) {
	tb.Helper()
	if err := s.own(tb).Signal(sig); err != nil {
		tb.Fatal(err)
	}
}

// Start starts the server that was stopped or killed, with its data and at its address; further options win over
// those it had. It waits until the server answers.
func (s *Server) Start(tb testing.TB, opts ...Option) {
	tb.Helper()
	p := s.own(tb)
	select {
	case <-p.Exited():
	default:
		tb.Fatal("mysqltest: Start: the server runs")
	}
	for _, opt := range opts {
		opt(&s.spec)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p, err := Launch(ctx, s.spec)
	if err != nil {
		tb.Fatal(err)
	}
	s.mu.Lock()
	s.process = p
	s.mu.Unlock()
}

// Restart stops the server cleanly and starts it again.
func (s *Server) Restart(tb testing.TB, opts ...Option) {
	tb.Helper()
	s.Stop(tb)
	s.Start(tb, opts...)
}

func (s *Server) current() *Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process
}

// own is the process of a server that is the test's alone.
func (s *Server) own(tb testing.TB) *Process {
	tb.Helper()
	if s.shared {
		tb.Fatal("mysqltest: the shared server is other tests' too; start one with MariaDB")
	}
	return s.current()
}

// Blackhole listens on 127.0.0.1, accepts every connection and says nothing, until the test ends. It gives
// host:port.
func Blackhole(tb testing.TB) (address string) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		var conns []net.Conn
		for {
			conn, err := l.Accept()
			if err != nil {
				for _, conn := range conns {
					conn.Close()
				}
				return
			}
			conns = append(conns, conn)
		}
	}()
	tb.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}

package replay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The account that every server has unless [Account] says another.
const (
	User     = "monolith"
	Password = "recorded"
)

// mostStatements bounds the list of received statements; when it is full the older half goes.
const mostStatements = 4096

// Server is one recorded server. All methods may be called while it serves.
type Server struct {
	Host string
	Port int

	user, password, plugin string
	offerTLS, refusing     bool
	counters               func(name string, recorded uint64, up time.Duration) uint64

	listener net.Listener
	serving  sync.WaitGroup
	closed   context.Context
	shut     context.CancelFunc

	faults atomic.Pointer[[]Fault]
	rec    atomic.Pointer[Recording]

	mu         sync.Mutex
	cleared    chan struct{} // closed by Clear
	threads    map[uint32]*conn
	most       int
	lastThread uint32
	logins     int
	statements []string
	refused    []string
	cached     bool          // the password of caching_sha2_password is known
	clock      time.Duration // server − this machine
	started    time.Time
	restarted  bool          // since the recording
	resetAt    time.Duration // up time at which the counters were 0; meaningful when reset
	reset      bool
}

// An Option changes how a server is started.
type Option func(*Server)

// Account sets the account that may log in.
func Account(user, password string) Option {
	return func(s *Server) { s.user, s.password = user, password }
}

// Plugin sets the account's authentication: "mysql_native_password" or "caching_sha2_password"; another one is asked
// of the client, and refuses it. The default is the version's.
func Plugin(name string) Option { return func(s *Server) { s.plugin = name } }

// TLS lets the server offer TLS with a certificate of its own, which nobody signed.
func TLS() Option { return func(s *Server) { s.offerTLS = true } }

// Counters lets a function say what each counter is at each SHOW STATUS: it is given the recorded number and how
// long the server runs since [Start] or [Server.Restart], and must never fall while that grows. It may be called by
// many connections at once.
func Counters(f func(name string, recorded uint64, up time.Duration) uint64) Option {
	return func(s *Server) { s.counters = f }
}

// Refusing lets statements be refused without failing the test, as for a monitor that does not know the version.
func Refusing() Option { return func(s *Server) { s.refusing = true } }

// Open starts a server that answers from a folder, see [Load]. It ends with the test.
func Open(tb testing.TB, dir string, opts ...Option) *Server {
	tb.Helper()
	return Start(tb, Load(tb, dir), opts...)
}

// Start starts a server that answers from a recording, which many servers may share. It ends with the test, which it
// fails if a statement was refused that neither a fault nor the recording refused.
func Start(tb testing.TB, rec *Recording, opts ...Option) *Server {
	tb.Helper()
	s, err := Serve(rec, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		s.Close()
		if s.refusing {
			return
		}
		for _, refused := range s.Refused() {
			tb.Errorf("replay: %s %s", rec.Version, refused)
		}
	})
	return s
}

// Serve is Start for a program that is no test: the caller closes the server.
func Serve(rec *Recording, opts ...Option) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("replay: listen: %w", err)
	}
	s := &Server{
		Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, listener: listener,
		user: User, password: Password,
		threads: map[uint32]*conn{}, cleared: make(chan struct{}), started: time.Now(),
	}
	s.closed, s.shut = context.WithCancel(context.Background())
	s.faults.Store(&[]Fault{})
	s.rec.Store(rec)
	for _, opt := range opts {
		opt(s)
	}
	s.serving.Go(s.accept)
	return s, nil
}

// Close ends the server and its connections, and waits for both.
func (s *Server) Close() {
	s.shut()
	s.listener.Close()
	s.cut()
	s.serving.Wait()
}

func (s *Server) accept() {
	for {
		nc, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptor is free: the client waits
			select {
			case <-s.closed.Done():
				return
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		c := &conn{s: s, rec: s.rec.Load(), raw: nc, net: nc, killed: make(chan struct{})}
		s.enter(c)
		s.serving.Go(func() {
			defer s.leave(c)
			c.serve()
		})
	}
}

func (s *Server) enter(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastThread++
	s.logins++
	c.id = s.lastThread
	s.threads[c.id] = c
	s.most = max(s.most, len(s.threads))
	if s.closed.Err() != nil {
		c.kill()
	}
}

func (s *Server) leave(c *conn) {
	c.raw.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.threads[c.id] == c {
		delete(s.threads, c.id)
	}
}

// cut ends all connections and what they run.
func (s *Server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.threads {
		c.kill()
	}
}

// kill ends a thread as KILL does.
func (s *Server) kill(id uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, ok := s.threads[id]
	if ok {
		c.kill()
	}
	return ok
}

// Address is host:port.
func (s *Server) Address() string { return net.JoinHostPort(s.Host, strconv.Itoa(s.Port)) }

// DSN is that of the account, in go-sql-driver's form.
func (s *Server) DSN() string { return s.user + ":" + s.password + "@tcp(" + s.Address() + ")/" }

// Set switches faults on beside those that are on already. Statements that run are not touched.
func (s *Server) Set(faults ...Fault) {
	s.mu.Lock()
	list := slices.Clone(*s.faults.Load())
	offline := false
	for _, f := range faults {
		switch {
		case f.reset:
			s.reset, s.resetAt = true, time.Since(s.started)
		case f.clock != 0:
			s.clock += f.clock
		default:
			list = append(list, f)
			offline = offline || f.offline
		}
	}
	s.faults.Store(&list)
	s.mu.Unlock()
	if offline {
		s.cut()
	}
}

// Clear switches all faults off. Statements that wait go on.
func (s *Server) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults.Store(&[]Fault{})
	close(s.cleared)
	s.cleared = make(chan struct{})
}

func (s *Server) clearing() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cleared
}

// fault gives the first fault that f finds, or nil.
func (s *Server) fault(f func(*Fault) bool) *Fault {
	list := *s.faults.Load()
	if i := slices.IndexFunc(list, func(x Fault) bool { return f(&x) }); i >= 0 {
		return &list[i]
	}
	return nil
}

// Statements lists what was received since the start or the last [Server.Forget], as it came. Only the newest few
// thousand are kept.
func (s *Server) Statements() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.statements)
}

// Forget empties the list of statements.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.statements = nil
}

func (s *Server) received(statement string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.statements) >= mostStatements {
		s.statements = append(s.statements[:0], s.statements[mostStatements/2:]...)
	}
	s.statements = append(s.statements, statement)
}

// Refused lists the statements that were refused since the version does not have them or nothing is recorded, each
// with the error.
func (s *Server) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refused)
}

func (s *Server) refuse(statement string, e *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf("refused %q: error %d (%s)", statement, e.Code, e.Text)
	if len(s.refused) < 100 && !slices.Contains(s.refused, text) {
		s.refused = append(s.refused, text)
	}
}

// Threads gives how many connections exist now, and the most that existed at once. One whose client is gone exists
// until its statement ends, as on a real server.
func (s *Server) Threads() (now, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.threads), s.most
}

// Logins gives how many connections were accepted, whether they logged in or not.
func (s *Server) Logins() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logins
}

// Replace puts another recording behind the address, as when a server is exchanged: connections are cut, and Uptime
// is the recording's again.
func (s *Server) Replace(rec *Recording) {
	s.rec.Store(rec)
	s.mu.Lock()
	s.restarted, s.reset, s.started, s.cached, s.lastThread = false, false, time.Now(), false, 0
	s.mu.Unlock()
	s.cut()
}

// Restart cuts the connections and lets Uptime, the counters and the thread ids begin anew.
func (s *Server) Restart() {
	s.cut()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarted, s.reset, s.started, s.cached, s.lastThread = true, true, time.Now(), false, 0
	s.resetAt = 0
}

// now is the server's clock.
func (s *Server) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.clock)
}

package replay

import (
	"testing"
	"time"
)

// Server is one recorded server. All methods may be called while it serves.
type Server struct {
	Host string
	Port int
}

// An Option changes how a server is started.
type Option func(*Server)

// Open starts a server that answers from a folder. It ends with the test.
func Open(tb testing.TB, dir string, opts ...Option) *Server {
	tb.Helper()
	return Start(tb, Load(tb, dir), opts...)
}

// Start starts a server that answers from a recording, which many servers may share. It ends with the test, which it
// fails if a statement was refused that no fault and no recording refused.
func Start(tb testing.TB, rec *Recording, opts ...Option) *Server {
	tb.Helper()
	tb.Fatal("replay: not ready")
	return nil
}

// Serve is Start for a program that is no test: the caller closes the server.
func Serve(rec *Recording, opts ...Option) (*Server, error) { return nil, nil }

// Close ends the server and its connections.
func (s *Server) Close() {}

// Account sets the account that may log in; the default is [User] with [Password].
func Account(user, password string) Option { return func(*Server) {} }

// The account that every server has.
const (
	User     = "monolith"
	Password = "recorded"
)

// Plugin sets the account's authentication: "mysql_native_password" or "caching_sha2_password". The default is the
// version's.
func Plugin(name string) Option { return func(*Server) {} }

// TLS lets the server offer TLS with a certificate of its own.
func TLS() Option { return func(*Server) {} }

// Counters lets a function say what each status value is at each SHOW STATUS: it is given the recorded number and how
// long the server runs. Values that are no whole number never come to it.
func Counters(f func(name string, recorded uint64, up time.Duration) uint64) Option {
	return func(*Server) {}
}

// Refusing lets statements be refused without failing the test, as on a version that the monitor does not know.
func Refusing() Option { return func(*Server) {} }

// Address is host:port.
func (s *Server) Address() string { return "" }

// DSN is that of the account, in go-sql-driver's form.
func (s *Server) DSN() string { return "" }

// Set switches faults on beside those that are on already.
func (s *Server) Set(faults ...Fault) {}

// Clear switches all faults off. Statements that wait go on.
func (s *Server) Clear() {}

// Statements lists what was received since the start or the last [Server.Forget], with the comment in front.
func (s *Server) Statements() []string { return nil }

// Forget empties the list of statements.
func (s *Server) Forget() {}

// Refused lists the statements that were refused since the version does not have them or nothing is recorded.
func (s *Server) Refused() []string { return nil }

// Threads gives how many connections exist now, and the most that existed at once. One whose client is gone exists
// until its statement ends, as on a real server.
func (s *Server) Threads() (now, most int) { return 0, 0 }

// Logins gives how many connections were accepted, whether they logged in or not.
func (s *Server) Logins() int { return 0 }

// Replace puts another recording behind the address, as when a server is exchanged: connections are cut.
func (s *Server) Replace(rec *Recording) {}

// Restart cuts the connections and lets Uptime and the thread ids begin anew.
func (s *Server) Restart() {}

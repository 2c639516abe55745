package poller

import (
	"context"
	"database/sql"
	"time"

	"monolith"
)

// Collector reads one kind of thing from a server. To add one: a file collect_<name>.go that declares
// it, one line in [Collectors], and what it gives in monolith's table of collectors.
type Collector struct {
	Name     string        // "status": also the section's name and what people switch off
	Title    string        // "Global status"
	Help     string        // one sentence for the Monitoring page
	Schedule string        // one of monolith.ScheduleNames; "": the one of [monolith.CollectorSchedule]
	Timeout  time.Duration // of the whole collector; 0: the poll's own deadline
	MaxBytes int64         // of one answer; 0: 16 MiB
	Host     bool          // needs no connection to the database server: runs also while it is down

	// Applies says whether this server has the thing at all; why is shown ("MySQL 5.6 has no …").
	// nil: always.
	Applies func(g *Gather) (ok bool, why string)
	// Grant gives the statement that makes the collector work fully, for exactly this flavour and
	// version, to the account that Monolith uses. account is quoted for SQL already: 'mon'@'10.0.0.%'. nil:
	// no privilege is needed.
	Grant func(id monolith.Identity, account string) string
	// Collect reads and puts what it read into g. An error is explained and becomes a problem; what was
	// recorded before it is dropped. A partial result is recorded and noted by [Gather.Note].
	Collect func(ctx context.Context, g *Gather) error
	// Check stands for Collect in the connection test, where that would take too long: it looks whether the
	// account may read what there is. nil: Collect itself is quick enough.
	Check func(ctx context.Context, g *Gather) error

	layouts *layouts // lists of names, shared by all servers; set by [Collectors]
	words   *words   // short texts, likewise
}

// Session is the one connection to a monitored server as a collector sees it. Statements are bounded
// on both sides; the session adds the comment that marks them as ours.
type Session interface {
	// Query sends one statement in the text protocol and calls row for each row. Every column is
	// nullable text, whatever its metadata says (MySQL bug 110774). The row is valid only during the
	// call. Errors of the server are *mysql.MySQLError inside.
	Query(ctx context.Context, statement string, row func(Row) error) error
	// Exec sends a statement without a result (SET SESSION …).
	Exec(ctx context.Context, statement string) error
	// Either sends the first statement and, when the server refuses it with a syntax error or an
	// unknown name (1064, 1193, 1109, 1146, 1054), the next one; what worked is remembered for the connection.
	Either(ctx context.Context, row func(Row) error, statements ...string) error
	// ConnectionID is the thread's id on the server.
	ConnectionID() uint64
}

// Row is one row of an answer.
type Row struct {
	columns *columns
	values  []sql.RawBytes
}

// Gather is a collector's work place during one poll.
type Gather struct {
	Session  Session // nil for collectors with Host set
	Server   *monolith.Server
	Identity monolith.Identity
	Account  string    // user@host as the server sees us, '' when unknown
	Now      time.Time // the poll's At
	rights   rights    // of the connection
	// Variables are the global variables as last read on this connection, by name; nil before the
	// first read.
	Variables *Variables
	// State is what was known before this poll; nil at the first one.
	State *monolith.State

	snapshot  *monolith.Snapshot
	collector *Collector
	memory    *memory // what this collector keeps from poll to poll for this server
}

// lookUp gives a global variable, of this connection or as last known. known is false where the server has none of
// that name, or nothing was read yet.
func (g *Gather) lookUp(name string) (value string, known bool) {
	if g.Variables != nil {
		return g.Variables.Get(name)
	}
	value, _, known = g.State.Text(monolith.Metric{Name: variablePrefix + name})
	return value, known
}

// variable is lookUp with "" for what is not known.
func (g *Gather) variable(name string) string {
	value, _ := g.lookUp(name)
	return value
}

// grant is the statement that gives the running collector its rights, or what else lets it have them.
func (g *Gather) grant() string {
	if isAnonymous(g.Account, g.Server.Endpoint.User) {
		return anonymousCure(g.Server.Endpoint.User, g.Account)
	}
	return g.collector.Grant(g.Identity, g.Account)
}

// Snapshot is the snapshot being filled: collectors set its row fields (Replicas, Accounts …).
func (g *Gather) Snapshot() *monolith.Snapshot { return g.snapshot }

// Note adds a problem of the running collector to the snapshot without failing it.
func (g *Gather) Note(kind monolith.ProblemKind, text, cure string) {
	g.snapshot.Problems = append(g.snapshot.Problems, monolith.Problem{
		Collector: g.collector.Name, Kind: kind, Text: text, Cure: cure,
	})
}

package poller

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith"
)

// identityNames are the variables that say who a server is and what its sessions can be told. Asking
// which exist comes before asking for the version: forks differ.
var identityNames = []string{
	"version", "version_comment", "innodb_version", "aurora_version", "server_uuid", "hostname", "server_id", "port", "wsrep_on", "basedir",
	"pseudo_thread_id", "wait_timeout", "lock_wait_timeout", "innodb_lock_wait_timeout", "max_statement_time",
	"max_execution_time", "long_query_time", "min_examined_row_limit", "tx_read_only", "transaction_read_only",
	"skip_name_resolve",
}

// identityStatement asks in the session's scope, since pseudo_thread_id, our connection's id, is known
// there only; a Galera node that has lost its cluster answers SHOW, but no SELECT.
func identityStatement() string {
	return "SHOW VARIABLES WHERE Variable_name IN ('" + strings.Join(identityNames, "','") + "') OR Variable_name LIKE 'cloudsql%'"
}

// connectError is a connection that could not be made, with what is needed to explain it.
type connectError struct {
	err      error
	endpoint monolith.Endpoint
	dialed   *dialed
	orphan   uint64 // our thread at the server if it may go on there
}

func (e *connectError) Error() string { return "connect: " + e.err.Error() }
func (e *connectError) Unwrap() error { return e.err }

// openOptions are what a new session must know beside its endpoint.
type openOptions struct {
	version  string // of Monolith
	limit    time.Duration
	interval time.Duration     // between polls: the server must not hang up meanwhile
	orphans  []uint64          // threads of ours that may still run at the server
	known    monolith.Identity // of the server they were left on, zero when that was never learned
	load     *load
	counts   *counters
	greeted  *atomic.Bool // set when the server said something; may be nil
}

// openSession connects, ends what an earlier connection left behind, learns who the server is and
// sets the session up. The error is a *connectError.
func openSession(ctx context.Context, e monolith.Endpoint, o openOptions) (*session, error) {
	s, err := logIn(ctx, e, o)
	if err != nil {
		return nil, err
	}
	if err := s.settle(ctx, o); err != nil {
		s.close()
		failed := &connectError{err: err, endpoint: e, dialed: s.dialed}
		if s.orphan {
			failed.orphan = s.id
		}
		return nil, failed
	}
	return s, nil
}

// logIn makes the network connection and authenticates.
func logIn(ctx context.Context, e monolith.Endpoint, o openOptions) (*session, error) {
	d, err := newDialed(e, o.version, min(max(pollBudget(o.interval)/2, time.Second), 5*time.Second))
	if err != nil {
		return nil, &connectError{err: err, endpoint: e, dialed: &dialed{}}
	}
	d.greeted = o.greeted
	raw, err := d.connect(ctx)
	if err != nil && d.config.AllowFallbackToPlaintext && d.config.TLS != nil && isHandshakeError(err) {
		// A server may offer TLS that no client of today accepts. "preferred" means that the connection
		// is worth more than its encryption.
		d.config.TLS = nil
		raw, err = d.connect(ctx)
	}
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, &connectError{err: err, endpoint: e, dialed: d, orphan: uint64(d.conn.threadID())}
	}
	s := &session{
		dialed: d, raw: raw, turn: make(chan struct{}, 1),
		load: o.load, counts: o.counts, either: map[string]int{},
	}
	s.id = uint64(d.conn.threadID())
	s.turn <- struct{}{}
	return s, nil
}

// connect lets the driver log in. A panic of the driver, which trusts the lengths in a greeting, is
// an answer that makes no sense.
func (d *dialed) connect(ctx context.Context) (raw driver.Conn, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			raw, err = nil, fmt.Errorf("%w: %v", errNonsense, r)
		}
		if err != nil && d.conn != nil {
			d.conn.Close()
			switch {
			case d.conn.over.Load():
				err = errTooLarge
			case d.conn.alien.Load():
				err = errNonsense
			}
		}
	}()
	connector, err := mysql.NewConnector(d.config)
	if err != nil {
		return nil, err
	}
	return connector.Connect(ctx)
}

// settle learns who answers and sets the session up.
func (s *session) settle(ctx context.Context, o openOptions) error {
	u := &use{s: s, settling: true}
	if err := s.identify(ctx, u); err != nil {
		return err
	}
	if err := s.killOrphans(ctx, u, o); err != nil {
		return err
	}
	for _, statement := range setupStatements(s.identity, s.vars, o.interval) {
		if err := u.Exec(ctx, statement); err != nil {
			var refused *mysql.MySQLError
			if !errors.As(err, &refused) {
				return err
			}
			s.refused = append(s.refused, fmt.Sprintf("%s (error %d)", statement, refused.Number))
		}
	}
	u.limit = o.limit
	if err := u.locked(ctx, func() error { return u.setLimit(ctx) }); err != nil {
		return err
	}
	return s.greet(ctx, u)
}

// killOrphans ends what lost connections of ours left running. Own threads may be killed without a privilege, but with
// one any thread may be: an id is somebody else's on another server or after a restart, so that only a thread of our
// own account, on the server that it was left on, is killed.
func (s *session) killOrphans(ctx context.Context, u *use, o openOptions) error {
	lost := slices.DeleteFunc(slices.Clone(o.orphans), func(id uint64) bool { return id == 0 || s.id != 0 && id >= s.id })
	if len(lost) == 0 || !o.known.IsZero() && !sameServer(o.known, s.identity) {
		return nil
	}
	var ours []uint64
	var refused *mysql.MySQLError
	err := u.Query(ctx, "SHOW PROCESSLIST", func(r Row) error {
		user, _ := r.Text("user")
		if id, ok := r.Int("id"); ok && user == s.dialed.config.User && slices.Contains(lost, uint64(id)) {
			ours = append(ours, uint64(id))
		}
		return nil
	})
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	for _, id := range ours {
		// Error 1094 says that it is gone already.
		err := u.Exec(ctx, "KILL "+strconv.FormatUint(id, 10))
		if s.ended != nil {
			return err
		}
	}
	return nil
}

// identify settles flavour, version and what the session may be told.
func (s *session) identify(ctx context.Context, u *use) error {
	return u.locked(ctx, func() error {
		vars := map[string]string{}
		err := u.query(ctx, identityStatement(), func(r Row) error {
			vars[strings.ToLower(string(r.Bytes(0)))] = cut(printable(string(r.Bytes(1))), maxMetricValue)
			return nil
		})
		if err != nil {
			return err
		}
		s.vars, s.identity = vars, monolith.Identify(vars)
		if s.identity.Cloud == "" && strings.HasSuffix(s.dialed.config.Addr, ".mysql.database.azure.com:3306") {
			s.identity.Cloud = "azure"
		}
		if id, err := strconv.ParseUint(vars["pseudo_thread_id"], 10, 64); err == nil {
			s.id = id
		}
		return nil
	})
}

// greet asks who we are, what we may see, and what the server's clock says. It may fail without harm.
func (s *session) greet(ctx context.Context, u *use) error {
	began := time.Now()
	err := u.Query(ctx, "SELECT CURRENT_USER(), USER(), CONNECTION_ID(), "+clockFunction(s.identity), func(r Row) error {
		s.account, s.client = cut(printable(string(r.Bytes(0))), maxInstance), cut(printable(string(r.Bytes(1))), maxInstance)
		if id, err := strconv.ParseUint(string(r.Bytes(2)), 10, 64); err == nil {
			s.id = id
		}
		s.clockGap = clockGap(r.Bytes(3), began, time.Now(), s.identity)
		return nil
	})
	if err == nil {
		s.rights, err = s.readRights(ctx, u)
	}
	if s.ended != nil {
		return err
	}
	return nil
}

// measureClock compares the clocks again.
func (s *session) measureClock(ctx context.Context, u *use) error {
	err := u.Query(ctx, "SELECT "+clockFunction(s.identity), func(r Row) error {
		s.clockGap = clockGap(r.Bytes(0), u.sent, time.Now(), s.identity)
		return nil
	})
	return err
}

// clockFunction gives the server's time with the best resolution it has: microseconds since MySQL
// 5.6.4 and MariaDB 5.3. NOW is what statements of the session are given, whatever their time zone.
func clockFunction(id monolith.Identity) string {
	if fineClock(id) {
		return "UNIX_TIMESTAMP(NOW(6))"
	}
	return "UNIX_TIMESTAMP()"
}

func fineClock(id monolith.Identity) bool {
	return id.Flavour.IsMariaDB() && id.Version.AtLeast(5, 3) || id.Flavour.IsMySQL() && id.Version.AtLeast(5, 6, 4)
}

// clockGap gives server − monitor, where the server's time was taken between two moments of ours.
func clockGap(server []byte, sent, done time.Time, id monolith.Identity) time.Duration {
	seconds, err := strconv.ParseFloat(string(server), 64)
	if err != nil || seconds <= 0 {
		return 0
	}
	if !fineClock(id) {
		seconds += 0.5 // whole seconds are cut off, not rounded
	}
	middle := sent.Add(done.Sub(sent) / 2)
	gap := time.Duration((seconds - float64(middle.UnixMicro())/1e6) * float64(time.Second))
	if gap == 0 {
		gap = 1 // measured: 0 stands for "not measured"
	}
	return gap
}

// setupStatements lists what a session is told after the login, each statement only where the version
// or a variable of that name says that the server knows it.
func setupStatements(id monolith.Identity, vars map[string]string, interval time.Duration) []string {
	v := id.Version
	maria, my := id.Flavour.IsMariaDB(), id.Flavour.IsMySQL()
	has := func(name string) bool { _, ok := vars[name]; return ok }
	list := []string{
		"SET SESSION autocommit=1",
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
		"SET SESSION time_zone='+00:00'",
		"SET SESSION sql_mode=''",
	}
	if v.AtLeast(5, 5, 3) { // both flavours
		list = append(list, "SET NAMES utf8mb4")
	} else {
		list = append(list, "SET NAMES utf8")
	}
	if my && v.AtLeast(5, 6, 5) || maria && v.AtLeast(10, 0) {
		list = append(list, "SET SESSION TRANSACTION READ ONLY")
	}
	if has("lock_wait_timeout") { // since 5.5.3
		list = append(list, "SET SESSION lock_wait_timeout=2")
	}
	// Of a session since 5.5; before that it belongs to the whole server and can't be set.
	if has("innodb_lock_wait_timeout") && v.AtLeast(5, 5) {
		list = append(list, "SET SESSION innodb_lock_wait_timeout=2")
	}
	if has("long_query_time") {
		// A year, the most that every version takes; before 5.1.21 it is an integer.
		list = append(list, "SET SESSION long_query_time=31536000")
	}
	if has("min_examined_row_limit") { // since 5.1.21
		list = append(list, "SET SESSION min_examined_row_limit=4294967295")
	}
	// An idle connection that the server closes counts as an aborted client there.
	if wait, err := strconv.Atoi(vars["wait_timeout"]); err == nil && time.Duration(wait)*time.Second < 2*interval+time.Minute {
		list = append(list, "SET SESSION wait_timeout="+strconv.Itoa(int((3*interval+time.Minute)/time.Second)))
	}
	return list
}

// limitStatement gives the statement that bounds every later one at the server, or "" where the
// server knows none: max_execution_time of MySQL ≥ 5.7.8 in milliseconds (SELECT only), max_statement_time of
// MariaDB ≥ 10.1 in seconds, max_statement_time of Percona 5.6 and MySQL 5.7.4–5.7.7 in milliseconds.
func limitStatement(id monolith.Identity, vars map[string]string, limit time.Duration) string {
	_, execution := vars["max_execution_time"]
	_, statement := vars["max_statement_time"]
	switch {
	case execution && !id.Flavour.IsMariaDB():
		return "SET SESSION max_execution_time=" + strconv.FormatInt(max(1, limit.Milliseconds()), 10)
	case statement && id.Flavour.IsMariaDB():
		return "SET SESSION max_statement_time=" + strconv.FormatFloat(limit.Seconds(), 'f', 3, 64)
	case statement && id.Flavour.IsMySQL():
		return "SET SESSION max_statement_time=" + strconv.FormatInt(max(1, limit.Milliseconds()), 10)
	}
	return ""
}

// sameServer reports whether two identities are of one server: by server_uuid where both have it,
// else by host name, server_id and port.
func sameServer(a, b monolith.Identity) bool {
	if a.UUID != "" && b.UUID != "" {
		return a.UUID == b.UUID
	}
	return a.Hostname == b.Hostname && a.ServerID == b.ServerID && a.Port == b.Port
}

// addOrphan remembers a thread that may go on at the server.
func addOrphan(list []uint64, s *session) []uint64 {
	if s == nil || !s.orphan || s.id == 0 || slices.Contains(list, s.id) {
		return list
	}
	return append(list, s.id)
}

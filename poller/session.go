package poller

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith"
)

// mark stands in front of every statement, so that whoever reads a process list or a log knows whose it is.
const mark = "/* monolith */ "

// session is one connection to a monitored server. The driver's connection is used without
// database/sql's pool, which would reconnect behind our back, and whose scanning costs a poll more
// than the reading does. Statements take turns: a long collector and the next poll share the connection.
type session struct {
	dialed *dialed
	raw    driver.Conn
	turn   chan struct{} // holds one token: whoever takes it may send

	id       uint64 // the thread's id on the server
	account  string // CURRENT_USER(): the account that the grants are made to
	client   string // USER(): who we are and whence, as the server sees it
	rights   rights // of the login
	identity monolith.Identity
	vars     map[string]string // what identityStatement gave, by lower-case name
	refused  []string          // set-up statements that the server refused
	clockGap time.Duration     // server − monitor, 0 while not measured
	used     atomic.Bool       // a statement was answered

	load   *load
	counts *counters

	// The following belong to whoever has the turn.
	ended  error // why no more statement can be sent
	orphan bool  // a statement may go on at the server without us
	either map[string]int
	limit  time.Duration // in force at the server
	dest   []driver.Value
	scrap  []byte
	values []sql.RawBytes
}

// counters are what sessions add to the poller's own figures.
type counters struct {
	statement, received func(int64)
	refused             func(statement string, err *mysql.MySQLError) // may be nil
}

// errLost says that the connection ended while a statement ran or before it was sent.
var errLost = errors.New("the server closed the connection")

// timeoutError is the cause with which the deadlines of polls and collectors end.
type timeoutError struct {
	what  string
	after time.Duration
}

func (e *timeoutError) Error() string {
	return fmt.Sprintf("no answer to %s within %s", e.what, shortDuration(e.after))
}

// busyError says that a statement could not be sent since another one of ours was running.
type busyError struct{ after time.Duration }

func (e *busyError) Error() string {
	return "another statement of Monolith's took the connection for " + shortDuration(e.after)
}

func shortDuration(d time.Duration) string {
	if d >= time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// use is the session as one collector sees it in one run: with its own limits and its own bill.
type use struct {
	s        *session
	maxBytes int64
	limit    time.Duration // the server-side limit of each statement
	settling bool          // the session is being set up: nothing is measured yet

	statements int
	rows       int
	bytes      int64
	sent, done time.Time // of the last statement
}

// ConnectionID gives the thread's id on the server.
func (u *use) ConnectionID() uint64 { return u.s.id }

// Query sends a statement and calls row for each row of its answer.
func (u *use) Query(ctx context.Context, statement string, row func(Row) error) error {
	return u.locked(ctx, func() error { return u.query(ctx, statement, row) })
}

// Exec sends a statement without a result.
func (u *use) Exec(ctx context.Context, statement string) error {
	return u.locked(ctx, func() error { return u.query(ctx, statement, nil) })
}

// Either sends the first statement that this connection is not known to refuse.
func (u *use) Either(ctx context.Context, row func(Row) error, statements ...string) error {
	return u.locked(ctx, func() error {
		key := strings.Join(statements, "\x00")
		at := u.s.either[key]
		if at >= len(statements) {
			at = len(statements) - 1 // all were refused; the last one's error says so again, without a guess more
		}
		for {
			err := u.query(ctx, statements[at], row)
			if !refusedStatement(err) || at+1 == len(statements) {
				if err == nil || refusedStatement(err) {
					u.s.either[key] = at
				}
				return err
			}
			at++
		}
	})
}

// refusedStatement reports whether a server does not know a statement or a name in it.
func refusedStatement(err error) bool {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Number {
	case 1064, 1193, 1109, 1146, 1054:
		return true
	}
	return false
}

// locked runs f when no other statement runs.
func (u *use) locked(ctx context.Context, f func() error) error {
	began := time.Now()
	select {
	case <-u.s.turn:
	case <-ctx.Done():
		if isStopped(ctx) {
			return context.Cause(ctx)
		}
		return &busyError{time.Since(began)}
	}
	defer func() { u.s.turn <- struct{}{} }()
	return f()
}

// query sends a statement with the wanted limit in force, measuring now and then what it adds to the
// server's counters. The turn is ours.
func (u *use) query(ctx context.Context, statement string, row func(Row) error) error {
	if err := u.setLimit(ctx); err != nil {
		return err
	}
	var status, itself bool
	if !u.settling {
		status, itself = u.s.load.wants(statement)
	}
	if status {
		u.s.measureStatus(ctx)
	}
	var before *ownReading
	if itself {
		before = u.s.readStatus(ctx, sessionStatus)
	}
	u.sent = time.Now()
	rows, bytes, err := u.s.send(ctx, statement, u.maxBytes, row)
	u.done = time.Now()
	u.statements++
	u.rows += rows
	u.bytes += bytes
	u.s.load.sent(statement)
	if itself && err == nil {
		u.s.load.measured(statement, before, u.s.readStatus(ctx, sessionStatus))
	}
	return err
}

// setLimit sees to it that the server itself ends a statement that takes too long.
func (u *use) setLimit(ctx context.Context) error {
	statement := limitStatement(u.s.identity, u.s.vars, u.limit)
	if u.limit <= 0 || u.limit == u.s.limit || statement == "" {
		return nil
	}
	_, _, err := u.s.send(ctx, statement, 0, nil)
	u.s.load.sent(statement)
	u.statements++
	var refused *mysql.MySQLError
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	u.s.limit = u.limit
	return nil
}

// send does the work of one statement. The turn is ours.
func (s *session) send(ctx context.Context, statement string, maxBytes int64, row func(Row) error) (rows int, bytes int64, err error) {
	if s.ended != nil {
		return 0, 0, s.ended
	}
	conn := s.dialed.conn
	before := conn.read.Load()
	conn.allow(maxBytes)
	s.counts.statement(1)
	defer func() {
		bytes = conn.read.Load() - before
		s.counts.received(bytes)
		if r := recover(); r != nil {
			s.end(fmt.Errorf("%w: %v", errNonsense, r))
			panic(r) // our caller says in whose work it happened
		}
		err = s.verdict(ctx, err)
		var refused *mysql.MySQLError
		if errors.As(err, &refused) && s.counts.refused != nil {
			s.counts.refused(statement, refused)
		}
	}()
	if row == nil {
		_, err = s.raw.(driver.ExecerContext).ExecContext(ctx, mark+statement, nil)
		return 0, 0, err
	}
	answer, err := s.raw.(driver.QueryerContext).QueryContext(ctx, mark+statement, nil)
	if err != nil {
		return 0, 0, err
	}
	rows, err = s.read(answer, row)
	if closeErr := answer.Close(); err == nil {
		err = closeErr
	}
	return rows, 0, err
}

// rowError is an error of the collector that reads the rows: the connection is as good as before.
type rowError struct{ err error }

func (e *rowError) Error() string { return e.err.Error() }
func (e *rowError) Unwrap() error { return e.err }

// read calls row for each row of an answer.
func (s *session) read(answer driver.Rows, row func(Row) error) (rows int, err error) {
	names := answer.Columns()
	cols := newColumns(names)
	if cap(s.dest) < len(names) {
		s.dest = make([]driver.Value, len(names))
		s.values = make([]sql.RawBytes, len(names))
	}
	dest, values := s.dest[:len(names)], s.values[:len(names)]
	for {
		if err := answer.Next(dest); err != nil {
			if err == io.EOF {
				return rows, nil
			}
			return rows, err
		}
		rows++
		s.scrap = s.scrap[:0]
		for i, v := range dest {
			values[i] = s.text(v)
		}
		if err := row(Row{columns: cols, values: values}); err != nil {
			return rows, &rowError{err}
		}
	}
}

// text gives a value as the server wrote it; the driver has parsed some column types.
func (s *session) text(v driver.Value) sql.RawBytes {
	from := len(s.scrap)
	switch v := v.(type) {
	case nil:
		return nil
	case []byte:
		if v == nil {
			return sql.RawBytes{}
		}
		return v
	case string:
		s.scrap = append(s.scrap, v...)
	case int64:
		s.scrap = strconv.AppendInt(s.scrap, v, 10)
	case uint64:
		s.scrap = strconv.AppendUint(s.scrap, v, 10)
	case float32:
		s.scrap = strconv.AppendFloat(s.scrap, float64(v), 'g', -1, 32)
	case float64:
		s.scrap = strconv.AppendFloat(s.scrap, v, 'g', -1, 64)
	default:
		s.scrap = fmt.Append(s.scrap, v)
	}
	return s.scrap[from:len(s.scrap):len(s.scrap)]
}

// errNonsense says that something answered that does not speak the protocol, or no longer.
var errNonsense = errors.New("the answer is not MySQL's protocol")

// verdict turns what the driver says into what happened, and ends the session where it must.
func (s *session) verdict(ctx context.Context, err error) error {
	var row *rowError
	switch {
	case err == nil:
		s.used.Store(true)
		return nil
	case errors.As(err, &row):
		return row.err
	case s.dialed.conn.over.Load():
		s.orphan = true
		return s.end(errTooLarge)
	case ctx.Err() != nil:
		s.orphan = true
		return s.end(context.Cause(ctx))
	}
	var refused *mysql.MySQLError
	if errors.As(err, &refused) {
		s.used.Store(true)
		if endsConnection(refused.Number) {
			return s.end(fmt.Errorf("%w: %w", errLost, err))
		}
		return err
	}
	if errors.Is(err, mysql.ErrMalformPkt) || errors.Is(err, mysql.ErrPktSync) || errors.Is(err, mysql.ErrPktSyncMul) {
		return s.end(fmt.Errorf("%w: %w", errNonsense, err))
	}
	var number *strconv.NumError
	if errors.As(err, &number) {
		return s.end(fmt.Errorf("%w: %w", errNonsense, err))
	}
	return s.end(fmt.Errorf("%w: %w", errLost, err))
}

// endsConnection reports whether the server hangs up with an error: shutdown, KILL, idle too long
// (MySQL ≥ 8.0.24), killed (MariaDB).
func endsConnection(number uint16) bool {
	switch number {
	case 1053, 1927, 4031, 3169:
		return true
	}
	return false
}

// end closes the connection for good.
func (s *session) end(why error) error {
	if s.ended == nil {
		s.ended = why
		// The network first: what is broken needs no COM_QUIT, and writing one could block.
		s.dialed.conn.Close()
		s.raw.Close()
	}
	return why
}

// close says good-bye to the server.
func (s *session) close() {
	<-s.turn
	defer func() { s.turn <- struct{}{} }()
	if s.ended == nil {
		s.ended = errLost
		s.dialed.conn.SetDeadline(time.Now().Add(time.Second))
		s.raw.Close()
	}
}

// alive reports whether an idle connection is still there, without sending anything.
func (s *session) alive(ctx context.Context) bool {
	select {
	case <-s.turn:
	default:
		return true // a statement is running on it
	}
	defer func() { s.turn <- struct{}{} }()
	if s.ended != nil {
		return false
	}
	if err := s.raw.(driver.SessionResetter).ResetSession(ctx); err != nil {
		s.end(errLost)
		return false
	}
	return true
}

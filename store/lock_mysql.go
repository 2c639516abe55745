package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith"
)

// lockIdle is after how many seconds the server gives the lock back when nothing is heard of its holder, as after
// a cut network. Every write, each second in most, is a sign of life.
const lockIdle = "90"

// lockPatience is how long the server may take to say who has the lock.
const lockPatience = 10 * time.Second

// lockName is the name of the lock; names are of the whole server and have at most 64 characters.
const lockName = "CONCAT('monolith.', LEFT(DATABASE(), 48))"

// mysqlLock is a named lock on a connection of its own: the server gives it back when the connection ends.
type mysqlLock struct {
	place string
	pool  *sql.DB

	turn  chan struct{} // holds one while somebody uses what follows: waiting for it ends with the context
	conn  *sql.Conn     // nil: lost or released
	times int64         // so often it was taken again
	done  bool
}

// lockMySQL takes the lock, waiting a moment for a predecessor that is just ending.
func lockMySQL(ctx context.Context, c Config) (writerLock, error) {
	cfg, place, err := mysqlConfig(c.DSN)
	if err != nil {
		return nil, err
	}
	cfg.Params["wait_timeout"] = lockIdle
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return nil, fmt.Errorf("store: DSN: %w", err)
	}
	l := &mysqlLock{place: place, pool: sql.OpenDB(connector), turn: make(chan struct{}, 1)}
	l.pool.SetMaxIdleConns(-1) // one connection, and when it breaks another; none is kept beside it
	if err := l.take(ctx, 2); err != nil {
		var open *OpenError
		if !errors.As(err, &open) {
			err = mysqlProblem(place, err)
		}
		return nil, errors.Join(err, l.release())
	}
	return l, nil
}

// take takes the lock on a new connection, waiting so many seconds. It is the caller's turn, or nobody else knows l.
func (l *mysqlLock) take(ctx context.Context, seconds int) error {
	conn, err := l.pool.Conn(ctx)
	if err != nil {
		return err
	}
	var got sql.NullInt64
	if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+lockName+", ?)", seconds).Scan(&got); err != nil {
		return errors.Join(err, endConn(conn))
	}
	if got.Int64 != 1 {
		return errors.Join(errWriterBusy(l.place), endConn(conn))
	}
	l.conn = conn
	return nil
}

// held asks on the connection itself: the server knows best whether it still has the lock. A caller that gives
// up leaves the question to its end: a statement that is broken off takes the connection, and so the lock, with it.
func (l *mysqlLock) held(ctx context.Context) (times int64, err error) {
	gaveUp := func() error { return fmt.Errorf("the lock of the store: %w: %w", monolith.ErrUnavailable, ctx.Err()) }
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, gaveUp()
	}
	type answer struct {
		times int64
		err   error
	}
	got := make(chan answer, 1)
	go func() {
		defer func() { <-l.turn }()
		own, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockPatience)
		defer cancel()
		err := l.hold(own)
		got <- answer{l.times, err}
	}()
	select {
	case a := <-got:
		return a.times, a.err
	case <-ctx.Done():
		return 0, gaveUp()
	}
}

// hold makes sure of the lock. It is the caller's turn.
func (l *mysqlLock) hold(ctx context.Context) error {
	if l.done {
		return sql.ErrConnDone
	}
	if l.conn != nil {
		var mine sql.NullBool
		err := l.conn.QueryRowContext(ctx, "SELECT IS_USED_LOCK("+lockName+") = CONNECTION_ID()").Scan(&mine)
		if err == nil && mine.Bool {
			return nil
		}
		// The connection ends in any case: a lock that it may still have must not stand in the way. It is
		// broken, so that it does not end well is no news.
		_ = l.conn.Close()
		l.conn = nil
		if ctx.Err() != nil {
			return fmt.Errorf("the lock of the store: %w: %w", monolith.ErrUnavailable, err)
		}
	}
	if err := l.take(ctx, 0); err != nil {
		return fmt.Errorf("the lock of the store is lost: %w: %w", monolith.ErrUnavailable, err)
	}
	l.times++
	return nil
}

func (l *mysqlLock) release() error {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	if l.done {
		return nil
	}
	l.done = true
	var err error
	if l.conn != nil {
		// The server would do it when it sees the connection's end, which is a moment later.
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		_, err = l.conn.ExecContext(ctx, "DO RELEASE_LOCK("+lockName+")")
		err = errors.Join(unlessGone(err), endConn(l.conn))
		l.conn = nil
	}
	return errors.Join(err, l.pool.Close())
}

// endConn closes a connection for good; the pool keeps none.
func endConn(c *sql.Conn) error { return unlessGone(c.Close()) }

// unlessGone drops the complaint that a connection which is to end is gone already.
func unlessGone(err error) error {
	if err != nil && mysqlDead(err) {
		return nil
	}
	return err
}

// durability warns of a server that may forget its last commits when it crashes.
func (db *DB) durability(ctx context.Context) error {
	rows, err := db.w.QueryxContext(ctx, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'innodb_flush_method')")
	if err != nil {
		return db.failed("read the settings of the store's server", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return db.failed("read the settings of the store's server", err)
		}
		if name == "innodb_flush_log_at_trx_commit" && value != "1" || name == "innodb_flush_method" && strings.EqualFold(value, "nosync") {
			db.log.Warn("a crash of the store's server can lose what was committed in the last second, or more; history then has a gap",
				"store", db.place, name, value, "cure", "SET GLOBAL innodb_flush_log_at_trx_commit = 1, and no nosync as innodb_flush_method")
		}
	}
	return rows.Err()
}

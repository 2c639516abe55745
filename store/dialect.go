package store

import (
	"context"
	"database/sql"
	"strings"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
)

// dialect is everything in which the two engines differ. All other SQL is one text for both.
type dialect struct {
	name   string        // folder of the migrations
	goose  goose.Dialect // its name in the migration tool
	upsert func(table string, key, set []string) string
	// open makes the pool for writing and the one for reading, which may be the same, and checks that
	// the settings took. place is how people know the store.
	open      func(ctx context.Context, c Config) (w, r *sqlx.DB, place string, err error)
	duplicate func(error) bool                    // a unique key was violated
	transient func(error) bool                    // trying again later may work
	corrupt   func(error) bool                    // the engine can't read its own data
	problem   func(place string, err error) error // puts an error into words, as an [OpenError]
	dead      func(error) bool                    // the connection is gone, and what it held on the server with it
	usage     func(ctx context.Context, r *sqlx.DB) (bytes, free int64, err error)
	version   func(ctx context.Context, r *sqlx.DB) (string, error)
	// lock makes this process the only one that works with the store. It comes before open.
	lock func(ctx context.Context, c Config) (writerLock, error)
	// claim signs the store, once its schema is there.
	claim func(ctx context.Context, db *DB) error
	// shrink gives a little unused space back to the file system; false: there is nothing more to give.
	shrink func(ctx context.Context, w *sqlx.DB) (bool, error)
}

// insertInto writes the INSERT of one row with a place for each column.
func insertInto(table string, columns []string) string {
	return "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (" +
		strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ") + ")"
}

// values gives n rows of m places, as in "(?, ?), (?, ?)".
func values(n, m int) string {
	row := "(" + strings.TrimSuffix(strings.Repeat("?, ", m), ", ") + ")"
	return strings.TrimSuffix(strings.Repeat(row+", ", n), ", ")
}

// inTx runs fn in a transaction of the pool for writing and commits it.
func (db *DB) inTx(ctx context.Context, fn func(*sqlx.Tx) error) error {
	if err := db.mayWrite(ctx); err != nil {
		return err
	}
	tx, err := db.w.BeginTxx(ctx, nil)
	if err != nil {
		return db.unavailable(err)
	}
	defer tx.Rollback() // after a commit this does nothing
	if err := fn(tx); err != nil {
		return err
	}
	return db.unavailable(tx.Commit())
}

// inRead runs fn in a short read transaction: all its statements see one state of the store.
func (db *DB) inRead(ctx context.Context, fn func(*sqlx.Tx) error) error {
	tx, err := db.r.BeginTxx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return db.unavailable(err)
	}
	defer tx.Rollback()
	return fn(tx)
}

package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

	"monolith"
)

// writerLock is the right to write into a store. One process has it at a time, from before it reads
// anything until it closed everything.
type writerLock interface {
	// held makes sure that the right is still there, and takes it again where it was lost. times says how often
	// that happened: each time another process may have had it in between. It is safe for concurrent use.
	held(ctx context.Context) (times int64, err error)
	// release gives the right back; a second time it does nothing.
	release() error
}

// writerSetting holds the word of the process that last became the writer.
const writerSetting = "writer"

// newWriterWord makes the word by which a writer knows that none came after it.
func newWriterWord() string { return rand.Text() }

// mayWrite is asked before each write. What memory holds of the store is only true as long as nobody
// else writes: once somebody did, nothing is written any more until the program starts again.
func (db *DB) mayWrite(ctx context.Context) error {
	times, err := db.lock.held(ctx)
	if err != nil || times == db.sure.Load() {
		return err
	}
	var word string
	if err := db.w.GetContext(ctx, &word, "SELECT body FROM setting WHERE name = ?", writerSetting); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return db.unavailable(err)
	}
	if word != db.word {
		return fmt.Errorf("%w: %w", monolith.ErrUnavailable, &OpenError{Place: db.place,
			Why: "another monolith wrote into this store while the connection that holds its lock was gone", Cure: "stop the other one and start this one again"})
	}
	db.shaken()
	db.spool.forgot.Store(true)
	db.sure.Store(times)
	db.log.Warn("the lock of the store was lost with its connection and taken again", "store", db.place)
	return nil
}

// shaken is called when the engine may have gone down: with settings that promise less than durability it
// comes back without what it committed last. So the next poll of each server must need none before it, and
// what the engine has of the dictionary is looked up again.
func (db *DB) shaken() {
	db.recount.Store(true)
	for _, t := range db.tails() {
		t.rekey.Store(true)
	}
}

// exec runs one statement that writes.
func (db *DB) exec(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := db.mayWrite(ctx); err != nil {
		return nil, err
	}
	return db.w.ExecContext(ctx, query, args...)
}

// errWriterBusy says that another process writes into the same store.
func errWriterBusy(place string) error {
	return &OpenError{Place: place, Why: "another monolith works with this store", Cure: "stop the other one, or give this one a store of its own"}
}

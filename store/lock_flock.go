//go:build linux || darwin || freebsd || openbsd || netbsd || dragonfly

package store

import (
	"context"
	"errors"
	"os"
	"syscall"
)

// lockSQLite takes an advisory lock on a file beside the database. It goes when the process ends,
// however it ends.
func lockSQLite(_ context.Context, db *DB) (release func() error, err error) {
	path := db.place + ".lock"
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, &OpenError{Place: path, Why: "the lock file can't be opened", Err: err, Cure: "give the folder to the user that runs monolith"}
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(errWriterBusy(db.place), f.Close())
	}
	return f.Close, nil
}

//go:build linux || darwin || freebsd || openbsd || netbsd || dragonfly

package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// fileLock is an advisory lock on a file beside the database. It goes when the process ends, however it ends.
type fileLock struct {
	mu   sync.Mutex
	file *os.File // nil: released
}

func lockSQLite(_ context.Context, c Config) (writerLock, error) {
	path, err := sqlitePath(c)
	if err != nil {
		return nil, err
	}
	if err := sqliteFile(path); err != nil {
		return nil, err
	}
	beside := path
	if real, err := filepath.EvalSymlinks(path); err == nil {
		beside = real // the same file under another name has the same lock
	}
	beside += ".lock"
	f, err := os.OpenFile(beside, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, &OpenError{Place: beside, Why: "the lock file can't be opened", Err: err, Cure: "give the folder to the user that runs monolith"}
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.Join(&OpenError{Place: beside, Why: "the file can't be locked", Err: err, Cure: "put the store on a local disk"}, f.Close())
		}
		return nil, errors.Join(errWriterBusy(path), f.Close())
	}
	return &fileLock{file: f}, nil
}

func (l *fileLock) held(context.Context) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return 0, os.ErrClosed
	}
	return 0, nil
}

func (l *fileLock) release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	f := l.file
	l.file = nil
	// A child process that is just being started holds the file open for a moment more: closing alone would
	// leave the lock with it.
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}

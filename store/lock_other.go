//go:build !(linux || darwin || freebsd || openbsd || netbsd || dragonfly)

package store

import "context"

// noLock stands where the system has no advisory locks that end with the process.
type noLock struct{}

// lockSQLite looks whether the file can be used, and locks nothing.
func lockSQLite(_ context.Context, c Config) (writerLock, error) {
	path, err := sqlitePath(c)
	if err != nil {
		return nil, err
	}
	return noLock{}, sqliteFile(path)
}

func (noLock) held(context.Context) (int64, error) { return 0, nil }
func (noLock) release() error                      { return nil }

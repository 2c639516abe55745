package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/pressly/goose/v3"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

func sqliteDialect() *dialect {
	return &dialect{
		name: "sqlite", goose: goose.DialectSQLite3,
		upsert: func(table string, key, set []string) string {
			s := insertInto(table, append(append([]string{}, key...), set...)) + " ON CONFLICT (" + strings.Join(key, ", ") + ") DO "
			if len(set) == 0 {
				return s + "NOTHING"
			}
			for i, c := range set {
				s += map[bool]string{true: "UPDATE SET ", false: ", "}[i == 0] + c + " = excluded." + c
			}
			return s
		},
		open: openSQLite,
		duplicate: func(err error) bool {
			var e *sqlite.Error
			return errors.As(err, &e) &&
				(e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
		},
		corrupt: func(err error) bool {
			var e *sqlite.Error
			return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB)
		},
		problem: sqliteProblem,
		dead:    func(error) bool { return false },
		transient: func(err error) bool {
			var e *sqlite.Error
			if !errors.As(err, &e) {
				return false
			}
			switch e.Code() & 0xff {
			case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_INTERRUPT, // others are at it
				sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY, // the disk, or mounted again read-only
				sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_NOMEM: // no descriptor or memory is free
				return true
			}
			return false
		},
		usage: func(ctx context.Context, r *sqlx.DB) (bytes, free int64, err error) {
			var pages, size, unused int64
			for query, to := range map[string]*int64{
				"PRAGMA page_count": &pages, "PRAGMA page_size": &size, "PRAGMA freelist_count": &unused,
			} {
				if err := r.GetContext(ctx, to, query); err != nil {
					return 0, 0, err
				}
			}
			return pages * size, unused * size, nil
		},
		version: func(ctx context.Context, r *sqlx.DB) (string, error) {
			var v string
			err := r.GetContext(ctx, &v, "SELECT sqlite_version()")
			return "SQLite " + v, err
		},
		lock: lockSQLite,
		claim: func(ctx context.Context, db *DB) error {
			var id int64
			if err := db.w.GetContext(ctx, &id, "PRAGMA application_id"); err != nil {
				return db.failed("sign the file", err)
			}
			if id == applicationID {
				return nil
			}
			_, err := db.exec(ctx, fmt.Sprintf("PRAGMA application_id = %d", applicationID))
			return db.failed("sign the file", err)
		},
		shrink: func(ctx context.Context, w *sqlx.DB) (bool, error) {
			var free int64
			if err := w.GetContext(ctx, &free, "PRAGMA freelist_count"); err != nil || free < 2*shrinkPages {
				return false, err
			}
			_, err := w.ExecContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", shrinkPages))
			return true, err
		},
	}
}

// shrinkPages is how many free pages one step gives back: a transaction of some milliseconds.
const shrinkPages = 256

// sqlitePragmas are set on every connection by the DSN and read back at the start: a pragma sent by
// Exec would bind one connection of the pool only, and a misspelt one is ignored without a word.
var sqlitePragmas = []struct{ name, set, want string }{
	{"busy_timeout", "5000", "5000"},
	{"auto_vacuum", "INCREMENTAL", "2"},
	{"journal_mode", "WAL", "wal"},
	{"synchronous", "FULL", "2"},
	{"foreign_keys", "ON", "1"},
	{"journal_size_limit", "16777216", "16777216"},
	{"cache_size", "-2048", "-2048"}, // KiB, outside of Go's heap; readers have readerCache
}

// readerCache is a reading connection's page cache in KiB. What is read again and again are opened blocks, which have a
// cache of their own, and the system keeps the file's pages: four megabytes for each of four readers were a
// third of the whole program's memory and made no read measurably faster.
const readerCache = "-1024"

// Readers that a busy moment opened are closed when nobody needed them for so long.
const readerIdle = time.Minute

func sqliteDSN(path string, write bool) string {
	q := url.Values{}
	for _, p := range sqlitePragmas {
		if !write && (p.name == "auto_vacuum" || p.name == "journal_mode") {
			continue // properties of the file, set by the connection that writes
		}
		set := p.set
		if !write && p.name == "cache_size" {
			set = readerCache
		}
		q.Add("_pragma", p.name+"("+set+")")
	}
	if write {
		q.Set("_txlock", "immediate")
	} else {
		q.Add("_pragma", "query_only(ON)")
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + q.Encode()
}

// sqlitePath gives the whole path of the file.
func sqlitePath(c Config) (string, error) {
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return "", fmt.Errorf("store: path of the SQLite file: %w", err)
	}
	return path, nil
}

// applicationID is what stands in the head of a store's file: "MNLT".
const applicationID = 0x4d4e4c54

// sqliteOurs refuses a file that belongs to another program. It looks without writing, before anything
// else does: a pragma of the writing connection would change the file.
func sqliteOurs(ctx context.Context, path string) error {
	if st, err := os.Stat(path); err == nil && st.Size() == 0 {
		return nil
	}
	db, err := sqlx.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath()+"?mode=ro&_pragma=busy_timeout(5000)")
	if err != nil {
		return sqliteProblem(path, err)
	}
	var id int64
	var tables, ours int
	for query, to := range map[string]any{
		"PRAGMA application_id":              &id,
		"SELECT COUNT(*) FROM sqlite_schema": &tables,
		"SELECT COUNT(*) FROM pragma_table_info('schema_version') WHERE name IN ('version_id', 'is_applied')": &ours,
	} {
		if err := db.GetContext(ctx, to, query); err != nil {
			return errors.Join(sqliteProblem(path, err), db.Close())
		}
	}
	if err := db.Close(); err != nil {
		return sqliteProblem(path, err)
	}
	if id == applicationID || id == 0 && (tables == 0 || ours == 2) {
		return nil
	}
	return &OpenError{Place: path, Why: fmt.Sprintf("the file belongs to another program (application id %d, %d tables and indexes)", id, tables),
		Cure: "move it away, or name another with --data; nothing was changed"}
}

func openSQLite(ctx context.Context, c Config) (w, r *sqlx.DB, place string, err error) {
	path, err := sqlitePath(c)
	if err != nil {
		return nil, nil, c.Path, err
	}
	if err := sqliteOurs(ctx, path); err != nil {
		return nil, nil, path, err
	}
	if w, err = sqlx.Open("sqlite", sqliteDSN(path, true)); err != nil {
		return nil, nil, path, sqliteProblem(path, err)
	}
	w.SetMaxOpenConns(1)
	if r, err = sqlx.Open("sqlite", sqliteDSN(path, false)); err != nil {
		return nil, nil, path, errors.Join(sqliteProblem(path, err), w.Close())
	}
	r.SetMaxOpenConns(4)
	r.SetMaxIdleConns(4)
	r.SetConnMaxIdleTime(readerIdle)
	for _, p := range sqlitePragmas {
		var got string
		if err := w.GetContext(ctx, &got, "PRAGMA "+p.name); err != nil {
			return nil, nil, path, errors.Join(sqliteProblem(path, err), w.Close(), r.Close())
		}
		if got != p.want && p.name != "auto_vacuum" { // a file made elsewhere keeps its own auto_vacuum
			err := &OpenError{Place: path, Why: fmt.Sprintf("the setting %s is %q and not %q", p.name, got, p.want),
				Cure: "put the file on a local disk; WAL needs shared memory"}
			return nil, nil, path, errors.Join(err, w.Close(), r.Close())
		}
	}
	return w, r, path, nil
}

// sqliteFile makes the file, readable by its owner only, or explains why it can't be used. SQLite gives
// its own files beside it the same mode.
func sqliteFile(path string) error {
	dir := filepath.Dir(path)
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return &OpenError{Place: path, Why: "there is no folder " + dir, Cure: "make it, or name another with --data", Err: err}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return &OpenError{Place: path, Why: "no permission to write", Err: err,
			Cure: "give the file and its folder to the user that runs monolith, or name another with --data"}
	case err != nil:
		return &OpenError{Place: path, Why: "the file can't be opened", Cure: "name another place with --data", Err: err}
	}
	if err := f.Close(); err != nil {
		return &OpenError{Place: path, Why: "the file can't be written", Err: err}
	}
	// The write-ahead log needs a place of its own in the folder.
	probe, err := os.CreateTemp(dir, ".monolith-*")
	if err != nil {
		return &OpenError{Place: path, Why: "the folder can't be written", Err: err,
			Cure: "give it to the user that runs monolith, or name another with --data"}
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// damagedCure is what helps when the engine can't read its own data.
const damagedCure = "stop monolith, move the damaged store away and put a copy of the last backup in its place"

// sqliteProblem puts SQLite's result code into words with their cure.
func sqliteProblem(path string, err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return &OpenError{Place: path, Why: "SQLite refused", Err: err}
	}
	o := &OpenError{Place: path, Err: err}
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_NOTADB:
		o.Why, o.Cure = "the file is not an SQLite database", "move it away, or name another with --data"
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		o.Why, o.Cure = "another program holds the file locked", "stop it, or wait until its backup is done"
	case sqlite3.SQLITE_CORRUPT:
		o.Why, o.Cure = "the file is damaged", damagedCure
	case sqlite3.SQLITE_CANTOPEN:
		o.Why, o.Cure = "a file can't be opened", "give the store's file and folder to the user that runs monolith; if they are, raise its limit of open files (LimitNOFILE, ulimit -n)"
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		o.Why, o.Cure = "the file or its folder can't be written", "give both to the user that runs monolith"
	case sqlite3.SQLITE_FULL:
		o.Why, o.Cure = "the disk is full", "free some space"
	case sqlite3.SQLITE_IOERR:
		o.Why, o.Cure = "the file can't be read or written", "look into the system's log for errors of the disk, and at its quota and this process's limit of file sizes (ulimit -f)"
	default:
		o.Why = "SQLite refused"
	}
	return o
}

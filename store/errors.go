package store

import (
	"errors"
	"fmt"

	"monolith"
)

// BehindError says that the schema of a MySQL store is older than this program and must be migrated.
type BehindError struct{ Have, Want int64 }

// Error names the command that mends it.
func (e *BehindError) Error() string {
	return fmt.Sprintf("store: the schema is at version %d and this program needs %d: run \"monolith migrate\"", e.Have, e.Want)
}

// NewerError says that the store was written by a newer program. Nothing was changed.
type NewerError struct{ Have, Want int64 }

// Error names the way out.
func (e *NewerError) Error() string {
	return fmt.Sprintf("store: the schema is at version %d, newer than the %d this program knows: "+
		"start the newer program, or restore the backup made before the upgrade; nothing was changed", e.Have, e.Want)
}

// OpenError says why the place of the store can't be used, and what to do.
type OpenError struct {
	Place string // the file, or host and database
	Why   string
	Cure  string
	Err   error // what the engine or the system said; may be nil
}

// Error gives place, reason and cure.
func (e *OpenError) Error() string {
	s := fmt.Sprintf("store: open %s: %s", e.Place, e.Why)
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Cure != "" {
		s += " (" + e.Cure + ")"
	}
	return s
}

// Unwrap gives the engine's error.
func (e *OpenError) Unwrap() error { return e.Err }

// words puts an error of the engine into words with their cure; empty where none are known.
func (db *DB) words(err error) string {
	if db.damaged(err) {
		return fmt.Sprintf("%s is damaged (%s)", db.place, damagedCure)
	}
	o, ok := errors.AsType[*OpenError](err) // the lock's
	if !ok {
		o, ok = errors.AsType[*OpenError](db.dialect.problem(db.place, err))
	}
	if !ok || o.Cure == "" {
		return ""
	}
	return o.Why + " (" + o.Cure + ")"
}

// KeyError says why the key file can't be used to seal and open passwords.
type KeyError struct {
	Path string
	Why  string
	Cure string
}

// Error gives path, reason and cure.
func (e *KeyError) Error() string {
	return fmt.Sprintf("store: key file %s: %s (%s)", e.Path, e.Why, e.Cure)
}

// conflict and notFound keep the two words of every caller the same.
func conflict(format string, args ...any) error {
	return fmt.Errorf("store: "+format+": %w", append(args, monolith.ErrConflict)...)
}

func notFound(format string, args ...any) error {
	return fmt.Errorf("store: "+format+": %w", append(args, monolith.ErrNotFound)...)
}

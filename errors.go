package monolith

import (
	"errors"
	"fmt"
)

// The kinds of error that cross package borders. Callers ask with [errors.Is]; the web layer maps
// each to one HTTP status.
var (
	// ErrNotFound says that the named thing does not exist.
	ErrNotFound = errors.New("not found")
	// ErrInvalid says that what the caller gave makes no sense; see [InvalidError].
	ErrInvalid = errors.New("invalid")
	// ErrConflict says that the thing exists already or was changed in between.
	ErrConflict = errors.New("conflict")
	// ErrUnavailable says that the store can't be reached now; trying again later may work.
	ErrUnavailable = errors.New("unavailable")
)

// InvalidError is bad input with its place and its cure. It is an [ErrInvalid].
type InvalidError struct {
	Field  string // the parameter, form field or YAML path that is wrong; "" for the whole input
	Column int    // 1-based character position inside the field's text; 0 where there is none
	Reason string // what is wrong, in one sentence
	Cure   string // what to write instead; "" where Reason says it all
}

// Error gives "field: reason (cure)".
func (e *InvalidError) Error() string {
	s := e.Reason
	if e.Field != "" {
		if e.Column > 0 {
			s = fmt.Sprintf("%s, column %d: %s", e.Field, e.Column, s)
		} else {
			s = e.Field + ": " + s
		}
	} else if e.Column > 0 {
		s = fmt.Sprintf("column %d: %s", e.Column, s)
	}
	if e.Cure != "" {
		s += " (" + e.Cure + ")"
	}
	return s
}

// Is makes errors.Is(err, ErrInvalid) hold.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// Invalid makes an [InvalidError] for a field, with an optional cure.
func Invalid(field, reason string, cure ...string) error {
	e := &InvalidError{Field: field, Reason: reason}
	if len(cure) > 0 {
		e.Cure = cure[0]
	}
	return e
}

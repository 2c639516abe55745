package formula

import (
	"context"
	"errors"
	"time"

	"monolith"
)

// Source answers queries from history.
type Source interface {
	Read(ctx context.Context, q monolith.Query) (*monolith.Range, error)
}

// Request says for which server, range and step formulas are evaluated.
type Request struct {
	Server   monolith.ServerID
	From, To time.Time
	Step     time.Duration
}

// Result is one formula over a range.
type Result struct {
	Start time.Time     // where step 0 begins
	Step  time.Duration // as history answered: not finer than its tier
	Tier  string        // "raw", "10m" or "1h"
	Lines []Line        // one, or one an instance; all of one length
	// Why says why there is no line, or no value in any line, naming the input; "" otherwise.
	Why string
	// Absent is set when that is because this server does not have an input by design.
	Absent bool
}

// Line is one series of values; NaN means "no value".
type Line struct {
	Instance string // "" for formulas over names without instances
	V        monolith.Floats
	Min, Max monolith.Floats // the band, see [Series]; nil where there is none
}

// Series evaluates formulas over a range with one read of the history.
func Series(ctx context.Context, src Source, req Request, formulas ...*Formula) ([]Result, error) {
	return nil, errors.New("formula: series: not ready")
}

package formula

import (
	"context"
	"errors"
	"time"

	"monolith"
)

// Value is what a formula gives at one moment.
type Value struct {
	Instance string  // of what the value is; "" where the formula has no instances
	Num      float64 // NaN when there is no value, and for texts that are not numbers; true is 1, false 0
	Text     string  // a text as it is, a number in its shortest form; "" when there is no value
	IsText   bool    // the result is a text
	Why      string  // why there is no value, naming the input; "" when there is one
	Explain  string  // the formula with the numbers put in
	// Each holds one value an instance when the formula's names have instances. With exactly one the
	// fields above repeat it; with several they hold no value and Why says so.
	Each []Value
}

// At evaluates the formula at a moment. Functions without a window of their own use window; 0 stands
// for five minutes.
func (f *Formula) At(ctx context.Context, src Source, server monolith.ServerID, at time.Time, window time.Duration) (Value, error) {
	return Value{}, errors.New("formula: at: not ready")
}

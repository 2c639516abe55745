package alerts

import (
	"context"
	"fmt"

	"monolith"
)

// baton is a lock for which nobody need wait longer than they want to: who has it may wait for a store that hangs.
type baton chan struct{}

func newBaton() baton { return make(baton, 1) }

// take waits for it until ctx ends; then it gives [monolith.ErrUnavailable].
func (b baton) take(ctx context.Context) error {
	select {
	case b <- struct{}{}:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("alerts: others still wait for the store: %w: %w", monolith.ErrUnavailable, ctx.Err())
	}
}

// wait waits for it, for what must not be left out.
func (b baton) wait() { b <- struct{}{} }

// give hands it on.
func (b baton) give() { <-b }

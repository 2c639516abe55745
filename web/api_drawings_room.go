package web

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// roomValues bounds the values that are worked out for lines at one time. One costs about 200 bytes on the way from
	// history to the answer, so this is twice the page of all graphs of a server, some 40 MB. Such a page takes one
	// processor 20 ms: more of them at the same time would be done no sooner.
	roomValues = 200_000
	// linesOfGraph is how many lines a graph has, more or less.
	linesOfGraph = 4
)

// room is where lines are worked out. Whoever finds it full waits for his turn; nobody overtakes.
type room struct{ free *semaphore.Weighted }

func newRoom() room { return room{semaphore.NewWeighted(roomValues)} }

// enter waits until there is room for lines over a range, or until the request ends; then it gives the reason. What is
// larger than the room has it alone. The caller leaves, and must not enter twice.
func (r room) enter(ctx context.Context, lines int, span, step time.Duration) (leave func(), err error) {
	values := min(max(int64(lines)*(int64(span/step)+1), 1), roomValues)
	if err := r.free.Acquire(ctx, values); err != nil {
		return nil, err
	}
	return func() { r.free.Release(values) }, nil
}

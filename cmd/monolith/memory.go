package main

import (
	"context"
	"runtime/metrics"
	"time"
)

// The garbage collector stays as Go sets it, and GOGC and GOMEMLIMIT from the environment count. Half of GOGC would save
// some ten of fifty megabytes, and collect once for each page of graphs instead of once in two. A limit by default could
// only be wrong: three servers need 40 MB, a thousand need 600, and a limit below what is needed makes the collector
// run all the time.
//
// What it lacks is an end of the day: after the last page of a busy hour nothing makes garbage any more, so nothing is
// collected for two minutes, and what is free then goes back to the system in small steps, down to twice of what lives. A
// monitor is idle nearly always, on machines that have better use for the memory. So it is given back when it is idle.
const (
	// ebbEvery is how often idleness is looked for.
	ebbEvery = 30 * time.Second
	// ebbIdle is how many bytes an idle program takes in that time at most: the polls of some servers and a page that
	// somebody left open.
	ebbIdle = 32 << 20
	// ebbWorth is how many bytes must have been taken since the last time, and as many as live: giving back costs a
	// collection, and so it is hardly one more than there would be.
	ebbWorth = 16 << 20
)

// heap is the state of the memory, in bytes.
type heap struct {
	taken uint64 // ever
	live  uint64 // after the last collection
}

// readHeap asks the runtime, which costs a microsecond.
func readHeap() heap {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() != metrics.KindUint64 {
			return heap{} // a runtime without these figures: nothing is given back
		}
	}
	return heap{taken: samples[0].Value.Uint64(), live: samples[1].Value.Uint64()}
}

// ebb gives memory back to the system when the program is idle after it was busy, until ctx ends.
func ebb(ctx context.Context, read func() heap, giveBack func()) error {
	tick := time.NewTicker(ebbEvery)
	defer tick.Stop()
	last := uint64(0) // taken when it was given back
	for before := read(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := read()
		if now.taken-before.taken <= ebbIdle && now.taken-last >= max(ebbWorth, now.live) {
			giveBack()
			last = now.taken
		}
		before = now
	}
}

package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// The garbage collector stays as Go sets it while the heap is small and people look at pages, and GOGC and GOMEMLIMIT from
// the environment count: with half of GOGC it would run once for each page of graphs instead of once in two. When nobody
// looks, as much room as lasts for ten seconds is enough, for three servers as for hundreds, and saves a third of the heap:
// see curb. A limit by default could only be wrong: three servers need 40 MB, a thousand need 600, and a limit below what is
// needed makes the collector run all the time.
//
// What it lacks is an end of the day: after the last page of a busy hour nothing makes garbage any more, so nothing is
// collected for two minutes, and what is free then goes back to the system in small steps, down to twice of what lives. A
// monitor is idle nearly always, on machines that have better use for the memory. So it is given back when it is idle, and
// with it the pages of the program's file that only the start or the busy hour needed.
const (
	// ebbEvery is how often idleness is looked for.
	ebbEvery = 30 * time.Second
	// ebbIdle is how many bytes an idle program takes in that time at most, or what lives, if that is more: the polls of its
	// servers, half of what lives with hundreds each ten seconds, and a page that somebody left open.
	ebbIdle = 32 << 20
	// ebbWorth is how many bytes must have been taken since the last time, and as many as live: giving back costs a
	// collection, and so it is hardly one more than there would be.
	ebbWorth = 16 << 20
)

const (
	// curbEvery is how often the size of the heap and what is taken are looked at.
	curbEvery = time.Second
	// curbFrom is from how many bytes that live on garbage may take half as much again, and no longer as much. The heap of a
	// few servers stays below.
	curbFrom = 48 << 20
	// curbCalm is how many bytes a second a few servers take at most; more than curbBusy are taken by people's pages.
	curbCalm, curbBusy = 1 << 20, 2 << 20
	// curbRest is how long garbage may gather where a quarter of what lives is room for so long: with three servers or hundreds
	// each ten seconds. With a thousand each second it is not.
	curbRest = 10 * time.Second
)

// How much garbage may gather, in per cent of what lives.
const (
	roomFree = 100 // Go's own
	roomHalf = 50
	roomLess = 25
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
		if now.taken-before.taken <= max(ebbIdle, now.live) && now.taken-last >= max(ebbWorth, now.live) {
			giveBack()
			last = now.taken
		}
		before = now
	}
}

// giveBack gives back what is free of the heap, and the pages of the program that nobody needs at the moment.
func (a *app) giveBack() {
	debug.FreeOSMemory()
	if err := dropProgram(); err != nil {
		a.log.Debug("pages of the program stay in memory", "error", err)
	}
}

// curb keeps a large heap tighter than Go does by itself, until ctx ends. Before it runs the room should be roomHalf: at the
// start all servers are read at once, and it is not known how much of it will live.
func curb(ctx context.Context, read func() heap, setRoom func(percent int) int) error {
	tick := time.NewTicker(curbEvery)
	defer tick.Stop()
	room, before := roomHalf, read()
	pace := float64(curbFrom) // bytes taken in a second, on average over some ten
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := read()
		pace += (float64(now.taken-before.taken)/curbEvery.Seconds() - pace) / 10
		before = now
		if want := roomFor(now.live, pace, room); want != room {
			setRoom(want)
			room = want
		}
	}
}

// roomFor gives the room for garbage. What lies between two rooms stays with that in force, so that it does not go to and fro.
func roomFor(live uint64, pace float64, room int) int {
	gathers := pace * curbRest.Seconds()
	few := live < curbFrom*2/3
	switch l := float64(live); {
	case few && pace > curbBusy:
		return roomFree
	case few && pace >= curbCalm:
		return max(room, roomHalf)
	case !few && live < curbFrom:
		return room
	case gathers < l/5:
		return roomLess
	case gathers > l/3 || room == roomFree:
		return roomHalf
	}
	return room
}

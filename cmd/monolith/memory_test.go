package main

import (
	"context"
	"runtime/debug"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestMemoryIsGivenBackWhenIdle(t *testing.T) {
	for name, c := range map[string]struct {
		live  uint64   // megabytes
		taken []uint64 // megabytes, between two looks
		want  int      // times that it is given back
	}{
		"the start and then nothing": {5, []uint64{20, 1, 1, 1, 1, 1}, 1},
		"busy all the time":          {5, []uint64{90, 90, 90, 90, 90, 90}, 0},
		"busy again":                 {5, []uint64{90, 1, 1, 90, 1, 1}, 2},
		"never busy":                 {5, []uint64{1, 1, 1, 1, 1, 1}, 0},
		"a little for a long time":   {5, []uint64{4, 4, 4, 4, 4, 4, 4, 4, 4}, 2},
		"much that lives":            {100, []uint64{25, 25, 25, 25, 25, 25, 25, 25, 25}, 2},
		"a fleet, after its start":   {90, []uint64{500, 40, 40, 40, 40}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithTimeout(t.Context(), ebbEvery*time.Duration(len(c.taken))+time.Second)
				defer stop()
				h, looks, times := heap{live: c.live << 20}, -1, 0
				read := func() heap {
					if looks >= 0 {
						h.taken += c.taken[looks] << 20
					}
					looks++
					return h
				}
				if err := ebb(ctx, read, func() { times++ }); err != nil {
					t.Fatal(err)
				}
				if times != c.want {
					t.Errorf("it is given back %d times, want %d", times, c.want)
				}
			})
		})
	}
}

func TestLargeHeapIsKeptTighter(t *testing.T) {
	const mega = 1 << 20
	for name, c := range map[string]struct {
		live  uint64  // megabytes
		pace  float64 // megabytes a second
		room  int     // in force
		wants int
	}{
		"three servers":                      {20, 0.7, roomFree, roomHalf},
		"three servers each ten seconds":     {8, 0.1, roomHalf, roomLess},
		"a little more of them":              {8, 0.2, roomLess, roomLess},
		"three servers each second":          {8, 0.5, roomLess, roomHalf},
		"three servers and their pages":      {20, 12, roomHalf, roomFree},
		"a little more than three servers":   {20, 1.5, roomHalf, roomHalf},
		"pages that were looked at":          {20, 1.5, roomFree, roomFree},
		"many that became few":               {20, 1.5, roomLess, roomHalf},
		"between few and many":               {40, 1, roomHalf, roomHalf},
		"between many and few":               {40, 1, roomFree, roomFree},
		"two hundred at the start":           {60, 100, roomHalf, roomHalf},
		"two hundred each ten seconds":       {80, 1.2, roomHalf, roomLess},
		"a little more":                      {80, 2, roomLess, roomLess},
		"a thousand each second":             {400, 45, roomLess, roomHalf},
		"few become many":                    {60, 0.5, roomFree, roomLess},
		"few become many that take a lot":    {60, 1.4, roomFree, roomHalf},
		"somebody looks at pages of a fleet": {80, 60, roomLess, roomHalf},
	} {
		if got := roomFor(c.live*mega, c.pace*mega, c.room); got != c.wants {
			t.Errorf("%s: the room is %d %%, want %d %%", name, got, c.wants)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute+curbEvery/2)
		defer stop()
		h, set := heap{live: 80 << 20}, []int(nil)
		read := func() heap { h.taken += 1 << 20; return h }
		if err := curb(ctx, read, func(percent int) int { set = append(set, percent); return 0 }); err != nil {
			t.Fatal(err)
		}
		if want := []int{roomLess}; !slices.Equal(set, want) {
			t.Errorf("the room was set to %v, want %v", set, want)
		}
	})
}

func TestHeapIsRead(t *testing.T) {
	before := readHeap()
	kept := make([]byte, 64<<20)
	debug.FreeOSMemory() // collects
	after := readHeap()
	if n := after.taken - before.taken; n < uint64(len(kept)) || n > 2*uint64(len(kept)) {
		t.Errorf("%d bytes taken are seen as %d", len(kept), n)
	}
	if after.live < 1<<10 || after.live > after.taken {
		t.Errorf("%d bytes live of %d taken", after.live, after.taken)
	}
}

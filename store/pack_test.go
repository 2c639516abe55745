package store

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"monolith"
)

func TestReadsAreRightWhilePollsArePacked(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		b.play(s, 100)
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for _, step := range []time.Duration{pollEvery, 10 * time.Minute} {
			wg.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					r, err := b.db.Read(t.Context(), monolith.Query{Server: s.id, Metrics: []string{"status.Questions", "status.Threads_connected"},
						From: origin, To: origin.Add(7 * time.Hour), Step: step})
					if err != nil {
						t.Error(err)
						return
					}
					seen := 0
					for _, line := range r.Series {
						for i, v := range line.Increase {
							switch most := 50 * step.Seconds() / 10; {
							case math.IsNaN(v):
							case v > most, math.Abs(v/line.Seconds[i]-5) > 1e-9:
								t.Errorf("step %v, bucket %d: an increase of %v in %v s", step, i, v, line.Seconds[i])
								return
							default:
								seen++
							}
						}
					}
					if seen == 0 {
						t.Errorf("step %v: nothing was read", step)
						return
					}
				}
			})
		}
		for range 20 {
			b.play(s, 100)
			b.pack()
		}
		close(stop)
		wg.Wait()
		checkRaw(t, b, s, 1, s.seq)
	})
}

// A store that was away for hours, or a packer that could not keep up, makes blocks of the usual size.
func TestBacklogIsPackedInBlocksOfAnHour(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		b.play(s, 2000)
		b.pack()
		if n := count(t, b.db, "SELECT COUNT(*) FROM history_block WHERE tier = 0"); n != 5 {
			t.Errorf("2000 polls are in %d blocks, want 5", n)
		}
		if n := count(t, b.db, "SELECT MAX(polls) FROM history_block WHERE tier = 0"); n != tailPolls {
			t.Errorf("the largest block has %d polls, want %d", n, tailPolls)
		}
		checkRaw(t, b, s, 1, s.seq)
		b.reopen()
		checkRaw(t, b, s, 1, s.seq)
	})
}

func TestBlockLargerThanARowIsKeptInParts(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		rng := rand.New(rand.NewPCG(1, 2))
		metrics := make([]monolith.Metric, 900)
		for i := range metrics {
			metrics[i].Name = fmt.Sprintf("status.noise_%03d", i)
		}
		list := monolith.NewNames(metrics)
		s := newSource(b.server("a").ID)
		var want []float64
		for range 361 {
			snap := s.next()
			nums := make([]monolith.Num, len(metrics))
			for i := range nums {
				nums[i] = monolith.Float(rng.Float64())
			}
			want = append(want, nums[899].Float64())
			snap.Sections = []monolith.Section{{Collector: "status", NumNames: list, Nums: nums}}
			b.db.Append(snap)
			b.clock.set(s.at)
		}
		b.flush()
		b.pack()
		if n := count(t, b.db, "SELECT COUNT(*) FROM history_block WHERE tier = 0"); n < 2 {
			t.Fatalf("the raw block has %d parts", n)
		}
		if n := count(t, b.db, "SELECT MAX(LENGTH(payload)) FROM history_block"); n > 1<<20 {
			t.Errorf("a row of %d bytes", n)
		}
		for range 2 { // from the database, then from the cache
			r := b.read(monolith.Query{Server: s.id, Metrics: []string{"status.noise_899"}, From: origin, To: s.at, Step: pollEvery})
			line := series(t, r, "status.noise_899", "")
			for i := range want {
				if line.Avg[i] != want[i] {
					t.Fatalf("poll %d is %v, want %v", i, line.Avg[i], want[i])
				}
			}
		}
	})
}

func TestServerThatIsNoLongerPolledIsPackedByAge(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		quiet, busy := newSource(b.server("quiet").ID), newSource(b.server("busy").ID)
		b.play(quiet, 50)
		for range 4 {
			b.play(busy, 360)
			b.pack()
		}
		if n := count(t, b.db, "SELECT COUNT(*) FROM history_block WHERE tier = 0 AND server_id = ?", int64(quiet.id)); n != 1 {
			t.Errorf("the quiet server has %d blocks, want 1", n)
		}
		if n := count(t, b.db, "SELECT COUNT(*) FROM head"); n > 800 {
			t.Errorf("%d head rows are held back by a server that is not polled", n)
		}
		checkRaw(t, b, quiet, 1, 50)
		quiet.at = busy.at
		b.play(quiet, 10)
		b.reopen()
		checkRaw(t, b, quiet, 1, 50)
		if seq, _, _ := b.db.Resume(t.Context(), quiet.id); seq != 60 {
			t.Errorf("resume gives %d, want 60", seq)
		}
	})
}

func TestClockSetBackLosesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		for range 3 {
			b.play(s, 361)
			b.pack()
			s.at = origin // the clock is set back again and again
		}
		b.play(s, 361)
		if n := count(t, b.db, "SELECT COUNT(*) FROM history_block WHERE tier = 0"); n < 3 {
			t.Errorf("%d raw blocks, want 3", n)
		}
		b.reopen()
		if seq, _, _ := b.db.Resume(t.Context(), s.id); seq != s.seq {
			t.Errorf("resume gives %d, want %d", seq, s.seq)
		}
		if r := b.read(monolith.Query{Server: s.id, Metrics: []string{"status.Questions"}, From: origin, To: origin.Add(2 * time.Hour), Step: time.Minute}); len(r.Series) != 1 {
			t.Error("nothing is read")
		}
	})
}

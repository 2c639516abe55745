package poller

import (
	"context"
	"slices"
	"testing"
	"time"

	"monolith"
	"monolith/internal/replay"
)

// Of 200 servers 20 hang, in two ways. The others are polled on time, each of them, as if these were not there.
func TestHangingServersCostOthersNothing(t *testing.T) {
	t.Parallel()
	const all, sick, rounds = 200, 20, 4
	const interval = 2 * time.Second
	rec := healthy()
	snapshots := make(chan *monolith.Snapshot, 10*all)
	p, err := New(Config{
		Collectors: []*Collector{statusCollector(), replicationCollector()},
		Handle:     []func(context.Context, *monolith.Snapshot){func(_ context.Context, s *monolith.Snapshot) { snapshots <- s }},
	})
	if err != nil {
		t.Fatal(err)
	}
	var servers []monolith.Server
	for i := range all {
		s := replay.Start(t, rec, replay.Plugin("mysql_native_password"))
		switch {
		case i < sick/2:
			s.Set(replay.Hang().On("SHOW GLOBAL STATUS"))
		case i < sick:
			s.Set(replay.Silent())
		}
		server := recordedServer(t, s)
		server.ID = monolith.ServerID(i + 1)
		server.Schedules[monolith.Fast] = "@every " + interval.String()
		servers = append(servers, server)
	}
	p.Apply(servers, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Run(ctx) }()
	polls, failed := map[monolith.ServerID][]*monolith.Snapshot{}, 0
	deadline := time.After(30 * time.Second)
	for done := 0; done < all-sick; {
		select {
		case s := <-snapshots:
			if s.Server <= sick {
				if s.Polled {
					t.Errorf("server %d hangs and is polled", s.Server)
				}
				failed++
				continue
			}
			polls[s.Server] = append(polls[s.Server], s)
			if len(polls[s.Server]) == rounds {
				done++
			}
		case <-deadline:
			t.Fatalf("%d of %d servers were polled %d times", done, all-sick, rounds)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	var late []time.Duration
	lost := 0
	for id, list := range polls {
		for i, s := range list {
			if i < 2 {
				continue // all 200 connect at once first
			}
			late = append(late, s.Taken.Sub(s.At))
			if !s.Polled || len(s.Problems) > 0 {
				t.Logf("server %d: %+v", id, describe(s))
				lost++
			}
			if s.At.Sub(list[i-1].At) > interval {
				lost++
			}
		}
	}
	slices.Sort(late)
	if median := late[len(late)/2]; median > 500*time.Millisecond || lost > len(late)/20 { // with room for a machine under load
		t.Errorf("half of the polls are later than %v, %d of %d were lost", median, lost, len(late))
	}
	if failed < sick {
		t.Errorf("only %d failing polls", failed)
	}
	t.Logf("half of %d polls within %v, all within %v", len(late), late[len(late)/2], late[len(late)-1])
}

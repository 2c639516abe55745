package web

import (
	"context"
	"math"
	"strings"
	"sync"
	"time"

	"monolith"
	"monolith/formula"
	"monolith/graph"
)

// What the availability of a server is worked out from, and for how long it is good: open pages ask for it at
// each poll.
const (
	availabilitySpan = 30 * 24 * time.Hour
	availabilityStep = 10 * time.Minute
	availabilityGood = time.Minute
)

// availability remembers for a minute how many of their polls servers answered. Its zero value is ready.
type availability struct {
	mu    sync.Mutex
	known map[monolith.ServerID]knownAvailability
}

type knownAvailability struct {
	at    time.Time
	facts []fact
}

// of gives the share of the polls of the last day that a server answered with its status, and that of the last
// week and month beside it; nothing for one without polls in that time. One that turned the login away did not answer.
// Times in which Monolith itself did not poll count for nothing.
func (a *availability) of(ctx context.Context, history formula.Source, id monolith.ServerID, now time.Time) ([]fact, error) {
	a.mu.Lock()
	k, ok := a.known[id]
	a.mu.Unlock()
	if age := now.Sub(k.at); ok && age >= 0 && age < availabilityGood {
		return k.facts, nil
	}
	r, err := history.Read(ctx, monolith.Query{Server: id, Metrics: []string{"server.polled"}, From: now.Add(-availabilitySpan), To: now, Step: availabilityStep})
	if err != nil {
		return nil, err
	}
	facts := availabilityFacts(r, now)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil {
		a.known = map[monolith.ServerID]knownAvailability{}
	}
	for other, k := range a.known { // also of servers that are gone
		if age := now.Sub(k.at); age < 0 || age >= availabilityGood {
			delete(a.known, other)
		}
	}
	a.known[id] = knownAvailability{now, facts}
	return facts, nil
}

// noPolls is said of a server that no availability is known of.
func noPolls(srv *monolith.Server, now time.Time) fact {
	f := fact{Name: "Available", Value: "no polls yet"}
	if now.Sub(srv.Created) > availabilitySpan {
		f.Value = "no polls in 30 days"
	}
	return f
}

func availabilityFacts(r *monolith.Range, now time.Time) []fact {
	const day = 24 * time.Hour
	f := fact{Name: "Available", Title: "share of the polls of the last day that were answered"}
	for _, span := range []struct {
		name string
		long time.Duration
	}{{"", day}, {"7 d", 7 * day}, {"30 d", availabilitySpan}} {
		sum, steps := 0.0, 0
		first := int(now.Add(-span.long).Sub(r.Start) / r.Step)
		for i := range r.Series {
			for _, v := range r.Series[i].Avg[min(max(0, first), len(r.Series[i].Avg)):] {
				if !math.IsNaN(v) {
					sum, steps = sum+v, steps+1
				}
			}
		}
		if steps == 0 {
			continue
		}
		// Rounded down: 99.999 % is not all.
		share := graph.Format(math.Floor(1e4*sum/float64(steps)+1e-6)/100, "%")
		if span.name == "" {
			f.Value = share
			continue
		}
		if f.Detail != "" {
			f.Detail += ", "
		}
		f.Detail += strings.ReplaceAll(span.name+" "+share, " ", "\u00a0") // one figure is not parted
	}
	switch {
	case f.Value == "" && f.Detail == "":
		return nil
	case f.Value == "":
		f.Value = "–" // not polled since yesterday
	}
	return []fact{f}
}

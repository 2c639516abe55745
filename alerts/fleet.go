package alerts

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"monolith"
)

// The rules that the roll-up knows by their ids.
const (
	// RuleUnreachable is the rule that speaks for everything else of a server that can't be reached.
	RuleUnreachable = "server-unreachable"
	// RuleNetwork is the alert of the monitor itself: most servers went away at once.
	RuleNetwork = "monitor-network"
)

const networkTitle = "Most servers are out of reach at once"

// The bounds within which the loss of most servers is the monitor's own.
const (
	networkLeast  = 3                // servers at least
	networkWithin = 2 * time.Minute  // of one another
	networkAfter  = 15 * time.Second // each of them, so that one lost poll is none
)

// FleetServer is what the roll-up knows of a watched server.
type FleetServer struct {
	ID   monolith.ServerID
	Name string
	Gone time.Time // since when it can't be reached; zero: it can
	// Unheard says that it was not polled yet since Monolith started, so that nobody knows.
	Unheard bool
}

// NetworkGone finds the servers of which the monitor lost sight at once: at least half of all, and three, within two
// minutes. open says that the alert about it is open: it stays while half of them are gone, whenever they went, or may be.
func NetworkGone(servers []FleetServer, at time.Time, open bool) (gone []FleetServer, lost bool) {
	need := max(networkLeast, (len(servers)+1)/2)
	for _, s := range servers {
		if !s.Gone.IsZero() && at.Sub(s.Gone) >= networkAfter || open && s.Unheard {
			gone = append(gone, s)
		}
	}
	if len(gone) < need {
		return nil, false
	}
	if open {
		return gone, true
	}
	slices.SortFunc(gone, func(a, b FleetServer) int { return a.Gone.Compare(b.Gone) })
	for i := range gone {
		last := i
		for last+1 < len(gone) && gone[last+1].Gone.Sub(gone[i].Gone) <= networkWithin {
			last++
		}
		if last-i+1 >= need {
			return gone[i : last+1], true
		}
	}
	return nil, false
}

// networkAlert makes the alert about the monitor's own network.
func networkAlert(gone []FleetServer, all int, at time.Time) *monolith.Alert {
	names := make([]string, len(gone))
	for i, s := range gone {
		names[i] = s.Name
	}
	slices.Sort(names)
	listed := strings.Join(names[:min(20, len(names))], ", ")
	if len(names) > 20 {
		listed += fmt.Sprintf(" and %d more", len(names)-20)
	}
	n, total := float64(len(gone)), float64(all)
	return &monolith.Alert{
		AlertKey: monolith.AlertKey{Rule: RuleNetwork}, Title: networkTitle, Category: "availability",
		Level: monolith.LevelCritical, Peak: monolith.LevelCritical,
		Summary: fmt.Sprintf("%d of %d servers went out of reach within two minutes", len(gone), all),
		Text: fmt.Sprintf("%d of %d servers went out of reach within two minutes. It is more likely that Monolith lost its network than that all of them are down. Their own alerts are not told. "+
			"Out of reach: %s.", len(gone), all, listed),
		Formula: fmt.Sprintf("gone=%d >= servers=%d / 2", len(gone), all),
		Values: []monolith.AlertValue{
			{Name: "gone", Num: &n, Text: formatNumber(n, "servers"), Unit: "servers"},
			{Name: "servers", Num: &total, Text: formatNumber(total, "servers"), Unit: "servers"},
		},
		Remedy: &monolith.Remedy{Text: "Look at the network of the machine on which Monolith runs: its link, its route, its resolver, a firewall between it and the servers.",
			Checks: []string{"ip route", "ping -c 3 <gateway>", "getent hosts <server>"}},
		Opened: at, Changed: at,
	}
}

// causes are what speaks for other alerts.
type causes struct {
	network *monolith.Alert                       // nil: not open
	down    map[monolith.ServerID]*monolith.Alert // open alerts of RuleUnreachable
	source  func(a *monolith.Alert) monolith.ServerID
	leader  func(a *monolith.Alert) *monolith.Alert // of those of one machine that are about the same; nil: none
}

// parent finds the alert that speaks for another one, or nil: the monitor's network before a machine, a machine before its
// servers, a server before what is on it, a dead source before the channels of its replicas, and of what several servers
// say about one machine the first before the others.
func (c *causes) parent(a *monolith.Alert) *monolith.Alert {
	switch {
	case a.Rule == RuleNetwork:
		return nil
	case a.Rule == RuleUnreachable && c.network != nil:
		return c.network
	case a.Rule == RuleUnreachable:
		return c.ofMachine(a)
	}
	if down := c.down[a.Server]; down != nil {
		return down
	}
	if id := c.source(a); id != 0 && id != a.Server {
		return c.down[id]
	}
	return c.ofMachine(a)
}

func (c *causes) ofMachine(a *monolith.Alert) *monolith.Alert {
	if l := c.leader(a); l != a {
		return l
	}
	return nil
}

// channelRule reports whether a rule is about a channel that does not get on: what a dead source does to its replicas.
func channelRule(rule string) bool {
	switch rule {
	case "replica-io-thread-stopped", "replica-not-active", "replica-lag", "replication-error":
		return true
	}
	return false
}

// SourceOf gives the watched server that is the source of a channel of another one; 0 when it is not watched.
func (e *Engine) SourceOf(server monolith.ServerID, channel string) monolith.ServerID {
	e.mu.RLock()
	s := e.servers[server]
	e.mu.RUnlock()
	if s == nil {
		return 0
	}
	s.mu.Lock()
	state := s.state
	s.mu.Unlock()
	if state == nil {
		return 0
	}
	for i := range state.Replicas {
		if state.Replicas[i].Channel == channel {
			id, _, _ := e.sourceOf(&state.Replicas[i])
			return id
		}
	}
	return 0
}

// ReplicasOf gives the watched servers that replicate from a server.
func (e *Engine) ReplicasOf(server monolith.ServerID) []monolith.ServerID {
	e.mu.RLock()
	all := make([]*serverState, 0, len(e.servers))
	for _, s := range e.servers {
		all = append(all, s)
	}
	e.mu.RUnlock()
	var out []monolith.ServerID
	for _, s := range all {
		s.mu.Lock()
		state := s.state
		s.mu.Unlock()
		if state == nil || s.id == server {
			continue
		}
		for i := range state.Replicas {
			if id, _, ok := e.sourceOf(&state.Replicas[i]); ok && id == server {
				out = append(out, s.id)
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

// Gone gives since when each server can't be reached, and which ones were polled since the engine was made.
func (e *Engine) Gone() (since map[monolith.ServerID]time.Time, polled map[monolith.ServerID]bool) {
	e.mu.RLock()
	all := make([]*serverState, 0, len(e.servers))
	for _, s := range e.servers {
		all = append(all, s)
	}
	e.mu.RUnlock()
	since, polled = make(map[monolith.ServerID]time.Time, len(all)), make(map[monolith.ServerID]bool, len(all))
	for _, s := range all {
		s.mu.Lock()
		polled[s.id] = s.state != nil
		if !s.unread.IsZero() && s.state != nil && !s.state.Up {
			since[s.id] = s.unread
		}
		s.mu.Unlock()
	}
	return since, polled
}

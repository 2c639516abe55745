package alerts

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	"monolith"
)

// scopeHost is the scope, in a rule file, of a rule that judges the machine.
const scopeHost = "host"

// hostFade is for how long an alert stays under one of the same machine that was closed or lowered: servers of one
// machine are judged up to a minute apart, and the others' alerts mostly follow.
const hostFade = 3 * time.Minute

// hostThing is what alerts of several servers have in common: one of them speaks for all.
type hostThing struct{ host, rule, instance string }

// hostThingOf gives what an alert is about when that is the machine: its rule judges the machine itself, or the server
// can't be reached at an address that it shares with others. s.mu is held.
func (s *Service) hostThingOf(a *monolith.Alert) (hostThing, bool) {
	srv := s.servers[a.Server]
	if srv == nil || srv.Paused {
		return hostThing{}, false
	}
	host := ""
	switch {
	case a.Rule == RuleUnreachable:
		host = addressOf(srv)
	case s.aboutHost(a.Rule):
		host = machineOf(srv)
	}
	return hostThing{host, a.Rule, a.Instance}, host != ""
}

// aboutHost reports whether a rule judges the machine itself.
func (s *Service) aboutHost(rule string) bool {
	r := s.engine.Catalogue().byID[rule]
	return r != nil && r.ofHost
}

// machineOf gives the machine whose values a server's host source reads; "" when it has none.
func machineOf(srv *monolith.Server) string {
	if srv.Host == "none" {
		return ""
	}
	return srv.Host // "local" is one machine; a source of a remote one will be its address
}

// addressOf gives the host that a server is reached at, where one address is one machine. Tunnels end at loopback
// addresses, so that those say nothing.
func addressOf(srv *monolith.Server) string {
	host := strings.ToLower(srv.Endpoint.Host)
	if addr, err := netip.ParseAddr(host); err == nil && addr.IsLoopback() || host == "localhost" {
		return ""
	}
	return host
}

// leaders gives of each thing that alerts of several servers are about the one that speaks for the others. The choice
// goes by what the store keeps too, so that it is the same after a restart. s.mu is held.
func (s *Service) leaders(c *causes, at time.Time) map[hostThing]*monolith.Alert {
	all := map[hostThing][]*monolith.Alert{}
	speaks := map[monolith.AlertID]bool{}
	for _, a := range s.open {
		thing, ok := s.hostThingOf(a)
		if !ok || a.Rule != RuleUnreachable && c.down[a.Server] != nil {
			continue // of the latter the server's own alert speaks
		}
		all[thing] = append(all[thing], a)
		if a.Parent != 0 {
			speaks[a.Parent] = true
		}
	}
	out := map[hostThing]*monolith.Alert{}
	for thing, list := range all {
		if len(list) < 2 || thing.rule == RuleUnreachable && !s.hostGone(thing.host, c) {
			continue
		}
		out[thing] = slices.MinFunc(list, func(a, b *monolith.Alert) int {
			return cmp.Or(first(!a.Maintenance, !b.Maintenance), -cmp.Compare(felt(a, at), felt(b, at)), first(speaks[a.ID], speaks[b.ID]),
				a.Opened.Compare(b.Opened), cmp.Compare(a.Server, b.Server))
		})
	}
	return out
}

// first sorts what has a property before what has not.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// felt is the level that an alert counts with beside others of its machine: one that was just lowered still counts as
// before, since theirs are lowered a moment later.
func felt(a *monolith.Alert, at time.Time) monolith.Level {
	if at.Sub(a.Changed).Abs() < hostFade {
		return a.Peak
	}
	return a.Level
}

// hostGone reports whether all watched servers of an address, two at least, went out of reach together. s.mu is held.
func (s *Service) hostGone(host string, c *causes) bool {
	since, polled := s.engine.Gone()
	var earliest, latest time.Time
	n := 0
	for id, srv := range s.servers {
		if srv.Paused || addressOf(srv) != host {
			continue
		}
		gone := since[id]
		if down := c.down[id]; gone.IsZero() && down != nil && !polled[id] {
			gone = down.Opened // not polled yet since Monolith started: as it was
		}
		if gone.IsZero() {
			return false
		}
		if n == 0 || gone.Before(earliest) {
			earliest = gone
		}
		if gone.After(latest) {
			latest = gone
		}
		n++
	}
	return n > 1 && latest.Sub(earliest) <= networkWithin
}

// fades reports whether an alert stays under one of the same machine that was closed a moment ago. s.mu is held.
func (s *Service) fades(a *monolith.Alert, at time.Time) bool {
	f, ok := s.faded[a.Parent]
	return ok && f.rule == a.Rule && at.Sub(f.at).Abs() < hostFade
}

// fade is the end of an alert that spoke for others of its machine.
type fade struct {
	rule string
	at   time.Time
}

// noteFade notes that an alert about a machine closed. One that closes because its server is not watched or judged any
// more says nothing about the machine. s.mu is held.
func (s *Service) noteFade(a *monolith.Alert, at time.Time) {
	for id, f := range s.faded {
		if at.Sub(f.at).Abs() >= hostFade {
			delete(s.faded, id)
		}
	}
	if _, ok := s.hostThingOf(a); ok && a.ID != 0 && (a.Reason == monolith.ClosedCleared || a.Reason == monolith.ClosedNotApplicable) {
		s.faded[a.ID] = fade{a.Rule, at}
	}
}

// loadFades takes alerts whose cause was closed while Monolith was away for ones whose cause is closed now. s.mu is held.
func (s *Service) loadFades(at time.Time) {
	open := map[monolith.AlertID]bool{}
	for _, a := range s.open {
		open[a.ID] = true
	}
	for _, a := range s.open {
		if a.Parent != 0 && !open[a.Parent] && (a.Rule == RuleUnreachable || s.aboutHost(a.Rule)) {
			s.faded[a.Parent] = fade{a.Rule, at}
		}
	}
}

// hostWords names the machine of an alert and the other servers on it; "" when there are none. s.mu is held.
func (s *Service) hostWords(a *monolith.Alert) string {
	thing, ok := s.hostThingOf(a)
	if !ok {
		return ""
	}
	of := machineOf
	if a.Rule == RuleUnreachable {
		of = addressOf
	}
	var names []string
	for id, srv := range s.servers {
		if id != a.Server && !srv.Paused && of(srv) == thing.host {
			names = append(names, srv.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	listed := strings.Join(names[:min(20, len(names))], ", ")
	if len(names) > 20 {
		listed += " …"
	}
	host := thing.host
	if a.Rule != RuleUnreachable {
		host = cmp.Or(s.engine.hostname(a.Server), host)
	}
	return "On the same host " + quoted(host) + ": " + listed + "."
}

// hostname gives the name that a server's machine has by its host source; "" when that is not known.
func (e *Engine) hostname(id monolith.ServerID) string {
	e.mu.RLock()
	s := e.servers[id]
	e.mu.RUnlock()
	if s == nil {
		return ""
	}
	s.mu.Lock()
	state := s.state
	s.mu.Unlock()
	if state == nil {
		return ""
	}
	name, _, _ := state.Text(monolith.Metric{Name: "host.hostname"})
	return name
}

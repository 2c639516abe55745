package alerts

import (
	"cmp"
	"fmt"
	"strings"

	"monolith"
	"monolith/alerts/notify"
)

// Subject gives what is known of a watched server, from memory; nil for one that is not watched. The texts of the server are
// as it gave them.
func (s *Service) Subject(id monolith.ServerID) *notify.Subject {
	s.mu.Lock()
	server := s.servers[id]
	s.mu.Unlock()
	if server == nil {
		return nil
	}
	out := &notify.Subject{Name: server.Name, Group: server.Group, Address: server.Endpoint.Address(),
		Environment: cmp.Or(server.Environment, s.engine.environment(server.Group))}
	state := s.cfg.State(id)
	if state == nil {
		return out
	}
	if !state.Identity.IsZero() {
		out.Version = state.Identity.String()
	}
	out.Role = s.roleOf(id, state)
	if out.Role == "" && server.Role == "primary" {
		out.Role = server.Role // nobody reads from it, but that is what it is there for
	}
	return out
}

// roleOf says in words what a server is: "replica of db1", "source of 2 replicas".
func (s *Service) roleOf(id monolith.ServerID, state *monolith.State) string {
	var parts []string
	for i := range state.Replicas {
		r := &state.Replicas[i]
		name := r.SourceHost
		if source := s.engine.SourceOf(id, r.Channel); source != 0 {
			s.mu.Lock()
			if srv := s.servers[source]; srv != nil {
				name = srv.Name
			}
			s.mu.Unlock()
		}
		if i == 3 && len(state.Replicas) > 4 {
			parts = append(parts, fmt.Sprintf("%d more", len(state.Replicas)-3))
			break
		}
		parts = append(parts, shorten(name, 80))
	}
	var role string
	if len(parts) > 0 {
		role = "replica of " + strings.Join(parts, ", ")
	}
	switch n := len(s.engine.ReplicasOf(id)); {
	case n == 1:
		role += and(role) + "source of 1 replica"
	case n > 1:
		role += and(role) + fmt.Sprintf("source of %d replicas", n)
	}
	return role
}

func and(before string) string {
	if before == "" {
		return ""
	}
	return " and "
}

// About gives why a rule matters; "" for one that there is not.
func (s *Service) About(rule string) string {
	if r := s.engine.Catalogue().byID[rule]; r != nil {
		return strings.TrimSpace(r.info.About)
	}
	return ""
}

// environment gives the environment that a group gives its servers.
func (e *Engine) environment(group string) string {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return e.groups[group].Environment
}

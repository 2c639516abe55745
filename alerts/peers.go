package alerts

import (
	"strings"

	"monolith"
)

// peer is what other servers' rules may know of a server.
type peer struct {
	uuid     string
	serverID uint32
	hosts    [2]string // the address that Monolith uses, and the host name by its own account
	port     int
	group    string
	role     string
	writable bool
	gtids    *monolith.GTIDs
}

// publish tells other servers' rules about this one.
func (e *Engine) publish(ev *evaluator) {
	id := ev.state.Identity
	p := peer{uuid: id.UUID, serverID: id.ServerID, hosts: [2]string{ev.server.Endpoint.Host, id.Hostname}, port: ev.server.Endpoint.Port,
		group: ev.server.Group, role: ev.server.Role, gtids: ev.state.GTIDs}
	if p.port == 0 {
		p.port = max(id.Port, 3306)
	}
	p.writable, _ = writable(ev).Bool()
	e.peerMu.Lock()
	defer e.peerMu.Unlock()
	e.peers[ev.srv.id] = p
}

// peerOf finds the source of a channel among the watched servers: by its server_uuid, else by its address.
func (e *Engine) peerOf(rep *monolith.Replica) (peer, bool) {
	_, p, ok := e.sourceOf(rep)
	return p, ok
}

func (e *Engine) sourceOf(rep *monolith.Replica) (monolith.ServerID, peer, bool) {
	e.peerMu.RLock()
	defer e.peerMu.RUnlock()
	if rep.SourceUUID != "" {
		for id, p := range e.peers {
			if p.uuid == rep.SourceUUID {
				return id, p, true
			}
		}
	}
	for id, p := range e.peers {
		if p.port != rep.SourcePort || rep.SourceServerID != 0 && p.serverID != 0 && p.serverID != rep.SourceServerID {
			continue
		}
		for _, h := range p.hosts {
			if h != "" && strings.EqualFold(h, rep.SourceHost) {
				return id, p, true
			}
		}
	}
	return 0, peer{}, false
}

// writablePrimaries counts the servers of a group that are meant to be primary and accept writes.
func (e *Engine) writablePrimaries(group string) int {
	e.peerMu.RLock()
	defer e.peerMu.RUnlock()
	n := 0
	for _, p := range e.peers {
		if p.group == group && p.role == "primary" && p.writable {
			n++
		}
	}
	return n
}

package monolith

import "time"

// Change is one step of a text or variable: what it was, what it became, when this was first seen.
// From is "" and First is true where the name was seen for the first time.
type Change struct {
	ID     int64     `json:"id"`
	Server ServerID  `json:"-"`
	At     time.Time `json:"at"`
	Name   string    `json:"name"` // a metric name: variable.max_connections, status.Rpl_semi_sync_master_status …
	From   string    `json:"from"`
	To     string    `json:"to"`
	First  bool      `json:"first,omitempty"`
	Gone   bool      `json:"gone,omitempty"` // the server no longer has the name
}

// MarkKind says what a mark on the time axis stands for.
type MarkKind string

// The kinds of mark. Alert marks come from the alert engine.
const (
	MarkRestart  MarkKind = "restart"
	MarkVariable MarkKind = "variable"
	MarkVersion  MarkKind = "version"
	MarkFailover MarkKind = "failover" // another server answers, people changed the address, or a replica changed its source, got one or lost it
	MarkAlert    MarkKind = "alert"
	MarkRename   MarkKind = "rename" // people gave the server another name
	MarkNote     MarkKind = "note"   // written by a person or a deploy script; the only kind that people make and remove
)

// Mark is an event on the time axis of a server's graphs, or of all servers' (Server 0: a note for a
// whole group or for everything).
type Mark struct {
	ID     int64     `json:"id"`
	Server ServerID  `json:"-"`
	Group  string    `json:"group,omitempty"` // with Server 0: the group it is for; "" for all
	At     time.Time `json:"at"`
	Kind   MarkKind  `json:"kind"`
	Text   string    `json:"text"`
}

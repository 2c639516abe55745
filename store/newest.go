package store

import (
	"time"

	"monolith"
	"monolith/store/history"
)

// newest is the last change of a server's texts in one namespace.
type newest struct {
	rank     int64 // orders those that were loaded; 0 for one that came since
	id       history.MetricID
	at       int64 // unix ms
	from, to string
	gone     bool
}

// changed remembers a step as the newest of its namespace. First sights are no changes, and variables that
// change by themselves tell nobody anything. The lock is held.
func (t *tail) changed(m monolith.Metric, n newest) {
	space := m.Namespace()
	if space == "variable" && restless(m.Name[len("variable."):]) {
		return
	}
	if old, ok := t.newest[space]; ok && n.rank > 0 && n.rank < old.rank {
		return
	}
	if t.newest == nil {
		t.newest = map[string]newest{}
	}
	t.newest[space] = n
}

// LastChanges gives each server's newest change in a namespace, such as "variable", without an ID; servers
// without one are left out, and so are changes of variables that change by themselves. It touches no
// SQL: it costs the same for a thousand servers, and works while the store can't be reached.
func (db *DB) LastChanges(namespace string) map[monolith.ServerID]monolith.Change {
	changes := map[monolith.ServerID]monolith.Change{}
	for _, t := range db.tails() {
		t.mu.Lock()
		n, ok := t.newest[namespace]
		t.mu.Unlock()
		if !ok {
			continue
		}
		m, _ := db.names.metric(n.id)
		changes[t.id] = monolith.Change{Server: t.id, At: time.UnixMilli(n.at).UTC(), Name: m.String(), From: n.from, To: n.to, Gone: n.gone}
	}
	return changes
}

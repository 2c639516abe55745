package monolith

import "time"

// SavedGraph is a graph that a person made. Definition is text in the graph catalogue's form; the store
// does not read it.
type SavedGraph struct {
	ID         int64  `json:"id"`
	Title      string `json:"title"`
	Definition string `json:"definition"`
	// Servers whose pages show it: nil is every server, one is pinned to that server, several are drawn
	// together on one graph. Ids, so that a rename breaks no graph.
	Servers  []ServerID `json:"-"`
	Page     string     `json:"page"` // page it is pinned to: "overview", "graphs" …
	Position int        `json:"position"`
	Created  time.Time  `json:"created"`
	Updated  time.Time  `json:"updated"`
}

// ChangeQuery asks for steps of texts and variables, newest first.
type ChangeQuery struct {
	Server   ServerID   // 0: of all servers
	Servers  []ServerID // of these; empty: of all. At most 5,000
	From, To time.Time  // From ≤ at < To; a zero time leaves that end open
	// Name is a prefix of the metric name: "variable." or "variable.innodb_". A whole name also
	// matches only itself and longer ones; use Exact for one metric.
	Name  string
	Exact bool
	// First includes the first sighting of a name, which is not a change of anything. A server that is
	// added brings hundreds of them.
	First  bool
	Limit  int   // at most; 0 is 200, the most is 5,000
	Before int64 // only ids below this one: the page after a Change.ID; 0: from the newest
}

// MarkQuery asks for marks on the time axis, oldest first.
type MarkQuery struct {
	// Servers and Groups choose whose marks; marks for everything are always included. With both empty
	// all marks are given. A mark of a group counts for its sub-groups.
	Servers  []ServerID
	Groups   []string
	From, To time.Time  // From ≤ at < To; a zero time leaves that end open
	Kinds    []MarkKind // empty: every kind
	Limit    int        // the newest of them when there are more; 0 is 500, the most is 5,000
}

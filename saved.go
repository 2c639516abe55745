package monolith

import "time"

// SavedGraph is a graph that people made themselves.
type SavedGraph struct {
	ID       string `json:"id"`         // kebab-case, unique among saved graphs; never that of a built-in graph
	Title    string `json:"title"`      // for lists; the definition has it too
	Position int    `json:"position"`   // order on the page, set by people
	Source   string `json:"definition"` // YAML as package graph reads it; checked before it is saved
	// Servers are drawn together on one graph; nil: the graph belongs to every server's page and draws
	// that server. Ids, so that a rename breaks no graph.
	Servers []ServerID `json:"-"`
	Created time.Time  `json:"created"`
	Updated time.Time  `json:"updated"`
}

// ChangeQuery asks for changes of one server, newest first.
type ChangeQuery struct {
	Server   ServerID
	Prefix   string    // of the metric name: "variable." or "variable.max_connections"; "" is everything
	Exact    bool      // Prefix is the whole name
	From, To time.Time // From ≤ At < To; zero: open
	First    bool      // also the first sightings, which are no changes
	Before   int64     // only changes with a smaller ID: the cursor of the next page; 0: from the newest
	Limit    int       // at most so many; 0: 100
}

// MarkQuery asks for marks, oldest first.
type MarkQuery struct {
	// Servers whose marks are wanted; nil: of every server. Notes that are for all servers come along, and
	// so do those for a group that is, or encloses, one of Groups.
	Servers  []ServerID
	Groups   []string
	From, To time.Time  // From ≤ At < To; zero: open
	Kinds    []MarkKind // nil: every kind
	After    int64      // only marks behind the one with this ID in the order (At, ID): the cursor; 0: from the oldest
	Limit    int        // at most so many; 0: 1000
}

package web

import (
	"context"
	"time"

	"monolith"
	"monolith/formula"
)

// What the pages and the API need from the rest of the program, in pieces by use. *store.DB has all of
// [Store], *poller.Poller all of [Poller].

// Inventory reads the watched servers in the order that people gave them: by group, then position.
type Inventory interface {
	Servers(ctx context.Context) ([]monolith.Server, error)
	// Server finds one by its exact name, with its password; [monolith.ErrNotFound] when there is none.
	Server(ctx context.Context, name string) (monolith.Server, error)
}

// Editor changes the watched servers. AddServer sets ID, Position, Created and Updated; both give
// [monolith.ErrConflict] when the name is taken. DeleteServer takes the history along.
type Editor interface {
	AddServer(ctx context.Context, s *monolith.Server) error
	UpdateServer(ctx context.Context, s *monolith.Server) error
	DeleteServer(ctx context.Context, id monolith.ServerID) error
}

// Groups reads and changes the tree that servers stand in. PutGroup makes or replaces one; a group with
// servers or sub-groups can't be deleted: [monolith.ErrConflict].
type Groups interface {
	Groups(ctx context.Context) ([]monolith.Group, error)
	PutGroup(ctx context.Context, g monolith.Group) error
	DeleteGroup(ctx context.Context, path string) error
}

// Arranger moves and orders groups and servers.
type Arranger interface {
	MoveGroup(ctx context.Context, from, to string) error
	OrderGroups(ctx context.Context, paths []string) error
	OrderServers(ctx context.Context, group string, names []string) error
}

// History reads stored values.
type History interface {
	formula.Source
	// Metrics lists every metric that the server ever had.
	Metrics(ctx context.Context, id monolith.ServerID) ([]monolith.Metric, error)
}

// Timeline reads texts and variables as they changed.
type Timeline interface {
	Changes(ctx context.Context, q monolith.ChangeQuery) ([]monolith.Change, error)
	// LastChanges gives each server's newest change in a namespace, without ID, from memory.
	LastChanges(namespace string) map[monolith.ServerID]monolith.Change
	// TextsAt gives the texts of a namespace in force at a moment, by metric name.
	TextsAt(ctx context.Context, id monolith.ServerID, namespace string, at time.Time) (map[string]string, error)
}

// Marks keeps the events on the time axis. AddMark sets the ID.
type Marks interface {
	Marks(ctx context.Context, q monolith.MarkQuery) ([]monolith.Mark, error)
	AddMark(ctx context.Context, m *monolith.Mark) error
	DeleteMark(ctx context.Context, id int64) error
}

// Retention reads and sets how long history is kept.
type Retention interface {
	Retention(ctx context.Context) (monolith.Retention, error)
	SetRetention(ctx context.Context, r monolith.Retention) error
	Estimate(ctx context.Context, r monolith.Retention) (monolith.Estimate, error)
}

// SavedGraphs keeps the graphs that people made. PutGraph with ID 0 makes one and sets the ID.
type SavedGraphs interface {
	Graphs(ctx context.Context) ([]monolith.SavedGraph, error)
	PutGraph(ctx context.Context, g *monolith.SavedGraph) error
	DeleteGraph(ctx context.Context, id int64) error
}

// Health says how the store is.
type Health interface {
	Ping(ctx context.Context) error
	Usage(ctx context.Context) (monolith.Usage, error)
	// Stats are counters since the start, and what waits to be stored. They are there while the store is not.
	Stats() monolith.StoreStatistics
}

// Store is everything that is kept.
type Store interface {
	Inventory
	Editor
	Groups
	Arranger
	History
	Timeline
	Marks
	Retention
	SavedGraphs
	Health
}

// States says what is known of a server now.
type States interface {
	// State is nil before the first poll of a server.
	State(id monolith.ServerID) *monolith.State
	Collectors(id monolith.ServerID) []monolith.CollectorStatus
}

// Prober contacts servers on demand.
type Prober interface {
	// PollNow lets every collector of the server run as soon as possible; it does not wait. The
	// error is [monolith.ErrNotFound] for a server that is paused.
	PollNow(id monolith.ServerID) error
	// Test tries a connection that need not be a watched server. Failures are in the report.
	Test(ctx context.Context, s monolith.Server) monolith.TestReport
}

// Poller is everything that polls.
type Poller interface {
	States
	Prober
	// Stats are counters since the start.
	Stats() monolith.Statistics
}

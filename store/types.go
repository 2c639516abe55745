package store

import (
	"time"

	"monolith"
)

// ChangeQuery asks for steps of texts and variables, newest first.
type ChangeQuery struct {
	Server   monolith.ServerID // 0: of all servers
	From, To time.Time         // From ≤ at < To; a zero time leaves that end open
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
	Servers  []monolith.ServerID
	Groups   []string
	From, To time.Time           // From ≤ at < To; a zero time leaves that end open
	Kinds    []monolith.MarkKind // empty: every kind
	Limit    int                 // the newest of them when there are more; 0 is 500, the most is 5,000
}

// SeenMetric is a metric that a server has had, and the polls that first and last brought it. Last
// is kept up to an hour's exactness.
type SeenMetric struct {
	Metric      monolith.Metric
	Kind        monolith.Kind
	First, Last time.Time
}

// Retention is how long history is kept. What is older than a tier's days is deleted; RawBytes is a
// budget for the raw tier on disk. Whichever comes first wins.
type Retention struct {
	RawDays       int   `json:"raw_days"`
	TenMinuteDays int   `json:"ten_minute_days"`
	HourDays      int   `json:"hour_days"` // also texts, variables and marks
	RawBytes      int64 `json:"raw_bytes"`
}

// DefaultRetention is 14 days of raw values in at most 20 GB, 13 months of ten-minute and five years of
// hourly values.
func DefaultRetention() Retention {
	return Retention{RawDays: 14, TenMinuteDays: 396, HourDays: 1826, RawBytes: 20 << 30}
}

// Estimate says what a retention takes in the long run with the present servers, and what saving it
// would delete now.
type Estimate struct {
	Tiers []TierEstimate `json:"tiers"`
	Bytes int64          `json:"bytes"` // of all tiers once they are full
	// BudgetDays is how many days of raw values RawBytes holds at the present growth; 0: unknown, nothing
	// was packed yet.
	BudgetDays float64 `json:"budget_days"`
	Deletes    int64   `json:"deletes"` // bytes that would be deleted now
}

// TierEstimate is one tier of an [Estimate].
type TierEstimate struct {
	Tier        string    `json:"tier"`
	BytesPerDay float64   `json:"bytes_per_day"` // measured on the last full days; 0: nothing to go by yet
	Bytes       int64     `json:"bytes"`         // when full
	Deletes     int64     `json:"deletes"`       // bytes that would go now
	Oldest      time.Time `json:"oldest,omitzero"`
	NewOldest   time.Time `json:"new_oldest,omitzero"` // oldest value afterwards
}

// Usage says what the store takes on disk.
type Usage struct {
	Engine string `json:"engine"`        // "SQLite 3.46.0", "MariaDB 10.11.6"
	Path   string `json:"path"`          // the file, or host and database
	Bytes  int64  `json:"bytes"`         // all of it, with indexes and free pages
	WAL    int64  `json:"wal,omitempty"` // of SQLite's write-ahead log, not in Bytes
	Free   int64  `json:"free"`          // pages inside that will be used again
	// Tiers holds head, raw, 10m and 1h, in this order; bytes are payloads.
	Tiers   []TierUsage   `json:"tiers"`
	Servers []ServerUsage `json:"servers"`
	// BytesPerDay is the growth of all servers over the last day, measured.
	BytesPerDay float64    `json:"bytes_per_day"`
	Spool       SpoolUsage `json:"spool"`
	LastError   string     `json:"last_error,omitempty"` // of the background work; "" when the last attempt worked
	LastErrorAt time.Time  `json:"last_error_at,omitzero"`
	LastCommit  time.Time  `json:"last_commit,omitzero"`
}

// TierUsage is one tier of [Usage].
type TierUsage struct {
	Tier   string    `json:"tier"`
	Rows   int64     `json:"blocks"`
	Bytes  int64     `json:"bytes"`
	Oldest time.Time `json:"oldest,omitzero"`
}

// ServerUsage is what one server's history takes.
type ServerUsage struct {
	Server      monolith.ServerID `json:"-"`
	Name        string            `json:"server"`
	Bytes       int64             `json:"bytes"`
	BytesPerDay float64           `json:"bytes_per_day"` // measured over the last day
}

// SpoolUsage is what waits to be committed.
type SpoolUsage struct {
	Polls   int       `json:"polls"`
	Bytes   int64     `json:"bytes"`
	Limit   int64     `json:"limit"`
	Oldest  time.Time `json:"oldest,omitzero"`
	Dropped uint64    `json:"dropped"` // polls lost since the start because the spool was full
}

// SavedGraph is a graph that a person made. Definition is text in the graph catalogue's form; the store
// does not read it.
type SavedGraph struct {
	ID         int64             `json:"id"`
	Title      string            `json:"title"`
	Definition string            `json:"definition"`
	Server     monolith.ServerID `json:"-"`    // pinned to this server's page; 0: shown for every server
	Page       string            `json:"page"` // page it is pinned to: "overview", "graphs" …
	Position   int               `json:"position"`
	Created    time.Time         `json:"created"`
	Updated    time.Time         `json:"updated"`
}

// Stats are figures of the store since it was opened, for the program's own metrics.
type Stats struct {
	Appended, Committed, Dropped   uint64        // polls
	Commits, CommitErrors          uint64        // transactions
	CommitTime                     time.Duration // spent in commits, in all
	Packs, PackErrors              uint64        // tails packed into blocks
	PackTime                       time.Duration
	PurgedRows                     uint64
	SpoolPolls                     int
	SpoolBytes, TailBytes, WALSize int64
	LastCommit                     time.Time
	Reads                          uint64
	ReadTime                       time.Duration
}

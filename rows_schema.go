package monolith

import "time"

// Database is a schema that the account sees, also an empty one.
type Database struct {
	Name   string `json:"name"`
	System bool   `json:"system"` // belongs to the server
}

// OpenGrant is a right on a schema that everybody has: granted to the anonymous user or to PUBLIC (MariaDB ≥ 10.11).
type OpenGrant struct {
	User   string `json:"user"` // "" or PUBLIC
	Host   string `json:"host"`
	Schema string `json:"schema"` // as granted: a pattern with % and _
	Test   bool   `json:"test"`   // test, test_%, test\_%: what installations open by themselves
}

// AutoIncrement is an AUTO_INCREMENT column and how much of its type is used up.
type AutoIncrement struct {
	Schema string  `json:"schema"`
	Table  string  `json:"table"`
	Column string  `json:"column"`
	Type   string  `json:"type"`  // int unsigned
	Value  float64 `json:"value"` // the last one given
	Max    float64 `json:"max"`
	Share  float64 `json:"share"` // per cent
	Rows   int64   `json:"rows"`  // the server's estimate
	// PerDay is the growth since the reading before, and DaysLeft how long the rest lasts at that; nil: there was none,
	// or for DaysLeft nothing grows.
	PerDay   *float64  `json:"per_day"`
	DaysLeft *float64  `json:"days_left"`
	Taken    time.Time `json:"taken"`
}

// TableWithoutKey is a base table with neither a primary key nor a unique one without NULLs.
type TableWithoutKey struct {
	Schema string `json:"schema"`
	Table  string `json:"table"`
	Engine string `json:"engine"`
	Rows   int64  `json:"rows"` // the server's estimate
	Bytes  int64  `json:"bytes"`
}

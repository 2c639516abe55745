package monolith

import "time"

// Retention is how long history is kept. What is older than a tier's days is deleted; RawBytes is a
// budget for the raw tier on disk. Whichever comes first wins.
type Retention struct {
	RawDays       int   `json:"raw_days"`
	TenMinuteDays int   `json:"ten_minute_days"`
	HourDays      int   `json:"hour_days"` // also texts, variables and marks
	RawBytes      int64 `json:"raw_bytes"`
	// AlertDays is how long closed alerts are kept, with their events, and DeliveryDays how long messages that were sent
	// or given up.
	AlertDays    int `json:"alert_days"`
	DeliveryDays int `json:"delivery_days"`
}

// DefaultRetention is 14 days of raw values in at most 20 GB, 13 months of ten-minute and five years of
// hourly values, 400 days of alerts and 30 days of messages.
func DefaultRetention() Retention {
	return Retention{RawDays: 14, TenMinuteDays: 396, HourDays: 1826, RawBytes: 20 << 30, AlertDays: 400, DeliveryDays: 30}
}

// Validate gives an [InvalidError] naming the field that makes no sense.
func (r Retention) Validate() error {
	const most = 36525 // a hundred years
	for _, f := range []struct {
		name  string
		value int
	}{{"raw_days", r.RawDays}, {"ten_minute_days", r.TenMinuteDays}, {"hour_days", r.HourDays},
		{"alert_days", r.AlertDays}, {"delivery_days", r.DeliveryDays}} {
		if f.value < 1 || f.value > most {
			return Invalid(f.name, "history is kept from 1 to 36525 days")
		}
	}
	const shorter = "a roll-up must be kept at least as long as what it is made of"
	switch {
	case r.TenMinuteDays < r.RawDays:
		return Invalid("ten_minute_days", shorter, "give at least as many days as raw_days")
	case r.HourDays < r.TenMinuteDays:
		return Invalid("hour_days", shorter, "give at least as many days as ten_minute_days")
	case r.RawBytes < 16<<20:
		return Invalid("raw_bytes", "less than 16 MiB does not hold a useful history", "give at least 16777216")
	}
	return nil
}

// Estimate says what a retention takes in the long run with the present servers, and what saving it
// would delete now.
type Estimate struct {
	Tiers []TierEstimate `json:"tiers"`
	Known bool           `json:"known"`          // of every tier, and so Bytes; a store without history tells nothing yet
	Bytes int64          `json:"bytes,omitzero"` // of all tiers once they are full
	// BudgetDays is how many days of raw values RawBytes holds at the present growth; 0: not known yet.
	BudgetDays float64 `json:"budget_days,omitzero"`
	Deletes    int64   `json:"deletes"` // bytes that would be deleted now
}

// TierEstimate is one tier of an [Estimate].
type TierEstimate struct {
	Tier string `json:"tier"`
	// Known says that BytesPerDay and Bytes have something to go by: what was written lately, or the first
	// quarter of an hour of a server that has no more yet.
	Known       bool      `json:"known"`
	BytesPerDay float64   `json:"bytes_per_day,omitzero"`
	Bytes       int64     `json:"bytes,omitzero"` // when full
	Deletes     int64     `json:"deletes"`        // bytes that would go now
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
	// BytesPerDay is the growth of all servers, measured on what was written lately; 0: not known yet.
	BytesPerDay float64    `json:"bytes_per_day,omitzero"`
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
	Server      ServerID `json:"-"`
	Name        string   `json:"server"`
	Bytes       int64    `json:"bytes"`
	BytesPerDay float64  `json:"bytes_per_day,omitzero"` // as in [Usage]; 0: not known yet
}

// SpoolUsage is what waits to be committed.
type SpoolUsage struct {
	Polls   int       `json:"polls"`
	Bytes   int64     `json:"bytes"`
	Limit   int64     `json:"limit"`
	Oldest  time.Time `json:"oldest,omitzero"`
	Dropped uint64    `json:"dropped"` // polls lost since the start because the spool was full
}

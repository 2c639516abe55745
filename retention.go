package monolith

import "time"

// Retention says how long history is kept. A tier ends at its days or at its budget, what comes first.
type Retention struct {
	RawDays    int   `json:"raw_days"`    // every poll; default 14
	TenMinDays int   `json:"10m_days"`    // 10 min roll-ups; default 396 (13 months)
	HourDays   int   `json:"1h_days"`     // 1 h roll-ups; default 1826 (5 years)
	ChangeDays int   `json:"change_days"` // texts, variables and marks; default 1826
	RawBytes   int64 `json:"raw_bytes"`   // disk budget of the raw tier over all servers; default 20 GB; 0: none
}

// DefaultRetention is what holds until people change it.
func DefaultRetention() Retention {
	return Retention{RawDays: 14, TenMinDays: 396, HourDays: 1826, ChangeDays: 1826, RawBytes: 20e9}
}

// Validate gives an [InvalidError] naming the field that makes no sense.
func (r Retention) Validate() error {
	const most = 36525 // a hundred years
	for _, f := range []struct {
		name  string
		value int
	}{{"raw_days", r.RawDays}, {"10m_days", r.TenMinDays}, {"1h_days", r.HourDays}, {"change_days", r.ChangeDays}} {
		if f.value < 1 || f.value > most {
			return Invalid(f.name, "history is kept from 1 to 36525 days")
		}
	}
	switch {
	case r.TenMinDays < r.RawDays:
		return Invalid("10m_days", "roll-ups must be kept at least as long as what they are made of", "give at least the days of the raw tier")
	case r.HourDays < r.TenMinDays:
		return Invalid("1h_days", "roll-ups must be kept at least as long as what they are made of", "give at least the days of the 10 min tier")
	case r.RawBytes < 0:
		return Invalid("raw_bytes", "a budget can't be negative", "0 means no budget")
	case r.RawBytes > 0 && r.RawBytes < 16<<20:
		return Invalid("raw_bytes", "less than 16 MiB does not hold a useful history", "give more, or 0 for no budget")
	}
	return nil
}

// TierUsage is what one part of history takes, or would take.
type TierUsage struct {
	Tier   string    `json:"tier"` // head, raw, 10m, 1h or changes
	Bytes  int64     `json:"bytes"`
	Rows   int64     `json:"rows,omitempty"`
	Oldest time.Time `json:"oldest,omitzero"` // zero: the tier is empty
	Newest time.Time `json:"newest,omitzero"`
	// Limit says what ends the tier now or would end it: "days" or "bytes"; Days are those it really holds.
	Limit string  `json:"limit,omitempty"`
	Days  float64 `json:"days,omitempty"`
}

// Usage is what the store takes on disk now.
type Usage struct {
	Bytes int64       `json:"bytes"` // the database on disk, with its indexes and free pages, without the WAL
	WAL   int64       `json:"wal"`   // write-ahead log of the embedded store; 0 elsewhere
	Spool int64       `json:"spool"` // bytes that wait in memory since the store could not take them
	Lost  uint64      `json:"lost"`  // polls that the spool had no room for, since the start
	Tiers []TierUsage `json:"tiers"`
	Taken time.Time   `json:"taken"`
}

// Estimate is what a [Retention] will take once it has filled, worked out from what the present
// servers write. Days holds how far the raw tier reaches before the budget ends it.
type Estimate struct {
	Bytes int64       `json:"bytes"`
	Tiers []TierUsage `json:"tiers"`
	// Basis says what was measured ("3 servers over the last 2.4 days"), since a young history guesses badly.
	Basis string `json:"basis"`
	// Deletes says what the first purge after saving would remove, per tier; 0 bytes where nothing.
	Deletes []TierUsage `json:"deletes,omitempty"`
}

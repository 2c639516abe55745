package history

import (
	"time"

	"monolith"
)

// Cell holds the figures of one metric over one bucket of time. Gauges fill N to Last, counters Pairs
// to RateMax, untyped numbers both.
type Cell struct {
	At int64 // the bucket's begin, ms since 1970, a multiple of the tier's step

	N                   uint32  // readings; 0: the figures beside it mean nothing
	Sum, Min, Max, Last float64 // Sum ÷ N is the average

	Pairs    uint32  // valid pairs that end in the bucket; 0: the figures beside it but Breaks mean nothing
	Breaks   uint32  // pairs that end in the bucket and are not valid: restart, reset, gap
	Increase float64 // over the valid pairs
	Covered  int64   // ms that the valid pairs span; more than the step where readings are further apart
	// RateMin and RateMax are the least and greatest rate per second of a pair, rounded outward to four
	// significant digits.
	RateMin, RateMax float64
}

// Merge adds the figures of another part of the same bucket. later must hold the later readings.
func (c *Cell) Merge(later Cell) {}

// Tier holds cells of many metrics in buckets of one step.
type Tier struct{}

// Rollup makes cells of polls. before are the polls that end where p begins, or nil: only their last
// readings are used, as the first halves of the pairs that cross the border. name says what a metric is; ids
// for which it gives false are left out. step is at least a second and divides a day.
func Rollup(before, p Polls, name func(MetricID) (monolith.Metric, bool), step time.Duration) (*Tier, error) {
	return nil, errNotReady
}

// Step gives the length of the buckets.
func (t *Tier) Step() time.Duration { return 0 }

// IDs gives the metrics that have cells, ascending.
func (t *Tier) IDs() []MetricID { return nil }

// Cells gives a metric's cells in order of time. Buckets without a figure have none.
func (t *Tier) Cells(id MetricID) []Cell { return nil }

// Span gives the begin of the first bucket and the end of the last one; ok is false for an empty tier.
func (t *Tier) Span() (from, to time.Time, ok bool) { return time.Time{}, time.Time{}, false }

// Within gives the part whose buckets begin in [from, to).
func (t *Tier) Within(from, to time.Time) *Tier { return t }

// Coarsen makes the cells of a longer step, a multiple of this one's. Nothing is lost on the way: the
// average of an hour is that of its readings.
func (t *Tier) Coarsen(step time.Duration) (*Tier, error) { return nil, errNotReady }

// MarshalTier packs cells, added to those of old where that is not nil: cells of the same bucket are
// merged, add's being the later part. It works a metric at a time and never holds the whole block in memory.
func MarshalTier(old *TierReader, add *Tier) ([]byte, error) { return nil, errNotReady }

// TierReader reads a tier block. It is safe for concurrent use.
type TierReader struct{}

// OpenTier checks a tier block's head and checksum. The reader keeps b, which must not change.
func OpenTier(b []byte) (*TierReader, error) { return nil, errNotReady }

// Step gives the length of the buckets.
func (r *TierReader) Step() time.Duration { return 0 }

// IDs gives the metrics that have cells, ascending. The slice belongs to the reader.
func (r *TierReader) IDs() []MetricID { return nil }

// Cells gives a metric's cells in order of time, in dst's memory where that is large enough. A metric
// that is not there gives an empty slice.
func (r *TierReader) Cells(id MetricID, dst []Cell) ([]Cell, error) { return nil, errNotReady }

package monolith

import (
	"math"
	"time"
)

// MaxGap is how many poll intervals may lie between two readings of a counter for their difference
// still to be a value. Beyond it the time between is a gap.
const MaxGap = 3

// Point is what the counter arithmetic must know about the poll that a reading comes from.
type Point struct {
	// Run numbers the uninterrupted lives of the server: it grows when Uptime fell or the server
	// behind the address changed. Readings of different runs are never subtracted.
	Run uint32
	// Clock is a monotonic position: differences between two points of one Monolith process are
	// exact elapsed time. The poller makes it from the monotonic clock, history by adding up Elapsed.
	Clock time.Duration
	// Interval is the schedule's distance between polls that was in force.
	Interval time.Duration
}

// Increase is the one place where two readings of a counter are subtracted. ok is false, and there
// is no value, unless both readings are there, belong to the same run of the server, this counter did not fall
// (FLUSH STATUS resets some counters and not others), time went forward, the gap is not more than
// [MaxGap] intervals, and the difference is a number, also per second. Integers are subtracted exactly.
//
// Counters of the host do not belong to the server's run: pass points with Run 0 for them (see
// [KindOf] and [RunOf]).
func Increase(prev, cur Num, from, to Point) (increase float64, elapsed time.Duration, ok bool) {
	if prev.form == formNone || cur.form == formNone || from.Run != to.Run {
		return 0, 0, false
	}
	elapsed = to.Clock - from.Clock
	interval := max(from.Interval, to.Interval)
	// Half an interval of slack: a poll that came late is not a missing one.
	if elapsed <= 0 || elapsed > MaxGap*interval+interval/2 {
		return 0, 0, false
	}
	if prev.form == formUint && cur.form == formUint {
		if cur.bits < prev.bits {
			return 0, 0, false
		}
		return float64(cur.bits - prev.bits), elapsed, true
	}
	if prev.form == formInt && cur.form == formInt {
		if int64(cur.bits) < int64(prev.bits) {
			return 0, 0, false
		}
		return float64(cur.bits - prev.bits), elapsed, true
	}
	d := cur.Float64() - prev.Float64()
	if d < 0 || math.IsInf(d/elapsed.Seconds(), 0) || math.IsInf(d, 0) {
		return 0, 0, false
	}
	return d, elapsed, true
}

// RunOf gives the run that counts for a metric: host and self counters live on while the database
// server restarts, so their run is always 0.
func RunOf(namespace string, run uint32) uint32 {
	if namespace == "host" || namespace == "self" {
		return 0
	}
	return run
}

package monolith

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Query asks history for metrics of one server over a range. It is answered in equal steps.
type Query struct {
	Server   ServerID
	Metrics  []string // metric names without instance; every instance of each is returned
	From, To time.Time
	Step     time.Duration
}

// Range is history's answer: one grid of N steps and a series for each metric and instance. Step i covers
// [Start + i·Step, Start + (i+1)·Step).
type Range struct {
	Start time.Time
	Step  time.Duration
	N     int
	// Tier names where the values come from: "raw", "10m" or "1h"; the coarsest one when several served.
	Tier   string
	Series []Series
	// Absent lists the metrics asked for that this server does not have by design: its collector
	// answered completely since the first poll and the name was never there. A name that is neither in
	// Series nor here is missing for another reason (collector off or failed, nothing polled yet).
	Absent []string
	// Damaged counts the kept blocks and stretches of polls in the range that can't be read, whole or in
	// part. They are gaps.
	Damaged int
}

// Series is one metric of one instance on the grid of its [Range]. NaN means "no value": a gap. Slices
// have the length N or are nil where the kind has no such figure.
type Series struct {
	Metric Metric
	Kind   Kind
	// Values of the readings in the step, for gauges and untyped numbers.
	Avg, Min, Max, Last []float64
	// For metrics that accumulate: the increase over valid pairs of readings, the seconds these pairs
	// cover, and the least and greatest rate per second among them. rate = Increase / Seconds.
	Increase, Seconds, RateMin, RateMax []float64
	// Steps holds the texts in force, oldest first, the first one possibly from before the range. Set
	// for variables and texts; where a text is a number the gauge slices are filled too.
	Steps []TextStep
}

// TextStep is a text and the moment from which it was in force.
type TextStep struct {
	At   time.Time
	Text string
}

// ParseTime reads a moment as the API and the pages write it: RFC 3339, unix seconds, "now", or
// relative to now as in "-2h", "-30m", "-7d", "-1w".
func ParseTime(field, s string, now time.Time) (time.Time, error) {
	switch {
	case s == "now":
		return now, nil
	case strings.HasPrefix(s, "-"):
		d, err := ParseDuration(field, s[1:])
		if err != nil {
			return time.Time{}, err
		}
		return now.Add(-d), nil
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if n < 0 || n > 253402300799 {
			return time.Time{}, Invalid(field, "the unix time is outside the years 1970 to 9999")
		}
		return time.Unix(n, 0), nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, Invalid(field, strconv.Quote(s)+" is not a time", `RFC 3339, unix seconds, "now" or "-2h"`)
}

// ParseDuration reads a length of time: Go's form plus d (24 h) and w (7 d), as in "90s", "1h30m", "7d".
// It is positive and at most 100 years.
func ParseDuration(field, s string) (time.Duration, error) {
	bad := func(why string) (time.Duration, error) {
		return 0, Invalid(field, fmt.Sprintf("%q is not a length of time: %s", s, why), `such as "30s", "2h" or "7d"`)
	}
	var total time.Duration
	const most = 100 * 366 * 24 * time.Hour
	rest := s
	for rest != "" {
		i := 0
		for i < len(rest) && (rest[i] >= '0' && rest[i] <= '9' || rest[i] == '.') {
			i++
		}
		j := i
		for j < len(rest) && rest[j] >= 'a' && rest[j] <= 'z' {
			j++
		}
		n, err := strconv.ParseFloat(rest[:i], 64)
		unit, ok := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "m": time.Minute,
			"h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour}[rest[i:j]]
		if i == j || err != nil || !ok {
			return bad("a number and one of ms, s, m, h, d, w is needed")
		}
		if n*float64(unit) > float64(most) {
			return bad("it is longer than 100 years")
		}
		if total += time.Duration(n * float64(unit)); total > most {
			return bad("it is longer than 100 years")
		}
		rest = rest[j:]
	}
	if total <= 0 {
		return bad("it is not longer than nothing")
	}
	return total, nil
}

package alerts

import (
	"math"
	"slices"
	"time"

	"monolith/formula"
)

// longestWindow is the longest window that is kept in memory; longer ones come from history.
const longestWindow = 24 * time.Hour

// coverage is the part of a window that readings must cover for there to be a value.
const coverage = 0.8

// aggregate is what a ring keeps of each of its buckets.
type aggregate uint8

const (
	aggIncrease aggregate = iota // what a counter grew by, over valid pairs
	aggMean                      // of a gauge: its integral over time
	aggMin
	aggMax
)

// bucketFor gives the length of the buckets in which a window is kept: minutes for windows of up to an hour.
func bucketFor(window time.Duration) time.Duration {
	switch {
	case window <= time.Hour:
		return time.Minute
	case window <= 6*time.Hour:
		return 10 * time.Minute
	}
	return time.Hour
}

// ringSpec is a ring that rules need of a metric, for each of its instances.
type ringSpec struct {
	name   string
	agg    aggregate
	bucket time.Duration
	length int // buckets
}

// ring keeps one aggregate of one metric in buckets of equal length. Bucket k ends at (k+1) lengths since the epoch and
// holds what was read in it, its end included and its beginning not.
type ring struct {
	agg    aggregate
	bucket int64 // milliseconds
	newest int64 // number of the newest bucket; 0: nothing was read yet
	sum    []float64
	secs   []float32 // covered by readings
}

func newRing(s ringSpec) *ring {
	return &ring{agg: s.agg, bucket: s.bucket.Milliseconds(), sum: make([]float64, s.length), secs: make([]float32, s.length)}
}

func (r *ring) number(at time.Time) int64 { return (at.UnixMilli() - 1) / r.bucket }

func (r *ring) slot(number int64) int { return int(number % int64(len(r.sum))) }

// forward makes a bucket the newest one. A moment that the ring is past by its whole length means that the clock was set
// back: the ring begins anew.
func (r *ring) forward(number int64) {
	switch length := int64(len(r.sum)); {
	case r.newest == 0 || number-r.newest >= length || r.newest-number >= length:
		clear(r.sum)
		clear(r.secs)
		r.newest = number
	case number > r.newest:
		for k := r.newest + 1; k <= number; k++ {
			i := r.slot(k)
			r.sum[i], r.secs[i] = 0, 0
		}
		r.newest = number
	}
}

// add takes in a reading that stands for so many seconds before it: the increase of a counter, or the value of a gauge.
func (r *ring) add(at time.Time, v, seconds float64) {
	number := r.number(at)
	if number <= 0 || seconds <= 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return
	}
	r.forward(number)
	i := r.slot(number)
	switch empty := r.secs[i] == 0; {
	case r.agg == aggIncrease:
		r.sum[i] += v
	case r.agg == aggMean:
		r.sum[i] += v * seconds
	case empty:
		r.sum[i] = v
	case r.agg == aggMin:
		r.sum[i] = min(r.sum[i], v)
	default:
		r.sum[i] = max(r.sum[i], v)
	}
	r.secs[i] += float32(seconds)
}

// walk calls yield for each bucket of the window that ends at a moment, newest first, with the part of it that lies
// inside and how many seconds of it that is.
func (r *ring) walk(at time.Time, window time.Duration, yield func(number int64, i int, part, seconds float64)) (covered float64) {
	if r.newest == 0 {
		return 0
	}
	want := window.Seconds()
	begin := at.Add(-window).UnixMilli()
	for k := min(r.number(at), r.newest); k > r.newest-int64(len(r.sum)) && (k+1)*r.bucket > begin && covered < want; k-- {
		i := r.slot(k)
		secs := float64(r.secs[i])
		if secs == 0 {
			continue
		}
		part := 1.0
		if covered+secs > want+1e-3 {
			part = (want - covered) / secs
		}
		yield(k, i, part, part*secs)
		covered += part * secs
	}
	return covered
}

// read gives the aggregate over the window that ends at a moment, and how many seconds readings cover of it.
func (r *ring) read(at time.Time, window time.Duration) (v, covered float64) {
	first := true
	covered = r.walk(at, window, func(_ int64, i int, part, _ float64) {
		switch x := r.sum[i]; {
		case r.agg == aggIncrease || r.agg == aggMean:
			v += part * x
		case part < 1e-6:
		case first:
			v, first = x, false
		case r.agg == aggMin:
			v = min(v, x)
		default:
			v = max(v, x)
		}
	})
	if r.agg == aggMean && covered > 0 {
		v /= covered
	}
	return v, covered
}

// line lays a straight line through the means of the window's buckets, see [formula.Trend]: its slope per second and its
// level at the moment. Three buckets spread over half the window are the least.
func (r *ring) line(at time.Time, window time.Duration) (slope, level float64, ok bool) {
	var x, y []float64
	r.walk(at, window, func(number int64, i int, _, _ float64) {
		// Counted from the moment, so that large times don't eat digits.
		x = append(x, float64(min((number+1)*r.bucket, at.UnixMilli())-at.UnixMilli())/1000)
		y = append(y, r.sum[i]/float64(r.secs[i]))
	})
	slices.Reverse(x)
	slices.Reverse(y)
	if len(x) < 3 || -x[0] < window.Seconds()/2 {
		return 0, 0, false
	}
	return formula.Trend(x, y)
}

// change remembers when a value became another one.
type change struct {
	known bool
	num   float64
	text  string
	at    time.Time // of the last change; zero: none was seen
	seen  time.Time // of the first reading
}

// take takes in a reading.
func (c *change) take(num float64, text string, at time.Time) {
	switch {
	case !c.known:
		*c = change{known: true, num: num, text: text, seen: at}
	case c.num != num && !(math.IsNaN(c.num) && math.IsNaN(num)) || c.text != text:
		c.num, c.text, c.at = num, text, at
	}
}

package formula

import (
	"math"
	"slices"
)

// trendPoints is how many points the pairs are made of: 32 make 496 pairs.
const trendPoints = 32

// Trend lays a straight line through readings by the Theil–Sen estimator: the slope is the median of the slopes between
// all pairs of points, so that what goes up for hours and was purged once still goes up. More than 32 readings are first
// made into the means of 32 parts. The level is where the line is at x = 0, the moment looked at: it goes through the
// newest readings (the median of three), since what was purged is gone.
//
// x rises, in any unit; slope is per unit of x. Readings that are missing are left out of both. There is no trend of less than three readings: ok is false.
func Trend(x, y []float64) (slope, level float64, ok bool) {
	n := min(len(x), len(y))
	if n < 3 {
		return 0, 0, false
	}
	var px, py [trendPoints]float64
	points := min(n, trendPoints)
	for p := range points {
		from, to := p*n/points, (p+1)*n/points
		for i := from; i < to; i++ {
			px[p] += x[i] / float64(to-from)
			py[p] += y[i] / float64(to-from)
		}
	}
	var room [trendPoints * (trendPoints - 1) / 2]float64
	slopes := room[:0]
	for i := range points {
		for j := i + 1; j < points; j++ {
			if px[j] > px[i] {
				slopes = append(slopes, (py[j]-py[i])/(px[j]-px[i]))
			}
		}
	}
	if len(slopes) == 0 {
		return 0, 0, false
	}
	slope = median(slopes)
	var last [3]float64
	for k := range last {
		last[k] = y[n-3+k] - slope*x[n-3+k]
	}
	slices.Sort(last[:])
	return slope, last[1], !math.IsNaN(slope) && !math.IsNaN(last[1])
}

// median gives the median of values, which it brings into another order.
func median(values []float64) float64 {
	n := len(values)
	upper := selectNth(values, n/2)
	if n%2 == 1 {
		return upper
	}
	lower := slices.Max(values[:n/2])
	return lower + (upper-lower)/2
}

// selectNth gives the value that would be at place k if values were sorted. It puts the smaller ones before it.
func selectNth(values []float64, k int) float64 {
	for low, high := 0, len(values)-1; low < high; {
		pivot := values[low+(high-low)/2]
		i, j := low, high
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			high = j
		case k >= i:
			low = i
		default:
			return values[k]
		}
	}
	return values[k]
}

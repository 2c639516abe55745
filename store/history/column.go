package history

import "monolith"

// readColumn takes a gauge's readings. Readings that share a step are gathered before they are added to it.
func (l *Line) readColumn(nums []monolith.Num) {
	rows := l.grid.rows
	for i := 0; i < len(nums); i++ {
		if nums[i].IsNone() {
			continue
		}
		r := &rows[i]
		v := nums[i].Gauge()
		l.read(reading{at: r.at, bucket: r.bucket, fill: r.fill, value: v})
		if r.bucket < 0 || r.bucket >= l.grid.n {
			continue
		}
		weight, sum, least, most := 0.0, 0.0, v, v
		j := i + 1
		for ; j < len(nums) && rows[j].bucket == r.bucket && rows[j].fill == r.bucket; j++ {
			if nums[j].IsNone() {
				continue
			}
			v = nums[j].Gauge()
			weight++
			sum += v
			if v < least {
				least = v
			}
			if v > most {
				most = v
			}
			i = j
		}
		if weight > 0 {
			l.level.add(r.bucket, weight, sum, least, most, v)
			l.last = reading{at: rows[i].at, bucket: r.bucket, fill: r.bucket, value: v}
		}
	}
}

// accumulate takes the pairs of a counter's readings.
func (l *Line) accumulate(nums []monolith.Num) {
	rows := l.grid.rows
	previous := -2 // the row of the last reading, where it is of this block
	for i := 0; i < len(nums); i++ {
		if previous == i-1 && l.grid.plain[i].seconds > 0 {
			if next := l.plainPairs(nums, i); next > i {
				previous, i = next-1, next-1
				continue
			}
		}
		n := nums[i]
		if n.IsNone() {
			continue
		}
		r := &rows[i]
		before := l.pairs.from.at
		increase, elapsed, v := l.pairs.next(n, &r.position)
		previous = i
		if v != pairValid {
			continue
		}
		seconds := float64(elapsed) / 1000
		rate := finite(increase / seconds)
		l.grow(growth{from: r.at - span(before, r.at, elapsed), to: r.at, bucket: r.bucket,
			increase: increase, seconds: seconds, rateMin: rate, rateMax: rate})
	}
}

// plainPairs takes the pairs from row i on as long as they are plain, in one loop without anything else: nearly all
// pairs are. The last reading must be that of the row before i. It returns the first row that it left.
func (l *Line) plainPairs(nums []monolith.Num, i int) int {
	before, isFloat, isNegative, ok := l.pairs.num.Bits()
	if !ok || isFloat || isNegative {
		return i
	}
	plain := l.grid.plain[:len(nums)]
	first, bucket := i, -1
	var sum, seconds, least, most float64 // of the pairs in the bucket
	for ; i < len(nums) && plain[i].seconds > 0; i++ {
		now, isFloat, isNegative, ok := nums[i].Bits()
		if !ok || isFloat || isNegative || now < before {
			break
		}
		r := &plain[i]
		increase := float64(now - before)
		rate := increase / r.seconds
		before = now
		if r.bucket == bucket && r.lead == 0 {
			sum += increase
			seconds += r.seconds
			if rate < least {
				least = rate
			}
			if rate > most {
				most = rate
			}
			continue
		}
		if bucket >= 0 {
			l.total.add(bucket, sum, seconds, least, most)
		} else {
			l.total.make(l.grid.n)
		}
		if r.lead > 0 {
			l.total.add(r.bucket-1, increase*r.lead, r.seconds*r.lead, rate, rate)
		}
		bucket = r.bucket
		sum, seconds, least, most = increase*(1-r.lead), r.seconds*(1-r.lead), rate, rate
	}
	if bucket >= 0 {
		l.total.add(bucket, sum, seconds, least, most)
	}
	if i > first {
		l.pairs.skip(nums[i-1], l.grid.rows[first-1:i])
	}
	return i
}

package history

import (
	"encoding/binary"
	"math/bits"
)

// Residuals are written in Rice codes, bit by bit: what exceeds k bits in unary, then the k bits. That is
// close to the best there is for numbers that are small mostly and large sometimes, it needs no tables, and a
// column can be decoded alone. Where most residuals are 0, the lengths of the runs of zeros are written instead.
//
//	plain   k; each number
//	sparse  k of runs, k of numbers; in turn a run of zeros and a number less 1, up to the last number
const (
	// maxUnary ones mean: six bits that hold a length less 1, and the number in so many bits.
	maxUnary = 16
	maxK     = 63
	// fastK is the greatest k for which the longest code that is no escape fits the bits that one load gives.
	fastK = 56 - maxUnary
	// padding after the last column lets the decoder load eight bytes anywhere.
	padding = 8
)

// code says how a series of numbers is written.
type code struct {
	sparse   bool
	k, runsK uint8
}

// riceBits gives the length of a number's code.
func riceBits(u uint64, k uint8) int {
	if q := u >> k; q < maxUnary {
		return int(q) + 1 + int(k)
	}
	return maxUnary + 6 + bits.Len64(u)
}

// plan finds the shortest code for numbers, and its length in bits.
func (c *chooser) plan(numbers []uint64) (code, int) {
	k, length := bestK(numbers)
	best := code{k: k}
	zeros := 0
	for _, u := range numbers {
		if u == 0 {
			zeros++
		}
	}
	if zeros*2 < len(numbers) {
		return best, length
	}
	c.runs, c.others = split(c.runs[:0], c.others[:0], numbers)
	runsK, runsLength := bestK(c.runs)
	k, othersLength := bestK(c.others)
	if n := runsLength + othersLength; n < length {
		return code{sparse: true, k: k, runsK: runsK}, n
	}
	return best, length
}

// bestK finds the k that makes the numbers shortest: near the length of the middle one, or 0 where many are
// tiny and the others need escapes anyway.
func bestK(numbers []uint64) (k uint8, length int) {
	var count [65]int // by length in bits
	for _, u := range numbers {
		count[bits.Len64(u)]++
	}
	middle := 0
	for below := count[0]; below < (len(numbers)+1)/2; below += count[middle] {
		middle++
	}
	length = riceLength(numbers, 0)
	for i := max(middle-4, 1); i <= min(middle+3, maxK); i++ {
		if n := riceLength(numbers, uint8(i)); n < length {
			k, length = uint8(i), n
		}
	}
	return k, length
}

func riceLength(numbers []uint64, k uint8) (n int) {
	for _, u := range numbers {
		n += riceBits(u, k)
	}
	return n
}

// split gives the runs of zeros before each other number, and after the last one if there is one, and these numbers less 1.
func split(runs, others, numbers []uint64) (newRuns, newOthers []uint64) {
	run := uint64(0)
	for _, u := range numbers {
		if u == 0 {
			run++
			continue
		}
		runs, others = append(runs, run), append(others, u-1)
		run = 0
	}
	if run > 0 {
		runs = append(runs, run)
	}
	return runs, others
}

// bitWriter appends bits, the lowest first.
type bitWriter struct {
	b    []byte
	acc  uint64
	held uint // bits in acc, fewer than 8 between calls
}

// put appends the low n ≤ 56 bits of v.
func (w *bitWriter) put(v uint64, n uint) {
	w.acc |= v & (1<<n - 1) << w.held
	for w.held += n; w.held >= 8; w.held -= 8 {
		w.b = append(w.b, byte(w.acc))
		w.acc >>= 8
	}
}

func (w *bitWriter) putLong(v uint64, n uint) {
	if n > 32 {
		w.put(v, 32)
		v, n = v>>32, n-32
	}
	w.put(v, n)
}

func (w *bitWriter) rice(u uint64, k uint8) {
	q := u >> k
	if q >= maxUnary {
		w.put(1<<maxUnary-1, maxUnary)
		n := max(bits.Len64(u), 1)
		w.put(uint64(n-1), 6)
		w.putLong(u, uint(n))
		return
	}
	w.put(1<<q-1, uint(q)+1)
	w.putLong(u, uint(k))
}

// align ends with a whole byte.
func (w *bitWriter) align() {
	if w.held > 0 {
		w.put(0, 8-w.held)
	}
}

// appendNumbers appends the numbers in their code, up to a whole byte.
func (c *chooser) appendNumbers(dst []byte, numbers []uint64, by code) []byte {
	w := bitWriter{b: dst}
	if !by.sparse {
		for _, u := range numbers {
			w.rice(u, by.k)
		}
		w.align()
		return w.b
	}
	c.runs, c.others = split(c.runs[:0], c.others[:0], numbers)
	for i, run := range c.runs {
		w.rice(run, by.runsK)
		if i < len(c.others) {
			w.rice(c.others[i], by.k)
		}
	}
	w.align()
	return w.b
}

// bitReader reads bits. data has padding behind its end, in bits.
type bitReader struct {
	data []byte
	pos  uint
	end  uint
}

// peek gives at least 56 bits from pos on, which must not be beyond the end.
func (r *bitReader) peek() uint64 {
	return binary.LittleEndian.Uint64(r.data[r.pos>>3:]) >> (r.pos & 7)
}

// long reads n ≤ 64 bits; what lies beyond the end reads as 0.
func (r *bitReader) long(n uint) (v uint64) {
	for have := uint(0); have < n && r.pos <= r.end; {
		take := min(n-have, 32)
		v |= r.peek() & (1<<take - 1) << have
		r.pos += take
		have += take
	}
	return v
}

// rice reads one number.
func (r *bitReader) rice(k uint8) uint64 {
	if r.pos > r.end {
		return 0
	}
	q := uint(bits.TrailingZeros64(^r.peek()))
	if q >= maxUnary {
		r.pos += maxUnary
		n := uint(r.long(6)) + 1
		return r.long(n)
	}
	r.pos += q + 1
	return uint64(q)<<k | r.long(uint(k))
}

// readNumbers reads len(dst) residuals, with the offset added to each. It reports false when they are longer
// than the data.
func readNumbers(dst []int64, r bitReader, by code, offset int64) bool {
	switch {
	case by.sparse:
		return readSparse(dst, r, by, offset)
	case by.k > fastK:
		for i := range dst {
			dst[i] = unzigzag(r.rice(by.k)) + offset
		}
		return r.pos <= r.end
	}
	// The next number begins where this one ends: as many as fit are taken from one load, since waiting for memory is
	// most of the time.
	k := uint(by.k) & 63
	mask := uint64(1)<<k - 1
	data, pos := r.data, r.pos
	for i := 0; i < len(dst); {
		if pos > r.end {
			return false
		}
		w := binary.LittleEndian.Uint64(data[pos>>3:]) >> (pos & 7)
		for have := uint(56); i < len(dst); i++ {
			q := uint(bits.TrailingZeros64(^w)) // at most have: zeros move in from above
			if q >= maxUnary {
				r.pos = pos
				dst[i] = unzigzag(r.rice(by.k)) + offset
				pos = r.pos
				i++
				break
			}
			used := q + 1 + k
			if used > have {
				break
			}
			dst[i] = unzigzag(uint64(q)<<k|w>>((q+1)&63)&mask) + offset
			w >>= used & 63
			have -= used
			pos += used
		}
	}
	return pos <= r.end
}

func readSparse(dst []int64, r bitReader, by code, offset int64) bool {
	for i := 0; i < len(dst); i++ {
		run := r.rice(by.runsK)
		if run > uint64(len(dst)-i) || r.pos > r.end {
			return false
		}
		for range run {
			dst[i] = offset
			i++
		}
		if i < len(dst) {
			dst[i] = unzigzag(r.rice(by.k)+1) + offset
		}
	}
	return r.pos <= r.end
}

package figures

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"monolith"
)

// A Trace is the status of one server, poll by poll, for as long as somebody asks. It is the same each time.
type Trace struct {
	Title string
	Names []string // "status.Com_select"
	// Moving are the places of counters that grow with nearly every poll.
	Moving []int

	polls func(yield func([]monolith.Num) bool)
}

// Polls gives the values of n polls in turn, in the order of the names. The slice is another one each time.
func (t *Trace) Polls(n int) iter.Seq2[int, []monolith.Num] {
	return func(yield func(int, []monolith.Num) bool) {
		i := 0
		for nums := range t.polls {
			if i == n || !yield(i, nums) {
				return
			}
			i++
		}
	}
}

// Only gives the trace with the names at some places alone.
func (t *Trace) Only(places []int) *Trace {
	few := &Trace{Title: t.Title}
	for i, place := range places {
		few.Names = append(few.Names, t.Names[place])
		if slices.Contains(t.Moving, place) {
			few.Moving = append(few.Moving, i)
		}
	}
	few.polls = func(yield func([]monolith.Num) bool) {
		for nums := range t.polls {
			chosen := make([]monolith.Num, len(places))
			for i, place := range places {
				chosen[i] = nums[place]
			}
			if !yield(chosen) {
				return
			}
		}
	}
	return few
}

// findMoving looks which counters moved in most of the first polls.
func (t *Trace) findMoving() {
	const looked = 200
	moved := make([]int, len(t.Names))
	var before []monolith.Num
	for _, nums := range t.Polls(looked) {
		for i := range before {
			if monolith.KindOf(t.Names[i]) == monolith.Counter && nums[i].Float64() > before[i].Float64() {
				moved[i]++
			}
		}
		before = nums
	}
	for i, n := range moved {
		if n > looked*9/10 {
			t.Moving = append(t.Moving, i)
		}
	}
}

// Read reads a recorded trace: status each second as compressed tab-separated text, with names in the first line behind
// two columns of time. Each tenth row counts, and they are repeated for ever: counters carry on, and their increments are
// varied by up to 20 % from poll to poll, all in the same proportion, as a load varies.
func Read(path, title string) (*Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("figures: read trace: %w", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("figures: read trace %s: %w", path, err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	lines.Scan()
	const times = 2
	names := strings.Split(lines.Text(), "\t")
	if len(names) <= times {
		return nil, fmt.Errorf("figures: read trace %s: it has no names", path)
	}
	names = names[times:]
	columns := make([][]monolith.Num, len(names))
	for i := 0; lines.Scan(); i++ {
		if i%10 != 0 {
			continue
		}
		values := strings.Split(lines.Text(), "\t")
		if len(values) != len(names)+times {
			return nil, fmt.Errorf("figures: read trace %s: row %d has %d values", path, i+1, len(values))
		}
		for j, text := range values[times:] {
			n, _ := monolith.ParseNum([]byte(text))
			columns[j] = append(columns[j], n)
		}
	}
	if err := lines.Err(); err != nil || len(columns[0]) < 2 {
		return nil, fmt.Errorf("figures: read trace %s: too few rows, or %w", path, err)
	}
	t := &Trace{Title: title}
	var tiles []tile
	for j, name := range names {
		if !slices.ContainsFunc(columns[j], monolith.Num.IsNone) {
			t.Names = append(t.Names, "status."+name)
			tiles = append(tiles, newTile(columns[j]))
		}
	}
	t.polls = func(yield func([]monolith.Num) bool) {
		rng := rand.New(rand.NewPCG(3, 4))
		sums := make([]uint64, len(tiles))
		for i := 0; ; i++ {
			factor := 0.8 + 0.4*rng.Float64()
			nums := make([]monolith.Num, len(tiles))
			for j := range tiles {
				nums[j] = tiles[j].at(i, factor, &sums[j])
			}
			if !yield(nums) {
				return
			}
		}
	}
	t.findMoving()
	return t, nil
}

// tile is a recorded column that is repeated.
type tile struct {
	column []monolith.Num
	bits   []uint64 // of a counter that moves
	unit   uint64   // what all its increments are multiples of: pages, sectors. 0: repeated as it is
}

func newTile(column []monolith.Num) tile {
	t := tile{column: column}
	for i, n := range column {
		bits, isFloat, isNegative, _ := n.Bits()
		if isFloat || isNegative || i > 0 && bits < t.bits[i-1] {
			return tile{column: column}
		}
		if i > 0 {
			t.unit = gcd(t.unit, bits-t.bits[i-1])
		}
		t.bits = append(t.bits, bits)
	}
	return t
}

// at gives the value of poll i; sum is the value before it.
func (t *tile) at(i int, factor float64, sum *uint64) monolith.Num {
	switch {
	case t.unit == 0:
		return t.column[i%len(t.column)]
	case i == 0:
		*sum = t.bits[0]
	default:
		k := i%(len(t.bits)-1) + 1
		*sum += uint64(math.Round(float64((t.bits[k]-t.bits[k-1])/t.unit)*factor)) * t.unit
	}
	return monolith.Uint(*sum)
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

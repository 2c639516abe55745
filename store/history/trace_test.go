package history

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"monolith"
)

// trace is a day of one server's status, poll by poll.
type trace struct {
	metrics []monolith.Metric
	ids     []MetricID
	rows    []Row
	nums    [][]monolith.Num // by row
}

func (tr *trace) name(id MetricID) (monolith.Metric, bool) {
	i := int(id) - 1
	if i < 0 || i >= len(tr.metrics) {
		return monolith.Metric{}, false
	}
	return tr.metrics[i], true
}

func (tr *trace) addMetric(name string) {
	tr.metrics = append(tr.metrics, monolith.Metric{Name: name})
	tr.ids = append(tr.ids, MetricID(len(tr.metrics)))
}

var traceStart = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC).UnixMilli()

// addRow adds a poll each 10 s, measured with a little jitter.
func (tr *trace) addRow(rng *rand.Rand, nums []monolith.Num) {
	i := len(tr.rows)
	row := Row{At: traceStart + 3700 + int64(i)*10_000, Elapsed: 9_999 + rng.Int64N(3), Interval: 10_000,
		Seq: uint64(i + 1), Run: 1, Polled: true}
	if i == 0 {
		row.Elapsed = 0
	}
	tr.rows = append(tr.rows, row)
	tr.nums = append(tr.nums, nums)
}

// payloads encodes polls [from, to) as a head that begins with a key payload.
func (tr *trace) payloads(from, to int) [][]byte {
	enc := NewEncoder()
	var out [][]byte
	for i := from; i < to; i++ {
		out = append(out, enc.Append(nil, tr.rows[i], []Section{{tr.ids, tr.nums[i]}}))
	}
	return out
}

func (tr *trace) tail(tb testing.TB, from, to int, want ...MetricID) *Tail {
	tb.Helper()
	t := NewTail(want...)
	for _, p := range tr.payloads(from, to) {
		if err := t.Append(p); err != nil {
			tb.Fatal(err)
		}
	}
	return t
}

// syntheticTrace makes 562 metrics of which 79 % never change; the others are counters that follow a
// changing load, some in proportion to each other, some exactly, and gauges with noise.
func syntheticTrace(polls int) *trace {
	rng := rand.New(rand.NewPCG(1, 2))
	tr := &trace{}
	type source struct {
		constant float64
		share    float64 // of the load
		noise    float64
		multiple float64
		gauge    bool
		float    bool
	}
	var sources []source
	for i := range 562 {
		s := source{}
		name := fmt.Sprintf("status.Com_stmt_%03d", i)
		switch {
		case i%100 < 79:
			s.constant = float64(rng.IntN(4) * rng.IntN(2000))
		case i%100 < 84:
			s.share, s.multiple = 1, float64(int(1)<<rng.IntN(12)) // exact multiples of the load
		case i%100 < 92:
			s.share, s.noise, s.multiple = rng.Float64()*20, 0.05, 1
		case i%100 < 96:
			s.constant, s.noise, s.gauge = 100*rng.Float64(), 10, true
			name = fmt.Sprintf("host.load_%03d", i)
		default:
			s.constant, s.noise, s.gauge, s.float = 10*rng.Float64(), 1, true, true
			name = fmt.Sprintf("host.level_%03d", i)
		}
		sources = append(sources, s)
		tr.addMetric(name)
	}
	sums := make([]float64, len(sources))
	for i := range polls {
		load := math.Round(1000 + 500*math.Sin(float64(i)/500) + 100*rng.NormFloat64())
		nums := make([]monolith.Num, len(sources))
		for j, s := range sources {
			switch {
			case s.float:
				nums[j] = monolith.Float(math.Round((s.constant+s.noise*rng.NormFloat64())*100) / 100)
			case s.gauge:
				nums[j] = monolith.Int(int64(s.constant + s.noise*rng.NormFloat64()))
			default:
				sums[j] += math.Max(0, math.Round(load*s.share*(1+s.noise*rng.NormFloat64()))*s.multiple)
				nums[j] = monolith.Uint(uint64(s.constant + sums[j]))
			}
		}
		tr.addRow(rng, nums)
	}
	return tr
}

// recordedTrace reads status recorded each second as tab-separated text with the names in the first line,
// takes each tenth row, and repeats that until polls are full: counters carry on, with their
// increments varied by up to 20 % from poll to poll, all in the same proportion.
func recordedTrace(tb testing.TB, polls int) *trace {
	tb.Helper()
	dir := os.Getenv("MONOLITH_TRACES")
	if dir == "" {
		tb.Skip("SKIPPED: MONOLITH_TRACES does not name a folder with recorded traces")
	}
	f, err := os.Open(filepath.Join(dir, "mariadb1.status.tsv.gz"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	lines := bufio.NewScanner(z)
	lines.Buffer(nil, 1<<20)
	lines.Scan()
	names := strings.Split(lines.Text(), "\t")[2:]
	columns := make([][]monolith.Num, len(names))
	for i := 0; lines.Scan(); i++ {
		if i%10 == 0 {
			for j, text := range strings.Split(lines.Text(), "\t")[2:] {
				n, _ := monolith.ParseNum([]byte(text))
				columns[j] = append(columns[j], n)
			}
		}
	}
	if lines.Err() != nil || len(columns[0]) < 2 {
		tb.Fatal("the trace can't be read: ", lines.Err())
	}
	rng := rand.New(rand.NewPCG(3, 4))
	tr := &trace{}
	var stretched [][]monolith.Num
	factors := make([]float64, polls)
	for i := range factors {
		factors[i] = 0.8 + 0.4*rng.Float64()
	}
	for j, name := range names {
		if !slices.ContainsFunc(columns[j], monolith.Num.IsNone) {
			tr.addMetric("status." + name)
			stretched = append(stretched, stretch(columns[j], factors))
		}
	}
	for i := range polls {
		nums := make([]monolith.Num, len(stretched))
		for j := range stretched {
			nums[j] = stretched[j][i]
		}
		tr.addRow(rng, nums)
	}
	return tr
}

// stretch repeats a recorded column. A counter's increments are varied in whole units of what they are
// all multiples of (pages, sectors).
func stretch(column []monolith.Num, factors []float64) []monolith.Num {
	out := make([]monolith.Num, len(factors))
	counter, unit := true, uint64(0)
	var bits []uint64
	for _, n := range column {
		b, isFloat, isNegative, _ := n.Bits()
		counter = counter && !isFloat && !isNegative
		if len(bits) > 0 {
			counter = counter && b >= bits[len(bits)-1]
			unit = gcd(unit, b-bits[len(bits)-1])
		}
		bits = append(bits, b)
	}
	if !counter || unit == 0 {
		for i := range out {
			out[i] = column[i%len(column)]
		}
		return out
	}
	sum := bits[0]
	out[0] = monolith.Uint(sum)
	for i := 1; i < len(out); i++ {
		k := i%(len(bits)-1) + 1
		sum += uint64(math.Round(float64((bits[k]-bits[k-1])/unit)*factors[i])) * unit
		out[i] = monolith.Uint(sum)
	}
	return out
}

// packed is a day of history in its stored forms.
type packed struct {
	head, raw, ten, hour int // bytes: the head of the last hour, and blocks of the day
	blocks               [][]byte
	tenBlock, hourBlock  []byte
}

// pack puts a trace through what the store does: a raw block each 360 polls, tiers rewritten with it.
func (tr *trace) pack(tb testing.TB) packed {
	tb.Helper()
	must := func(err error) {
		if err != nil {
			tb.Helper()
			tb.Fatal(err)
		}
	}
	var p packed
	var before Polls
	var ten, hour *TierReader
	for from := 0; from < len(tr.rows); from += 360 {
		to := min(from+360, len(tr.rows))
		p.head = 0
		for _, b := range tr.payloads(from, to) {
			p.head += len(b)
		}
		tail := tr.tail(tb, from, to)
		block, err := Marshal(tail)
		must(err)
		p.raw += len(block)
		p.blocks = append(p.blocks, block)

		t, err := Rollup(before, tail, tr.name, 10*time.Minute)
		must(err)
		p.tenBlock, err = MarshalTier(ten, t)
		must(err)
		ten, err = OpenTier(p.tenBlock)
		must(err)
		h, err := t.Coarsen(time.Hour)
		must(err)
		p.hourBlock, err = MarshalTier(hour, h)
		must(err)
		hour, err = OpenTier(p.hourBlock)
		must(err)
		before = tail
	}
	p.ten, p.hour = len(p.tenBlock), len(p.hourBlock)
	return p
}

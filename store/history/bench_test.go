//go:build unix

package history

import (
	"slices"
	"syscall"
	"testing"
	"time"
)

// processorTime runs a benchmark's body and reports the processor time that it takes beside the wall clock's, which says
// little on a machine that is busy.
func processorTime(b *testing.B, body func()) {
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	b.ReportAllocs()
	n, before := 0, used()
	for b.Loop() {
		body()
		n++
	}
	b.ReportMetric(float64(used()-before)/float64(n)/1000, "cpu-µs/op")
}

// BenchmarkEncodePoll writes a head payload of 562 metrics.
func BenchmarkEncodePoll(b *testing.B) {
	tr := syntheticTrace(360)
	enc := NewEncoder()
	var dst []byte
	i, n := 0, 0
	processorTime(b, func() {
		dst = enc.Append(dst[:0], tr.rows[i%360], []Section{{tr.ids, tr.nums[i%360]}})
		i++
		n += len(dst)
	})
	b.ReportMetric(float64(n)/float64(i), "B/poll")
}

// chosen gives 20 of the metrics that change, spread over all of them.
func (tr *trace) chosen() []MetricID {
	var moving []MetricID
	for j, id := range tr.ids {
		if tr.nums[0][j] != tr.nums[len(tr.nums)-1][j] {
			moving = append(moving, id)
		}
	}
	var out []MetricID
	for i := range 20 {
		out = append(out, moving[i*len(moving)/20])
	}
	return out
}

// BenchmarkReplayHour replays the head of an hour for 20 metrics.
func BenchmarkReplayHour(b *testing.B) {
	tr := syntheticTrace(360)
	payloads, want := tr.payloads(0, 360), tr.chosen()
	processorTime(b, func() {
		t := NewTail(want...)
		for _, p := range payloads {
			if err := t.Append(p); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkMarshal packs an hour.
func BenchmarkMarshal(b *testing.B) {
	tail := syntheticTrace(360).tail(b, 0, 360)
	processorTime(b, func() { mustMarshal(b, tail) })
}

// BenchmarkDraw draws 20 metrics in 720 points: from raw blocks of 2 h and of a day, and from a month's block of hours.
func BenchmarkDraw(b *testing.B) {
	for name, tr := range map[string]func(testing.TB, int) *trace{
		"synthetic": func(_ testing.TB, n int) *trace { return syntheticTrace(n) },
		"recorded":  recordedTrace,
	} {
		b.Run(name, func(b *testing.B) {
			tr := tr(b, 8640)
			p := tr.pack(b)
			b.Run("2h", func(b *testing.B) { benchmarkDraw(b, tr, p.blocks[22:], 10*time.Second) })
			b.Run("24h", func(b *testing.B) { benchmarkDraw(b, tr, p.blocks, 2*time.Minute) })
			b.Run("30d", func(b *testing.B) { benchmarkMonth(b, tr, p.hourBlock) })
		})
	}
}

func benchmarkDraw(b *testing.B, tr *trace, blocks [][]byte, step time.Duration) {
	chosen := tr.chosen()
	end := tr.rows[len(tr.rows)-1].At
	from := time.UnixMilli(end).Add(-720 * step)
	processorTime(b, func() {
		g := NewGrid(from, time.UnixMilli(end), step)
		var lines []*Line
		for _, id := range chosen {
			m, _ := tr.name(id)
			lines = append(lines, g.Line(m, LineOptions{}))
		}
		for _, block := range blocks {
			r := mustOpen(b, block)
			g.Rows(r.Rows())
			for i, id := range chosen {
				if err := lines[i].Feed(r, id, 0); err != nil {
					b.Fatal(err)
				}
			}
		}
		for _, l := range lines {
			if _, ok := l.Series(); !ok {
				b.Fatal("a line has nothing on it")
			}
		}
	})
}

// benchmarkMonth repeats a day of hours for a month and draws that.
func benchmarkMonth(b *testing.B, tr *trace, day []byte) {
	r, err := OpenTier(day)
	if err != nil {
		b.Fatal(err)
	}
	month := &Tier{step: r.step, cells: map[MetricID][]Cell{}}
	for _, id := range r.IDs() {
		cells, err := r.Cells(id, nil)
		if err != nil {
			b.Fatal(err)
		}
		for d := range int64(30) {
			for _, c := range cells {
				c.At += d * 24 * 3600_000
				month.cells[id] = append(month.cells[id], c)
			}
		}
	}
	block, err := MarshalTier(nil, month)
	if err != nil {
		b.Fatal(err)
	}
	chosen := tr.chosen()
	first, last, _ := month.bounds()
	b.Run("rewrite", func(b *testing.B) {
		add := month.Within(time.UnixMilli(last), time.UnixMilli(last+1))
		processorTime(b, func() {
			old, err := OpenTier(block)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := MarshalTier(old, add); err != nil {
				b.Fatal(err)
			}
		})
		b.ReportMetric(float64(len(block))/1000, "kB")
	})
	b.Run("draw", func(b *testing.B) {
		processorTime(b, func() {
			r, err := OpenTier(block)
			if err != nil {
				b.Fatal(err)
			}
			g := NewGrid(time.UnixMilli(first), time.UnixMilli(last+r.step), time.Hour)
			var cells []Cell
			for _, id := range slices.Clone(chosen) {
				m, _ := tr.name(id)
				l := g.Line(m, LineOptions{})
				if cells, err = r.Cells(id, cells); err != nil {
					b.Fatal(err)
				}
				l.Cells(r.Step(), cells)
				if _, ok := l.Series(); !ok {
					b.Fatal("a line has nothing on it")
				}
			}
		})
	})
}

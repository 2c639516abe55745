package history

import "testing"

// BenchmarkDayRecorded packs a day of recorded status; run it with -benchtime 1x and MONOLITH_TRACES set.
func BenchmarkDayRecorded(b *testing.B) { benchmarkDay(b, recordedTrace(b, 8640)) }

// BenchmarkDaySynthetic packs a day made up of numbers.
func BenchmarkDaySynthetic(b *testing.B) { benchmarkDay(b, syntheticTrace(8640)) }

func benchmarkDay(b *testing.B, tr *trace) {
	var p packed
	for b.Loop() {
		p = tr.pack(b)
	}
	total := p.head + p.raw + p.ten + p.hour
	b.ReportMetric(float64(len(tr.metrics)), "metrics")
	for name, n := range map[string]int{"head": p.head, "raw": p.raw, "10m": p.ten, "1h": p.hour, "all": total} {
		b.ReportMetric(float64(n)/1000, name+"-kB/day")
	}
	b.ReportMetric(float64(total)/float64(len(tr.metrics)*len(tr.rows)), "B/value")
	b.ReportMetric(0, "ns/op")
}

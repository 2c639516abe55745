package store

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

// wide plays a server with as many values as a real one: a fifth of them change with each poll.
type wide struct {
	id    monolith.ServerID
	names *monolith.Names
	sums  []uint64
	seq   uint64
	at    time.Time
}

const wideValues = 562

func newWide(id monolith.ServerID) *wide {
	metrics := make([]monolith.Metric, wideValues)
	for i := range metrics {
		metrics[i].Name = fmt.Sprintf("status.Com_%03d", i)
	}
	return &wide{id: id, names: monolith.NewNames(metrics), sums: make([]uint64, wideValues), at: origin}
}

func (w *wide) next() *monolith.Snapshot {
	w.seq++
	w.at = w.at.Add(pollEvery)
	nums := make([]monolith.Num, wideValues)
	for i := range nums {
		if i%5 == 0 {
			w.sums[i] += uint64(100 + i + int(w.seq*7)%(3+i))
		}
		nums[i] = monolith.Uint(uint64(i) + w.sums[i])
	}
	return &monolith.Snapshot{Server: w.id, Seq: w.seq, At: w.at, Taken: w.at, Elapsed: pollEvery, Interval: pollEvery, Run: 1, Up: true, Polled: true,
		Sections: []monolith.Section{{Collector: "status", NumNames: w.names, Nums: nums}}}
}

func benchEngines(b *testing.B, bench func(b *testing.B, s *bench)) {
	b.Run("sqlite", func(b *testing.B) {
		bench(b, newBench(b, Config{Path: filepath.Join(b.TempDir(), "monolith.db")}))
	})
	b.Run("mariadb", func(b *testing.B) {
		bench(b, newBench(b, Config{DSN: mysqltest.Shared(b).NewDatabase(b), Migrate: true}))
	})
}

// BenchmarkAppend is one poll: encoded, committed with those of 19 other servers as once a second with
// 200 servers, and its share of packing.
func BenchmarkAppend(b *testing.B) {
	benchEngines(b, func(b *testing.B, s *bench) {
		var servers []*wide
		for i := range 20 {
			servers = append(servers, newWide(s.server(fmt.Sprint("server ", i)).ID))
		}
		polls := make([]*monolith.Snapshot, len(servers))
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			n := i % len(servers)
			if n == 0 {
				b.StopTimer()
				for k, w := range servers {
					polls[k] = w.next()
				}
				s.clock.set(servers[0].at)
				b.StartTimer()
			}
			s.db.Append(polls[n])
			if n == len(servers)-1 {
				s.flush()
				s.pack()
			}
		}
	})
}

// BenchmarkRead20Series is a dashboard of 20 series of 720 points.
func BenchmarkRead20Series(b *testing.B) {
	benchEngines(b, func(b *testing.B, s *bench) {
		w := newWide(s.server("a").ID)
		for range 25 {
			for range 360 {
				s.db.Append(w.next())
				s.clock.set(w.at)
			}
			s.flush()
			s.pack()
		}
		var metrics []string
		for i := range 20 {
			metrics = append(metrics, fmt.Sprintf("status.Com_%03d", 5*i))
		}
		for _, span := range []time.Duration{time.Hour, 2 * time.Hour, 24 * time.Hour} {
			b.Run(span.String(), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r := s.read(monolith.Query{Server: w.id, Metrics: metrics, From: w.at.Add(-span), To: w.at, Step: span / 720})
					if len(r.Series) != 20 {
						b.Fatal(len(r.Series), " series")
					}
				}
			})
		}
	})
}

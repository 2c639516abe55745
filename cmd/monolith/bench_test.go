//go:build unix

package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"monolith"
	"monolith/formula"
	"monolith/poller"
	"monolith/store"
	"monolith/web"
)

// evening is when the benchmarks look at history.
var evening = time.Date(2026, 3, 10, 18, 0, 0, 0, time.UTC)

const month = 30 * 24 * time.Hour

// past is the whole site over an SQLite store that holds a month of one server.
type past struct {
	site          http.Handler
	store         *store.DB
	rates, gauges []string // names of counters and gauges that move
}

// newPast fills a store with the month before evening: a day of polls each 10 s, and before it one each five minutes, which
// the tiers hardly tell from the others.
func newPast(b *testing.B) *past {
	b.Helper()
	now := func() time.Time { return evening }
	db, err := store.Open(b.Context(), store.Config{Path: filepath.Join(b.TempDir(), "monolith.db"), Now: now})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.Error(err)
		}
	})
	server := monolith.Server{Name: "db1", Endpoint: monolith.Endpoint{Host: "db.example", User: "monolith"}}
	if err := db.AddServer(b.Context(), &server); err != nil {
		b.Fatal(err)
	}
	p := &past{store: db}
	polls := p.fill(db, server.ID)
	p.pack(b, polls)

	parts, err := poller.New(poller.Config{Collectors: poller.Collectors()}) // it watches nothing
	if err != nil {
		b.Fatal(err)
	}
	site, err := web.New(web.Config{Store: db, Poller: parts, Now: now})
	if err != nil {
		b.Fatal(err)
	}
	p.site = site.Handler()
	return p
}

// fill appends the polls of a server with as many values as a MariaDB has. Four in five never change; the others follow a
// load that comes and goes, some of them exactly, most with noise.
func (p *past) fill(db *store.DB, server monolith.ServerID) (polls uint64) {
	rng := rand.New(rand.NewPCG(1, 2))
	var metrics []monolith.Metric
	for _, name := range formula.Names("status") {
		if k := monolith.KindOf(name); k == monolith.Counter || k == monolith.Gauge {
			metrics = append(metrics, monolith.Metric{Name: name})
		}
	}
	rng.Shuffle(len(metrics), func(i, j int) { metrics[i], metrics[j] = metrics[j], metrics[i] })
	metrics = metrics[:562]
	names := monolith.NewNames(metrics)
	now, share := make([]float64, names.Len()), make([]float64, names.Len())
	for i := range now {
		now[i] = float64(rng.IntN(4) * rng.IntN(2000))
		if i%5 > 0 {
			continue
		}
		share[i] = math.Exp(rng.Float64()*7) / 100
		if name := names.At(i).Name; monolith.KindOf(name) == monolith.Counter {
			p.rates = append(p.rates, name)
		} else {
			p.gauges = append(p.gauges, name)
		}
	}
	every := 5 * time.Minute
	for at := evening.Add(-month); ; {
		if evening.Sub(at) <= 24*time.Hour {
			every = 10 * time.Second
		}
		if at = at.Add(every); at.After(evening) {
			return polls
		}
		polls++
		load := every.Seconds() * (100 + 50*math.Sin(float64(at.Unix())/5000) + 10*rng.NormFloat64())
		nums := make([]monolith.Num, len(now))
		for i := range now {
			noise := 1 + 0.1*float64(i%4)*rng.NormFloat64()
			switch {
			case share[i] == 0:
			case monolith.KindOf(names.At(i).Name) == monolith.Counter:
				now[i] += max(0, math.Round(load*share[i]*noise))
			default:
				now[i] = max(0, math.Round(10*share[i]*noise))
			}
			nums[i] = monolith.Uint(uint64(now[i]))
		}
		db.Append(&monolith.Snapshot{Server: server, Seq: polls, At: at, Taken: at, Elapsed: every, Interval: every, Run: 1, Up: true, Polled: true,
			Sections: []monolith.Section{{Collector: "status", NumNames: names, Nums: nums}}})
	}
}

// pack lets the store's background work pack all but the last hour.
func (p *past) pack(b *testing.B, polls uint64) {
	b.Helper()
	ctx, stop := context.WithTimeout(b.Context(), 2*time.Minute)
	defer stop()
	var parts errgroup.Group
	parts.Go(func() error { return p.store.Run(ctx) })
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		u, err := p.store.Usage(ctx)
		if err != nil {
			b.Fatal("the history was not packed: ", err)
		}
		if s := p.store.Stats(); s.Committed == polls && u.Tiers[0].Rows < 720 {
			break
		}
		<-tick.C
	}
	stop()
	if err := parts.Wait(); err != nil {
		b.Fatal(err)
	}
}

// sink is a client that takes in every byte and keeps none, as the benchmark must not measure its own memory.
type sink struct {
	header http.Header
	status int
	bytes  int
}

func (s *sink) Header() http.Header    { return s.header }
func (s *sink) WriteHeader(status int) { s.status = status }

func (s *sink) Write(p []byte) (int, error) {
	s.bytes += len(p)
	return len(p), nil
}

func request(target string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, target, nil)
	r.Host = "localhost"
	return r
}

// get asks for an address and says how long the body is.
func (p *past) get(target string) (bytes int, err error) {
	w := sink{header: http.Header{}}
	p.site.ServeHTTP(&w, request(target))
	if w.status != http.StatusOK {
		return 0, fmt.Errorf("%s: %d", target, w.status)
	}
	return w.bytes, nil
}

// measured runs a benchmark's body and reports the processor time beside the wall clock's.
func measured(b *testing.B, body func() error) {
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
		if err := body(); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(used()-before)/float64(n)/1e6, "cpu-ms/op")
	b.ReportMetric(b.Elapsed().Seconds()/float64(n)*1e3, "wall-ms/op")
}

// BenchmarkSeriesAPI is a dashboard of 20 series of 720 points through the API, as a program or a page asks for it.
func BenchmarkSeriesAPI(b *testing.B) {
	p := newPast(b)
	query := url.Values{"server": {"db1"}}
	for _, name := range p.rates[:14] {
		query.Add("expr", "rate("+name+")")
	}
	query["expr"] = slices.Concat(query["expr"], p.gauges[:6])
	for _, span := range [][2]string{{"2h", "raw"}, {"24h", "raw"}, {"30d", "1h"}} {
		from, tier := span[0], span[1]
		b.Run(from, func(b *testing.B) {
			query.Set("from", "-"+from)
			target := "/api/v1/series?" + query.Encode()
			answer := httptest.NewRecorder()
			p.site.ServeHTTP(answer, request(target))
			body := answer.Body.String()
			if n := strings.Count(body, `"expr":`); n != 20 || !strings.Contains(body, fmt.Sprintf("%q:%q", "tier", tier)) {
				b.Fatalf("%d series of %.200s", n, body)
			}
			if n := strings.Count(body, "null"); n > 20*720/50 {
				b.Fatalf("%d of the values are missing", n)
			}
			measured(b, func() error {
				_, err := p.get(target)
				return err
			})
			b.ReportMetric(float64(len(body))/1000, "kB")
		})
	}
}

// BenchmarkDrawingsAPI draws all graphs of a server for a day, as its page asks for them, alone and eight times at once.
func BenchmarkDrawingsAPI(b *testing.B) {
	p := newPast(b)
	const target = "/api/v1/drawings?server=db1&from=-24h"
	one := func() error {
		_, err := p.get(target)
		return err
	}
	b.Run("one", func(b *testing.B) { measured(b, one) })
	b.Run("eight", func(b *testing.B) {
		highest := watchHeap()
		measured(b, func() error {
			var all errgroup.Group
			for range 8 {
				all.Go(one)
			}
			return all.Wait()
		})
		b.ReportMetric(float64(highest())/1e6, "peak-MB")
	})
}

// watchHeap looks every millisecond at what the heap takes, until it is asked for the most that it saw.
func watchHeap() (highest func() uint64) {
	done, most := make(chan struct{}), make(chan uint64)
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
		high := uint64(0)
		for {
			select {
			case <-tick.C:
				metrics.Read(sample)
				high = max(high, sample[0].Value.Uint64()+sample[1].Value.Uint64())
			case <-done:
				most <- high
				return
			}
		}
	}()
	return func() uint64 {
		close(done)
		return <-most
	}
}

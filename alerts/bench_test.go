package alerts

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"monolith"
	"monolith/formula"
)

// newBusy makes a server that has everything that rules read: all names, rows of every kind, history. Its counters grow at
// each poll.
func newBusy(tb testing.TB, interval time.Duration) *busy {
	tb.Helper()
	cat, err := Builtin()
	if err != nil {
		tb.Fatal(err)
	}
	return newBusyWith(cat, interval)
}

func newBusyWith(cat *Catalogue, interval time.Duration) *busy {
	b := &busy{cat: cat, engine: NewEngine(cat), interval: interval, at: testStart(),
		server: &monolith.Server{ID: 7, Name: "db7", Group: "acme/prod", Environment: "prod", Host: "local", Tags: []string{"a", "b"}}}
	lists := map[string][]monolith.Metric{}
	texts := map[string][]monolith.Metric{}
	for _, ns := range monolith.Namespaces {
		for _, name := range formula.Names(ns) {
			m := monolith.Metric{Name: name}
			c := monolith.CollectorOf(name)
			if ns == "variable" || monolith.KindOf(name) == monolith.Text {
				texts[c] = append(texts[c], m)
			} else {
				lists[c] = append(lists[c], m)
			}
		}
	}
	for c, list := range lists {
		b.sections = append(b.sections, monolith.Section{Collector: c, NumNames: monolith.NewNames(list)})
	}
	for c, list := range texts {
		at := -1
		for i := range b.sections {
			if b.sections[i].Collector == c {
				at = i
			}
		}
		if at < 0 {
			b.sections = append(b.sections, monolith.Section{Collector: c})
			at = len(b.sections) - 1
		}
		b.sections[at].TextNames = monolith.NewNames(list)
		for range list {
			b.sections[at].Texts = append(b.sections[at].Texts, "1000")
		}
	}
	b.rows = emptyRows()
	lag := int64(3)
	b.rows.Replicas = []monolith.Replica{{Channel: "", IO: "Yes", SQL: "Yes", Lag: &lag, Delay: &lag, SourceHost: "db1", SourcePort: 3306}}
	for i := range 12 {
		b.rows.Accounts = append(b.rows.Accounts, monolith.Account{User: fmt.Sprint("app", i), Host: "10.%", Plugin: "mysql_native_password", AuthLength: 41, Usable: true, SchemaGrants: 2})
	}
	b.rows.Mounts = []monolith.Mount{{Path: "/", Size: 1 << 40, Used: 1 << 38, Available: 1 << 39, Server: true, Holds: []string{"datadir"}}}
	b.rows.Devices = []monolith.Device{{Name: "sda", Kind: "nvme", Server: true}}
	return b
}

type busy struct {
	cat      *Catalogue
	engine   *Engine
	server   *monolith.Server
	interval time.Duration
	at       time.Time
	seq      uint64
	sections []monolith.Section
	rows     monolith.Rows
	state    *monolith.State
}

// snapshot makes the next poll.
func (b *busy) snapshot() *monolith.Snapshot {
	b.seq++
	b.at = b.at.Add(b.interval)
	snap := &monolith.Snapshot{Server: b.server.ID, Seq: b.seq, At: b.at, Taken: b.at, Interval: b.interval, Elapsed: b.interval, Run: 1, Up: true, Polled: true,
		Identity: monolith.Identity{Flavour: monolith.MySQL, Version: monolith.Version{Major: 8, Minor: 0, Patch: 36}, VersionText: "8.0.36"}, Rows: b.rows}
	for _, sec := range b.sections {
		snap.Costs = append(snap.Costs, monolith.Cost{Collector: sec.Collector})
		if sec.NumNames.Len() > 0 {
			sec.Nums = make([]monolith.Num, sec.NumNames.Len())
			for i := range sec.Nums {
				sec.Nums[i] = monolith.Uint(1000 + b.seq*uint64(i%97))
				if sec.NumNames.At(i).Name == "status.Uptime" {
					sec.Nums[i] = monolith.Uint(1e7 + b.seq*10)
				}
			}
		}
		snap.Sections = append(snap.Sections, sec)
	}
	return snap
}

func (b *busy) poll() *monolith.Snapshot {
	snap := b.snapshot()
	b.state = b.state.With(snap)
	b.engine.Observe(b.server, b.state, snap)
	return snap
}

// warm fills the windows.
func (b *busy) warm() {
	for range int(time.Hour / b.interval) {
		b.poll()
	}
}

// BenchmarkEvaluation measures one evaluation of all rules for a server that has all that they read: at most 0.5 ms.
func BenchmarkEvaluation(b *testing.B) {
	w := newBusy(b, 10*time.Second)
	w.warm()
	s := w.engine.server(w.server.ID)
	ev := new(evaluator)
	b.ReportAllocs()
	begin := cpuTime(b)
	defer func() { b.ReportMetric(float64(cpuTime(b)-begin)/float64(b.N), "cpu-ns/op") }()
	for b.Loop() {
		ev.reset(s, w.at)
		ev.engine = w.engine
		s.mark++
		ev.run(true)
	}
}

// cpuTime is what the process has used of the processors: on a busy machine the clock says little.
func cpuTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkObserve measures what judging adds to an average poll at 10 s: at most 0.2 ms.
func BenchmarkObserve(b *testing.B) {
	w := newBusy(b, 10*time.Second)
	w.warm()
	snaps := make([]*monolith.Snapshot, 0, 64)
	states := make([]*monolith.State, 0, 64)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if i == len(snaps) {
			b.StopTimer()
			snaps, states, i = snaps[:0], states[:0], 0
			for range 64 {
				snap := w.snapshot()
				w.state = w.state.With(snap)
				snaps, states = append(snaps, snap), append(states, w.state)
			}
			b.StartTimer()
		}
		w.engine.Observe(w.server, states[i], snaps[i])
		i++
	}
}

// BenchmarkSave measures keeping one server's memory, and reports its size.
func BenchmarkSave(b *testing.B) {
	w := newBusy(b, 10*time.Second)
	w.warm()
	var size int
	b.ReportAllocs()
	for b.Loop() {
		blob, err := w.engine.Save(w.server.ID)
		if err != nil {
			b.Fatal(err)
		}
		size = len(blob)
	}
	b.ReportMetric(float64(size), "bytes/blob")
}

// TestMemoryOfWindows holds the promise of at most 100 kB of windows a server.
func TestMemoryOfWindows(t *testing.T) {
	w := newBusy(t, 10*time.Second)
	for range 10 {
		w.poll()
	}
	s := w.engine.server(w.server.ID)
	bytes := 0
	for _, r := range s.rings {
		bytes += 64 + 12*len(r.sum)
	}
	t.Logf("%d rings, %d bytes, %d states", len(s.rings), bytes, len(s.states))
	if bytes > 100<<10 {
		t.Errorf("the windows of a server take %d bytes, more than 100 KiB", bytes)
	}
}

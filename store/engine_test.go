package store

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"monolith"
)

// clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = t
}

// bench is a store under test with the means to close and open it again.
type bench struct {
	t      testing.TB
	config Config
	clock  *clock
	log    *bytes.Buffer
	db     *DB
}

var origin = time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)

// eachEngine runs a test on a new SQLite store and on a new database of a real MariaDB.
func eachEngine(t *testing.T, test func(t *testing.T, b *bench)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, newBench(t, Config{Path: filepath.Join(t.TempDir(), "monolith.db")}))
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		test(t, newBench(t, Config{DSN: listened(t), KeyFile: filepath.Join(t.TempDir(), "key"), Migrate: true}))
	})
}

func newBench(t testing.TB, c Config) *bench {
	t.Helper()
	b := &bench{t: t, config: c, clock: &clock{now: origin}, log: &bytes.Buffer{}}
	b.config.Now = b.clock.Now
	b.config.Log = slog.New(slog.NewTextHandler(&lockedWriter{w: b.log}, nil))
	b.open()
	t.Cleanup(func() {
		if b.db != nil {
			b.db.closePools()
		}
	})
	return b
}

type lockedWriter struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

func (b *bench) open() {
	b.t.Helper()
	db, err := Open(b.t.Context(), b.config)
	if err != nil {
		b.t.Fatal(err)
	}
	b.db = db
}

// kill drops the store as the end of the process would: nothing is flushed.
func (b *bench) kill() {
	b.t.Helper()
	if err := b.db.closePools(); err != nil {
		b.t.Fatal(err)
	}
	b.db = nil
}

func (b *bench) reopen() {
	b.t.Helper()
	if err := b.db.Close(); err != nil {
		b.t.Fatal(err)
	}
	b.open()
}

func (b *bench) flush() {
	b.t.Helper()
	if err := b.db.flush(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) pack() {
	b.t.Helper()
	if err := b.db.pack(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) server(name string) monolith.Server {
	b.t.Helper()
	s := monolith.Server{Name: name, Endpoint: monolith.Endpoint{Host: "db.example", User: "monolith"}}
	if err := b.db.AddServer(b.t.Context(), &s); err != nil {
		b.t.Fatal(err)
	}
	return s
}

// source plays a server: polls 10 s apart with values that can be worked out again.
type source struct {
	id        monolith.ServerID
	numNames  *monolith.Names
	textNames *monolith.Names
	hostNames *monolith.Names
	seq       uint64
	run       uint32
	at        time.Time
	variables map[string]string
}

const pollEvery = 10 * time.Second

func newSource(id monolith.ServerID) *source {
	return &source{id: id, run: 1, at: origin,
		numNames: monolith.NewNames([]monolith.Metric{{Name: "status.Questions"}, {Name: "status.Com_select"},
			{Name: "status.Threads_connected"}, {Name: "status.Uptime"}, {Name: "status.Max_used_connections"}}),
		textNames: monolith.NewNames([]monolith.Metric{{Name: "variable.max_connections"}, {Name: "variable.sql_mode"}, {Name: "variable.version"}}),
		hostNames: monolith.NewNames([]monolith.Metric{{Name: "host.disk_read_bytes_total", Instance: "sda"}, {Name: "host.disk_read_bytes_total", Instance: "sdb"}, {Name: "host.load1"}}),
		variables: map[string]string{"max_connections": "151", "sql_mode": "STRICT", "version": "10.11.6-MariaDB"},
	}
}

// threads is the gauge's value at a poll: a wave between 0 and 20.
func threads(seq uint64) float64 { return math.Round(10 + 10*math.Sin(float64(seq)/50)) }

// next makes the next poll; variables come with every sixth.
func (s *source) next() *monolith.Snapshot {
	s.seq++
	s.at = s.at.Add(pollEvery)
	snap := &monolith.Snapshot{Server: s.id, Seq: s.seq, At: s.at, Taken: s.at, Elapsed: pollEvery, Interval: pollEvery, Run: s.run,
		Up: true, Polled: true, Identity: monolith.Identity{Flavour: monolith.MariaDB, VersionText: s.variables["version"],
			Version: monolith.ParseVersion(s.variables["version"]), Hostname: "db", ServerID: 7}}
	n := s.seq
	snap.Sections = append(snap.Sections, monolith.Section{Collector: "status", NumNames: s.numNames, Nums: []monolith.Num{
		monolith.Uint(1000 + 50*n), monolith.Uint(10 * n * n), monolith.Float(threads(n)), monolith.Uint(10 * n), monolith.Uint(20)}})
	snap.Sections = append(snap.Sections, monolith.Section{Collector: "host", NumNames: s.hostNames, Nums: []monolith.Num{
		monolith.Uint(4096 * n), monolith.Uint(100 * n), monolith.Float(0.25)}})
	if n%6 == 1 {
		texts := make([]string, s.textNames.Len())
		for i := range texts {
			texts[i] = s.variables[s.textNames.At(i).Name[len("variable."):]]
		}
		snap.Sections = append(snap.Sections, monolith.Section{Collector: "variables", TextNames: s.textNames, Texts: texts})
	}
	return snap
}

// play appends n polls and commits them every 100.
func (b *bench) play(s *source, n int) {
	b.t.Helper()
	for i := range n {
		b.db.Append(s.next())
		b.clock.set(s.at)
		if i%100 == 99 {
			b.flush()
		}
	}
	b.flush()
}

func (b *bench) read(q monolith.Query) *monolith.Range {
	b.t.Helper()
	r, err := b.db.Read(b.t.Context(), q)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

func series(t testing.TB, r *monolith.Range, name, instance string) monolith.Series {
	t.Helper()
	for _, s := range r.Series {
		if s.Metric.Name == name && s.Metric.Instance == instance {
			return s
		}
	}
	t.Fatalf("no series %s[%s] in %d series", name, instance, len(r.Series))
	return monolith.Series{}
}

func count(t testing.TB, db *DB, query string, args ...any) (n int) {
	t.Helper()
	if err := db.r.GetContext(context.Background(), &n, query, args...); err != nil {
		t.Fatal(err)
	}
	return n
}

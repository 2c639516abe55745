package store

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"monolith"
)

// checkRaw compares what Read gives at the poll interval with what the source made.
func checkRaw(t *testing.T, b *bench, s *source, first, last uint64) {
	t.Helper()
	from, to := origin.Add(time.Duration(first-1)*pollEvery), origin.Add(time.Duration(last)*pollEvery)
	r := b.read(monolith.Query{Server: s.id, Metrics: []string{"status.Threads_connected", "status.Com_select", "host.disk_read_bytes_total", "status.Nothing"},
		From: from, To: to, Step: pollEvery})
	if want := int(last - first + 1); r.N != want {
		t.Fatalf("%d steps, want %d", r.N, want)
	}
	gauge, counter := series(t, r, "status.Threads_connected", ""), series(t, r, "status.Com_select", "")
	disk := series(t, r, "host.disk_read_bytes_total", "sdb")
	for i := range r.N {
		seq := first + uint64(i)
		// A reading speaks for the step before it.
		if got, want := gauge.Avg[i], threads(seq); got != want {
			t.Fatalf("gauge at poll %d is %v, want %v", seq, got, want)
		}
		want := float64(10*seq*seq - 10*(seq-1)*(seq-1))
		if seq == 1 {
			want = math.NaN() // there was no poll before
		}
		if got := counter.Increase[i]; got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Fatalf("increase at poll %d is %v, want %v", seq, got, want)
		}
		if seq > 1 && (counter.Seconds[i] != 10 || disk.Increase[i] != 100) {
			t.Fatalf("poll %d: %v seconds, disk increase %v", seq, counter.Seconds[i], disk.Increase[i])
		}
	}
	if diff := cmp.Diff([]string{"status.Nothing"}, r.Absent); diff != "" {
		t.Errorf("absent metrics: %s", diff)
	}
}

func TestHistoryReadsTheSameFromTailBlocksAndAfterAStart(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		b.play(s, 300)
		checkRaw(t, b, s, 1, 300)
		b.play(s, 500)
		checkRaw(t, b, s, 1, 800)
		b.pack()
		if n := count(t, b.db, "SELECT COUNT(*) FROM history_block WHERE tier = 0"); n == 0 {
			t.Fatal("nothing was packed")
		}
		if n := count(t, b.db, "SELECT COUNT(*) FROM head"); n >= 800 {
			t.Fatalf("%d head rows are left after packing", n)
		}
		checkRaw(t, b, s, 1, 800)
		checkRaw(t, b, s, 350, 370) // across the edge of the first block
		b.reopen()
		checkRaw(t, b, s, 1, 800)
		seq, run, err := b.db.Resume(t.Context(), s.id)
		if err != nil || seq != 800 || run != 1 {
			t.Fatalf("resume gives %d, %d, %v", seq, run, err)
		}
		b.play(s, 400)
		checkRaw(t, b, s, 1, 1200)
		b.pack()
		checkRaw(t, b, s, 1, 1200)
	})
}

func TestKilledStoreHasEverythingUpToTheLastCommit(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		b.play(s, 400)
		b.pack()
		b.play(s, 37)
		for range 5 {
			b.db.Append(s.next())
		}
		b.kill()
		b.open()
		checkRaw(t, b, s, 1, 437)
		if seq, _, err := b.db.Resume(t.Context(), s.id); err != nil || seq != 437 {
			t.Fatalf("resume gives %d, %v, want 437", seq, err)
		}
		if n := count(t, b.db, "SELECT COUNT(*) FROM (SELECT server_id, seq FROM head GROUP BY server_id, seq HAVING COUNT(*) > 1) x"); n != 0 {
			t.Errorf("%d polls are there twice", n)
		}
	})
}

func TestRollupsAgreeWithRawPolls(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		for range 8 { // 8 × 2 h 47 min: across midnight, packed piece by piece
			b.play(s, 1000)
			b.pack()
		}
		from, to := origin, origin.Add(20*time.Hour)
		metrics := []string{"status.Threads_connected", "status.Questions"}
		for _, step := range []time.Duration{10 * time.Minute, time.Hour} {
			r := b.read(monolith.Query{Server: s.id, Metrics: metrics, From: from, To: to, Step: step})
			if want := map[time.Duration]string{10 * time.Minute: "10m", time.Hour: "1h"}[step]; r.Tier != want {
				t.Fatalf("step %v is served by %q, want %q", step, r.Tier, want)
			}
			gauge, counter := series(t, r, metrics[0], ""), series(t, r, metrics[1], "")
			per := uint64(step / pollEvery)
			for i := range r.N {
				var sum, high float64
				low := math.Inf(1)
				for seq := uint64(i)*per + 1; seq <= uint64(i+1)*per; seq++ {
					v := threads(seq)
					sum, high, low = sum+v, max(high, v), min(low, v)
				}
				if math.Abs(gauge.Avg[i]-sum/float64(per)) > 1e-9 || gauge.Max[i] != high || gauge.Min[i] != low {
					t.Fatalf("step %v, bucket %d: avg %v min %v max %v, want %v %v %v", step, i, gauge.Avg[i], gauge.Min[i], gauge.Max[i], sum/float64(per), low, high)
				}
				pairs := float64(per)
				if i == 0 {
					pairs--
				}
				if counter.Increase[i] != 50*pairs || counter.Seconds[i] != 10*pairs {
					t.Fatalf("step %v, bucket %d: increase %v in %v s, want %v", step, i, counter.Increase[i], counter.Seconds[i], 50*pairs)
				}
			}
		}
		if n := count(t, b.db, "SELECT COUNT(*) FROM v_query_rate WHERE server_name = 'a' AND questions_rate = 5"); n < 20 {
			t.Errorf("the view has %d hours of 5 questions a second, want at least 20", n)
		}
	})
}

func TestOlderPartComesFromTheCoarserTier(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		for range 6 {
			b.play(s, 1000)
			b.pack()
		}
		// What retention does to raw blocks.
		edge := origin.Add(5*time.Hour + 7*time.Minute)
		if _, err := b.db.w.Exec("DELETE FROM history_block WHERE tier = 0 AND last_ms < ?", edge.UnixMilli()); err != nil {
			t.Fatal(err)
		}
		r := b.read(monolith.Query{Server: s.id, Metrics: []string{"status.Questions"}, From: origin.Add(10 * time.Minute), To: origin.Add(16 * time.Hour), Step: 10 * time.Minute})
		raw := b.read(monolith.Query{Server: s.id, Metrics: []string{"status.Questions"}, From: origin.Add(10 * time.Minute), To: origin.Add(16 * time.Hour), Step: 5 * time.Minute})
		if raw.Tier != "10m" {
			t.Errorf("the tier is %q, want 10m", raw.Tier)
		}
		for _, r := range []*monolith.Range{r, raw} {
			c := series(t, r, "status.Questions", "")
			missing := 0
			for i := range r.N {
				if math.IsNaN(c.Increase[i]) {
					missing++
					continue
				}
				if rate := c.Increase[i] / c.Seconds[i]; math.Abs(rate-5) > 1e-9 {
					t.Fatalf("step %d of %v: rate %v, want 5", i, r.Step, rate)
				}
			}
			if missing > 1 {
				t.Errorf("%d of %d steps are missing at step %v", missing, r.N, r.Step)
			}
		}
	})
}

func TestRestartBreaksCountersAndMakesAMark(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		b.play(s, 20)
		s.run = 2
		snap := s.next()
		snap.Restart = true
		b.db.Append(snap)
		b.play(s, 10)
		r := b.read(monolith.Query{Server: s.id, Metrics: []string{"status.Questions", "host.disk_read_bytes_total"}, From: origin, To: s.at, Step: pollEvery})
		if c := series(t, r, "status.Questions", ""); !math.IsNaN(c.Increase[20]) || c.Increase[21] != 50 {
			t.Errorf("increase over the restart is %v, after it %v", c.Increase[20], c.Increase[21])
		}
		if c := series(t, r, "host.disk_read_bytes_total", "sda"); c.Increase[20] != 4096 {
			t.Errorf("the host's counter has %v over the restart of the server, want 4096", c.Increase[20])
		}
		marks, err := b.db.Marks(t.Context(), monolith.MarkQuery{Servers: []monolith.ServerID{s.id}})
		if err != nil {
			t.Fatal(err)
		}
		want := []monolith.Mark{{Server: s.id, At: snap.At.Add(-pollEvery), Kind: monolith.MarkRestart, Text: "the server was restarted"}}
		if diff := cmp.Diff(want, marks, cmpopts.IgnoreFields(monolith.Mark{}, "ID")); diff != "" {
			t.Error(diff)
		}
		b.reopen()
		if seq, run, _ := b.db.Resume(t.Context(), s.id); seq != 31 || run != 2 {
			t.Errorf("resume gives %d and run %d, want 31 and 2", seq, run)
		}
	})
}

func TestReadRefusesWhatMakesNoSense(t *testing.T) {
	b := newBench(t, Config{Path: t.TempDir() + "/monolith.db"})
	s := b.server("a")
	for name, q := range map[string]monolith.Query{
		"step":  {From: origin, To: origin.Add(time.Hour), Step: time.Millisecond},
		"range": {From: origin.Add(time.Hour), To: origin, Step: time.Minute},
		"steps": {From: origin, To: origin.AddDate(10, 0, 0), Step: time.Second},
	} {
		q.Server = s.ID
		if _, err := b.db.Read(t.Context(), q); !isInvalid(err) {
			t.Errorf("%s: %v, want invalid", name, err)
		}
	}
	r, err := b.db.Read(t.Context(), monolith.Query{Server: s.ID, Metrics: []string{"status.Questions"}, From: origin, To: origin.Add(time.Hour), Step: time.Minute})
	if err != nil || len(r.Series) != 0 || len(r.Absent) != 0 || r.N != 60 {
		t.Errorf("a server that was never polled gives %+v, %v", r, err)
	}
}

func TestMetricsAServerHasHad(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		s := newSource(b.server("a").ID)
		other := b.server("b")
		for range 26 { // a day and two hours
			b.play(s, 360)
			b.pack()
		}
		want := []monolith.Metric{{Name: "host.disk_read_bytes_total", Instance: "sda"}, {Name: "host.disk_read_bytes_total", Instance: "sdb"}, {Name: "host.load1"},
			{Name: "status.Com_select"}, {Name: "status.Max_used_connections"}, {Name: "status.Questions"}, {Name: "status.Threads_connected"}, {Name: "status.Uptime"},
			{Name: "variable.max_connections"}, {Name: "variable.sql_mode"}, {Name: "variable.version"}}
		for range 2 {
			got, err := b.db.Metrics(t.Context(), s.id)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			seen, err := b.db.MetricsSeen(t.Context(), s.id)
			if err != nil || len(seen) != len(want) {
				t.Fatal(seen, err)
			}
			for _, m := range seen {
				if !m.First.Equal(origin.Add(pollEvery)) || m.Last.Before(origin.Add(24*time.Hour)) || m.Kind != monolith.KindOf(m.Metric.Name) {
					t.Errorf("%s: %+v", m.Metric, m)
				}
			}
			b.reopen()
		}
		if got, err := b.db.Metrics(t.Context(), other.ID); err != nil || len(got) != 0 {
			t.Errorf("a server that was never polled has %v, %v", got, err)
		}
	})
}

// Names that a database might fold into one are different ones here: schemas and channels are called what they are called.
func TestInstancesThatDifferALittle(t *testing.T) {
	eachEngine(t, func(t *testing.T, b *bench) {
		instances := []string{"shop", "Shop", "SHOP", "shöp", "shop ", "", "日本"}
		s := newSource(b.server("a").ID)
		var list []monolith.Metric
		var nums []monolith.Num
		for i, instance := range instances {
			list, nums = append(list, monolith.Metric{Name: "schema.data_bytes", Instance: instance}), append(nums, monolith.Uint(uint64(i+1)))
		}
		names := monolith.NewNames(list)
		for range 3 {
			snap := s.next()
			sizes := monolith.Section{Collector: "sizes", NumNames: names, Nums: slices.Clone(nums)}
			for i := range list {
				sizes.Nums[names.Index(list[i])] = nums[i]
			}
			snap.Sections = append(snap.Sections, sizes)
			b.db.Append(snap)
			b.flush()
		}
		b.reopen()
		r := b.read(monolith.Query{Server: s.id, Metrics: []string{"schema.data_bytes"}, From: origin, To: s.at, Step: pollEvery})
		if len(r.Series) != len(instances) {
			t.Errorf("%d instances of %d", len(r.Series), len(instances))
		}
		for i, instance := range instances {
			kept := strings.ReplaceAll(instance, " ", "\u00a0") // MySQL takes no account of spaces at the end
			if got := series(t, r, "schema.data_bytes", kept); got.Avg[1] != float64(i+1) {
				t.Errorf("%q is %v, want %d", instance, got.Avg[1], i+1)
			}
		}
	})
}

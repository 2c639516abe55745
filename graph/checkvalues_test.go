package graph

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"monolith"
)

// readings is a history of raw readings, of which it makes ranges as the store does: pairs of readings are
// subtracted by monolith.Increase, and steps hold sums of what the pairs gave.
type readings struct {
	every  time.Duration
	values map[monolith.Metric][]float64 // one a poll; NaN: none
	runs   []uint32                      // of the server, one a poll; nil: always the same
}

func (h *readings) run(poll int) uint32 {
	if h.runs == nil {
		return 1
	}
	return h.runs[poll]
}

func (h *readings) Read(_ context.Context, q monolith.Query) (*monolith.Range, error) {
	n := int(q.To.Sub(q.From) / q.Step)
	r := &monolith.Range{Start: q.From, Step: q.Step, N: n, Tier: "raw"}
	for _, name := range q.Metrics {
		found := false
		for m, values := range h.values {
			if m.Name == name {
				found = true
				r.Series = append(r.Series, h.series(m, values, q, n))
			}
		}
		// As the store has it: of namespaces with several collectors nothing is absent by design.
		if ns := (monolith.Metric{Name: name}).Namespace(); !found && ns != "self" && ns != "server" && ns != "schema" {
			r.Absent = append(r.Absent, name)
		}
	}
	slices.SortFunc(r.Series, func(a, b monolith.Series) int { return strings.Compare(a.Metric.String(), b.Metric.String()) })
	return r, nil
}

func (h *readings) series(m monolith.Metric, values []float64, q monolith.Query, n int) monolith.Series {
	s := monolith.Series{Metric: m, Kind: monolith.KindOf(m.Name)}
	for _, list := range []*[]float64{&s.Avg, &s.Min, &s.Max, &s.Last, &s.Increase, &s.Seconds, &s.RateMin, &s.RateMax} {
		*list = slices.Repeat([]float64{math.NaN()}, n)
	}
	num := func(v float64) monolith.Num {
		if math.IsNaN(v) {
			return monolith.Num{}
		}
		return monolith.Uint(uint64(v))
	}
	for poll, v := range values {
		step := int(start.Add(time.Duration(poll)*h.every).Sub(q.From) / q.Step)
		if step < 0 || step >= n {
			continue
		}
		if !s.Kind.Accumulates() {
			s.Avg[step], s.Min[step], s.Max[step], s.Last[step] = v, v, v, v
			continue
		}
		if poll == 0 {
			continue
		}
		at := func(i int) monolith.Point {
			return monolith.Point{Run: monolith.RunOf(m.Namespace(), h.run(i)), Clock: time.Duration(i) * h.every, Interval: h.every}
		}
		if inc, took, ok := monolith.Increase(num(values[poll-1]), num(v), at(poll-1), at(poll)); ok {
			if math.IsNaN(s.Increase[step]) {
				s.Increase[step], s.Seconds[step] = 0, 0
			}
			s.Increase[step] += inc
			s.Seconds[step] += took.Seconds()
		}
	}
	return s
}

// counters are readings of counters alone, all of the same length.
func counters(every time.Duration, values map[string][]float64) *readings {
	h := &readings{every: every, values: map[monolith.Metric][]float64{}}
	for name, v := range values {
		h.values[monolith.Metric{Name: name}] = v
	}
	return h
}

// drawn draws a built-in graph of readings at a step and gives the line of a name.
func (h *readings) drawn(t *testing.T, st *monolith.State, id string, polls int, step time.Duration, name string) []float64 {
	t.Helper()
	ds, err := Draw(t.Context(), h, Target{ID: 1, Name: "db1", State: st},
		Request{From: start, To: start.Add(time.Duration(polls) * h.every), Step: step}, Find(id))
	if err != nil {
		t.Fatal(err)
	}
	return find(t, ds[0], name).V
}

func checkLine(t *testing.T, what string, got []float64, want ...float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
		return
	}
	for i, w := range want {
		if math.IsNaN(w) != math.IsNaN(got[i]) || math.Abs(got[i]-w) > 1e-3*math.Max(1, math.Abs(w)) {
			t.Errorf("%s: step %d is %v, want %v", what, i, got[i], w)
		}
	}
}

var gap = math.NaN()

// Δall 1,000 and Δdisk 300 in an hour.
func TestCheckTemporaryTables(t *testing.T) {
	st := state(monolith.MySQL, "8.4.0", map[string]string{"port": "3306"})
	h := counters(time.Hour, map[string][]float64{"status.Created_tmp_tables": {5000, 6000}, "status.Created_tmp_disk_tables": {70, 370},
		"self.Created_tmp_tables": {0, 0}, "self.Created_tmp_disk_tables": {0, 0}})
	checkLine(t, "in memory", h.drawn(t, st, "temp-tables", 2, time.Hour, "in memory"), gap, 0.19444)
	checkLine(t, "on disk", h.drawn(t, st, "temp-tables", 2, time.Hour, "on disk"), gap, 0.08333)
	checkLine(t, "share", h.drawn(t, st, "temp-tables", 2, time.Hour, "share on disk"), gap, 30)

	// What Monolith's own statements made is taken off, and more on disk than in all is no negative rate.
	own := counters(10*time.Second, map[string][]float64{"status.Created_tmp_tables": {0, 40, 60}, "status.Created_tmp_disk_tables": {0, 10, 40},
		"self.Created_tmp_tables": {0, 20, 40}, "self.Created_tmp_disk_tables": {0, 0, 0}})
	checkLine(t, "in memory", own.drawn(t, st, "temp-tables", 3, 10*time.Second, "in memory"), gap, 1, 0)
	checkLine(t, "on disk", own.drawn(t, st, "temp-tables", 3, 10*time.Second, "on disk"), gap, 1, 3)
}

// ΔThreads_created 1,350 and ΔConnections 9,000.
func TestCheckThreadCacheMisses(t *testing.T) {
	h := counters(time.Minute, map[string][]float64{"status.Threads_created": {10, 1360}, "status.Connections": {1000, 10000}})
	checkLine(t, "misses", h.drawn(t, nil, "threads", 2, time.Minute, "cache miss %"), gap, 15)
}

// The example server of old: 128M/256K/128M/192K/128M/32K for each of 4,096 connections, and 778 MiB for all.
func TestCheckPossibleMemory(t *testing.T) {
	const k, m = 1 << 10, 1 << 20
	src := history{
		"variable.read_buffer_size": 128 * m, "variable.read_rnd_buffer_size": 256 * k, "variable.sort_buffer_size": 128 * m,
		"variable.thread_stack": 192 * k, "variable.join_buffer_size": 128 * m, "variable.binlog_cache_size": 32 * k, "variable.max_connections": 4096,
		"variable.innodb_buffer_pool_size": 512 * m, "variable.innodb_log_buffer_size": 8 * m, "variable.innodb_additional_mem_pool_size": 2 * m,
		"variable.key_buffer_size": 128 * m, "variable.query_cache_size": 128 * m,
		"status.Threads_connected": 3, "status.Max_used_connections": 4,
	}
	d := drawOne(t, src, state(monolith.MySQL, "5.5.62", map[string]string{"port": "3306"}), "memory")
	total := *find(t, d, "possible maximum").Stats.Last
	if want := 778*m + 1_651_280_707_584.0; total != want || math.Round(total/(1<<30)*1000)/1000 != 1538.635 {
		t.Errorf("the possible maximum is %.3f GiB", total/(1<<30))
	}
	if share := 100 * total / (4 << 30); math.Round(share*100)/100 != 38465.87 {
		t.Errorf("that is %.2f %% of 4 GiB", share)
	}
	if got := *find(t, d, "other global buffers").Stats.Last; got != (778-512)*m {
		t.Errorf("other global buffers: %v", got)
	}
	if now, peak := *find(t, d, "sessions now").Stats.Last, *find(t, d, "sessions at peak").Stats.Last; now != 3*403_144_704 || peak != 403_144_704 {
		t.Errorf("sessions: %v now, %v more at the peak", now, peak)
	}

	// TempTable's memory counts only where it is the engine for temporary tables.
	src["variable.temptable_max_ram"] = 1 << 30
	for engine, more := range map[string]float64{"TempTable": 1 << 30, "MEMORY": 0} {
		with := texts{src, map[string]string{"variable.internal_tmp_mem_storage_engine": engine}}
		ds, err := Draw(t.Context(), with, Target{ID: 1, State: state(monolith.MySQL, "8.0.36", map[string]string{"port": "3306"})},
			Request{From: start, To: start.Add(10 * time.Minute), Step: 10 * time.Second}, Find("memory"))
		if err != nil {
			t.Fatal(err)
		}
		if got := *find(t, ds[0], "possible maximum").Stats.Last; got != total+more {
			t.Errorf("with %s the possible maximum is %v, want %v", engine, got, total+more)
		}
	}
}

// texts is a history that has texts besides.
type texts struct {
	history
	text map[string]string
}

func (h texts) Read(ctx context.Context, q monolith.Query) (*monolith.Range, error) {
	r, err := h.history.Read(ctx, q)
	if err != nil {
		return nil, err
	}
	for name, text := range h.text {
		if i := slices.Index(r.Absent, name); i >= 0 {
			r.Absent = slices.Delete(r.Absent, i, i+1)
			r.Series = append(r.Series, monolith.Series{Metric: monolith.Metric{Name: name}, Kind: monolith.Text,
				Steps: []monolith.TextStep{{At: q.From, Text: text}}})
		}
	}
	return r, nil
}

// A restart makes a gap in every line; FLUSH STATUS only in those of the counters that it resets.
func TestCheckResets(t *testing.T) {
	st := state(monolith.MySQL, "5.7.44", map[string]string{"query_cache_type": "ON", "query_cache_size": "16777216"})
	restart := counters(10*time.Second, map[string][]float64{"status.Com_select": {999_990, 1_000_000, 40, 50}, "self.Com_select": {0, 0, 0, 0}})
	restart.runs = []uint32{1, 1, 2, 2}
	checkLine(t, "select over a restart", restart.drawn(t, st, "query-rate", 4, 10*time.Second, "select"), gap, 1, gap, 1)

	// After a longer stop the counter may be higher than before: the run tells, not the number.
	higher := counters(10*time.Second, map[string][]float64{"status.Com_select": {10, 20, 40, 50}, "self.Com_select": {0, 0, 0, 0}})
	higher.runs = []uint32{1, 1, 2, 2}
	checkLine(t, "select that is higher after a restart", higher.drawn(t, st, "query-rate", 4, 10*time.Second, "select"), gap, 1, gap, 1)

	flushed := counters(10*time.Second, map[string][]float64{"status.Qcache_hits": {4990, 5000, 0, 10}, "status.Qcache_inserts": {1, 11, 21, 31},
		"status.Com_select": {100, 110, 120, 130}})
	checkLine(t, "hits", flushed.drawn(t, st, "query-cache", 4, 10*time.Second, "hits (out)"), gap, 1, gap, 1)
	checkLine(t, "inserts", flushed.drawn(t, st, "query-cache", 4, 10*time.Second, "inserts (in)"), gap, 1, 1, 1)
	checkLine(t, "hit ratio", flushed.drawn(t, st, "query-cache", 4, 10*time.Second, "hit ratio"), gap, 50, gap, 50)
}

// One of 10 and then 90 of 100 are 91 of 110, and not the mean of 10 % and 90 %.
func TestCheckRollUpOfRatios(t *testing.T) {
	h := counters(10*time.Second, map[string][]float64{"status.Key_reads": {0, 1, 91, 91}, "status.Key_read_requests": {0, 10, 110, 110}})
	checkLine(t, "at the polls", h.drawn(t, nil, "myisam-keys", 4, 10*time.Second, "miss"), gap, 10, 90, gap)
	// In one step of both pairs; a step in which nothing was divided by is a gap, not 0 %.
	h = counters(10*time.Second, map[string][]float64{"status.Key_reads": {0, 0, 1, 91}, "status.Key_read_requests": {0, 0, 10, 110}})
	checkLine(t, "in one step", h.drawn(t, nil, "myisam-keys", 4, 20*time.Second, "miss"), gap, 82.7273)
}

// Reads by position come after a sort and say nothing about indexes; rows of temporary tables are no rows of tables,
// and Monolith's own are among both.
func TestCheckShareWithoutIndex(t *testing.T) {
	h := counters(10*time.Second, map[string][]float64{
		"status.Handler_read_first": {0, 10}, "status.Handler_read_key": {0, 100}, "status.Handler_read_last": {0, 10}, "status.Handler_read_next": {0, 70},
		"status.Handler_read_prev": {0, 10}, "status.Handler_read_rnd": {0, 99999}, "status.Handler_read_rnd_next": {0, 1960},
		"self.Handler_read_rnd_next": {0, 560}, "status.Rows_tmp_read": {0, 1160}, "self.Rows_tmp_read": {0, 560},
	})
	mariadb := state(monolith.MariaDB, "10.11.6", map[string]string{"port": "3306"})
	checkLine(t, "MariaDB", h.drawn(t, mariadb, "handler-reads", 2, 10*time.Second, "share without index"), gap, 80)
	checkLine(t, "MariaDB", h.drawn(t, mariadb, "handler-reads", 2, 10*time.Second, "next row of a scan"), gap, 80)
	delete(h.values, monolith.Metric{Name: "status.Rows_tmp_read"})
	h.values[monolith.Metric{Name: "self.Rows_tmp_read"}] = []float64{gap, gap} // it is recorded as not known
	mysql := state(monolith.MySQL, "5.6.51", map[string]string{"port": "3306"})
	checkLine(t, "MySQL", h.drawn(t, mysql, "handler-reads", 2, 10*time.Second, "share without index"), gap, 87.5)
}

package formula

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"monolith"
)

var none = math.NaN()

// anyName accepts every name, for tests that are not about names.
func anyName(string) bool { return true }

func mustParse(t testing.TB, text string) *Formula {
	t.Helper()
	f, err := ParseWith(text, anyName)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f
}

// over evaluates a formula over n steps from noon on.
func over(t testing.TB, h *history, text string, step time.Duration, n int) Result {
	t.Helper()
	req := Request{Server: 1, From: noon, To: noon.Add(time.Duration(n) * step), Step: step}
	results, err := Series(context.Background(), h, req, mustParse(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return results[0]
}

var floats = cmp.Options{cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-9, 1e-9), cmp.Transformer("floats", func(f monolith.Floats) []float64 { return f })}

// values holds that the formula has one line without instance with these values.
func values(t *testing.T, h *history, text string, step time.Duration, want ...float64) {
	t.Helper()
	r := over(t, h, text, step, len(want))
	if len(r.Lines) != 1 || r.Lines[0].Instance != "" {
		t.Errorf("%s: %d lines, why %q", text, len(r.Lines), r.Why)
		return
	}
	if d := cmp.Diff(monolith.Floats(want), r.Lines[0].V, floats); d != "" {
		t.Errorf("%s (-want +got):\n%s", text, d)
	}
}

// lacks holds that there is no line, with a reason that has the words.
func lacks(t *testing.T, h *history, text string, words string) Result {
	t.Helper()
	r := over(t, h, text, 10*time.Second, 4)
	if len(r.Lines) != 0 || !strings.Contains(r.Why, words) {
		t.Errorf("%s: %d lines, why %q, want none because of %q", text, len(r.Lines), r.Why, words)
	}
	return r
}

func ten() *history { return &history{interval: 10 * time.Second} }

func TestRatesAndDeltas(t *testing.T) {
	h := ten()
	h.counter("status.Questions", 100, 150, 250, 400, 400)
	h.counter("status.Com_select", 10, 15, 35, 35, 35)
	values(t, h, "rate(status.Questions)", 10*time.Second, none, 5, 10, 15, 0)
	values(t, h, "delta(status.Questions)", 10*time.Second, none, 50, 100, 150, 0)
	values(t, h, "rate(status.Com_select) / rate(status.Questions)", 10*time.Second, none, 0.1, 0.2, 0, none)
	values(t, h, "percent(delta(status.Com_select), delta(status.Questions))", 10*time.Second, none, 10, 20, 0, none)
	// In a step of several readings a rate divides what was added up.
	values(t, h, "rate(status.Questions)", 30*time.Second, 150.0/20, 150.0/20)
	values(t, h, "rate(status.Com_select) / rate(status.Questions)", 30*time.Second, 25.0/150, 0)
}

// The roll-up of a ratio divides sums: 1 of 10 and 90 of 100 are 91 of 110, not 50 %.
func TestRatioOfSums(t *testing.T) {
	h := ten()
	h.counter("status.Table_locks_waited", 0, 1, 91)
	h.counter("status.Table_locks_immediate", 0, 10, 110)
	values(t, h, "100 * rate(status.Table_locks_waited) / rate(status.Table_locks_immediate)", 30*time.Second, 100*91.0/110)
	values(t, h, "percent(rate(status.Table_locks_waited), rate(status.Table_locks_immediate))", 10*time.Second, none, 10, 90)
}

func TestQueryCacheRatio(t *testing.T) {
	h := &history{interval: time.Minute}
	h.counter("status.Qcache_hits", 0, 50000)
	mysql := h.counter("status.Com_select", 0, 50000)
	values(t, h, "percent(delta(status.Qcache_hits), delta(status.Qcache_hits) + delta(status.Com_select))", time.Minute, none, 50)
	mysql.readings[1].num = monolith.Uint(100000) // MariaDB counts hits in Com_select too
	values(t, h, "percent(delta(status.Qcache_hits), delta(status.Com_select))", time.Minute, none, 50)
}

func TestTemporaryTables(t *testing.T) {
	h := &history{interval: time.Hour}
	h.counter("status.Created_tmp_tables", 0, 1000)
	h.counter("status.Created_tmp_disk_tables", 0, 300)
	values(t, h, "rate(status.Created_tmp_tables) - rate(status.Created_tmp_disk_tables)", time.Hour, none, 700.0/3600)
	values(t, h, "rate(status.Created_tmp_disk_tables)", time.Hour, none, 300.0/3600)
	values(t, h, "percent(rate(status.Created_tmp_disk_tables), rate(status.Created_tmp_tables))", time.Hour, none, 30)
}

func TestThreadMissRatio(t *testing.T) {
	h := &history{interval: time.Minute}
	h.counter("status.Threads_created", 0, 1350)
	h.counter("status.Connections", 0, 9000)
	values(t, h, "percent(rate(status.Threads_created), rate(status.Connections))", time.Minute, none, 15)
}

// A restart breaks every counter, FLUSH STATUS only those that it resets.
func TestResets(t *testing.T) {
	h := ten()
	selects := h.counter("status.Com_select", 999990, 1000000, 40, 50)
	for i := range selects.readings[2:] {
		selects.readings[2+i].run = 2
	}
	values(t, h, "rate(status.Com_select)", 10*time.Second, none, 1, none, 1)
	values(t, h, "rate(status.Com_select) ?? 0", 10*time.Second, none, 1, none, 1)

	h = ten()
	h.counter("status.Qcache_hits", 4990, 5000, 0, 10)
	h.counter("status.Com_select", 100, 110, 120, 130)
	values(t, h, "rate(status.Qcache_hits)", 10*time.Second, none, 1, none, 1)
	values(t, h, "rate(status.Com_select)", 10*time.Second, none, 1, 1, 1)
	values(t, h, "rate(status.Qcache_hits) + rate(status.Com_select)", 10*time.Second, none, 2, none, 2)
}

func TestWindows(t *testing.T) {
	h := ten()
	h.counter("status.Questions", 0, 10, 30, 60, 100, 150, 210)
	h.gauge("status.Threads_running", 1, 2, 3, 10, 5, 6, 7)
	// Two steps a window; at noon there is no pair before, so nothing covers four fifths of it.
	values(t, h, `delta(status.Questions, "20s")`, 10*time.Second, none, none, 30, 50, 70, 90, 110)
	values(t, h, `rate(status.Questions, "20s")`, 10*time.Second, none, none, 1.5, 2.5, 3.5, 4.5, 5.5)
	// The step at the window's beginning counts by the part that lies inside.
	values(t, h, `delta(status.Questions, "15s")`, 10*time.Second, none, none, 25, 40, 55, 70, 85)
	values(t, h, `delta(status.Questions, "5s")`, 10*time.Second, none, 5, 10, 15, 20, 25, 30)
	values(t, h, `avg_over(status.Threads_running, "20s")`, 10*time.Second, 1, 1.5, 2.5, 6.5, 7.5, 5.5, 6.5)
	values(t, h, `min_over(status.Threads_running, "30s")`, 10*time.Second, 1, 1, 1, 2, 3, 5, 5)
	values(t, h, `max_over(status.Threads_running, "30s")`, 10*time.Second, 1, 2, 3, 10, 10, 10, 7)
	values(t, h, `max_over(status.Threads_running, "25s")`, 10*time.Second, 1, 2, 3, 10, 10, 10, 7)
	values(t, h, `max_over(status.Threads_running)`, 30*time.Second, 3, 10, 7)
	values(t, h, `avg_over(status.Threads_running)`, 30*time.Second, 2, 7, 7)
}

// A window reaches back before the range: what lies there is read and cut off.
func TestWindowBeforeRange(t *testing.T) {
	h := ten()
	var v []float64
	for i := range 100 {
		v = append(v, float64(i*i))
	}
	h.counter("status.Questions", v...)
	h.gauge("status.Threads_running", v...)
	from := noon.Add(500 * time.Second)
	req := Request{Server: 1, From: from, To: from.Add(30 * time.Second), Step: 10 * time.Second}
	results, err := Series(context.Background(), h, req, mustParse(t, `delta(status.Questions, "20s")`),
		mustParse(t, "status.Threads_running"), mustParse(t, `max_over(status.Threads_running, "5m")`))
	if err != nil {
		t.Fatal(err)
	}
	if !results[0].Start.Equal(from) || len(results[0].Lines[0].V) != 3 {
		t.Errorf("starts at %v with %d steps", results[0].Start, len(results[0].Lines[0].V))
	}
	want := [][]float64{{50*50 - 48*48, 51*51 - 49*49, 52*52 - 50*50}, {2500, 2601, 2704}, {2500, 2601, 2704}}
	for i, w := range want {
		if d := cmp.Diff(monolith.Floats(w), results[i].Lines[0].V, floats); d != "" {
			t.Errorf("formula %d (-want +got):\n%s", i, d)
		}
	}
	// The short window is read with the range, the one longer than the range apart from it.
	if len(h.queries) != 2 || !h.queries[0].From.Equal(from.Add(-20*time.Second)) || !h.queries[1].From.Equal(from.Add(-5*time.Minute)) {
		t.Errorf("queries: %+v", h.queries)
	}
}

// A very long window is read in long steps; its range keeps the step that was asked for.
func TestVeryLongWindow(t *testing.T) {
	h := &history{interval: time.Hour}
	var total []float64
	for i := range 24 * 31 {
		total = append(total, float64(3600*i))
	}
	h.counter("status.Questions", total...)
	from := noon.Add(30 * 24 * time.Hour)
	req := Request{Server: 1, From: from, To: from.Add(time.Minute), Step: 10 * time.Second}
	results, err := Series(context.Background(), h, req, mustParse(t, `rate(status.Questions, "30d")`))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(monolith.Floats{1, 1, 1, 1, 1, 1}, results[0].Lines[0].V, floats); d != "" {
		t.Error(d)
	}
	if len(h.queries) != 1 || h.queries[0].Step != 10*time.Minute || results[0].Step != 10*time.Second {
		t.Errorf("%+v, step %v", h.queries, results[0].Step)
	}
}

func TestOneRead(t *testing.T) {
	h := ten()
	h.counter("status.Questions", 0, 1, 2, 3)
	h.gauge("status.Uptime", 0, 10, 20, 30)
	req := Request{Server: 1, From: noon, To: noon.Add(40 * time.Second), Step: 10 * time.Second}
	_, err := Series(context.Background(), h, req, mustParse(t, "rate(status.Questions)"), mustParse(t, "status.Uptime + delta(status.Questions)"),
		mustParse(t, `rate(status.Questions, "20s")`), mustParse(t, "7"))
	if err != nil || h.reads.Load() != 1 {
		t.Errorf("%d reads, %v", h.reads.Load(), err)
	}
	if d := cmp.Diff([]string{"status.Questions", "status.Uptime"}, h.queries[0].Metrics); d != "" {
		t.Error(d)
	}
	h.reads.Store(0)
	if r := over(t, h, "100", 10*time.Second, 3); h.reads.Load() != 0 || len(r.Lines) != 1 || len(r.Lines[0].V) != 3 || r.Lines[0].V[2] != 100 {
		t.Errorf("a constant: %+v after %d reads", r, h.reads.Load())
	}
}

// A formula with a missing input has no value, whatever it does with that input.
func TestMissingInputs(t *testing.T) {
	h := ten()
	h.gauge("status.Threads_running", 1, none, 3, 4)
	h.gauge("status.Uptime", 10, 20, none, 40)
	h.absent = []string{"status.Qcache_hits", "self.Questions"}
	values(t, h, "status.Threads_running + status.Uptime", 10*time.Second, 11, none, none, 44)
	values(t, h, "greatest(0, status.Threads_running)", 10*time.Second, 1, none, 3, 4)
	values(t, h, "status.Threads_running > 2 ? 1 : 0", 10*time.Second, 0, none, 1, 1)
	// Also where the input would not count for the result.
	values(t, h, "status.Uptime > 0 ? 1 : status.Threads_running", 10*time.Second, 1, none, none, 1)
	values(t, h, "status.Uptime > 0 or status.Threads_running > 100", 10*time.Second, 1, none, none, 1)
	values(t, h, "0 * status.Threads_running", 10*time.Second, 0, none, 0, 0)
	values(t, h, "status.Threads_running ** 0", 10*time.Second, 1, none, 1, 1)

	if r := lacks(t, h, "status.Threads_running + status.Qcache_hits", "status.Qcache_hits"); !r.Absent {
		t.Error("absent by design is not told")
	}
	if r := lacks(t, h, "status.Threads_running + status.Slow_queries", "status.Slow_queries"); r.Absent {
		t.Error("missing is told as absent by design")
	}
	if r := lacks(t, h, "1 > 2 ? status.Qcache_hits : 1", "status.Qcache_hits"); !r.Absent {
		t.Error("absent by design is not told")
	}
}

// ?? stands for what the server does not have by design, and for nothing else.
func TestElse(t *testing.T) {
	h := ten()
	h.counter("status.Questions", 0, 10, 20, 40)
	h.counter("self.Com_select", 0, none, none, none)
	h.gauge("status.Threads_running", 1, none, 3, 4)
	h.absent = []string{"self.Questions", "status.Qcache_hits"}
	values(t, h, "rate(status.Questions) - rate(self.Questions) ?? 0", 10*time.Second, none, 1, 1, 2)
	values(t, h, "rate(status.Questions) - (rate(self.Questions) ?? 0)", 10*time.Second, none, 1, 1, 2)
	values(t, h, "status.Threads_running ?? 7", 10*time.Second, 1, none, 3, 4) // a gap stays one
	values(t, h, "self.Questions ?? status.Threads_running", 10*time.Second, 1, none, 3, 4)
	values(t, h, "(self.Questions + status.Threads_running) ?? 5", 10*time.Second, 5, 5, 5, 5)
	values(t, h, "self.Questions ?? status.Qcache_hits ?? 3", 10*time.Second, 3, 3, 3, 3)
	values(t, h, "sum(self.Questions) ?? 2", 10*time.Second, 2, 2, 2, 2)
	values(t, h, "sum(self.Questions ?? 2)", 10*time.Second, 2, 2, 2, 2)
	// The right side is not needed where the left one is there.
	values(t, h, "status.Threads_running ?? status.Qcache_hits", 10*time.Second, 1, none, 3, 4)
	lacks(t, h, "rate(status.Questions) - (rate(self.Com_select) ?? 0)", "rate(self.Com_select)") // only failed polls
	lacks(t, h, "status.Slow_queries ?? 0", "status.Slow_queries")                                // nobody asked for it yet
	if r := lacks(t, h, "self.Questions ?? status.Qcache_hits", "status.Qcache_hits"); !r.Absent {
		t.Error("both absent is not told")
	}
}

func TestNoNumber(t *testing.T) {
	h := ten()
	h.gauge("status.Threads_running", 0, 1, 2, -4)
	h.gauge("status.Uptime", 1e308, 1, 0, 3)
	h.text("variable.log_bin", -5, "ON")
	values(t, h, "1 / status.Threads_running", 10*time.Second, none, 1, 0.5, -0.25)
	values(t, h, "status.Threads_running / status.Threads_running", 10*time.Second, none, 1, 1, 1)
	values(t, h, "percent(status.Threads_running, status.Uptime)", 10*time.Second, 0, 100, none, -400.0/3)
	values(t, h, "7 % status.Threads_running", 10*time.Second, none, 0, 1, 3)
	values(t, h, "status.Uptime * 10", 10*time.Second, none, 10, 0, 30)
	values(t, h, "status.Threads_running ** 0.5", 10*time.Second, 0, 1, math.Sqrt2, none)
	// A division by zero that is not reached does no harm.
	values(t, h, "status.Threads_running == 0 ? 0 : 1 / status.Threads_running", 10*time.Second, 0, 1, 0.5, -0.25)
	values(t, h, "status.Threads_running != 0 and 1 / status.Threads_running > 0.7", 10*time.Second, 0, 1, 0, 0)
	// One that is reached is never hidden by a comparison.
	values(t, h, "1 / status.Threads_running > 0", 10*time.Second, none, 1, 1, 0)
	lacks(t, h, "variable.log_bin + 1", "variable.log_bin")
	lacks(t, h, "variable.log_bin > 1", `"ON"`)
	lacks(t, h, "rate(variable.log_bin)", "variable.log_bin is a text")
	lacks(t, h, "avg_over(variable.log_bin)", "variable.log_bin is a text")
	lacks(t, h, "rate(status.Threads_running)", "does not accumulate")
	lacks(t, h, "status.Uptime / 0", "x/0")
	h.counter("status.Questions", 1, 2, 3, 4)
	lacks(t, h, "status.Questions", "write rate(status.Questions)")
	lacks(t, h, "max_over(status.Questions)", "works on gauges")
}

func TestBareCounterOfUnknownKind(t *testing.T) {
	h := ten()
	h.add("status.Foo", "", monolith.Untyped, 5, 6, 8, 8)
	values(t, h, "status.Foo", 10*time.Second, 5, 6, 8, 8)
	values(t, h, "rate(status.Foo)", 10*time.Second, none, 0.1, 0.2, 0)
}

func TestTexts(t *testing.T) {
	h := ten()
	h.text("variable.log_bin", -5, "ON", 2, "OFF")
	h.text("variable.sql_mode", 1, "STRICT_TRANS_TABLES,ANSI")
	mixed := h.gauge("variable.query_cache_type", none, none, 1, 1) // ON, then a number
	mixed.texts = []monolith.TextStep{{At: noon.Add(-time.Hour), Text: "ON"}, {At: noon.Add(20 * time.Second), Text: "1"}}
	h.gauge("status.Uptime", 1, 2, 3, 4)
	values(t, h, `variable.log_bin == "ON"`, 10*time.Second, 1, 1, 0, 0)
	values(t, h, `variable.log_bin != "ON" ? 5 : 6`, 10*time.Second, 6, 6, 5, 5)
	values(t, h, `variable.log_bin in ["OFF", "0"] ? status.Uptime : -status.Uptime`, 10*time.Second, -1, -2, 3, 4)
	values(t, h, `variable.sql_mode contains "ANSI"`, 10*time.Second, none, 1, 1, 1)
	values(t, h, `variable.sql_mode matches "^STRICT_.*TABLES"`, 10*time.Second, none, 1, 1, 1)
	values(t, h, `not (variable.sql_mode startsWith "STRICT")`, 10*time.Second, none, 0, 0, 0)
	values(t, h, `variable.sql_mode endsWith "ANSI"`, 10*time.Second, none, 1, 1, 1)
	values(t, h, `variable.query_cache_type == "ON"`, 10*time.Second, 1, 1, 0, 0)
	values(t, h, `variable.query_cache_type == "1"`, 10*time.Second, 0, 0, 1, 1)
	values(t, h, `variable.query_cache_type == 1`, 10*time.Second, 0, 0, 1, 1)
	values(t, h, `variable.query_cache_type + 1`, 10*time.Second, none, none, 2, 2)
	values(t, h, `variable.query_cache_type == variable.log_bin`, 10*time.Second, 1, 1, 0, 0)
	values(t, h, `status.Uptime == 2`, 10*time.Second, 0, 1, 0, 0)
	lacks(t, h, "variable.sql_mode", "is the text")
}

func TestChanged(t *testing.T) {
	h := ten()
	h.text("variable.log_bin", -5, "ON", 2, "OFF")
	h.gauge("variable.max_connections", 100, 100, 200, 200, 200, none, 100)
	h.counter("status.Slow_queries", 5, 5, 5, 6, 6, 6, 6)
	values(t, h, "changed(variable.log_bin)", 10*time.Second, 0, 0, 1, 0, 0, 0, 0)
	values(t, h, `changed(variable.log_bin, "30s")`, 10*time.Second, 0, 0, 1, 1, 1, 0, 0)
	values(t, h, "changed(variable.max_connections)", 10*time.Second, 0, 0, 1, 0, 0, none, 0)
	values(t, h, `changed(variable.max_connections, "20s")`, 10*time.Second, 0, 0, 1, 1, 0, 0, 1)
	values(t, h, "changed(status.Slow_queries)", 10*time.Second, none, 0, 0, 1, 0, 0, 0)
}

// The reading before the range tells whether its first step brought a change.
func TestChangedAtTheBeginning(t *testing.T) {
	h := ten()
	h.gauge("variable.max_connections", 100, 100, 200, 200)
	req := Request{Server: 1, From: noon.Add(20 * time.Second), To: noon.Add(40 * time.Second), Step: 10 * time.Second}
	results, err := Series(context.Background(), h, req, mustParse(t, "changed(variable.max_connections)"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(monolith.Floats{1, 0}, results[0].Lines[0].V, floats); d != "" {
		t.Error(d)
	}
}

// The text at a step's end counts, and a number that was read in the step comes before it.
func TestTextInsideAStep(t *testing.T) {
	h := ten()
	h.text("variable.log_bin", -5, "ON").texts = []monolith.TextStep{{At: noon.Add(-time.Hour), Text: "ON"}, {At: noon.Add(15 * time.Second), Text: "OFF"}}
	mixed := h.gauge("variable.query_cache_type", 1, 1, none)
	mixed.texts = []monolith.TextStep{{At: noon.Add(-time.Hour), Text: "1"}, {At: noon.Add(15 * time.Second), Text: "ON"}}
	values(t, h, `variable.log_bin == "ON"`, 10*time.Second, 1, 0, 0)
	values(t, h, `variable.query_cache_type == 1`, 10*time.Second, 1, 1, 0)
	values(t, h, `variable.query_cache_type`, 10*time.Second, 1, 1, none)
}

func TestWeekAgo(t *testing.T) {
	h := ten()
	r := h.gauge("status.Threads_running", 1, 2, 3, 4)
	q := h.counter("status.Questions", 0, 10, 30, 60)
	for i := range 4 {
		at := noon.Add(-7*24*time.Hour + time.Duration(i)*10*time.Second)
		r.readings = append(r.readings, reading{at, monolith.Uint(uint64(10 * i)), 1})
		q.readings = append(q.readings, reading{at, monolith.Uint(uint64(100 * i)), 1})
	}
	// In the order of time.
	r.readings = append(r.readings[4:], r.readings[:4]...)
	q.readings = append(q.readings[4:], q.readings[:4]...)
	values(t, h, "status.Threads_running - week_ago(status.Threads_running)", 10*time.Second, 1, -8, -17, -26)
	values(t, h, "week_ago(status.Threads_running)", 10*time.Second, 0, 10, 20, 30)
	values(t, h, "week_ago(rate(status.Questions)) - rate(status.Questions)", 10*time.Second, none, 9, 8, 7)
	values(t, h, `week_ago(delta(status.Questions, "20s"))`, 10*time.Second, none, none, 200, 200)
	if h.queries[0].To.Sub(h.queries[1].To) != 7*24*time.Hour {
		t.Errorf("queries: %+v", h.queries[:2])
	}
}

func TestForecast(t *testing.T) {
	h := ten()
	h.add("host.mount_used_bytes", "/", monolith.Gauge, 100, 110, 120, 130, 140, 150, 160)
	r := over(t, h, `forecast(host.mount_used_bytes, "40s", "100s")`, 10*time.Second, 7)
	want := monolith.Floats{none, none, 220, 230, 240, 250, 260}
	if d := cmp.Diff(want, r.Lines[0].V, floats); d != "" {
		t.Error(d)
	}
	// As far ahead as the window is long, when nothing is said.
	r = over(t, h, `forecast(host.mount_used_bytes, "40s")`, 10*time.Second, 7)
	if d := cmp.Diff(monolith.Floats{none, none, 160, 170, 180, 190, 200}, r.Lines[0].V, floats); d != "" {
		t.Error(d)
	}
	lacks(t, h, "forecast(host.mount_used_bytes)", "too few readings") // six hours of them
}

func TestBadRequests(t *testing.T) {
	h := ten()
	f := mustParse(t, "rate(status.Questions)")
	for name, req := range map[string]Request{
		"no step":        {From: noon, To: noon.Add(time.Minute)},
		"backwards":      {From: noon, To: noon.Add(-time.Minute), Step: time.Second},
		"empty":          {From: noon, To: noon, Step: time.Second},
		"too many steps": {From: noon, To: noon.Add(10 * 24 * time.Hour), Step: time.Second},
	} {
		if _, err := Series(context.Background(), h, req, f); !isInvalid(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if h.reads.Load() != 0 {
		t.Error("a bad request was read")
	}
}

// History may answer in coarser steps than asked for.
func TestCoarserTier(t *testing.T) {
	h := ten()
	h.step = time.Minute
	h.counter("status.Questions", 0, 10, 20, 30, 40, 50, 60, 80, 100, 120, 140, 160, 180)
	req := Request{Server: 1, From: noon.Add(70 * time.Second), To: noon.Add(2 * time.Minute), Step: 10 * time.Second}
	results, err := Series(context.Background(), h, req, mustParse(t, "rate(status.Questions)"), mustParse(t, `delta(status.Questions, "30s")`))
	if err != nil {
		t.Fatal(err)
	}
	r := results[0]
	if r.Step != time.Minute || !r.Start.Equal(noon.Add(time.Minute)) {
		t.Errorf("start %v, step %v", r.Start, r.Step)
	}
	if d := cmp.Diff(monolith.Floats{110.0 / 60}, r.Lines[0].V, floats); d != "" {
		t.Error(d)
	}
	// Half of the step's increase.
	if d := cmp.Diff(monolith.Floats{55}, results[1].Lines[0].V, floats); d != "" {
		t.Error(d)
	}
}

func isInvalid(err error) bool { return errors.Is(err, monolith.ErrInvalid) }

package formula

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"monolith"
)

// minutes records ten minutes of readings each ten seconds, up to and with noon + 10 min.
func minutes() *history {
	h := ten()
	var questions, selects, running []float64
	for i := range 61 {
		questions = append(questions, float64(1000*i))
		selects = append(selects, float64(500*i))
		running = append(running, float64(i%7))
	}
	h.counter("status.Questions", questions...)
	h.counter("status.Com_select", selects...)
	h.gauge("status.Threads_running", running...)
	h.text("variable.log_bin", -1000, "ON", 30, "OFF")
	h.text("variable.version", -1000, "10.11.6-MariaDB")
	h.absent = []string{"status.Qcache_hits"}
	return h
}

func at(t *testing.T, h *history, text string, moment time.Time, window time.Duration) Value {
	t.Helper()
	v, err := mustParse(t, text).At(context.Background(), h, 1, moment, window)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestAt(t *testing.T) {
	h := minutes()
	end := noon.Add(10*time.Minute + time.Millisecond)
	for _, c := range []struct {
		text    string
		want    float64
		explain string
	}{
		{"rate(status.Questions)", 100, "rate(status.Questions)=100"},
		{"rate(status.Com_select) / rate(status.Questions)", 0.5, "rate(status.Com_select)=50 / rate(status.Questions)=100"},
		{`delta(status.Questions, "1m")`, 6000, `delta(status.Questions, "1m")=6000`},
		{"delta(status.Questions)", 30000, "delta(status.Questions)=30000"},
		{"status.Threads_running", 4, "status.Threads_running=4"},
		{"max_over(status.Threads_running)", 6, "max_over(status.Threads_running)=6"},
		{`status.Threads_running > 3 and variable.log_bin == "OFF"`, 1, `status.Threads_running=4 > 3 and variable.log_bin="OFF" == "OFF"`},
		{"100 * (status.Threads_running - 2)", 200, "100 * (status.Threads_running=4 - 2)"},
		{"(status.Qcache_hits ?? 0) + status.Threads_running", 4, "(status.Qcache_hits=not here ?? 0) + status.Threads_running=4"},
		{`changed(variable.log_bin, "6m")`, 1, `changed(variable.log_bin, "6m")=1`},
		{`changed(variable.log_bin, "4m")`, 0, `changed(variable.log_bin, "4m")=0`},
		{"12", 12, "12"},
	} {
		v := at(t, h, c.text, end, 0)
		if math.Abs(v.Num-c.want) > 1e-9 || v.Why != "" || v.Text != formatNumber(c.want) || v.IsText || v.Each != nil {
			t.Errorf("%s: %+v, want %v", c.text, v, c.want)
		}
		if v.Explain != c.explain {
			t.Errorf("%s: explained as %q, want %q", c.text, v.Explain, c.explain)
		}
	}
	if v := at(t, h, "delta(status.Questions)", end, time.Minute); v.Num != 6000 {
		t.Errorf("a window of the caller's: %+v", v)
	}
}

// A series and a moment give the same number for the same window.
func TestAtMatchesSeries(t *testing.T) {
	h := minutes()
	for _, text := range []string{"rate(status.Questions)", "delta(status.Com_select) / delta(status.Questions)",
		"max_over(status.Threads_running)", "avg_over(status.Threads_running)"} {
		r := over(t, h, text, 5*time.Minute, 2)
		v := at(t, h, text, noon.Add(10*time.Minute), 5*time.Minute)
		if got := r.Lines[0].V[1]; math.Abs(got-v.Num) > 1e-9 {
			t.Errorf("%s: %v in a series, %v at the moment", text, got, v.Num)
		}
	}
}

func TestAtTexts(t *testing.T) {
	h := minutes()
	if v := at(t, h, "variable.version", noon.Add(time.Minute), 0); v.Text != "10.11.6-MariaDB" || !v.IsText || v.Num == v.Num || v.Why != "" {
		t.Errorf("%+v", v)
	}
	if v := at(t, h, `variable.log_bin == "ON" ? "on" : "off"`, noon.Add(time.Minute), 0); v.Text != "on" || !v.IsText {
		t.Errorf("%+v", v)
	}
	h.text("variable.sql_mode", -1, "\x1b[2J"+strings.Repeat("ä", 5000))
	if v := at(t, h, "variable.sql_mode + 1", noon.Add(time.Minute), 0); len(v.Why) > 300 || strings.Contains(v.Why+v.Explain, "\x1b") {
		t.Errorf("a long text with control characters: %+v", v)
	}
	if v := at(t, h, "variable.log_bin * 2", noon.Add(time.Minute), 0); v.Why != `variable.log_bin is the text "ON", a number is needed` {
		t.Errorf("%+v", v)
	}
}

func TestAtMissing(t *testing.T) {
	h := minutes()
	end := noon.Add(10 * time.Minute)
	v := at(t, h, "status.Threads_running / status.Qcache_hits", end, 0)
	if v.Num == v.Num || v.Text != "" || !v.Absent || !strings.Contains(v.Why, "status.Qcache_hits") {
		t.Errorf("absent: %+v", v)
	}
	if v = at(t, h, "status.Uptime ?? 1", end, 0); v.Num == v.Num || v.Absent || !strings.Contains(v.Why, "status.Uptime") {
		t.Errorf("never read: %+v", v)
	}
	// The last reading is too old to be called the present.
	if v = at(t, h, "status.Threads_running", end.Add(4*time.Minute), 0); v.Num != 4 {
		t.Errorf("four minutes later: %+v", v)
	}
	v = at(t, h, "status.Threads_running + 1", end.Add(6*time.Minute), 0)
	if v.Num == v.Num || !strings.Contains(v.Why, "status.Threads_running") || v.Explain != "status.Threads_running=no value + 1" {
		t.Errorf("six minutes later: %+v", v)
	}
	// A window that a person named must be covered, the default one need not be for a rate.
	soon := noon.Add(time.Minute)
	if v = at(t, h, "rate(status.Questions)", soon, 0); v.Num != 100 {
		t.Errorf("a minute after the start: %+v", v)
	}
	for _, text := range []string{`rate(status.Questions, "5m")`, "delta(status.Questions)"} {
		if v = at(t, h, text, soon, 0); v.Num == v.Num || v.Why == "" {
			t.Errorf("%s a minute after the start: %+v", text, v)
		}
	}
	if v = at(t, h, "rate(status.Questions)", soon, 5*time.Minute); v.Num == v.Num {
		t.Errorf("a window of the caller's: %+v", v)
	}
	if v = at(t, h, "status.Threads_running / 0", end, 0); v.Why != "division by zero" || v.Num == v.Num {
		t.Errorf("x/0: %+v", v)
	}
	if _, err := mustParse(t, "1").At(context.Background(), h, 1, end, -time.Second); !isInvalid(err) {
		t.Errorf("a negative window: %v", err)
	}
}

func TestAtInstances(t *testing.T) {
	h := disks()
	end := noon.Add(31 * time.Second)
	v := at(t, h, "replica.lag * 2", end, 0)
	if len(v.Each) != 2 || v.Num == v.Num || !strings.Contains(v.Why, "2 instances") {
		t.Fatalf("%+v", v)
	}
	if e := v.Each[1]; e.Instance != "backup" || e.Num != 80 || e.Explain != "replica.lag=40 * 2" {
		t.Errorf("%+v", e)
	}
	if v = at(t, h, "max_of(replica.lag)", end, 0); v.Num != 40 || v.Each != nil || v.Explain != "max_of(replica.lag)=40" {
		t.Errorf("%+v", v)
	}
	h = ten()
	h.add("host.mount_used_bytes", "/", monolith.Gauge, 1, 2)
	if v = at(t, h, "host.mount_used_bytes", noon.Add(11*time.Second), 0); v.Num != 2 || v.Instance != "/" || len(v.Each) != 1 {
		t.Errorf("%+v", v)
	}
}

// History may lay an increase out over the steps that it took. The window then ends with the last reading, inside
// the last step.
func TestAtInsideAStep(t *testing.T) {
	rng := &monolith.Range{Start: noon, Step: 10 * time.Second, N: 6, Tier: "raw", Series: []monolith.Series{{
		Metric: monolith.Metric{Name: "status.Questions"}, Kind: monolith.Counter,
		Increase: []float64{100, 100, 100, 100, 100, 40}, Seconds: []float64{10, 10, 10, 10, 10, 4}}}}
	for text, want := range map[string]float64{`delta(status.Questions, "30s")`: 300, `delta(status.Questions, "35s")`: 350,
		`rate(status.Questions, "30s")`: 10, `delta(status.Questions, "38s")`: 380} {
		v, err := mustParse(t, text).At(context.Background(), answered{rng}, 1, noon.Add(57*time.Second), 0)
		if err != nil || math.Abs(v.Num-want) > 1e-9 {
			t.Errorf("%s: %+v, %v, want %v", text, v, err, want)
		}
	}
}

// Where the poll of the last step is still to come the window ends with the poll before.
func TestAtBeforeThePoll(t *testing.T) {
	rng := &monolith.Range{Start: noon, Step: 10 * time.Second, N: 5, Tier: "raw", Series: []monolith.Series{{
		Metric: monolith.Metric{Name: "status.Questions"}, Kind: monolith.Counter,
		Increase: []float64{100, 200, 300, 400, none}, Seconds: []float64{10, 10, 10, 10, none}}}}
	v, err := mustParse(t, `delta(status.Questions, "20s")`).At(context.Background(), answered{rng}, 1, noon.Add(47*time.Second), 0)
	if err != nil || v.Num != 700 {
		t.Errorf("%+v, %v", v, err)
	}
}

// Readings after the moment don't count for it.
func TestAtInThePast(t *testing.T) {
	h := minutes()
	moment := noon.Add(5*time.Minute + 5*time.Second)
	if v := at(t, h, "status.Threads_running", moment, 0); v.Num != 2 {
		t.Errorf("%+v", v)
	}
	if v := at(t, h, `delta(status.Questions, "30s")`, moment, 0); math.Abs(v.Num-3000) > 600 {
		t.Errorf("%+v", v)
	}
	if v := at(t, h, `variable.log_bin`, noon.Add(4*time.Minute), 0); v.Text != "ON" {
		t.Errorf("%+v", v)
	}
}

// What is read seldom may be older, and long windows are read in long steps.
func TestAtReadsWhatItNeeds(t *testing.T) {
	h := &history{interval: 6 * time.Hour}
	h.gauge("schema.total_data_bytes", 5, 6, 7)
	if v := at(t, h, "schema.total_data_bytes", noon.Add(17*time.Hour), 0); v.Num != 7 {
		t.Errorf("%+v", v)
	}
	h.gauge("variable.max_connections", 1, 1, 1)
	h.gauge("status.Threads_running", 1, 1, 1)
	late := noon.Add(12*time.Hour + 14*time.Minute)
	if v := at(t, h, "variable.max_connections", late, 0); v.Num != 1 {
		t.Errorf("%+v", v)
	}
	if v := at(t, h, "status.Threads_running", late, 0); v.Num == v.Num {
		t.Errorf("%+v", v)
	}
	h.queries = nil
	at(t, h, `rate(status.Questions, "7d") / rate(status.Questions)`, noon, 0)
	if len(h.queries) != 2 || h.queries[0].Step != time.Hour || h.queries[1].Step != 10*time.Second {
		t.Errorf("%+v", h.queries)
	}
}

// One formula serves many goroutines.
func TestConcurrentUse(t *testing.T) {
	f := mustParse(t, `variable.log_bin == "OFF" ? sum(rate(status.Questions)) : status.Threads_running`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			h := minutes()
			req := Request{Server: 1, From: noon, To: noon.Add(time.Minute), Step: 10 * time.Second}
			if _, err := Series(context.Background(), h, req, f); err != nil {
				t.Error(err)
			}
			if v, err := f.At(context.Background(), h, 1, noon.Add(10*time.Minute), 0); err != nil || v.Num != 100 {
				t.Errorf("%+v, %v", v, err)
			}
		})
	}
	wg.Wait()
}

// TestAtAll holds that formulas evaluated together give what each gives alone.
func TestAtAll(t *testing.T) {
	t.Parallel()
	h := minutes()
	var formulas []*Formula
	for _, text := range []string{"rate(status.Questions)", "status.Threads_running", `delta(status.Questions, "1m")`, "status.Qcache_hits ?? 4",
		`max_over(status.Threads_running, "2m") / 0`, "variable.version", "status.Qcache_hits", `delta(status.Com_select, "1h")`} {
		formulas = append(formulas, mustParse(t, text))
	}
	end := noon.Add(10*time.Minute + time.Millisecond)
	all, err := AtAll(t.Context(), h, 1, end, 0, formulas...)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range formulas {
		if one := at(t, h, f.String(), end, 0); fmt.Sprint(one) != fmt.Sprint(all[i]) {
			t.Errorf("%s: alone %+v, together %+v", f, one, all[i])
		}
	}
}

// What a channel said before it said NULL stands for a short while only: nobody must read an old lag for long after
// replication stopped.
func TestAtAfterNull(t *testing.T) {
	t.Parallel()
	h := ten()
	lag := make([]float64, 61)
	for i := range lag {
		if lag[i] = 7; i > 30 {
			lag[i] = math.NaN()
		}
	}
	h.gauge("replica.lag", lag...)
	h.gauge("status.Threads_running", lag...)
	stopped := noon.Add(5 * time.Minute)
	for _, c := range []struct {
		name  string
		after time.Duration
		there bool
	}{
		{"replica.lag", 30 * time.Second, true}, {"replica.lag", 2 * time.Minute, false},
		{"status.Threads_running", 2 * time.Minute, true},
	} {
		v := at(t, h, c.name+" + 0", stopped.Add(c.after), 0)
		if there := v.Num == 7; there != c.there {
			t.Errorf("%s %v after its last reading: %v %q", c.name, c.after, v.Num, v.Why)
		}
	}
}

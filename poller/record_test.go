package poller

import (
	"fmt"
	"testing"

	"monolith"
)

// gatherFor gives a work place for a collector, as the poller makes it for each poll.
func gatherFor(c *Collector, m *memory) *Gather {
	return &Gather{Server: &monolith.Server{Name: "test"}, snapshot: &monolith.Snapshot{}, collector: c, memory: m}
}

func record(c *Collector, m *memory, pairs ...string) (monolith.Section, bool) {
	rec := gatherFor(c, m).Recorder("status")
	for i := 0; i < len(pairs); i += 2 {
		rec.Add([]byte(pairs[i]), []byte(pairs[i+1]))
	}
	return rec.Done()
}

func TestRecorderKeepsNamesWhileTheyAreTheSame(t *testing.T) {
	t.Parallel()
	c, m := &Collector{Name: "status"}, new(memory)
	first, same := record(c, m, "Questions", "1", "Ssl_cipher", "", "Com_select", "2")
	if same {
		t.Error("the first section is said to be the same as the one before")
	}
	second, same := record(c, m, "Questions", "3", "Ssl_cipher", "", "Com_select", "18446744073709551615")
	if !same || second.NumNames != first.NumNames || second.TextNames != first.TextNames {
		t.Error("equal names gave a new list")
	}
	if got := second.Nums[1]; got != monolith.Uint(1<<64-1) {
		t.Errorf("Com_select is %v", got)
	}
	third, same := record(c, m, "Questions", "3", "New", "7", "Ssl_cipher", "x", "Com_select", "2")
	if same || third.NumNames == first.NumNames {
		t.Error("a new name gave no new list")
	}
	if i := third.NumNames.Index(monolith.Metric{Name: "status.Com_select"}); i != 2 || third.Nums[i] != monolith.Uint(2) {
		t.Errorf("Com_select stands at %d of %v", i, third.Nums)
	}
	if first.Texts[0] != "" || third.Texts[0] != "x" {
		t.Errorf("texts %q, %q", first.Texts, third.Texts)
	}
	fourth, same := record(c, m, "Questions", "4")
	if same || fourth.NumNames.Len() != 1 || fourth.TextNames.Len() != 0 || len(third.Nums) != 3 {
		t.Errorf("after names were lost: %d numbers, %d texts", fourth.NumNames.Len(), fourth.TextNames.Len())
	}
}

func TestRecorderTellsNumbersFromTexts(t *testing.T) {
	t.Parallel()
	c, m := &Collector{Name: "status"}, new(memory)
	s, _ := record(c, m,
		"Questions", "12", "Max_memory_used", "NULL", "Slave_running", "ON", "Last_query_cost", "0.000000",
		"Tls_sni_server_name", "", "wsrep_evs_repl_latency", "0/0/0/0/0", "Rsa_public_key", "-----\nAB\n-----", "bytes\xff", "5")
	for name, want := range map[string]string{"Slave_running": "ON", "Tls_sni_server_name": "", "wsrep_evs_repl_latency": "0/0/0/0/0", "Rsa_public_key": "-----\nAB\n-----"} {
		if i := s.TextNames.Index(monolith.Metric{Name: "status." + name}); i < 0 || s.Texts[i] != want {
			t.Errorf("%s is not the text %q", name, want)
		}
	}
	if i := s.NumNames.Index(monolith.Metric{Name: "status.Max_memory_used"}); i < 0 || !s.Nums[i].IsNone() {
		t.Error("NULL is not a missing number")
	}
	if i := s.NumNames.Index(monolith.Metric{Name: "status.Last_query_cost"}); i < 0 || s.Nums[i].Float64() != 0 {
		t.Error("0.000000 is not a number")
	}
	if s.NumNames.Index(monolith.Metric{Name: "status.bytes\uFFFD"}) < 0 {
		t.Error("a name that is not UTF-8 is not mended")
	}
	// The number that is missing this time keeps its place; one that became text moves.
	s2, _ := record(c, m, "Questions", "NULL", "Max_memory_used", "5")
	if s2.NumNames.Len() != 2 || !s2.Nums[0].IsNone() || s2.Nums[1] != monolith.Uint(5) {
		t.Errorf("got %v", s2.Nums)
	}
	s3, _ := record(c, m, "Questions", "many", "Max_memory_used", "5")
	if s3.NumNames.Len() != 1 || s3.TextNames.Len() != 1 {
		t.Errorf("got %d numbers and %d texts", s3.NumNames.Len(), s3.TextNames.Len())
	}
}

func TestLayoutsAreSharedByServers(t *testing.T) {
	t.Parallel()
	c := &Collector{Name: "status", layouts: newLayouts()}
	var a, b memory
	one, _ := record(c, &a, "Questions", "1", "Uptime", "2")
	two, _ := record(c, &b, "Questions", "5", "Uptime", "6")
	if one.NumNames != two.NumNames {
		t.Error("two servers with the same names have two lists")
	}
	three, _ := record(c, &b, "Questions", "5", "Uptime", "text")
	if three.NumNames == two.NumNames || three.NumNames.Len() != 1 {
		t.Error("a text took the place of a number")
	}
}

func TestRecorderLimitsWhatAServerMaySend(t *testing.T) {
	t.Parallel()
	g := gatherFor(&Collector{Name: "status"}, new(memory))
	rec := g.Recorder("status")
	for i := range maxMetrics + 10 {
		rec.Add(fmt.Appendf(nil, "n%d", i), []byte("1"))
	}
	s, _ := rec.Done()
	if s.NumNames.Len() != maxMetrics || len(s.Nums) != maxMetrics || len(g.snapshot.Problems) != 1 {
		t.Errorf("%d names, %d problems", s.NumNames.Len(), len(g.snapshot.Problems))
	}
}

// TestRecorderAllocates holds the price of an ordinary poll: the numbers, the recorder, the list of sections.
func TestRecorderAllocates(t *testing.T) {
	c, m := &Collector{Name: "status"}, new(memory)
	names, values := statusRows()
	n := testing.AllocsPerRun(50, func() {
		rec := gatherFor(c, m).Recorder("status")
		for i := range names {
			rec.Add(names[i], values[i])
		}
		rec.Done()
	})
	if n > 6 {
		t.Errorf("a poll without news allocates %.0f times", n)
	}
}

// statusRows looks like SHOW GLOBAL STATUS in size and mix.
func statusRows() (names, values [][]byte) {
	for i := range 560 {
		names = append(names, fmt.Appendf(nil, "Innodb_buffer_pool_pages_%d", i))
		if i%10 == 3 {
			values = append(values, []byte("OFF"))
		} else {
			values = append(values, fmt.Appendf(nil, "%d", i*i*i*i))
		}
	}
	return names, values
}

func BenchmarkRecorder(b *testing.B) {
	c, m := &Collector{Name: "status"}, new(memory)
	names, values := statusRows()
	b.ReportAllocs()
	for b.Loop() {
		rec := gatherFor(c, m).Recorder("status")
		for i := range names {
			rec.Add(names[i], values[i])
		}
		rec.Done()
	}
}

package formula

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

// disks records two devices, a third that came later, two channels and a plain counter.
func disks() *history {
	h := ten()
	h.add("host.disk_read_bytes_total", "sda", monolith.Counter, 0, 100, 300, 600)
	h.add("host.disk_read_bytes_total", "sdb", monolith.Counter, 0, 10, 20, 30)
	h.add("host.disk_read_bytes_total", "sdc", monolith.Counter, none, none, 0, 50)
	h.add("host.disk_reads_total", "sda", monolith.Counter, 0, 10, 20, 30)
	h.add("host.disk_reads_total", "sdb", monolith.Counter, 0, 1, 2, 2)
	h.add("replica.lag", "", monolith.Gauge, 1, 2, none, 4)
	h.add("replica.lag", "backup", monolith.Gauge, 10, 20, 30, 40)
	h.counter("status.Questions", 0, 20, 40, 60)
	return h
}

func byInstance(r Result) map[string]monolith.Floats {
	out := map[string]monolith.Floats{}
	for _, l := range r.Lines {
		out[l.Instance] = l.V
	}
	return out
}

func TestInstances(t *testing.T) {
	h := disks()
	for text, want := range map[string]map[string]monolith.Floats{
		"rate(host.disk_read_bytes_total)": {
			"sda": {none, 10, 20, 30}, "sdb": {none, 1, 1, 1}, "sdc": {none, none, none, 5}},
		// By pairs; sdc has no number of reads.
		"rate(host.disk_read_bytes_total) / rate(host.disk_reads_total)": {
			"sda": {none, 10, 20, 30}, "sdb": {none, 10, 10, none}},
		// What has no instance counts for each.
		"rate(host.disk_reads_total) / rate(status.Questions)": {
			"sda": {none, 0.5, 0.5, 0.5}, "sdb": {none, 0.05, 0.05, 0}},
		"replica.lag":                                       {"": {1, 2, none, 4}, "backup": {10, 20, 30, 40}},
		"replica.lag > 15 ? 1 : 0":                          {"": {0, 0, none, 0}, "backup": {0, 1, 1, 1}},
		"sum(rate(host.disk_read_bytes_total))":             {"": {none, 11, 21, 36}},
		"avg_of(rate(host.disk_read_bytes_total))":          {"": {none, 5.5, 10.5, 12}},
		"min_of(replica.lag)":                               {"": {1, 2, 30, 4}},
		"max_of(replica.lag)":                               {"": {10, 20, 30, 40}},
		"count_of(replica.lag)":                             {"": {2, 2, 1, 2}},
		`only(replica.lag, "backup")`:                       {"": {10, 20, 30, 40}},
		`only(replica.lag, "")`:                             {"": {1, 2, none, 4}},
		`only(rate(host.disk_read_bytes_total), "sdb") * 2`: {"": {none, 2, 2, 2}},
		// A sum over what is divided divides the sums.
		"sum(rate(host.disk_read_bytes_total)) / sum(rate(host.disk_reads_total))": {"": {none, 10, 21 / 1.1, 36}},
		// Each device's part in all.
		"percent(rate(host.disk_reads_total), sum(rate(host.disk_reads_total)))": {
			"sda": {none, 100 / 1.1, 100 / 1.1, 100}, "sdb": {none, 10 / 1.1, 10 / 1.1, 0}},
		"sum(rate(status.Questions))": {"": {none, 2, 2, 2}},
	} {
		r := over(t, h, text, 10*time.Second, 4)
		if d := cmp.Diff(want, byInstance(r), floats); d != "" {
			t.Errorf("%s: why %q (-want +got):\n%s", text, r.Why, d)
		}
	}
	lacks(t, h, `only(replica.lag, "nightly")`, `no instance "nightly" of replica.lag`)
	lacks(t, h, "replica.lag + rate(host.disk_reads_total)", "no instance in common")
	lacks(t, h, "sum(schema.data_bytes)", "no reading for schema.data_bytes")

	var order []string
	for _, l := range over(t, h, "rate(host.disk_read_bytes_total)", 10*time.Second, 4).Lines {
		order = append(order, l.Instance)
	}
	if got := strings.Join(order, " "); got != "sda sdb sdc" {
		t.Errorf("order %q", got)
	}
}

func TestBand(t *testing.T) {
	h := ten()
	h.counter("status.Questions", 0, 10, 40, 50, 50, 150)
	h.gauge("status.Threads_running", 5, 1, 9, 4, 4, 4)
	for text, want := range map[string][3]monolith.Floats{
		"rate(status.Questions)":                          {{2, 110.0 / 30}, {1, 0}, {3, 10}},
		"rate(status.Questions) * 60":                     {{120, 220}, {60, 0}, {180, 600}},
		"100 - status.Threads_running":                    {{95, 96}, {91, 96}, {99, 96}},
		"status.Threads_running":                          {{5, 4}, {1, 4}, {9, 4}},
		"status.Threads_running > 4":                      {{1, 0}, nil, nil}, // true and false have no band
		"delta(status.Questions)":                         {{40, 110}, nil, nil},
		`rate(status.Questions, "30s")`:                   {{none, 110.0 / 30}, nil, nil},
		"max_over(status.Threads_running)":                {{9, 4}, nil, nil},
		"rate(status.Questions) + status.Threads_running": {{7, 4 + 110.0/30}, nil, nil}, // nobody knows what came together
	} {
		l := over(t, h, text, 30*time.Second, 2).Lines[0]
		if d := cmp.Diff(want, [3]monolith.Floats{l.V, l.Min, l.Max}, floats); d != "" {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
	}
	// One reading a step: a band would be the line itself.
	if l := over(t, h, "status.Threads_running", 10*time.Second, 6).Lines[0]; l.Min != nil || l.Max != nil {
		t.Errorf("band %v %v", l.Min, l.Max)
	}
}

package figures

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/klauspost/compress/snappy"

	"monolith"
)

// Write gives a peer n polls of a trace, one each ten seconds from first on, as samples of one instance. What it takes is
// Prometheus's remote write, which all peers understand.
func (p *Program) Write(t *Trace, first time.Time, n int) {
	p.tb.Helper()
	labels := make([][]byte, len(t.Names))
	for i, name := range t.Names {
		// "item" tells series apart that lost their names, as those of a function do: 20 of them can then be asked for at once.
		labels[i] = label(label(label(nil, "__name__", PeerName(name)), "instance", "db1"), "item", fmt.Sprint(i))
	}
	const polls = 20 // in a request
	var body []byte
	for i, nums := range t.Polls(n) {
		at := first.Add(time.Duration(i) * 10 * time.Second).UnixMilli()
		for j, v := range nums {
			series := append([]byte(nil), labels[j]...)
			series = field(series, 2, sample(v, at))
			body = field(body, 1, series)
		}
		if (i+1)%polls == 0 || i+1 == n {
			header := http.Header{"Content-Type": {"application/x-protobuf"}, "Content-Encoding": {"snappy"}, "X-Prometheus-Remote-Write-Version": {"0.1.0"}}
			if _, err := p.do(p.tb.Context(), http.MethodPost, "/api/v1/write", header, snappy.Encode(nil, body)); err != nil {
				p.tb.Fatalf("poll %d: %v\n%s", i, err, p.said())
			}
			body = body[:0]
		}
	}
}

// PeerName is what the exporter makes of a status value's name.
func PeerName(name string) string {
	_, name, _ = strings.Cut(name, ".")
	return "mysql_global_status_" + strings.ToLower(name)
}

// label adds one label of a series to a message.
func label(message []byte, name, value string) []byte {
	return field(message, 1, field(field(nil, 1, []byte(name)), 2, []byte(value)))
}

// sample is a value at a moment as a message.
func sample(v monolith.Num, at int64) []byte {
	const fixed64, varint = 1, 0
	m := binary.LittleEndian.AppendUint64([]byte{1<<3 | fixed64}, math.Float64bits(v.Float64()))
	return binary.AppendUvarint(append(m, 2<<3|varint), uint64(at))
}

// field adds a field of bytes to a message in the form of Protocol Buffers.
func field(message []byte, number byte, value []byte) []byte {
	const bytes = 2
	return append(binary.AppendUvarint(append(message, number<<3|bytes), uint64(len(value))), value...)
}

// Snapshot makes a Prometheus write all it has as blocks, into a folder of data that is given: what it keeps once
// everything is packed.
func (p *Program) Snapshot() (dir string) {
	p.tb.Helper()
	body, err := p.do(p.tb.Context(), http.MethodPost, "/api/v1/admin/tsdb/snapshot", nil, nil)
	if err != nil {
		p.tb.Fatalf("%v\n%s", err, p.said())
	}
	var answer struct{ Data struct{ Name string } }
	if err := json.Unmarshal(body, &answer); err != nil || answer.Data.Name == "" {
		p.tb.Fatalf("%s: a snapshot without a name: %s", p.Name, body)
	}
	return filepath.Join(p.Dir, "snapshots", answer.Data.Name)
}

// Settle waits until a VictoriaMetrics has what it was given in its files, and those no longer change.
func (p *Program) Settle() {
	p.tb.Helper()
	p.Get("/internal/force_flush")
	const flushed = 6 * time.Second // it writes what is in memory within five
	last, since := int64(0), time.Now()
	Until(p.tb, p.Name+" has written", func() bool {
		now, err := DiskUsage(p.Dir)
		if err != nil {
			p.tb.Fatal(err)
		}
		if now != last || strings.Contains(string(p.Get("/metrics")), "vm_active_force_merges 1") {
			last, since = now, time.Now()
		}
		return time.Since(since) > flushed
	})
}

// Merge makes a VictoriaMetrics merge its files as far as they can be.
func (p *Program) Merge() {
	p.tb.Helper()
	p.Settle()
	p.Get("/internal/force_merge")
	p.Settle()
}

// Dashboard is the address below a peer's that gives the rates of counters over a time in 720 points.
func Dashboard(names []string, to time.Time, span time.Duration) string {
	step := span / 720
	var which []string
	for _, name := range names {
		which = append(which, PeerName(name))
	}
	// As wide as to hold two readings even where the step is as short as the interval.
	window := max(step, 40*time.Second)
	query := url.Values{
		"query": {fmt.Sprintf(`rate({__name__=~"%s"}[%ds])`, strings.Join(which, "|"), int(window.Seconds()))},
		"start": {fmt.Sprint(to.Add(-span + step).Unix())}, "end": {fmt.Sprint(to.Unix())}, "step": {fmt.Sprint(int(step.Seconds()))},
		"nocache": {"1"}, // VictoriaMetrics would give yesterday's answer again
	}
	return "/api/v1/query_range?" + query.Encode()
}

// Points counts the series and the values in an answer of a peer.
func Points(body []byte) (series, points int, err error) {
	var answer struct {
		Data struct {
			Result []struct{ Values []json.RawMessage }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, 0, fmt.Errorf("figures: answer: %w", err)
	}
	for _, r := range answer.Data.Result {
		points += len(r.Values)
	}
	return len(answer.Data.Result), points, nil
}

// Binary is the size of a peer's program.
func (p *Program) Binary() int64 {
	p.tb.Helper()
	info, err := os.Stat(fmt.Sprintf("/proc/%d/exe", p.PID))
	if err != nil {
		p.tb.Fatal(err)
	}
	return info.Size()
}

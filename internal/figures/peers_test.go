package figures

import (
	"net/http"
	"testing"
	"time"
)

func TestPeersTakeAndGiveATrace(t *testing.T) {
	if names := Missing(); len(names) > 0 {
		t.Skipf("SKIPPED: not installed, and needed by the table of make bench alone: %q", names)
	}
	trace := OLTP([]string{"status.Com_select", "status.Questions", "status.Bytes_sent", "status.Threads_running"}, Load{Title: "all", Transactions: 10, Moving: 1})
	names := []string{trace.Names[trace.Moving[0]], trace.Names[trace.Moving[1]]}
	first := time.Now().Add(-2 * time.Hour).Truncate(10 * time.Second)
	const polls = 720
	for name, p := range map[string]*Program{
		"prometheus": Prometheus(t, t.TempDir(), "global: {}\n"),
		"victoria":   Victoria(t, t.TempDir(), ""),
	} {
		t.Run(name, func(t *testing.T) {
			p.tb = t
			p.Write(trace, first, polls)
			if name == "victoria" {
				p.Merge()
			} else if used, err := DiskUsage(p.Snapshot()); err != nil || used < 4096 {
				t.Errorf("a snapshot of %d bytes, %v", used, err)
			}
			series, points, err := Points(p.Get(Dashboard(names, first.Add((polls-1)*10*time.Second), 2*time.Hour)))
			if err != nil || series != 2 || points < 2*(polls-4) {
				t.Errorf("%d series with %d points, %v", series, points, err)
			}
			if now, peak := p.Resident(); now <= 0 || peak < now || p.CPU() <= 0 || p.Binary() < 1<<20 {
				t.Errorf("memory %d of %d, CPU %v, binary %d", now, peak, p.CPU(), p.Binary())
			}
			p.Stop()
			if _, err := p.do(t.Context(), http.MethodGet, "/", nil, nil); err == nil {
				t.Error("it still answers")
			}
		})
	}
}

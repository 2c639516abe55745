package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"monolith/internal/mysqltest"
	"monolith/internal/replay"
)

// TestSoak watches many recorded servers each second for long, with pages open, and wants that nothing grows: goroutines,
// descriptors, connections to the servers, memory. "make soak" sets MONOLITH_SOAK to how long; without it the test only
// shows that measuring works, for some seconds.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a quarter of a minute")
	}
	t.Parallel()
	duration, servers, every := 12*time.Second, 10, time.Second
	long := os.Getenv("MONOLITH_SOAK")
	if long != "" {
		var err error
		if duration, err = time.ParseDuration(long); err != nil {
			t.Fatalf("MONOLITH_SOAK: %v", err)
		}
		servers, every = 50, 10*time.Second
	}
	f := newSoak(t, servers)
	defer f.p.stop()
	leave := f.visit(t)
	defer leave()

	end := time.NewTimer(duration)
	defer end.Stop()
	tick := time.NewTicker(every)
	defer tick.Stop()
	begin := time.Now()
	var all []usage
	for last := false; !last; {
		select {
		case <-end.C:
			last = true
		case <-tick.C:
		}
		u := f.measure(t)
		u.after = time.Since(begin)
		all = append(all, u)
		if long != "" && (len(all)%6 == 1 || last) {
			t.Logf("%6s  %3d goroutines  %3d descriptors  %3d connections  %5.1f MB resident  %5.1f MB heap  %6.2f s of CPU",
				u.after.Round(time.Second), u.goroutines, u.files, u.connections, u.resident, u.heap, u.cpu)
		}
	}
	f.judge(t, all, long != "")
}

// soak is the program that runs long, and the servers it watches.
type soak struct {
	p       *program
	servers []*replay.Server
	began   time.Time
}

// newSoak starts recorded servers that say what a MariaDB 10.11 and a MySQL 5.6 here said, and the program watching them.
func newSoak(t *testing.T, n int) *soak {
	t.Helper()
	recordings := []*replay.Recording{
		recorded(t, mysqltest.Shared(t).DB(t)),
		recorded(t, mysqltest.MySQL56(t).DB(t)),
	}
	f := &soak{}
	var lines strings.Builder
	for i := range n {
		s := replay.Start(t, recordings[i%len(recordings)], replay.Refusing(), replay.Counters(func(_ string, recorded uint64, up time.Duration) uint64 {
			return recorded + uint64(up.Seconds()*float64(1+recorded%97))
		}))
		f.servers = append(f.servers, s)
		fmt.Fprintf(&lines, "db%d=%s\n", i+1, s.DSN())
	}
	file := filepath.Join(t.TempDir(), "servers")
	if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	f.p = serve(t, build(t), nil, "--data", t.TempDir(), "--server-file", file)
	for i := range n {
		f.p.often(fmt.Sprintf("db%d", i+1))
	}
	f.began = time.Now()
	return f
}

// visit looks at pages again and again, as people do, and keeps some live streams open that come and go. The function that
// it gives ends the visit.
func (f *soak) visit(t *testing.T) (leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	client := &http.Client{Timeout: 20 * time.Second}
	get := func(ctx context.Context, path string) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.p.address+path, nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if _, err = io.Copy(io.Discard, response.Body); err == nil && response.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s: %s", path, response.Status)
		}
		return err
	}
	go func() {
		defer close(done)
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			server := fmt.Sprintf("/servers/db%d", 1+n%len(f.servers))
			paths := []string{"/", server, server + "/status", "/api/v1/servers", "/api/v1" + server + "/status", "/api/v1/series?from=-10m&step=10&expr=rate(status.Questions)&server=" + server[len("/servers/"):], server + "/variables"}
			if err := get(ctx, paths[n%len(paths)]); err != nil && ctx.Err() == nil {
				t.Errorf("after %v: %v", time.Since(f.began).Round(time.Second), err)
			}
			if n%4 == 0 { // a page that is open for a second and left
				open, leave := context.WithTimeout(ctx, time.Second)
				_ = get(open, "/live") // it ends by being left
				leave()
			}
		}
	}()
	return func() {
		cancel()
		<-done
		client.CloseIdleConnections()
	}
}

// usage is what the program takes at a moment.
type usage struct {
	after                          time.Duration
	goroutines, files, connections int
	resident, heap                 float64 // MB
	cpu                            float64 // seconds
}

func (f *soak) measure(t *testing.T) (u usage) {
	t.Helper()
	pid := strconv.Itoa(f.p.cmd.Process.Pid)
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status); m != nil {
		kb, _ := strconv.ParseFloat(string(m[1]), 64)
		u.resident = kb / 1024
	}
	files, err := os.ReadDir("/proc/" + pid + "/fd")
	if err != nil {
		t.Fatal(err)
	}
	u.files = len(files)
	for _, s := range f.servers {
		now, _ := s.Threads()
		u.connections += now
	}
	_, text := f.p.page("/metrics")
	figure := func(name string) float64 {
		m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("/metrics has no %s", name)
		}
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	u.goroutines = int(figure("go_goroutines"))
	u.heap = figure("go_memstats_heap_inuse_bytes") / (1 << 20)
	u.cpu = figure("process_cpu_seconds_total")
	return u
}

// judge compares what comes before the last part of a long run with that part; in a short one only what holds at any
// time is judged. The parts are as long as it takes to fill a block, six minutes of twenty: the polls that no block holds yet come and
// go with it. Caches are full before. Of memory the least is compared: the rest is garbage that nobody collected yet.
func (f *soak) judge(t *testing.T, all []usage, long bool) {
	t.Helper()
	for _, u := range all {
		if u.connections > len(f.servers) {
			t.Errorf("after %v there are %d connections to %d servers", u.after, u.connections, len(f.servers))
		}
	}
	seconds := time.Since(f.began).Seconds()
	_, text := f.p.page("/metrics")
	m := regexp.MustCompile(`(?m)^monolith_store_committed_polls_total (\S+)$`).FindStringSubmatch(text)
	if m == nil {
		t.Fatal("/metrics does not count the committed polls")
	}
	polls, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	want := 0.9 * (seconds - 5) * float64(len(f.servers))
	if polls < want { // a machine that does much else may be late now and then
		t.Errorf("%.0f polls are stored of %d servers in %.0f s", polls, len(f.servers), seconds)
	}
	if !long || len(all) < 8 {
		return
	}
	t.Logf("%.0f polls of %d servers in %.0f s, %.2f %% of one core", polls, len(f.servers), seconds, 100*all[len(all)-1].cpu/seconds)
	early, late := all[4*len(all)/10:7*len(all)/10], all[7*len(all)/10:]
	for _, c := range []struct {
		name   string
		of     func(usage) float64
		one    func([]usage, func(usage) float64) float64
		factor float64
		more   float64
	}{
		{"goroutines", func(u usage) float64 { return float64(u.goroutines) }, median, 1, 4},
		{"descriptors", func(u usage) float64 { return float64(u.files) }, median, 1, 4},
		{"connections", func(u usage) float64 { return float64(u.connections) }, median, 1, 0},
		{"MB resident", func(u usage) float64 { return u.resident }, least, 1.05, 2},
		{"MB of heap", func(u usage) float64 { return u.heap }, least, 1.05, 2},
	} {
		before, after := c.one(early, c.of), c.one(late, c.of)
		t.Logf("%s: %.1f from 40 to 70 %% of the time, %.1f after it", c.name, before, after)
		if after > before*c.factor+c.more {
			t.Errorf("%s grow from %.1f to %.1f", c.name, before, after)
		}
	}
}

func least(all []usage, of func(usage) float64) float64 {
	n := of(all[0])
	for _, u := range all {
		n = min(n, of(u))
	}
	return n
}

func median(all []usage, of func(usage) float64) float64 {
	values := make([]float64, len(all))
	for i, u := range all {
		values[i] = of(u)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

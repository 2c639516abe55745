package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"monolith"
	"monolith/internal/child"
	"monolith/internal/mysqltest"
)

// TestProvokedCPU burns all processors. The kernel counts by everybody's clock, so each minute of the bubble takes as long as it needs
// to count some ticks. Other programs may keep the machine busy too: that the alerts close is only seen where nothing else runs, by
// "make provoke", which also drives the load average up, for some minutes by everybody's clock. It runs before the tests that run
// beside each other.
func TestProvokedCPU(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	list := os.Getenv("MONOLITH_PROVOKED")
	m := machineNow(t)
	pass(t, m, 30)
	quiet := machineNow(t).busySince(m) < 0.5 && m.load5 < 2*float64(m.cores)
	r := round{name: "processors", beside: true, opens: 30 * time.Minute, closes: 60 * time.Minute}
	burners := m.cores
	cpu := provocation{
		server: "db1", rule: "cpu-usage-high", level: "critical", how: "a busy loop for each processor", says: []string{"over 10 min", "mostly with other programs", "of " + strconv.Itoa(m.cores) + " core"},
	}
	if r.all = []provocation{cpu}; list != "" {
		burners *= 16
		load := provocation{server: "db1", rule: "load-average-high", level: "critical", how: "16 busy loops for each processor", says: []string{"over the last five minutes", "load5/cores"}}
		r.all[0].how = load.how
		r.all = append(r.all, load)
	}
	if list == "" || !quiet {
		r.closes = 0
		t.Log("nobody waits for the end: other programs keep this machine busy, or may")
	}
	stop := burn(t, burners)
	m = machineNow(t)
	pass(t, m, 50)
	if share := machineNow(t).busySince(m); share < 0.97 {
		stop()
		t.Skipf("no program gets all of this machine's processors: busy loops on each made it %.0f %% busy", 100*share)
	}
	server := mysqltest.MariaDB(t)
	user, password := server.NewUser(t, "PROCESS, SHOW VIEW, REFERENCES, BINLOG MONITOR, REPLICA MONITOR", "SELECT ON mysql.*")
	out := newOutside(t)
	warm(t)
	if list != "" { // for five minutes by everybody's clock, at most
		await(t, 300*time.Second, "load5 of four and a half a core", func(m machine) bool { return m.load5 >= 4.5*float64(m.cores) })
	}
	r.pace = func(s *stage) { s.outside.do(func() { pass(s.outside.t, machineNow(s.outside.t), 10) }) }
	r.all[0].stop = func(s *stage) {
		s.outside.do(func() {
			stop()
			if r.closes > 0 {
				await(s.outside.t, 400*time.Second, "load5 of three a core, load15 of 1.25", func(m machine) bool {
					return m.load5 < 3*float64(m.cores) && m.load15 < 1.25*float64(m.cores)
				})
			}
		})
	}
	dir, now := t.TempDir(), time.Now()
	var lines []provoked
	synctest.Test(t, func(t *testing.T) {
		endpoint := monolith.Endpoint{Host: server.Host, Port: server.Port, User: user, Password: monolith.Secret(password), TLS: "disabled"}
		s := newStage(t, map[string]*mysqltest.Server{"db1": server}, out, map[string]monolith.Endpoint{"db1": endpoint}, dir, now, func(srv *monolith.Server) {
			srv.Schedules[monolith.Fast], srv.Schedules[monolith.Slow] = "@every 1m", "@every 1m"
		})
		lines = s.play(&r)
		files := descriptors(server.PID())
		lines = append(lines, s.play(&files)...)
	})
	if list != "" {
		writeProvoked(t, list, lines)
	}
}

// descriptors is a server whose process may open hardly any more files.
func descriptors(pid int) round {
	var was unix.Rlimit
	limit := func(s *stage, to, old *unix.Rlimit) {
		if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, to, old); err != nil {
			s.t.Fatal(err)
		}
	}
	return round{
		name: "descriptors", opens: 20 * time.Minute, closes: 40 * time.Minute,
		all: []provocation{{
			server: "db1", rule: "process-files-near-os-limit", level: "warn or critical", how: "prlimit to a tenth more files than are open", says: []string{"open files 9"},
			start: func(s *stage) {
				open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
				if err != nil {
					s.t.Fatal(err)
				}
				limit(s, nil, &was)
				limit(s, &unix.Rlimit{Cur: uint64(len(open) * 11 / 10), Max: was.Max}, nil)
			},
			stop: func(s *stage) { limit(s, &was, nil) },
		}},
	}
}

// machine is what the kernel counts. All are ticks since it started, but for the load.
type machine struct {
	cores         int
	busy, all     int64
	load5, load15 float64
}

func machineNow(t *testing.T) (m machine) {
	t.Helper()
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	var one float64
	if _, err := fmt.Sscan(string(load), &one, &m.load5, &m.load15); err != nil {
		t.Fatalf("/proc/loadavg: %v: %q", err, load)
	}
	for line := range strings.Lines(string(stat)) {
		name, rest, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(name, "cpu") {
			continue
		}
		if name != "cpu" {
			m.cores++
			continue
		}
		for i, text := range strings.Fields(rest) {
			ticks, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				t.Fatalf("/proc/stat: %v: %q", err, line)
			}
			if i < 8 { // user, nice, system, idle, iowait, irq, softirq, steal; what guests take is in user and nice
				m.all += ticks
			}
			if i != 3 && i != 4 && i < 7 {
				m.busy += ticks
			}
		}
	}
	return m
}

// busySince gives the busy part of the time since an earlier reading.
func (m machine) busySince(before machine) float64 {
	return float64(m.busy-before.busy) / float64(max(1, m.all-before.all))
}

// pass waits until the kernel has counted that many ticks of each processor.
func pass(t *testing.T, since machine, ticks int64) {
	t.Helper()
	await(t, time.Minute, "ticks of the kernel", func(m machine) bool { return m.all-since.all >= ticks*int64(m.cores) })
}

// await waits, by everybody's clock, for what the kernel must say.
func await(t *testing.T, most time.Duration, what string, is func(machine) bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.After(most)
	for !is(machineNow(t)) {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("no %s within %v: %+v", what, most, machineNow(t))
		}
	}
}

// burn starts that many programs that do nothing, as fast as they can and behind all others, until they are stopped or the test ends.
func burn(t *testing.T, n int) (stop func()) {
	t.Helper()
	var all []*child.Process
	stop = func() {
		for _, p := range all {
			_ = p.Signal(syscall.SIGKILL) // gone already is as good
			<-p.Exited()
		}
	}
	t.Cleanup(stop)
	for range n {
		p, err := child.Start(exec.Command("nice", "-n", "19", "/bin/sh", "-c", "while :; do :; done"), syscall.SIGKILL)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	return stop
}

package poller

import (
	"syscall"
	"testing"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

// cpuTime is what this process has used, user and system.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkPoll is one poll of the status in a loop, without a store: cpu-µs/op is what it costs us.
func BenchmarkPoll(b *testing.B) {
	db := mysqltest.MariaDB(b)
	user, password := db.NewUser(b, "PROCESS ON *.*")
	server := everySecond(b, db, user, password)
	server.Schedules = nil
	p, err := New(Config{Collectors: Collectors()[:1]})
	if err != nil {
		b.Fatal(err)
	}
	t := newTarget(p, &server, planFor(&server, nil))
	defer t.stop()
	poll := func() {
		snap := t.runPoll(b.Context(), job{due: map[string]bool{monolith.Fast: true}}, &server)
		if snap == nil || !snap.Polled {
			b.Fatalf("%+v", describe(snap))
		}
		t.state.Store(t.state.Load().With(snap))
	}
	poll()
	before := cpuTime(b)
	b.ReportAllocs()
	for b.Loop() {
		poll()
	}
	b.ReportMetric(float64((cpuTime(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
}

package poller

import (
	"syscall"
	"testing"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

func TestUnansweredConnectionsFail(t *testing.T) {
	t.Parallel()
	db := mysqltest.Shared(t)
	user, password := db.NewUser(t)
	for interval, want := range map[time.Duration]int{time.Second: 1000, 10 * time.Second: 4500, time.Hour: 5000} {
		s, err := logIn(t.Context(), monolith.Endpoint{Host: db.Host, Port: db.Port, User: user, Password: monolith.Secret(password)},
			openOptions{interval: interval, load: newQuietLoad(), counts: &counters{statement: func(int64) {}, received: func(int64) {}}})
		if err != nil {
			t.Fatal(err)
		}
		raw, err := s.dialed.conn.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var got int
		if err := raw.Control(func(fd uintptr) { got, err = syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout) }); err != nil || got != want {
			t.Errorf("polled every %v: gives up after %d ms, %v; want %d", interval, got, err, want)
		}
		s.close()
	}
}

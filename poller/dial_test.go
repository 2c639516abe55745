package poller

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"

	"monolith"
	"monolith/internal/replay"
)

// greetingOf is how a server begins: its version and our thread's id there.
func greetingOf(version string, id uint32) []byte {
	b := append([]byte{0, 0, 0, 0, 10}, version...)
	return append(binary.LittleEndian.AppendUint32(append(b, 0), id), "scramble"...)
}

func FuzzThreadID(f *testing.F) {
	f.Add("5.5.5-10.11.6-MariaDB", uint32(4711), greetingOf("8.0.36", 7))
	f.Add("", uint32(0), []byte{1, 0, 0, 0, 10})
	f.Add("9.5.0", uint32(1<<31), []byte("HTTP/1.1 400 Bad Request"))
	f.Fuzz(func(t *testing.T, version string, id uint32, rubbish []byte) {
		(&limitedConn{greeting: rubbish}).threadID() // must not panic
		for _, c := range version {
			if c == 0 {
				return
			}
		}
		if got := (&limitedConn{greeting: greetingOf(version, id)}).threadID(); got != id {
			t.Fatalf("thread %d read as %d", id, got)
		}
	})
}

// The bytes of each answer are bounded, and what was not used up is not saved for the next.
func TestLimitedConn(t *testing.T) {
	t.Parallel()
	client, server := net.Pipe()
	defer client.Close()
	defer server.Close()
	go func() {
		answer := append([]byte("\x4a\x00\x00\x00\x0a"), make([]byte, 95)...) // begins as a greeting does
		for {
			if _, err := server.Write(answer); err != nil {
				return
			}
		}
	}()
	c := &limitedConn{Conn: client}
	buf := make([]byte, 64)
	read := func() (total int, err error) {
		for {
			n, err := c.Read(buf)
			if total += n; err != nil {
				return total, err
			}
		}
	}
	for range 2 {
		c.over.Store(false)
		c.allow(1000)
		if total, err := read(); total != 1000 || !errors.Is(err, errTooLarge) || !c.over.Load() {
			t.Errorf("read %d bytes, %v", total, err)
		}
	}
	c.allow(0)
	if left := c.until.Load() - c.read.Load(); left != defaultMaxBytes {
		t.Errorf("without a limit of its own an answer may have %d bytes", left)
	}
}

// A server is reached by an address of IPv6, and its words name it with brackets.
func TestAddressOfIPv6(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("SKIPPED: this machine has no ::1: %v", err)
	}
	s := replay.Start(t, healthy())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			if up, err := net.Dial("tcp", s.Address()); err == nil {
				go func() { defer client.Close(); io.Copy(client, up) }()
				go func() { defer up.Close(); io.Copy(up, client) }()
			}
		}
	}()
	p, err := New(Config{Collectors: []*Collector{statusCollector()}})
	if err != nil {
		t.Fatal(err)
	}
	e := monolith.Endpoint{Host: "::1", Port: l.Addr().(*net.TCPAddr).Port, User: replay.User, Password: replay.Password}
	if report := p.Test(t.Context(), monolith.Server{Endpoint: e}); !report.OK || report.Account == "" {
		t.Errorf("%+v", report)
	}
	l.Close()
	<-ended // until then the system goes on accepting
	report := p.Test(t.Context(), monolith.Server{Endpoint: e})
	said := false
	for _, step := range report.Steps {
		said = said || step.Text == l.Addr().String()+" refuses connections: no server listens there"
	}
	if report.OK || report.Up || !said {
		t.Errorf("nobody listens on %v: %+v", l.Addr(), report)
	}
}

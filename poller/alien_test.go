package poller

import (
	"net"
	"strings"
	"testing"
	"time"

	"monolith"
)

// TestSomethingElseOnThePort: the first bytes of another protocol look like the length of a huge packet.
// They are told apart at once, without waiting for it.
func TestSomethingElseOnThePort(t *testing.T) {
	for name, banner := range map[string]string{
		"ssh":  "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u7\r\n",
		"http": "HTTP/1.1 400 Bad Request\r\n\r\n",
		"smtp": "220 mail.example ESMTP\r\n",
		"zero": "\x00\x00\x00\x00\x00\x00\x00\x00",
	} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				c.Write([]byte(banner))
				t.Cleanup(func() { c.Close() })
			}
		}()
		address := l.Addr().(*net.TCPAddr)
		p, err := New(Config{Collectors: Collectors()})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		report := p.Test(t.Context(), monolith.Server{Name: name, Endpoint: monolith.Endpoint{Host: "127.0.0.1", Port: address.Port, User: "u"}})
		said := ""
		for _, step := range report.Steps {
			if step.Result == monolith.StepFailed {
				said = step.Text
				break
			}
		}
		if report.OK || !strings.Contains(said, "does not speak MySQL") || time.Since(began) > 4*time.Second {
			t.Errorf("%s: %q after %v", name, said, time.Since(began))
		}
	}
}

func TestIsGreeting(t *testing.T) {
	for text, want := range map[string]bool{
		"\x4a\x00\x00\x00\x0a": true, "\x45\x00\x00\x00\xff": true, "\x29\x00\x00\x00\x09": true,
		"SSH-2": false, "HTTP/": false, "\x00\x00\x00\x00\x0a": false, "\x4a\x00\x00\x01\x0a": false, "\x4a\x00\x01\x00\x0a": false,
	} {
		if got := isGreeting([]byte(text)); got != want {
			t.Errorf("isGreeting(%q) = %v", text, got)
		}
	}
}

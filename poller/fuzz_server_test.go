package poller

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith"
	"monolith/internal/replay"
)

// FuzzForeignServer lets whatever answers say whatever it likes, from the greeting on: what can't be understood is an error
// that can be explained, in time, and nothing panics.
func FuzzForeignServer(f *testing.F) {
	for _, version := range []string{"5.0.96", "5.6.51", "10.11.6-MariaDB"} {
		f.Add(conversation(f, version))
	}
	f.Add([]byte("\x09\x00\x00\x00\xff\x10\x04Too many"))
	f.Add([]byte("SSH-2.0-OpenSSH_9.2p1\r\n"))
	var n atomic.Int64
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, input []byte) {
		said := bytes.Clone(input)                                    // the fuzzer writes over its own when this function has returned, and a connection may still be read then
		socket := filepath.Join(dir, strconv.FormatInt(n.Add(1), 10)) // ports would run out
		listener, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				conn.Write(said)
				conn.(*net.UnixConn).CloseWrite()
				go func() {
					io.Copy(io.Discard, conn)
					conn.Close()
				}()
			}
		}()
		e := monolith.Endpoint{Socket: socket, User: replay.User, Password: replay.Password}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Second, &timeoutError{"the login", 30 * time.Second})
		defer cancel()
		s, err := openSession(ctx, e, openOptions{limit: time.Second, interval: time.Second, load: newQuietLoad(), counts: discarded()})
		if err == nil {
			s.close()
			return
		}
		var failed *connectError
		if !errors.As(err, &failed) {
			t.Fatalf("%T: %v", err, err)
		}
		if p, _ := explain(err, scene{endpoint: e, now: time.Now()}); p.Text == "" || p.Kind == monolith.ProblemTimeout && p.Code == 0 { // it may say so itself
			t.Errorf("%v is explained as %+v", err, p)
		}
	})
}

func discarded() *counters {
	nothing := func(int64) {}
	return &counters{statement: nothing, received: nothing, refused: func(string, *mysql.MySQLError) {}}
}

// conversation gives what a recorded server says while a session is opened.
func conversation(tb testing.TB, version string) []byte {
	tb.Helper()
	s := replay.Start(tb, replay.Record(map[string]string{"version": version, "wait_timeout": "28800", "lock_wait_timeout": "50"}, map[string]string{"Uptime": "1"}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer listener.Close()
	said := make(chan []byte, 1)
	go func() {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", s.Address())
		if err != nil {
			client.Close()
			return
		}
		go func() {
			io.Copy(server, client)
			server.Close()
		}()
		var all bytes.Buffer
		io.Copy(io.MultiWriter(&all, client), server)
		client.Close()
		said <- all.Bytes()
	}()
	e := monolith.Endpoint{Host: "127.0.0.1", Port: listener.Addr().(*net.TCPAddr).Port, User: replay.User, Password: replay.Password}
	session, err := openSession(tb.Context(), e, openOptions{limit: time.Second, interval: time.Second, load: newQuietLoad(), counts: discarded()})
	if err != nil {
		tb.Fatal(err)
	}
	session.close()
	return <-said
}

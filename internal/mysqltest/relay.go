package mysqltest

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// Relay is an address that passes connections on to a server: what stands behind it can be changed, as a failover does, and
// it tells which statements went through. It is safe for concurrent use.
type Relay struct {
	Host string
	Port int

	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex
	target string // host:port; "": nobody is there
	conns  map[net.Conn]bool
	said   map[string]Said
	show   func(statement string) string
}

// Said is what became of a statement that went through a [Relay], in all its executions.
type Said struct {
	Times   int
	Refused uint16 // the server's last error number; 0: it never refused
	Why     string // and its text
}

// NewRelay listens on 127.0.0.1 until the test ends and passes connections on to the server. show makes of a
// statement's text the one under which it is counted, as to bound how many there are; nil takes it as it is.
func NewRelay(tb testing.TB, to *Server, show func(statement string) string) *Relay {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	if show == nil {
		show = func(statement string) string { return statement }
	}
	at := l.Addr().(*net.TCPAddr)
	r := &Relay{Host: at.IP.String(), Port: at.Port, listener: l, conns: map[net.Conn]bool{}, said: map[string]Said{}, show: show}
	r.To(to)
	r.wg.Go(r.accept)
	tb.Cleanup(func() {
		l.Close()
		r.To(nil)
		r.wg.Wait()
	})
	return r
}

// To cuts the connections that there are and passes new ones on to another server, which may be nil: then they are
// closed at once.
func (r *Relay) To(s *Server) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target = ""
	if s != nil {
		r.target = net.JoinHostPort(s.Host, strconv.Itoa(s.Port))
	}
	for c := range r.conns {
		c.Close()
	}
	clear(r.conns)
}

// DSN gives a DSN of a server behind the relay with the relay's own address.
func (r *Relay) DSN(tb testing.TB, dsn string) string {
	tb.Helper()
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Net, cfg.Addr = "tcp", net.JoinHostPort(r.Host, strconv.Itoa(r.Port))
	return cfg.FormatDSN()
}

// Statements gives what became of each statement so far. On connections with TLS none are seen.
func (r *Relay) Statements() map[string]Said {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.said)
}

func (r *Relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		target := r.target
		r.mu.Unlock()
		server, err := net.Dial("tcp", target)
		if err != nil {
			client.Close()
			continue
		}
		r.mu.Lock()
		moved := target != r.target
		if !moved {
			r.conns[client], r.conns[server] = true, true
		}
		r.mu.Unlock()
		if moved {
			client.Close()
			server.Close()
			continue
		}
		talk := &talk{relay: r}
		r.wg.Go(func() { r.pass(server, client, talk, talk.command) })
		r.wg.Go(func() { r.pass(client, server, talk, talk.answer) })
	}
}

// pass copies one direction of a connection and shows each packet, until either side ends: then both do.
func (r *Relay) pass(to, from net.Conn, t *talk, show func(number byte, payload []byte)) {
	defer func() {
		to.Close()
		from.Close()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.conns, to)
		delete(r.conns, from)
	}()
	in, out := bufio.NewReaderSize(from, 64<<10), bufio.NewWriterSize(to, 64<<10)
	if err := t.packets(in, out, show); err == nil {
		_, _ = io.Copy(to, in)
	}
}

// packets copies and shows packets. It ends without an error where something else follows.
func (t *talk) packets(in *bufio.Reader, out *bufio.Writer, show func(number byte, payload []byte)) error {
	var payload []byte
	for {
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
		head, err := in.Peek(4)
		if err != nil {
			return err
		}
		if t.opaque.Load() {
			return out.Flush()
		}
		n := int(binary.LittleEndian.Uint32(head) & 0xffffff)
		if cap(payload) < 4+n {
			payload = make([]byte, 4+n)
		}
		payload = payload[:4+n]
		if _, err := io.ReadFull(in, payload); err != nil {
			return err
		}
		show(payload[3], payload[4:])
		if _, err := out.Write(payload); err != nil {
			return err
		}
	}
}

// talk follows the commands and answers of one connection.
type talk struct {
	relay  *Relay
	opaque atomic.Bool // TLS or compression follows
	login  bool        // the client's first packet came

	mu   sync.Mutex
	last string // the statement that waits for its answer; "": none
}

// MySQL's commands that carry a statement, and what a client may announce.
const (
	comQuery       = 3
	comPrepare     = 22
	clientCompress = 1 << 5
	clientTLS      = 1 << 11
)

func (t *talk) command(number byte, payload []byte) {
	if number == 1 && len(payload) >= 4 && !t.login && binary.LittleEndian.Uint32(payload)&(clientTLS|clientCompress) != 0 {
		t.opaque.Store(true)
	}
	t.login = true
	if number != 0 || len(payload) == 0 {
		return // of the login, or the rest of a long command
	}
	text := ""
	if payload[0] == comQuery || payload[0] == comPrepare {
		text = t.relay.show(string(payload[1:]))
		t.relay.note(text, 0, "")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = text
}

func (t *talk) answer(number byte, payload []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last == "" || len(payload) == 0 {
		return
	}
	switch {
	case payload[0] == 0xff && len(payload) >= 3: // also after some rows
		t.relay.note(t.last, binary.LittleEndian.Uint16(payload[1:]), fmt.Sprintf("%.300s", payload[3:]))
		t.last = ""
	case number == 1 && payload[0] == 0:
		t.last = ""
	}
}

// note counts a statement, or that it was refused.
func (r *Relay) note(statement string, refused uint16, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.said[statement]
	if refused == 0 {
		s.Times++
	} else {
		s.Refused, s.Why = refused, why
	}
	r.said[statement] = s
}

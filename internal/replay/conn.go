package replay

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"
)

// conn is one connection, which is a thread of the server.
type conn struct {
	s    *Server
	rec  *Recording
	id   uint32
	raw  net.Conn
	net  net.Conn // raw, or TLS over it
	in   *bufio.Reader
	user string

	once   sync.Once
	killed chan struct{}
}

// read is a connection of which something was read already.
type read struct {
	net.Conn
	in *bufio.Reader
}

func (r *read) Read(b []byte) (int, error) { return r.in.Read(b) }

var (
	errKilled = errors.New("replay: killed")
	errCut    = errors.New("replay: cut")
)

// kill ends the thread and its connection.
func (c *conn) kill() {
	c.once.Do(func() {
		close(c.killed)
		c.raw.Close()
	})
}

// serve speaks until the connection ends. Its errors are the client's to see.
func (c *conn) serve() {
	if !c.patient() {
		return
	}
	c.in = bufio.NewReader(c.net)
	if err := c.logIn(); err != nil {
		return
	}
	for {
		packet, _, err := readPacket(c.in)
		if err != nil || len(packet) == 0 {
			return
		}
		switch packet[0] {
		case commandQuit:
			return
		case commandPing, commandDB:
			err = c.send(okPayload(), 1)
		case commandQuery:
			err = c.query(string(packet[1:]))
		default:
			err = c.send((&Error{1047, "08S01", "Unknown command"}).payload(), 1)
		}
		if err != nil {
			return
		}
	}
}

// patient waits while the server is to say nothing.
func (c *conn) patient() bool {
	for {
		cleared := c.s.clearing()
		if c.s.fault(func(f *Fault) bool { return f.silent }) == nil {
			return true
		}
		select {
		case <-cleared:
		case <-c.killed:
			return false
		}
	}
}

// send writes one packet.
func (c *conn) send(payload []byte, seq byte) error {
	b, _ := appendPacket(nil, seq, payload)
	cleared := c.s.clearing() // before the faults are looked at, or one that is seen could not be cleared
	drip := time.Duration(0)
	if f := c.s.fault(func(f *Fault) bool { return f.drip > 0 && f.on == "" }); f != nil {
		drip = f.drip
	}
	return c.write(b, drip, cleared)
}

// write sends bytes, one in each interval where there is one.
func (c *conn) write(b []byte, drip time.Duration, cleared <-chan struct{}) error {
	if drip == 0 {
		_, err := c.net.Write(b)
		return err
	}
	tick := time.NewTicker(drip)
	defer tick.Stop()
	for i := range b {
		select {
		case <-tick.C:
		case <-cleared:
			_, err := c.net.Write(b[i:])
			return err
		case <-c.killed:
			return errKilled
		}
		if _, err := c.net.Write(b[i : i+1]); err != nil {
			return err
		}
	}
	return nil
}

// wait lets a statement run for a while, or until it is killed or the faults are cleared.
func (c *conn) wait(d time.Duration, cleared <-chan struct{}) error {
	var over <-chan time.Time
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-over:
	case <-cleared:
	case <-c.killed:
		return errKilled
	}
	return nil
}

// logIn greets, checks the password and says whether the client may stay.
func (c *conn) logIn() error {
	if f := c.s.fault(func(f *Fault) bool { return f.greet != nil }); f != nil {
		if err := c.send(f.greet.payload(), 0); err != nil {
			return err
		}
		return errCut
	}
	scramble := []byte(rand.Text()[:20]) // no zero byte ends it early
	offered := c.s.plugin
	if offered == "" || offered != cachingSHA2 {
		offered = c.rec.plugin()
	}
	if err := c.send(greeting(c.rec.greetingVersion(), c.id, scramble, offered, c.s.offerTLS), 0); err != nil {
		return err
	}
	packet, seq, err := readPacket(c.in)
	if err != nil {
		return err
	}
	l, ok := parseLogin(packet)
	if ok && len(packet) == 32 {
		cert, err := certificate()
		if err != nil || !c.s.offerTLS {
			return errors.Join(errCut, err)
		}
		secure := tls.Server(&read{c.raw, c.in}, &tls.Config{Certificates: []tls.Certificate{cert}})
		if err := secure.HandshakeContext(c.s.closed); err != nil {
			return err
		}
		c.net, c.in = secure, bufio.NewReader(secure)
		if packet, seq, err = readPacket(c.in); err != nil {
			return err
		}
		l, ok = parseLogin(packet)
	}
	if !ok || l.caps&clientProtocol41 == 0 {
		return c.say((&Error{1043, "08S01", "Bad handshake"}).payload(), &seq)
	}
	c.user = l.user
	right, err := c.authenticate(l, scramble, &seq)
	switch {
	case err != nil:
		return err
	case !right:
		using := "YES"
		if len(l.auth) == 0 {
			using = "NO"
		}
		text := fmt.Sprintf("Access denied for user '%s'@'127.0.0.1' (using password: %s)", l.user, using)
		return errors.Join(c.say((&Error{1045, "28000", text}).payload(), &seq), errCut)
	case c.s.fault(func(f *Fault) bool { return f.offline }) != nil:
		return errors.Join(c.say((&Error{3032, "HY000", "The server is currently in offline mode"}).payload(), &seq), errCut)
	}
	return c.say(okPayload(), &seq)
}

// say sends the packet that follows the last one received.
func (c *conn) say(payload []byte, seq *byte) error {
	*seq++
	return c.send(payload, *seq)
}

// ask says something and reads the answer.
func (c *conn) ask(payload []byte, seq *byte) (answer []byte, err error) {
	if err := c.say(payload, seq); err != nil {
		return nil, err
	}
	answer, *seq, err = readPacket(c.in)
	return answer, err
}

func (c *conn) authenticate(l login, scramble []byte, seq *byte) (right bool, err error) {
	plugin := c.s.plugin
	if plugin == "" {
		plugin = c.rec.plugin()
	}
	if plugin == "" {
		plugin = nativePassword
	}
	if l.caps&clientPluginAuth != 0 && l.plugin != plugin {
		change := append(append([]byte{headerEOF}, plugin...), 0)
		if l.auth, err = c.ask(append(append(change, scramble...), 0), seq); err != nil {
			return false, err
		}
	}
	known := l.user == c.s.user
	expected := scrambled(plugin, c.s.password, scramble)
	switch {
	case plugin == nativePassword:
		return known && bytes.Equal(l.auth, expected), nil
	case plugin != cachingSHA2:
		return false, nil
	case len(l.auth) == 0 || len(l.auth) == 1 && l.auth[0] == 0:
		return known && c.s.password == "", nil
	}
	c.s.mu.Lock()
	cached := c.s.cached
	c.s.mu.Unlock()
	if cached && known && bytes.Equal(l.auth, expected) {
		return true, c.say([]byte{headerMore, 3}, seq)
	}
	password, err := c.fullAuthentication(scramble, seq)
	if err != nil {
		return false, err
	}
	right = known && subtle.ConstantTimeCompare(password, append([]byte(c.s.password), 0)) == 1
	if right {
		c.s.mu.Lock()
		c.s.cached = true
		c.s.mu.Unlock()
	}
	return right, nil
}

// fullAuthentication has the password sent: as it is over TLS, else sealed with the key that the client asks for.
func (c *conn) fullAuthentication(scramble []byte, seq *byte) (password []byte, err error) {
	password, err = c.ask([]byte{headerMore, 4}, seq)
	if _, encrypted := c.net.(*tls.Conn); encrypted || err != nil {
		return password, err
	}
	key, err := loginKey()
	if err != nil {
		return nil, err
	}
	if bytes.Equal(password, []byte{2}) {
		public, err := publicPEM(key)
		if err != nil {
			return nil, err
		}
		if password, err = c.ask(append([]byte{headerMore}, public...), seq); err != nil {
			return nil, err
		}
	}
	return decryptPassword(key, password, scramble)
}

// query answers one statement.
func (c *conn) query(received string) error {
	c.s.received(received)
	statement := normal(received)
	cleared := c.s.clearing()
	p := planFor(*c.s.faults.Load(), statement)
	if p.delay != 0 {
		if err := c.wait(p.delay, cleared); err != nil {
			return err
		}
	}
	e := c.answer(statement, p)
	if p.cut && e.rows > 0 {
		if err := c.write(e.bytes[:(e.rows+e.first)/2], p.drip, cleared); err != nil {
			return err
		}
		return errCut
	}
	if err := c.write(e.bytes, p.drip, cleared); err != nil {
		return err
	}
	if strings.HasPrefix(strings.ToUpper(statement), "KILL ") {
		select {
		case <-c.killed:
			return errKilled
		default:
		}
	}
	return nil
}

package notify

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
)

// smtpLine is how a relay is reached: what the library that speaks SMTP is given is the plain text of an encrypted
// connection, so that all of the dialogue can be shown, whichever way it was encrypted.
type smtpLine struct {
	host   string
	port   int
	mode   string // none, starttls, tls
	hello  string // our name in the greeting
	trust  *tls.Config
	record *Dialogue // may be nil
}

// dial connects, and encrypts as is asked for. After STARTTLS the relay's greeting is given once more: the dialogue begins
// anew then, and with a greeting the library knows where it is.
func (l *smtpLine) dial(ctx context.Context) (net.Conn, error) {
	address := net.JoinHostPort(l.host, strconv.Itoa(l.port))
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	if end, ok := ctx.Deadline(); ok {
		conn.SetDeadline(end) // one that can't take it fails at once when it is read
	}
	l.record.say("*", "connected to %s", conn.RemoteAddr())
	greeting := ""
	if l.mode == "starttls" {
		if greeting, err = l.startTLS(conn); err != nil {
			conn.Close()
			return nil, err
		}
	}
	if l.mode != "none" {
		encrypted := tls.Client(conn, l.trust)
		if err := encrypted.HandshakeContext(ctx); err != nil {
			conn.Close()
			return nil, err
		}
		state := encrypted.ConnectionState()
		l.record.say("*", "%s, %s, certificate of %s", tls.VersionName(state.Version), tls.CipherSuiteName(state.CipherSuite), state.PeerCertificates[0].Subject)
		conn = encrypted
	}
	return &smtpConn{Conn: conn, text: transcript{record: l.record}, again: []byte(greeting)}, nil
}

// startTLS asks a relay to encrypt from now on, and gives its greeting. A relay that can't is refused: nothing is ever sent
// to it unencrypted.
func (l *smtpLine) startTLS(conn net.Conn) (greeting string, err error) {
	plain := &smtpConn{Conn: conn, text: transcript{record: l.record}}
	read := textproto.NewReader(bufio.NewReader(plain))
	ask := func(expect int, line string) (string, error) {
		if line != "" {
			if _, err := io.WriteString(plain, line+"\r\n"); err != nil {
				return "", err
			}
		}
		_, said, err := read.ReadResponse(expect)
		return said, err
	}
	said, err := ask(220, "")
	if err != nil {
		return "", err
	}
	greeting, _, _ = strings.Cut(said, "\n")
	if said, err = ask(250, "EHLO "+l.hello); err != nil {
		return "", err
	}
	offered := false
	for line := range strings.Lines(said) {
		offered = offered || strings.EqualFold(strings.TrimSpace(line), "STARTTLS")
	}
	if !offered {
		return "", fmt.Errorf("the relay does not offer STARTTLS")
	}
	if _, err := ask(220, "STARTTLS"); err != nil {
		return "", err
	}
	if read.R.Buffered() > 0 { // somebody on the way could have put it there, to be taken for the encrypted relay's
		return "", fmt.Errorf("the relay spoke before encryption began")
	}
	return "220 " + greeting + "\r\n", nil
}

// smtpConn is a connection whose text is written down.
type smtpConn struct {
	net.Conn
	text  transcript
	again []byte // what is read once more before anything else, and is not written down again
	read  int    // bytes the relay said
}

// mostSaid is how many bytes a relay may say in one dialogue. Answers are gathered whole, and one without an end would
// take all memory before its time is over.
const mostSaid = 1 << 20

func (c *smtpConn) Read(p []byte) (int, error) {
	if len(c.again) > 0 {
		n := copy(p, c.again)
		c.again = c.again[n:]
		return n, nil
	}
	if c.read >= mostSaid {
		return 0, fmt.Errorf("the relay said more than %d bytes", mostSaid)
	}
	n, err := c.Conn.Read(p[:min(len(p), mostSaid-c.read)])
	c.read += n
	c.text.received(p[:n])
	return n, err
}

func (c *smtpConn) Write(p []byte) (int, error) {
	c.text.sent(p)
	return c.Conn.Write(p)
}

func (c *smtpConn) Close() error {
	c.text.end()
	return c.Conn.Close()
}

// shownLines is how many lines of a mail stand in a dialogue, shownLine how much of a line.
const (
	shownLines = 30
	shownLine  = 500
)

// transcript writes down both directions of an SMTP dialogue, line by line. Data of a login is left out, and of a mail all but
// its beginning.
type transcript struct {
	record *Dialogue // nil: nothing is written

	mu      sync.Mutex // a connection may be closed while the library still waits on it
	out, in []byte     // lines that are not complete
	login   bool       // what is sent is part of a login
	mail    bool       // what is sent is a mail
	lines   int        // of the mail
	bytes   int
}

func (t *transcript) sent(p []byte) {
	if t.record == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out = eachLine(append(t.out, p...), t.sentLine)
}

func (t *transcript) received(p []byte) {
	if t.record == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.in = eachLine(append(t.in, p...), t.receivedLine)
}

// end writes what is left of a line that was broken off.
func (t *transcript) end() {
	if t.record == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.in) > 0 {
		t.receivedLine(t.in)
	}
	t.in, t.out = nil, nil
}

// eachLine takes whole lines out of a buffer, and pieces of one that is too long; what is left is given back.
func eachLine(buffer []byte, take func([]byte)) []byte {
	for {
		i := bytes.IndexByte(buffer, '\n')
		switch {
		case i >= 0:
			take(buffer[:i])
			buffer = buffer[i+1:]
		case len(buffer) > 64<<10:
			take(buffer)
			return nil
		default:
			return buffer
		}
	}
}

func (t *transcript) sentLine(line []byte) {
	text := strings.TrimRight(string(line), "\r")
	switch {
	case t.mail && text == ".":
		if t.lines > shownLines {
			t.record.say("*", "and %d more lines of the mail, of %d bytes in all", t.lines-shownLines, t.bytes)
		}
		t.mail = false
	case t.mail:
		t.lines++
		if t.bytes += len(line) + 1; t.lines > shownLines {
			return
		}
	case t.login:
		text = hidden
	default:
		if words := strings.Fields(text); len(words) > 0 && strings.EqualFold(words[0], "AUTH") {
			t.login = true
			if len(words) > 2 {
				text = words[0] + " " + words[1] + " " + hidden
			}
		}
	}
	t.record.say(">", "%s\n", cutLine(text))
}

func (t *transcript) receivedLine(line []byte) {
	text := strings.TrimRight(string(line), "\r")
	switch {
	case t.login && !strings.HasPrefix(text, "334"):
		t.login = false
	case strings.HasPrefix(text, "354"):
		t.mail, t.lines, t.bytes = true, 0, 0
	}
	t.record.say("<", "%s\n", cutLine(text))
}

func cutLine(text string) string {
	if len(text) > shownLine {
		return text[:shownLine] + "…"
	}
	return text
}

package poller

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith"
)

// defaultMaxBytes is the most that one answer may have. The driver has no limit of its own: a process
// list full of huge statements, or something that only looks like a server, would fill our memory.
const defaultMaxBytes = 16 << 20

// errTooLarge says that an answer was cut off.
var errTooLarge = errors.New("the answer is larger than allowed")

// limitedConn counts what comes in and ends the connection when one answer has too many bytes.
type limitedConn struct {
	net.Conn
	read  atomic.Int64 // since it was opened
	until atomic.Int64 // the value of read at which it ends
	over  atomic.Bool  // it ended for that reason
	alien atomic.Bool  // it ended since the first bytes are no greeting of a MySQL server

	greeting []byte       // the first bytes, which only the login reads
	greeted  *atomic.Bool // set with the first of them; may be nil
}

// Read fails with errTooLarge once the answer is too large.
func (c *limitedConn) Read(b []byte) (int, error) {
	left := c.until.Load() - c.read.Load()
	if left <= 0 {
		c.over.Store(true)
		return 0, errTooLarge
	}
	if int64(len(b)) > left {
		b = b[:left]
	}
	n, err := c.Conn.Read(b)
	c.read.Add(int64(n))
	if missing := greetingBytes - len(c.greeting); missing > 0 && n > 0 {
		if c.greeted != nil {
			c.greeted.Store(true)
		}
		first := len(c.greeting) < greetingHead
		c.greeting = append(c.greeting, b[:min(n, missing)]...)
		if first && len(c.greeting) >= greetingHead && !isGreeting(c.greeting) {
			c.alien.Store(true)
			return 0, errNonsense
		}
	}
	return n, err
}

// greetingHead is the header of a packet and the first byte in it.
const greetingHead = 5

// isGreeting reports whether the first bytes of a connection can come from a MySQL server: a packet of a
// sensible length with the number 0 that holds protocol version 10 or 9, or an error. Anything else (an
// SSH banner, an HTTP answer) would be taken for the length of a packet that never comes.
func isGreeting(b []byte) bool {
	length := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	const protocol10, protocol9, failure = 10, 9, 0xff
	return length > 0 && length < 64<<10 && b[3] == 0 && (b[4] == protocol10 || b[4] == protocol9 || b[4] == failure)
}

// greetingBytes is more than stands before the thread's id in a greeting.
const greetingBytes = 128

// threadID reads our thread's id, or 0, from the greeting, which the driver keeps to itself: a login
// that hangs leaves a thread at the server that must be ended later. A nil connection has none.
func (c *limitedConn) threadID() uint32 {
	if c == nil || len(c.greeting) < 6 || c.greeting[4] != 10 {
		return 0
	}
	version := c.greeting[5:]
	end := bytes.IndexByte(version, 0)
	if end < 0 || len(version) < end+5 {
		return 0
	}
	return binary.LittleEndian.Uint32(version[end+1:])
}

// allow gives the next answer its bytes.
func (c *limitedConn) allow(n int64) {
	if n <= 0 {
		n = defaultMaxBytes
	}
	c.until.Store(c.read.Load() + n)
}

// SyscallConn lets the driver look whether an idle connection was closed by the other side.
func (c *limitedConn) SyscallConn() (syscall.RawConn, error) {
	s, ok := c.Conn.(syscall.Conn)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	return s.SyscallConn()
}

// dialTimeout is the longest that opening the network connection may take; the login has the rest of
// the poll's time.
const dialTimeout = 5 * time.Second

// dialed is a connector with what it learned while connecting.
type dialed struct {
	config *mysql.Config
	conn   *limitedConn         // the network connection, nil before it was opened
	opened time.Time            // when it was
	tls    *tls.ConnectionState // nil without TLS
	plugin string               // the authentication plug-in that the driver does not know

	greeted *atomic.Bool // set when the server says something; may be nil
}

// Print makes dialed the driver's logger, which alone is told the name of an unknown plug-in. All else it
// logs is returned as an error too.
func (d *dialed) Print(v ...any) {
	for i, word := range v {
		if word == "unknown auth plugin:" && i+1 < len(v) {
			d.plugin = cut(printable(fmt.Sprint(v[i+1])), 64)
		}
	}
}

// newDialed turns an endpoint into the driver's configuration, field by field. What is sent may be
// unacknowledged for the given time.
func newDialed(e monolith.Endpoint, version string, unanswered time.Duration) (*dialed, error) {
	cfg := mysql.NewConfig()
	cfg.User = e.User
	cfg.Passwd = e.Password.Reveal()
	cfg.Net, cfg.Addr = "tcp", e.Address()
	if e.Socket != "" {
		cfg.Net = "unix"
	}
	cfg.Timeout = dialTimeout
	cfg.WriteTimeout = 10 * time.Second
	cfg.InterpolateParams = true
	cfg.MultiStatements = false
	cfg.ConnectionAttributes = "program_name:monolith"
	if version != "" {
		cfg.ConnectionAttributes += ",program_version:" + version
	}
	d := &dialed{config: cfg}
	cfg.Logger = d
	if err := d.setTLS(e); err != nil {
		return nil, err
	}
	cfg.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dialer := net.Dialer{
			KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 30 * time.Second, Interval: 10 * time.Second, Count: 3},
			Control:         giveUpUnanswered(unanswered),
		}
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		d.conn, d.opened = &limitedConn{Conn: conn, greeted: d.greeted}, time.Now()
		d.conn.allow(1 << 20) // a greeting and a login need a few hundred bytes
		return d.conn, nil
	}
	return d, nil
}

// fileError is a certificate file on the monitor's own host that can't be used.
type fileError struct {
	what, path string
	err        error
}

func (e *fileError) Error() string { return fmt.Sprintf("%s %s: %v", e.what, e.path, e.err) }
func (e *fileError) Unwrap() error { return e.err }

// setTLS builds the TLS configuration of MySQL's five modes.
func (d *dialed) setTLS(e monolith.Endpoint) error {
	mode := e.TLS
	if mode == "" {
		mode = "preferred"
		if e.Socket != "" {
			mode = "disabled" // a socket does not leave the machine
		}
	}
	if mode == "disabled" {
		return nil
	}
	// Servers up to MySQL 5.7 with yaSSL speak TLS 1.0 or 1.1 and only RSA key exchange. Where nobody asked
	// for more than MySQL's own clients of that time give, an old cipher is better than none.
	c := &tls.Config{ServerName: e.ServerName, InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
	if c.ServerName == "" {
		c.ServerName = e.Host
	}
	if mode == "preferred" {
		c.MinVersion = tls.VersionTLS10
		c.CipherSuites = allCiphers()
		d.config.AllowFallbackToPlaintext = true
	}
	if e.CA != "" {
		pem, err := os.ReadFile(e.CA)
		if err != nil {
			return &fileError{"the CA file", e.CA, errors.Unwrap(err)}
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return &fileError{"the CA file", e.CA, errors.New("it holds no PEM certificate")}
		}
	}
	if e.Cert != "" {
		pair, err := tls.LoadX509KeyPair(e.Cert, e.Key)
		if err != nil {
			return &fileError{"the client certificate", e.Cert, errors.New("it or its key can't be read, or they do not belong together")}
		}
		c.Certificates = []tls.Certificate{pair}
	}
	// The check is made by hand, so that verify_ca is possible and a refused certificate can be explained.
	name := c.ServerName
	c.VerifyConnection = func(s tls.ConnectionState) error {
		d.tls = &s
		if mode != "verify_ca" && mode != "verify_identity" {
			return nil
		}
		if len(s.PeerCertificates) == 0 {
			return errors.New("the server sent no certificate")
		}
		opts := x509.VerifyOptions{Roots: c.RootCAs, Intermediates: x509.NewCertPool()}
		for _, cert := range s.PeerCertificates[1:] {
			opts.Intermediates.AddCert(cert)
		}
		if mode == "verify_identity" {
			opts.DNSName = name
		}
		_, err := s.PeerCertificates[0].Verify(opts)
		return err
	}
	// A clear-text password (PAM, LDAP, cloud tokens) goes only to a server that proved who it is.
	d.config.AllowCleartextPasswords = mode == "verify_ca" || mode == "verify_identity"
	d.config.TLS = c
	return nil
}

// allCiphers lists also the suites that Go keeps for compatibility only.
func allCiphers() []uint16 {
	var ids []uint16
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		ids = append(ids, s.ID)
	}
	return ids
}

// describeTLS says how the connection is protected.
func (d *dialed) describeTLS(e monolith.Endpoint) string {
	if d.tls == nil {
		if e.Socket != "" {
			return "not encrypted (local socket)"
		}
		return "not encrypted"
	}
	text := tls.VersionName(d.tls.Version)
	switch e.TLS {
	case "verify_ca":
		return text + ", certificate signed by the given authority"
	case "verify_identity":
		return text + ", certificate and name checked"
	}
	return text + ", certificate not checked"
}

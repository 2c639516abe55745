package poller

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith"
	"monolith/internal/mysqltest"
)

func serverError(number uint16, message string) error {
	return &mysql.MySQLError{Number: number, Message: message}
}

// Every error has its kind, says whether the server is up, and names what mends it.
func TestExplain(t *testing.T) {
	t.Parallel()
	e := monolith.Endpoint{Host: "db1", Port: 3307, User: "mon", Password: "canary-pw"}
	connecting := func(err error) error { return &connectError{err: err, endpoint: e, dialed: &dialed{}} }
	inLogin := func(err error) error {
		return &connectError{err: err, endpoint: e, dialed: &dialed{conn: &limitedConn{}, plugin: "auth_weird"}}
	}
	op := func(err error) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)}
	}
	for _, c := range []struct {
		name string
		err  error
		kind monolith.ProblemKind
		up   bool
		says string // in the text
		cure string // in the cure
	}{
		{"unknown name", connecting(&net.DNSError{Err: "no such host", Name: "db1", IsNotFound: true}), monolith.ProblemUnreachable, false, "name db1 is not known", "DNS"},
		{"name server silent", connecting(&net.DNSError{Err: "timeout", Name: "db1", IsTimeout: true}), monolith.ProblemUnreachable, false, "name server does not answer", "DNS"},
		{"refused", connecting(op(syscall.ECONNREFUSED)), monolith.ProblemUnreachable, false, "db1:3307 refuses", "bind_address"},
		{"no route", connecting(op(syscall.EHOSTUNREACH)), monolith.ProblemUnreachable, false, "no route", "network"},
		{"reset", connecting(op(syscall.ECONNRESET)), monolith.ProblemUnreachable, false, "reset", "firewall"},
		{"packets dropped", connecting(context.DeadlineExceeded), monolith.ProblemTimeout, false, "no connection to db1:3307 within 5s", "firewall"},
		{"packets dropped, polled often", connecting(&timeoutError{"the poll", 1800 * time.Millisecond}), monolith.ProblemTimeout, false, "no connection to db1:3307 within 1.8s", "firewall"},
		{"says nothing", inLogin(&timeoutError{"the poll", 9 * time.Second}), monolith.ProblemTimeout, false, "says nothing", "mysqld"},
		{"closes at once", inLogin(mysql.ErrInvalidConn), monolith.ProblemUnreachable, false, "closed it during the login", "error log"},
		{"no TLS there", inLogin(mysql.ErrNoTLS), monolith.ProblemRefused, true, "does not offer TLS", "ssl_cert"},
		{"TLS version", inLogin(tls.AlertError(70)), monolith.ProblemRefused, true, "TLS with the server failed", "tls_version"},
		{"unknown plug-in", inLogin(mysql.ErrUnknownPlugin), monolith.ProblemRefused, true, "auth_weird", "IDENTIFIED WITH"},
		{"old password", inLogin(mysql.ErrOldPassword), monolith.ProblemRefused, true, "mysql_old_password", "old_passwords"},
		{"clear text", inLogin(mysql.ErrCleartextPassword), monolith.ProblemRefused, true, "clear text", "verify_identity"},
		{"sha2 without key", inLogin(errors.New("no pem data found, data: x")), monolith.ProblemRefused, true, "caching_sha2_password", "TLS"},
		{"another protocol", inLogin(fmt.Errorf("%w: index out of range", errNonsense)), monolith.ProblemAnswer, false, "does not speak", "33060"},

		{"full", connecting(serverError(1040, "Too many connections")), monolith.ProblemRefused, true, "up and full", "max_connections"},
		{"wrong password", connecting(serverError(1045, "Access denied for user 'mon'@'10.0.0.7' (using password: YES)")), monolith.ProblemRefused, true, "'mon'@'10.0.0.7'", "check user and password"},
		{"no password", connecting(serverError(1045, "Access denied for user 'mon'@'10.0.0.7' (using password: NO)")), monolith.ProblemRefused, true, "'mon'@'10.0.0.7'", "no password was given"},
		{"localhost is three", connecting(serverError(1045, "Access denied for user 'mon'@'127.0.0.1' (using password: YES)")), monolith.ProblemRefused, true, "127.0.0.1", "skip_name_resolve"},
		{"blocked", connecting(serverError(1129, "Host '10.0.0.7' is blocked because of many connection errors")), monolith.ProblemRefused, true, "blocks the host", "host_cache"},
		{"host not allowed", connecting(serverError(1130, "Host '10.0.0.7' is not allowed to connect")), monolith.ProblemRefused, true, "10.0.0.7", "CREATE USER"},
		{"limit used up", connecting(serverError(1226, "User 'mon' has exceeded the 'max_user_connections' resource")), monolith.ProblemRefused, true, "max_user_connections", "MAX_USER_CONNECTIONS"},
		{"offline", connecting(serverError(3032, "The server is currently in offline mode")), monolith.ProblemRefused, true, "offline mode", "offline_mode=OFF"},
		{"wants TLS", connecting(serverError(3159, "insecure transport")), monolith.ProblemRefused, true, "encrypted connections only", "required"},
		{"expired password", connecting(serverError(1862, "Your password has expired")), monolith.ProblemRefused, true, "expired", "PASSWORD EXPIRE NEVER"},
		{"starting up", connecting(serverError(1053, "Server shutdown in progress")), monolith.ProblemUnreachable, true, "shutting down", ""},
		{"echo", connecting(serverError(9999, "you said canary-pw")), monolith.ProblemAnswer, true, "you said •••", ""},

		{"privilege", serverError(1227, "Access denied; you need (at least one of) the PROCESS privilege(s)"), monolith.ProblemPrivilege, true, "PROCESS", "GRANT PROCESS ON *.* TO 'mon'@'%';"},
		{"table privilege", serverError(1142, "SELECT command denied to user 'mon'@'%' for table 'user'"), monolith.ProblemPrivilege, true, "SELECT", "GRANT"},
		{"schema privilege", serverError(1044, "Access denied for user"), monolith.ProblemPrivilege, true, "denied", "GRANT"},
		{"lock wait", serverError(1205, "Lock wait timeout exceeded"), monolith.ProblemTimeout, true, "two seconds", "DDL"},
		{"max_execution_time", serverError(3024, "Query execution was interrupted"), monolith.ProblemTimeout, true, "took too long", "less often"},
		{"max_statement_time", serverError(1969, "Query execution was interrupted"), monolith.ProblemTimeout, true, "took too long", "less often"},
		{"unknown statement", serverError(1064, "You have an error"), monolith.ProblemUnsupported, true, "does not know", ""},
		{"timeout", fmt.Errorf("collect: %w", &timeoutError{"Global status", 3 * time.Second}), monolith.ProblemTimeout, false, "no answer to Global status within 3s", "PROCESSLIST"},
		{"cut off", errLost, monolith.ProblemUnreachable, false, "in the middle", "error log"},
		{"mid-row EOF", io.ErrUnexpectedEOF, monolith.ProblemUnreachable, false, "in the middle", "error log"},
		{"too large", errTooLarge, monolith.ProblemAnswer, true, "larger than allowed", "off"},
		{"busy", &busyError{time.Second}, monolith.ProblemTimeout, true, "another statement", "schedule"},
	} {
		p, up := explain(c.err, scene{endpoint: e, grant: "GRANT PROCESS ON *.* TO 'mon'@'%';"})
		if p.Kind != c.kind || up != c.up || !strings.Contains(p.Text, c.says) || !strings.Contains(p.Cure, c.cure) {
			t.Errorf("%s: up %v, %+v", c.name, up, p)
		}
		if strings.Contains(p.Text+p.Cure, "canary-pw") {
			t.Errorf("%s: the password is in %+v", c.name, p)
		}
		var server *mysql.MySQLError
		if errors.As(c.err, &server) && p.Code != int(server.Number) {
			t.Errorf("%s: code %d", c.name, p.Code)
		}
	}
}

// certificate makes a key pair in a folder, signed by itself or by another one.
func certificate(tb testing.TB, dir, name string, change func(*x509.Certificate), ca *tls.Certificate) (certFile, keyFile string, pair tls.Certificate) {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		BasicConstraintsValid: true, DNSNames: []string{name},
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	change(c)
	parent, signer := c, any(key)
	if ca != nil {
		parent, signer = ca.Leaf, ca.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		tb.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		tb.Fatal(err)
	}
	certFile, keyFile = filepath.Join(dir, name+".pem"), filepath.Join(dir, name+"-key.pem")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	if pair, err = tls.LoadX509KeyPair(certFile, keyFile); err != nil {
		tb.Fatal(err)
	}
	return certFile, keyFile, pair
}

// TLS against a real server: each mode with a good certificate, one of another name and one that expired.
func TestTLSModes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	caFile, _, ca := certificate(t, dir, "ca", func(c *x509.Certificate) { c.IsCA = true }, nil)
	goodCert, goodKey, _ := certificate(t, dir, "good", func(c *x509.Certificate) { c.DNSNames = []string{"db.example"} }, &ca)
	ended := time.Now().Add(-24 * time.Hour)
	oldCert, oldKey, _ := certificate(t, dir, "old", func(c *x509.Certificate) { c.NotAfter = ended; c.DNSNames = []string{"db.example"} }, &ca)
	ownCert, ownKey, _ := certificate(t, dir, "monolith", func(*x509.Certificate) {}, &ca)
	good := mysqltest.MariaDB(t, mysqltest.Options("ssl_cert="+goodCert, "ssl_key="+goodKey, "ssl_ca="+caFile))
	old := mysqltest.MariaDB(t, mysqltest.Options("ssl_cert="+oldCert, "ssl_key="+oldKey))
	p, err := New(Config{Collectors: []*Collector{statusCollector()}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, mode, ca, serverName string
		db                         *mysqltest.Server
		fails                      string // what the failed step says; "" when it works
		tls                        string // what the report says of the encryption
	}{
		{"preferred", "", "", "", good, "", "certificate not checked"},
		{"disabled", "disabled", "", "", good, "", "not encrypted"},
		{"required", "required", "", "", good, "", "certificate not checked"},
		{"required, expired", "required", "", "", old, "", "certificate not checked"},
		{"verify_ca", "verify_ca", caFile, "", good, "", "given authority"},
		{"verify_ca, unknown", "verify_ca", "", "", good, "authority that is not known", ""},
		{"verify_identity", "verify_identity", caFile, "db.example", good, "", "name checked"},
		{"verify_identity, other name", "verify_identity", caFile, "", good, "another name", ""},
		{"verify_ca, expired", "verify_ca", caFile, "", old, "expired on " + ended.UTC().Format("Mon, 02 Jan 2006"), ""},
		{"no such CA file", "verify_ca", filepath.Join(dir, "none.pem"), "", good, "none.pem", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			user, password := c.db.NewUser(t)
			e := monolith.Endpoint{Host: c.db.Host, Port: c.db.Port, User: user, Password: monolith.Secret(password), TLS: c.mode, CA: c.ca, ServerName: c.serverName}
			report := p.Test(t.Context(), monolith.Server{Endpoint: e})
			said := ""
			for _, s := range report.Steps {
				if s.Result == monolith.StepFailed {
					said += s.Text
				}
			}
			if report.OK != (c.fails == "") || !strings.Contains(said, c.fails) || !strings.Contains(report.TLS, c.tls) {
				t.Errorf("ok %v, TLS %q, steps %+v", report.OK, report.TLS, report.Steps)
			}
		})
	}
	// An account that is let in by its certificate.
	user, password := good.NewUser(t)
	good.Exec(t, "ALTER USER '"+user+"'@'%' REQUIRE X509")
	e := monolith.Endpoint{Host: good.Host, Port: good.Port, User: user, Password: monolith.Secret(password), TLS: "verify_ca", CA: caFile}
	if report := p.Test(t.Context(), monolith.Server{Endpoint: e}); report.OK || !report.Up {
		t.Errorf("without a certificate: %+v", report)
	}
	if e.Cert, e.Key = ownCert, goodKey; p.Test(t.Context(), monolith.Server{Endpoint: e}).OK {
		t.Error("another one's key is taken for the certificate's")
	}
	e.Key = ownKey
	if report := p.Test(t.Context(), monolith.Server{Endpoint: e}); !report.OK {
		t.Errorf("with its certificate: %+v", report)
	}
}

// Where TLS is offered but can't be spoken, "preferred" goes on without, and "required" says what is wrong.
func TestTLSFallback(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cert, key, _ := certificate(t, dir, "any", func(*x509.Certificate) {}, nil)
	db := mysqltest.MariaDB(t, mysqltest.Options("ssl_cert="+cert, "ssl_key="+key))
	user, password := db.NewUser(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go spoilTLS(client, net.JoinHostPort(db.Host, fmt.Sprint(db.Port)))
		}
	}()
	p, err := New(Config{Collectors: []*Collector{statusCollector()}})
	if err != nil {
		t.Fatal(err)
	}
	e := monolith.Endpoint{Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port, User: user, Password: monolith.Secret(password)}
	if report := p.Test(t.Context(), monolith.Server{Endpoint: e}); !report.OK || report.TLS != "not encrypted" {
		t.Errorf("preferred: %+v", report)
	}
	e.TLS = "required"
	report := p.Test(t.Context(), monolith.Server{Endpoint: e})
	if report.OK || !report.Up {
		t.Errorf("required: ok %v, up %v", report.OK, report.Up)
	}
	for _, s := range report.Steps {
		if (s.Name == "tls") != (s.Result == monolith.StepFailed) {
			t.Errorf("required: %+v", s)
		}
	}
}

// spoilTLS is a way to a server on which every TLS handshake ends with an alert.
func spoilTLS(client net.Conn, server string) {
	defer client.Close()
	up, err := net.Dial("tcp", server)
	if err != nil {
		return
	}
	defer up.Close()
	go io.Copy(client, up)
	buf := make([]byte, 4096)
	for first := true; ; first = false {
		n, err := client.Read(buf)
		if err != nil {
			return
		}
		if first && n >= 36 && buf[0] == 32 { // what asks for TLS has 32 bytes and a header
			if n == 36 {
				client.Read(buf)
			}
			client.Write([]byte{21, 3, 3, 0, 2, 2, 70}) // fatal alert: protocol version
			return
		}
		if _, err := up.Write(buf[:n]); err != nil {
			return
		}
	}
}

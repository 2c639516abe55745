package poller

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"monolith"
)

// scene is what is known where an error happened; the more of it, the better the words.
type scene struct {
	endpoint monolith.Endpoint
	identity monolith.Identity
	account  string // quoted for SQL; "" while unknown
	grant    string // the statement that gives the running collector its rights; "" when it needs none
	// skipsNames says that the server compares addresses only (skip_name_resolve).
	skipsNames bool
	host       bool // a collector of the host, not of the database
	now        time.Time
}

// explain says in plain words what an error of a connection or statement means and what mends it. up is
// true when the error came from a living server: being turned away is not being down. No password is
// ever part of the words.
func explain(err error, at scene) (p monolith.Problem, up bool) {
	var connect *connectError
	if errors.As(err, &connect) {
		p, up = explainConnect(connect, at)
	} else {
		p, up = explainStatement(err, at)
	}
	p.Text, p.Cure = hidePassword(printable(p.Text), at.endpoint), hidePassword(p.Cure, at.endpoint)
	return p, up
}

// hidePassword is a second lock: no text is built from the password, but servers put strange things
// into their messages.
func hidePassword(text string, e monolith.Endpoint) string {
	if secret := e.Password.Reveal(); len(secret) >= 4 && secret != e.User {
		return strings.ReplaceAll(text, secret, e.Password.String())
	}
	return text
}

func problem(kind monolith.ProblemKind, text, cure string) monolith.Problem {
	return monolith.Problem{Kind: kind, Text: text, Cure: cure}
}

// explainStatement is for errors on a connection that had been made.
func explainStatement(err error, at scene) (monolith.Problem, bool) {
	var answered *mysql.MySQLError
	var late *timeoutError
	var busy *busyError
	switch {
	case errors.As(err, &answered):
		return explainServer(answered, at), true
	case errors.As(err, &late) && at.host:
		return problem(monolith.ProblemTimeout, "there was "+late.Error(), "look for a file system or device of the host that does not answer"), false
	case errors.As(err, &late):
		return problem(monolith.ProblemTimeout, "there was "+late.Error(),
			"look at SHOW PROCESSLIST for what it waits for; Monolith ends its own statement and asks less often until it works again"), false
	case errors.As(err, &busy):
		return problem(monolith.ProblemTimeout, busy.Error(), "it passes when that statement ends; give slow collectors a quieter schedule if it comes often"), true
	case errors.Is(err, errTooLarge):
		return problem(monolith.ProblemAnswer, "the answer was larger than allowed and was cut off",
			"switch the collector off for this server, or find out what makes its answer so large"), true
	case errors.Is(err, errNonsense):
		return problem(monolith.ProblemAnswer, "the answer could not be understood", "check that address and port lead to a MySQL or MariaDB server"), false
	case errors.Is(err, errLost), errors.Is(err, driverGone), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return problem(monolith.ProblemUnreachable, "the server closed the connection in the middle of an answer",
			"look into the server's error log: it restarted, or something between ends connections"), false
	case errors.Is(err, context.DeadlineExceeded):
		return problem(monolith.ProblemTimeout, "there was no answer in time", ""), false
	}
	var network net.Error
	if errors.As(err, &network) {
		return explainNetwork(err, at)
	}
	return problem(monolith.ProblemAnswer, cut(err.Error(), 300), ""), true
}

// driverGone is the driver's word for a connection that ended.
var driverGone = mysql.ErrInvalidConn

// explainConnect is for errors on the way to a connection that works.
func explainConnect(e *connectError, at scene) (monolith.Problem, bool) {
	address := e.endpoint.Address()
	var file *fileError
	var answered *mysql.MySQLError
	if p, ok := explainOurs(e.err); ok {
		return p, false
	}
	switch {
	case errors.As(e.err, &file):
		return problem(monolith.ProblemOff, file.Error(), "give a readable PEM file on the host where Monolith runs"), false
	case errors.As(e.err, &answered):
		return explainServer(answered, at), true
	}
	if p, up, ok := explainTLS(e, at); ok {
		return p, up
	}
	if p, ok := explainAuth(e); ok {
		return p, true
	}
	var late *timeoutError
	timedOut := errors.As(e.err, &late) || errors.Is(e.err, context.DeadlineExceeded)
	var network net.Error
	switch {
	case errors.Is(e.err, errTooLarge), errors.Is(e.err, errNonsense), isPanicText(e.err):
		return problem(monolith.ProblemAnswer, "what answers at "+address+" does not speak MySQL's protocol",
			"check the port: 3306 is the classic protocol, 33060 the X protocol, which is another"), false
	case timedOut && e.dialed.conn != nil:
		return problem(monolith.ProblemTimeout, address+" accepts connections but says nothing",
			"the server hangs, it is a proxy without a server behind it, or the port is not a MySQL server's; look at the host: is mysqld stopped, swapping, or waiting for its disk?"), false
	case timedOut, errors.As(e.err, &network) && network.Timeout() && !isDNS(e.err):
		within := dialTimeout
		if late != nil && late.after > 0 {
			within = min(within, late.after) // the poll's time was over before
		}
		return problem(monolith.ProblemTimeout, "no connection to "+address+" within "+shortDuration(within),
			"a firewall drops packets, or the host is off or the address wrong"), false
	case errors.Is(e.err, errLost), errors.Is(e.err, driverGone), errors.Is(e.err, io.EOF), errors.Is(e.err, io.ErrUnexpectedEOF):
		return problem(monolith.ProblemUnreachable, address+" accepted the connection and closed it during the login",
			"the server is starting or stopping, or something else listens there; look into the server's error log"), false
	}
	return explainNetwork(e.err, scene{endpoint: e.endpoint})
}

// explainOurs is for what the machine that Monolith runs on refuses it. It says nothing about the server.
func explainOurs(err error) (monolith.Problem, bool) {
	switch {
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return problem(monolith.ProblemMonitor, "Monolith can't open a connection: its limit of open files is reached",
			"raise it (LimitNOFILE in the service's unit, ulimit -n): each server takes one, each open page some"), true
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return problem(monolith.ProblemMonitor, "Monolith can't open a connection: its machine has no free port or no address for it",
			"look at net.ipv4.ip_local_port_range and for programs there that hold many connections"), true
	case errors.Is(err, syscall.ENOBUFS), errors.Is(err, syscall.ENOMEM):
		return problem(monolith.ProblemMonitor, "Monolith can't open a connection: its machine has no memory left for one", "look at the memory of the host where Monolith runs"), true
	}
	return monolith.Problem{}, false
}

func isDNS(err error) bool {
	var dns *net.DNSError
	return errors.As(err, &dns)
}

// isPanicText recognises the driver's own words for a greeting that is none.
func isPanicText(err error) bool {
	return errors.Is(err, mysql.ErrMalformPkt) || errors.Is(err, mysql.ErrPktSync) || errors.Is(err, mysql.ErrPktSyncMul) ||
		errors.Is(err, mysql.ErrOldProtocol) || strings.HasPrefix(err.Error(), "unsupported protocol version")
}

func explainNetwork(err error, at scene) (monolith.Problem, bool) {
	address := at.endpoint.Address()
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return problem(monolith.ProblemUnreachable, fmt.Sprintf("the name %s is not known", at.endpoint.Host),
			"check the spelling, or ask your DNS: the name must be known on the host where Monolith runs"), false
	case errors.As(err, &dns):
		return problem(monolith.ProblemUnreachable, fmt.Sprintf("the name %s can't be looked up: the name server does not answer", at.endpoint.Host),
			"mend DNS on the host where Monolith runs, or use the address"), false
	case errors.Is(err, syscall.ECONNREFUSED) && at.endpoint.Socket != "":
		return problem(monolith.ProblemUnreachable, "nothing listens on the socket "+address, "start the server: the socket is left over from an earlier run"), false
	case errors.Is(err, syscall.ECONNREFUSED):
		return problem(monolith.ProblemUnreachable, address+" refuses connections: no server listens there",
			"start the server, or check port, bind_address and skip_networking"), false
	case errors.Is(err, os.ErrNotExist):
		return problem(monolith.ProblemUnreachable, "there is no socket "+address, "start the server, or take the path from its variable socket"), false
	case errors.Is(err, os.ErrPermission):
		return problem(monolith.ProblemUnreachable, "Monolith may not open "+address, "give the user that Monolith runs as access to the socket's folder"), false
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return problem(monolith.ProblemUnreachable, "there is no route to "+address, "check the network between Monolith and the server"), false
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return problem(monolith.ProblemUnreachable, address+" reset the connection", "the server was stopped, or a firewall ended the connection"), false
	}
	return problem(monolith.ProblemUnreachable, "no connection to "+address+": "+cut(err.Error(), 200), ""), false
}

// isHandshakeError reports whether TLS itself failed, before any word of MySQL was said in it.
func isHandshakeError(err error) bool {
	var alert tls.AlertError
	var record tls.RecordHeaderError
	return errors.As(err, &alert) || errors.As(err, &record) || strings.HasPrefix(err.Error(), "tls: ") ||
		strings.HasPrefix(err.Error(), "remote error: tls")
}

// explainTLS is for certificates and versions.
func explainTLS(e *connectError, at scene) (p monolith.Problem, up, ok bool) {
	kind := monolith.ProblemRefused
	var invalid x509.CertificateInvalidError
	var name x509.HostnameError
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.Is(e.err, mysql.ErrNoTLS):
		return problem(kind, "the server does not offer TLS, and this server's TLS mode asks for it",
			"set up TLS on the server (ssl_cert, ssl_key; have_ssl must be YES), or choose the TLS mode preferred"), true, true
	case errors.As(e.err, &invalid) && invalid.Reason == x509.Expired:
		c := invalid.Cert
		if at.now.Before(c.NotBefore) {
			return problem(kind, "the server's certificate is not valid before "+c.NotBefore.UTC().Format(time.RFC1123),
				"check the clocks of both hosts"), true, true
		}
		return problem(kind, "the server's certificate expired on "+c.NotAfter.UTC().Format(time.RFC1123),
			"renew it; ALTER INSTANCE RELOAD TLS (MySQL ≥ 8.0.16) or FLUSH SSL (MariaDB ≥ 10.4) loads it without a restart"), true, true
	case errors.As(e.err, &invalid):
		return problem(kind, "the server's certificate can't be used: "+invalid.Error(), "give the server a certificate made for servers"), true, true
	case errors.As(e.err, &name):
		return problem(kind, "the server's certificate is for another name: "+cut(name.Error(), 300),
			"connect by a name in the certificate, set the TLS server name, or choose the TLS mode verify_ca"), true, true
	case errors.As(e.err, &unknown):
		return problem(kind, "the server's certificate is signed by an authority that is not known here",
			"give the authority's certificate as CA file (MySQL's own is ca.pem in its data folder), or choose the TLS mode required"), true, true
	case isHandshakeError(e.err):
		return problem(kind, "TLS with the server failed: "+cut(e.err.Error(), 200),
			"the server may speak only TLS versions or ciphers that are no longer accepted (see its tls_version); preferred and disabled do without"), true, true
	}
	return p, false, false
}

// explainAuth is for ways of logging in that the driver does not know or we do not allow.
func explainAuth(e *connectError) (monolith.Problem, bool) {
	native := "ALTER USER … IDENTIFIED WITH caching_sha2_password (MySQL ≥ 8.0), mysql_native_password or, on MariaDB, ed25519"
	switch {
	case errors.Is(e.err, mysql.ErrUnknownPlugin):
		plugin := "of an unknown name"
		if e.dialed.plugin != "" {
			plugin = e.dialed.plugin
		}
		return problem(monolith.ProblemRefused, "the account uses the authentication plug-in "+plugin+", which Monolith does not support",
			"give the monitoring account another one: "+native), true
	case errors.Is(e.err, mysql.ErrOldPassword):
		return problem(monolith.ProblemRefused, "the account still has a password of the form from before MySQL 4.1 (mysql_old_password), which can be read on the wire",
			"SET SESSION old_passwords=0; SET PASSWORD FOR the account anew"), true
	case errors.Is(e.err, mysql.ErrCleartextPassword):
		return problem(monolith.ProblemRefused, "the account's plug-in wants the password in clear text (PAM, LDAP, cloud token)",
			"choose the TLS mode verify_ca or verify_identity: only a server that proved who it is may see it"), true
	case errors.Is(e.err, mysql.ErrNativePassword):
		return problem(monolith.ProblemRefused, "the account uses mysql_native_password, which is switched off", native), true
	case strings.Contains(e.err.Error(), "caching_sha2_password"), strings.Contains(e.err.Error(), "pem data"), strings.Contains(e.err.Error(), "Pem data"):
		return problem(monolith.ProblemRefused, "the server gave no key to encrypt the password with (caching_sha2_password or sha256_password without TLS)",
			"switch TLS on, or set caching_sha2_password_private_key_path and its public counterpart"), true
	}
	return monolith.Problem{}, false
}

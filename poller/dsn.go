package poller

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-sql-driver/mysql"

	"monolith"
)

// dsnForm is shown to whoever wrote a DSN that can't be read.
const dsnForm = "user:password@tcp(host:3306)/ or user:password@unix(/path/to/socket)/"

// ParseDSN reads go-sql-driver's form of a data source name into fields:
//
//	user:password@tcp(host:3306)/?tls=preferred
//	user:password@unix(/run/mysqld/mysqld.sock)/
//
// A password may hold every character as it is: the last @ before the last / ends it. So a / in a
// parameter must be written %2F. A schema name is accepted and ignored. The parameter tls takes the driver's words (false, preferred, skip-verify, true) and MySQL's
// (disabled, required, verify_ca, verify_identity); ca, cert, key and tls_server_name go with it. Every other
// parameter is refused, since the poller sets its own. Errors are [monolith.InvalidError]s and never
// hold the password.
func ParseDSN(dsn string) (monolith.Endpoint, error) {
	if dsn == "" {
		return monolith.Endpoint{}, monolith.Invalid("dsn", "there is none", dsnForm)
	}
	head, query := dsn, ""
	if slash := strings.LastIndexByte(dsn, '/'); slash >= 0 {
		if mark := strings.IndexByte(dsn[slash:], '?'); mark >= 0 {
			head, query = dsn[:slash+mark], dsn[slash+mark+1:]
		}
	}
	cfg, err := mysql.ParseDSN(head)
	if err != nil {
		// The driver's error may quote a part of the DSN, and so of the password.
		return monolith.Endpoint{}, monolith.Invalid("dsn", "this is not a data source name", dsnForm+"; in a parameter write / as %2F")
	}
	e := monolith.Endpoint{User: cfg.User, Password: monolith.Secret(cfg.Passwd)}
	switch cfg.Net {
	case "tcp", "tcp4", "tcp6":
		if e.Host, e.Port, err = splitAddress(cfg.Addr); err != nil {
			return monolith.Endpoint{}, err
		}
	case "unix":
		e.Socket = cfg.Addr
	default:
		return monolith.Endpoint{}, monolith.Invalid("dsn", "the network is neither tcp nor unix", dsnForm)
	}
	if err := dsnParams(&e, query); err != nil {
		return monolith.Endpoint{}, err
	}
	check := monolith.Server{Name: "dsn", Endpoint: e}
	if err := check.Validate(); err != nil {
		return monolith.Endpoint{}, err
	}
	return e, nil
}

// splitAddress divides "host:port", "[::1]:3307", "[::1]" and a bare "::1" or "host".
func splitAddress(addr string) (host string, port int, err error) {
	// The driver adds a port to what has none, with a second pair of brackets around what has one.
	addr = strings.NewReplacer("[[", "[", "]]", "]").Replace(addr)
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, monolith.Invalid("dsn", "the address is not a host and a port", dsnForm)
	}
	port, err = strconv.Atoi(p)
	if err != nil || port < 1 || port > 65535 {
		return "", 0, monolith.Invalid("dsn", "the port is not a number from 1 to 65535", dsnForm)
	}
	if port == 3306 {
		port = 0
	}
	return host, port, nil
}

// tlsWord turns the driver's words into those of MySQL's clients.
func tlsWord(word string) (string, bool) {
	switch strings.ToLower(word) {
	case "false", "0", "disabled":
		return "disabled", true
	case "preferred":
		return "preferred", true
	case "skip-verify", "required":
		return "required", true
	case "verify_ca", "verify-ca":
		return "verify_ca", true
	case "true", "1", "verify_identity", "verify-identity", "verify-full":
		return "verify_identity", true
	}
	return "", false
}

func dsnParams(e *monolith.Endpoint, query string) error {
	if query == "" {
		return nil
	}
	for pair := range strings.SplitSeq(query, "&") {
		if pair == "" {
			continue
		}
		key, raw, _ := strings.Cut(pair, "=")
		value, err := url.QueryUnescape(raw)
		if err != nil {
			return monolith.Invalid("dsn", "a parameter holds a % that begins no escape", "write % as %25")
		}
		switch key {
		case "tls":
			mode, ok := tlsWord(value)
			if !ok {
				return monolith.Invalid("dsn", "the parameter tls has an unknown value", "one of "+strings.Join(monolith.TLSModes, ", "))
			}
			e.TLS = mode
		case "ca":
			e.CA = value
		case "cert":
			e.Cert = value
		case "key":
			e.Key = value
		case "tls_server_name":
			e.ServerName = value
		case "charset", "collation", "timeout", "readTimeout", "writeTimeout", "interpolateParams", "parseTime", "loc",
			"multiStatements", "checkConnLiveness", "allowNativePasswords", "maxAllowedPacket":
			// Common in DSNs copied from applications. The poller decides these itself.
		default:
			if len(key) > 40 || strings.ContainsAny(key, "@:/() ") {
				return monolith.Invalid("dsn", "what stands after the ? is not a list of parameters", dsnForm)
			}
			return monolith.Invalid("dsn", "unknown parameter "+strconv.Quote(key), "tls, ca, cert, key or tls_server_name")
		}
	}
	return nil
}

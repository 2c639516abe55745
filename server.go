package monolith

import (
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// ServerID identifies a watched server for ever: a rename, a new address or a moved server_uuid
// breaks no graph, since history is keyed by it.
type ServerID int64

// Server is a watched server as people set it up.
type Server struct {
	ID       ServerID `json:"-"`
	Name     string   `json:"name"`     // unique, free text
	Group    string   `json:"group"`    // path such as "acme/prod"; "" stands at the top
	Position int      `json:"position"` // order within its group, set by people
	Endpoint Endpoint `json:"endpoint"`

	Environment    string            `json:"environment,omitempty"` // dev, stage, prod or ""
	Role           string            `json:"role,omitempty"`        // expected: primary, replica or "" (whatever it is)
	Tags           []string          `json:"tags,omitempty"`
	RAM            int64             `json:"ram,omitempty"`             // bytes; 0: as the host source says
	ProbeAddresses []string          `json:"probe_addresses,omitempty"` // load balancers whose TCP checks look like failed logins
	BackupUsers    []string          `json:"backup_users,omitempty"`
	HeartbeatTable string            `json:"heartbeat_table,omitempty"` // schema.table
	TimeZone       string            `json:"time_zone,omitempty"`       // IANA name, for its schedules; "" is UTC
	Paused         bool              `json:"paused"`
	Host           string            `json:"host_source,omitempty"` // "" or "none", "local"; more to come
	KeepTexts      bool              `json:"keep_texts,omitempty"`  // do not mask literals in statement texts
	ScanSizes      bool              `json:"scan_sizes,omitempty"`  // scan sizes even while innodb_stats_on_metadata=ON
	Schedules      map[string]string `json:"schedules,omitempty"`   // schedule name → "@every 1s" or a cron expression; missing: the default
	CollectorsOff  []string          `json:"collectors_off,omitempty"`

	Created time.Time `json:"created"`
	Updated time.Time `json:"updated"`
}

// Endpoint is how a server is reached. Its parts are fields, never joined into a DSN by hand.
type Endpoint struct {
	Host     string `json:"host"`             // name or address; IPv6 without brackets
	Port     int    `json:"port"`             // 0 means 3306
	Socket   string `json:"socket,omitempty"` // path of a Unix socket; instead of Host and Port
	User     string `json:"user"`
	Password Secret `json:"password"`
	TLS      string `json:"tls,omitempty"` // see [TLSModes]; "" is preferred
	// CA, Cert and Key are paths of PEM files on the monitor's host; ServerName overrides the name that
	// the server's certificate must carry.
	CA         string `json:"ca,omitempty"`
	Cert       string `json:"cert,omitempty"`
	Key        string `json:"key,omitempty"`
	ServerName string `json:"tls_server_name,omitempty"`
}

// TLSModes are the values of [Endpoint.TLS], with MySQL's own words.
var TLSModes = []string{"disabled", "preferred", "required", "verify_ca", "verify_identity"}

// Address gives "host:port" with brackets where needed, or the socket's path.
func (e Endpoint) Address() string {
	if e.Socket != "" {
		return e.Socket
	}
	port := e.Port
	if port == 0 {
		port = 3306
	}
	return net.JoinHostPort(e.Host, strconv.Itoa(port))
}

// SameTarget reports whether two endpoints lead to the same place as the same user in the same way:
// if not, a password given for one must not be sent to the other.
func (e Endpoint) SameTarget(o Endpoint) bool {
	e.Password, o.Password = "", ""
	return e == o
}

// Secret is a text that must not be shown: it prints and marshals as whether it is set.
type Secret string

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "•••"
}

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// LogValue hides the secret from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText hides the secret from every encoder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Reveal gives the text. Only the code that logs in or seals calls it.
func (s Secret) Reveal() string { return string(s) }

// Group is a node of the tree that servers stand in: client → dev, stage, prod.
type Group struct {
	Path     string `json:"path"`     // "acme/prod"
	Position int    `json:"position"` // order among its siblings, set by people
	// Defaults are the attributes that servers of the group take when they set none themselves.
	Environment string            `json:"environment,omitempty"`
	TimeZone    string            `json:"time_zone,omitempty"`
	Schedules   map[string]string `json:"schedules,omitempty"`
}

// InGroup reports whether path is the group or lies below it. Every path lies below "".
func InGroup(path, group string) bool {
	return group == "" || path == group || strings.HasPrefix(path, group+"/")
}

// Validate checks what people can get wrong and gives an [InvalidError] naming the field.
func (s *Server) Validate() error {
	if err := CheckLabel("name", s.Name, 128); err != nil {
		return err
	}
	if s.Group != "" {
		for part := range strings.SplitSeq(s.Group, "/") {
			if err := CheckLabel("group", part, 64); err != nil {
				return err
			}
		}
		if utf8.RuneCountInString(s.Group) > 255 {
			return Invalid("group", "the path is longer than 255 characters")
		}
	}
	e := s.Endpoint
	switch {
	case e.Socket == "" && e.Host == "":
		return Invalid("endpoint.host", "there is neither a host nor a socket", "give one of them")
	case e.Socket != "" && e.Host != "":
		return Invalid("endpoint.socket", "there are both a host and a socket", "give one of them")
	case e.Port < 0 || e.Port > 65535:
		return Invalid("endpoint.port", "a port is a number from 1 to 65535")
	case strings.ContainsAny(e.Host, "[]/ \t\n") || strings.HasPrefix(e.Host, "-") || len(e.Host) > 255:
		return Invalid("endpoint.host", "a host is a name or an address without brackets, slashes or spaces")
	case strings.Contains(e.Host, ":") && !isIPv6(e.Host):
		return Invalid("endpoint.host", "a host has no colon unless it is an IPv6 address", "the port has a field of its own")
	case e.Socket != "" && !strings.HasPrefix(e.Socket, "/"):
		return Invalid("endpoint.socket", "the path of a socket begins with a slash")
	}
	if e.TLS != "" && !contains(TLSModes, e.TLS) {
		return Invalid("endpoint.tls", "unknown TLS mode "+strconv.Quote(e.TLS), "one of "+strings.Join(TLSModes, ", "))
	}
	if (e.Cert == "") != (e.Key == "") {
		return Invalid("endpoint.key", "a client certificate and its key go together")
	}
	if !contains([]string{"", "dev", "stage", "prod"}, s.Environment) {
		return Invalid("environment", "unknown environment "+strconv.Quote(s.Environment), "dev, stage, prod or empty")
	}
	if !contains([]string{"", "primary", "replica"}, s.Role) {
		return Invalid("role", "unknown role "+strconv.Quote(s.Role), "primary, replica or empty")
	}
	if !contains([]string{"", "none", "local"}, s.Host) {
		return Invalid("host_source", "unknown host source "+strconv.Quote(s.Host), "local, or none")
	}
	if s.RAM < 0 {
		return Invalid("ram", "memory can't be negative")
	}
	if s.HeartbeatTable != "" && strings.Count(s.HeartbeatTable, ".") != 1 {
		return Invalid("heartbeat_table", "a heartbeat table is written schema.table")
	}
	if len(s.Tags) > 50 {
		return Invalid("tags", "a server has at most 50 tags")
	}
	for _, tag := range s.Tags {
		if err := CheckLabel("tags", tag, 64); err != nil {
			return err
		}
	}
	for _, address := range s.ProbeAddresses {
		if !isHost(address) {
			return Invalid("probe_addresses", strconv.Quote(address)+" is neither a name nor an address")
		}
	}
	if _, err := time.LoadLocation(s.TimeZone); err != nil || s.TimeZone == "Local" {
		return Invalid("time_zone", "unknown time zone "+strconv.Quote(s.TimeZone), "an IANA name such as Europe/Berlin")
	}
	for name := range s.Schedules {
		if !contains(ScheduleNames, name) {
			return Invalid("schedules", "unknown schedule "+strconv.Quote(name), "one of "+strings.Join(ScheduleNames, ", "))
		}
	}
	return nil
}

// CheckLabel refuses names that could not be told apart, shown on one line or stand in an address. most is in characters, field
// what the [InvalidError] names.
func CheckLabel(field, s string, most int) error {
	switch {
	case s == "" || strings.TrimSpace(s) != s:
		return Invalid(field, "a name is not empty and neither begins nor ends with a space")
	case s == "." || s == "..":
		return Invalid(field, "a name of dots alone can't stand in an address")
	case !utf8.ValidString(s):
		return Invalid(field, "the name is not valid UTF-8")
	case utf8.RuneCountInString(s) > most:
		return Invalid(field, "the name is longer than "+strconv.Itoa(most)+" characters")
	}
	for _, r := range s {
		if Misleads(r) {
			return Invalid(field, "the name holds a control character, or one that turns the direction of writing")
		}
	}
	return nil
}

// Misleads reports whether a character has no place in a short text of people: a control character, or one that turns the direction of
// writing, so that a text reads as another one than it is.
func Misleads(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// isIPv6 reports whether a text is an IPv6 address, with or without a zone.
func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6()
}

// isHost reports whether a text can be a host name, an address or a network.
func isHost(s string) bool {
	if _, err := netip.ParsePrefix(s); err == nil || isIPv6(s) {
		return true
	}
	return s != "" && len(s) <= 255 && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' && r != '-' && r != '_'
	})
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

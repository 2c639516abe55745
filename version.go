package monolith

import (
	"cmp"
	"fmt"
	"strings"
)

// Flavour is the family a server belongs to. It is never inferred from the version number: MySQL
// went from 8.4 over 9.x to 26.7, MariaDB is at 12.3, and 5.5 exists in both.
type Flavour string

// The flavours. Percona and Aurora are also MySQL: see [Flavour.IsMySQL]. TiDB only speaks like one: it has neither
// InnoDB nor MySQL's replication, and versions of its own.
const (
	MySQL   Flavour = "mysql"
	MariaDB Flavour = "mariadb"
	Percona Flavour = "percona"
	Aurora  Flavour = "aurora"
	TiDB    Flavour = "tidb"
)

// IsMySQL reports whether the server descends from Oracle's MySQL (MySQL itself, Percona Server, Aurora).
func (f Flavour) IsMySQL() bool { return f == MySQL || f == Percona || f == Aurora }

// IsMariaDB reports whether the server is a MariaDB.
func (f Flavour) IsMariaDB() bool { return f == MariaDB }

// Version is major.minor.patch, compared as numbers. The zero Version means unknown.
type Version struct{ Major, Minor, Patch int }

// ParseVersion reads the first three numbers of a version text and ignores the rest, after removing
// the "5.5.5-" that MariaDB 10 puts before its own version for old replicas. Text without a leading
// number gives the zero Version: features are then found by probing.
func ParseVersion(s string) Version {
	s = strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(s, "5.5.5-"); ok && strings.Contains(strings.ToLower(rest), "mariadb") {
		s = rest
	}
	var part [3]int
	n, digits := 0, 0
	for i := 0; i < len(s) && n < 3; i++ {
		c := s[i]
		switch {
		case c >= '0' && c <= '9':
			if digits++; digits > 6 {
				return Version{}
			}
			part[n] = part[n]*10 + int(c-'0')
		case c == '.' && digits > 0:
			n, digits = n+1, 0
		default:
			i = len(s) // anything else ends the number
		}
	}
	return Version{part[0], part[1], part[2]}
}

// IsZero reports whether the version is unknown.
func (v Version) IsZero() bool { return v == Version{} }

// AtLeast reports whether v is the given version or a later one. Missing parts count as 0. An unknown
// version is at least nothing.
func (v Version) AtLeast(major int, rest ...int) bool {
	w := Version{Major: major}
	if len(rest) > 0 {
		w.Minor = rest[0]
	}
	if len(rest) > 1 {
		w.Patch = rest[1]
	}
	return !v.IsZero() && v.Compare(w) >= 0
}

// Compare gives −1, 0 or +1.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor), cmp.Compare(v.Patch, w.Patch))
}

// String gives "10.11.6", or "unknown".
func (v Version) String() string {
	if v.IsZero() {
		return "unknown"
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// Identity is what a connection learned about the server behind it. It is settled once a connection
// and again when Uptime fell.
type Identity struct {
	Flavour     Flavour `json:"flavour"`
	Version     Version `json:"-"`
	VersionText string  `json:"version"`           // as the server writes it, e.g. "10.11.6-MariaDB-log"
	Release     string  `json:"release,omitempty"` // Aurora's own, e.g. "3.04.0", where Version is that of the MySQL it is made from
	Comment     string  `json:"version_comment"`   // version_comment
	UUID        string  `json:"server_uuid"`       // server_uuid, MySQL ≥ 5.6; MariaDB has none: ""
	Hostname    string  `json:"hostname"`
	ServerID    uint32  `json:"server_id"` // replication server_id
	Port        int     `json:"port"`
	Galera      bool    `json:"galera,omitempty"` // wsrep_on=ON
	Cloud       string  `json:"cloud,omitempty"`  // "", rds, azure, cloudsql or tencent
}

// IsZero reports whether nothing was learned yet.
func (id Identity) IsZero() bool { return id.Flavour == "" }

// String gives "MariaDB 10.11.6", and for Aurora "Aurora MySQL 3.04.0 (8.0.28)".
func (id Identity) String() string {
	name := map[Flavour]string{MySQL: "MySQL", MariaDB: "MariaDB", Percona: "Percona Server", Aurora: "Aurora MySQL", TiDB: "TiDB"}[id.Flavour]
	switch {
	case name == "":
		return "unknown server"
	case id.Release != "":
		return name + " " + id.Release + " (" + id.Version.String() + ")"
	}
	return name + " " + id.Version.String()
}

// Identify applies the flavour rules to what the server says of itself; variables are those read so
// far, by lower-case name. First match wins: "MariaDB" in version or version_comment, aurora_version or
// "aurora" in version, "TiDB" in version, "Percona" in version_comment, else MySQL.
func Identify(variables map[string]string) Identity {
	id := Identity{
		VersionText: variables["version"],
		Comment:     variables["version_comment"],
		UUID:        variables["server_uuid"],
		Hostname:    variables["hostname"],
		Galera:      variables["wsrep_on"] == "ON" || variables["wsrep_on"] == "1",
	}
	fmt.Sscan(variables["server_id"], &id.ServerID)
	fmt.Sscan(variables["port"], &id.Port)
	id.Version = ParseVersion(id.VersionText)
	_, aurora := variables["aurora_version"]
	switch {
	case containsFold(id.VersionText, "mariadb"), containsFold(id.Comment, "mariadb"):
		id.Flavour = MariaDB
	case aurora, containsFold(id.VersionText, "aurora"):
		id.Flavour = Aurora
		id.identifyAurora(variables)
	case containsFold(id.VersionText, "tidb"):
		id.Flavour = TiDB
		_, own, _ := strings.Cut(strings.ToLower(id.VersionText), "tidb-v") // 8.0.11-TiDB-v7.5.0: what stands first is what it imitates
		id.Version = ParseVersion(own)
	case containsFold(id.Comment, "percona"), containsFold(id.VersionText, "percona"):
		id.Flavour = Percona
	default:
		id.Flavour = MySQL
	}
	id.Cloud = cloudOf(id, variables)
	return id
}

// identifyAurora tells Aurora's own version from MySQL's. The variable version may hold both, "8.0.mysql_aurora.3.02.2",
// with no third part of MySQL's; innodb_version has it.
func (id *Identity) identifyAurora(variables map[string]string) {
	_, own, joined := strings.Cut(strings.ToLower(id.VersionText), "mysql_aurora.")
	id.Release = cmp.Or(variables["aurora_version"], own)
	inner := ParseVersion(variables["innodb_version"])
	if joined && inner.Major == id.Version.Major && inner.Minor == id.Version.Minor {
		id.Version = inner
	}
}

// cloudOf names the service that runs the server, or "".
func cloudOf(id Identity, variables map[string]string) string {
	for name := range variables {
		if strings.HasPrefix(name, "cloudsql") {
			return "cloudsql"
		}
	}
	switch {
	case containsFold(id.VersionText, "-google"), containsFold(id.Comment, "(google)"):
		return "cloudsql"
	case strings.HasPrefix(variables["basedir"], "/rdsdbbin"):
		return "rds"
	case containsFold(id.Hostname, "azure"), containsFold(id.Comment, "azure"):
		return "azure"
	case containsFold(id.VersionText, "-cynos"):
		return "tencent" // TDSQL-C
	}
	return ""
}

func containsFold(s, sub string) bool {
	return strings.Contains(strings.ToLower(s), sub)
}

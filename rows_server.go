package monolith

import "time"

// HostCacheEntry is a client whose connections met errors, from performance_schema.host_cache. Counts grow until the
// server forgets the client (FLUSH HOSTS, or the cache is full).
type HostCacheEntry struct {
	IP              string `json:"ip"`
	Host            string `json:"host"`
	Probe           bool   `json:"probe"`            // one of the server's probe addresses
	ConnectErrors   int64  `json:"connect_errors"`   // that count against max_connect_errors
	Blocked         int64  `json:"blocked"`          // turned away since then
	AuthErrors      int64  `json:"auth_errors"`      // wrong password or account
	HandshakeErrors int64  `json:"handshake_errors"` // broke off, or did not speak the protocol
	OtherErrors     int64  `json:"other_errors"`
	LastError       string `json:"last_error"` // a time, as the server writes it
}

// Plugin is a plugin or component of the server.
type Plugin struct {
	Name      string `json:"name"`
	Type      string `json:"type"`   // STORAGE ENGINE, AUTHENTICATION, VALIDATE PASSWORD, PASSWORD VALIDATION …; COMPONENT
	Status    string `json:"status"` // ACTIVE, DISABLED …; of components ACTIVE
	Version   string `json:"version"`
	Component bool   `json:"component"` // MySQL ≥ 8.0: INSTALL COMPONENT
	Validator bool   `json:"validator"` // checks new passwords, and is active
}

// PersistedVariable is a line of mysqld-auto.cnf (SET PERSIST). Secrets are left out.
type PersistedVariable struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Running string `json:"running"` // the value in force; "" when there is no such variable
	// Differs: the server runs with another value, which is lost at its next start.
	Differs bool `json:"differs"`
}

// Digest is a kind of statement with what it cost since the server's start or the last TRUNCATE of its table. The text has no
// literals: the server itself puts ? in their place.
type Digest struct {
	Schema          string    `json:"schema"`
	Digest          string    `json:"digest"`
	Text            string    `json:"text"`
	Count           float64   `json:"count"`
	Seconds         float64   `json:"seconds"`
	CPUSeconds      *float64  `json:"cpu_seconds,omitempty"` // MySQL ≥ 8.0.28
	RowsExamined    float64   `json:"rows_examined"`
	RowsSent        float64   `json:"rows_sent"`
	NoIndex         float64   `json:"no_index"` // runs without an index
	FullJoins       float64   `json:"full_joins"`
	TmpTables       float64   `json:"tmp_tables"`
	TmpDiskTables   float64   `json:"tmp_disk_tables"`
	SortMergePasses float64   `json:"sort_merge_passes"`
	LastSeen        time.Time `json:"last_seen,omitzero"`
}

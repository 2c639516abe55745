package monolith

import "time"

// Member is a member of a replication group or a node of a Galera cluster, as the watched server sees it.
type Member struct {
	Kind    string `json:"kind"` // group or galera
	ID      string `json:"id"`
	Name    string `json:"name"` // Galera: the node's name
	Host    string `json:"host"`
	Port    int    `json:"port"`
	State   string `json:"state"`   // group: ONLINE, RECOVERING, UNREACHABLE, ERROR, OFFLINE; Galera: of the own node only (Synced, Donor/Desynced …)
	Role    string `json:"role"`    // PRIMARY or SECONDARY; "" not told
	Version string `json:"version"` // group, MySQL ≥ 8.0.2
	Own     bool   `json:"own"`     // the watched server itself
	// Queue is the transactions that wait for certification, ApplyQueue those that wait to be applied; nil: not told.
	Queue      *int64 `json:"queue"`
	ApplyQueue *int64 `json:"apply_queue"`
}

// AuroraReplica is an instance of an Aurora cluster, as information_schema.replica_host_status lists it.
type AuroraReplica struct {
	Name    string   `json:"name"`
	Writer  bool     `json:"writer"`
	Lag     *float64 `json:"lag"` // seconds behind the writer; nil: not told
	CPU     *float64 `json:"cpu"` // per cent
	Updated string   `json:"updated"`
	Own     bool     `json:"own"`
}

// GTIDs are the sets of a server that writes them, on one line each and cut at 64 KiB. They are no settings and change all the
// time, so they stand here and in no history. [ParseGTIDSet] reads them.
type GTIDs struct {
	Taken       time.Time `json:"taken"`
	Executed    string    `json:"executed"`     // gtid_executed; MariaDB gtid_current_pos
	Purged      string    `json:"purged"`       // gtid_purged; MariaDB has none
	BinlogPos   string    `json:"binlog_pos"`   // MariaDB
	BinlogState string    `json:"binlog_state"` // MariaDB
	// Missing is the transactions between executed ones of the same source that were not executed (MySQL), cut at 1,024 bytes.
	Missing      string `json:"missing"`
	MissingCount uint64 `json:"missing_count"`
}

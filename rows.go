package monolith

import (
	"net"
	"slices"
	"strconv"
	"time"
)

// Rows is what collectors list. In a snapshot nil means "not collected in this poll", in a state "never read";
// empty means "there are none". The JSON names are those under which rules and the API know the lists.
type Rows struct {
	Replicas   []Replica      `json:"replicas"`
	Processes  *ProcessList   `json:"processes"`
	Accounts   []Account      `json:"accounts"`
	Schemas    *SchemaSizes   `json:"schemas"`
	BinaryLogs []BinaryLog    `json:"binary_logs"`
	Variables  []VariableInfo `json:"variables"` // where the values of variables come from, by name; read daily

	Transactions     []Transaction       `json:"transactions"`       // old ones and those that wait, the oldest first
	MetadataLocks    []MetadataLock      `json:"metadata_locks"`     // threads that wait for one, the longest first
	Deadlock         *Deadlock           `json:"deadlock"`           // the latest
	HostCache        []HostCacheEntry    `json:"host_cache"`         // clients that had errors while connecting
	Members          []Member            `json:"members"`            // of the replication group or the Galera cluster
	AuroraReplicas   []AuroraReplica     `json:"aurora_replicas"`    // the instances of an Aurora cluster
	GTIDs            *GTIDs              `json:"gtids"`              // MySQL
	AutoIncrements   []AutoIncrement     `json:"auto_increments"`    // columns that are half used up or more, the fullest first
	TablesWithoutKey []TableWithoutKey   `json:"tables_without_key"` // the largest first
	Databases        []Database          `json:"databases"`
	OpenGrants       []OpenGrant         `json:"open_grants"` // of the anonymous user and of PUBLIC
	Plugins          []Plugin            `json:"plugins"`
	Persisted        []PersistedVariable `json:"persisted"` // MySQL ≥ 8.0
	Digests          []Digest            `json:"digests"`   // the heaviest statements since the server's start
	Mounts           []Mount             `json:"mounts"`
	Devices          []Device            `json:"devices"`
}

// Take takes over the lists that are there in newer.
func (r *Rows) Take(newer Rows) {
	take(&r.Replicas, newer.Replicas)
	if newer.Processes != nil {
		r.Processes = newer.Processes
	}
	take(&r.Accounts, newer.Accounts)
	if newer.Schemas != nil {
		r.Schemas = newer.Schemas
	}
	take(&r.BinaryLogs, newer.BinaryLogs)
	take(&r.Variables, newer.Variables)
	take(&r.Transactions, newer.Transactions)
	take(&r.MetadataLocks, newer.MetadataLocks)
	if newer.Deadlock != nil {
		r.Deadlock = newer.Deadlock
	}
	take(&r.HostCache, newer.HostCache)
	take(&r.Members, newer.Members)
	take(&r.AuroraReplicas, newer.AuroraReplicas)
	if newer.GTIDs != nil {
		r.GTIDs = newer.GTIDs
	}
	take(&r.AutoIncrements, newer.AutoIncrements)
	take(&r.TablesWithoutKey, newer.TablesWithoutKey)
	take(&r.Databases, newer.Databases)
	take(&r.OpenGrants, newer.OpenGrants)
	take(&r.Plugins, newer.Plugins)
	take(&r.Persisted, newer.Persisted)
	take(&r.Digests, newer.Digests)
	take(&r.Mounts, newer.Mounts)
	take(&r.Devices, newer.Devices)
}

func take[T any](to *[]T, newer []T) {
	if newer != nil {
		*to = newer
	}
}

// ThreadState is a replication thread's state. Connecting is not folded into No; "" is unknown: see
// [Replica.Missing].
type ThreadState string

// The thread states.
const (
	ThreadYes        ThreadState = "Yes"
	ThreadConnecting ThreadState = "Connecting"
	ThreadNo         ThreadState = "No"
)

// DelayBy says what told how far a channel is behind.
type DelayBy string

// What tells a delay, the best first.
const (
	ByHeartbeat DelayBy = "heartbeat" // a row that the source writes again and again
	ByCommit    DelayBy = "commit"    // when the transaction that is being applied was committed
	ByServer    DelayBy = "server"    // Seconds_Behind_Source
)

// Replica is one replication channel in normalised form: one row per Channel_Name or Connection_name
// whatever the version calls its columns. Texts are masked.
type Replica struct {
	Channel        string      `json:"channel"` // "" is the default channel
	SourceHost     string      `json:"source_host"`
	SourcePort     int         `json:"source_port"`
	SourceUser     string      `json:"source_user"`
	SourceUUID     string      `json:"source_uuid,omitempty"`
	SourceServerID uint32      `json:"source_server_id"`
	IO             ThreadState `json:"io"`
	IOState        string      `json:"io_state"` // what the receiver is doing, in the server's words
	SQL            ThreadState `json:"sql"`
	SQLState       string      `json:"sql_state"`
	// Lag is Seconds_Behind_Source as given; nil is the server's NULL: unknown, never 0.
	Lag               *int64 `json:"lag"`
	SQLDelay          int64  `json:"sql_delay"`           // wanted delay in seconds
	SQLRemainingDelay *int64 `json:"sql_remaining_delay"` // nil: not waiting
	// Delay is by how many seconds the channel is behind beyond SQLDelay, at least 0, by the best measure there is:
	// DelayBy. It is nil where no measure tells, and while a thread does not run.
	Delay          *int64  `json:"delay"`
	DelayBy        DelayBy `json:"delay_by"` // "" where Delay is nil
	IOErrno        int     `json:"io_errno"`
	IOError        string  `json:"io_error"`
	SQLErrno       int     `json:"sql_errno"`
	SQLError       string  `json:"sql_error"`
	SourceLogFile  string  `json:"source_log_file"`
	ReadLogPos     int64   `json:"read_source_log_pos"`
	RelaySourceLog string  `json:"relay_source_log_file"`
	ExecLogPos     int64   `json:"exec_source_log_pos"`
	RelayLogFile   string  `json:"relay_log_file"`
	RelayLogPos    int64   `json:"relay_log_pos"`
	RelaySpace     int64   `json:"relay_log_space"` // bytes
	UntilCondition string  `json:"until_condition"`
	AutoPosition   bool    `json:"auto_position"` // Auto_Position=1, or MariaDB Using_Gtid other than No
	GTIDMode       string  `json:"gtid,omitempty"`
	RetrievedGTID  string  `json:"retrieved_gtid_set,omitempty"`
	ExecutedGTID   string  `json:"executed_gtid_set,omitempty"`
	SSL            bool    `json:"ssl"`
	// Filters are what of the source's changes is left out, in the server's words: "Replicate_Do_DB: shop; Replicate_Ignore_Table: …".
	Filters string `json:"filters"`
	// Missing lists the normalised fields whose column the server did not send though its version has
	// it, or in which there was no number where one belongs: what depends on them cannot be evaluated.
	Missing []string `json:"missing,omitempty"`
}

// Measure sets Delay and DelayBy from Lag and what else tells how far the channel is behind, in seconds; no value where
// it does not. A commit of 0 is no measure: a moment without a transaction at hand says nothing about those that wait, be it for SQLDelay.
func (r *Replica) Measure(heartbeat, commit Num) {
	r.Delay, r.DelayBy = nil, ""
	if r.IO != ThreadYes || r.SQL != ThreadYes || slices.Contains(r.Missing, "sql_delay") {
		return
	}
	var behind int64
	switch {
	case !heartbeat.IsNone():
		behind, r.DelayBy = int64(heartbeat.Float64()), ByHeartbeat
	case commit.Float64() > 0:
		behind, r.DelayBy = int64(commit.Float64()), ByCommit
	case r.Lag != nil:
		behind, r.DelayBy = *r.Lag, ByServer
	default:
		return
	}
	behind = max(0, behind-r.SQLDelay)
	r.Delay = &behind
}

// Source gives the source as "host:port", with brackets around an address of IPv6.
func (r *Replica) Source() string { return net.JoinHostPort(r.SourceHost, strconv.Itoa(r.SourcePort)) }

// ReadsFromGroup reports whether the channel belongs to Group Replication, which has states of its own.
func (r *Replica) ReadsFromGroup() bool {
	return r.Channel == "group_replication_applier" || r.Channel == "group_replication_recovery"
}

// Process is one row of the process list, its text masked.
type Process struct {
	ID      uint64 `json:"id"`
	User    string `json:"user"`
	Host    string `json:"host"`
	DB      string `json:"db"`
	Command string `json:"command"`
	Seconds int64  `json:"seconds"`
	State   string `json:"state"`
	Info    string `json:"info"`
	Own     bool   `json:"own,omitempty"` // Monolith's own connection
}

// ProcessList is a process list: the longest-running rows up to a cap, and counts over all of them.
type ProcessList struct {
	Taken   time.Time `json:"taken"`
	Total   int       `json:"total"`    // rows the server showed
	OnlyOwn bool      `json:"only_own"` // PROCESS is missing: other people's threads are not visible
	Rows    []Process `json:"rows"`
	ByUser  []Count   `json:"by_user"`
	ByHost  []Count   `json:"by_host"`
	ByState []Count   `json:"by_state"`
}

// Count is a name and how often it occurs.
type Count struct {
	Name  string `json:"name"`
	Count int    `json:"count"`
}

// SchemaSizes is the result of a size scan.
type SchemaSizes struct {
	Taken   time.Time    `json:"taken"`
	Tables  int          `json:"tables"`  // base tables that were measured: the sum over Schemas
	Views   int          `json:"views"`   // views, and sequences of MariaDB, which have no size; 0 where Sampled: not told apart
	Listed  int          `json:"listed"`  // all that stands in the list of tables, counted cheaply before the scan
	Sampled bool         `json:"sampled"` // the cap was reached: sums are of a part, tables may be missing
	Hidden  bool         `json:"hidden"`  // the account has no right on all tables: those that it does not see are missing
	Schemas []SchemaSize `json:"schemas"` // by schema and engine
	Largest []TableSize  `json:"largest"` // the largest tables, at most ten a schema
}

// SchemaSize sums the base tables of one engine in one schema. Bytes.
type SchemaSize struct {
	Schema string `json:"schema"`
	Engine string `json:"engine"`
	Tables int    `json:"tables"`
	Data   int64  `json:"data"`
	Index  int64  `json:"index"`
	Free   int64  `json:"free"`
}

// TableSize is one table. Bytes; Rows is the server's estimate.
type TableSize struct {
	Schema string `json:"schema"`
	Table  string `json:"table"`
	Engine string `json:"engine"`
	Rows   int64  `json:"rows"`
	Data   int64  `json:"data"`
	Index  int64  `json:"index"`
	Free   int64  `json:"free"`
}

// BinaryLog is one file of SHOW BINARY LOGS.
type BinaryLog struct {
	Name string `json:"name"`
	Size int64  `json:"size"` // bytes
	// Seen is when Monolith first saw the file; nil: it was there before, so it is older.
	Seen *time.Time `json:"seen,omitempty"`
}

// VariableInfo says where a global variable's value comes from. Secrets are left out of Default.
type VariableInfo struct {
	Name string `json:"name"` // lower case, without the namespace
	// Default is the compiled-in default; nil: not known for this server.
	Default *string `json:"default"`
	// Changed reports whether the value in force was set by somebody: in a file, on the command line or
	// by SET. nil: not known.
	Changed  *bool          `json:"changed"`
	Origin   VariableOrigin `json:"origin,omitempty"`
	Path     string         `json:"path,omitempty"`      // the option file, where the server says so
	ReadOnly *bool          `json:"read_only,omitempty"` // true: only a restart changes it; nil: not known
	// SetAt and SetBy tell when and by which account it was last SET (MySQL ≥ 8.0).
	SetAt *time.Time `json:"set_at,omitempty"`
	SetBy string     `json:"set_by,omitempty"`
}

// VariableOrigin is the kind of place that a variable's value in force comes from.
type VariableOrigin string

// The origins. "" is unknown.
const (
	OriginCompiled    VariableOrigin = "compiled"    // the built-in default
	OriginAuto        VariableOrigin = "auto"        // worked out by the server from other settings
	OriginFile        VariableOrigin = "file"        // an option file
	OriginCommand     VariableOrigin = "command"     // the command line
	OriginEnvironment VariableOrigin = "environment" // an environment variable, or where the program lies (basedir)
	OriginPersisted   VariableOrigin = "persisted"   // SET PERSIST (mysqld-auto.cnf)
	OriginSet         VariableOrigin = "set"         // SET GLOBAL since the start
)

package monolith

import "time"

// Transaction is an open InnoDB transaction that is old or waits for a lock. Texts are masked.
type Transaction struct {
	ID      string `json:"id"`
	Thread  uint64 `json:"thread"`  // 0: of no thread, such as a recovered XA transaction
	State   string `json:"state"`   // RUNNING, LOCK WAIT, ROLLING BACK, COMMITTING
	Seconds int64  `json:"seconds"` // since it began
	// User, Host, DB, Command and Statement are those of its thread; "" where the thread was not found.
	User      string `json:"user"`
	Host      string `json:"host"`
	DB        string `json:"db"`
	Command   string `json:"command"`
	Statement string `json:"statement"`
	// Idle: the thread sleeps, so the transaction waits for its client. IdleSeconds is for how long.
	Idle         bool   `json:"idle"`
	IdleSeconds  int64  `json:"idle_seconds"`
	RowsModified int64  `json:"rows_modified"`
	RowsLocked   int64  `json:"rows_locked"`
	TablesLocked int64  `json:"tables_locked"`
	Isolation    string `json:"isolation"`
	// LockWait is for how many seconds it has been waiting for a lock; nil: it does not wait.
	LockWait  *int64   `json:"lock_wait,omitempty"`
	BlockedBy []uint64 `json:"blocked_by,omitempty"` // threads that hold the lock, where the server tells
	Blocks    int      `json:"blocks"`               // how many listed transactions wait for it
	Applier   bool     `json:"applier"`              // of a replication thread
	Backup    bool     `json:"backup"`               // its user makes backups, by the server's settings
	Own       bool     `json:"own,omitempty"`        // Monolith's own
}

// MetadataLock is a thread that waits for a metadata lock, a backup lock or the global read lock. Texts are masked.
type MetadataLock struct {
	Thread    uint64 `json:"thread"`
	User      string `json:"user"`
	Host      string `json:"host"`
	DB        string `json:"db"`
	Seconds   int64  `json:"seconds"`
	State     string `json:"state"`
	Statement string `json:"statement"`
	// Schema and Table are what it waits for; "" where the server does not tell.
	Schema string `json:"schema"`
	Table  string `json:"table"`
	// BlockedBy are the threads that hold it; empty where the server does not tell. What follows is of the first of them.
	BlockedBy        []uint64 `json:"blocked_by,omitempty"`
	BlockerUser      string   `json:"blocker_user"`
	BlockerHost      string   `json:"blocker_host"`
	BlockerCommand   string   `json:"blocker_command"`
	BlockerSeconds   int64    `json:"blocker_seconds"`
	BlockerStatement string   `json:"blocker_statement"`
}

// Deadlock is the latest one that InnoDB tells of. Texts are masked; the rows that were locked are left out.
type Deadlock struct {
	Taken time.Time `json:"taken"`
	// Count is the server's count of deadlocks when this was read; nil where it does not count them.
	Count *float64 `json:"count"`
	// At is when it happened, as the server writes it in its own time zone; zero: not understood.
	At           time.Time             `json:"at,omitzero"`
	Transactions []DeadlockTransaction `json:"transactions"` // empty: there was none since the server's start
	Victim       int                   `json:"victim"`       // which was rolled back, from 1; 0: not told
}

// DeadlockTransaction is one side of a deadlock.
type DeadlockTransaction struct {
	Thread    uint64   `json:"thread"`
	User      string   `json:"user"`
	Host      string   `json:"host"`
	Seconds   int64    `json:"seconds"` // active
	Statement string   `json:"statement"`
	Holds     []string `json:"holds"` // locks: "RECORD index PRIMARY of table shop.t, X"
	Waits     []string `json:"waits"`
}

package store

import (
	"log/slog"
	"time"

	"monolith"
)

// Config says where the store is and how it behaves. Exactly one of Path and DSN is set.
type Config struct {
	// Path is the SQLite file. Its folder must exist and be writable.
	Path string
	// DSN is a MySQL-protocol store in go-sql-driver's form (user:password@tcp(host:port)/database):
	// MySQL ≥ 8.0 or MariaDB ≥ 10.5. It is parsed to fields; settings that the store needs are added.
	DSN string
	// KeyFile holds the key that seals passwords, made with mode 0600 when it is not there. "" puts
	// "monolith.key" beside the SQLite file; with a DSN it must be given before a password can be kept.
	KeyFile string
	// Migrate lets Open bring a MySQL store's schema up to date. A SQLite store always does.
	Migrate bool
	// Log gets what the background work has to say; nil discards it.
	Log *slog.Logger
	// Now is the clock; nil is [time.Now].
	Now func() time.Time
	// Hold says how long a value of the metric stays good on this server when no newer one came: the
	// distance between two runs of its collector. nil goes by [monolith.ScheduleOf] and the defaults.
	Hold func(server monolith.ServerID, metric string) time.Duration
	// SpoolBytes bounds what waits for a store that fails; 0 is 64 MiB. Beyond it the oldest polls are dropped.
	SpoolBytes int64
}

package monolith

import (
	"strings"
	"time"
)

// The schedules on which collectors run.
const (
	Fast   = "fast"   // status, replication, Group Replication, InnoDB, host
	Slow   = "slow"   // variables, process list, memory, binary log position, transactions, locks, members of a cluster
	Hourly = "hourly" // accounts, schemas, binary logs, certificate, plugins, digests
	Sizes  = "sizes"  // schema sizes
	Daily  = "daily"  // what changes rarely: origins of variables, keys of tables
)

// ScheduleNames lists the schedules from the quickest to the slowest.
var ScheduleNames = []string{Fast, Slow, Hourly, Sizes, Daily}

// DefaultSchedules gives each schedule's cron expression; people change them per server or group.
var DefaultSchedules = map[string]string{
	Fast: "@every 10s", Slow: "@every 60s", Hourly: "@every 1h", Sizes: "@every 6h", Daily: "@every 24h",
}

// DefaultInterval gives the distance between two runs of a schedule by default; 0 for an unknown one.
func DefaultInterval(schedule string) time.Duration {
	every, err := time.ParseDuration(strings.TrimPrefix(DefaultSchedules[schedule], "@every "))
	if err != nil {
		return 0
	}
	return every
}

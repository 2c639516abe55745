package monolith

import (
	"strings"
	"time"
)

// The schedules on which collectors run.
const (
	Fast   = "fast"   // status, replication, Group Replication, InnoDB, host
	Slow   = "slow"   // variables, process list, memory, binary log position
	Hourly = "hourly" // accounts, binary logs, certificate
	Sizes  = "sizes"  // schema sizes
	Daily  = "daily"  // what changes rarely
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

// ScheduleOf gives the schedule on which a metric is collected by default. Readers of history use it
// to know how long a value stays good.
func ScheduleOf(metric string) string {
	switch {
	case strings.HasPrefix(metric, "schema."):
		return Sizes
	case strings.HasPrefix(metric, "server.binary_log"), strings.HasPrefix(metric, "server.account"),
		strings.HasPrefix(metric, "server.certificate"):
		return Hourly
	case strings.HasPrefix(metric, "server.processes"), strings.HasPrefix(metric, "variable."), strings.HasPrefix(metric, "server.binlog_"),
		strings.HasPrefix(metric, "server.memory_"), strings.HasPrefix(metric, "server.temptable_"):
		return Slow
	}
	return Fast
}

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

// ScheduleOf gives the schedule on which a metric is collected by default. Readers of history use it
// to know how long a value stays good.
func ScheduleOf(metric string) string {
	for _, s := range metricSchedules {
		if strings.HasPrefix(metric, s.prefix) {
			return s.schedule
		}
	}
	return Fast
}

// metricSchedules give the schedule of metrics by the beginning of their names; the first that fits counts.
var metricSchedules = []struct{ prefix, schedule string }{
	{"schema.auto_increment_", Daily}, {"schema.tables_without_key", Daily}, {"schema.large_tables_without_key", Daily}, {"schema.", Sizes},
	{"server.binary_log", Hourly}, {"server.account", Hourly}, {"server.certificate", Hourly}, {"server.databases", Hourly}, {"server.test_database", Hourly},
	{"server.open_", Hourly}, {"server.plugins", Hourly}, {"server.password_validators", Hourly}, {"server.persisted_", Hourly},
	{"server.performance_schema_", Hourly},
	{"variable.", Slow}, {"server.processes", Slow}, {"server.binlog_", Slow}, {"server.memory_", Slow}, {"server.temptable_", Slow},
	{"server.transactions_", Slow}, {"server.lock_waits_", Slow}, {"server.metadata_lock_", Slow}, {"server.host_cache_", Slow}, {"server.probe_", Slow},
	{"server.group_primaries", Slow}, {"server.group_versions", Slow}, {"server.aurora_", Slow}, {"server.gtid_", Slow},
}

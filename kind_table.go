package monolith

import "strings"

// statusGauges and the prefixes below are the gauges of SHOW GLOBAL STATUS on MySQL 5.0 to 9 and MariaDB 5.5 to 12.
var statusGauges = map[string]Kind{
	"Threads_connected": Gauge, "Threads_running": Gauge, "Threads_cached": Gauge,
	"Uptime": Gauge, "Uptime_since_flush_status": Gauge,
	"Max_used_connections": HighWater,
}

var hostKinds = map[string]Kind{}

func statusKind(name string) Kind {
	if k, ok := statusGauges[name]; ok {
		return k
	}
	for _, p := range []string{"Com_", "Handler_", "Select_", "Sort_", "Bytes_", "Created_tmp_", "Innodb_rows_", "Innodb_data_"} {
		if strings.HasPrefix(name, p) {
			return Counter
		}
	}
	return Untyped
}

func innodbKind(name string) Kind { return Counter }

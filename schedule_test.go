package monolith

import (
	"testing"
	"time"
)

func TestDefaultIntervalReadsTheDefaultSchedules(t *testing.T) {
	last := time.Duration(0)
	for _, name := range ScheduleNames {
		d := DefaultInterval(name)
		if d < last || d == 0 {
			t.Errorf("%s runs every %v, after %v", name, d, last)
		}
		last = d
	}
	if d := DefaultInterval("never"); d != 0 {
		t.Errorf("an unknown schedule runs every %v", d)
	}
}

func TestScheduleOf(t *testing.T) {
	for metric, want := range map[string]string{
		"status.Questions": Fast, "replica.lag": Fast, "host.load1": Fast, "server.up": Fast, "self.poll_seconds": Fast,
		"variable.max_connections": Slow, "server.processes_total": Slow, "server.binary_log_bytes": Hourly,
		"server.accounts": Hourly, "server.binlog_written_bytes_total": Slow, "server.temptable_ram_bytes": Slow,
		"server.memory_allocated_bytes": Slow, "server.group_members": Fast, "server.certificate_days_left": Hourly, "schema.data_bytes": Sizes, "server.digests": Hourly,
		"schema.large_tables_without_key": Daily,
	} {
		if got := ScheduleOf(metric); got != want {
			t.Errorf("%s is on %s, want %s", metric, got, want)
		}
	}
}

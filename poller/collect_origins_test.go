package poller

import (
	"testing"

	"monolith"
	"monolith/internal/mysqltest"
)

// TestOriginsBehindAliases: MariaDB notes where a value comes from under one of its two names and calls it compiled in under
// the other one.
func TestOriginsBehindAliases(t *testing.T) {
	t.Parallel()
	s := mysqltest.MariaDB(t, mysqltest.Options("long_query_time=2", "tmp_table_size=1M", "expire_logs_days=1", "slow_query_log",
		"slow_query_log_file=slow-queries.log", "transaction-isolation=READ-COMMITTED"))
	s.Exec(t, "SET GLOBAL min_examined_row_limit = 7")
	w := watch(t, s, "root", "")
	snap, _ := w.poll(t)
	by := map[string]monolith.VariableInfo{}
	for _, v := range snap.Variables {
		by[v.Name] = v
	}
	for name, want := range map[string]struct {
		origin  monolith.VariableOrigin
		changed bool
		def     string
	}{
		"long_query_time": {monolith.OriginCommand, true, "10.000000"}, "log_slow_query_time": {monolith.OriginCommand, true, "10.000000"},
		"tmp_table_size": {monolith.OriginCommand, true, "16777216"}, "tmp_memory_table_size": {monolith.OriginCommand, true, "16777216"},
		"expire_logs_days": {monolith.OriginCommand, true, "0.000000"}, "binlog_expire_logs_seconds": {monolith.OriginCommand, true, "0"},
		"slow_query_log": {monolith.OriginCommand, true, "OFF"}, "log_slow_query": {monolith.OriginCommand, true, "OFF"},
		"slow_query_log_file": {monolith.OriginCommand, true, ""}, "log_slow_query_file": {monolith.OriginCommand, true, ""},
		"min_examined_row_limit": {monolith.OriginSet, true, "0"}, "log_slow_min_examined_row_limit": {monolith.OriginSet, true, "0"},
		// Known to differ, and no more.
		"tx_isolation": {"", true, "REPEATABLE-READ"},
		// Nobody touched these.
		"sort_buffer_size":       {monolith.OriginCompiled, false, "2097152"},
		"general_log_file":       {monolith.OriginCompiled, false, w.vars.Value("general_log_file")},
		"innodb_io_capacity_max": {monolith.OriginAuto, false, "2000"},
		"innodb_open_files":      {monolith.OriginAuto, false, w.vars.Value("innodb_open_files")},
		"sql_big_selects":        {monolith.OriginAuto, false, "ON"},
		"log_error":              {monolith.OriginCompiled, false, ""},
	} {
		v, ok := by[name]
		if !ok || v.Origin != want.origin || v.Changed == nil || *v.Changed != want.changed || v.Default == nil || *v.Default != want.def {
			def := "none"
			if v.Default != nil {
				def = *v.Default
			}
			t.Errorf("%s = %s: %+v, default %s, want %+v", name, w.vars.Value(name), v, def, want)
		}
	}
	if v := by["basedir"]; v.Origin != monolith.OriginEnvironment {
		t.Errorf("basedir comes from %q", v.Origin)
	}
	// What nobody set is not among what is not at its default.
	for _, v := range by {
		if v.Changed != nil && *v.Changed && v.Origin == "" && v.Name != "tx_isolation" {
			t.Errorf("%s = %q is said to differ from its default", v.Name, w.vars.Value(v.Name))
		}
	}
}

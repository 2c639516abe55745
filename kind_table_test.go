package monolith

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestKindOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Kind{
		"status.Questions": Counter, "status.Com_select": Counter, "status.Com_some_new_statement": Counter,
		"status.Handler_read_rnd_next": Counter, "status.Connections": Counter, "status.Aborted_connects": Counter,
		"status.Threads_created": Counter, "status.Threads_running": Gauge, "status.Threads_connected": Gauge,
		"status.Open_tables": Gauge, "status.Opened_tables": Counter, "status.Open_files": Gauge, "status.Uptime": Gauge,
		"status.Max_used_connections": HighWater, "status.Max_used_connections_time": Text, "status.Max_memory_used": HighWater,
		"status.Innodb_buffer_pool_pages_dirty": Gauge, "status.Innodb_buffer_pool_pages_flushed": Counter,
		"status.Innodb_buffer_pool_pages_LRU_flushed": Counter, "status.Innodb_buffer_pool_reads": Counter,
		"status.Innodb_buffer_pool_read_requests": Counter, "status.Innodb_data_pending_reads": Gauge, "status.Innodb_data_read": Counter,
		"status.Innodb_row_lock_current_waits": Gauge, "status.Innodb_row_lock_waits": Counter, "status.Innodb_row_lock_time_avg": Gauge,
		"status.Innodb_row_lock_time_max": HighWater, "status.Innodb_history_list_length": Gauge, "status.Innodb_page_size": Gauge,
		"status.Qcache_free_memory": Gauge, "status.Qcache_hits": Counter, "status.Qcache_total_blocks": Gauge,
		"status.Key_blocks_unused": Gauge, "status.Key_reads": Counter, "status.Slave_open_temp_tables": Gauge,
		"status.Slaves_connected": Gauge, "status.Slave_running": Text, "status.Ssl_finished_accepts": Counter,
		"status.Ssl_server_not_after": Text, "status.Rsa_public_key": Text, "status.Innodb_redo_log_uuid": Text,
		"status.Binlog_bytes_written": Counter, "status.Binlog_disk_use": Gauge, "status.Memory_used": Gauge, "status.Tmp_space_used": Gauge,
		"status.Rpl_semi_sync_master_yes_tx": Counter, "status.Rpl_semi_sync_source_clients": Gauge, "status.Rpl_semi_sync_master_status": Text,
		"status.wsrep_local_recv_queue": Gauge, "status.wsrep_flow_control_paused_ns": Counter, "status.wsrep_flow_control_paused": Gauge,
		"status.wsrep_evs_repl_latency": Text, "status.wsrep_cluster_size": Gauge, "status.wsrep_local_state_uuid": Text,
		"status.Table_open_cache_hits": Counter, "status.Table_open_cache_active_instances": Gauge,
		"status.com_select": Counter, "status.threads_running": Gauge, // as 5.7's tables write them
		"status.Innodb_lsn_current": Untyped, "status.Never_heard_of": Untyped, "no namespace": Untyped,
		"innodb.lock_deadlocks": Counter, "innodb.trx_rseg_history_len": Gauge, "innodb.buffer_pool_pages_free": Gauge,
		"innodb.log_pending_log_writes": Gauge, "innodb.buffer_pool_reads": Counter, "innodb.lock_row_lock_time_max": HighWater,
		"innodb.transactions": Gauge, "innodb.log_lsn_current": Untyped, "innodb.buffer_flush_batch_scanned_per_call": Gauge,
		"host.cpu_user_seconds_total": Counter, "host.load1": Gauge, "host.hostname": Text, "host.memory_total_bytes": Gauge,
		"host.swap_in_bytes_total": Counter, "host.disk_in_flight": Gauge, "self.Questions": Counter, "self.poll_seconds": Gauge,
		"self.skipped_total": Counter, "replica.lag": Gauge, "replica.retried_transactions_total": Counter, "replica.read_log_pos": Counter,
		"server.processes_total": Gauge, "server.binlog_written_bytes_total": Counter, "server.binary_log_bytes": Gauge, "schema.data_bytes": Gauge, "variable.max_connections": Gauge,
	} {
		if got := KindOf(name); got != want {
			t.Errorf("%s is a %v, want %v", name, got, want)
		}
	}
}

// TestKindTableKnowsRecordedServers reads the status of many versions: no number in it may be unknown.
func TestKindTableKnowsRecordedServers(t *testing.T) {
	t.Parallel()
	root := os.Getenv("MONOLITH_RECORDED")
	if root == "" {
		t.Skip("MONOLITH_RECORDED is not set: the recorded status of other versions is NOT tested")
	}
	seen := 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(d.Name(), "status") || strings.Contains(d.Name(), "variables") || filepath.Ext(path) != ".tsv" {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			name, value, _ := strings.Cut(lines.Text(), "\t")
			if _, ok := ParseNum([]byte(value)); !ok || name != strings.TrimSpace(name) {
				continue
			}
			seen++
			if kind, known := statusKinds[strings.ToLower(name)]; KindOf("status."+name) == Untyped && (!known || kind != Untyped) {
				t.Errorf("%s: %s = %s is not in the table", d.Name(), name, value)
			}
		}
		return nil
	})
	if err != nil || seen < 5000 {
		t.Errorf("read %d values: %v", seen, err)
	}
}

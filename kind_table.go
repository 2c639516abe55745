package monolith

import "strings"

// The table of kinds covers SHOW GLOBAL STATUS of MySQL 5.0 to 9, Percona Server, Aurora, MariaDB 5.5 to 12 and
// Galera, INNODB_METRICS of both families, and the poller's own host and self metrics. Exact names come
// first, then patterns in their order. A number that none of them knows is untyped.
//
// To add a name: put it into the list of its kind below.

// statusKinds are the exact names, lower case, as some tools and old versions write them.
var statusKinds = kindTable(map[Kind]string{
	Gauge: `
		acl_cache_items_count acl_column_grants acl_database_grants acl_function_grants acl_package_body_grants
		acl_package_spec_grants acl_procedure_grants acl_proxy_users acl_role_grants acl_roles acl_table_grants acl_users
		aria_pagecache_blocks_not_flushed aria_pagecache_blocks_unused aria_pagecache_blocks_used
		aurora_binlog_io_cache_allocated aurora_external_connection_count aurora_fwd_replica_open_sessions
		aurora_fwd_writer_open_sessions aurora_lockmgr_memory_used aurora_pq_request_in_progress aurora_thread_pool_thread_count
		binlog_disk_use binlog_snapshot_position
		current_tls_sessions delayed_insert_threads error_log_buffered_bytes error_log_buffered_events error_log_latest_write
		global_connection_memory
		innodb_adaptive_hash_cells innodb_adaptive_hash_heap_buffers innodb_aurora_average_batched_read_request_size
		innodb_available_undo_logs innodb_buffer_pool_bytes_data innodb_buffer_pool_bytes_dirty innodb_buffer_pool_pages_data
		innodb_buffer_pool_pages_dirty innodb_buffer_pool_pages_free innodb_buffer_pool_pages_latched innodb_buffer_pool_pages_misc
		innodb_buffer_pool_pages_old innodb_buffer_pool_pages_total innodb_buffer_pool_resize_status_code
		innodb_buffer_pool_resize_status_progress innodb_checkpoint_age innodb_checkpoint_max_age innodb_checkpoint_target_age
		innodb_current_row_locks innodb_data_pending_fsyncs innodb_data_pending_reads innodb_data_pending_writes
		innodb_descriptors_memory innodb_dict_tables innodb_encryption_redo_key_version innodb_encryption_rotation_estimated_iops
		innodb_history_list_length innodb_ibuf_free_list innodb_ibuf_segment_size innodb_ibuf_size innodb_mem_adaptive_hash
		innodb_mem_dictionary innodb_mem_total innodb_num_open_files innodb_onlineddl_pct_progress innodb_onlineddl_rowlog_pct_used
		innodb_onlineddl_rowlog_rows innodb_os_log_pending_fsyncs innodb_os_log_pending_writes innodb_page_size innodb_read_views_memory
		innodb_redo_log_capacity_resized innodb_redo_log_logical_size innodb_redo_log_physical_size innodb_row_lock_current_waits
		innodb_row_lock_time_avg innodb_undo_tablespaces_active innodb_undo_tablespaces_explicit innodb_undo_tablespaces_implicit
		innodb_undo_tablespaces_total innodb_oldest_view_low_limit_trx_id
		key_blocks_not_flushed key_blocks_unused key_blocks_used key_blocks_warm last_query_cost last_query_partial_plans
		memory_used memory_used_initial net_buffer_length not_flushed_delayed_rows ongoing_anonymous_gtid_violating_transaction_count
		ongoing_anonymous_transaction_count ongoing_automatic_gtid_violating_transaction_count open_files open_streams
		open_table_definitions open_tables
		mysqlx_sessions mysqlx_worker_threads mysqlx_worker_threads_active mysqlx_compression_level
		mysqlx_ssl_active mysqlx_ssl_ctx_verify_depth mysqlx_ssl_ctx_verify_mode mysqlx_ssl_verify_depth mysqlx_ssl_verify_mode
		ndb_cluster_node_id ndb_number_of_data_nodes ndb_number_of_ready_data_nodes ndb_config_from_port
		prepared_stmt_count qcache_free_blocks qcache_free_memory qcache_queries_in_cache qcache_total_blocks
		replica_open_temp_tables resource_group_supported rewriter_number_loaded_rules
		rocksdb_manual_compactions_pending rocksdb_manual_compactions_running rocksdb_memtable_total rocksdb_memtable_unflushed
		rocksdb_num_iterators rocksdb_table_index_stats_req_queue_length
		rpl_recovery_rank rpl_semi_sync_master_clients rpl_semi_sync_source_clients rpl_semi_sync_master_net_avg_wait_time
		rpl_semi_sync_source_net_avg_wait_time rpl_semi_sync_master_tx_avg_wait_time rpl_semi_sync_source_tx_avg_wait_time
		rpl_semi_sync_master_wait_sessions rpl_semi_sync_source_wait_sessions
		slave_heartbeat_period slave_open_temp_tables slaves_connected slaves_running slave_rows_last_search_algorithm_used stack_usage
		ssl_ctx_verify_depth ssl_ctx_verify_mode ssl_default_timeout ssl_session_cache_size ssl_session_cache_timeout
		ssl_used_session_cache_entries ssl_verify_depth ssl_verify_mode
		table_open_cache_active_instances tc_log_page_size telemetry_traces_supported threadpool_idle_threads threadpool_threads
		threads_cached threads_connected threads_running tmp_space_used uptime uptime_since_flush_status
		validate_password.dictionary_file_words_count validate_password_dictionary_file_words_count
		max_prepared_stmt_count_used server_aurora_das_messages_queued
		wsrep wsrep_applier_thread_count wsrep_apply_oooe wsrep_apply_oool wsrep_apply_window wsrep_cert_bucket_count
		wsrep_cert_deps_distance wsrep_cert_index_size wsrep_cert_interval wsrep_cluster_conf_id wsrep_cluster_size
		wsrep_cluster_weight wsrep_commit_oooe wsrep_commit_oool wsrep_commit_window wsrep_desync_count wsrep_flow_control_interval_high
		wsrep_flow_control_interval_low wsrep_flow_control_paused wsrep_gmcast_segment wsrep_local_cached_downto wsrep_local_index
		wsrep_local_recv_queue wsrep_local_recv_queue_avg wsrep_local_recv_queue_min wsrep_local_send_queue wsrep_local_send_queue_avg
		wsrep_local_send_queue_min wsrep_local_state wsrep_open_connections wsrep_open_transactions wsrep_protocol_version
		wsrep_rollbacker_thread_count wsrep_thread_count wsrep_ist_receive_seqno_current wsrep_ist_receive_seqno_end
		wsrep_ist_receive_seqno_start`,
	HighWater: `
		innodb_row_lock_time_max max_used_connections open_tables_peak performance_schema_session_connect_attrs_longest_seen
		tc_log_max_pages_used tmp_space_used_max wsrep_local_recv_queue_max wsrep_local_send_queue_max
		max_memory_used`,
	Text: `
		caching_sha2_password_rsa_public_key rsa_public_key current_tls_ca current_tls_capath current_tls_cert current_tls_cipher
		current_tls_ciphersuites current_tls_crl current_tls_crlpath current_tls_key current_tls_version
		innodb_buffer_pool_dump_status innodb_buffer_pool_load_status innodb_buffer_pool_resize_status innodb_have_atomic_builtins
		innodb_redo_log_uuid innodb_redo_log_enabled innodb_redo_log_read_only innodb_redo_log_resize_status compression compression_algorithm
		max_used_connections_time slave_last_heartbeat slave_running rpl_status
		mysqlx_address mysqlx_port mysqlx_socket mysqlx_compression_algorithm mysqlx_ssl_cipher mysqlx_ssl_cipher_list
		mysqlx_ssl_server_not_after mysqlx_ssl_server_not_before mysqlx_ssl_version
		ndb_config_from_host ndb_connect_string rewriter_reload_error group_replication_primary_member dragnet.status
		rpl_semi_sync_master_status rpl_semi_sync_source_status rpl_semi_sync_slave_status rpl_semi_sync_replica_status
		server_audit_active server_audit_current_log server_audit_last_error
		ssl_cipher ssl_cipher_list ssl_server_not_after ssl_server_not_before ssl_session_cache_mode ssl_version
		tls_library_version tls_sni_server_name deprecated_use_i_s_processlist_last_timestamp binlog_snapshot_file
		validate_password.dictionary_file_last_parsed validate_password_dictionary_file_last_parsed mysqlbackup.component_version
		wsrep_cluster_state_uuid wsrep_cluster_status wsrep_cluster_capabilities wsrep_connected wsrep_evs_delayed wsrep_evs_evict_list
		wsrep_evs_repl_latency wsrep_evs_state wsrep_flow_control_interval wsrep_flow_control_status wsrep_gcomm_uuid
		wsrep_incoming_addresses wsrep_local_state_comment wsrep_local_state_uuid wsrep_monitor_status wsrep_provider_capabilities
		wsrep_provider_name wsrep_provider_vendor wsrep_provider_version wsrep_ready`,
	Counter: `
		access_denied_errors aria_pagecache_read_requests aria_pagecache_reads aria_pagecache_write_requests aria_pagecache_writes
		aria_transaction_log_syncs busy_time column_compressions column_decompressions connection_control_delay_generated connections
		cpu_time delayed_errors delayed_writes delete_scan deprecated_use_i_s_processlist_count empty_queries error_log_expired_events
		executed_events executed_triggers flush_commands
		innodb_adaptive_hash_hash_searches innodb_adaptive_hash_non_hash_searches innodb_aurora_batched_read_requests
		innodb_aurora_shm_batched_read_requests innodb_aurora_shm_read_requests innodb_background_log_sync
		innodb_buffer_pool_pages_flushed innodb_buffer_pool_pages_lru_flushed innodb_buffer_pool_pages_lru_freed
		innodb_buffer_pool_pages_made_not_young innodb_buffer_pool_pages_made_young innodb_buffer_pool_pages_split
		innodb_buffer_pool_reads innodb_buffer_pool_wait_free innodb_buffered_aio_submitted innodb_bulk_operations
		innodb_data_fsyncs innodb_data_read innodb_data_reads innodb_data_writes innodb_data_written
		innodb_dblwr_pages_written innodb_dblwr_writes innodb_deadlocks innodb_ibuf_merges
		innodb_log_waits innodb_log_write_requests innodb_log_writes innodb_logical_read_ahead_page_count
		innodb_max_trx_id
		innodb_instant_alter_column innodb_os_log_fsyncs innodb_os_log_written innodb_page_compression_saved innodb_pages0_read
		innodb_pages_created innodb_pages_read innodb_pages_written innodb_purge_trx_id innodb_purge_undo_no
		
		innodb_row_lock_time innodb_row_lock_waits innodb_truncated_status_writes innodb_undo_truncations
		innodb_secondary_index_triggered_cluster_reads innodb_secondary_index_triggered_cluster_reads_avoided
		key_read_requests key_reads key_write_requests key_writes locked_connects
		master_gtid_wait_count master_gtid_wait_time master_gtid_wait_timeouts max_execution_time_exceeded max_execution_time_set
		max_execution_time_set_failed max_statement_time_exceeded opened_files opened_plugin_libraries opened_table_definitions
		opened_tables opened_views optimizer_join_prefixes_check_calls qcache_hits qcache_inserts qcache_lowmem_prunes qcache_not_cached
		queries query_time questions resultset_metadata_skipped rewriter_number_reloads rewriter_number_rewritten_queries
		rows_read rows_sent rows_tmp_read rpl_transactions_multi_engine secondary_engine_execution_count
		slave_connections slave_received_heartbeats slave_retried_transactions slave_skipped_errors slow_launch_threads slow_queries
		subquery_cache_hit subquery_cache_miss syncs table_locks_immediate table_locks_waited tc_log_page_waits threads_created
		transactions_gtid_foreign_engine transactions_multi_engine update_scan
		server_audit_writes_failed server_aurora_das_messages_missed
		wsrep_apply_waits wsrep_causal_reads wsrep_flow_control_paused_ns wsrep_flow_control_recv wsrep_flow_control_sent
		wsrep_last_applied wsrep_last_committed wsrep_local_bf_aborts wsrep_local_cert_failures wsrep_local_commits wsrep_local_replays
		wsrep_received wsrep_received_bytes wsrep_repl_data_bytes wsrep_repl_keys wsrep_repl_keys_bytes wsrep_repl_other_bytes
		wsrep_replicated wsrep_replicated_bytes`,
	// Of positions in the redo log both are wanted: how fast they grow, and their distance. Untyped numbers have both.
	Untyped: `
		innodb_lsn_current innodb_lsn_flushed innodb_lsn_last_checkpoint innodb_redo_log_checkpoint_lsn innodb_redo_log_current_lsn
		innodb_redo_log_flushed_to_disk_lsn`,
})

// statusPatterns hold for names that statusKinds does not have. A * stands for anything.
var statusPatterns = []kindPattern{
	{"acl_*", Gauge}, {"tls_*", Text}, {"*_status_comment", Text}, {"*_uuid", Text}, {"*_last_timestamp", Text},
	{"com_*", Counter}, {"handler_*", Counter}, {"select_*", Counter}, {"sort_*", Counter}, {"bytes_*", Counter},
	{"created_tmp_*", Counter}, {"aborted_*", Counter}, {"feature_*", Counter}, {"connection_errors_*", Counter},
	{"performance_schema_*_lost", Counter}, {"table_open_cache_*", Counter}, {"binlog_*", Counter}, {"rpl_semi_sync_*", Counter},
	{"ssl_*", Counter}, {"mysqlx_*", Counter}, {"audit_null_*", Counter}, {"rocksdb_*", Counter}, {"ndb_api_*", Counter},
	{"ndb_conflict_*", Counter}, {"auroradb_*", Counter}, {"aurora_*_cnt", Counter}, {"aurora_*_count", Counter}, {"aurora_*_hits", Counter},
	{"aurora_*_misses", Counter}, {"aurora_*_duration", Counter}, {"aurora_*_duration_in_sec", Counter}, {"aurora_*_incidents", Counter},
	{"aurora_fwd_*", Counter}, {"aurora_pq_*", Counter}, {"aurora_repl_*", Counter}, {"aurora_binlog_io_cache_*", Counter},
	{"innodb_*_pending_*", Gauge}, {"innodb_*_current", Gauge},
	{"innodb_rows_*", Counter}, {"innodb_system_rows_*", Counter}, {"innodb_sampled_pages_*", Counter}, {"innodb_scan_*", Counter},
	{"innodb_scrub_*", Counter}, {"innodb_encryption_*", Counter}, {"innodb_num_*", Counter}, {"innodb_defragment_*", Counter},
	{"innodb_ibuf_merged_*", Counter}, {"innodb_ibuf_discarded_*", Counter}, {"innodb_master_thread_*", Counter}, {"innodb_mutex_*", Counter},
	{"innodb_s_lock_*", Counter}, {"innodb_x_lock_*", Counter}, {"innodb_sx_lock_*", Counter}, {"innodb_buffer_pool_read_*", Counter},
	{"innodb_buffer_pool_write_*", Counter}, {"innodb_async_reads_*", Counter}, {"innodb_log_file_*", Counter},
	{"telemetry_*", Counter}, {"optimizer_*", Counter}, {"server_audit_*", Counter}, {"gr_*", Counter},
}

// innodbGauges are the rows of INNODB_METRICS that go up and down; the TYPE column of that table does not tell:
// lock_deadlocks has the type "value" on MariaDB, trx_active_transactions the type "counter". All other rows count.
var innodbGauges = kindTable(map[Kind]string{
	Gauge: `
		buffer_pool_bytes_data buffer_pool_bytes_dirty buffer_pool_pages_data buffer_pool_pages_dirty buffer_pool_pages_free
		buffer_pool_pages_misc buffer_pool_pages_total buffer_pool_size buffer_flush_n_to_flush_requested buffer_flush_n_to_flush_by_age
		buffer_flush_n_to_flush_by_dirty_page buffer_flush_avg_page_rate buffer_flush_lsn_avg_rate buffer_flush_pct_for_dirty
		buffer_flush_pct_for_lsn buffer_flush_avg_time buffer_flush_avg_pass buffer_flush_adaptive_avg_time_slot
		buffer_flush_adaptive_avg_time_thread buffer_flush_adaptive_avg_time_est buffer_flush_adaptive_avg_time
		buffer_flush_adaptive_avg_pass
		file_num_open_files ibuf_size innodb_page_size lock_rec_locks lock_table_locks lock_row_lock_current_waits lock_row_lock_time_avg
		lock_schedule_refreshes_pending lock_threads_waiting log_lsn_checkpoint_age log_lsn_buf_pool_oldest log_lsn_buf_dirty_pages_added
		log_max_modified_age_async log_max_modified_age_sync log_pending_checkpoint_writes log_pending_log_flushes
		log_pending_log_writes log_free_space log_concurrency_margin log_capacity
		metadata_mem_pool_size metadata_table_reference_count os_pending_reads os_pending_writes os_log_pending_fsyncs
		os_log_pending_writes purge_dml_delay_usec trx_active_transactions trx_rollback_active
		trx_rseg_current_size trx_rseg_history_len trx_undo_slots_cached trx_undo_slots_used undo_tablespaces
		ddl_pending_alter_table dblwr_async_requests_pending page_track_resets_pending
		transactions transactions_waiting oldest_transaction_seconds`,
	HighWater: `lock_row_lock_time_max`,
	Untyped:   `log_lsn_current log_lsn_last_flush log_lsn_last_checkpoint log_lsn_archived`,
})

// hostKinds are the host and self metrics whose kind their name does not tell; those that end in _total
// count, all others are gauges.
var hostKinds = map[string]Kind{
	"hostname": Text, "os": Text, "kernel": Text, "platform": Text, "datadir_mount": Text, "transparent_huge_pages": Text, "datadir_type": Text,
}

// kindPattern gives the kind of all names that match.
type kindPattern struct {
	pattern string // lower case, with at most one *
	kind    Kind
}

func (p kindPattern) matches(name string) bool {
	before, after, _ := strings.Cut(p.pattern, "*")
	return len(name) >= len(before)+len(after) && strings.HasPrefix(name, before) && strings.HasSuffix(name, after)
}

// kindTable turns lists of names into a table.
func kindTable(lists map[Kind]string) map[string]Kind {
	table := map[string]Kind{}
	for kind, names := range lists {
		for name := range strings.FieldsSeq(names) {
			if _, twice := table[name]; twice {
				panic("monolith: the table of kinds has " + name + " twice")
			}
			table[name] = kind
		}
	}
	return table
}

func statusKind(name string) Kind {
	name = strings.ToLower(name)
	if k, ok := statusKinds[name]; ok {
		return k
	}
	for _, p := range statusPatterns {
		if p.matches(name) {
			return p.kind
		}
	}
	return Untyped
}

func innodbKind(name string) Kind {
	if k, ok := innodbGauges[name]; ok {
		return k
	}
	if strings.HasSuffix(name, "_per_call") || strings.Contains(name, "_pending_") {
		return Gauge
	}
	return Counter
}

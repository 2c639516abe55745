-- The InnoDB buffer pool and row work. hour_start is in unix seconds, hour_utc the same as text.

-- +goose Up
CREATE OR REPLACE VIEW v_buffer_pool AS
SELECT s.name AS server_name, s.group_path AS group_path, h.hour_start AS hour_start,
    TIMESTAMPADD(SECOND, h.hour_start, '1970-01-01 00:00:00') AS hour_utc,
    h.buffer_pool_requests_rate AS buffer_pool_requests_rate,
    h.buffer_pool_reads_rate AS buffer_pool_reads_rate,
    h.buffer_pool_hit_percent AS buffer_pool_hit_percent,
    h.innodb_rows_read_rate AS innodb_rows_read_rate,
    h.innodb_row_lock_waits_rate AS innodb_row_lock_waits_rate
FROM hourly h JOIN server s ON s.id = h.server_id;

-- Disk traffic of the host. hour_start is in unix seconds, hour_utc the same as text.

-- +goose Up
CREATE OR REPLACE VIEW v_disk_io AS
SELECT s.name AS server_name, s.group_path AS group_path, h.hour_start AS hour_start,
    TIMESTAMPADD(SECOND, h.hour_start, '1970-01-01 00:00:00') AS hour_utc,
    h.disk_read_bytes_rate AS disk_read_bytes_rate,
    h.disk_written_bytes_rate AS disk_written_bytes_rate,
    h.disk_reads_rate AS disk_reads_rate,
    h.disk_writes_rate AS disk_writes_rate
FROM hourly h JOIN server s ON s.id = h.server_id;

-- Temporary tables and files. hour_start is in unix seconds, hour_utc the same as text.

-- +goose Up
CREATE OR REPLACE VIEW v_temp_tables AS
SELECT s.name AS server_name, s.group_path AS group_path, h.hour_start AS hour_start,
    TIMESTAMPADD(SECOND, h.hour_start, '1970-01-01 00:00:00') AS hour_utc,
    h.tmp_tables_rate AS tmp_tables_rate,
    h.tmp_disk_tables_rate AS tmp_disk_tables_rate,
    h.tmp_files_rate AS tmp_files_rate,
    h.sort_merge_passes_rate AS sort_merge_passes_rate
FROM hourly h JOIN server s ON s.id = h.server_id;

-- Memory and swap of the host. hour_start is in unix seconds, hour_utc the same as text.

-- +goose Up
CREATE OR REPLACE VIEW v_memory AS
SELECT s.name AS server_name, s.group_path AS group_path, h.hour_start AS hour_start,
    TIMESTAMPADD(SECOND, h.hour_start, '1970-01-01 00:00:00') AS hour_utc,
    h.memory_total_bytes AS memory_total_bytes,
    h.memory_available_min AS memory_available_min,
    h.mysqld_resident_max AS mysqld_resident_max,
    h.swap_used_max AS swap_used_max,
    h.swap_in_rate AS swap_in_rate,
    h.swap_out_rate AS swap_out_rate
FROM hourly h JOIN server s ON s.id = h.server_id;

-- Work done without an index. hour_start is in unix seconds, hour_utc the same as text.

-- +goose Up
CREATE OR REPLACE VIEW v_scans AS
SELECT s.name AS server_name, s.group_path AS group_path, h.hour_start AS hour_start,
    TIMESTAMPADD(SECOND, h.hour_start, '1970-01-01 00:00:00') AS hour_utc,
    h.handler_read_rnd_next_rate AS handler_read_rnd_next_rate,
    h.select_scan_rate AS select_scan_rate,
    h.select_full_join_rate AS select_full_join_rate
FROM hourly h JOIN server s ON s.id = h.server_id;

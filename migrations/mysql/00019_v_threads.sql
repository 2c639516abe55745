-- Threads: running, cached, created. hour_start is in unix seconds, hour_utc the same as text.

-- +goose Up
CREATE OR REPLACE VIEW v_threads AS
SELECT s.name AS server_name, s.group_path AS group_path, h.hour_start AS hour_start,
    TIMESTAMPADD(SECOND, h.hour_start, '1970-01-01 00:00:00') AS hour_utc,
    h.threads_running_avg AS threads_running_avg,
    h.threads_running_max AS threads_running_max,
    h.threads_cached_avg AS threads_cached_avg,
    h.threads_created_rate AS threads_created_rate
FROM hourly h JOIN server s ON s.id = h.server_id;

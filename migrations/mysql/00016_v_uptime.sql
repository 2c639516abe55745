-- Availability and uptime. hour_start is in unix seconds, hour_utc the same as text.

-- +goose Up
CREATE OR REPLACE VIEW v_uptime AS
SELECT s.name AS server_name, s.group_path AS group_path, h.hour_start AS hour_start,
    TIMESTAMPADD(SECOND, h.hour_start, '1970-01-01 00:00:00') AS hour_utc,
    h.availability_percent AS availability_percent,
    h.uptime_seconds AS uptime_seconds
FROM hourly h JOIN server s ON s.id = h.server_id;

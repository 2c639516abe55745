-- Connections: open, new, failed. hour_start is in unix seconds, hour_utc the same as text.

-- +goose Up
CREATE OR REPLACE VIEW v_connections AS
SELECT s.name AS server_name, s.group_path AS group_path, h.hour_start AS hour_start,
    TIMESTAMPADD(SECOND, h.hour_start, '1970-01-01 00:00:00') AS hour_utc,
    h.threads_connected_avg AS threads_connected_avg,
    h.threads_connected_max AS threads_connected_max,
    h.max_used_connections AS max_used_connections,
    h.connections_rate AS connections_rate,
    h.aborted_connects_rate AS aborted_connects_rate,
    h.aborted_clients_rate AS aborted_clients_rate
FROM hourly h JOIN server s ON s.id = h.server_id;

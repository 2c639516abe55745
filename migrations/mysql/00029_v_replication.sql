-- Delay of the replica. hour_start is in unix seconds, hour_utc the same as text.

-- +goose Up
CREATE OR REPLACE VIEW v_replication AS
SELECT s.name AS server_name, s.group_path AS group_path, h.hour_start AS hour_start,
    TIMESTAMPADD(SECOND, h.hour_start, '1970-01-01 00:00:00') AS hour_utc,
    h.replica_delay_avg AS replica_delay_avg,
    h.replica_delay_max AS replica_delay_max
FROM hourly h JOIN server s ON s.id = h.server_id;

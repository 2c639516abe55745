-- Data, index and binary logs in bytes. hour_start is in unix seconds, hour_utc the same as text.

-- +goose Up
CREATE OR REPLACE VIEW v_data_size AS
SELECT s.name AS server_name, s.group_path AS group_path, h.hour_start AS hour_start,
    TIMESTAMPADD(SECOND, h.hour_start, '1970-01-01 00:00:00') AS hour_utc,
    h.data_bytes AS data_bytes,
    h.index_bytes AS index_bytes,
    h.binary_log_bytes AS binary_log_bytes
FROM hourly h JOIN server s ON s.id = h.server_id;

-- The query cache, where there is one. hour_start is in unix seconds, hour_utc the same as text.

-- +goose Up
CREATE OR REPLACE VIEW v_query_cache AS
SELECT s.name AS server_name, s.group_path AS group_path, h.hour_start AS hour_start,
    TIMESTAMPADD(SECOND, h.hour_start, '1970-01-01 00:00:00') AS hour_utc,
    h.query_cache_hits_rate AS query_cache_hits_rate,
    h.query_cache_inserts_rate AS query_cache_inserts_rate
FROM hourly h JOIN server s ON s.id = h.server_id;

-- Statements per second by kind. hour_start is in unix seconds, hour_utc the same as text.

-- +goose Up
CREATE OR REPLACE VIEW v_query_rate AS
SELECT s.name AS server_name, s.group_path AS group_path, h.hour_start AS hour_start,
    TIMESTAMPADD(SECOND, h.hour_start, '1970-01-01 00:00:00') AS hour_utc,
    h.questions_rate AS questions_rate,
    h.queries_rate AS queries_rate,
    h.slow_queries_rate AS slow_queries_rate,
    h.select_rate AS select_rate,
    h.insert_rate AS insert_rate,
    h.update_rate AS update_rate,
    h.delete_rate AS delete_rate,
    h.replace_rate AS replace_rate,
    h.commit_rate AS commit_rate,
    h.rollback_rate AS rollback_rate
FROM hourly h JOIN server s ON s.id = h.server_id;

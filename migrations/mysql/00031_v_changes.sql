-- Changes of texts and variables. at_ms is in unix milliseconds, at_utc the same as text.

-- +goose Up
CREATE OR REPLACE VIEW v_changes AS
SELECT s.name AS server_name, s.group_path AS group_path, c.at_ms AS at_ms,
    TIMESTAMPADD(SECOND, c.at_ms DIV 1000, '1970-01-01 00:00:00') AS at_utc,
    m.name AS metric_name, m.instance AS instance, c.from_text AS from_text, c.to_text AS to_text, c.flags AS flags
FROM text_change c JOIN server s ON s.id = c.server_id JOIN metric m ON m.id = c.metric_id;

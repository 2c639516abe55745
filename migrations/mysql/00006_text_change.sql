-- Texts and variables as steps: what a name was and what it became. flags: 1 first sight, 2 gone.

-- +goose Up
CREATE TABLE IF NOT EXISTS text_change (
    id BIGINT NOT NULL AUTO_INCREMENT,
    server_id BIGINT NOT NULL,
    metric_id BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    flags TINYINT NOT NULL,
    from_text MEDIUMTEXT NOT NULL,
    to_text MEDIUMTEXT NOT NULL,
    PRIMARY KEY (id),
    KEY text_change_metric (server_id, metric_id, at_ms, id),
    KEY text_change_time (server_id, at_ms, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

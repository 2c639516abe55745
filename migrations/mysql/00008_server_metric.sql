-- Which metrics a server has had, and when.

-- +goose Up
CREATE TABLE IF NOT EXISTS server_metric (
    server_id BIGINT NOT NULL,
    metric_id BIGINT NOT NULL,
    first_ms BIGINT NOT NULL,
    last_ms BIGINT NOT NULL,
    PRIMARY KEY (server_id, metric_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

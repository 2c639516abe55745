-- The newest answer of each collector, so that pages are full after a restart.

-- +goose Up
CREATE TABLE IF NOT EXISTS latest (
    server_id BIGINT NOT NULL,
    part VARCHAR(64) NOT NULL,
    at_ms BIGINT NOT NULL,
    payload MEDIUMBLOB NOT NULL,
    PRIMARY KEY (server_id, part)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- The dictionary of metrics, shared by all servers.

-- +goose Up
CREATE TABLE IF NOT EXISTS metric (
    id BIGINT NOT NULL,
    name VARCHAR(255) NOT NULL,
    instance VARCHAR(255) NOT NULL,
    kind TINYINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT metric_name UNIQUE (name, instance)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

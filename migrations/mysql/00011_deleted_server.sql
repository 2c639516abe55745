-- Servers that were removed and whose history is still being purged.

-- +goose Up
CREATE TABLE IF NOT EXISTS deleted_server (
    server_id BIGINT NOT NULL PRIMARY KEY,
    deleted_ms BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

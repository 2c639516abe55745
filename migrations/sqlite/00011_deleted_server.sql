-- Servers that were removed and whose history is still being purged.

-- +goose Up
CREATE TABLE deleted_server (
    server_id INTEGER NOT NULL PRIMARY KEY,
    deleted_ms INTEGER NOT NULL
);

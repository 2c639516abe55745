-- Planned times in which alerts are told to nobody. body is JSON.

-- +goose Up
CREATE TABLE maintenance (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    server_id INTEGER NOT NULL,
    group_path TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX maintenance_of_server ON maintenance (server_id, id);

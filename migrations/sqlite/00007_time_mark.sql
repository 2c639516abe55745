-- Events on the time axis. server_id 0: a note for group_path, or for everything.

-- +goose Up
CREATE TABLE time_mark (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    server_id INTEGER NOT NULL,
    group_path TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX time_mark_time ON time_mark (server_id, at_ms);

-- A way to reach people or programs. config is JSON; secrets is sealed JSON, NULL where there are none.

-- +goose Up
CREATE TABLE notify_channel (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    config TEXT NOT NULL,
    secrets BLOB,
    failing TEXT NOT NULL,
    failing_ms INTEGER NOT NULL,
    sent_ms INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    CONSTRAINT notify_channel_name UNIQUE (name)
);

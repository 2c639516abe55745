-- Who is told of what, and when. body is JSON.

-- +goose Up
CREATE TABLE subscription (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    channel_id INTEGER NOT NULL,
    enabled INTEGER NOT NULL,
    body TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    CONSTRAINT subscription_name UNIQUE (name)
);
CREATE INDEX subscription_channel ON subscription (channel_id, id);

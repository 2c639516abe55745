-- Texts and variables as steps: what a name was and what it became. flags: 1 first sight, 2 gone.

-- +goose Up
CREATE TABLE text_change (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    server_id INTEGER NOT NULL,
    metric_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    from_text TEXT NOT NULL,
    to_text TEXT NOT NULL
);
CREATE INDEX text_change_metric ON text_change (server_id, metric_id, at_ms, id);
CREATE INDEX text_change_time ON text_change (server_id, at_ms, id);

-- What is not told to people until to_ms; 0: until the alert closes.

-- +goose Up
CREATE TABLE silence (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    alert_id INTEGER NOT NULL,
    server_id INTEGER NOT NULL,
    group_path TEXT NOT NULL,
    rule_id TEXT NOT NULL,
    from_ms INTEGER NOT NULL,
    to_ms INTEGER NOT NULL,
    made_by TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX silence_end ON silence (to_ms);
CREATE INDEX silence_of_server ON silence (server_id, id);

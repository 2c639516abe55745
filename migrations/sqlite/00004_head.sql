-- The newest polls, one row each, in the order in which they came; packed rows are deleted from the low end of the key.

-- +goose Up
CREATE TABLE head (
    id INTEGER PRIMARY KEY,
    server_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    payload BLOB NOT NULL
);

-- The newest answer of each collector, so that pages are full after a restart.

-- +goose Up
CREATE TABLE latest (
    server_id INTEGER NOT NULL,
    part TEXT NOT NULL,
    at_ms INTEGER NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (server_id, part)
);

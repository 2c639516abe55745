-- Packed history: a column block of a server, tier (0 raw, 1 ten minutes, 2 one hour) and start.

-- +goose Up
CREATE TABLE history_block (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    server_id INTEGER NOT NULL,
    tier INTEGER NOT NULL,
    start_ms INTEGER NOT NULL,
    part INTEGER NOT NULL,
    first_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    polls INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    payload BLOB NOT NULL,
    CONSTRAINT history_block_place UNIQUE (server_id, tier, start_ms, part)
);
CREATE INDEX history_block_age ON history_block (tier, last_ms, server_id, bytes);

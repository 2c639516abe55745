-- How far each server got: its last poll, and up to which poll the head is packed. head_id: the key of that poll.

-- +goose Up
CREATE TABLE progress (
    server_id INTEGER NOT NULL PRIMARY KEY,
    packed_seq INTEGER NOT NULL,
    packed_ms INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    run INTEGER NOT NULL,
    head_id INTEGER NOT NULL
);

-- How far each server got: its last poll, and up to which poll the head is packed. head_id: the key of that poll.

-- +goose Up
CREATE TABLE IF NOT EXISTS progress (
    server_id BIGINT NOT NULL PRIMARY KEY,
    packed_seq BIGINT NOT NULL,
    packed_ms BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    run BIGINT NOT NULL,
    head_id BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

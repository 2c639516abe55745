-- Packed history: a column block of a server, tier (0 raw, 1 ten minutes, 2 one hour) and start.

-- +goose Up
CREATE TABLE IF NOT EXISTS history_block (
    id BIGINT NOT NULL AUTO_INCREMENT,
    server_id BIGINT NOT NULL,
    tier TINYINT NOT NULL,
    start_ms BIGINT NOT NULL,
    part INT NOT NULL,
    first_ms BIGINT NOT NULL,
    last_ms BIGINT NOT NULL,
    first_seq BIGINT NOT NULL,
    last_seq BIGINT NOT NULL,
    polls INT NOT NULL,
    bytes INT NOT NULL,
    payload MEDIUMBLOB NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT history_block_place UNIQUE (server_id, tier, start_ms, part),
    KEY history_block_age (tier, last_ms, server_id, bytes)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

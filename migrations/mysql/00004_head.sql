-- The newest polls, one row each, in the order in which they came; packed rows are deleted from the low end of the key.

-- +goose Up
CREATE TABLE IF NOT EXISTS head (
    id BIGINT NOT NULL,
    server_id BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    payload MEDIUMBLOB NOT NULL,
    PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

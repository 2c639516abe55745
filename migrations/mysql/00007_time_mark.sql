-- Events on the time axis. server_id 0: a note for group_path, or for everything.

-- +goose Up
CREATE TABLE IF NOT EXISTS time_mark (
    id BIGINT NOT NULL AUTO_INCREMENT,
    server_id BIGINT NOT NULL,
    group_path VARCHAR(255) NOT NULL,
    at_ms BIGINT NOT NULL,
    kind VARCHAR(16) NOT NULL,
    body MEDIUMTEXT NOT NULL,
    PRIMARY KEY (id),
    KEY time_mark_time (server_id, at_ms)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What the rule engine remembers of a server over a restart. server_id 0: the monitor itself.

-- +goose Up
CREATE TABLE IF NOT EXISTS alert_state (
    server_id BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    payload MEDIUMBLOB NOT NULL,
    PRIMARY KEY (server_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What the rule engine remembers of a server over a restart. server_id 0: the monitor itself.

-- +goose Up
CREATE TABLE alert_state (
    server_id INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (server_id)
);

-- Which metrics a server has had, and when.

-- +goose Up
CREATE TABLE server_metric (
    server_id INTEGER NOT NULL,
    metric_id INTEGER NOT NULL,
    first_ms INTEGER NOT NULL,
    last_ms INTEGER NOT NULL,
    PRIMARY KEY (server_id, metric_id)
);

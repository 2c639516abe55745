-- The dictionary of metrics, shared by all servers.

-- +goose Up
CREATE TABLE metric (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    instance TEXT NOT NULL,
    kind INTEGER NOT NULL,
    CONSTRAINT metric_name UNIQUE (name, instance)
);

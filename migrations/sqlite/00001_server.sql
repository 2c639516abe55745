-- A watched server. Attributes that people set are one JSON document; the password is sealed.

-- +goose Up
CREATE TABLE server (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    group_path TEXT NOT NULL,
    sort_order INTEGER NOT NULL,
    address TEXT NOT NULL,
    attributes TEXT NOT NULL,
    password BLOB,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    CONSTRAINT server_name UNIQUE (name)
);

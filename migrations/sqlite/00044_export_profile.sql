-- Exports under a name. body is JSON.

-- +goose Up
CREATE TABLE export_profile (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    CONSTRAINT export_profile_name UNIQUE (name)
);

-- Settings by name.

-- +goose Up
CREATE TABLE setting (
    name TEXT NOT NULL PRIMARY KEY,
    body TEXT NOT NULL
);

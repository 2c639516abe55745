-- Graphs that people made.

-- +goose Up
CREATE TABLE saved_graph (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    title TEXT NOT NULL,
    definition TEXT NOT NULL,
    servers TEXT NOT NULL,
    page TEXT NOT NULL,
    sort_order INTEGER NOT NULL,
    created_ms INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL
);

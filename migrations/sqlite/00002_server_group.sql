-- A node of the tree that servers stand in.

-- +goose Up
CREATE TABLE server_group (
    path TEXT NOT NULL PRIMARY KEY,
    sort_order INTEGER NOT NULL,
    attributes TEXT NOT NULL
);

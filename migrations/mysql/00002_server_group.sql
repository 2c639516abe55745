-- A node of the tree that servers stand in.

-- +goose Up
CREATE TABLE IF NOT EXISTS server_group (
    path VARCHAR(255) NOT NULL PRIMARY KEY,
    sort_order INT NOT NULL,
    attributes MEDIUMTEXT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

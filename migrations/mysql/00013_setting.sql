-- Settings by name.

-- +goose Up
CREATE TABLE IF NOT EXISTS setting (
    name VARCHAR(128) NOT NULL PRIMARY KEY,
    body MEDIUMTEXT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Graphs that people made.

-- +goose Up
CREATE TABLE IF NOT EXISTS saved_graph (
    id BIGINT NOT NULL AUTO_INCREMENT,
    title VARCHAR(255) NOT NULL,
    definition MEDIUMTEXT NOT NULL,
    servers MEDIUMTEXT NOT NULL,
    page VARCHAR(64) NOT NULL,
    sort_order INT NOT NULL,
    created_ms BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL,
    PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

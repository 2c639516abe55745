-- Planned times in which alerts are told to nobody. body is JSON.

-- +goose Up
CREATE TABLE IF NOT EXISTS maintenance (
    id BIGINT NOT NULL AUTO_INCREMENT,
    server_id BIGINT NOT NULL,
    group_path VARCHAR(255) NOT NULL,
    body MEDIUMTEXT NOT NULL,
    PRIMARY KEY (id),
    KEY maintenance_of_server (server_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

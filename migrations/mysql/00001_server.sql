-- A watched server. Attributes that people set are one JSON document; the password is sealed.

-- +goose Up
CREATE TABLE IF NOT EXISTS server (
    id BIGINT NOT NULL AUTO_INCREMENT,
    name VARCHAR(128) NOT NULL,
    group_path VARCHAR(255) NOT NULL,
    sort_order INT NOT NULL,
    address VARCHAR(512) NOT NULL,
    attributes MEDIUMTEXT NOT NULL,
    password VARBINARY(1024),
    created_ms BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT server_name UNIQUE (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Texts that people put in the place of built-in templates of messages.

-- +goose Up
CREATE TABLE IF NOT EXISTS message_template (
    name VARCHAR(128) NOT NULL,
    source MEDIUMTEXT NOT NULL,
    made_by VARCHAR(255) NOT NULL,
    updated_ms BIGINT NOT NULL,
    PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Who is told of what, and when. body is JSON.

-- +goose Up
CREATE TABLE IF NOT EXISTS subscription (
    id BIGINT NOT NULL AUTO_INCREMENT,
    name VARCHAR(128) NOT NULL,
    channel_id BIGINT NOT NULL,
    enabled TINYINT NOT NULL,
    body MEDIUMTEXT NOT NULL,
    created_ms BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT subscription_name UNIQUE (name),
    KEY subscription_channel (channel_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

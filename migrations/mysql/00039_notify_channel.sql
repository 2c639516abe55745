-- A way to reach people or programs. config is JSON; secrets is sealed JSON, NULL where there are none.

-- +goose Up
CREATE TABLE IF NOT EXISTS notify_channel (
    id BIGINT NOT NULL AUTO_INCREMENT,
    name VARCHAR(128) NOT NULL,
    kind VARCHAR(64) NOT NULL,
    enabled TINYINT NOT NULL,
    config MEDIUMTEXT NOT NULL,
    secrets BLOB,
    failing MEDIUMTEXT NOT NULL,
    failing_ms BIGINT NOT NULL,
    sent_ms BIGINT NOT NULL,
    created_ms BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT notify_channel_name UNIQUE (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

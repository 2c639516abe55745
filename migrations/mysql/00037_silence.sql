-- What is not told to people until to_ms; 0: until the alert closes.

-- +goose Up
CREATE TABLE IF NOT EXISTS silence (
    id BIGINT NOT NULL AUTO_INCREMENT,
    alert_id BIGINT NOT NULL,
    server_id BIGINT NOT NULL,
    group_path VARCHAR(255) NOT NULL,
    rule_id VARCHAR(128) NOT NULL,
    from_ms BIGINT NOT NULL,
    to_ms BIGINT NOT NULL,
    made_by VARCHAR(255) NOT NULL,
    body MEDIUMTEXT NOT NULL,
    PRIMARY KEY (id),
    KEY silence_end (to_ms),
    KEY silence_of_server (server_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- What people changed of a rule for a server, a group, or (0 and '') everywhere.

-- +goose Up
CREATE TABLE IF NOT EXISTS rule_setting (
    rule_id VARCHAR(128) NOT NULL,
    server_id BIGINT NOT NULL,
    group_path VARCHAR(255) NOT NULL,
    body MEDIUMTEXT NOT NULL,
    PRIMARY KEY (rule_id, server_id, group_path),
    KEY rule_setting_of_server (server_id, rule_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- An episode of a rule on one instance of a server: from its opening to its closing, which is 0 while it is open. Times are
-- unix ms, levels 1 info, 2 warn, 3 critical. server_id 0: the monitor itself. body is JSON.

-- +goose Up
CREATE TABLE IF NOT EXISTS alert (
    id BIGINT NOT NULL AUTO_INCREMENT,
    server_id BIGINT NOT NULL,
    rule_id VARCHAR(128) NOT NULL,
    instance MEDIUMTEXT NOT NULL,
    category VARCHAR(64) NOT NULL,
    level TINYINT NOT NULL,
    peak TINYINT NOT NULL,
    opened_ms BIGINT NOT NULL,
    changed_ms BIGINT NOT NULL,
    closed_ms BIGINT NOT NULL,
    reason VARCHAR(32) NOT NULL,
    parent_id BIGINT NOT NULL,
    body MEDIUMTEXT NOT NULL,
    PRIMARY KEY (id),
    KEY alert_open (closed_ms, level, id),
    KEY alert_of_server (server_id, closed_ms, id),
    KEY alert_of_rule (rule_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

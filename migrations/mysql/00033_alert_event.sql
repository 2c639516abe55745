-- What happened to alerts. grade is the level that feeds sort by: of a closing that of the alert before it.

-- +goose Up
CREATE TABLE IF NOT EXISTS alert_event (
    id BIGINT NOT NULL AUTO_INCREMENT,
    alert_id BIGINT NOT NULL,
    server_id BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    kind VARCHAR(16) NOT NULL,
    level TINYINT NOT NULL,
    grade TINYINT NOT NULL,
    made_by VARCHAR(255) NOT NULL,
    body MEDIUMTEXT NOT NULL,
    quiet MEDIUMTEXT NOT NULL,
    PRIMARY KEY (id),
    KEY alert_event_of_alert (alert_id, id),
    KEY alert_event_feed (grade, id),
    KEY alert_event_of_server (server_id, grade, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

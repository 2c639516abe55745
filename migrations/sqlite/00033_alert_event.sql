-- What happened to alerts. grade is the level that feeds sort by: of a closing that of the alert before it.

-- +goose Up
CREATE TABLE alert_event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    alert_id INTEGER NOT NULL,
    server_id INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    kind TEXT NOT NULL,
    level INTEGER NOT NULL,
    grade INTEGER NOT NULL,
    made_by TEXT NOT NULL,
    body TEXT NOT NULL,
    quiet TEXT NOT NULL
);
CREATE INDEX alert_event_of_alert ON alert_event (alert_id, id);
CREATE INDEX alert_event_feed ON alert_event (grade, id);
CREATE INDEX alert_event_of_server ON alert_event (server_id, grade, id);

-- An episode of a rule on one instance of a server: from its opening to its closing, which is 0 while it is open. Times are
-- unix ms, levels 1 info, 2 warn, 3 critical. server_id 0: the monitor itself. body is JSON.

-- +goose Up
CREATE TABLE alert (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    server_id INTEGER NOT NULL,
    rule_id TEXT NOT NULL,
    instance TEXT NOT NULL,
    category TEXT NOT NULL,
    level INTEGER NOT NULL,
    peak INTEGER NOT NULL,
    opened_ms INTEGER NOT NULL,
    changed_ms INTEGER NOT NULL,
    closed_ms INTEGER NOT NULL,
    reason TEXT NOT NULL,
    parent_id INTEGER NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX alert_open ON alert (closed_ms, level, id);
CREATE INDEX alert_of_server ON alert (server_id, closed_ms, id);
CREATE INDEX alert_of_rule ON alert (rule_id, id);

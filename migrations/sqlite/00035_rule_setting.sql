-- What people changed of a rule for a server, a group, or (0 and '') everywhere.

-- +goose Up
CREATE TABLE rule_setting (
    rule_id TEXT NOT NULL,
    server_id INTEGER NOT NULL,
    group_path TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (rule_id, server_id, group_path)
);
CREATE INDEX rule_setting_of_server ON rule_setting (server_id, rule_id);

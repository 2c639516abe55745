-- Rules that people made, each change a version. gone: the rule was removed with it.

-- +goose Up
CREATE TABLE own_rule (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    rule_id TEXT NOT NULL,
    version_no INTEGER NOT NULL,
    source TEXT NOT NULL,
    made_by TEXT NOT NULL,
    made_ms INTEGER NOT NULL,
    gone INTEGER NOT NULL,
    CONSTRAINT own_rule_version UNIQUE (rule_id, version_no)
);

-- Texts that people put in the place of built-in templates of messages.

-- +goose Up
CREATE TABLE message_template (
    name TEXT NOT NULL,
    source TEXT NOT NULL,
    made_by TEXT NOT NULL,
    updated_ms INTEGER NOT NULL,
    PRIMARY KEY (name)
);

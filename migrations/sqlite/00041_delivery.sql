-- The outbox: one message to one channel. due_ms is when it is to be sent, while it is claimed when the lease ends, and once it
-- is finished when that was.

-- +goose Up
CREATE TABLE delivery (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    channel_id INTEGER NOT NULL,
    subscription_id INTEGER NOT NULL,
    event_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    thread_key TEXT NOT NULL,
    state TEXT NOT NULL,
    finished INTEGER NOT NULL,
    due_ms INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    worker TEXT NOT NULL,
    created_ms INTEGER NOT NULL,
    answer TEXT NOT NULL,
    payload BLOB NOT NULL
);
CREATE INDEX delivery_due ON delivery (finished, due_ms, id);
CREATE INDEX delivery_of_channel ON delivery (channel_id, id);

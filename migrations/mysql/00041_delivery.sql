-- The outbox: one message to one channel. due_ms is when it is to be sent, while it is claimed when the lease ends, and once it
-- is finished when that was.

-- +goose Up
CREATE TABLE IF NOT EXISTS delivery (
    id BIGINT NOT NULL AUTO_INCREMENT,
    channel_id BIGINT NOT NULL,
    subscription_id BIGINT NOT NULL,
    event_id BIGINT NOT NULL,
    kind VARCHAR(16) NOT NULL,
    thread_key VARCHAR(255) NOT NULL,
    state VARCHAR(16) NOT NULL,
    finished TINYINT NOT NULL,
    due_ms BIGINT NOT NULL,
    attempts INT NOT NULL,
    worker VARCHAR(128) NOT NULL,
    created_ms BIGINT NOT NULL,
    answer MEDIUMTEXT NOT NULL,
    payload MEDIUMBLOB NOT NULL,
    PRIMARY KEY (id),
    KEY delivery_due (finished, due_ms, id),
    KEY delivery_of_channel (channel_id, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Which alerts a message speaks of. place 0 is the one that it is about.

-- +goose Up
CREATE TABLE IF NOT EXISTS delivery_alert (
    alert_id BIGINT NOT NULL,
    delivery_id BIGINT NOT NULL,
    place INT NOT NULL,
    PRIMARY KEY (delivery_id, place),
    KEY delivery_alert_of_alert (alert_id, delivery_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Which alerts a message speaks of. place 0 is the one that it is about.

-- +goose Up
CREATE TABLE delivery_alert (
    alert_id INTEGER NOT NULL,
    delivery_id INTEGER NOT NULL,
    place INTEGER NOT NULL,
    PRIMARY KEY (delivery_id, place)
);
CREATE INDEX delivery_alert_of_alert ON delivery_alert (alert_id, delivery_id);

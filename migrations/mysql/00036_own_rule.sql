-- Rules that people made, each change a version. gone: the rule was removed with it.

-- +goose Up
CREATE TABLE IF NOT EXISTS own_rule (
    id BIGINT NOT NULL AUTO_INCREMENT,
    rule_id VARCHAR(128) NOT NULL,
    version_no INT NOT NULL,
    source MEDIUMTEXT NOT NULL,
    made_by VARCHAR(255) NOT NULL,
    made_ms BIGINT NOT NULL,
    gone TINYINT NOT NULL,
    PRIMARY KEY (id),
    CONSTRAINT own_rule_version UNIQUE (rule_id, version_no)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

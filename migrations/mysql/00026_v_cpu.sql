-- Processor use and load of the host. hour_start is in unix seconds, hour_utc the same as text.

-- +goose Up
CREATE OR REPLACE VIEW v_cpu AS
SELECT s.name AS server_name, s.group_path AS group_path, h.hour_start AS hour_start,
    TIMESTAMPADD(SECOND, h.hour_start, '1970-01-01 00:00:00') AS hour_utc,
    h.cpu_user_percent AS cpu_user_percent,
    h.cpu_system_percent AS cpu_system_percent,
    h.cpu_iowait_percent AS cpu_iowait_percent,
    h.load1_avg AS load1_avg,
    h.load1_max AS load1_max
FROM hourly h JOIN server s ON s.id = h.server_id;

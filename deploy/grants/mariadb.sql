-- The account that Monolith uses on MariaDB 10.5 and later; on older ones take the file for MySQL 5.6. Choose a password, and
-- the host that Monolith comes from instead of %. Nothing here lets anybody read or change user data.
CREATE USER 'monolith'@'%' IDENTIFIED BY 'choose one' WITH MAX_USER_CONNECTIONS 5;
-- SHOW VIEW makes tables visible for the sizes, REFERENCES the types of their columns; neither lets anybody read them.
GRANT PROCESS, BINLOG MONITOR, SLAVE MONITOR, SHOW VIEW, REFERENCES ON *.* TO 'monolith'@'%';
-- Where performance_schema is on: failed connections by client, and which statements cost most.
GRANT SELECT ON performance_schema.* TO 'monolith'@'%';
-- For the page of accounts: who may log in how. No hash is ever read.
GRANT SELECT ON mysql.* TO 'monolith'@'%';

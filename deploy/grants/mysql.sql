-- The account that Monolith uses on MySQL 5.7 and later, Percona Server and Aurora. Choose a password, and the host
-- that Monolith comes from instead of %. Nothing here lets anybody read or change user data.
CREATE USER 'monolith'@'%' IDENTIFIED BY 'choose one' WITH MAX_USER_CONNECTIONS 5;
-- SHOW VIEW makes tables visible for the sizes, REFERENCES the types of their columns; neither lets anybody read them.
GRANT PROCESS, REPLICATION CLIENT, SHOW VIEW, REFERENCES ON *.* TO 'monolith'@'%';
GRANT SELECT ON performance_schema.* TO 'monolith'@'%';
-- For the page of accounts: who may log in how. No hash is ever read.
GRANT SELECT ON mysql.* TO 'monolith'@'%';

// Package mysqltest starts private, real MariaDB and MySQL servers: for tests, and for the playground
// that "make run" shows. Nothing that already runs on the machine is touched: every server has its own
// folder, a free port on 127.0.0.1, and dies with the program that started it.
//
// Tests use [Shared] where a schema of their own is enough, and [MariaDB], [MySQL56] and [Replica] where
// they restart, stop or reconfigure the server:
//
//	primary := mysqltest.MariaDB(t)
//	replica := mysqltest.Replica(t, primary)
//	replica.Exec(t, "STOP SLAVE SQL_THREAD")
//
// When a server program is not installed, the test is skipped with the way to get it; with
// MONOLITH_REQUIRE_REAL=1 it fails instead, so that a green run cannot mean "skipped".
//
// The core ([Launch], [Spec], [Process]) knows nothing of package testing's T.
package mysqltest

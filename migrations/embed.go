// Package migrations holds the schema of the store as numbered SQL files, one folder for each engine.
// The same number makes the same change in both. They only go up: the way back is a backup.
//
// On MySQL a DDL statement commits by itself, so a file there holds one: a failure leaves nothing
// half done within a number. A crash between the statement and the note of its number leaves it done: it can
// be run again.
package migrations

import "embed"

// FS holds the folders "mysql" and "sqlite".
//
//go:embed mysql/*.sql sqlite/*.sql
var FS embed.FS

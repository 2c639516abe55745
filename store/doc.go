// Package store is the only SQL over Monolith's own database: the servers and groups that people set
// up, the history of every value, the timeline of texts and marks, saved graphs and settings.
//
// One SQL text serves both engines, an embedded SQLite file and a MySQL or MariaDB server; where they
// differ, a small [dialect] stands between. Times are integers made in Go: unix milliseconds.
//
// # How a poll becomes durable
//
// [DB.Append] encodes what changed since the poll before into the server's tail, which is memory, and
// into a queue. [DB.Run] commits the queue of all servers in one transaction a second. What can't be
// committed stays in the queue, bounded by bytes; when it is full the oldest polls are dropped, counted
// and reported. After 360 polls, or an hour, a tail is packed into a column block, its roll-ups are
// rewritten and its head rows deleted, all in one transaction.
//
// A read takes the newest part from the tail and the rest from blocks, so a graph of the last hour
// touches no SQL.
//
// One process works with a store, from [Open] to [DB.Close]: memory holds what the store lacks yet, and numbers
// for what comes next. What can't be read any more is a gap in what [DB.Read] gives, and no error.
//
// A poller that comes back after a restart asks [DB.Resume] where it stood. Everything is keyed by the
// server's internal id: renaming or moving a server breaks no graph.
package store

// Package poller reads monitored servers: it schedules polls, keeps one connection to each server, runs
// the collectors on it and hands what they read on as [monolith.Snapshot]s.
//
// The order of things in one poll:
//
//	planner   turns schedules into moments; each server has its own place within a schedule's interval
//	target    one server: one goroutine, one poll in flight, skipped ones counted
//	poll      connects when needed, asks the status first, then every collector that is due
//	session   the connection: statements take turns, are bounded on both sides and counted
//	Gather    what a collector works with; its Recorder turns names and values into a section
//	explain   says what an error means and what mends it
//
// Nothing here knows the store, the pages or the rules: they are handlers of snapshots, given by whoever
// makes the [Poller].
package poller

// Package alerts is the place of the rule engine: it judges snapshots by rules that are data
// (rules/*.yaml, in the formula language), keeps the state of each rule, server and instance, and hands
// events to the channels in notify/. It will import the root package, formula and graph, get its
// snapshots as one more handler of the poller, and be joined to the store by cmd/monolith.
//
// Nothing of it is built yet.
package alerts

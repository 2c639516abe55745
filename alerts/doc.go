// Package alerts is the rule engine: it judges snapshots by rules that are data (rules/*.yaml, in the formula
// language), keeps the state of each rule, server and instance, and makes alerts and events of it.
//
//   - [Catalogue] holds compiled rules. [Load] reads rule files; a mistake in one refuses it whole.
//   - [Engine] is the pure core: it takes the time as an argument and touches no clock, store, network or logger.
//   - [Fleet] looks over all servers: causes speak for what follows from them.
//   - [Service] joins the engine with a [Store] and a [History], and is what pages and the API use.
//   - [RunTests] runs the tests that stand beside the rules, the whole path from polls to states.
//
// The rules for quiet times are pure functions: [InMaintenance], [NextMaintenance].
package alerts

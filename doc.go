// Package monolith holds the nouns of the product: a watched [Server], the [Snapshot] that one
// poll of it gives, the [Names] and [Num] values inside, the [Change] and [Mark] records that make
// up its timeline, and the few pure rules that every other package must agree on: which values are
// counters ([KindOf]), when two readings of a counter may be subtracted ([Increase]), how a version
// text is read ([ParseVersion]).
//
// It imports the standard library only and does no I/O, so everything may import it.
package monolith

// Package history is the block codec of the history store and the arithmetic on what it holds. It is
// pure: bytes and numbers in, bytes and numbers out, no SQL, no clock, no goroutine, no package state.
//
// History passes through three forms.
//
// The head holds one small payload a poll. An [Encoder], one a server, writes what changed since the
// poll before; a [Tail] replays payloads in order. A collector that did not run in a poll is not in
// its payload and costs nothing: its metrics are absent in that row, which is not the same as unchanged.
//
//	enc := history.NewEncoder()
//	payload = enc.Append(payload[:0], history.RowOf(snap), sections)
//
// A raw block holds an hour of polls in columns: [Marshal] makes one of anything that is [Polls] (a Tail, an
// opened block), [Open] reads it, and [Reader.Column] decodes one metric and touches nothing else.
//
// A tier block holds figures per metric and bucket of 10 minutes or an hour, see [Cell]. [Rollup] makes
// them of raw polls, [Tier.Coarsen] makes longer buckets of shorter ones, [MarshalTier] adds them to a
// block that exists, [OpenTier] reads it.
//
//	ten, err := history.Rollup(before, polls, name, 10*time.Minute)
//	hour, err := ten.Coarsen(time.Hour)
//	block, err = history.MarshalTier(old, ten.Within(day, day.AddDate(0, 0, 1)))
//
// A [Grid] turns any of these into the equal steps of a [monolith.Range], each metric on a [Line]:
//
//	grid := history.NewGrid(from, to, step)
//	line := grid.Line(metric, history.LineOptions{})
//	grid.Rows(reader.Rows())          // once a block, oldest block first
//	line.Column(column)               // this metric's column of that block
//	series, ok := line.Series()
//
// # Time
//
// Times are milliseconds since 1970 unless their type says otherwise. A reading at t speaks for the time before
// it: it belongs to the bucket [b, b+step) in which t−1ms lies, so that the pair of readings (b, b+10s]
// of a counter falls wholly into the bucket that begins at b.
//
// # Pairs
//
// The difference of two readings of a counter is taken by [monolith.Increase] and by nothing else. A pair
// is two consecutive rows in which the metric has a value. Their distance is measured on a clock
// made by adding up Row.Elapsed, whatever the wall clock did meanwhile; see [Row]. The
// interval that limits the gap is the rows' own, or the distance at which the metric is really
// read where that is longer: the Every that the caller knows, or else the lesser of its last two
// distances. A counter that is read each hour so pairs from its fourth reading on, while an hour
// without readings of a counter that is read each 10 s stays a gap.
//
// # Cost
//
// What a day of one server takes is printed by
//
//	MONOLITH_TRACES=folder go test ./store/history -run '^$' -bench Day -benchtime 1x
//
// and the processor time of the hot paths by the other benchmarks. A tail takes 16 bytes a value and an opened
// block about four times its size; a tier block is rewritten a metric at a time, which for a whole month of hours
// takes as long as opening and packing some ten raw blocks. Whoever packs blocks of a few minutes should
// gather several before rewriting the tiers.
package history

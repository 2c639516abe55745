package history

import (
	"monolith"
)

// MetricID stands for a [monolith.Metric] in the store's dictionary. The smaller and closer the ids of a
// server's metrics are, the less a block's directory takes.
type MetricID uint32

// Row holds the facts of one poll.
//
// Rows form one clock per server: a polled row lies Elapsed after the polled row before it. A polled row
// with Elapsed 0, the first one after Monolith started, has an unknown distance and pairs with nothing
// before it. A row that is not polled (the server did not answer, only host values are there) lies as far after the last one as
// its At says. Where Seq jumps, rows may be missing, and the longer of Elapsed and the distance in At counts.
type Row struct {
	At       int64  // ms since 1970, the scheduled moment
	Elapsed  int64  // ms since the status statement before, monotonic; 0 unknown
	Interval int64  // ms between polls by the schedule in force
	Seq      uint64 // grows with each poll
	Run      uint32 // see [monolith.Point]
	Polled   bool   // the server's status was read
}

// RowOf takes a poll's facts from its snapshot, times rounded to the millisecond.
func RowOf(s *monolith.Snapshot) Row {
	return Row{
		At:       s.At.UnixMilli(),
		Elapsed:  (s.Elapsed.Microseconds() + 500) / 1000,
		Interval: (s.Interval.Microseconds() + 500) / 1000,
		Seq:      s.Seq,
		Run:      s.Run,
		Polled:   s.Polled,
	}
}

// Section is what one collector read, with the ids of its names. The store keeps one IDs slice per
// *monolith.Names and passes the same slice each time: an unchanged slice is recognised by its address.
type Section struct {
	IDs  []MetricID
	Nums []monolith.Num // as long as IDs; the zero Num where there was no value
}

// Polls is a run of polls in columns: a [Tail] or an opened block.
type Polls interface {
	// Rows gives the polls, oldest first. The slice belongs to the Polls.
	Rows() []Row
	// IDs gives the metrics that have a value in at least one row, ascending. The slice belongs to the Polls.
	IDs() []MetricID
	// Column gives a metric's values, one for each row and the zero Num where it has none, in dst's memory
	// where that is large enough. A metric that is not there gives an empty slice.
	Column(id MetricID, dst []monolith.Num) ([]monolith.Num, error)
}

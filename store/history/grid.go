package history

import (
	"time"

	"monolith"
)

// Grid lays readings out in equal steps. It and its lines are not safe for concurrent use.
type Grid struct{}

// NewGrid makes a grid of steps that are multiples of step since 1970 and cover [from, to). The caller bounds
// their number. step is at least a millisecond.
func NewGrid(from, to time.Time, step time.Duration) *Grid { return &Grid{} }

// Range gives the grid's Start, Step and N, with no series yet.
func (g *Grid) Range() monolith.Range { return monolith.Range{} }

// Rows tells the grid the rows of the next raw block. Blocks come oldest first; the rows before and after the
// grid that make the pairs which cross its ends should be among them. [Line.Column] calls follow.
func (g *Grid) Rows(rows []Row) {}

// LineOptions says what the caller knows of a metric's schedule.
type LineOptions struct {
	// Hold is how long after a reading a gauge keeps its value where no other reading came: the schedule's distance
	// and a bit more, for what is read less often than each poll. 0: a reading speaks only for the poll interval before it.
	Hold time.Duration
	// Every is the schedule's distance of a counter that is read less often than each poll; 0: not known.
	Every time.Duration
}

// Line collects one metric on a grid.
type Line struct{}

// Line begins a metric.
func (g *Grid) Line(m monolith.Metric, o LineOptions) *Line { return &Line{} }

// Column adds the metric's column of the rows last given to [Grid.Rows].
func (l *Line) Column(nums []monolith.Num) {}

// Cells adds cells of a tier, in order of time. Cells and columns may follow each other, as long as no
// time is given twice.
func (l *Line) Cells(step time.Duration, cells []Cell) {}

// Steps adds a variable's or text's steps, oldest first. Texts that are numbers fill the gauge slices up to until.
func (l *Line) Steps(steps []monolith.TextStep, until time.Time) {}

// Series gives the result. ok is false when nothing fell on the grid.
func (l *Line) Series() (s monolith.Series, ok bool) { return monolith.Series{}, false }

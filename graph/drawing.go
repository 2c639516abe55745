package graph

import (
	"slices"
	"time"

	"monolith"
)

// Drawing is a graph with its numbers put in: what the browser plots, what [Drawing.SVG] and
// [Drawing.PNG] draw, what CSV and the table view list. All panels share one time axis.
type Drawing struct {
	ID     string          `json:"id"`
	Title  string          `json:"title"`
	Server string          `json:"server"`
	From   time.Time       `json:"from"`
	To     time.Time       `json:"to"`
	Step   int64           `json:"step"` // seconds
	Tier   string          `json:"tier"`
	Times  []int64         `json:"t"` // unix seconds at which each step begins
	Panels []PanelDrawing  `json:"panels"`
	Marks  []monolith.Mark `json:"marks"`
	Bands  []Band          `json:"bands,omitempty"` // times in which something was wrong
	// Note says why there is nothing to draw ("MySQL 8.0 has no query cache"); then Panels is empty.
	Note string `json:"note,omitempty"`
}

// PanelDrawing is one plot of a drawing.
type PanelDrawing struct {
	Title string   `json:"title"`           // "" when the graph has one panel
	Unit  string   `json:"unit"`            // of the left axis
	Right string   `json:"right,omitempty"` // unit of the right axis, which is there when a line belongs to it
	Min   *float64 `json:"min,omitempty"`   // fixed ends of the left axis; nil: from the data, beginning at 0
	Max   *float64 `json:"max,omitempty"`
	Log   bool     `json:"log,omitempty"`
	Lines []Line   `json:"lines"`
	// Limits are numbers that others compare the lines with; drawing a graph sets none.
	Limits []Limit `json:"limits,omitempty"`
	Note   string  `json:"note,omitempty"` // why nothing is drawn here
}

// hasRight reports whether anything is drawn on the right axis.
func (pd *PanelDrawing) hasRight() bool {
	return slices.ContainsFunc(pd.Lines, func(l Line) bool { return l.Right && !l.Hidden && l.Style != StyleNone })
}

// Line is one series of a panel. Stacked lines hold their own values, not sums: who draws adds them up.
type Line struct {
	Name     string `json:"name"`
	Instance string `json:"instance,omitempty"`
	Server   string `json:"server,omitempty"` // set when a graph shows several servers
	Expr     string `json:"expr"`
	// Inputs are the names of the metrics that the formula reads. nil for a line that comes from no formula.
	Inputs []string `json:"-"`
	Unit   string   `json:"unit"`
	Style  Style    `json:"style"`
	Right  bool     `json:"right,omitempty"`  // belongs to the right axis
	Hidden bool     `json:"hidden,omitempty"` // drawn only when someone asks for it
	Below  bool     `json:"below,omitempty"`  // drawn below zero (Bytes_sent under Bytes_received)
	// States are the words of a strip's states: good, in between, bad. Only strips have them.
	States []string `json:"states,omitempty"`

	V   monolith.Floats `json:"v"`
	Min monolith.Floats `json:"min,omitempty"` // the band, where a point stands for several readings
	Max monolith.Floats `json:"max,omitempty"`
	Ago monolith.Floats `json:"ago,omitempty"` // the same hours of last week, when asked for

	Stats Stats `json:"stats"`
}

// Stats are a line's figures over the visible range; nil where there is no value at all. Last is nil too
// where the newest three steps have none, or of a counter that is read more rarely those of two of its intervals.
type Stats struct {
	Last *float64 `json:"last"`
	Min  *float64 `json:"min"`
	Mean *float64 `json:"mean"`
	Max  *float64 `json:"max"`
}

// Style is how a line is drawn.
type Style string

// The styles.
const (
	StyleLine  Style = "line"
	StyleArea  Style = "area"
	StyleStack Style = "stack" // areas that add up to a meaningful total
	StyleLimit Style = "limit" // dashed: a limit or a total
	StyleStep  Style = "step"
	StyleBars  Style = "bars"
	StyleStrip Style = "strip" // a state over time: 1 good (green), 0.5 in between (yellow), 0 bad (red)
	StyleNone  Style = "none"  // only in the tooltip, the legend and the table
)

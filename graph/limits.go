package graph

import (
	"math"
	"time"

	"monolith"
)

// Limit is a number with which something compares the lines of a panel: a dashed line across the plot.
type Limit struct {
	Value float64        `json:"value"`
	Level monolith.Level `json:"level"` // what happens beyond it
	Name  string         `json:"name"`  // of the rule or the limit, for people
	Right bool           `json:"right,omitempty"`
	// Always keeps the limit in sight. Without it one that lies far from all values is left out, for it would press
	// them into a flat line.
	Always bool `json:"always,omitempty"`
}

// Band is a time in which something was wrong: a coloured ground behind the lines.
type Band struct {
	From  time.Time      `json:"from"`
	To    time.Time      `json:"to,omitzero"` // zero: it goes on
	Level monolith.Level `json:"level"`
	Text  string         `json:"text"`
}

// limitReach is how far beyond the greatest value a limit may lie and still stretch the axis.
const limitReach = 2.0

// near reports whether a limit is drawn with values that end at these.
func (l *Limit) near(low, high float64) bool {
	switch {
	case math.IsNaN(l.Value) || math.IsInf(l.Value, 0):
		return false
	case l.Always:
		return true
	case l.Value >= 0:
		return high > 0 && l.Value <= high*limitReach
	}
	return low < 0 && l.Value >= low*limitReach
}

func (k ink) level(l monolith.Level) string {
	switch l {
	case monolith.LevelCritical:
		return k.bad
	case monolith.LevelWarn:
		return k.between
	}
	return k.faint
}

// bandHeights say the level of a band by the height of its edge at the foot of the plot, besides by colour.
var bandHeights = map[monolith.Level]float64{monolith.LevelInfo: 2, monolith.LevelWarn: 4, monolith.LevelCritical: 6}

// paintBands lays the bands behind the lines of a plot.
func (d *Drawing) paintBands(c canvas, k ink, x scale, top, bottom float64) {
	for i := range d.Bands {
		b := &d.Bands[i]
		to := b.To
		if to.IsZero() || to.After(d.To) {
			to = d.To
		}
		from, end := max(x.from, x.at(float64(b.From.Unix()))), min(x.to, x.at(float64(to.Unix())))
		if end < x.from || from > x.to {
			continue
		}
		width := max(1.5, end-from)
		c.rect(from, top, width, bottom-top, k.level(b.Level), 0.13)
		edge := bandHeights[b.Level]
		c.rect(from, bottom-edge, width, edge, k.level(b.Level), 0.75)
	}
}

// paintLimits draws the limits of a panel with their levels written above them, at the right end.
func (pd *PanelDrawing) paintLimits(c canvas, k ink, left, right float64, ly, ry scale) {
	for i := range pd.Limits {
		l := &pd.Limits[i]
		s := ly
		if l.Right {
			s = ry
		}
		if !l.near(s.low, s.high) || l.Value < s.low || l.Value > s.high {
			continue
		}
		y := s.at(l.Value)
		c.line([]point{{left, y}, {right, y}}, k.level(l.Level), 1.2, true)
		c.text(right-3, y-3, clean(l.Level.String()), "end", k.level(l.Level), fontSize-1, false)
	}
}

// NewLine makes a line of values with their figures.
func NewLine(name, unit string, values monolith.Floats) Line {
	return Line{Name: name, Expr: name, Unit: unit, Style: StyleLine, V: values, Stats: statsOf(values, 3)}
}

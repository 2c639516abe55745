package graph

import (
	"slices"

	"monolith"
)

const (
	signHeight = 14.0 // of the row of signs above a plot
	signSize   = 8.0
)

// markWords say what the marks' signs stand for, in the order of their weight.
var markWords = []struct {
	kind monolith.MarkKind
	word string
}{{monolith.MarkRestart, "restart"}, {monolith.MarkFailover, "failover"}, {monolith.MarkVersion, "version changed"}, {monolith.MarkAlert, "alert"},
	{monolith.MarkRename, "renamed"}, {monolith.MarkVariable, "variable changed"}, {monolith.MarkNote, "note"}}

// markSigns are the signs as strokes in a box of 8 by 8 pixels: not every font has them as letters. They look like those
// that pages write.
var markSigns = map[monolith.MarkKind][][]point{
	monolith.MarkRestart:  {{{6.6, 2}, {4.8, 1}, {2.8, 1.2}, {1.3, 2.6}, {1, 4.6}, {2, 6.4}, {4, 7.2}, {6, 6.6}, {7, 4.8}}, {{7, 0}, {6.7, 2.3}, {4.4, 2.2}}},
	monolith.MarkVariable: {{{0.5, 2.8}, {7.5, 2.8}}, {{0.5, 5.4}, {7.5, 5.4}}, {{5.8, 0.5}, {2.2, 7.6}}},
	monolith.MarkVersion:  {{{4, 7.6}, {4, 0.6}}, {{1.2, 3.4}, {4, 0.6}, {6.8, 3.4}}},
	monolith.MarkFailover: {{{0.3, 2.4}, {7.7, 2.4}}, {{5.7, 0.5}, {7.7, 2.4}, {5.7, 4.2}}, {{7.7, 5.8}, {0.3, 5.8}}, {{2.3, 4}, {0.3, 5.8}, {2.3, 7.6}}},
	monolith.MarkRename:   {{{0.8, 7.2}, {1.4, 5}, {6, 0.6}, {7.4, 2}, {2.9, 6.6}, {0.8, 7.2}}},
	monolith.MarkAlert:    {{{4, 0.4}, {4, 5.2}}, {{4, 6.6}, {4, 7.8}}},
	monolith.MarkNote:     {{{1, 0.8}, {7, 0.8}, {7, 7.2}, {1, 7.2}, {1, 0.8}}, {{2.6, 3}, {5.4, 3}}, {{2.6, 5}, {5.4, 5}}},
}

// weight orders marks of different kinds, the weightiest first.
func weight(kind monolith.MarkKind) int {
	for i := range markWords {
		if markWords[i].kind == kind {
			return i
		}
	}
	return len(markWords)
}

func (k ink) mark(kind monolith.MarkKind) string {
	switch kind {
	case monolith.MarkRestart, monolith.MarkFailover:
		return k.bad
	case monolith.MarkAlert:
		return k.between
	}
	return k.faint
}

// markKinds gives the kinds of the marks within the range, by their weight.
func (d *Drawing) markKinds() (kinds []int) {
	for _, m := range d.Marks {
		if w := weight(m.Kind); w < len(markWords) && !m.At.Before(d.From) && !m.At.After(d.To) && !slices.Contains(kinds, w) {
			kinds = append(kinds, w)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// signRow gives the height of the row above a plot in which the signs of the marks stand.
func (p Picture) signRow(d *Drawing) float64 {
	if p.Bare || len(d.markKinds()) == 0 {
		return 0
	}
	return signHeight
}

// paintMarks draws the marks as lines up to a row of signs. Of marks that stand too close for a sign each, the
// weightiest has its own.
func (d *Drawing) paintMarks(c canvas, p Picture, x scale, top, bottom float64) {
	k := p.ink()
	type sign struct {
		x    float64
		kind monolith.MarkKind
	}
	var signs []sign
	marks := slices.Clone(d.Marks)
	slices.SortStableFunc(marks, func(a, b monolith.Mark) int { return a.At.Compare(b.At) })
	row := p.signRow(d)
	for _, m := range marks {
		tx := x.at(float64(m.At.Unix()))
		if tx < x.from || tx > x.to {
			continue
		}
		c.line([]point{{tx, top + max(row, 6)}, {tx, bottom}}, k.mark(m.Kind), 1, m.Kind != monolith.MarkRestart)
		if n := len(signs); n > 0 && tx-signs[n-1].x < signSize+3 {
			if weight(m.Kind) < weight(signs[n-1].kind) {
				signs[n-1].kind = m.Kind
			}
			continue
		}
		signs = append(signs, sign{tx, m.Kind})
	}
	if row == 0 {
		return
	}
	for _, s := range signs {
		paintSign(c, s.kind, s.x-signSize/2, top+3, k.mark(s.kind))
	}
}

func paintSign(c canvas, kind monolith.MarkKind, x, y float64, colour string) {
	for _, stroke := range markSigns[kind] {
		moved := make([]point, len(stroke))
		for i, pt := range stroke {
			moved[i] = point{x + pt.x, y + pt.y}
		}
		c.line(moved, colour, 1.3, false)
	}
}

// keyPlace is where an entry of the key stands: its place in markWords, and its left end and row.
type keyPlace struct {
	word int
	x    float64
	row  int
}

// key lays out what explains the signs of the marks; widths are estimates, the same on every canvas.
func (p Picture) key(d *Drawing) (places []keyPlace, rows int) {
	if p.Bare || len(d.Panels) == 0 {
		return nil, 0
	}
	x := 12.0
	for _, w := range d.markKinds() {
		wide := signSize + 6 + 0.62*fontSize*float64(len(markWords[w].word)) + 14
		if rows == 0 {
			rows = 1
		} else if x+wide > float64(p.Width) {
			x, rows = 12, rows+1
		}
		places = append(places, keyPlace{w, x, rows - 1})
		x += wide
	}
	return places, rows
}

func (p Picture) keyHeight(d *Drawing) float64 {
	_, rows := p.key(d)
	if rows == 0 {
		return 0
	}
	return lineHeight*float64(rows) + 6
}

// paintKey explains the signs of the marks, once below all panels.
func (d *Drawing) paintKey(c canvas, p Picture, top float64) {
	k := p.ink()
	places, _ := p.key(d)
	for _, e := range places {
		m, y := markWords[e.word], top+lineHeight*float64(e.row)+13
		paintSign(c, m.kind, e.x, y-8, k.mark(m.kind))
		c.text(e.x+signSize+6, y, m.word, "start", k.faint, fontSize, false)
	}
}

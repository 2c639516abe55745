package graph

import "math"

// stateWords gives the words of a strip's states; nil for other styles.
func (s *Series) stateWords() []string {
	switch {
	case s.Style != StyleStrip:
		return nil
	case len(s.States) == 3:
		return s.States
	}
	return []string{"yes", "partly", "no"}
}

// good is the value of a strip's good state: 1, or 100 where the strip is in percent.
func (l *Line) good() float64 {
	if l.Unit == "%" {
		return 100
	}
	return 1
}

// stateOf gives the place of a value among the states: 0 good, 1 in between, 2 bad.
func (l *Line) stateOf(v float64) int {
	switch v /= l.good(); {
	case v >= 0.999:
		return 0
	case v > 0.001:
		return 1
	}
	return 2
}

// share gives the part of the known time in which a strip was in its good state. A step that stands for several
// readings counts in part when they differ, and one that was in between throughout does not count. NaN: no value.
func (l *Line) share() float64 {
	sum, n := 0.0, 0
	for i, v := range l.V {
		if math.IsNaN(v) {
			continue
		}
		n++
		mixed := i < len(l.Min) && i < len(l.Max) && l.Min[i] < l.Max[i]
		if mixed || l.stateOf(v) == 0 {
			sum += v / l.good()
		}
	}
	return sum / float64(n)
}

// stateFigures says in which state a strip is, and how much of the time in the good one.
func (l *Line) stateFigures() string {
	if len(l.States) != 3 {
		return ""
	}
	share := l.share()
	if math.IsNaN(share) {
		return "–"
	}
	text := shareText(share) + " " + l.States[0]
	if l.Stats.Last != nil {
		text = "last " + l.States[l.stateOf(*l.Stats.Last)] + "  " + text
	}
	return clean(text)
}

// shareText writes a part as a percentage, rounded down where it is not the whole: 99.996 % is not always.
func shareText(part float64) string {
	return Format(math.Floor(part*10000+1e-6)/100, "%")
}

const stripRow = 22.0 // height of a strip with the room below it

// onlyStrips reports whether a panel shows states alone, which have no axis beside them.
func (pd *PanelDrawing) onlyStrips() bool {
	strips := 0
	for i := range pd.Lines {
		if !pd.Lines[i].Hidden && pd.Lines[i].Style == StyleStrip {
			strips++
		}
	}
	return strips > 0 && strips == visible(pd)
}

// plotHeight gives the height of a panel's plot: that of the picture, or what its strips need.
func (p Picture) plotHeight(pd *PanelDrawing) float64 {
	if !pd.onlyStrips() {
		return float64(p.Height)
	}
	return min(float64(p.Height), 20+stripRow*float64(visible(pd)))
}

// paintStrip draws a state over time as coloured boxes, one as long as the state stays. Its name stands beside it where
// there is no axis and it fits, and else on it.
func (d *Drawing) paintStrip(c canvas, k ink, l *Line, x scale, y float64, alone bool) {
	n := min(len(l.V), len(d.Times))
	for i, j := 0, 0; i < n; i = j {
		for j = i + 1; j < n && !math.IsNaN(l.V[i]) && !math.IsNaN(l.V[j]) && l.stateOf(l.V[i]) == l.stateOf(l.V[j]); {
			j++
		}
		if math.IsNaN(l.V[i]) {
			continue
		}
		from, to := max(x.from, x.at(float64(d.Times[i]))), min(x.to, x.at(float64(d.Times[j-1]+d.Step))+0.3)
		c.rect(from, y, max(0, to-from), 14, []string{k.good, k.between, k.bad}[l.stateOf(l.V[i])], 0.85)
	}
	if name := clean(label(l)); alone && c.textWidth(name, fontSize) < x.from-12 {
		c.text(x.from-6, y+11, name, "end", k.faint, fontSize, false)
	} else {
		c.text(x.from+4, y+11, name, "start", k.text, fontSize, true)
	}
}

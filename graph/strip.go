package graph

import (
	"math"
	"strings"
)

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

// paintStrip draws a state over time as coloured boxes.
func (d *Drawing) paintStrip(c canvas, k ink, l *Line, x scale, y float64) {
	for i, v := range l.V {
		if math.IsNaN(v) {
			continue
		}
		from := x.at(float64(d.Times[i]))
		c.rect(from, y, x.at(float64(d.Times[i]+d.Step))-from+0.3, 14, []string{k.good, k.between, k.bad}[l.stateOf(v)], 0.85)
	}
	c.text(x.from+4, y+11, strings.TrimSpace(clean(label(l))), "start", k.text, fontSize, true)
}

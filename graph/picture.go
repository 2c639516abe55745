package graph

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Picture says how a drawing is to look outside the browser.
type Picture struct {
	Width    int            // pixels; 0: 760
	Height   int            // of one panel, pixels; 0: 220
	Dark     bool           // light figures on a dark ground
	Zone     *time.Location // of the time axis; nil: UTC
	Bare     bool           // no title and no legend: for small pictures
	Untitled bool           // panels carry their own titles only: what stands around it names the graph
}

// Palette holds the series colours: they keep their order, differ in lightness as well as in hue and
// can be told apart with the common forms of colour blindness. Pages use the same list.
var Palette = []string{"#3b7dd8", "#e08a00", "#2a9d6f", "#c2417c", "#7d62c9", "#8a6d3b", "#4fb3c8", "#d1495b", "#6b8e23", "#7f8c9b"}

// canvas is what a drawing is painted on: SVG text or a raster picture. Coordinates are pixels.
type canvas interface {
	rect(x, y, w, h float64, fill string, opacity float64)
	line(points []point, colour string, width float64, dashed bool)
	area(points []point, fill string, opacity float64)
	// text writes at a baseline; anchor is start, middle or end.
	text(x, y float64, s, anchor, colour string, size float64, bold bool)
	textWidth(s string, size float64) float64
}

type point struct{ x, y float64 }

// colours of everything that is not a series.
type ink struct{ ground, grid, text, faint, good, between, bad string }

var (
	lightInk = ink{"#ffffff", "#e4e7eb", "#1f2933", "#6b7785", "#2a9d6f", "#e0a800", "#c0392b"}
	darkInk  = ink{"#14181d", "#2b333c", "#e6eaee", "#97a3b0", "#3fbf8a", "#e0b040", "#e5604f"}
)

const (
	fontSize    = 11.0
	titleHeight = 24.0
	axisHeight  = 20.0
	wordHeight  = 15.0 // of the words above the axes
	leftMargin  = 74.0
	lineHeight  = 17.0
)

func (p Picture) withDefaults() Picture {
	if p.Width <= 0 {
		p.Width = 760
	}
	if p.Height <= 0 {
		p.Height = 220
	}
	if p.Zone == nil {
		p.Zone = time.UTC
	}
	p.Width, p.Height = min(max(p.Width, 120), 4000), min(max(p.Height, 60), 2000)
	return p
}

func (p Picture) ink() ink {
	if p.Dark {
		return darkInk
	}
	return lightInk
}

// size gives the whole picture's size.
func (d *Drawing) size(p Picture) (width, height int) {
	h := 0.0
	for i := range d.Panels {
		h += p.panelHeight(d, &d.Panels[i])
	}
	if len(d.Panels) == 0 {
		h = float64(p.Height) / 2
	}
	h += p.keyHeight(d)
	return p.Width, int(math.Ceil(h))
}

func (p Picture) panelHeight(d *Drawing, pd *PanelDrawing) float64 {
	h := p.plotHeight(pd) + axisHeight
	if p.title(d, pd) != "" {
		h += titleHeight
	}
	h += p.wordRow(pd) + p.signRow(d)
	if !p.Bare {
		h += lineHeight * float64((visible(pd)+p.legendColumns()-1)/p.legendColumns())
	}
	return h
}

// wordRow gives the height of the row in which the words of a panel's axes stand, so that they meet no label.
func (p Picture) wordRow(pd *PanelDrawing) float64 {
	if p.Bare || pd.onlyStrips() || axisUnit(pd.Unit) == "" && pd.rightWord() == "" {
		return 0
	}
	return wordHeight
}

// title gives what stands above a panel; "" is nothing.
func (p Picture) title(d *Drawing, pd *PanelDrawing) string {
	switch {
	case p.Bare:
		return ""
	case p.Untitled:
		return clean(pd.Title)
	case pd.Title != "":
		return d.heading() + " · " + clean(pd.Title)
	}
	return d.heading()
}

// heading names server and graph, so that a picture in a ticket says what it shows.
func (d *Drawing) heading() string {
	if d.Server == "" {
		return clean(d.Title)
	}
	return clean(d.Server) + " · " + clean(d.Title)
}

// span writes the range of a picture with its zone.
func (d *Drawing) span(zone *time.Location) string {
	from, to := d.From.In(zone), d.To.In(zone)
	layout := "2 Jan 2006 15:04"
	if from.Format(time.DateOnly) == to.Format(time.DateOnly) {
		return from.Format(layout) + " – " + to.Format("15:04 MST")
	}
	return from.Format(layout) + " – " + to.Format(layout+" MST")
}

func (p Picture) legendColumns() int { return max(1, p.Width/330) }

func visible(pd *PanelDrawing) (n int) {
	for i := range pd.Lines {
		if !pd.Lines[i].Hidden {
			n++
		}
	}
	return n
}

// paint draws all panels one below the other.
func (d *Drawing) paint(c canvas, p Picture) {
	k := p.ink()
	w, h := d.size(p)
	c.rect(0, 0, float64(w), float64(h), k.ground, 1)
	if len(d.Panels) == 0 {
		c.text(12, 20, clean(d.Title), "start", k.text, fontSize+2, true)
		c.text(12, 44, clean(d.Note), "start", k.faint, fontSize+1, false)
		return
	}
	top := 0.0
	for i := range d.Panels {
		d.paintPanel(c, p, &d.Panels[i], top)
		top += p.panelHeight(d, &d.Panels[i])
	}
	d.paintKey(c, p, top)
}

func (d *Drawing) paintPanel(c canvas, p Picture, pd *PanelDrawing, top float64) {
	k := p.ink()
	left, right, twoAxes := leftMargin, float64(p.Width)-14, pd.hasRight()
	if twoAxes {
		right -= 60
	}
	if title := p.title(d, pd); title != "" {
		c.text(12, top+16, title, "start", k.text, fontSize+2, true)
		if !p.Untitled && p.Width >= 600 {
			c.text(float64(p.Width)-14, top+16, d.span(p.Zone), "end", k.faint, fontSize, false)
		}
		top += titleHeight
	}
	if row := p.wordRow(pd); row > 0 {
		c.text(12, top+11, clean(axisUnit(pd.Unit)), "start", k.faint, fontSize, false)
		c.text(float64(p.Width)-14, top+11, clean(pd.rightWord()), "end", k.faint, fontSize, false)
		top += row
	}
	signs := top
	top += p.signRow(d)
	bottom := top + p.plotHeight(pd)
	x := scale{low: float64(d.From.Unix()), high: float64(d.To.Unix()), from: left, to: right}
	if x.high <= x.low {
		x.high = x.low + 1
	}
	n := len(d.Times)
	stacked := stack(pd.Lines, n)
	ly, ry := d.axes(pd, stacked)
	ly.from, ly.to, ry.from, ry.to = bottom, top+6, bottom, top+6
	for i, label := range ly.labels() {
		if pd.onlyStrips() {
			break
		}
		y := ly.at(ly.ticks[i])
		c.line([]point{{left, y}, {right, y}}, k.grid, 1, false)
		c.text(left-6, y+4, label, "end", k.faint, fontSize, false)
	}
	if twoAxes {
		for i, label := range ry.labels() {
			c.text(right+6, ry.at(ry.ticks[i])+4, label, "start", k.faint, fontSize, false)
		}
	}
	for _, tick := range timeTicks(d.From, d.To, max(2, p.Width/110), p.Zone) {
		tx := x.at(float64(tick.at.Unix()))
		c.line([]point{{tx, top + 6}, {tx, bottom}}, k.grid, 1, false)
		c.text(tx, bottom+14, tick.label, "middle", k.faint, fontSize, false)
	}
	d.paintBands(c, k, x, top+6, bottom)
	strips := 0
	lower := []float64(nil) // upper edge of the stacked line before
	for i := range pd.Lines {
		l := &pd.Lines[i]
		if l.Hidden || l.Style == StyleNone {
			continue
		}
		y := ly
		if l.Right {
			y = ry
		}
		if l.Style == StyleStrip {
			d.paintStrip(c, k, l, x, top+10+stripRow*float64(strips), pd.onlyStrips())
			strips++
			continue
		}
		d.paintLine(c, l, stacked[i], lower, x, y, Palette[i%len(Palette)])
		if stacked[i] != nil {
			lower = stacked[i]
		}
	}
	pd.paintLimits(c, k, left, right, ly, ry)
	d.paintMarks(c, p, x, signs, bottom)
	if pd.Note != "" {
		c.text((left+right)/2, (top+bottom)/2, clean(pd.Note), "middle", k.faint, fontSize+1, false)
	}
	if !p.Bare {
		d.paintLegend(c, p, pd, bottom+axisHeight)
	}
}

// axes gives the scales of both sides over what is drawn.
func (d *Drawing) axes(pd *PanelDrawing, stacked [][]float64) (left, right scale) {
	ends, mirrored := [2][2]float64{}, [2]bool{}
	for i := range pd.Lines {
		l := &pd.Lines[i]
		if l.Hidden || l.Style == StyleNone || l.Style == StyleStrip {
			continue
		}
		place := 0
		if l.Right {
			place = 1
		}
		side := &ends[place]
		mirrored[place] = mirrored[place] || l.Below
		values := stacked[i]
		if values == nil {
			values = l.V
		}
		for j, v := range values {
			if j < len(l.Max) && !math.IsNaN(l.Max[j]) && stacked[i] == nil {
				v = math.Max(v, l.Max[j])
			}
			if l.Below {
				v = -v
			}
			if !math.IsNaN(v) {
				side[0], side[1] = math.Min(side[0], v), math.Max(side[1], v)
			}
		}
	}
	for i := range pd.Limits {
		l := &pd.Limits[i]
		side := &ends[0]
		if l.Right {
			side = &ends[1]
		}
		if l.near(side[0], side[1]) {
			side[0], side[1] = math.Min(side[0], l.Value), math.Max(side[1], l.Value)
		}
	}
	rightMax := (*float64)(nil)
	if pd.Right == "%" {
		hundred := 100.0
		rightMax = &hundred
	}
	left = newScale(ends[0][0], ends[0][1], pd.Unit, pd.Min, pd.Max, pd.Log)
	right = newScale(ends[1][0], ends[1][1], pd.Right, nil, rightMax, false)
	left.mirrored, right.mirrored = mirrored[0], mirrored[1]
	return left, right
}

// stack adds up the stacked lines: entry i is the upper edge of line i, nil for lines that do not
// stack. Where no stacked line has a value there is a gap; where some have, the others count as 0.
func stack(lines []Line, n int) [][]float64 {
	out := make([][]float64, len(lines))
	sum, any := make([]float64, n), make([]bool, n)
	for i := range lines {
		if lines[i].Style != StyleStack || lines[i].Hidden {
			continue
		}
		out[i] = make([]float64, n)
		for j := range min(n, len(lines[i].V)) {
			if v := lines[i].V[j]; !math.IsNaN(v) {
				sum[j] += v
				any[j] = true
			}
			out[i][j] = sum[j]
		}
	}
	for i := range out {
		for j := range out[i] {
			if !any[j] {
				out[i][j] = math.NaN()
			}
		}
	}
	return out
}

// runs splits a line at its gaps into rows of points; step i lies at its middle.
func (d *Drawing) runs(v []float64, x, y scale, negative bool) [][]point {
	var all [][]point
	var run []point
	for i := range min(len(v), len(d.Times)) {
		value := v[i]
		if math.IsNaN(value) {
			if run != nil {
				all, run = append(all, run), nil
			}
			continue
		}
		if negative {
			value = -value
		}
		run = append(run, point{x.at(float64(d.Times[i]) + float64(d.Step)/2), y.at(value)})
	}
	if run != nil {
		all = append(all, run)
	}
	return all
}

func (d *Drawing) paintLine(c canvas, l *Line, stacked, lower []float64, x, y scale, colour string) {
	base := y.at(0)
	if l.Ago != nil && stacked == nil {
		for _, run := range d.runs(l.Ago, x, y, l.Below) {
			c.line(run, "#9aa5b1", 1, true)
		}
	}
	if l.Min != nil && l.Max != nil && stacked == nil {
		upper, lower := d.runs(l.Max, x, y, l.Below), d.runs(l.Min, x, y, l.Below)
		for i := range min(len(upper), len(lower)) {
			if len(upper[i]) == len(lower[i]) {
				c.area(append(upper[i], reversed(lower[i])...), colour, 0.16)
			}
		}
	}
	values := []float64(l.V)
	var floor [][]point
	if stacked != nil {
		values, floor = stacked, d.runs(lower, x, y, false)
	}
	for i, run := range d.runs(values, x, y, l.Below) {
		switch l.Style {
		case StyleStack, StyleArea:
			under := []point{{run[0].x, base}, {run[len(run)-1].x, base}}
			if floor != nil { // the lines of a stack have their gaps in the same places
				under = floor[i]
			}
			c.area(append(run[:len(run):len(run)], reversed(under)...), colour, map[Style]float64{StyleStack: 0.45, StyleArea: 0.18}[l.Style])
			c.line(run, colour, 1.4, false)
		case StyleBars:
			w := math.Max(1, (x.at(float64(d.Step))-x.at(0))*0.8)
			for _, pt := range run {
				c.area([]point{{pt.x - w/2, base}, {pt.x - w/2, pt.y}, {pt.x + w/2, pt.y}, {pt.x + w/2, base}}, colour, 0.7)
			}
		case StyleLimit:
			c.line(run, colour, 1.2, true)
		case StyleStep:
			c.line(steps(run), colour, 1.5, false)
		default:
			if len(run) == 1 { // a single value between gaps is still to be seen
				run = []point{{run[0].x - 1, run[0].y}, {run[0].x + 1, run[0].y}}
			}
			c.line(run, colour, 1.5, false)
		}
	}
}

func (d *Drawing) paintLegend(c canvas, p Picture, pd *PanelDrawing, top float64) {
	k, columns, n := p.ink(), p.legendColumns(), 0
	width := (float64(p.Width) - 24) / float64(columns)
	for i := range pd.Lines {
		l := &pd.Lines[i]
		if l.Hidden {
			continue
		}
		x, y := 12+width*float64(n%columns), top+lineHeight*float64(n/columns)+12
		n++
		swatch := Palette[i%len(Palette)]
		if l.Style == StyleStrip {
			swatch = k.good
		}
		c.rect(x, y-8, 10, 9, swatch, 1)
		name := clean(label(l))
		text := fmt.Sprintf("last %s  max %s", figure(l.Stats.Last, l.Unit), figure(l.Stats.Max, l.Unit))
		if l.Style == StyleStrip {
			text = l.stateFigures()
		}
		for c.textWidth(name+text, fontSize) > width-40 && len(name) > 6 {
			r := []rune(name)
			name = string(r[:len(r)-3]) + "…"
		}
		c.text(x+15, y, name, "start", k.text, fontSize, false)
		c.text(x+width-16, y, text, "end", k.faint, fontSize, false)
	}
}

func figure(v *float64, unit string) string {
	if v == nil {
		return "–"
	}
	return Format(*v, unit)
}

// label is a line's name with what tells it from others of the same name.
func label(l *Line) string {
	s := l.Name
	if l.Instance != "" {
		s += " " + l.Instance
	}
	if l.Server != "" {
		s = l.Server + " " + s
	}
	return s
}

func reversed(p []point) []point {
	out := make([]point, len(p))
	for i := range p {
		out[len(p)-1-i] = p[i]
	}
	return out
}

func steps(run []point) []point {
	out := run[:1:1]
	for i := 1; i < len(run); i++ {
		out = append(out, point{run[i].x, run[i-1].y}, run[i])
	}
	return out
}

// clean removes what XML 1.0 can't hold; names of channels and schemas come from watched servers.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == 0xfffe || r == 0xffff || r >= 0xd800 && r <= 0xdfff {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

package graph

import (
	"fmt"
	"io"
	"math"

	"github.com/go-analyze/charts"
)

// PNG writes the drawing as a raster picture, for mails and programs that show no SVG.
func (d *Drawing) PNG(w io.Writer, p Picture) error {
	p = p.withDefaults()
	width, height := d.size(p)
	painter := charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputPNG, Width: width, Height: height})
	d.paint(pngCanvas{painter}, p)
	picture, err := painter.Bytes()
	if err != nil {
		return fmt.Errorf("graph: png: %w", err)
	}
	if _, err := w.Write(picture); err != nil {
		return fmt.Errorf("graph: png: %w", err)
	}
	return nil
}

// pngCanvas paints with the charts library, whose coordinates are whole pixels.
type pngCanvas struct{ p *charts.Painter }

func pixel(v float64) int { return int(math.Round(v)) }

func pixels(points []point) []charts.Point {
	out := make([]charts.Point, len(points))
	for i, p := range points {
		out[i] = charts.Point{X: pixel(p.x), Y: pixel(p.y)}
	}
	return out
}

func colour(hex string, opacity float64) charts.Color {
	return charts.ParseColor(hex).WithAlpha(uint8(math.Round(255 * opacity)))
}

func (c pngCanvas) rect(x, y, w, h float64, fill string, opacity float64) {
	c.p.FilledRect(pixel(x), pixel(y), pixel(x+w), pixel(y+h), colour(fill, opacity), charts.ColorTransparent, 0)
}

func (c pngCanvas) line(points []point, stroke string, width float64, dashed bool) {
	if dashed {
		c.p.DashedLineStroke(pixels(points), colour(stroke, 1), width, []float64{4, 3})
		return
	}
	c.p.LineStroke(pixels(points), colour(stroke, 1), width)
}

func (c pngCanvas) area(points []point, fill string, opacity float64) {
	// The library fills a path as it stands: it must end where it began.
	c.p.FillArea(pixels(append(points[:len(points):len(points)], points[0])), colour(fill, opacity))
}

func (c pngCanvas) text(x, y float64, s, anchor, ink string, size float64, _ bool) {
	font := fontOf(size, colour(ink, 1))
	switch w := c.textWidth(s, size); anchor {
	case "middle":
		x -= w / 2
	case "end":
		x -= w
	}
	c.p.Text(s, pixel(x), pixel(y), 0, font)
}

func (c pngCanvas) textWidth(s string, size float64) float64 {
	return float64(c.p.MeasureText(s, 0, fontOf(size, charts.ColorBlack)).Width())
}

// fontOf takes pixels; the library wants points. Text without a colour measures 0 there.
func fontOf(size float64, ink charts.Color) charts.FontStyle {
	return charts.NewFontStyleWithSize(size * 0.75).WithColor(ink)
}

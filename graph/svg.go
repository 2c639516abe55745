package graph

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// SVG writes the drawing as a self-contained picture: no script, no style sheet, no link, texts from
// servers escaped.
func (d *Drawing) SVG(w io.Writer, p Picture) error {
	p = p.withDefaults()
	width, height := d.size(p)
	c := &svgCanvas{}
	fmt.Fprintf(&c.out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="system-ui, DejaVu Sans, sans-serif">`,
		width, height, width, height)
	c.out.WriteString("<title>" + escape(clean(d.Title+" · "+d.Server)) + "</title>")
	d.paint(c, p)
	c.out.WriteString("</svg>\n")
	if _, err := w.Write(c.out.Bytes()); err != nil {
		return fmt.Errorf("graph: svg: %w", err)
	}
	return nil
}

// svgCanvas paints with presentation attributes only, so that a strict content policy holds.
type svgCanvas struct{ out bytes.Buffer }

func escape(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(s)
}

// coordinate writes a pixel with one decimal at most.
func coordinate(v float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', 1, 64), ".0")
}

func (c *svgCanvas) rect(x, y, w, h float64, fill string, opacity float64) {
	fmt.Fprintf(&c.out, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"%s/>`,
		coordinate(x), coordinate(y), coordinate(w), coordinate(h), fill, svgOpacity("fill-opacity", opacity))
}

func svgOpacity(name string, v float64) string {
	if v >= 1 {
		return ""
	}
	return fmt.Sprintf(` %s="%.2f"`, name, v)
}

func (c *svgCanvas) points(points []point) {
	for i, p := range points {
		if i > 0 {
			c.out.WriteByte(' ')
		}
		c.out.WriteString(coordinate(p.x))
		c.out.WriteByte(',')
		c.out.WriteString(coordinate(p.y))
	}
}

func (c *svgCanvas) line(points []point, colour string, width float64, dashed bool) {
	c.out.WriteString(`<polyline fill="none" stroke-linejoin="round" points="`)
	c.points(points)
	fmt.Fprintf(&c.out, `" stroke="%s" stroke-width="%s"`, colour, coordinate(width))
	if dashed {
		c.out.WriteString(` stroke-dasharray="4 3"`)
	}
	c.out.WriteString("/>")
}

func (c *svgCanvas) area(points []point, fill string, opacity float64) {
	c.out.WriteString(`<polygon points="`)
	c.points(points)
	fmt.Fprintf(&c.out, `" fill="%s"%s/>`, fill, svgOpacity("fill-opacity", opacity))
}

func (c *svgCanvas) text(x, y float64, s, anchor, colour string, size float64, bold bool) {
	weight := ""
	if bold {
		weight = ` font-weight="600"`
	}
	fmt.Fprintf(&c.out, `<text x="%s" y="%s" text-anchor="%s" fill="%s" font-size="%s"%s>%s</text>`,
		coordinate(x), coordinate(y), anchor, colour, coordinate(size), weight, escape(s))
}

// textWidth is an estimate: the reader's font is not known here.
func (c *svgCanvas) textWidth(s string, size float64) float64 {
	return 0.56 * size * float64(len([]rune(s)))
}

package web

import (
	"bytes"
	"fmt"
	"math"
	"time"

	"monolith"
)

// What a sparkline of the first screen shows. The script's own (ui/src/sparks.ts) shows the same.
const (
	sparkFormula = "greatest(0, rate(status.Questions) - (rate(self.Questions) ?? 0))"
	sparkSpan    = 3 * time.Hour
	sparkStep    = 3 * time.Minute
	week         = 7 * 24 * time.Hour
	sparkWidth   = 110
	sparkHeight  = 22
)

// sparkline draws values as a small SVG, with those of last week as a grey line behind. Its colours fit
// light and dark grounds, since a picture does not know on which it lies.
func sparkline(now, ago monolith.Floats) []byte {
	most := 0.0
	for _, v := range now {
		most = math.Max(most, nanZero(v))
	}
	for _, v := range ago {
		most = math.Max(most, nanZero(v))
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d">`, sparkWidth, sparkHeight, sparkWidth, sparkHeight)
	for _, l := range []struct {
		values monolith.Floats
		colour string
	}{{ago, "#8f9aa8"}, {now, "#3b7dd8"}} {
		if d := sparkPath(l.values, most); d != "" {
			fmt.Fprintf(&out, `<path d="%s" fill="none" stroke="%s" stroke-width="1.3"/>`, d, l.colour)
		}
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// sparkPath leaves gaps where there is no value.
func sparkPath(values monolith.Floats, most float64) string {
	var out bytes.Buffer
	pen := "M"
	for i, v := range values {
		if math.IsNaN(v) {
			pen = "M"
			continue
		}
		x := float64(i) * sparkWidth / math.Max(1, float64(len(values)-1))
		y := sparkHeight - 1.5
		if most > 0 {
			y -= v / most * (sparkHeight - 3)
		}
		fmt.Fprintf(&out, "%s%.1f %.1f", pen, x, y)
		pen = "L"
	}
	return out.String()
}

func nanZero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}

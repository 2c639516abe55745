package graph

import (
	"strings"
	"testing"
	"time"

	"monolith"
)

// judgedDrawing is a line between 10 and 20 with limits near and far, and two bands.
func judgedDrawing() *Drawing {
	from := time.Date(2026, 3, 14, 11, 0, 0, 0, time.UTC)
	d := &Drawing{Title: "Threads", Server: "db1", From: from, To: from.Add(time.Hour), Step: 60}
	var v monolith.Floats
	for i := range 60 {
		d.Times, v = append(d.Times, from.Add(time.Duration(i)*time.Minute).Unix()), append(v, 10+float64(i%11))
	}
	d.Panels = []PanelDrawing{{Lines: []Line{NewLine("running", "", v)}}}
	return d
}

func TestLimitsAreDrawnWhereTheyAreNear(t *testing.T) {
	svg := func(limits ...Limit) string {
		d := judgedDrawing()
		d.Panels[0].Limits = limits
		var b strings.Builder
		if err := d.SVG(&b, Picture{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	warn, critical := Limit{Value: 18, Level: monolith.LevelWarn}, Limit{Value: 35, Level: monolith.LevelCritical}
	got := svg(warn, critical)
	if !strings.Contains(got, ">warn<") || !strings.Contains(got, ">critical<") || strings.Count(got, "stroke-dasharray") != 2 {
		t.Error("near limits are not drawn")
	}
	if !strings.Contains(got, ">40<") {
		t.Error("the axis does not reach to the limit")
	}
	far := Limit{Value: 5000, Level: monolith.LevelCritical}
	if got := svg(warn, far); strings.Contains(got, ">critical<") || !strings.Contains(got, ">20<") {
		t.Error("a limit that is far away presses the line flat")
	}
	far.Always = true
	if got := svg(far); !strings.Contains(got, ">critical<") {
		t.Error("a limit that is always to be seen is not")
	}
	if plain := svg(); strings.Contains(plain, "stroke-dasharray") {
		t.Error("a line is dashed without a limit")
	}
}

func TestBandsLieBehindTheLines(t *testing.T) {
	d := judgedDrawing()
	var plain strings.Builder
	if err := d.SVG(&plain, Picture{}); err != nil {
		t.Fatal(err)
	}
	d.Bands = []Band{{From: d.From.Add(-time.Hour), To: d.From.Add(15 * time.Minute), Level: monolith.LevelWarn}, {From: d.From.Add(45 * time.Minute), Level: monolith.LevelCritical},
		{From: d.From.Add(-3 * time.Hour), To: d.From.Add(-2 * time.Hour), Level: monolith.LevelInfo}}
	var b strings.Builder
	if err := d.SVG(&b, Picture{}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	// Two rectangles a band that is in sight: the ground and its edge.
	if n := strings.Count(got, "<rect") - strings.Count(plain.String(), "<rect"); n != 4 {
		t.Errorf("%d rectangles, want 4", n)
	}
	if band, line := strings.Index(got, `fill-opacity="0.13"`), strings.Index(got, Palette[0]); band < 0 || band > line {
		t.Error("a band hides the line")
	}
	var picture strings.Builder
	if err := d.PNG(&picture, Picture{Dark: true}); err != nil || picture.Len() == 0 {
		t.Errorf("%v", err)
	}
}

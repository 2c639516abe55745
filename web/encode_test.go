package web

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
	"monolith/graph"
)

// What the fast writers give is what encoding/json gives, for every member.
func TestFastEncoding(t *testing.T) {
	n, one := math.NaN(), 1.0
	line := graph.Line{Name: "<a>", Instance: "i", Server: "s", Expr: "e", Unit: "1/s", Style: graph.StyleArea, Right: true, Hidden: true, Below: true,
		V: monolith.Floats{1, n, 2.5}, Min: monolith.Floats{n}, Max: monolith.Floats{3}, Ago: monolith.Floats{1e20, math.Inf(1)}, Stats: graph.Stats{Last: &one}}
	drawing := &graph.Drawing{ID: "x", Title: "T\u0001", Server: "s", From: noon, To: noon.Add(time.Hour), Step: 60, Tier: "raw", Times: []int64{1, 2, 3},
		Panels: []graph.PanelDrawing{{Title: "p", Unit: "bytes", Right: "%", Min: &one, Max: &one, Log: true, Lines: []graph.Line{line, {Name: "empty", V: monolith.Floats{}}}, Note: "n"},
			{Lines: []graph.Line{}}},
		Marks: []monolith.Mark{{ID: 1, At: noon, Text: "m"}}, Note: "why"}
	series := &seriesAnswer{Step: 10, Tier: "1h", T: []int64{10, 20}, Marks: []markView{{Server: "s", T: 15}},
		Series: []seriesView{{Server: "s", Instance: "i", Expr: "a", Unit: "%", V: line.V, Min: line.Min, Max: line.Max, Why: "w", Absent: true}, {Server: "t", V: monolith.Floats{n}}}}
	for what, c := range map[string]struct {
		fast  appender
		plain any
	}{
		"series":   {series, (*seriesAnswerPlain)(series)},
		"drawing":  {drawingAnswer{drawing}, drawing},
		"drawings": {drawingsAnswer{drawing, drawing}, map[string]any{"drawings": []any{drawing, drawing}}},
		"none":     {drawingsAnswer{}, map[string]any{"drawings": []any{}}},
	} {
		body, err := c.fast.appendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(anyJSON(t, mustJSON(c.plain)), anyJSON(t, body)); diff != "" {
			t.Errorf("%s: plain (-), fast (+): %s", what, diff)
		}
	}
}

// seriesAnswerPlain is the answer without its own writer.
type seriesAnswerPlain seriesAnswer

func anyJSON(t *testing.T, body []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return v
}

package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"monolith/graph"
)

// Formulas of different units do not share an axis: threads are not "per second" because queries are.
func TestExploredFormulasKeepTheirUnits(t *testing.T) {
	const gauge, rate, bytes = "status.Threads_running", "rate(status.Questions)", "rate(status.Bytes_sent)"
	type line struct {
		unit  string
		right bool
		panel int
	}
	x := newFleet(t, 1)
	for name, c := range map[string]struct {
		exprs []string
		want  []line
	}{
		"one unit":                {[]string{rate, "rate(status.Com_select)"}, []line{{"1/s", false, 0}, {"1/s", false, 0}}},
		"two":                     {[]string{gauge, rate}, []line{{"", false, 0}, {"1/s", true, 0}}},
		"two, the other way":      {[]string{rate, gauge}, []line{{"1/s", true, 0}, {"", false, 0}}},
		"three, a panel for each": {[]string{gauge, rate, bytes, gauge + " + 1"}, []line{{"", false, 0}, {"1/s", false, 1}, {"bytes/s", false, 2}, {"", false, 0}}},
	} {
		got := x.get(t, "/servers/db1/graphs/explore/drawing.json?"+url.Values{"expr": c.exprs}.Encode())
		var answer struct{ Drawings []graph.Drawing }
		if err := json.Unmarshal([]byte(got.body), &answer); err != nil || got.Code != http.StatusOK {
			t.Fatalf("%s: %d %v %s", name, got.Code, err, got.body)
		}
		lines := map[string]line{}
		for i, p := range answer.Drawings[0].Panels {
			for _, l := range p.Lines {
				lines[l.Expr] = line{l.Unit, l.Right, i}
			}
		}
		for i, e := range c.exprs {
			if lines[e] != c.want[i] {
				t.Errorf("%s: %s is %+v, want %+v", name, e, lines[e], c.want[i])
			}
		}
	}
}

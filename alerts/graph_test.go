package alerts

import (
	"testing"

	"monolith/graph"
)

// Every graph that a rule names is one of the catalogue, and pages learn of it.
func TestRulesNameGraphs(t *testing.T) {
	t.Parallel()
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, g := range graph.Catalogue() {
		known[g.ID] = true
	}
	named := 0
	for _, r := range cat.Rules() {
		info := r.Info()
		if info.Graph == "" {
			continue
		}
		if named++; !known[info.Graph] {
			t.Errorf("%s names the graph %q, which there is not", info.ID, info.Graph)
		}
	}
	if named < 40 {
		t.Errorf("only %d rules name a graph", named)
	}
}

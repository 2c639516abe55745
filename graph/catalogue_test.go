package graph

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"monolith"
)

// TestCatalogueIsComplete holds the list of default graphs: sixteen of the plan and sixteen beyond it.
func TestCatalogueIsComplete(t *testing.T) {
	byPlan := map[string]*Graph{}
	ids := map[string]bool{}
	for _, g := range Catalogue() {
		if ids[g.ID] {
			t.Errorf("two graphs have the id %s", g.ID)
		}
		ids[g.ID] = true
		if g.Plan != "" {
			if byPlan[g.Plan] != nil {
				t.Errorf("%s and %s are both %s", g.ID, byPlan[g.Plan].ID, g.Plan)
			}
			byPlan[g.Plan] = g
		}
		if len(g.Panels) > 1 {
			for i, p := range g.Panels {
				if p.Title == "" {
					t.Errorf("%s: panel %d of several has no title", g.ID, i)
				}
			}
		}
	}
	for _, letter := range []string{"G", "B"} {
		for i := 1; i <= 16; i++ {
			if plan := fmt.Sprintf("%s%02d", letter, i); byPlan[plan] == nil {
				t.Errorf("no graph is %s", plan)
			}
		}
	}
	// What a new server's overview has at least: connections, queries, concurrency, buffer pool, CPU, memory, I/O, disks,
	// and a replica's delay.
	for _, plan := range []string{"G06", "G07", "B01", "B02", "G10", "G14", "G11", "B12", "G16"} {
		if g := byPlan[plan]; g != nil && !g.Overview {
			t.Errorf("%s (%s) is not on the overview", g.ID, plan)
		}
	}
	if Find("query-rate") == nil || Find("no-such-graph") != nil {
		t.Error("Find does not find by id")
	}
}

func TestCatalogueFilesParse(t *testing.T) {
	files, err := filepath.Glob("catalogue/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no catalogue files: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(text, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	const good = "id: x\ntitle: X\nsection: queries\npanels:\n  - unit: 1/s\n    series:\n      - {name: a, expr: rate(status.Questions)}\n"
	if _, err := Parse([]byte(good), nil); err != nil {
		t.Fatalf("the good one: %v", err)
	}
	for _, c := range []struct{ from, to, field, says string }{
		{"id: x", "id: ../../x", "id", "not an id"},
		{"title: X", "title: ''", "x.title", "empty"},
		{"title: X", `title: "a\0b"`, "x.title", "control character"},
		{"unit: 1/s", "unit: 1/s\n    min: .nan", "x.panels[0].min", "is a number"},
		{"unit: 1/s", "unit: 1/s\n    max: -.inf", "x.panels[0].max", "is a number"},
		{"unit: 1/s", "unit: 1/s\n    min: 5\n    max: 1", "x.panels[0].max", "before"},
		{"name: a,", "name: a, top: -5,", "x.panels[0].series[0].top", "kept"},
		{"name: a,", "name: a, floor: .inf,", "x.panels[0].series[0].floor", "number"},
		{"name: a,", "name: a, quiet: .nan,", "x.panels[0].series[0].quiet", "number"},
		{"id: x", "id: y\n---\nid: x", "definition", "second document"},
		{"section: queries", "section: other", "x.section", "unknown section"},
		{"rate(status.Questions)", "rate(status.Qestions)", "x.panels[0].series[0].expr", "Questions"},
		{"rate(status.Questions)", "''", "x.panels[0].series[0].expr", "empty"},
		{"name: a,", "name: a, style: blob,", "x.panels[0].series[0].style", "unknown style"},
		{"name: a,", "name: a, axis: top,", "x.panels[0].series[0].axis", "unknown axis"},
		{"name: a,", "name: a, states: [up, between, down],", "x.panels[0].series[0].states", "of a strip"},
		{"name: a,", "name: a, style: strip, states: [up, down],", "x.panels[0].series[0].states", "three words"},
		{"name: a,", "name: a, for: oracle,", "x.panels[0].series[0].for", "unknown flavour"},
		{"unit: 1/s", "unti: 1/s", "definition", "unti"},
	} {
		_, err := Parse([]byte(strings.Replace(good, c.from, c.to, 1)), nil)
		bad, ok := err.(*monolith.InvalidError)
		if !ok {
			t.Errorf("%s → %s: got %v, want an InvalidError", c.from, c.to, err)
			continue
		}
		if bad.Field != c.field || !strings.Contains(bad.Error(), c.says) {
			t.Errorf("%s → %s: got %v, want the field %s and %q", c.from, c.to, bad, c.field, c.says)
		}
	}
	if _, err := Parse([]byte("- "+strings.ReplaceAll(good, "\n", "\n  ")+"\n- "+strings.ReplaceAll(good, "\n", "\n  ")), nil); err == nil {
		t.Error("two graphs with one id were accepted")
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("id: x\ntitle: X\nsection: queries\npanels: [{unit: s, series: [{name: a, expr: status.Uptime}]}]"))
	f.Add([]byte("- {}\n- null"))
	f.Add([]byte("panels: [{series: [{expr: [1, 2]}]}]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		graphs, err := Parse(text, nil)
		if (err == nil) != (len(graphs) > 0) && err == nil {
			return // an empty list is a list
		}
		for _, g := range graphs {
			if err := g.Validate(nil); err != nil {
				t.Errorf("accepted, but not valid: %v", err)
			}
		}
	})
}

// TestGuideListsEveryGraph holds the page for users to the catalogue.
func TestGuideListsEveryGraph(t *testing.T) {
	page, err := os.ReadFile("../docs/graphs.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range Catalogue() {
		if !strings.Contains(string(page), "`"+g.ID+"` "+g.Title) {
			t.Errorf("docs/graphs.md does not list `%s` %s", g.ID, g.Title)
		}
	}
}

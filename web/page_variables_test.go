package web

import (
	"strings"
	"testing"

	"monolith"
)

// withVariables is a poll that read these variables.
func withVariables(server monolith.ServerID, seq uint64, values map[string]string) *monolith.Snapshot {
	snap := poll(server, seq, 100*seq, nil)
	var names []monolith.Metric
	var texts []string
	for _, name := range sortedKeys(values) {
		names, texts = append(names, monolith.Metric{Name: "variable." + name}), append(texts, values[name])
	}
	snap.Sections[1] = monolith.Section{Collector: "variables", NumNames: monolith.NewNames(nil), TextNames: monolith.NewNames(names), Texts: texts}
	snap.Variables = []monolith.VariableInfo{{Name: "max_connections", Origin: monolith.OriginFile}}
	return snap
}

// Servers of two makes share few names: those of one side are counted, and shown when asked for.
func TestComparedVariablesOfOneSideAreHidden(t *testing.T) {
	x := newSite(t)
	a, b := x.add(t, "maria", ""), x.add(t, "mysql", "")
	x.poller.take(withVariables(a.ID, 1, map[string]string{"max_connections": "151", "port": "3306", "aria_block_size": "8192", "aria_log": "x"}))
	x.poller.take(withVariables(b.ID, 1, map[string]string{"max_connections": "500", "port": "3306", "mysqlx_port": "33060"}))
	rows := func(body string) int {
		return strings.Count(cutBetween(t, body, "<tbody>", "</tbody>"), "<tr data-name=")
	}

	body := x.html(t, "/servers/maria/variables?against=mysql").body
	text := tags.ReplaceAllString(body, "")
	if n := rows(body); n != 1 || strings.Contains(body, "aria_block_size") || !strings.Contains(text, "1 differ, 1 are the same, 3 only one side has: show them") {
		t.Errorf("%d rows by default", n)
	}
	if !strings.Contains(body, `href="/servers/maria/variables?against=mysql&amp;one_sided=1"`) || !strings.Contains(body, `name="one_sided" value="1">`) {
		t.Error("the switch is missing")
	}
	for _, head := range []string{"Comes from on maria", "Default of maria", "Changed on maria"} {
		if !strings.Contains(text, head) {
			t.Errorf("the page does not say %q", head)
		}
	}
	body = x.html(t, "/servers/maria/variables?against=mysql&one_sided=1").body
	text = tags.ReplaceAllString(body, "")
	if n := rows(body); n != 4 || !strings.Contains(body, "mysqlx_port") || !strings.Contains(text, "1 differ, 1 are the same, 3 only one side has: hide them") ||
		!strings.Contains(body, `name="one_sided" value="1" checked>`) {
		t.Errorf("%d rows when asked for all", n)
	}
	// What is counted is what would be shown.
	if text := tags.ReplaceAllString(x.html(t, "/servers/maria/variables?against=mysql&q=aria").body, ""); !strings.Contains(text, "2 only one side has") ||
		!strings.Contains(text, "No difference where both sides have the name.") {
		t.Error("of the names looked for, two are on one side only")
	}
	if body := x.html(t, "/servers/maria/variables").body; rows(body) != 4 || strings.Contains(body, "one_sided") || strings.Contains(body, "on maria") {
		t.Error("nothing is compared, and nothing hidden")
	}
}

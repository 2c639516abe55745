package poller

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"monolith"
)

// TestCollectorsAreComplete holds what the Monitoring page and the documentation show of each.
func TestCollectorsAreComplete(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../docs/collectors.md")
	if err != nil {
		t.Fatal(err)
	}
	all := Collectors()
	if all[0].Name != "status" {
		t.Errorf("%s comes first", all[0].Name)
	}
	seen := map[string]bool{}
	for _, c := range all {
		if c.Name == "" || seen[c.Name] || c.Title == "" || !strings.HasSuffix(c.Help, ".") || c.layouts == nil ||
			!slices.Contains(monolith.ScheduleNames, c.Schedule) {
			t.Errorf("collector %q is not complete: %+v", c.Name, c)
		}
		seen[c.Name] = true
		if !strings.Contains(string(docs), "\n| `"+c.Name+"` |") {
			t.Errorf("docs/collectors.md has no row of %s", c.Name)
		}
		if c.Grant == nil {
			continue
		}
		for _, version := range []string{"5.6.51", "8.4.0", "10.4.34-MariaDB", "10.5.4-MariaDB", "11.8.5-MariaDB"} {
			grant := c.Grant(server(version, ""), "o'neil@10.%")
			if grant != "" && (!strings.HasPrefix(grant, "GRANT ") || !strings.HasSuffix(grant, " TO 'o''neil'@'10.%';")) {
				t.Errorf("%s on %s prints %q", c.Name, version, grant)
			}
		}
	}
}

// belongs holds that what a collector gave is what the table of collectors says of it: others find by that table how old it
// may be, and why it is missing.
func belongs(tb testing.TB, c *Collector, snap *monolith.Snapshot) {
	tb.Helper()
	if monolith.CollectorSchedule(c.Name) == "" {
		return // of a test's own
	}
	for i := range snap.Sections {
		for _, names := range []*monolith.Names{snap.Sections[i].NumNames, snap.Sections[i].TextNames} {
			for k := range names.Len() {
				if m := names.At(k); monolith.CollectorOf(m.Name) != c.Name {
					tb.Errorf("%s gives %s, which the table says %s does", c.Name, m.Name, monolith.CollectorOf(m.Name))
				}
			}
		}
	}
	rows := reflect.ValueOf(snap.Rows)
	for i := range rows.NumField() {
		list, _, _ := strings.Cut(rows.Type().Field(i).Tag.Get("json"), ",")
		if !rows.Field(i).IsNil() && monolith.CollectorOfRows(list) != c.Name {
			tb.Errorf("%s gives the list %s, which the table says %s does", c.Name, list, monolith.CollectorOfRows(list))
		}
	}
}

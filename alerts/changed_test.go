package alerts

import (
	"slices"
	"testing"
	"time"

	"monolith"
)

// The steps of AUTO_INCREMENT follow the number of a Galera cluster's nodes, unless somebody told the cluster to leave them alone.
func TestVariablesThatGaleraChanges(t *testing.T) {
	t.Parallel()
	variables := func(texts ...string) *monolith.Section {
		s := &monolith.Section{Texts: texts}
		var names []monolith.Metric
		for _, name := range []string{"auto_increment_increment", "max_connections", "wsrep_auto_increment_control", "wsrep_on"} {
			names = append(names, monolith.Metric{Name: "variable." + name})
		}
		s.TextNames = monolith.NewNames(names)
		return s
	}
	for _, test := range []struct {
		control, on string
		want        []string
	}{
		{"ON", "ON", []string{"max_connections"}},
		{"OFF", "ON", []string{"auto_increment_increment", "max_connections"}},
		{"ON", "OFF", []string{"auto_increment_increment", "max_connections"}},
	} {
		var s serverState
		s.compareVariables(variables("3", "100", test.control, test.on), variables("2", "200", test.control, test.on), time.Unix(1, 0))
		var got []string
		for _, c := range s.varChanges {
			got = append(got, c.Name)
		}
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("wsrep_auto_increment_control=%s, wsrep_on=%s: %v changed, want %v", test.control, test.on, got, test.want)
		}
	}
}

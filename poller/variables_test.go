package poller

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

// variablesOf gives variables as a server with these would have them; nil where there are none.
func variablesOf(values map[string]string) *Variables {
	if values == nil {
		return nil
	}
	v := &Variables{}
	var metrics []monolith.Metric
	for _, name := range slices.Sorted(maps.Keys(values)) {
		metrics = append(metrics, monolith.Metric{Name: variablePrefix + name})
		v.texts = append(v.texts, values[name])
	}
	v.names = monolith.NewNames(metrics)
	return v
}

func TestVariables(t *testing.T) {
	t.Parallel()
	values := map[string]string{"log_bin": "ON", "tmpdir": ""}
	v := variablesOf(values)
	if got, known := v.Get("tmpdir"); got != "" || !known {
		t.Errorf("an empty one: %q, %v", got, known)
	}
	if got, known := v.Get("datadir"); got != "" || known {
		t.Errorf("one that is not there: %q, %v", got, known)
	}
	if diff := cmp.Diff(values, maps.Collect(v.All())); diff != "" {
		t.Error(diff)
	}
	var unread *Variables
	if got, known := unread.Get("log_bin"); got != "" || known || unread.Len() != 0 || len(maps.Collect(unread.All())) != 0 {
		t.Error("what was never read has values")
	}
	for _, c := range []struct {
		other *Variables
		want  bool
	}{
		{variablesOf(values), true}, {nil, false}, {variablesOf(map[string]string{"log_bin": "ON"}), false},
		{variablesOf(map[string]string{"log_bin": "OFF", "tmpdir": ""}), false}, {variablesOf(map[string]string{"log_bin": "ON", "tmp_dir": ""}), false},
	} {
		if got := v.equal(c.other); got != c.want {
			t.Errorf("%v equals %v: %v", v, c.other, got)
		}
	}
}

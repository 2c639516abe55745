package monolith

import (
	"testing"
	"time"
)

func TestStateReadsNumbersThatAreKeptAsTexts(t *testing.T) {
	names := NewNames([]Metric{{Name: "variable.max_connections"}, {Name: "variable.version"}, {Name: "variable.tmpdir"}})
	at := time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)
	st := (&State{}).With(&Snapshot{At: at, Sections: []Section{
		{Collector: "variables", TextNames: names, Texts: []string{"151", "10.11.6-MariaDB", ""}},
	}})
	if n, _, ok := st.Value(Metric{Name: "variable.max_connections"}); !ok || n != Uint(151) {
		t.Errorf("max_connections is %v, %v", n, ok)
	}
	for _, name := range []string{"variable.version", "variable.tmpdir", "variable.gone"} {
		if n, _, ok := st.Value(Metric{Name: name}); ok {
			t.Errorf("%s is the number %v", name, n)
		}
	}
}

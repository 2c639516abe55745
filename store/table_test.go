package store

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"monolith/store/history"
)

// TestTable compares a table with the map that it stands for.
func TestTable(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var got table[int]
		want := map[history.MetricID]int{}
		for i := range random.IntN(400) {
			id := history.MetricID(random.IntN(300))
			if random.IntN(2) == 0 {
				id = history.MetricID(i) // as it is mostly
			}
			got.set(id, i)
			want[id] = i
		}
		if diff := cmp.Diff(want, maps.Collect(got.all())); diff != "" {
			t.Fatal(diff)
		}
		for id := range history.MetricID(320) {
			v, known := got.get(id)
			if w, ok := want[id]; v != w || known != ok {
				t.Fatalf("%d: %d, %v; want %d, %v", id, v, known, w, ok)
			}
		}
		if got.len() != len(want) || !slices.IsSorted(got.ids) {
			t.Fatalf("%d in %v, want %d in order", got.len(), got.ids, len(want))
		}
	}
}

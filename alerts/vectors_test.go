package alerts

import (
	"os"
	"testing"
)

// TestVectors judges the worked values of the catalogue, the whole path from polls to levels.
func TestVectors(t *testing.T) {
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := ReadVectors(text)
	if err != nil {
		t.Fatal(err)
	}
	text, err = os.ReadFile("testdata/vector-inputs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	table, err := ReadVectorTable("vector-inputs.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for i := range vectors {
		v := &vectors[i]
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			if res := RunVector(cat, table, v); res.Err != nil {
				t.Errorf("%s: %s: %v", res.Rule, v.Text, res.Err)
			}
		})
	}
}

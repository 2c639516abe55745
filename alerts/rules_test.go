package alerts

import (
	"strings"
	"testing"
)

// TestRules runs the tests that stand beside the rules, file by file, so that a mistake in one file does not hide what
// the others say.
func TestRules(t *testing.T) {
	var quantities File
	for _, f := range BuiltinFiles() {
		if strings.HasSuffix(f.Name, "/quantities.yaml") {
			quantities = f
		}
	}
	for _, f := range BuiltinFiles() {
		if f.Name == quantities.Name {
			continue
		}
		t.Run(strings.TrimSuffix(strings.TrimPrefix(f.Name, "rules/"), ".yaml"), func(t *testing.T) {
			t.Parallel()
			cat, err := Load(quantities, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range cat.Rules() {
				t.Run(r.ID(), func(t *testing.T) {
					for _, res := range RunTests(cat, r) {
						if res.Err != nil {
							t.Errorf("%s: %v", res.Name, res.Err)
						}
					}
				})
			}
		})
	}
}

// TestBuiltin loads all files together: ids and quantities must be unique over them.
func TestBuiltin(t *testing.T) {
	if _, err := Builtin(); err != nil {
		t.Fatal(err)
	}
}

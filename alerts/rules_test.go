package alerts

import (
	"context"
	"strings"
	"testing"

	"monolith"
	"monolith/formula"
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

// noHistory is a history without anything in it.
type noHistory struct{}

func (noHistory) Read(_ context.Context, q monolith.Query) (*monolith.Range, error) {
	return &monolith.Range{Start: q.From, Step: q.Step, N: int(q.To.Sub(q.From) / q.Step), Tier: "raw"}, nil
}

// TestLongInputs evaluates what rules want to know over long windows: each must be a formula of its own.
func TestLongInputs(t *testing.T) {
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	values, err := ReadLong(t.Context(), noHistory{}, cat, 1, testStart())
	if err != nil {
		t.Fatal(err)
	}
	if len(values) < 5 {
		t.Errorf("rules read only %d long windows", len(values))
	}
	for key, v := range values {
		if v.Lack() != formula.LackLearning {
			t.Errorf("%s without history: %v %s", key.Formula, v.Lack(), v.Why())
		}
	}
}

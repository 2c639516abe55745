package alerts

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"monolith"
)

// TestHidden lets each collector that a rule reads run and give nothing, since a right is missing: at the second poll at the latest the
// rule can't be evaluated, names the statement that gives the right, and is judged again once it is given.
func TestHidden(t *testing.T) {
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	const grant = "GRANT PROCESS ON *.* TO 'm'@'%';"
	for _, r := range cat.Rules() {
		t.Run(r.ID(), func(t *testing.T) {
			t.Parallel()
			w := judgeable(t, cat, r)
			if w == nil {
				onlyTheConnection(t, r)
			}
			collectors := map[string]bool{}
			for _, name := range presentInputs(w) {
				collectors[monolith.CollectorOf(name)] = true
			}
			for _, set := range readSets(w) {
				collectors[set.collector] = set.name != "deadlock" // it is given once
			}
			for _, none := range []string{"server", "self", "cnf"} {
				delete(collectors, none)
			}
			for _, c := range slices.Sorted(maps.Keys(collectors)) {
				if !collectors[c] {
					continue
				}
				w := judgeable(t, cat, r)
				w.hidden = map[string]string{c: grant}
				for _, s := range verdictAfter(w) {
					if s.State == monolith.StateOpen {
						continue // by what else it reads
					}
					if s.State != monolith.StateCannotEvaluate || !strings.Contains(s.Why, grant) {
						t.Errorf("%s is hidden: %s is %s: %s", c, s.Instance, s.State, s.Why)
					}
				}
				w.hidden = nil
				for _, s := range verdictAfter(w) {
					if s.State == monolith.StateCannotEvaluate {
						t.Errorf("%s is given again: %s is %s: %s", c, s.Instance, s.State, s.Why)
					}
				}
			}
		})
	}
}

// TestPartOfAList: what is seen of a list can be bad, but not say that all is well.
func TestPartOfAList(t *testing.T) {
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	const grant = "GRANT SHOW DATABASES ON *.* TO 'm'@'%';"
	for _, r := range cat.Rules() {
		t.Run(r.ID(), func(t *testing.T) {
			t.Parallel()
			w := judgeable(t, cat, r)
			if w == nil {
				onlyTheConnection(t, r)
			}
			for _, set := range readSets(w) {
				w := judgeable(t, cat, r)
				w.notes = append(w.notes, monolith.Problem{Collector: set.collector, Kind: monolith.ProblemPartial, Text: "a part is hidden", Cure: grant})
				for _, s := range verdictAfter(w) {
					if s.State == monolith.StateOK || s.State == monolith.StateCannotEvaluate && !strings.Contains(s.Why, grant) {
						t.Errorf("%s in part: %s is %s: %s", set.name, s.Instance, s.State, s.Why)
					}
				}
			}
		})
	}
}

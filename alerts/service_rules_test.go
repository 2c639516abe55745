package alerts

import (
	"errors"
	"strings"
	"testing"

	"monolith"
)

// The alert of the monitor itself is no rule of the language, but its id is taken all the same, also before a rule is kept.
func TestOwnRuleTakesNoBuiltInID(t *testing.T) {
	f := newFleet(t, "db1")
	for _, id := range []string{RuleNetwork, RuleUnreachable} {
		source := strings.ReplaceAll(threeLevels, "id: running", "id: "+id)
		var inv *monolith.InvalidError
		if _, err := f.service.CheckOwnRule(source); !errors.As(err, &inv) || inv.Field != "id" {
			t.Errorf("check %s: %v", id, err)
		}
		if _, err := f.service.PutOwnRule(t.Context(), source, "kim"); !errors.Is(err, monolith.ErrConflict) {
			t.Errorf("put %s: %v", id, err)
		}
	}
}

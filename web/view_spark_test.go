package web

import (
	"os"
	"strings"
	"testing"
)

// TestScriptDrawsTheSameSparkline: with script and without it the first screen shows the same formula.
func TestScriptDrawsTheSameSparkline(t *testing.T) {
	b, err := os.ReadFile("ui/src/sparks.ts")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), `"`+sparkFormula+`"`) {
		t.Errorf("ui/src/sparks.ts does not ask for %s", sparkFormula)
	}
	if !strings.Contains(sparkFormula, "self.Questions") {
		t.Error("the sparkline counts Monolith's own statements")
	}
}

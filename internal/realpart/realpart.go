// Package realpart is the one rule for tests that need a program which may not be on the machine.
package realpart

import (
	"fmt"
	"os"
	"testing"
)

// Missing ends a test that needs a real part which is not on this machine: it fails when MONOLITH_REQUIRE_REAL=1
// and else is skipped, saying what is missing and how to get it, on standard error too.
func Missing(tb testing.TB, what, how string) {
	tb.Helper()
	text := fmt.Sprintf("%s is missing; to get it: %s", what, how)
	if os.Getenv("MONOLITH_REQUIRE_REAL") == "1" {
		tb.Fatal(text)
	}
	fmt.Fprintf(os.Stderr, "\n*** SKIPPED %s: %s\n", tb.Name(), text)
	tb.Skip(text)
}

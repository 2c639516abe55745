// Package realpart is the one rule for tests that need a program which may not be on the machine.
package realpart

import (
	"fmt"
	"os"
	"testing"
)

// Missing ends a test that needs a real part which is not on this machine: it fails when MONOLITH_REQUIRE_REAL=1
// and else is skipped, saying what is missing and how to get it. "go test" shows nothing of a package that passes,
// so it is also added to the file that MONOLITH_SKIPPED names, which "make test" prints at its end.
func Missing(tb testing.TB, what, how string) {
	tb.Helper()
	text := fmt.Sprintf("%s is missing; to get it: %s", what, how)
	if os.Getenv("MONOLITH_REQUIRE_REAL") == "1" {
		tb.Fatal(text)
	}
	if path := os.Getenv("MONOLITH_SKIPPED"); path != "" {
		if err := add(path, tb.Name()+": "+text+"\n"); err != nil {
			tb.Logf("realpart: %v", err)
		}
	}
	fmt.Fprintf(os.Stderr, "\n*** SKIPPED %s: %s\n", tb.Name(), text)
	tb.Skip(text)
}

// add appends one line in one write, so that the lines of several test programs do not mix.
func add(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(line)
	return err
}

package alerts

import (
	"os"
	"strings"
	"testing"
)

// TestCatalogueDocs holds docs/rules-catalogue.md to what the rules say.
func TestCatalogueDocs(t *testing.T) {
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := cat.WriteDocs(&b); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile("../docs/rules-catalogue.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != b.String() {
		t.Error("docs/rules-catalogue.md is not what the rules say: run monolith rules docs > docs/rules-catalogue.md")
	}
}

package web

import (
	"strings"
	"testing"
)

// TestViews parses every page, as each is parsed only when somebody asks for it.
func TestViews(t *testing.T) {
	t.Parallel()
	if n := len(views()); n < 30 {
		t.Fatalf("%d views", n)
	}
	for name, parsed := range views() {
		if parsed().Lookup("body") == nil {
			t.Errorf("%s has no body", name)
		}
	}
}

func TestAssetKinds(t *testing.T) {
	t.Parallel()
	a, err := loadAssets()
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range a.byPath {
		if f.kind == "" || strings.HasSuffix(name, ".js") && f.kind != "text/javascript; charset=utf-8" {
			t.Errorf("%s is %q", name, f.kind)
		}
	}
}

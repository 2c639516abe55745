package formula

import (
	"os"
	"regexp"
	"testing"
)

// TestDocumentedNamesAreKnown holds the table of names to the page that tells users what is collected.
func TestDocumentedNamesAreKnown(t *testing.T) {
	page, err := os.ReadFile("../docs/collectors.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`((?:replica|host|server|schema|innodb|self)\\.[A-Za-z0-9_]+)[`\\[]").FindAllSubmatch(page, -1)
	if len(names) < 80 {
		t.Fatalf("the page names only %d metrics", len(names))
	}
	texts := map[string]bool{"host.hostname": true, "host.os": true, "host.kernel": true, "host.platform": true, "host.datadir_mount": true}
	for _, m := range names {
		if name := string(m[1]); !texts[name] {
			if _, err := Parse(name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

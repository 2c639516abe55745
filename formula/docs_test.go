package formula

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The user's guide is held to what the language does: its formulas parse, its errors are the real ones,
// and every function is described.
func TestGuide(t *testing.T) {
	raw, err := os.ReadFile("../docs/formulas.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(raw)
	for _, f := range functionTable() {
		if !strings.Contains(guide, "`"+f.name+"(") {
			t.Errorf("%s is not described", f.name)
		}
	}
	for name := range nameTable().spaces {
		if !strings.Contains(guide, "`"+name+".`") {
			t.Errorf("the namespace %s is not described", name)
		}
	}

	_, examples, ok := strings.Cut(guide, "## Examples")
	if !ok {
		t.Fatal("there are no examples")
	}
	found := regexp.MustCompile("(?m)^\\|.*\\| `(.*)` \\|$").FindAllStringSubmatch(examples, -1)
	if len(found) < 10 {
		t.Errorf("%d examples", len(found))
	}
	for _, block := range regexp.MustCompile("(?s)```\n(.*?)```").FindAllStringSubmatch(guide, -1) {
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSpace(line)
			if !strings.HasPrefix(line, "column ") && !strings.Contains(line, ")=") {
				found = append(found, []string{"", line})
			}
		}
	}
	fields := map[string]Type{"io": TypeText, "channel": TypeText, "user": TypeText, "auth_empty": TypeBool, "locked": TypeBool}
	rules := &Scope{It: fields, Rows: map[string]map[string]Type{"replicas": fields, "accounts": fields}}
	for _, m := range found {
		var err error
		if strings.Contains(m[1], ", .") {
			_, err = ParseScope(m[1], rules)
		} else {
			_, err = Parse(m[1])
		}
		if err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
	}

	for text, line := range map[string]string{
		"rate(status.Com_selct)":     "column 6: status.Com_selct",
		"max(1, 2)":                  "column 1: there is no function max",
		"rate(status.Questions, 60)": "column 24:",
		"status.Uptime ? 1 : 0":      "column 1: true or false",
	} {
		_, err := Parse(text)
		if err == nil || !strings.HasPrefix(err.Error(), line) || !strings.Contains(guide, "\n"+err.Error()+"\n") {
			t.Errorf("%s: the guide does not show %q", text, err)
		}
	}
}

package formula

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOutcomes(t *testing.T) {
	t.Parallel()
	scope := &Scope{Locals: map[string]Type{"how": TypeText}}
	for text, want := range map[string][]Outcome{
		`"warn"`: {{Text: "warn", Column: 1}},
		`status.Uptime > 5 ? "bogus" : status.Uptime > "x" ? "a" : "b"`:  nil, // not a formula
		`status.Uptime > 5 ? "bogus" : (how == "left out" ? how : "ok")`: {{Text: "bogus", Column: 21}, {Local: "how", Column: 52}, {Text: "ok", Column: 58}},
		`variable.version ?? "none"`:                                     {{Text: "none", Column: 21}},
		`lower("A")`:                                                     nil,
		`status.Uptime`:                                                  nil,
	} {
		f, err := ParseScope(text, scope)
		if err != nil {
			if want != nil {
				t.Errorf("%s: %v", text, err)
			}
			continue
		}
		if diff := cmp.Diff(want, f.Outcomes()); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	f, err := Parse(`"plain"`)
	if err != nil || f.Outcomes()[0].Column != 1 {
		t.Errorf("without a scope: %v, %v", err, f)
	}
}

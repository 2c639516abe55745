package alerts

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

// secondNames are lines of the original plan that literally repeat an earlier one: they stand in the plan of its rule.
var secondNames = map[string]string{"S35": "S20", "S39": "S03"}

// planLines are the lines of the original plan, and the alerts beyond it.
func planLines() []string {
	var out []string
	for i := 1; i <= 57; i++ {
		out = append(out, fmt.Sprintf("S%02d", i))
	}
	for i := 1; i <= 46; i++ {
		out = append(out, fmt.Sprintf("P%02d", i))
		if i == 1 {
			out = append(out, "P01b")
		}
	}
	return out
}

// TestCatalogueIsComplete finds lines of the plan without a rule, rules without a line, and rules that are nowhere tested
// to keep quiet.
func TestCatalogueIsComplete(t *testing.T) {
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	byLine := map[string]*Rule{}
	for _, r := range cat.Rules() {
		if len(r.entry.Plan) == 0 {
			t.Errorf("%s (%s) stands for no line of the plan", r.id, r.file)
		}
		for _, line := range r.entry.Plan {
			if other := byLine[line]; other != nil {
				t.Errorf("%s is the line of %s and of %s", line, other.id, r.id)
			}
			byLine[line] = r
		}
	}
	for _, line := range planLines() {
		r := byLine[line]
		if r == nil {
			t.Errorf("no rule stands for %s", line)
			continue
		}
		delete(byLine, line)
		if first := secondNames[line]; first != "" && !slices.Contains(r.entry.Plan, first) {
			t.Errorf("%s is a second name of %s, but %s stands for it alone", line, first, r.id)
		}
		if !slices.ContainsFunc(r.entry.Tests, func(x testEntry) bool { return x.MustNotFire }) {
			t.Errorf("%s (%s) has no case that must not fire", r.id, line)
		}
		if len(r.entry.Tests) < 2 {
			t.Errorf("%s (%s) has %d tests", r.id, line, len(r.entry.Tests))
		}
	}
	for line, r := range byLine {
		t.Errorf("%s gives the line %q, which is not in the plan", r.id, line)
	}
	if want := len(planLines()) - len(secondNames); len(cat.Rules()) != want {
		t.Errorf("there are %d rules, the plan has %d without its second names", len(cat.Rules()), want)
	}
}

// TestCatalogueTexts looks at what people read: nothing is missing, summaries fit into a line, and every rule whose remedy
// changes a variable says what that risks and how to go back.
func TestCatalogueTexts(t *testing.T) {
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range cat.Rules() {
		e := &r.entry
		if len(strings.TrimSpace(e.About)) < 40 {
			t.Errorf("%s: about is too short to tell what it means", r.id)
		}
		if e.Remedy == nil {
			t.Errorf("%s has no remedy, not even where to look", r.id)
			continue
		}
		if len(e.Remedy.Set) > 0 && (e.Remedy.Risk == "" || e.Remedy.Rollback == "") {
			t.Errorf("%s changes a variable without telling risk and rollback", r.id)
		}
		for _, text := range append([]string{e.Title, e.About, e.Says, e.Summary, e.Remedy.Text, e.Remedy.Risk, e.Remedy.Rollback}, e.Remedy.Checks...) {
			if strings.Contains(text, "TODO") || strings.Contains(text, "  ") && !strings.Contains(text, "\n") {
				t.Errorf("%s: %q is not a finished text", r.id, text)
			}
		}
	}
}

// TestCatalogueSpeaks reads the words of every alert that a test leaves open: the summary is one short line, and there is
// a message, whatever the test did not give.
func TestCatalogueSpeaks(t *testing.T) {
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range cat.Rules() {
		for _, res := range RunTests(cat, r) {
			if res.State != monolith.StateOpen {
				continue
			}
			if n := utf8.RuneCountInString(res.Summary); n == 0 || n > longestSummary || strings.ContainsAny(res.Summary, "\n{}") {
				t.Errorf("%s: %s: a summary of %d characters: %q", r.id, res.Name, n, res.Summary)
			}
			if len(res.Text) < 12 || strings.ContainsAny(res.Text, "{}") {
				t.Errorf("%s: %s: the message is %q", r.id, res.Name, res.Text)
			}
		}
	}
}

// longestSummary is how many characters of a summary fit into the subject of a mail and a row of a page. Names of accounts and
// schemas may make one a little longer than its rule's author wrote it.
const longestSummary = 110

// TestVectorInputsAreCovered finds names of inputs that worked values may use and of which the table does not say what they
// are on a server.
func TestVectorInputsAreCovered(t *testing.T) {
	names, err := os.ReadFile("testdata/vector-inputs.txt")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/vector-inputs.yaml")
	if err != nil {
		t.Fatal(err)
	}
	table, err := ReadVectorTable("vector-inputs.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for name := range strings.FieldsSeq(string(names)) {
		known[name] = true
		if !table.Has("", name) {
			t.Errorf("the table does not say what %s is", name)
		}
	}
	for name := range table.Inputs {
		if _, plain, ok := strings.Cut(name, "/"); ok {
			name = plain
		}
		if !known[name] {
			t.Errorf("the table has %s, which no worked value may use", name)
		}
	}
}

// TestCatalogueWithoutTests holds that the rules that servers are watched with are those that are tested.
func TestCatalogueWithoutTests(t *testing.T) {
	tested, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	lean, err := bare()
	if err != nil {
		t.Fatal(err)
	}
	if len(lean.rules) != len(tested.rules) {
		t.Fatalf("%d rules of %d", len(lean.rules), len(tested.rules))
	}
	for i, r := range lean.rules {
		if len(r.entry.Tests) > 0 {
			t.Errorf("%s still has tests", r.id)
		}
		want := tested.rules[i].entry
		want.Tests = nil
		if diff := cmp.Diff(want, r.entry, cmp.AllowUnexported(spans{})); diff != "" {
			t.Errorf("%s changed with its tests gone:\n%s", r.id, diff)
		}
	}
	if diff := cmp.Diff(tested.rings, lean.rings, cmp.AllowUnexported(ringSpec{})); diff != "" {
		t.Error("other windows:\n" + diff)
	}
	for i, f := range lean.base.files() {
		if was := tested.base.files()[i].Text; bytes.Count(was, []byte("\n")) != bytes.Count(f.Text, []byte("\n")) {
			t.Errorf("%s has other lines", f.Name)
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rules runs the sub-command and gives what it printed.
func rules(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out, errs bytes.Buffer
	err := run(t.Context(), append([]string{"rules"}, args...), console{&out, &errs})
	return out.String(), err
}

func TestRulesList(t *testing.T) {
	text, err := rules(t, "list")
	if err != nil || !strings.Contains(text, "connection-failures") {
		t.Fatalf("%v %q", err, text)
	}
	text, err = rules(t, "list", "--format", "json")
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		ID   string
		When []any
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) < 100 || list[0].ID == "" || len(list[0].When) == 0 {
		t.Errorf("%v, %d rules", err, len(list))
	}
}

const ownRule = `rules:
- id: threads
  title: Threads
  when:
  - if: status.Threads_running >= limit.running
    limits: {warn: {running: 20}}
    clear: {after: 0}
  summary: "{status.Threads_running} running"
  says: "{status.Threads_running} run."
  tests:
  - {name: many, set: {status.Threads_running: 25}, state: open, level: warn}
  - {name: few, must_not_fire: true, set: {status.Threads_running: 5}, state: ok}
`

func TestRulesTest(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	text, err := rules(t, "test", file("good.yaml", ownRule))
	if err != nil || text != "2 tests, 0 failed\n" {
		t.Errorf("a good file: %v %q", err, text)
	}
	text, err = rules(t, "test", file("fails.yaml", strings.Replace(ownRule, "Threads_running: 5", "Threads_running: 50", 1)))
	if err == nil || !strings.Contains(text, "FAIL threads: few: expected ok, got open warn") || !strings.Contains(text, "2 tests, 1 failed") {
		t.Errorf("a test that fails: %v %q", err, text)
	}
	_, err = rules(t, "test", file("wrong.yaml", strings.Replace(ownRule, "status.Threads_running >=", "status.Thread_running >=", 1)))
	if err == nil || !strings.Contains(err.Error(), "wrong.yaml:5:") || !strings.Contains(err.Error(), "status.Threads_running") {
		t.Errorf("a wrong file: %v", err)
	}
	values := `[{"id": "S01-x", "plan": "S01", "level": "ok", "text": "few", "inputs": {"d_Connections": 3600, "d_Aborted_connects": 9}},
		{"id": "S01-y", "plan": "S01", "level": "crit", "text": "many", "inputs": {"d_Connections": 2000, "d_Aborted_connects": 1400}}]`
	if text, err = rules(t, "test", "--vectors", file("values.json", values)); err != nil || text != "2 tests, 0 failed\n" {
		t.Errorf("worked values: %v %q", err, text)
	}
	if text, err = rules(t, "test", "--vectors", file("bad.json", strings.Replace(values, `"ok"`, `"warn"`, 1))); err == nil || !strings.Contains(text, "S01-x") {
		t.Errorf("a worked value that is wrong: %v %q", err, text)
	}
}

// A file that is wrong in any way is refused whole, with its name, the line and what to write instead.
func TestRulesTestRefuses(t *testing.T) {
	with := func(old, now string) string {
		t.Helper()
		text := strings.Replace(ownRule, old, now, 1)
		if text == ownRule {
			t.Fatalf("there is no %q in the rule", old)
		}
		return text
	}
	for name, c := range map[string]struct{ text, place, cure string }{
		"nothing":            {"", "file.yaml: there is no rule in it", "rules:"},
		"no rule":            {"rules: []\n", "file.yaml: there is no rule in it", "rules:"},
		"not YAML":           {"rules:\n- id: [a\n  x: \"", "file.yaml:3:", "docs/rules.md"},
		"another kind":       {"rules: 5\n", "file.yaml:1:", "docs/rules.md"},
		"a word for a limit": {with("{running: 20}", "{running: many}"), "file.yaml:6: a text stands where a number is needed", "write a number"},
		"two documents":      {ownRule + "---\n" + ownRule, "file.yaml:13: the file holds more than one YAML document", "one list"},
		"unknown graph":      {with("  summary:", "  graph: no-such\n  summary:"), `file.yaml:8: threads: graph: "no-such"`, "address"},
		"unknown name":       {with("status.Threads_running >=", "status.Thread_running >="), "file.yaml:5: threads: when[0].if:", "status.Threads_running?"},
		"wrong unit":         {with("  when:", "  let: {n: {is: 'rate(status.Bytes_sent, \"1m\")', unit: \"%\"}}\n  when:"), "file.yaml:4: threads: let.n.unit:", `unit: "bytes/s"`},
		"cycle":              {with("  when:", "  let: {a: {is: b + 1}, b: {is: a + 1}}\n  when:"), "file.yaml:4: threads: let.a.is:", "without the other"},
		"wrong side":         {with("{warn: {running: 20}}", "{warn: {running: 20}, critical: {running: 10}}"), "file.yaml:6: threads: when[0].limits:", "the graver the level"},
		"an id twice":        {ownRule + strings.TrimPrefix(ownRule, "rules:\n"), "file.yaml:13: threads: id:", "unique"},
		"a built-in id":      {with("id: threads", "id: replica-lag"), "file.yaml:2: replica-lag: id:", "unique"},
		"too long":           {strings.Repeat("#", 1<<20+1), "file.yaml: the file is longer", "1 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file.yaml")
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := rules(t, "test", path)
			if err == nil || out != "" || !strings.Contains(err.Error(), c.place) || !strings.Contains(err.Error(), c.cure) {
				t.Errorf("%v, and printed %q", err, out)
			}
		})
	}
}

func TestRulesTestWithoutTests(t *testing.T) {
	bare, _, _ := strings.Cut(ownRule, "  tests:")
	path := filepath.Join(t.TempDir(), "file.yaml")
	if err := os.WriteFile(path, []byte("\ufeff"+bare), 0o600); err != nil { // as editors of Windows write it
		t.Fatal(err)
	}
	if out, err := rules(t, "test", path); err != nil || !strings.Contains(out, "none has a test") {
		t.Errorf("%v %q", err, out)
	}
}

func TestRulesTestRefusesVectors(t *testing.T) {
	for text, want := range map[string]string{
		"[]":                               "values.json: there are none in it",
		"null":                             "values.json: there are none in it",
		"[\n{\"id\": \"S01-x\",\n]":        "line 3",
		`[{"id": "S01-x", "level": "ok"}]`: "entry 1 has no id, plan or level",
	} {
		path := filepath.Join(t.TempDir(), "values.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := rules(t, "test", "--vectors", path); err == nil || out != "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, and printed %q", text, err, out)
		}
	}
}

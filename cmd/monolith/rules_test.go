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

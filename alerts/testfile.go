package alerts

import (
	"bytes"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"monolith"
)

// errNoQuietCase says what a built-in rule lacks.
var errNoQuietCase = monolith.Invalid("", "there is no case that must not fire", "a test with must_not_fire: true")

// testEntry is one case of tests.
type testEntry struct {
	Name        string       `yaml:"name"`
	MustNotFire bool         `yaml:"must_not_fire,omitempty"`
	Vector      string       `yaml:"vector,omitempty"`
	Uptime      *span        `yaml:"uptime,omitempty"`
	Interval    *span        `yaml:"interval,omitempty"`
	All         bool         `yaml:"all,omitempty"` // with all rules of the catalogue, not this one alone
	Phase       phaseEntry   `yaml:",inline"`
	At          string       `yaml:"at,omitempty"`     // day at which the test begins
	Source      string       `yaml:"source,omitempty"` // host: the machine is read; cnf: the option files are
	Then        []phaseEntry `yaml:"then,omitempty"`
}

// phaseEntry is one stretch of time in a test, with what is expected at its end.
type phaseEntry struct {
	Set      map[string]any       `yaml:"set,omitempty"`
	Adds     map[string]float64   `yaml:"adds,omitempty"`
	Over     *span                `yaml:"over,omitempty"` // in which adds grow: default the rule's window
	Rows     map[string]anyNode   `yaml:"rows,omitempty"`
	Refuse   map[string]string    `yaml:"refuse,omitempty"`
	History  map[string]any       `yaml:"history,omitempty"`
	Held     *span                `yaml:"held,omitempty"`
	Problem  *problemEntry        `yaml:"problem,omitempty"`
	Gap      *span                `yaml:"gap,omitempty"` // no polls for that long before the phase
	Ramp     map[string]rampEntry `yaml:"ramp,omitempty"`
	Saw      map[string]sawEntry  `yaml:"saw,omitempty"`
	Usual    map[string]float64   `yaml:"usual,omitempty"`
	Server   serverEntry          `yaml:"server,omitempty"`
	Remedy   string               `yaml:"remedy,omitempty"` // part of the remedy
	Restart  bool                 `yaml:"restart,omitempty"`
	Instance *string              `yaml:"instance,omitempty"`
	State    string               `yaml:"state,omitempty"`
	Level    string               `yaml:"level,omitempty"`
	Says     string               `yaml:"says,omitempty"`
	Why      string               `yaml:"why,omitempty"`
	Shows    string               `yaml:"shows,omitempty"` // part of the summary
}

// problemEntry is what keeps Monolith from the server during the phase.
type problemEntry struct {
	Kind string `yaml:"kind"`
	Code int    `yaml:"code,omitempty"`
	Text string `yaml:"text,omitempty"`
}

// rampEntry is a gauge that grows evenly to a value at the end of the phase.
type rampEntry struct {
	To     float64 `yaml:"to"`
	PerDay float64 `yaml:"per_day"`
}

// sawEntry is a gauge that is high for a part of each period.
type sawEntry struct {
	Low   float64 `yaml:"low"`
	High  float64 `yaml:"high"`
	Every span    `yaml:"every"`
	Up    span    `yaml:"up"`
}

// serverEntry holds facts of the server of a test.
type serverEntry struct {
	Flavour          string   `yaml:"flavour,omitempty"`
	Version          string   `yaml:"version,omitempty"`
	Environment      string   `yaml:"environment,omitempty"`
	Role             string   `yaml:"role,omitempty"`
	Group            string   `yaml:"group,omitempty"`
	Name             string   `yaml:"name,omitempty"`
	Aurora           bool     `yaml:"aurora,omitempty"`
	Galera           bool     `yaml:"galera,omitempty"`
	Cloud            string   `yaml:"cloud,omitempty"`
	RDS              bool     `yaml:"rds,omitempty"`
	Tags             []string `yaml:"tags,omitempty"`
	RAM              int64    `yaml:"ram,omitempty"`
	Host             string   `yaml:"host,omitempty"`
	InMaintenance    bool     `yaml:"in_maintenance,omitempty"`
	InBackupWindow   bool     `yaml:"in_backup_window,omitempty"`
	GroupReplication bool     `yaml:"group_replication,omitempty"`
	ReplicasAttached *int     `yaml:"replicas_attached,omitempty"`
	WritableInGroup  int      `yaml:"writable_in_group,omitempty"`
	CollectorsOff    []string `yaml:"collectors_off,omitempty"`
}

// anyNode is a part of the YAML of which it is known only later what it must be. It keeps the values and not the nodes: each
// of those holds its whole file.
type anyNode struct{ value any }

func (a *anyNode) UnmarshalYAML(node ast.Node) error {
	return yaml.NodeToValue(node, &a.value, yaml.Strict())
}

// withoutTests gives a built-in rule file with empty lines where its tests stood. These files have each rule's keys two
// columns in, and what belongs to a key further in or in a list.
func withoutTests(text []byte) []byte {
	out := make([]byte, 0, len(text))
	tests := false
	for line := range bytes.Lines(text) {
		switch bare := bytes.TrimLeft(line, " "); {
		case bytes.HasPrefix(line, []byte("  tests:")):
			tests = true
		case bare[0] == '\n' || bare[0] == '#' || len(line)-len(bare) > 2 || bytes.HasPrefix(line, []byte("  - ")):
			// goes on as it was
		default:
			tests = false
		}
		if tests {
			line = line[len(line)-1:]
		}
		out = append(out, line...)
	}
	return out
}

// checkTests refuses a built-in rule without a case that must not fire, but for those whose tests are not at hand.
func checkTests(r *Rule, excused bool, fail func(string, error) error) error {
	if excused {
		return nil
	}
	for _, t := range r.entry.Tests {
		if t.MustNotFire {
			return nil
		}
	}
	return fail("tests", errNoQuietCase)
}

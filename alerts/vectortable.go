package alerts

import (
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// VectorTable says how the inputs of vectors become polls: readings, rows, facts and times. It never sets a quantity of a
// rule. docs/rules.md describes its form.
type VectorTable struct {
	Plans  map[string]planEntry    `yaml:"plans"`
	Inputs map[string]vectorInputs `yaml:"inputs"`
}

// planEntry is what all vectors of one line of the plan begin with.
type planEntry struct {
	Calm     bool                 `yaml:"calm,omitempty"` // held: before, nothing grew for as long as windows need
	Uptime   *span                `yaml:"uptime,omitempty"`
	Interval *span                `yaml:"interval,omitempty"`
	Over     *span                `yaml:"over,omitempty"`
	Held     *span                `yaml:"held,omitempty"`
	Source   string               `yaml:"source,omitempty"`
	Server   serverEntry          `yaml:"server,omitempty"`
	Set      map[string]any       `yaml:"set,omitempty"`
	Adds     map[string]float64   `yaml:"adds,omitempty"`
	Rows     map[string]any       `yaml:"rows,omitempty"`
	Ramp     map[string]rampEntry `yaml:"ramp,omitempty"`
	History  map[string]any       `yaml:"history,omitempty"`
}

// vectorInputs is one thing that an input becomes, or several.
type vectorInputs []vectorInput

// vectorInput says what an input becomes: exactly one of its first group is given.
type vectorInput struct {
	Set     string `yaml:"set,omitempty"`     // a reading
	Adds    string `yaml:"adds,omitempty"`    // growth of a counter
	Slope   string `yaml:"slope,omitempty"`   // growth per second of a gauge, up to the value it is set to
	Row     string `yaml:"row,omitempty"`     // a field of the only row of a list; see Field
	Rows    string `yaml:"rows,omitempty"`    // a list; see Each, As
	History string `yaml:"history,omitempty"` // a value over a long window
	Server  string `yaml:"server,omitempty"`  // a fact: flavour, version, role …
	Tag     string `yaml:"tag,omitempty"`     // a tag of the server, where the input is true
	Uptime  string `yaml:"uptime,omitempty"`  // its unit: s, m, h or d
	Over    string `yaml:"over,omitempty"`    // the time in which counters grew: its unit
	Held    string `yaml:"held,omitempty"`    // for how long it was so: its unit
	Ignore  string `yaml:"ignore,omitempty"`  // why it is not needed

	Field string             `yaml:"field,omitempty"` // of Row
	Each  string             `yaml:"each,omitempty"`  // of Rows: the field that each element of the input is
	As    string             `yaml:"as,omitempty"`    // of Rows: account or grant
	When  map[string]any     `yaml:"when,omitempty"`  // only where other inputs have these values
	Value any                `yaml:"value,omitempty"` // instead of the input's own
	Times *float64           `yaml:"times,omitempty"`
	By    string             `yaml:"by,omitempty"` // times another input of the vector
	Plus  *float64           `yaml:"plus,omitempty"`
	Map   map[string]anyNode `yaml:"map,omitempty"` // values by how the input is written
}

func (v *vectorInputs) UnmarshalYAML(node ast.Node) error {
	if _, ok := node.(*ast.SequenceNode); ok {
		var list []vectorInput
		if err := yaml.NodeToValue(node, &list, yaml.Strict()); err != nil {
			return err
		}
		*v = list
		return nil
	}
	var one vectorInput
	if err := yaml.NodeToValue(node, &one, yaml.Strict()); err != nil {
		return err
	}
	*v = vectorInputs{one}
	return nil
}

// ReadVectorTable reads a table of inputs.
func ReadVectorTable(name string, text []byte) (*VectorTable, error) {
	var t VectorTable
	if err := yaml.UnmarshalWithOptions(text, &t, yaml.Strict()); err != nil {
		return nil, yamlError(name, err)
	}
	return &t, nil
}

// BuiltinVectorTable gives the table for the inputs of the catalogue's worked values.
func BuiltinVectorTable() (*VectorTable, error) {
	const name = "testdata/vector-inputs.yaml"
	text, err := ruleFiles.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("alerts: %w", err)
	}
	return ReadVectorTable(name, text)
}

// Has reports whether the table says what an input becomes for a line of the plan.
func (t *VectorTable) Has(plan, input string) bool {
	_, ok := t.lookUp(plan, input)
	return ok
}

func (t *VectorTable) lookUp(plan, input string) (vectorInputs, bool) {
	if v, ok := t.Inputs[plan+"/"+input]; ok {
		return v, true
	}
	v, ok := t.Inputs[input]
	return v, ok
}

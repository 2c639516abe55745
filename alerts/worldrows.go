package alerts

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"monolith"
	"monolith/formula"
)

// setRows puts the lists of a test in, by the names of row sets. Rows have the JSON names of package monolith; times may
// be written now-85d.
func (w *world) setRows(rows map[string]anyNode) error {
	for name, node := range rows {
		v := w.times(copied(node.value))
		if err := w.takeMade(name, v); err != nil {
			return err
		}
		field := name
		switch name {
		case "mounts", "devices":
			w.hosted()
		case "processes":
			if list, ok := v.([]any); ok {
				v = map[string]any{"rows": list, "total": len(list)}
			}
		case "schemas":
			if list, ok := v.([]any); ok {
				v = map[string]any{"schemas": list}
			}
		case "tables":
			field, v = "schemas", map[string]any{"largest": v}
		case "processes_by_user", "processes_by_host", "processes_by_state":
			field, v = "processes", map[string]any{strings.TrimPrefix(name, "processes_"): v}
		}
		if name == "cnf_differences" {
			if err := remarshal(v, &w.engine.server(w.server.ID).cnf); err != nil {
				return fmt.Errorf("rows: %s: %w", name, err)
			}
			continue
		}
		text, err := json.Marshal(map[string]any{field: v})
		if err != nil {
			return fmt.Errorf("rows: %s: %w", name, err)
		}
		// Lists take the place of those before; what a set is a part of is added to.
		if field == name {
			clearRows(&w.rows, field)
		}
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(&w.rows); err != nil {
			return fmt.Errorf("rows: %s: %w", name, err)
		}
		w.finishRows()
		if name == "accounts" {
			// What the test gives stands, also of what is derived.
			list, _ := v.([]any)
			for i := range list {
				if err := remarshal(list[i], &w.rows.Accounts[i]); err != nil {
					return fmt.Errorf("rows: %s: %w", name, err)
				}
			}
		}
	}
	return nil
}

// takeMade takes the fields that are worked out from the row out of it: the test gives their value.
func (w *world) takeMade(set string, v any) error {
	list, _ := v.([]any)
	s := w.engine.server(w.server.ID)
	for i := range list {
		fields, _ := list[i].(map[string]any)
		for _, m := range madeFields(set) {
			value, ok := fields[m.name]
			if !ok {
				continue
			}
			delete(fields, m.name)
			scalar, err := historyValue(value)
			if yes, isBool := value.(bool); isBool {
				scalar, err = formula.Truth(yes), nil
			}
			if err != nil {
				return fmt.Errorf("rows: %s: %s: %w", set, m.name, err)
			}
			if s.given == nil {
				s.given = map[givenField]formula.Scalar{}
			}
			s.given[givenField{set, i, m.name}] = scalar
		}
	}
	return nil
}

// remarshal turns decoded YAML into a value.
func remarshal(from, to any) error {
	text, err := json.Marshal(from)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(to)
}

// finishRows works out what collectors derive.
func (w *world) finishRows() {
	for i := range w.rows.Replicas {
		r := &w.rows.Replicas[i]
		if r.Delay == nil {
			r.Measure(monolith.Num{}, monolith.Num{})
		}
	}
	facts := monolith.AccountFacts{Identity: w.id, Now: w.at(), Hostname: w.id.Hostname, Account: "monolith@localhost"}
	if s := w.signals[monolith.Metric{Name: "variable.hostname"}]; s != nil {
		facts.Hostname = s.text
	}
	for i := range w.rows.Accounts {
		w.rows.Accounts[i].Derive(facts)
	}
}

// times replaces texts such as now-85d by moments.
func (w *world) times(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = w.times(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = w.times(v[k])
		}
	case string:
		sign := time.Duration(-1)
		rest, ok := strings.CutPrefix(v, "now-")
		if !ok {
			rest, ok = strings.CutPrefix(v, "now+")
			sign = 1
		}
		if !ok {
			return v
		}
		if d, err := monolith.ParseDuration("", rest); err == nil {
			return w.at().Add(sign * d).Format(time.RFC3339)
		}
	}
	return v
}

// clearRows forgets a list, as when its collector did not run.
func clearRows(r *monolith.Rows, set string) {
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		if name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ","); name == set {
			v.Field(i).SetZero()
		}
	}
}

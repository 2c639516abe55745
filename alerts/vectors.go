package alerts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/goccy/go-yaml"

	"monolith"
)

// Vector is a worked value of the catalogue: what goes in, in the catalogue's own words, and the level that must come
// out.
type Vector struct {
	ID          string         `json:"id"`
	Plan        string         `json:"plan"`
	MustNotFire bool           `json:"must_not_fire"`
	Text        string         `json:"text"`
	Level       string         `json:"level"`
	Value       string         `json:"value"`
	Inputs      map[string]any `json:"inputs"`
}

// ReadVectors reads a file of vectors.
func ReadVectors(text []byte) ([]Vector, error) {
	var out []Vector
	if err := json.Unmarshal(text, &out); err != nil {
		if bad, ok := errors.AsType[*json.SyntaxError](err); ok {
			line := 1 + bytes.Count(text[:min(int(bad.Offset), len(text))], []byte("\n"))
			return nil, fmt.Errorf("alerts: read vectors: line %d: %w", line, err)
		}
		return nil, fmt.Errorf("alerts: read vectors: %w", err)
	}
	for i := range out {
		if out[i].ID == "" || out[i].Plan == "" || out[i].Level == "" {
			return nil, fmt.Errorf("alerts: read vectors: entry %d has no id, plan or level", i+1)
		}
	}
	return out, nil
}

// RunVector turns a vector's inputs into polls and judges them, the whole path.
func RunVector(cat *Catalogue, t *VectorTable, v *Vector) TestResult {
	res := TestResult{Name: v.ID, MustNotFire: v.MustNotFire}
	r := cat.byPlan(v.Plan)
	if r == nil {
		res.Err = fmt.Errorf("no rule has the plan line %s", v.Plan)
		return res
	}
	res.Rule = r.id
	entry, err := t.testOf(v, r)
	if err == nil {
		err = runTest(cat, r, entry, &res)
	}
	if err == nil {
		err = res.meets(v.Level)
	}
	res.Err = err
	return res
}

// byPlan finds the rule of a line of the plan.
func (c *Catalogue) byPlan(plan string) *Rule {
	for _, r := range c.rules {
		if slices.Contains(r.info.Plan, plan) {
			return r
		}
	}
	return nil
}

// meets compares what came out with the level that a vector wants.
func (r *TestResult) meets(level string) error {
	got := string(r.State)
	switch r.State {
	case monolith.StateOpen:
		got = r.Level.String()
	case monolith.StatePending:
		got = "ok"
	}
	want := map[string]string{"crit": "critical", "n/a": "not_applicable", "unknown": "cannot_evaluate"}[level]
	if want == "" {
		want = level
	}
	if got == want {
		return nil
	}
	return fmt.Errorf("expected %s, got %s %s (%s); summary %q", want, r.State, got, r.Why, r.Summary)
}

// testOf makes a test of a vector.
func (t *VectorTable) testOf(v *Vector, r *Rule) (*testEntry, error) {
	plan := t.Plans[v.Plan]
	worst := ""
	e := &testEntry{Name: v.ID, Uptime: plan.Uptime, Interval: plan.Interval, Source: plan.Source}
	e.Phase = phaseEntry{Set: map[string]any{}, Adds: map[string]float64{}, Ramp: map[string]rampEntry{}, History: map[string]any{},
		Server: plan.Server, Over: plan.Over, Held: plan.Held, Instance: &worst}
	maps.Copy(e.Phase.Set, plan.Set)
	maps.Copy(e.Phase.Adds, plan.Adds)
	maps.Copy(e.Phase.Ramp, plan.Ramp)
	maps.Copy(e.Phase.History, plan.History)
	b := &vectorBuilder{entry: e, vector: v, rows: map[string]any{}, slopes: map[string]float64{}}
	for name, list := range plan.Rows {
		b.rows[name] = copied(list)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Inputs)) {
		list, ok := t.lookUp(v.Plan, name)
		if !ok {
			return nil, fmt.Errorf("the table does not say what the input %q is", name)
		}
		for i := range list {
			if err := b.apply(&list[i], v.Inputs[name]); err != nil {
				return nil, fmt.Errorf("input %s: %w", name, err)
			}
		}
	}
	if err := b.finish(); err != nil {
		return nil, err
	}
	if b.held && plan.Calm {
		e.calm(r)
	}
	return e, nil
}

// calm puts a stretch before the phase in which nothing grew.
func (e *testEntry) calm(r *Rule) {
	then := e.Phase
	then.Rows, then.Server = nil, serverEntry{}
	first := e.Phase
	first.Held, first.Adds, first.Ramp, first.State = nil, map[string]float64{}, nil, ""
	for name := range e.Phase.Adds {
		first.Adds[name] = 0
	}
	e.Phase, e.Then = first, []phaseEntry{then}
}

// copied makes a deep copy of decoded YAML, so that vectors don't change each other.
func copied(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = copied(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = copied(v[k])
		}
		return out
	}
	return v
}

// vectorBuilder makes a test of a vector's inputs.
type vectorBuilder struct {
	entry  *testEntry
	vector *Vector
	rows   map[string]any
	slopes map[string]float64
	held   bool
}

// value gives what an input is here.
func (in *vectorInput) value(given any) (any, error) {
	if in.Value != nil {
		return in.Value, nil
	}
	if len(in.Map) > 0 {
		node, ok := in.Map[written(given)]
		if !ok {
			return nil, fmt.Errorf("the table has no value for %v", given)
		}
		return node.value, nil
	}
	n, ok := number(given)
	if !ok {
		if text, isText := given.(string); isText && (in.Times != nil || in.Plus != nil) {
			f, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, fmt.Errorf("%q is not a number", text)
			}
			n, ok = f, true
		}
	}
	if ok {
		if in.Times != nil {
			n *= *in.Times
		}
		if in.Plus != nil {
			n += *in.Plus
		}
		return n, nil
	}
	return given, nil
}

// written is how a value is written as a key of a map.
func written(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// unitOf reads a unit of time.
func secondsOf(unit string) (float64, error) {
	if s, ok := map[string]float64{"s": 1, "m": 60, "h": 3600, "d": 86400}[unit]; ok {
		return s, nil
	}
	return 0, fmt.Errorf("%q is not a unit: s, m, h or d", unit)
}

// length makes a length of time of an input.
func length(v any, unit string) (*span, error) {
	one, err := secondsOf(unit)
	if err != nil {
		return nil, err
	}
	n, ok := number(v)
	if !ok {
		return nil, fmt.Errorf("%v is not a number", v)
	}
	d := span(n * one * float64(time.Second))
	return &d, nil
}

var errOneThing = errors.New("an entry of the table is exactly one of set, adds, slope, row, rows, history, server, tag, uptime, over, held, ignore")

func (b *vectorBuilder) apply(in *vectorInput, given any) error {
	for other, want := range in.When {
		if written(b.vector.Inputs[other]) != written(want) {
			return nil
		}
	}
	v, err := in.value(given)
	if err != nil {
		return err
	}
	if in.By != "" {
		n, ok1 := number(v)
		factor, ok2 := number(b.vector.Inputs[in.By])
		if !ok1 || !ok2 {
			return fmt.Errorf("by: %s or the input is not a number", in.By)
		}
		v = n * factor
	}
	p := &b.entry.Phase
	switch {
	case in.Ignore != "":
		return nil
	case in.Set != "":
		p.Set[in.Set] = v
		return nil
	case in.Adds != "":
		n, ok := number(v)
		if !ok {
			return fmt.Errorf("%v is not a number", v)
		}
		p.Adds[in.Adds] += n
		return nil
	case in.Slope != "":
		n, ok := number(v)
		if !ok {
			return fmt.Errorf("%v is not a number", v)
		}
		b.slopes[in.Slope] = n
		return nil
	case in.History != "":
		p.History[in.History] = v
		return nil
	case in.Row != "":
		return b.setField(in.Row, in.Field, v)
	case in.Rows != "":
		return b.setRows(in, v)
	case in.Server != "":
		return b.fact(in.Server, v)
	case in.Tag != "":
		if v == true {
			p.Server.Tags = append(slices.Clone(p.Server.Tags), in.Tag)
		}
		return nil
	case in.Uptime != "":
		b.entry.Uptime, err = length(v, in.Uptime)
		return err
	case in.Over != "":
		p.Over, err = length(v, in.Over)
		return err
	case in.Held != "":
		p.Held, err = length(v, in.Held)
		b.held = true
		return err
	}
	return errOneThing
}

// fact sets a fact of the server.
func (b *vectorBuilder) fact(name string, v any) error {
	node := map[string]any{name: v}
	if name == "version" {
		node[name] = newest(written(v))
	}
	text, err := yaml.Marshal(node)
	if err != nil {
		return err
	}
	var e serverEntry
	if err := yaml.UnmarshalWithOptions(text, &e, yaml.Strict()); err != nil {
		return fmt.Errorf("fact %s: %w", name, err)
	}
	s := &b.entry.Phase.Server
	merged := *s
	if err := yaml.UnmarshalWithOptions(text, &merged, yaml.Strict()); err != nil {
		return err
	}
	*s = merged
	return nil
}

// setField sets a field of the only row of a list.
func (b *vectorBuilder) setField(set, field string, v any) error {
	list, _ := b.rows[set].([]any)
	if len(list) == 0 {
		list = []any{map[string]any{}}
		b.rows[set] = list
	}
	row, ok := list[0].(map[string]any)
	if !ok || field == "" {
		return fmt.Errorf("row %s needs a field", set)
	}
	if n, isNumber := v.(float64); isNumber && n == float64(int64(n)) {
		v = int64(n)
	}
	row[field] = v
	return nil
}

func (b *vectorBuilder) setRows(in *vectorInput, v any) error {
	list, ok := v.([]any)
	if !ok {
		return fmt.Errorf("%v is not a list", v)
	}
	out := make([]any, 0, len(list))
	for _, one := range list {
		switch {
		case in.Each != "":
			out = append(out, map[string]any{in.Each: one})
		case in.As == "account":
			account, err := b.account(one)
			if err != nil {
				return err
			}
			out = append(out, account)
		case in.As == "grant":
			if row := grantRow(one); row != nil {
				out = append(out, row)
			}
		default:
			out = append(out, copied(one))
		}
	}
	b.rows[in.Rows] = out
	return nil
}

// finish puts rows and slopes in.
func (b *vectorBuilder) finish() error {
	p := &b.entry.Phase
	for name, slope := range b.slopes {
		at, ok := number(p.Set[name])
		if !ok {
			return fmt.Errorf("slope: %s has no value to grow to", name)
		}
		delete(p.Set, name)
		p.Ramp[name] = rampEntry{To: at, PerDay: slope * 86400}
	}
	if len(b.rows) == 0 {
		return nil
	}
	text, err := yaml.Marshal(b.rows)
	if err != nil {
		return fmt.Errorf("rows: %w", err)
	}
	p.Rows = map[string]anyNode{}
	return yaml.UnmarshalWithOptions(text, &p.Rows)
}

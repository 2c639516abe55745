package formula

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"monolith"
)

// FuzzParseScope holds for the formulas of rules what FuzzParse holds for those of graphs.
func FuzzParseScope(f *testing.F) {
	for _, text := range append(slices.Clone(ruleFormulas),
		`any(replicas, .io != "Yes" and #.lag > limit.failed)`, "names(replicas, .lag in [1, 2], .channel)", `count(replicas, any(accounts, .locked)) ?? 1`,
		"1) + (2", "a, b", "{a}", "one(0, 1)", "it.lag | abs()", "#", ".lag", ".5.lag", "#acc.x", "sum(replicas, (.lag ?? 0)) // x", "a)//", `has(it["lag"])`, "concat(upper(t), usual_rate(status.X), slope(host.use, \"1h\"))",
		`version("1.2.3.4") < KiB`, "lower(lower(t)) matches t", "round_up(1, 0)", "replicas.lag", "let x = .lag; x", "any(replicas, {.lag > 1})",
	) {
		f.Add(text)
	}
	scope := ruleScope()
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		parsed, err := ParseScope(text, scope)
		if took := time.Since(start); took > 3*time.Second {
			t.Fatalf("took %v", took)
		}
		if err != nil {
			var invalid *monolith.InvalidError
			if !errors.As(err, &invalid) || invalid.Reason == "" {
				t.Fatalf("error %v", err)
			}
			if n := utf8.RuneCountInString(text); invalid.Column < 1 || invalid.Column > n+1 {
				t.Fatalf("column %d of a text of %d: %v", invalid.Column, n, err)
			}
			return
		}
		env := ruleEnv()
		got := parsed.Eval(env)
		checkScalar(t, parsed, got)
		parsed.ExplainEval(env)
		parsed.Unit()
		if took := time.Since(start); took > 4*time.Second {
			t.Fatalf("took %v", took)
		}
		printed := parsed.unit.print(parsed.unit.root, nothingBehind)
		again, err := ParseScope(printed, scope)
		if err != nil {
			if utf8.RuneCountInString(printed) <= maxText && !strings.Contains(err.Error(), "parts") {
				t.Fatalf("printed as %q: %v", printed, err)
			}
			return
		}
		if v := again.Eval(env); v.Lack() != got.Lack() || v.String() != got.String() {
			t.Fatalf("%s gives %+v, printed as %q %+v", text, got, printed, v)
		}
	})
}

// checkScalar holds what is true of every result.
func checkScalar(t *testing.T, f *Formula, v Scalar) {
	t.Helper()
	if n, ok := v.Float(); ok && n-n != 0 {
		t.Fatalf("%s gives %v", f, n)
	}
	if (v.Lack() == LackNone) != (v.Why() == "") {
		t.Fatalf("%s: lack %v, why %q", f, v.Lack(), v.Why())
	}
	if v.Lack() == LackNone && f.Type() == TypeBool && v.Type() != TypeBool {
		t.Fatalf("%s gives %+v", f, v)
	}
}

// FuzzEval makes formulas of rules and values at random. What failed must fail the whole, wherever it stands; where nothing
// is missing there is a value or a division by zero; and the interpreter gives what a plain one gives.
func FuzzEval(f *testing.F) {
	for seed := range uint64(300) {
		f.Add(seed, uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, size uint8) {
		m := &ruleMaker{maker{rand.New(rand.NewPCG(seed, uint64(size)))}, 0}
		text := m.condition(1 + int(size)%4)
		parsed, err := ParseScope(text, ruleScope())
		if err != nil {
			if utf8.RuneCountInString(text) > maxText || strings.Contains(err.Error(), "parts") {
				return
			}
			t.Fatalf("%s: %v", text, err)
		}
		env := m.env(parsed)
		got := parsed.Eval(env)
		checkScalar(t, parsed, got)
		if again := parsed.Eval(env); again != got {
			t.Fatalf("%s: first %+v, then %+v", text, got, again)
		}
		explained := parsed.ExplainEval(env)
		if !strings.Contains(text, "??") && env.anyFailed(parsed) != (got.Lack() == LackFailed) {
			t.Fatalf("%s: %+v, %s", text, got, explained)
		}
		if got.Lack() == LackFailed {
			return
		}
		p := plain{parsed, env}
		if want := p.eval(parsed.unit.root, nil); want.Lack() != got.Lack() || want.Lack() == LackNone && want != got {
			t.Fatalf("%s: %+v, the plain interpreter gives %+v\n%s", text, got, want, explained)
		}
	})
}

// ruleMaker makes formulas of rules.
type ruleMaker struct {
	maker
	depth int // of functions over rows
}

func (m *ruleMaker) value(depth int) string {
	if depth <= 0 {
		if m.depth > 0 && m.IntN(2) == 0 {
			return ".lag"
		}
		return m.of("a", "b", "failed", "limit.failed", "it.lag", "status.Uptime", "rate(status.Questions)", "self.Absent", "status.Null",
			"max_over(status.G, \"1h\")", "0", "1", "2.5", "sum(host.use)", "max_of(host.use * limit.share)", "count(replicas)")
	}
	x, y := func() string { return m.value(depth - 1) }, func() string { return m.value(m.IntN(depth)) }
	switch m.IntN(11) {
	case 0, 1, 2:
		return "(" + x() + m.of(" + ", " - ", " * ", " / ", " % ", " ** ") + y() + ")"
	case 3:
		return m.of("greatest", "least", "percent", "round_up", "round_down") + "(" + x() + ", " + y() + ")"
	case 4:
		return "clamp(" + x() + ", " + y() + ", " + y() + ")"
	case 5:
		return m.of("abs", "floor", "ceil", "round", "-") + "(" + x() + ")"
	case 6:
		return "(" + m.condition(depth-1) + " ? " + x() + " : " + y() + ")"
	case 7:
		return "((" + m.of("self.Absent", "a", "it.lag + self.Absent", "status.Null") + ") ?? " + x() + ")"
	case 8, 9:
		return m.over(m.of("sum", "min_of", "max_of", "avg_of"), func() string { return x() })
	}
	return m.over("count", func() string { return m.condition(depth - 1) })
}

func (m *ruleMaker) condition(depth int) string {
	if depth <= 0 {
		if m.depth > 0 && m.IntN(2) == 0 {
			return m.of(".auto_position", `.io == "Yes"`, `(.lag > failed)`, ".channel == t")
		}
		return m.of("c", "d", "busy", "server.aurora", `server.flavour == t`, `t contains "x"`, `lower(t) matches "x"`, `upper(concat(t, a)) == "X1"`, `has(it.lag)`, "true", "it.auto_position",
			`status.Uptime in [0, 1, "2"]`)
	}
	x := func() string { return m.condition(m.IntN(depth)) }
	switch m.IntN(8) {
	case 0, 1:
		return "(" + m.value(depth-1) + m.of(" < ", " <= ", " > ", " >= ", " == ", " != ") + m.value(m.IntN(depth)) + ")"
	case 2, 3:
		return "(" + x() + m.of(" and ", " or ") + x() + ")"
	case 4:
		return "not (" + x() + ")"
	case 5:
		return "has(" + m.of("it.lag", "self.Absent", "status.Null + a", "count(replicas)") + ")"
	}
	return m.over(m.of("any", "all", "none"), x)
}

func (m *ruleMaker) over(fn string, inside func() string) string {
	m.depth++
	defer func() { m.depth-- }()
	return fn + "(replicas, " + inside() + ")"
}

// some gives a value of the type, or none; failed things are rare.
func (m *ruleMaker) some(k kind) Scalar {
	switch m.IntN(14) {
	case 0:
		return null
	case 1:
		return absent
	case 2:
		return learning
	case 3:
		if m.IntN(4) == 0 {
			return failed
		}
	}
	switch k {
	case kindBool:
		return Truth(m.IntN(2) == 0)
	case kindText:
		return Text(m.of("x", "Yes", "", "east"))
	}
	return Number(float64(m.IntN(7) - 1))
}

func (m *ruleMaker) env(f *Formula) *fakeEnv {
	e := &fakeEnv{values: map[string]Scalar{}, each: map[string][]Instance{}, sets: map[string][]Row{}, lacks: map[string]Scalar{}}
	for _, in := range f.Inputs() {
		e.values[labelOf(in)] = m.some(kindNumber)
	}
	e.values["self.Absent"] = absent
	for i, name := range f.Locals() {
		e.values[name] = m.some(f.names.kinds[i])
	}
	e.each["host.use"] = []Instance{{"/", m.some(kindNumber)}, {"/var", m.some(kindNumber)}}
	fields := ruleScope().It
	row := func() Row {
		values := map[string]Scalar{}
		for _, name := range Fields(fields) {
			values[name] = m.some(kind(fields[name]))
		}
		return rowOf(fields, values)
	}
	e.it = row()
	for range m.IntN(4) {
		e.sets["replicas"] = append(e.sets["replicas"], row())
	}
	if m.IntN(8) == 0 {
		e.lacks["replicas"] = m.some(kindBool)
		if e.lacks["replicas"].Lack() == LackNone {
			delete(e.lacks, "replicas")
		}
	}
	return e
}

// anyFailed reports whether anything that the formula names failed.
func (e *fakeEnv) anyFailed(f *Formula) bool {
	found := false
	var look func(u *unit)
	look = func(u *unit) {
		u.walk(u.root, func(n *node) bool {
			var all []Scalar
			switch n.op {
			case opLocal:
				all = append(all, e.value(n.text))
			case opIt:
				all = append(all, e.it.Field(slices.Index(Fields(ruleScope().It), n.text)))
			case opField:
				if e.lacks["replicas"] == (Scalar{}) {
					for _, r := range e.sets["replicas"] {
						all = append(all, r.Field(n.index))
					}
				}
			case opSlot:
				s := u.slots[n.index]
				if s.group != nil {
					look(s.group.unit)
					break
				}
				if list, ok := e.each[s.label()]; ok {
					for _, inst := range list {
						all = append(all, inst.Value)
					}
					break
				}
				all = append(all, e.value(s.label()))
			}
			if n.rows != nil && e.lacks["replicas"] != (Scalar{}) {
				all = append(all, e.lacks["replicas"])
			}
			found = found || slices.ContainsFunc(all, func(v Scalar) bool { return v.Lack() == LackFailed })
			return true
		})
	}
	look(f.unit)
	return found
}

// FuzzEvalMatchesProgram holds that Eval gives what the programs and columns of graphs give, for everything that both
// can evaluate.
func FuzzEvalMatchesProgram(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed, uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, size uint8) {
		m := &maker{rand.New(rand.NewPCG(seed, uint64(size)))}
		text := m.number(2 + int(size)%4)
		parsed, err := ParseScope(text, &Scope{Known: anyName})
		if err != nil {
			return // FuzzSeriesMatchesScalar holds what may be wrong
		}
		h, n := m.history(), 1+m.IntN(10)
		req := Request{Server: 1, From: noon, To: noon.Add(time.Duration(n) * h.interval), Step: h.interval}
		r, err := read(context.Background(), h, req, []*Formula{parsed})
		if err != nil {
			t.Fatal(err)
		}
		b, missing := parsed.unit.bind(r)
		if missing != nil {
			return
		}
		want, instances := reference(t, parsed.unit, r)
		for i, instance := range instances {
			slots := b.of(instance)
			for k := range n {
				env := &stepEnv{r: r, k: k, inputs: make([]Scalar, len(parsed.inputs))}
				whole := true
				for j, s := range parsed.unit.slots {
					if s.group == nil {
						env.inputs[s.input] = columnScalar(r, s, slots[j], k)
					}
					if b.needed[j] && slots[j] != nil && slots[j].any(k) == nil {
						whole = false
					}
				}
				got := parsed.Eval(env)
				v := want[i][k]
				switch f, ok := got.Float(); {
				case v == v && (!ok || f != v):
					t.Fatalf("%s [%s] step %d: Eval gives %+v, the program %v", text, instance, k, got, v)
				case v != v && ok && (whole || !parsed.unit.lazy):
					t.Fatalf("%s [%s] step %d: Eval gives %v, the program nothing", text, instance, k, f)
				}
			}
		}
	})
}

// stepEnv feeds an evaluation with one step of a history.
type stepEnv struct {
	r      *reader
	k      int
	inputs []Scalar
}

func columnScalar(r *reader, s *slot, c *column, k int) Scalar {
	if c == nil {
		if r.isAbsent(s.name) {
			return absent
		}
		return null
	}
	switch v := c.any(k).(type) {
	case float64:
		return Number(v)
	case string:
		return Text(v)
	}
	return null
}

func (e *stepEnv) Input(_ *Formula, i int) Scalar { return e.inputs[i] }

func (e *stepEnv) Instances(f *Formula, i int) ([]Instance, Scalar) {
	in := f.inputs[i]
	s := &slot{name: in.Name, fn: in.Func, window: in.Window, ahead: in.Ahead, ago: in.Ago}
	columns, missing := s.columns(e.r)
	if missing != nil {
		if missing.absent {
			return nil, absent
		}
		return nil, null
	}
	var out []Instance
	for name, c := range columns {
		out = append(out, Instance{name, columnScalar(e.r, s, c, e.k)})
	}
	slices.SortFunc(out, func(a, b Instance) int { return strings.Compare(a.Name, b.Name) })
	return out, Truth(true)
}

func (e *stepEnv) Local(*Formula, int) Scalar           { return failed }
func (e *stepEnv) RowSet(*Formula, int) ([]Row, Scalar) { return nil, failed }
func (e *stepEnv) It() Row                              { return nil }

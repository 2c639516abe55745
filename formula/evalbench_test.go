package formula

import (
	"slices"
	"testing"
)

// indexed is an Env as the engine has it: values by index, nothing looked up or made.
type indexed struct {
	inputs, locals []Scalar
	rows           []Row
	it             Row
}

func (e *indexed) Input(_ *Formula, i int) Scalar               { return e.inputs[i] }
func (e *indexed) Local(_ *Formula, i int) Scalar               { return e.locals[i] }
func (e *indexed) RowSet(*Formula, int) ([]Row, Scalar)         { return e.rows, Truth(true) }
func (e *indexed) Instances(*Formula, int) ([]Instance, Scalar) { return nil, failed }
func (e *indexed) It() Row                                      { return e.it }

// ruleFormulas are like the formulas of the alert catalogue: conditions, quantities, facts and rows.
var ruleFormulas = []string{
	"failed >= limit.failed and share >= limit.share",
	"greatest(0, delta(status.Aborted_connects) - (delta(status.Aborted_connects_preauth) ?? 0))",
	"percent(failed, greatest(1, delta(status.Connections)))",
	`variable.log_bin == "OFF" and not server.aurora`,
	"percent(status.Max_used_connections, variable.max_connections) >= limit.share and status.Uptime > 86400",
	"rate(status.Handler_read_rnd_next) / greatest(1, rate(status.Com_select))",
	"(variable.read_buffer_size + variable.read_rnd_buffer_size + variable.sort_buffer_size + variable.join_buffer_size + variable.thread_stack) * status.Threads_connected / GiB",
	`it.io != "Yes" and it.lag > 60`,
	`server.flavour in ["MySQL", "Percona"] and server.version >= version("8.0.22")`,
	`variable.innodb_flush_method not in ["O_DIRECT", "O_DIRECT_NO_FSYNC"] and has(variable.innodb_flush_method)`,
}

func (e *indexed) fill(f *Formula, value func(name string, k kind) Scalar) {
	e.inputs, e.locals = nil, nil
	for _, in := range f.Inputs() {
		e.inputs = append(e.inputs, value(in.Name, kindAny))
	}
	for i, name := range f.Locals() {
		e.locals = append(e.locals, value(name, f.names.kinds[i]))
	}
}

func plainValue(name string, k kind) Scalar {
	switch {
	case k == kindBool:
		return Truth(false)
	case k == kindText || name == "variable.log_bin" || name == "variable.innodb_flush_method":
		return Text("OFF")
	case name == "status.Aborted_connects_preauth":
		return absent
	}
	return Number(float64(100 + len(name)))
}

// BenchmarkEval evaluates 102 rules, each with a condition, two quantities and a fact: what one poll costs.
func BenchmarkEval(b *testing.B) {
	type rule struct {
		f   *Formula
		env *indexed
	}
	var rules []rule
	nodes := 0
	for i := range 4 * 102 {
		f := mustScope(b, ruleFormulas[i%len(ruleFormulas)])
		env := &indexed{it: replicaRow("a", "No", Number(90))}
		env.fill(f, plainValue)
		rules = append(rules, rule{f, env})
		nodes += f.unit.size
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, r := range rules {
			if v := r.f.Eval(r.env); v.Lack() != LackNone {
				b.Fatal(r.f, v.Why())
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
}

// BenchmarkEvalRows evaluates a condition over 1,000 rows.
func BenchmarkEvalRows(b *testing.B) {
	f := mustScope(b, `count(replicas, .io != "Yes" and .lag > limit.failed)`)
	env := &indexed{rows: slices.Repeat([]Row{replicaRow("a", "No", Number(5)), replicaRow("b", "Yes", Number(90))}, 500)}
	env.fill(f, plainValue)
	b.ReportAllocs()
	for b.Loop() {
		if v := f.Eval(env); v.Lack() != LackNone {
			b.Fatal(v.Why())
		}
	}
}

// TestEvalAllocations holds that the formulas of rules are evaluated without garbage.
func TestEvalAllocations(t *testing.T) {
	for _, text := range append(slices.Clone(ruleFormulas), `any(replicas, .io != "Yes" and .lag > limit.failed)`, "max_of(replicas, .lag)") {
		f := mustScope(t, text)
		env := &indexed{it: replicaRow("a", "No", Number(90)), rows: []Row{replicaRow("a", "No", Number(5))}}
		env.fill(f, plainValue)
		if n := testing.AllocsPerRun(20, func() { f.Eval(env) }); n > 0 {
			t.Errorf("%s: %v allocations", text, n)
		}
	}
}

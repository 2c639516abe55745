package formula

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"monolith"
)

// FuzzParse holds that no text makes the parser panic, take long or give an error without a place, and
// that what it accepts can be printed, read again and evaluated.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"rate(status.Questions)", `delta(status["X y"], "1h") ?? 0`, "sum(rate(host.disk_read_bytes_total)) / 2",
		`variable.log_bin in ["ON", "OFF"] ? 1 : -2 ** 3`, `only(replica.lag, "") > 1e3 and not true`, "((((1))))",
		"map(1..9, #)", "a.b.c[d]?.e()", "let x = 1; x", `"\u00e4" matches "(.*)+"`, "1;2", "// c\n1", "0x1F + 0b1", "week_ago(rate(status.Com_select, \"2d\"))",
		"forecast(host.load1, \"1h\", \"1d\") | abs()", "status.Uptime not in [1]", "::abs(1)", "`raw`", "b'x'", "if true {1} else {2}",
	} {
		f.Add(text)
	}
	h := disks()
	f.Fuzz(func(t *testing.T, text string) {
		start := time.Now()
		parsed, err := ParseWith(text, anyName)
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
		printed := parsed.unit.print(parsed.unit.root, nothingBehind)
		if _, err := ParseWith(printed, anyName); err != nil && utf8.RuneCountInString(printed) <= maxText &&
			!strings.Contains(err.Error(), "parts") {
			t.Fatalf("printed as %q: %v", printed, err)
		}
		parsed.Unit()
		req := Request{Server: 1, From: noon, To: noon.Add(40 * time.Second), Step: 10 * time.Second}
		results, err := Series(context.Background(), h, req, parsed)
		if err != nil && !isInvalid(err) {
			t.Fatal(err)
		}
		if err == nil {
			check(t, results[0])
		}
		if _, err := parsed.At(context.Background(), h, 1, noon, 0); err != nil && !isInvalid(err) {
			t.Fatal(err)
		}
	})
}

// check holds what is true of every result.
func check(t *testing.T, r Result) {
	t.Helper()
	if (len(r.Lines) == 0) != (r.Why != "") {
		t.Fatalf("%d lines, why %q", len(r.Lines), r.Why)
	}
	for _, l := range r.Lines {
		for _, v := range l.V {
			if math.IsInf(v, 0) {
				t.Fatalf("infinite value in %v", l.V)
			}
		}
	}
}

// FuzzSeriesMatchesScalar makes formulas and data at random and holds that the evaluation over columns gives,
// at every step, exactly what the program gives there.
func FuzzSeriesMatchesScalar(f *testing.F) {
	for seed := range uint64(200) {
		f.Add(seed, uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, size uint8) {
		m := &maker{rand.New(rand.NewPCG(seed, uint64(size)))}
		text := m.number(2 + int(size)%4)
		parsed, err := ParseWith(text, anyName)
		if err != nil {
			if utf8.RuneCountInString(text) > maxText || strings.Contains(err.Error(), "parts") ||
				strings.Contains(err.Error(), "nothing that a server could lack") {
				return
			}
			t.Fatalf("%s: %v", text, err)
		}
		h, n := m.history(), 1+m.IntN(40)
		step := time.Duration(1+m.IntN(3)) * h.interval
		req := Request{Server: 1, From: noon, To: noon.Add(time.Duration(n) * step), Step: step}
		results, err := Series(context.Background(), h, req, parsed)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		check(t, results[0])
		r, err := read(context.Background(), h, req, []*Formula{parsed})
		if err != nil {
			t.Fatal(err)
		}
		want, instances := reference(t, parsed.unit, r)
		any := slices.ContainsFunc(want, func(v []float64) bool {
			return slices.ContainsFunc(v, func(x float64) bool { return x == x })
		})
		if !any {
			if len(results[0].Lines) != 0 {
				t.Fatalf("%s: a line %v where the program gives none", text, results[0].Lines)
			}
			return
		}
		if len(results[0].Lines) != len(instances) {
			t.Fatalf("%s: %d lines, want %d: %s", text, len(results[0].Lines), len(instances), results[0].Why)
		}
		for i, l := range results[0].Lines {
			if l.Instance != instances[i] {
				t.Fatalf("%s: instance %q, want %q", text, l.Instance, instances[i])
			}
			for k, v := range l.V {
				if w := want[i][k]; v != w && (v == v || w == w) {
					t.Fatalf("%s [%s] step %d: columns give %v, the program %v", text, l.Instance, k, v, w)
				}
			}
		}
	})
}

// reference evaluates a unit by its program alone: step by step, instance by instance, and the groups inside
// it in the same way.
func reference(t *testing.T, u *unit, r *reader) (values [][]float64, instances []string) {
	b, missing := u.bind(r)
	if missing != nil {
		return nil, nil
	}
	for _, instance := range b.instances {
		slots := b.of(instance)
		for i, s := range u.slots {
			if slots[i] != nil && s.group != nil && s.group.fn != "only" {
				slots[i] = referenceGroup(t, s.group, r)
			}
		}
		row := make([]float64, r.n)
		for k := range row {
			now := make([]any, len(slots))
			row[k] = math.NaN()
			if fill(now, slots, k) {
				var run runner
				row[k], _ = asResult(run.run(u, now, b.absent))
			}
		}
		values = append(values, row)
	}
	return values, b.instances
}

func referenceGroup(t *testing.T, g *group, r *reader) *column {
	rows, _ := reference(t, g.unit, r)
	out := newColumn(r.n)
	for k := range out.num {
		var there []float64
		for _, row := range rows {
			if row[k] == row[k] {
				there = append(there, row[k])
			}
		}
		if len(there) == 0 {
			continue
		}
		sum := 0.0
		for _, v := range there {
			sum += v
		}
		switch g.fn {
		case "sum":
			out.num[k] = finite(sum)
		case "avg_of":
			out.num[k] = finite(sum / float64(len(there)))
		case "min_of":
			out.num[k] = slices.Min(there)
		case "max_of":
			out.num[k] = slices.Max(there)
		case "count_of":
			out.num[k] = float64(len(there))
		default:
			t.Fatalf("no reference for %s", g.fn)
		}
	}
	return out
}

// maker makes formulas and histories at random.
type maker struct{ *rand.Rand }

func (m *maker) of(list ...string) string { return list[m.IntN(len(list))] }

func (m *maker) input() string {
	counter := m.of("status.C1", "status.C2", "host.disk_total", "self.C1")
	gauge := m.of("status.G1", "status.G2", "replica.g", "variable.v")
	window := m.of("", "", `, "20s"`, `, "25s"`, `, "1m"`, `, "3s"`)
	switch m.IntN(8) {
	case 0, 1, 2:
		return m.of("rate", "delta") + "(" + counter + window + ")"
	case 3:
		return m.of("avg_over", "min_over", "max_over") + "(" + gauge + window + ")"
	case 4:
		return m.of("week_ago(", "changed(", "(") + m.of(gauge, gauge, "status.C1") + ")"
	case 5:
		return m.of("sum", "avg_of", "min_of", "max_of", "count_of") + "(" + m.of("rate(host.disk_total)", "replica.g * status.G1", "rate(status.C1)") + ")"
	}
	return gauge
}

func (m *maker) number(depth int) string {
	if depth == 0 {
		if m.IntN(4) == 0 {
			return m.of("0", "1", "2", "100", "0.5", "1e200", "3", "KiB")
		}
		return m.input()
	}
	a, b := func() string { return m.number(depth - 1) }, func() string { return m.number(m.IntN(depth)) }
	switch m.IntN(12) {
	case 0, 1, 2, 3, 4:
		return "(" + a() + m.of(" + ", " - ", " * ", " / ", " / ", " % ", " ** ") + b() + ")"
	case 5:
		if m.IntN(4) == 0 {
			return "clamp(" + a() + ", " + b() + ", " + b() + ")"
		}
		return m.of("greatest", "least", "percent", "round_up", "round_down") + "(" + a() + ", " + b() + ")"
	case 6:
		return m.of("abs", "round", "floor", "ceil") + "(" + a() + ")"
	case 7:
		return "-" + a()
	case 8:
		return "round(" + a() + ", " + fmt.Sprint(m.IntN(5)) + ")"
	case 9:
		return "(" + m.of("rate(self.C1)", "rate(self.C2)", "status.Nothing", a()+" + self.C2") + " ?? " + b() + ")"
	}
	return "(" + m.truth(depth-1) + " ? " + a() + " : " + b() + ")"
}

func (m *maker) truth(depth int) string {
	if depth <= 0 || m.IntN(2) == 0 {
		return "(" + m.number(max(depth, 0)) + m.of(" == ", " != ", " < ", " <= ", " > ", " >= ") + m.number(0) + ")"
	}
	switch m.IntN(4) {
	case 0:
		return "not " + m.truth(depth-1)
	case 1:
		return "(" + m.of(`variable.t == "ON"`, `variable.t in ["ON", "1", 2]`, `variable.t contains "F"`, `lower(variable.t) == "on"`, `upper(concat(variable.t, variable.v)) contains "N1"`, "variable.v == variable.t") + ")"
	}
	return "(" + m.truth(depth-1) + m.of(" and ", " or ") + m.truth(depth-1) + ")"
}

// row gives values with gaps, zeros, resets and giants among them.
func (m *maker) row(counter bool) []float64 {
	v := make([]float64, 1+m.IntN(80))
	total := 0.0
	for i := range v {
		switch m.IntN(12) {
		case 0:
			v[i] = math.NaN()
			continue
		case 1:
			v[i] = 0
		case 2:
			v[i] = 1e300 * float64(m.IntN(3))
		default:
			v[i] = float64(m.IntN(50)) / 2
		}
		if counter && m.IntN(15) > 0 && v[i] < 1e100 {
			total += math.Trunc(v[i])
			v[i] = total
		}
	}
	return v
}

func (m *maker) history() *history {
	h := ten()
	h.counter("status.C1", m.row(true)...)
	h.counter("status.C2", m.row(true)...)
	h.gauge("status.G1", m.row(false)...)
	h.gauge("status.G2", m.row(false)...)
	h.gauge("variable.v", m.row(false)...)
	for i := range m.IntN(4) {
		h.add("host.disk_total", fmt.Sprint("sd", i), monolith.Counter, m.row(true)...)
	}
	for i := range 1 + m.IntN(3) {
		h.add("replica.g", []string{"", "sd0", "sd1"}[i], monolith.Gauge, m.row(false)...)
	}
	h.text("variable.t", -5, m.of("ON", "OFF", "2"), 5, m.of("ON", "OFF", ""), 9, "1")
	h.absent = []string{"self.C1", "self.C2"}
	return h
}

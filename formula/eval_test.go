package formula

import (
	"maps"
	"slices"
	"testing"
)

// fakeEnv feeds evaluations from maps, by the names as formulas write them. What is not there failed.
type fakeEnv struct {
	values map[string]Scalar // inputs, as labels, and locals
	each   map[string][]Instance
	sets   map[string][]Row
	lacks  map[string]Scalar // of sets and of inputs with instances
	it     Row
}

func (e *fakeEnv) value(name string) Scalar {
	if v, ok := e.values[name]; ok {
		return v
	}
	return Nothing(LackFailed, name+" was not read")
}

func labelOf(in Input) string {
	return (&slot{name: in.Name, fn: in.Func, window: in.Window, ago: in.Ago, ahead: in.Ahead}).label()
}

func (e *fakeEnv) Input(f *Formula, i int) Scalar { return e.value(labelOf(f.inputs[i])) }

func (e *fakeEnv) Instances(f *Formula, i int) ([]Instance, Scalar) {
	name := labelOf(f.inputs[i])
	if list, ok := e.each[name]; ok {
		return list, Truth(true)
	}
	if v, ok := e.lacks[name]; ok {
		return nil, v
	}
	return []Instance{{"", e.value(name)}}, Truth(true)
}

func (e *fakeEnv) Local(f *Formula, i int) Scalar { return e.value(f.Locals()[i]) }

func (e *fakeEnv) RowSet(f *Formula, i int) ([]Row, Scalar) {
	name := f.RowSets()[i]
	if v, ok := e.lacks[name]; ok {
		return nil, v
	}
	return e.sets[name], Truth(true)
}

func (e *fakeEnv) It() Row { return e.it }

// fakeRow holds its fields in the order of Fields.
type fakeRow []Scalar

func (r fakeRow) Field(i int) Scalar { return r[i] }

// rowOf makes a row of the fields' values; those not given failed.
func rowOf(fields map[string]Type, values map[string]Scalar) Row {
	var row fakeRow
	for _, name := range Fields(fields) {
		row = append(row, values[name])
	}
	return row
}

var (
	null     = Nothing(LackNull, "NULL")
	absent   = Nothing(LackAbsent, "not on this server")
	learning = Nothing(LackLearning, "3 of 15 minutes are covered")
	failed   = Nothing(LackFailed, "access denied")
)

// ruleScope is a scope as rules have it.
func ruleScope() *Scope {
	replica := map[string]Type{"channel": TypeText, "io": TypeText, "lag": TypeNumber, "auto_position": TypeBool, "source_host": TypeText}
	return &Scope{
		Known: anyName,
		Locals: map[string]Type{"failed": TypeNumber, "share": TypeNumber, "limit.failed": TypeNumber, "limit.share": TypeNumber,
			"server.flavour": TypeText, "server.aurora": TypeBool, "server.version": TypeNumber, "busy": TypeBool,
			"a": TypeNumber, "b": TypeNumber, "c": TypeBool, "d": TypeBool, "t": TypeText},
		Rows: map[string]map[string]Type{"replicas": replica,
			"accounts": {"user": TypeText, "host": TypeText, "locked": TypeBool, "privileges": TypeNumber}},
		It: replica,
	}
}

func replicaRow(channel, io string, lag Scalar) Row {
	return rowOf(ruleScope().It, map[string]Scalar{"channel": Text(channel), "io": Text(io), "lag": lag,
		"auto_position": Truth(true), "source_host": Text(channel + ".example")})
}

func ruleEnv() *fakeEnv {
	return &fakeEnv{
		values: map[string]Scalar{"failed": Number(42), "share": Number(3.5), "limit.failed": Number(30), "limit.share": Number(3),
			"server.flavour": Text("MariaDB"), "server.aurora": Truth(false), "server.version": Number(101119), "busy": Truth(true),
			"status.Uptime": Number(86400), "variable.log_bin": Text("OFF"), "status.Null": null, "self.Absent": absent,
			`rate(status.Learning, "1h")`: learning, "status.Failed": failed, "status.Zero": Number(0),
			"rate(status.Questions)": Number(100), "variable.sort_buffer_size": Number(2 << 20), "variable.t": Text("12"),
			"a": Number(1), "b": Number(2), "c": Truth(true), "d": Truth(false), "t": Text("x")},
		each: map[string][]Instance{
			"host.use":                {{"/", Number(50)}, {"/var", Number(90)}, {"/tmp", Number(10)}},
			"host.size":               {{"/", Number(500)}, {"/var", Number(1000)}},
			"host.new":                {{"/", Number(1)}, {"/var", learning}},
			"host.bad":                {{"/", Number(1)}, {"/var", failed}},
			"rate(host.none)":         {},
			"host.disk_model":         {{"sda", Text("SSD")}, {"sdb", Text("HDD")}},
			"host.disk_learning":      {{"sda", learning}, {"sdb", null}},
			`rate(host.disk_r, "5m")`: {{"sda", Number(5)}},
		},
		lacks: map[string]Scalar{"host.absent": absent, "host.unread": failed},
		sets: map[string][]Row{
			"replicas": {replicaRow("east", "Yes", Number(5)), replicaRow("west", "No", null), replicaRow("north", "Yes", Number(90))},
			"accounts": {},
		},
		it: replicaRow("west", "No", null),
	}
}

func mustScope(t testing.TB, text string) *Formula {
	t.Helper()
	f, err := ParseScope(text, ruleScope())
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f
}

func TestEval(t *testing.T) {
	for _, c := range []struct {
		text string
		want Scalar
	}{
		{"failed >= limit.failed and share >= limit.share", Truth(true)},
		{"failed >= limit.failed and share < limit.share", Truth(false)},
		{`server.flavour == "MariaDB" and not server.aurora`, Truth(true)},
		{`busy and status.Uptime > 10 * 60`, Truth(true)},
		{`server.version >= version("10.11.6")`, Truth(true)},
		{`server.version < version("26.10.0")`, Truth(true)},
		{"100 * (1 - a / b)", Number(50)},
		{"percent(failed, 84)", Number(50)},
		{"greatest(1, a, b, 1.5)", Number(2)},
		{"least(3, b, 9)", Number(2)},
		{"-a + abs(-b) + round(2.5) + floor(1.9) + ceil(1.1) + 7 % 4 + 2 ** 3", Number(1 + 3 + 1 + 2 + 3 + 8)},
		{"c ? a : b", Number(1)},
		{"d ? a : b", Number(2)},
		{`lower(server.flavour) == "mariadb"`, Truth(true)},
		{`upper(server.flavour) == "MARIADB" and upper(variable.t) == "12"`, Truth(true)},
		{`concat("Error ", round(failed), ": ", t)`, Text("Error 42: x")},
		{`concat(a, a) == concat("1", 1)`, Truth(true)},
		{`server.flavour contains "aria" and server.flavour startsWith "Mar" and server.flavour endsWith "DB"`, Truth(true)},
		{`server.flavour matches "^Maria(DB)?$"`, Truth(true)},
		{`server.flavour not matches "^x"`, Truth(true)},
		{`server.flavour in ["MySQL", "MariaDB"]`, Truth(true)},
		{`a in [1, 2]`, Truth(true)},
		{`variable.t == 12 and variable.t in [12] and variable.t != 13`, Truth(true)},
		{`variable.log_bin == 1`, Truth(false)},
		{"round_up(variable.sort_buffer_size + 1, 64 * KiB) / KiB", Number(2112)},
		{"round_down(1300 * MiB, 128 * MiB) / MiB", Number(1280)},
		{"clamp(a, 5, 10)", Number(5)},
		{"clamp(GiB, 5, 10)", Number(10)},
		{"clamp(7, 5, 10)", Number(7)},
		{"t", Text("x")},
		{`c ? "yes" : t`, Text("yes")},
		{`it.channel`, Text("west")},
		{`it.io != "Yes" and it.auto_position`, Truth(true)},
		{`has(it.lag)`, Truth(false)},
		{`it.lag > 5`, null},
	} {
		if got := mustScope(t, c.text).Eval(ruleEnv()); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.text, got, c.want)
		}
	}
}

// What has no value, and which of several reasons counts.
func TestEvalLacks(t *testing.T) {
	for _, c := range []struct {
		text string
		want Lack
	}{
		{"status.Null + 1", LackNull},
		{"self.Absent + status.Null", LackAbsent},
		{"status.Null + self.Absent", LackAbsent},
		{`greatest(1, status.Null, self.Absent, rate(status.Learning, "1h"), status.Null)`, LackLearning},
		{`self.Absent * rate(status.Learning, "1h")`, LackLearning},
		{`clamp(1, status.Null, self.Absent)`, LackAbsent},
		{"status.Null == self.Absent", LackAbsent},
		{"-status.Null", LackNull},
		{`concat("a", status.Null, self.Absent, "b")`, LackAbsent},
		{"upper(status.Null)", LackNull},
		{`concat(t, (self.Absent ?? ""))`, LackNone},
		{"not (status.Null > 1)", LackNull},
		{"a / status.Zero", LackNull},
		{"percent(a, status.Zero)", LackNull},
		{"a % status.Zero", LackNull},
		{"10 ** 300 * 10 ** 300", LackNull},
		{"(-1) ** 0.5", LackNull},
		{"round_up(a, status.Zero)", LackNull},
		{"1 + variable.log_bin", LackFailed},
		{"abs(variable.log_bin)", LackFailed},
		{"variable.log_bin > status.Null", LackFailed},
		// Only what evaluation comes to counts …
		{"d and status.Null > 1", LackNone},
		{"c or self.Absent > 1", LackNone},
		{`c ? 1 : rate(status.Learning, "1h")`, LackNone},
		{`d ? rate(status.Learning, "1h") : 1`, LackNone},
		{"status.Null > 1 and d", LackNull},
		{"status.Null > 1 ? a : b", LackNull},
		{"c and variable.log_bin + 1 > 0", LackFailed},
		{"d and variable.log_bin + 1 > 0", LackNone},
		// … but for what failed, which always does.
		{"d and status.Failed > 1", LackFailed},
		{"c or status.Failed > 1", LackFailed},
		{"c ? a : status.Failed", LackFailed},
		{"status.Null + status.Failed", LackFailed},
		{"d and status.Null > status.Failed", LackFailed},
		{"(status.Uptime ?? status.Failed) + 1", LackNone},
		{"(self.Absent ?? status.Failed) + 1", LackFailed},
		{"(status.Failed ?? 0) + 1", LackFailed},
		{"((self.Absent + status.Failed) ?? 0) + 1", LackFailed},
		{"((d ? status.Failed : a) ?? 0) + 1", LackFailed},
		{"(self.Absent ?? a) + 1", LackNone},
		{"(self.Absent ?? self.Absent ?? a) + 1", LackNone},
		{"(self.Absent ?? self.Absent) + 1", LackAbsent},
		{"(status.Null ?? 0) + 1", LackNull},
		{`(rate(status.Learning, "1h") ?? 0) + 1`, LackLearning},
		{`((self.Absent + rate(status.Learning, "1h")) ?? 0) + 1`, LackLearning},
		{"((self.Absent + 1) ?? 0) + 1", LackNone},
		{"has(self.Absent) ? self.Absent : 0", LackNone},
		{"has(status.Null) or has(self.Absent)", LackNone},
		{`has(rate(status.Learning, "1h"))`, LackLearning},
		{"has(status.Failed)", LackFailed},
		{"d and has(status.Failed)", LackFailed},
		{"has(status.Null + status.Failed)", LackFailed},
		{"has(variable.log_bin + 1)", LackFailed},
	} {
		got := mustScope(t, c.text).Eval(ruleEnv())
		if got.Lack() != c.want || (c.want != LackNone) != (got.Why() != "") {
			t.Errorf("%s: %v (%v, %s), want %v", c.text, got, got.Lack(), got.Why(), c.want)
		}
	}
}

// A lack says which input it is.
func TestEvalNames(t *testing.T) {
	for text, want := range map[string]string{
		"c or status.Failed > 1":             "status.Failed: access denied",
		"c or status.Unread > 1":             "status.Unread was not read",
		"variable.log_bin + 1":               `variable.log_bin is the text "OFF", a number is needed`,
		"1 + 2 * variable.log_bin":           `variable.log_bin is the text "OFF", a number is needed`,
		"a / status.Zero":                    "division by zero",
		`rate(status.Learning, "1h") > 1`:    "3 of 15 minutes are covered",
		"count(replicas, .lag > 3) > 1":      "NULL",
		"any(replicas, .lag > limit.none)":   "limit.none was not read",
		"made > 1":                           "status.Source: access denied",
		"sum(host.bad) > 1":                  "host.bad: access denied",
		`(c ? variable.log_bin : t) * 1 > 0`: `the text "OFF" stands where a number is needed`,
	} {
		s := ruleScope()
		s.Locals["limit.none"], s.Locals["made"] = TypeNumber, TypeNumber
		f, err := ParseScope(text, s)
		if err != nil {
			t.Fatal(err)
		}
		e := ruleEnv()
		e.values["made"] = Nothing(LackFailed, "status.Source: access denied") // as a let has it that names status.Source
		if got := f.Eval(e); got.Why() != want {
			t.Errorf("%s: %q, want %q", text, got.Why(), want)
		}
	}
}

// An Env that gives another type than was declared is a failure, never a value.
func TestEvalWrongType(t *testing.T) {
	e := ruleEnv()
	e.values["c"], e.values["a"], e.values["status.Uptime"] = Number(1), Text("one"), Truth(true)
	e.it = replicaRow("x", "Yes", Text("soon"))
	for _, text := range []string{"c", "c and d", "d and c", "c ? 1 : 2", "a + 1", "status.Uptime", "status.Uptime > 0", "it.lag > 0", "-it.lag"} {
		if got := mustScope(t, text).Eval(e); got.Lack() != LackFailed {
			t.Errorf("%s: %+v", text, got)
		}
	}
	if got := mustScope(t, "it.lag > 0").Eval(&fakeEnv{}); got.Lack() != LackFailed {
		t.Errorf("without it: %+v", got)
	}
	if got := (Scalar{}); got.Lack() != LackFailed || got.Why() == "" {
		t.Errorf("the zero Scalar: %v %q", got.Lack(), got.Why())
	}
}

func TestEvalInstances(t *testing.T) {
	for text, want := range map[string]Scalar{
		"sum(host.use)":                         Number(150),
		"max_of(host.use)":                      Number(90),
		"min_of(host.use)":                      Number(10),
		"avg_of(host.use)":                      Number(50),
		"count_of(host.use)":                    Number(3),
		`only(host.use, "/var")`:                Number(90),
		`only(host.use, "/var") + a`:            Number(91),
		`only(host.disk_model, "sda")`:          Text("SSD"),
		"sum(host.use * host.size)":             Number(50*500 + 90*1000),
		"max_of(host.use * limit.share)":        Number(270),
		"sum(host.use + status.Uptime)":         Number(150 + 3*86400),
		"sum(status.Uptime)":                    Number(86400),
		"count_of(status.Uptime)":               Number(1),
		`only(status.Uptime, "")`:               Number(86400),
		"sum(host.new)":                         Number(1),
		"count_of(host.new)":                    Number(1),
		"sum(host.absent ?? 0)":                 Number(0),
		"sum(host.absent) ?? 7":                 Number(7),
		"sum(host.use + (host.absent ?? 1))":    Number(153),
		"(sum(host.absent) ?? sum(host.bad))+1": Nothing(LackFailed, "host.bad: access denied"),
		"sum(host.absent)":                      absent,
		"sum(host.disk_learning)":               learning,
		"sum(rate(host.none))":                  Nothing(LackNull, "there is no instance of rate(host.none)"),
		`only(host.use, "/home")`:               Nothing(LackNull, `there is no instance "/home" of host.use`),
		"sum(host.bad)":                         Nothing(LackFailed, "host.bad: access denied"),
		`only(host.bad, "/")`:                   Number(1),
		`only(host.unread, "/")`:                Nothing(LackFailed, "host.unread: access denied"),
		"sum(host.unread)":                      Nothing(LackFailed, "host.unread: access denied"),
		"d and sum(host.unread) > 1":            Nothing(LackFailed, "host.unread: access denied"),
		"sum(host.use / status.Zero)":           Nothing(LackNull, "division by zero"),
		"sum(host.disk_model)":                  Nothing(LackFailed, `host.disk_model is the text "SSD", a number is needed`),
		"sum(has(host.new) ? 1 : 0)":            Number(1),
		"sum(count(replicas) * host.use)":       Number(450),
		`sum(rate(host.disk_r, "5m"))`:          Number(5),
	} {
		if got := mustScope(t, text).Eval(ruleEnv()); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

func TestExplainEval(t *testing.T) {
	for text, want := range map[string]string{
		"failed>=limit.failed and share >= limit.share": "failed=42 >= limit.failed=30 and share=3.5 >= limit.share=3",
		`count(replicas, .io != "Yes") > 0 or busy`:     `count(replicas, .io != "Yes")=1 > 0 or busy=true`,
		`any(replicas, .lag > limit.failed)`:            `any(replicas, .lag > limit.failed=30)=true`,
		`any(replicas, .lag > 600)`:                     `any(replicas, .lag > 600)=NULL`,
		`any(replicas, #.lag > count(accounts))`:        `any(replicas, .lag > count(accounts))=true`,
		`it.lag > 5 and it.io == "No"`:                  `it.lag=NULL > 5 and it.io="No" == "No"`,
		"(self.Absent ?? 0) + a":                        "(self.Absent=not here ?? 0) + a=1",
		`rate(status.Learning, "1h") + status.Failed`:   `rate(status.Learning, "1h")=learning + status.Failed=failed`,
		"sum(host.use) / GiB":                           "sum(host.use)=150 / GiB",
		`server.version >= version("8.0.12")`:           `server.version=101119 >= version("8.0.12")`,
		"has(self.Absent)":                              "has(self.Absent=not here)",
		"lower(server.flavour)":                         `lower(server.flavour="MariaDB")`,
	} {
		f := mustScope(t, text)
		if got := f.ExplainEval(ruleEnv()); got != want {
			t.Errorf("%s: %s\nwant %s", text, got, want)
		}
	}
}

func TestScopeLists(t *testing.T) {
	f := mustScope(t, `failed > limit.failed and any(replicas, .lag > failed and .io == it.io) and count(accounts) > 0 and none(replicas, .auto_position)`)
	if got := f.Locals(); !slices.Equal(got, []string{"failed", "limit.failed"}) {
		t.Error(got)
	}
	if got := f.RowSets(); !slices.Equal(got, []string{"replicas", "accounts"}) {
		t.Error(got)
	}
	if !f.UsesIt() || mustScope(t, "a").UsesIt() {
		t.Error("UsesIt")
	}
	for text, want := range map[string]Type{"a": TypeNumber, "t": TypeText, "c": TypeBool, "status.Uptime": TypeAny, "a > 1": TypeBool,
		"names(replicas, true, .io)": TypeText, "count(replicas)": TypeNumber, "any(replicas, true)": TypeBool, "it.auto_position": TypeBool,
		`lower("A")`: TypeText, "KiB": TypeNumber, `version("9.7.0")`: TypeNumber, "has(a)": TypeBool, "status.Uptime ?? 1": TypeAny} {
		if got := mustScope(t, text).Type(); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if got := slices.Collect(maps.Keys(ruleScope().It)); len(got) != len(Fields(ruleScope().It)) {
		t.Error(got)
	}
}

package formula

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"monolith"
)

func TestScopeErrors(t *testing.T) {
	for _, c := range []struct {
		text   string
		column int
		words  string
	}{
		{"", 1, "empty"},
		{"1 +", 4, "ends too early"},
		{"(1", 3, "ends too early"},
		{"1)", 2, "one ) too many"},
		{"1) + (2", 2, "one ) too many"},
		{"(1)) and one(0, (2", 4, "one ) too many"},
		{"1 +* 2", 4, `unexpected token "*"`},
		{"a,", 2, "ends with a comma"},
		{"a, // b", 2, "ends with a comma"},
		{"a, b", 4, `unexpected token`},
		{"{a}", 1, "not part of the language"},
		{"  {a; b}", 3, "not part of the language"},
		{"a; b", 2, ""},
		{"let x = 1; x", 5, "let and ; are not part"},
		{"\"\u00e4\" == faild", 8, "faild is not a known word (failed?)"},
		{"faild > 3", 1, "failed?"},
		{"limit.faild > 3", 1, "limit.faild is not a known name (limit.failed?)"},
		{"limits.failed > 3", 1, "limit.failed?"},
		{"1 + limit.xyz", 5, "limit is not a namespace"},
		{`server.flavor == "x"`, 1, "server.flavour?"},
		{`status.Qeustions`, 1, "status.Questions?"},
		{"any(replica, .lag > 1)", 5, "replica is not a set of rows (replicas?)"},
		{"any(zzz, .lag > 1)", 5, "zzz is not a set of rows (any(rows, condition))"},
		{"any(failed, true)", 5, "failed is not a set of rows"},
		{"any(status.Uptime, true)", 12, "must be a set of rows"},
		{"count(status.Uptime)", 14, "count_of(a) counts instances"},
		{"replicas", 1, "replicas is a set of rows, not a value"},
		{"count_of(replicas)", 10, "replicas is a set of rows, not a value"},
		{"any(replicas, .lagg > 1)", 15, "the rows of replicas have no field lagg (.lag?)"},
		{"any(replicas, .user == \"x\")", 15, "have no field user (the fields are auto_position"},
		{"any(replicas, #.user == \"x\")", 15, "have no field user"},
		{"any(replicas, #)", 15, "a row by itself is no value"},
		{"any(replicas, #acc.lag > 1)", 15, "not part of the language"},
		{"any(replicas, .lag)", 15, "true or false is needed here"},
		{"any(replicas, .io > 3)", 15, "a number is needed here, not a text"},
		{"any(replicas, .auto_position == 1)", 30, "never equal"},
		{"any(replicas)", 1, "any has 1 arguments here"},
		{"any()", 1, "any has 0 arguments here"},
		{"sum(replicas, .io)", 15, "a number is needed here, not a text"},
		{"sum(replicas, .auto_position)", 15, "write condition ? 1 : 0"},
		{"sum(replicas)", 1, "sum has 1 arguments here (sum(rows, value))"},
		{"max_of(replicas, .lag, 3)", 1, "max_of has 3 arguments"},
		{"names(replicas, .lag, .io)", 17, "true or false is needed"},
		{"names(replicas, true, .auto_position)", 23, "a name is a text or a number"},
		{"a + .lag", 5, "can stand only inside a function over rows"},
		{".lag", 1, "can stand only inside a function over rows"},
		{"any(replicas, sum(host.load1 * .lag) > 1)", 32, "can stand only inside a function over rows"},
		{"any(replicas, any(accounts, .lag > 1))", 29, "the rows of accounts have no field lag"},
		{"it.host", 1, "it has no field host"},
		{"it.chanel", 1, "it has no field chanel (it.channel?)"},
		{"it", 1, "a field is missing behind it"},
		{"rate(failed)", 6, "failed is no metric"},
		{"delta(limit.failed)", 7, "limit.failed is no metric"},
		{"failed and true", 1, "true or false is needed here, not a number"},
		{"c + 1", 1, "write condition ? 1 : 0"},
		{"t > 1", 1, "a number is needed here, not a text"},
		{"c ? a : t", 9, "one side is a number, the other a text"},
		{"a contains \"x\"", 1, "a text is needed here"},
		{"lower(a)", 7, "a text is needed here, not a number"},
		{"upper(a > 1)", 9, "a text is needed here, not true or false"},
		{"concat(t, a > 1)", 13, "a text or a number is needed here"},
		{"concat(t)", 1, "concat(a, b, …)"},
		{"usual(failed)", 7, "failed is no metric"},
		{"week_ago(usual(status.Uptime))", 10, "must be a name"},
		{"has(1)", 1, "reads nothing that could be missing"},
		{"has()", 1, "has has 0 arguments"},
		{"version(8.0)", 9, "must be written in quotes"},
		{`version("eight")`, 9, `"eight" is not a version`},
		{`version("5.6.100")`, 9, "is not a version"},
		{"clamp(1, 2)", 1, "clamp(a, least, greatest)"},
		{"round_up(1)", 1, "round_up(a, step)"},
		{"KiB.x", 1, "KiB is not a namespace"},
		{"filter(replicas, .lag > 1)", 1, "there is no function filter"},
		{"one(replicas, .lag > 1)", 1, "there is no function one"},
		{"map(replicas, .lag)", 1, "there is no function map"},
		{"reduce(replicas, #acc + .lag)", 1, "there is no function reduce"},
		{"counts(replicas)", 1, "(count)"},
		{"failed ?? 0 + 1", 13, "put parentheses around a ?? b"},
		{strings.Repeat("a+", 1500) + "a", 0, "parts"},
	} {
		s := ruleScope()
		s.Known = nil
		_, err := ParseScope(c.text, s)
		var invalid *monolith.InvalidError
		if !errors.As(err, &invalid) {
			t.Errorf("%s: error %v", c.text, err)
			continue
		}
		if c.column != 0 && invalid.Column != c.column || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v\nwant column %d, %q", c.text, err, c.column, c.words)
		}
	}
}

// A scope without rows, it and locals is no different from none, and nil is one.
func TestEmptyScope(t *testing.T) {
	for _, text := range []string{"any(replicas, .lag > 1)", "it.lag > 1", "limit.failed", ".lag"} {
		for _, s := range []*Scope{nil, {}} {
			if f, err := ParseScope(text, s); !isInvalid(err) {
				t.Errorf("%s: %v, %v", text, f, err)
			}
		}
	}
	for _, text := range []string{"rate(status.Questions) > 3 // per second", "has(status.Uptime)", "/* a */ 1"} {
		if _, err := ParseScope(text, nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// What only rules have is refused where there is no rule, with a reason; what has a meaning everywhere is not.
func TestScopeIsForRules(t *testing.T) {
	for text, words := range map[string]string{
		"any(replicas, true)":    "any works on the rows of a rule: there are none here",
		"usual(status.Uptime)":   "usual is for the formulas of rules",
		"count(replicas)":        "count works on the rows of a rule",
		"names(replicas, 1, 2)":  "names works on the rows of a rule",
		"has(status.Uptime)":     "has is for the formulas of rules",
		"it.lag":                 "it is not a namespace",
		"sum(replicas, 1)":       "sum has 2 arguments here",
		"limit.failed":           "limit is not a namespace",
		"sum(replica.lag) + KIB": "KIB is not a known word",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", text, err)
		}
	}
	h := minutes()
	req := Request{Server: 1, From: noon, To: noon.Add(time.Minute), Step: 10 * time.Second}
	for text, words := range map[string]string{
		"status.Threads_running > limit.failed": "the formula names limit.failed, which only a rule has",
		"count(replicas)":                       "the formula names replicas, which only a rule has",
		"status.Threads_running + it.lag":       "the formula names it.lag, which only a rule has",
		"usual_rate(status.Questions)":          "the formula names usual_rate, which only a rule has",
		"has(status.Threads_running)":           "the formula names has, which only a rule has",
	} {
		f := mustScope(t, text)
		if _, err := f.At(context.Background(), h, 1, noon, 0); !isInvalid(err) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s at a moment: %v", text, err)
		}
		if _, err := Series(context.Background(), h, req, mustParse(t, "1"), f); !isInvalid(err) || !strings.Contains(err.Error(), words) {
			t.Errorf("%s in a series: %v", text, err)
		}
	}
	end := noon.Add(10*time.Minute + time.Millisecond)
	for text, want := range map[string]float64{
		"round_up(status.Threads_running, 16 * KiB)":                 16384,
		"round_down(status.Threads_running * 100, 64)":               384,
		`upper(variable.log_bin) == "OFF" ? 1 : 0`:                   1,
		`concat(variable.log_bin, 1 / 2) == "OFF0.5" ? 1 : 0`:        1,
		"clamp(status.Threads_running, 10, 20)":                      10,
		"clamp(100, status.Threads_running, 20) / MiB * MiB":         20,
		`lower(variable.version) contains "mariadb" ? 1 : 0`:         1,
		`version("26.10.1") - version("10.11.19")`:                   261001 - 101119,
		"status.Threads_running * GiB / 1024 ** 3":                   4,
		`version("8.0.4") < version("8.0.40") ? 1 : 0`:               1,
		`version("9.7.0") < version("10.1.0") ? 1 : 0`:               1,
		`version("26.10.1") > version("26.9.3") ? 1 : 0`:             1,
		`version("5.5.5-10.11.6-MariaDB") == 101106 ? 1 : 0`:         1,
		`version("8.4") == version("8.4.0") ? 1 : 0`:                 1,
		`clamp(status.Threads_running, 1, 2) == least(9, 2) ? 1 : 0`: 1,
	} {
		f, err := ParseScope(text, ruleScope())
		if err != nil {
			t.Fatal(err)
		}
		v, err := f.At(context.Background(), h, 1, end, 0)
		if err != nil || v.Num != want {
			t.Errorf("%s: %+v, %v, want %v", text, v, err, want)
		}
	}
	if r := over(t, h, "clamp(status.Threads_running, 2, 3)", 10*time.Second, 8); len(r.Lines) != 1 || r.Lines[0].V[0] != 2 || r.Lines[0].V[6] != 3 {
		t.Errorf("clamp in a series: %v", r.Lines)
	}
}

func TestVersionNumber(t *testing.T) {
	if got := VersionNumber(monolith.ParseVersion("10.11.19-MariaDB")); got != Number(101119) {
		t.Error(got)
	}
	if got := VersionNumber(monolith.Version{}); got.Lack() != LackNull {
		t.Error(got)
	}
}

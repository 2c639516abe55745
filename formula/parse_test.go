package formula

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"monolith"
)

func TestParse(t *testing.T) {
	for _, text := range []string{
		"rate(status.Questions)",
		"  rate( status.Com_select )/rate(status.Questions)\n",
		`status["Threads_running"]`,
		`status["Name.with-odd characters"] + 1`,
		`delta(status["Foo"], "90s")`,
		`100 * (1 - rate(status.Innodb_buffer_pool_reads) / rate(status.Innodb_buffer_pool_read_requests))`,
		`variable.log_bin == "ON" ? 1 : 0`,
		`variable.log_bin in ["ON", "1"] and not (status.Uptime < 600) or status.Threads_running >= 1e2`,
		`variable.validate_password.policy == "MEDIUM"`,
		`greatest(0, least(status.Uptime, 10, 20), abs(-1)) % 3 ** 2`,
		`rate(status.Questions) - (rate(self.Questions) ?? 0)`,
		`round(status.Uptime / 3, 2) + floor(1.5) + ceil(1.5) + round(2.5)`,
		`sum(rate(host.disk_read_bytes_total)) + only(host.mount_used_bytes, "/var/lib/mysql")`,
		`week_ago(rate(status.Questions, "1h")) + week_ago(status.Threads_running)`,
		`changed(variable.read_only, "1h") == 1`,
		`forecast(host.mount_used_bytes, "6h", "1d") > host.mount_size_bytes`,
		`avg_over(status.Threads_running, "1h") + min_over(status.Threads_running) + max_over(status.Threads_running, "1w")`,
		`42`, `-status.Uptime`, `+status.Uptime`, `variable.version`, `true`,
		`variable.version matches "^(5|8)\\."`,
		`status.Uptime > 5 ? "old" : "new"`,
	} {
		f, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if f.String() != strings.TrimSpace(text) {
			t.Errorf("%q became %q", text, f)
		}
		// What is printed for explanations is the same formula.
		printed := f.unit.print(f.unit.root, nothingBehind)
		again, err := ParseWith(printed, anyName)
		if err != nil {
			t.Errorf("%s: printed as %s: %v", text, printed, err)
			continue
		}
		if twice := again.unit.print(again.unit.root, nothingBehind); twice != printed {
			t.Errorf("%s: printed as %s, then as %s", text, printed, twice)
		}
	}
}

// Operators bind as they do in mathematics, and what is printed keeps that.
func TestPrecedence(t *testing.T) {
	for text, want := range map[string]float64{
		"2 ** 3 ** 2": 512, "(2 ** 3) ** 2": 64, "10 - (4 - 3)": 9, "10 - 4 - 3": 3, "16 / (4 / 2)": 8, "16 / 4 / 2": 2,
		"-(2 + 3)": -5, "-2 ** 2": -4, "(-2) ** 2": 4, "1 - -1": 2, "2 + 3 * 4": 14, "(2 + 3) * 4": 20, "7 % 4 * 2": 6, "2 ^ 3": 8,
		"(1 > 2 ? 10 : 20) + 1": 21, "1 > 2 ? 10 : 20 + 1": 21, "1 < 2 ? 3 < 2 ? 1 : 2 : 3": 2, "(1 < 2) == (2 < 3) ? 1 : 0": 1,
		"not (1 > 2) and 2 > 1 ? 1 : 0": 1, "1 > 2 and 1 > 2 or 2 > 1 ? 1 : 0": 1, "1 > 2 and (1 > 2 or 2 > 1) ? 1 : 0": 0,
		"1 in [2, 3] or 4 in [4] ? 1 : 0": 1, "3 not in [1, 2] ? 1 : 0": 1, "+5": 5, "round(2.5)": 3, "round(-2.5)": -3, "round(1.005 * 1000)": 1005,
		"round(12.3456, 2)": 12.35, "round(1e300, 15)": 1e300, "floor(-1.5)": -2, "ceil(-1.5)": -1, "abs(-3)": 3, "greatest(1, 5, 3)": 5, "least(4, 2, 3)": 2,
		"percent(1, 4)": 25, "1e3": 1000, "1_000": 1000, "0x10": 16,
	} {
		f := mustParse(t, text)
		printed := f.unit.print(f.unit.root, nothingBehind)
		for _, form := range []string{text, printed} {
			if v := at(t, ten(), form, noon, 0); v.Num != want {
				t.Errorf("%s = %v (%s), want %v", form, v.Num, v.Why, want)
			}
			if r := over(t, ten(), form, time.Second, 1); len(r.Lines) != 1 || r.Lines[0].V[0] != want {
				t.Errorf("%s in a series: %v, want %v", form, r.Lines, want)
			}
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		text   string
		column int
		words  string
	}{
		{"", 1, "empty"},
		{" \n ", 1, "empty"},
		{"1 +", 4, "ends too early"},
		{"(1", 3, "ends too early"},
		{"1 +* 2", 4, `unexpected token "*"`},
		{"status.Questions status.Uptime", 18, "unexpected token"},
		{"'abc", 5, "literal not terminated"},
		{"1 + status.Question", 5, "status.Questions? Or write status[\"Question\"] to use it anyway"},
		{"status.questions", 1, "status.Questions?"},
		{"status.Qeustions", 1, "status.Questions?"},
		{"status.Xyzzy_nothing_like_it", 1, `write status["Xyzzy_nothing_like_it"] to use it anyway`},
		{"rate(status.Com_selct)", 6, "status.Com_select?"},
		{"variable.inodb_buffer_pool_size", 1, "variable.innodb_buffer_pool_size?"},
		{"statuz.Questions", 1, "names begin with status"},
		{"2 * Questions", 5, "status.Questions"},
		{"max_connections", 1, "variable.max_connections"},
		{"status", 1, "status is a namespace"},
		{"1 + rate", 5, "rate is a function"},
		{`status[""]`, 1, "printable characters"},
		{`status["a` + "\\n" + `b"]`, 1, "printable characters"},
		{`status[1]`, 7, "this is not a name"},
		{"status?.Uptime", 1, ""},
		{"status.Uptime.foo()", 15, "only functions can be called"},
		{"raet(status.Questions)", 1, "(rate)"},
		{"min(status.Uptime, 3)", 1, "least(a, b)"},
		{"1 + max(1, 2)", 5, "greatest(a, b)"},
		{"increase(status.Questions)", 1, "delta(name)"},
		{"map(1..1e9, #)", 1, "there is no function map"},
		{"len([1, 2])", 1, "there is no function len"},
		{"filter(1..3, # > 1)", 1, "there is no function filter"},
		{"1..1000000000", 2, "not part of the language"},
		{"rate(rate(status.Questions))", 6, "must be a name and nothing else"},
		{"rate(status.Questions + 1)", 23, "must be a name and nothing else"},
		{"rate(1)", 6, "must be a name and nothing else"},
		{`rate("status.Questions")`, 6, "must be a name and nothing else"},
		{"rate()", 1, "rate has 0 arguments"},
		{`rate(status.Questions, 60)`, 24, "in quotes"},
		{`rate(status.Questions, "an hour")`, 24, "not a length of time"},
		{`rate(status.Questions, "0s")`, 24, "not a length of time"},
		{`rate(status.Questions, "10ms")`, 24, "between 1 second"},
		{`rate(status.Questions, "9000d")`, 24, "between 1 second"},
		{"week_ago(week_ago(status.Uptime))", 10, "must be a name"},
		{"week_ago(abs(status.Uptime))", 10, "must be a name"},
		{"percent(1)", 1, "percent(part, whole)"},
		{"greatest(1)", 1, "greatest(a, b, …)"},
		{"round(status.Uptime, status.Uptime)", 22, "digits"},
		{"round(status.Uptime, 99)", 22, "digits"},
		{`"a" + 1`, 1, "a number is needed here, not a text"},
		{`1 + (status.Uptime > 2)`, 20, "write condition ? 1 : 0"},
		{"status.Uptime and true", 1, "true or false is needed here"},
		{"not status.Uptime", 5, "true or false is needed here"},
		{"1 ? 2 : 3", 1, "true or false is needed here"},
		{`status.Uptime > 1 ? "a" : 1`, 27, "one side is a text, the other a number"},
		{`true ? true : 1`, 15, "both sides must be"},
		{`"a" == 1`, 5, "never equal"},
		{`status.Uptime == true`, 15, "never true or false"},
		{`rate(status.Questions) contains "a"`, 1, "a text is needed"},
		{`variable.version matches "("`, 26, "the pattern is wrong"},
		{`variable.version matches variable.version`, 26, "pattern in quotes"},
		{"status.Uptime in 5", 18, "list in brackets"},
		{"status.Uptime in [status.Uptime]", 19, "texts and numbers only"},
		{"[1, 2]", 1, "only behind in"},
		{`{"a": 1}`, 1, "not part of the language"},
		{"1 ?? 2", 3, "reads nothing that a server could lack"},
		{"status.Uptime ?? 1 + 2", 20, "put parentheses around a ?? b"},
		{`status.Uptime ?? (1 > 2)`, 15, "both sides must be"},
		{"let x = 1; x", 5, "let and ; are not part"},
		{"1; 2", 1, "let and ; are not part"},
		{"nil", 1, "nil is not part"},
		{"status.Uptime == nil", 18, "nil is not part"},
		{"sum(sum(host.load1))", 5, "can't stand inside"},
		{"sum(1)", 1, "needs something with instances"},
		{`sum(host.load1 > 1)`, 16, "write condition ? 1 : 0"},
		{"only(host.load1, 5)", 18, "instance must be a text"},
		{"status.Uptime & 1", 15, "unexpected token"},
		{"#", 1, ""},
		{"$env", 1, ""},
		{"größe", 1, "größe is not a known word"},
		{"1 + größe * statüs", 5, "größe is not a known word"},
		{`"ä" + status.Nothing`, 7, "status.Nothing"},
		{"\xff", 1, "UTF-8"},
	} {
		_, err := Parse(c.text)
		var invalid *monolith.InvalidError
		if !errors.As(err, &invalid) {
			t.Errorf("%s: error %v", c.text, err)
			continue
		}
		if c.words == "" {
			continue
		}
		if invalid.Column != c.column || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %v\nwant column %d, %q", c.text, err, c.column, c.words)
		}
	}
}

func TestParseWith(t *testing.T) {
	seen := func(name string) bool { return name == "status.Custom_counter" }
	if _, err := ParseWith("rate(status.Custom_counter)", seen); err != nil {
		t.Error(err)
	}
	if _, err := ParseWith("rate(status.Custom_countre)", seen); err == nil {
		t.Error("a name that nobody saw is accepted")
	}
}

// Formulas that would cost much are refused, and refusing costs little.
func TestLimits(t *testing.T) {
	for name, text := range map[string]string{
		"long":          strings.Repeat("1+", 3000) + "1",
		"many nodes":    strings.Repeat("1+", 1500) + "1",
		"deep":          strings.Repeat("(", 1990) + "1" + strings.Repeat(")", 1990) + "+" + strings.Repeat("x", 50),
		"signs":         strings.Repeat("-", 3999) + "1",
		"nots":          strings.Repeat("!", 3999) + "true",
		"calls":         strings.Repeat("abs(", 900) + "1" + strings.Repeat(")", 399),
		"conditions":    strings.Repeat("true?1:", 560) + "2",
		"range":         "1..1000000000",
		"map":           "map(1..1000000000, # * 2)",
		"nested map":    "map(1..10000, map(1..10000, #))",
		"reduce":        "reduce(1..1000000000, #acc + #)",
		"repeat":        `repeat("a", 1000000000)`,
		"long name":     `status["` + strings.Repeat("a", 300) + `"]`,
		"many args":     "greatest(" + strings.Repeat("1,", 30) + "1)",
		"long pattern":  `variable.version matches "` + strings.Repeat("(a|b)*", 200) + `"`,
		"big repeat":    `variable.version matches "a{1000}{1000}"`,
		"huge integer":  "99999999999999999999999999",
		"huge exponent": "1e999999999",
	} {
		start := time.Now()
		_, err := Parse(text)
		if !isInvalid(err) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("%s: refused after %v", name, took)
		}
	}
	// What stays just below the limits works.
	for name, text := range map[string]string{
		"sum":         strings.Repeat("1+", 400) + "1",
		"parentheses": strings.Repeat("(", 1900) + "1" + strings.Repeat(")", 1900),
		"signs":       strings.Repeat("-", 900) + "1",
	} {
		f, err := Parse(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		over(t, ten(), f.String(), time.Second, 2)
	}
}

func TestInputs(t *testing.T) {
	f := mustParse(t, `rate(status.Questions) - (rate(self.Questions) ?? 0) + delta(status.Questions, "1h") + sum(host.load1) +
		week_ago(rate(status.Questions)) + rate(status.Questions) + (status.Uptime ?? 0) + status.Uptime + (sum(rate(host.disk_reads_total)) ?? 0)`)
	want := []Input{
		{Name: "status.Questions", Func: "rate"},
		{Name: "self.Questions", Func: "rate", Optional: true},
		{Name: "status.Questions", Func: "delta", Window: time.Hour},
		{Name: "host.load1", Each: true},
		{Name: "status.Questions", Func: "rate", Ago: 7 * 24 * time.Hour},
		{Name: "status.Uptime"}, // once needed, so not optional
		{Name: "host.disk_reads_total", Func: "rate", Optional: true, Each: true},
	}
	if d := cmp.Diff(want, f.Inputs()); d != "" {
		t.Error(d)
	}
}

func TestInputNeededLater(t *testing.T) {
	for _, text := range []string{"(status.Uptime ?? 0) + status.Uptime", "status.Uptime + (status.Uptime ?? 0)"} {
		if in := mustParse(t, text).Inputs(); len(in) != 1 || in[0].Optional {
			t.Errorf("%s: %+v", text, in)
		}
	}
}

func TestUnit(t *testing.T) {
	for text, want := range map[string]string{
		"rate(status.Bytes_received)":                                  "bytes/s",
		"delta(status.Bytes_received)":                                 "bytes",
		"rate(status.Questions)":                                       "1/s",
		"rate(status.Questions) - (rate(self.Questions) ?? 0)":         "1/s",
		"percent(rate(status.Qcache_hits), rate(status.Com_select))":   "%",
		"100 * rate(status.Qcache_hits) / rate(status.Com_select)":     "%",
		"100 * (rate(status.Qcache_hits) / rate(status.Com_select))":   "%",
		"100 * (1 - rate(status.Key_reads) / rate(status.Key_writes))": "%",
		"rate(status.Qcache_hits) / rate(status.Com_select)":           "",
		"status.Uptime":                           "s",
		"replica.lag":                             "s",
		"variable.innodb_buffer_pool_size":        "bytes",
		"variable.innodb_buffer_pool_size / 1024": "bytes",
		"status.Innodb_buffer_pool_pages_free * status.Innodb_page_size":            "bytes",
		"rate(host.disk_read_bytes_total)":                                          "bytes/s",
		"sum(rate(host.disk_read_bytes_total))":                                     "bytes/s",
		"count_of(host.load1)":                                                      "",
		"rate(status.Innodb_row_lock_time) / rate(status.Innodb_row_lock_waits)":    "ms",
		"status.Threads_running":                                                    "",
		"variable.thread_cache_size":                                                "",
		"variable.innodb_max_dirty_pages_pct":                                       "%",
		"greatest(0, variable.tmp_table_size)":                                      "bytes",
		"status.Uptime > 5 ? rate(status.Bytes_sent) : rate(status.Bytes_received)": "bytes/s",
		"rate(status.Bytes_sent) / rate(status.Questions)":                          "bytes",
		"100 * rate(host.cpu_user_seconds_total) / rate(host.cpu_seconds_total)":    "%",
		"status.Uptime + rate(status.Bytes_sent)":                                   "",
		"changed(variable.read_only)":                                               "",
		"7":                                                                         "",
	} {
		if got := mustParse(t, text).Unit(); got != want {
			t.Errorf("%s: unit %q, want %q", text, got, want)
		}
	}
}

package formula

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestEvalRows(t *testing.T) {
	for text, want := range map[string]Scalar{
		`any(replicas, .io != "Yes")`:                                                  Truth(true),
		`any(replicas, #.io == "Connecting")`:                                          Truth(false),
		`all(replicas, .io == "Yes")`:                                                  Truth(false),
		`all(replicas, .io in ["Yes", "No"])`:                                          Truth(true),
		`none(replicas, .io == "Connecting")`:                                          Truth(true),
		`none(replicas, .io == "No")`:                                                  Truth(false),
		`count(replicas)`:                                                              Number(3),
		`count(replicas, .io == "Yes" and .lag > 60)`:                                  Number(1),
		`count(replicas, has(.lag))`:                                                   Number(2),
		`any(replicas, .lag > 60)`:                                                     Truth(true), // whatever the NULL may be
		`any(replicas, .lag > 600)`:                                                    null,
		`all(replicas, .lag > 6)`:                                                      Truth(false),
		`all(replicas, .lag >= 5)`:                                                     null,
		`none(replicas, .lag > 60)`:                                                    Truth(false),
		`none(replicas, .lag > 600)`:                                                   null,
		`count(replicas, .lag > 60)`:                                                   null,
		`sum(replicas, .lag)`:                                                          Number(95),
		`avg_of(replicas, .lag)`:                                                       Number(47.5),
		`max_of(replicas, .lag)`:                                                       Number(90),
		`min_of(replicas, .lag)`:                                                       Number(5),
		`max_of(replicas, has(.lag) ? .lag : 1e6)`:                                     Number(1e6),
		`sum(replicas, (.lag ?? 0))`:                                                   Number(95),
		`any(replicas, .lag > limit.failed and .channel != it.channel)`:                Truth(true),
		`any(replicas, .auto_position and .lag * 2 > status.Uptime)`:                   null,
		`names(replicas, .io == "Yes", .channel)`:                                      Text("east, north"),
		`names(replicas, .lag > 60, .source_host)`:                                     Text("north.example"),
		`names(replicas, .io == "x", .channel)`:                                        Text(""),
		`names(replicas, .lag > 600, .channel)`:                                        null,
		`names(replicas, .io == "Yes", concat(.channel, "@", .source_host))`:           Text("east@east.example, north@north.example"),
		`names(replicas, true, .lag)`:                                                  Text("5, ?, 90"),
		`any(accounts, .privileges > 0)`:                                               Truth(false),
		`all(accounts, .locked)`:                                                       Truth(true),
		`count(accounts)`:                                                              Number(0),
		`sum(accounts, .privileges)`:                                                   Number(0),
		`max_of(accounts, .privileges)`:                                                Nothing(LackNull, "no row of accounts has a value"),
		`count(replicas, any(accounts, .locked) or .io == "No")`:                       Number(1),
		`count(replicas, any(replicas, .io == "No") and .io == "Yes")`:                 Number(2),
		`count(replicas, .lag > sum(host.use) or .channel == "west" and .io != "Yes")`: null,
		`count(replicas, has(.lag) and .lag > sum(host.use) - 100)`:                    Number(1),
	} {
		if got := mustScope(t, text).Eval(ruleEnv()); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// A row or a field that failed fails the whole, even where the outcome is decided before.
func TestEvalFailedRows(t *testing.T) {
	e := ruleEnv()
	e.sets["replicas"] = append(e.sets["replicas"], replicaRow("south", "Yes", failed))
	for text, want := range map[string]Lack{
		`any(replicas, .lag > 1)`:                       LackFailed,
		`any(replicas, .io == "No" or .lag > 1)`:        LackFailed,
		`d and any(replicas, .lag > 1)`:                 LackFailed,
		`any(replicas, .io == "No")`:                    LackNone,
		`count(replicas, has(.lag))`:                    LackFailed,
		`names(replicas, .io == "No", .lag)`:            LackFailed,
		`names(replicas, .io == "No", .channel)`:        LackNone,
		`(a ?? count(replicas, .lag > 1)) + 1`:          LackNone,
		`count(accounts, any(replicas, .lag > 1)) > 5`:  LackFailed,
		`count(accounts, .privileges > status.Failed)`:  LackFailed,
		`sum(host.use * count(replicas, .lag > 1))`:     LackFailed,
		`any(replicas, .channel == "east" and d or c)`:  LackNone,
		`any(replicas, (status.Uptime ?? .lag) > 1000)`: LackNone,
	} {
		if got := mustScope(t, text).Eval(e); got.Lack() != want {
			t.Errorf("%s: %+v, want %v", text, got, want)
		}
	}
	got := mustScope(t, `any(replicas, .lag > 1)`).Eval(e)
	if got.Why() != ".lag: access denied" {
		t.Error(got.Why())
	}
	e.lacks["replicas"] = failed
	for _, text := range []string{"count(replicas) > 0", "d and count(replicas) > 0", "any(replicas, c)", "has(count(replicas))"} {
		if got := mustScope(t, text).Eval(e); got.Lack() != LackFailed || got.Why() != "replicas: access denied" {
			t.Errorf("%s: %+v", text, got)
		}
	}
	e.lacks["replicas"] = absent
	if got := mustScope(t, "(count(replicas) ?? 3) + 1").Eval(e); got != Number(4) {
		t.Errorf("absent rows: %+v", got)
	}
	e.lacks["replicas"] = learning
	if got := mustScope(t, "any(replicas, c)").Eval(e); got != learning {
		t.Errorf("rows not read yet: %+v", got)
	}
	delete(e.lacks, "replicas")
	e.sets["replicas"] = []Row{nil}
	if got := mustScope(t, `any(replicas, .io == "No")`).Eval(e); got.Lack() != LackFailed {
		t.Errorf("a nil row: %+v", got)
	}
}

func TestEvalNamesList(t *testing.T) {
	e := ruleEnv()
	for i := range 9 {
		e.sets["accounts"] = append(e.sets["accounts"], rowOf(ruleScope().Rows["accounts"], map[string]Scalar{
			"user": Text(fmt.Sprint("u", i)), "host": Text("a\x1b[2J\n" + strings.Repeat("ü", 150)), "locked": Truth(i%2 == 0), "privileges": Number(float64(i))}))
	}
	for text, want := range map[string]string{
		"names(accounts, true, .user)":              "u0, u1, u2, u3, u4 and 4 more",
		"names(accounts, .locked, .user)":           "u0, u2, u4, u6, u8",
		"names(accounts, .privileges < 2, .user)":   "u0, u1",
		"names(accounts, .privileges == 1, .host)":  "a [2J " + strings.Repeat("ü", 94) + "…",
		"names(accounts, .privileges > 2, 2 * 2)":   "4, 4, 4, 4, 4 and 1 more",
		`names(accounts, .privileges == 1, "")`:     `""`,
		"names(accounts, not .locked, .privileges)": "1, 3, 5, 7",
	} {
		if got := mustScope(t, text).Eval(e); got != Text(want) {
			t.Errorf("%s: %q, want %q", text, got.String(), want)
		}
	}
}

// Whatever the rows are, an evaluation ends soon and says that it was cut off.
func TestEvalTooMuch(t *testing.T) {
	e := ruleEnv()
	e.sets["replicas"] = slices.Repeat(e.sets["replicas"][:1], 2000)
	long := replicaRow(strings.Repeat("a", 1<<20), "Yes", Number(1))
	e.sets["accounts"] = slices.Repeat([]Row{rowOf(ruleScope().Rows["accounts"], map[string]Scalar{"user": Text("u"), "host": Text("%"),
		"locked": Truth(false), "privileges": Number(1)})}, 1000)
	for _, text := range []string{
		`any(replicas, any(replicas, any(replicas, .io == "No")))`,
		`count(replicas, any(replicas, .io == "No")) > 0`,
		`any(replicas, count(replicas, .io == "No") > 5)`,
		`sum(replicas, sum(accounts, .privileges + 1 + 1 + 1))`,
		`any(accounts, it.channel matches "(a|aa)+b")`,
		`any(accounts, it.channel contains "b")`,
		`any(accounts, lower(it.channel) == "b")`,
	} {
		e.it = long
		if got := mustScope(t, text).Eval(e); got.Lack() != LackFailed || !strings.Contains(got.Why(), "too much work") {
			t.Errorf("%s: %+v", text, got)
		}
	}
	e.it = replicaRow(strings.Repeat("a", 1000), "Yes", null)
	doubled := "it.channel"
	for range 6 {
		doubled = "concat(" + doubled + ", " + doubled + ")"
	}
	if got := mustScope(t, doubled).Eval(e); got.Why() != tooLong {
		t.Errorf("64,000 characters: lack %v, %d characters", got.Lack(), len(got.String()))
	}
	if got := mustScope(t, `any(replicas, .io == "No")`).Eval(e); got != Truth(false) {
		t.Errorf("2,000 rows: %+v", got)
	}
}

package alerts

import (
	"errors"
	"strings"
	"testing"

	"monolith"
)

// rulesFile is a file with one good rule; %s is put into it.
const goodFile = `rules:
- id: general
  title: General log
  category: queries
  about: It costs.
  window: 15m
  let:
    asked: {is: rate(status.Questions), unit: 1/s}
    share: {is: "percent(delta(status.Slow_queries), delta(status.Questions))", unit: "%"}
  when:
  - if: asked > limit.asked and share >= limit.share
    limits:
      info: {asked: 10, share: 1}
      warn: {asked: 100, share: 5}
    for: 5m
    clear: {after: 15m, factor: 0.5}
  summary: "{asked} asked, {share} slow"
  says: "{asked} of {limit.asked}"
  tests:
  - {name: quiet, must_not_fire: true, set: {status.Questions: 1, status.Slow_queries: 0}, state: ok}
`

// goodCondition is the condition of goodFile.
const goodCondition = `  - if: asked > limit.asked and share >= limit.share
    limits:
      info: {asked: 10, share: 1}
      warn: {asked: 100, share: 5}
    for: 5m
    clear: {after: 15m, factor: 0.5}
`

func TestLoadErrors(t *testing.T) {
	if _, err := Load(File{"a.yaml", []byte(goodFile)}); err != nil {
		t.Fatalf("the good file: %v", err)
	}
	for _, c := range []struct {
		name, old, new string
		want           []string // parts of the error
	}{
		{"unknown key", "  window: 15m", "  windw: 15m", []string{"a.yaml:6:", "windw"}},
		{"not YAML", "  window: 15m", "  window: [15m", []string{"a.yaml:"}},
		{"unknown name", "rate(status.Questions)", "rate(status.Qestions)", []string{"a.yaml:8:", "general", "let.asked.is", "status.Questions"}},
		{"wrong unit", "unit: 1/s}", "unit: bytes}", []string{"a.yaml:8:", "bytes", "1/s"}},
		{"unit of a percentage", `unit: "%"}`, `unit: s}`, []string{"a.yaml:9:", "%"}},
		{"limit on the wrong side", "warn: {asked: 100,", "warn: {asked: 5,", []string{"a.yaml:", "when[0].limits", "10 for info is above 5 for warn"}},
		{"missing limit of a level", "warn: {asked: 100, share: 5}", "warn: {asked: 100}", []string{"limit.share", "warn"}},
		{"limit that nothing uses", "info: {asked: 10,", "info: {asked: 10, other: 2,", []string{"other", "not used"}},
		{"unknown level", "      warn: {", "      warning: {", []string{"warning", "info, warn or critical"}},
		{"limit not given", "limit.share", "limit.part", []string{"a.yaml:11:", "limit.part"}},
		{"no truth value", "asked > limit.asked and share >= limit.share", "asked + limit.asked + limit.share", []string{"a.yaml:11:", "true or false"}},
		{"cycle", "asked: {is: rate(status.Questions), unit: 1/s}", "asked: {is: share + 1}", []string{"share", "asked"}},
		{"cycle of one", "asked: {is: rate(status.Questions), unit: 1/s}", "asked: {is: asked + 1}", []string{"cycle"}},
		{"no window", "  window: 15m\n", "", []string{"no window"}},
		{"bad length of time", "window: 15m", "window: 15 parsecs", []string{"a.yaml:6:", "15 parsecs"}},
		{"brace", `"{asked} asked, {share} slow"`, `"{asked asked, {share} slow"`, []string{"a.yaml:17:", "brace"}},
		{"formula in a text", `"{asked} of {limit.asked}"`, `"{asked} of {limt.asked}"`, []string{"a.yaml:18:", "limt"}},
		{"no quiet case", "must_not_fire: true, ", "", []string{"must not fire", "must_not_fire: true"}},
		{"bad id", "id: general", "id: General Log", []string{"a.yaml:2:", "not an id"}},
		{"twice the same", "    share: {is: \"percent(", "    asked: {is: \"percent(", []string{"a.yaml:9:", "already defined"}},
		{"factor", "factor: 0.5", "factor: 1.5", []string{"a.yaml:16:", "factor"}},
		{"unknown flavour", "  window: 15m", "  needs: {flavour: [oracle]}\n  window: 15m", []string{"a.yaml:6:", "oracle"}},
		{"unknown collector", "  window: 15m", "  needs: {collector: proceses}\n  window: 15m", []string{"a.yaml:6:", "proceses", "is not a collector", "processes"}},
		{"collector unlike any", "  window: 15m", "  needs: {collector: nosuch}\n  window: 15m", []string{"a.yaml:6:", "nosuch", "status, variables, replication"}},
		{"title turned round", "  title: ", "  title: \u202E", []string{"a.yaml:3:", "direction of writing"}},
		{"bad bound", "  window: 15m", "  needs: {mysql: newer than 5}\n  window: 15m", []string{"a.yaml:6:", ">= 5.6.5"}},
		{"unknown each", "  window: 15m", "  each: planet\n  window: 15m", []string{"a.yaml:6:", "planet"}},
		{"unknown rows", "  window: 15m", "  each: thing\n  rows: planets\n  name: it.x\n  window: 15m", []string{"a.yaml:7:", "planets"}},
		{"word that is no level", goodCondition, "  - {if: asked > 5, level: '\"bogus\"'}\n", []string{"a.yaml:11:", "bogus", "critical"}},
		{"one of two words", goodCondition, "  - {if: asked > 5, level: 'share > 5 ? \"warn\" : \"bogus\"'}\n", []string{"a.yaml:11:", "bogus", "critical"}},
		{"word through a quantity", "  when:\n" + goodCondition, "    how: {is: 'share > 5 ? \"warn\" : \"severe\"'}\n  when:\n  - {if: asked > 5, level: how}\n", []string{"a.yaml:12:", "how", "severe"}},
		{"level and limits", "    for: 5m", "    level: warn\n    for: 5m", []string{"limits or a level"}},
		{"alias", "  about: It costs.", "  about: &x It costs.", []string{"a.yaml:5:", "alias"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(goodFile, c.old, c.new, 1)
			if text == goodFile {
				t.Fatalf("%q does not stand in the file", c.old)
			}
			_, err := Load(File{"a.yaml", []byte(text)})
			if err == nil {
				t.Fatal("it was taken")
			}
			if !errors.Is(err, monolith.ErrInvalid) {
				t.Errorf("%v is no invalid input", err)
			}
			for _, part := range c.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not hold %q", err, part)
				}
			}
		})
	}
}

func TestDuplicateIDs(t *testing.T) {
	_, err := Load(File{"a.yaml", []byte(goodFile)}, File{"b.yaml", []byte(goodFile)})
	if err == nil || !strings.Contains(err.Error(), "b.yaml:2:") || !strings.Contains(err.Error(), "a.yaml") {
		t.Errorf("got %v", err)
	}
}

// TestOldRulesGoOn: a user's rule that is wrong is named, and the others stay in force.
func TestOldRulesGoOn(t *testing.T) {
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	next, wrong := cat.With([]monolith.OwnRule{{ID: "running", Source: threeLevels}, {ID: "bad", Source: "id: bad\ntitle: x"}}, nil)
	if len(wrong) != 1 || wrong["bad"] == nil {
		t.Errorf("wrong: %v", wrong)
	}
	if next.Rule("running") == nil || len(next.Rules()) != len(cat.Rules())+1 {
		t.Errorf("there are %d rules", len(next.Rules()))
	}
	if _, _, err := cat.Check("# mine\n\nid: bad\ntitle: x\nsummary: s\nsays: s\nwhen:\n- if: status.Nope > 1\n  level: warn\n", nil); err == nil || !strings.Contains(err.Error(), "rule:8:") {
		t.Errorf("the line of a mistake in a user's rule: %v", err)
	}
}

func TestDirection(t *testing.T) {
	for _, c := range []struct {
		condition string
		want      int8
	}{
		{"x >= limit.x", 1}, {"x > limit.x", 1}, {"x < limit.x", -1}, {"limit.x <= x", 1}, {"limit.x > x", -1},
		{"a > 1 and x >= limit.x", 1}, {"x >= limit.x and a < 3", 1}, {"a < 3 or x <= limit.x", -1},
		{"x >= greatest(16, limit.x * cores)", 1}, {"(x + 1) * 2 > limit.x", 1}, {"not (x < limit.x)", 1},
		{"x == limit.x", 0}, {"100 / limit.x < y", -1}, {"a ? x > limit.x : y", 1}, {"f(a < 1) >= limit.x", 1},
	} {
		if got := direction(c.condition, "limit.x"); got != c.want {
			t.Errorf("%s: got %d, expected %d", c.condition, got, c.want)
		}
	}
}

func TestTexts(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{1400, "attempts", "1,400"}, {70, "%", "70 %"}, {33.333, "%", "33.33 %"}, {128 << 20, "bytes", "128 MiB"}, {1.5 * (1 << 30), "bytes", "1.5 GiB"},
		{412, "s", "412 s"}, {58.64, "s", "59 s"}, {2.5, "s", "2.5 s"}, {3.58, "min", "3.58 min"}, {3600, "s", "60 minutes"}, {90000, "s", "25 hours"}, {-1.5, "", "-1.5"}, {0.0004, "1/s", "0.0004/s"}, {1236, unitID, "1236"},
		{1e15, "", "1,000,000,000,000,000"}, {2.5, "rows/s", "2.5 rows/s"}, {1 << 20, "bytes/s", "1 MiB/s"}, {1673.1, "connections", "1,673"}, {37.5, "attempts", "38"}, {2.5, "merge passes", "2.5"}, {37.5, "", "37.5"}, {1, "days", "1 day"}, {12, "days", "12 days"},
	} {
		if got := formatNumber(c.v, c.unit); got != c.want {
			t.Errorf("%v %s: got %q, expected %q", c.v, c.unit, got, c.want)
		}
	}
}

// FuzzOwnRule reads rules of users: whatever they write, the answer is a rule or an error, soon.
func FuzzOwnRule(f *testing.F) {
	f.Add(threeLevels)
	f.Add(strings.TrimPrefix(goodFile, "rules:\n"))
	f.Add("id: x\nlet: {a: {is: b}, b: {is: a}}")
	f.Add("- id: x\n  when: [{if: 'any(replicas, .io == \"No\")', level: '\"warn\"'}]\n  summary: '{{{'\n  says: '}'")
	f.Add("rules: [[[[[[[[[[[[[[")
	f.Add("id: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		cat, err := load(base{}, []monolith.OwnRule{{Source: text}}, nil)
		if err != nil {
			return
		}
		w := newWorld(cat, cat.rules[0], false, &serverEntry{})
		w.booted = w.start
		w.poll()
		w.poll()
		w.engine.Status(1, cat.rules[0].id)
	})
}

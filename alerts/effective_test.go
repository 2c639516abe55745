package alerts

import (
	"testing"

	"monolith"
)

// TestNearestWins takes limits and switches item by item from the nearest place.
func TestNearestWins(t *testing.T) {
	cat := ownCatalogue(t, threeLevels)
	r := cat.rules[0]
	yes, no := true, false
	limits := func(level string, v float64) map[string]map[string]float64 {
		return map[string]map[string]float64{level: {"running": v}}
	}
	set := newSettings([]monolith.RuleSetting{
		{Rule: "running", RuleScope: monolith.RuleScope{Server: 7}, Limits: limits("critical", 90)},
		{Rule: "running", RuleScope: monolith.RuleScope{Group: "acme/prod"}, Limits: limits("warn", 30), Enabled: &yes, Runbook: "https://prod"},
		{Rule: "running", RuleScope: monolith.RuleScope{Group: "acme"}, Limits: limits("warn", 25), Enabled: &no, Runbook: "https://acme"},
		{Rule: "running", Limits: limits("info", 12)},
		{Rule: "other", Limits: limits("info", 1)},
	})
	type want struct {
		server         monolith.ServerID
		group          string
		info, warn     float64
		critical       float64
		warnFrom       string
		enabled        bool
		enabledFrom    string
		runbook, place string
	}
	for _, w := range []want{
		{1, "", 12, 20, 40, "built-in", true, "built-in", "", ""},
		{1, "acme", 12, 25, 40, "group acme", false, "group acme", "https://acme", "group acme"},
		{1, "acme/dev", 12, 25, 40, "group acme", false, "group acme", "https://acme", "group acme"},
		{1, "acme/prod", 12, 30, 40, "group acme/prod", true, "group acme/prod", "https://prod", "group acme/prod"},
		{7, "acme/prod/eu", 12, 30, 90, "group acme/prod", true, "group acme/prod", "https://prod", "group acme/prod"},
		{1, "acmeprod", 12, 20, 40, "built-in", true, "built-in", "", ""},
	} {
		got := set.effective(r, w.server, w.group).describe(r)
		if got.Limits[0].Value != w.info || got.Limits[1].Value != w.warn || got.Limits[2].Value != w.critical || got.Limits[1].From != w.warnFrom ||
			got.Limits[0].From != "global" || got.Enabled != w.enabled || got.EnabledFrom != w.enabledFrom || got.Runbook != w.runbook || got.RunbookFrom != w.place {
			t.Errorf("server %d in %q: %+v", w.server, w.group, got)
		}
	}
	// The compiled rule is shared by all servers: nothing of this may have changed it.
	if got := (*settings)(nil).effective(r, 1, "").describe(r); got.Limits[0].Value != 10 || got.Limits[2].Value != 40 {
		t.Errorf("the built-in limits are %+v", got.Limits)
	}
}

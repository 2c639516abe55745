package alerts

import (
	"testing"
	"time"

	"monolith"
)

// TestExpectedClusterSize sets how many nodes there should be: nothing has to be learned then, and more than that are told too.
func TestExpectedClusterSize(t *testing.T) {
	cat, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	const rule = "galera-cluster-size"
	for _, c := range []struct {
		size int
		want monolith.Level
	}{{5, monolith.LevelOK}, {6, monolith.LevelInfo}, {4, monolith.LevelWarn}, {3, monolith.LevelWarn}, {2, monolith.LevelCritical}} {
		w := newWorld(cat, cat.byID[rule], false, &serverEntry{Galera: true})
		w.engine.SetSettings([]monolith.RuleSetting{{Rule: rule, RuleScope: monolith.RuleScope{Server: w.server.ID}, Limits: map[string]map[string]float64{
			"info": {"expected": 5}, "warn": {"expected": 5}, "critical": {"expected": 5}}}})
		w.booted = w.start.Add(-30 * 24 * time.Hour)
		if err := w.set("status.wsrep_cluster_size", c.size); err != nil {
			t.Fatal(err)
		}
		for range int(10 * time.Minute / w.interval) {
			w.poll()
		}
		got := monolith.LevelOK
		for _, e := range w.events {
			got = e.To
		}
		if got != c.want {
			t.Errorf("%d nodes of 5: %s, want %s: %+v", c.size, got, c.want, w.engine.Status(w.server.ID, rule))
		}
	}
}

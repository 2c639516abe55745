package alerts

import (
	"strings"
	"testing"
	"time"

	"monolith"
)

// TestClockSetBack sets the monitor's clock back by hours and days: what counts begins anew, and nothing waits until the
// clock has caught up.
func TestClockSetBack(t *testing.T) {
	for _, back := range []time.Duration{3 * time.Minute, 3 * time.Hour, 30 * 24 * time.Hour} {
		w, before := play(t, ownCatalogue(t, threeLevels), 5, 5, 50, 1)
		if before != "5 opened info" && before != "6 opened info" {
			t.Fatalf("before: %q", before)
		}
		w.now = w.now.Add(-back)
		w.events = nil
		for range 10 {
			w.poll()
		}
		if got := w.told(); !strings.Contains(got, "raised critical") {
			t.Errorf("set back by %s, a value that is too high: %q", back, got)
		}
		w.now = w.now.Add(-back)
		w.events = nil
		w.set("status.Threads_running", 1)
		for range 25 {
			w.poll()
		}
		if got := w.told(); !strings.HasSuffix(got, "closed") {
			t.Errorf("set back by %s, a value that is good again: %q", back, got)
		}
	}
}

// TestClockSetBackWindows does it to a rule that judges by a window.
func TestClockSetBackWindows(t *testing.T) {
	cat := ownCatalogue(t, `
id: busy
title: Busy
each: server
when:
- if: avg_over(status.Threads_running, "15m") >= limit.running
  limits:
    warn: {running: 20}
summary: "busy"
says: "busy"
`)
	for _, back := range []time.Duration{5 * time.Minute, 3 * time.Hour, 30 * 24 * time.Hour} {
		w, before := play(t, cat, 5, 30)
		if before != "" {
			t.Fatal(before)
		}
		w.now = w.now.Add(-back)
		w.set("status.Threads_running", 100)
		for range 30 {
			w.poll()
		}
		if got := w.told(); !strings.Contains(got, "opened warn") {
			t.Errorf("set back by %s: %q, %+v", back, got, w.engine.Status(1, "busy")[0].State)
		}
		if st := w.engine.Status(1, "busy")[0]; st.State != monolith.StateOpen {
			t.Errorf("set back by %s: %s %s", back, st.State, st.Why)
		}
	}
}

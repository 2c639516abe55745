package web

import (
	"strings"
	"testing"
	"time"

	"monolith"
)

func TestBrokenReplicationIsNoHealthyServer(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	zero := int64(0)
	state := func(io, sql monolith.ThreadState, text string) *monolith.State {
		return &monolith.State{At: now, Polled: now, OK: true, Up: true, Interval: 10 * time.Second, Rows: monolith.Rows{
			Replicas: []monolith.Replica{{IO: monolith.ThreadYes, SQL: monolith.ThreadYes, Lag: &zero, Delay: &zero},
				{Channel: "eu2", IO: io, SQL: sql, Lag: &zero, SQLError: text}}}}
	}
	for _, c := range []struct {
		io, sql monolith.ThreadState
		text    string
		word    string
		says    []string
	}{
		{monolith.ThreadYes, monolith.ThreadYes, "", "up", nil},
		{monolith.ThreadYes, monolith.ThreadNo, "Duplicate entry", "replication stopped", []string{"eu2", "applier", "Duplicate entry"}},
		{monolith.ThreadNo, monolith.ThreadNo, "", "replication stopped", []string{"receiver", "applier"}},
		{monolith.ThreadConnecting, monolith.ThreadYes, "", "replication stopped", []string{"receiver", "can not connect"}},
		{"", monolith.ThreadYes, "", "up", nil}, // not known: the collector's own problem says so
	} {
		h := judge(&monolith.Server{}, state(c.io, c.sql, c.text), now)
		if h.Word != c.word {
			t.Errorf("IO %q, SQL %q: %q, want %q", c.io, c.sql, h.Word, c.word)
		}
		for _, s := range c.says {
			if !strings.Contains(h.Why, s) {
				t.Errorf("IO %q, SQL %q: %q does not name %q", c.io, c.sql, h.Why, s)
			}
		}
	}
}

package web

import (
	"fmt"
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

// Of several channels the worst one speaks for the server: one that stands still, then one of which nobody knows how far it is, then the
// one furthest behind. The channel without a name has one in words.
func TestWorstChannelSpeaksForTheServer(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	channel := func(name string, delay int64) monolith.Replica {
		return monolith.Replica{Channel: name, IO: monolith.ThreadYes, SQL: monolith.ThreadYes, Lag: &delay, Delay: &delay}
	}
	unknown, unread, broken := channel("unknown", 0), channel("unread", 0), channel("broken", 0)
	unknown.Lag, unknown.Delay = nil, nil
	unread.IO, unread.Delay = "", nil
	broken.IO = monolith.ThreadConnecting
	ten := []monolith.Replica{}
	for i := range 10 {
		ten = append(ten, channel(fmt.Sprint("ch", i), int64(i%7)))
	}
	for _, c := range []struct {
		name string
		list []monolith.Replica
		want lag
	}{
		{"no replica", []monolith.Replica{}, lag{}},
		{"ten that run", ten, lag{Any: true, Known: true, Seconds: 6, Channel: "ch6"}},
		{"one unknown among ten", append([]monolith.Replica{unknown}, ten...), lag{Any: true, Channel: "unknown"}},
		{"a thread's column is missing", append([]monolith.Replica{unread}, ten...), lag{Any: true, Channel: "unread"}},
		{"one broken among ten", append(append([]monolith.Replica{unknown}, ten...), broken), lag{Any: true, Stopped: true, Channel: "broken"}},
	} {
		st := &monolith.State{At: now, Polled: now, OK: true, Up: true, Interval: 10 * time.Second, Rows: monolith.Rows{Replicas: c.list}}
		if got := worstLag(st); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		// The API says the same: a stopped thread's 0 is no lag.
		v := stateView{}
		v.readNow(st, now)
		if v.LagUnknown != (c.want.Any && !c.want.Known) || (v.Lag != nil) != c.want.Known || v.Lag != nil && *v.Lag != float64(c.want.Seconds) {
			t.Errorf("%s: the API says %v, unknown %v", c.name, v.Lag, v.LagUnknown)
		}
	}
	stopped := channel("", 0)
	stopped.SQL = monolith.ThreadNo
	st := &monolith.State{At: now, Polled: now, OK: true, Up: true, Interval: 10 * time.Second, Rows: monolith.Rows{Replicas: []monolith.Replica{stopped, channel("dr", 0)}}}
	if h := judge(&monolith.Server{}, st, now); !strings.HasPrefix(h.Why, "default channel: the applier") {
		t.Errorf("the channel without a name is called %q", h.Why)
	}
}

// Values are called late when they are more than two polls old, and stale when more than five.
func TestOldValuesAreCalledOld(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for age, want := range map[time.Duration][3]string{
		20 * time.Second: {"up", "up", ""}, 21 * time.Second: {"late", "warn", "warned"},
		50 * time.Second: {"late", "warn", "warned"}, 51 * time.Second: {"stale", "bad", "failed"}, 9 * time.Hour: {"stale", "bad", "failed"},
	} {
		st := &monolith.State{At: now.Add(-age), Polled: now.Add(-age), OK: true, Up: true, Interval: 10 * time.Second}
		srv := monolith.Server{ID: 1}
		h := judge(&srv, st, now)
		row := makeRow(&srv, newRoles([]monolith.Server{srv}, func(monolith.ServerID) *monolith.State { return st }), now)
		if got := [3]string{h.Word, h.Look, row.AgeLook}; got != want {
			t.Errorf("%v old: %v, want %v", age, got, want)
		}
	}
}

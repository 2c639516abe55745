package alerts

import (
	"testing"
	"time"

	"monolith"
)

// TestPollOfPausedServer lets a server be paused while its poll is judged: neither does an alert open that nothing would
// close, nor does the engine take up again what it forgot.
func TestPollOfPausedServer(t *testing.T) {
	f := newFleet(t, "db1")
	f.run(time.Minute)
	w := f.worlds[0]
	w.set("variable.flush_time", 1800)
	during := func() { // as if the list of servers changed in the middle of Handle
		w.server.Paused = true
		w.server.Updated = w.at()
		f.apply()
	}
	f.service.cfg.State = func(id monolith.ServerID) *monolith.State {
		if !w.server.Paused {
			during()
		}
		return f.states[id]
	}
	snap := w.take()
	f.states[1] = w.state
	f.service.Handle(t.Context(), snap)
	if states := f.service.engine.States(1); len(states) != 0 {
		t.Errorf("the engine goes on with %d states of a server that is paused", len(states))
	}
	a := &monolith.Alert{AlertKey: monolith.AlertKey{Server: 1, Rule: "flush-time-nonzero"}, Level: monolith.LevelWarn, Opened: w.at()}
	f.service.apply(t.Context(), 1, []Transition{{Key: a.AlertKey, At: w.at(), Kind: monolith.EventOpened, To: a.Level, Alert: a}}, w.at())
	if open := f.service.Open(); len(open) != 0 {
		t.Errorf("open on a server that is paused: %+v", open)
	}
}

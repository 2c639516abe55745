package monolith

import (
	"encoding/json"
	"time"
)

// CollectorState says how a collector fares on one server.
type CollectorState string

// The states of a collector.
const (
	CollectorWaiting CollectorState = "waiting" // has not run yet since Monolith started or the server was added
	CollectorWorks   CollectorState = "works"   // the last run gave everything there is
	CollectorReduced CollectorState = "reduced" // the last run gave less than there is: see Why
	CollectorFailed  CollectorState = "failed"  // the last run gave nothing
	CollectorOff     CollectorState = "off"     // switched off by people, or by back-off or a missing set-up
	CollectorAbsent  CollectorState = "absent"  // this server has no such thing; not a fault
)

// CollectorStatus is one collector on one server as the Monitoring page shows it: whether it works,
// why not, and what it costs.
type CollectorStatus struct {
	Name       string         `json:"name"`
	Title      string         `json:"title"`
	Help       string         `json:"help"`     // one sentence
	Schedule   string         `json:"schedule"` // one of [ScheduleNames]
	Expression string         `json:"cron"`     // the schedule in force here, e.g. "@every 10s"
	State      CollectorState `json:"state"`
	Why        string         `json:"why,omitempty"`   // in words, masked; "" when it works
	Cure       string         `json:"cure,omitempty"`  // what to do about it
	Grant      string         `json:"grant,omitempty"` // the statement that gives the missing privilege; "" when none is missing
	Last       time.Time      `json:"last,omitzero"`   // of the last run, whatever it gave; zero: none yet
	Next       time.Time      `json:"next,omitzero"`   // of the next run; zero: not known or off
	Runs       uint64         `json:"runs"`            // since Monolith started
	Failures   uint64         `json:"failures"`        // of these runs
	Cost       Cost           `json:"cost"`            // of the last run
}

// TestStep is one step of a live connection test, in the order in which they were tried.
type TestStep struct {
	Name  string        `json:"name"`           // resolve, connect, tls, login, identify, privileges or the name of a collector
	Title string        `json:"title"`          // "Log in as monolith"
	OK    bool          `json:"ok"`             // false: it failed, or was not tried since one before failed
	Tried bool          `json:"tried"`          // false: not reached
	Text  string        `json:"text,omitempty"` // what was found, or what went wrong; masked
	Cure  string        `json:"cure,omitempty"` // what to do; "" where there is nothing to do
	Took  time.Duration `json:"-"`
}

// TestReport is the outcome of a live connection test. It holds no secret.
type TestReport struct {
	OK       bool       `json:"ok"` // the server can be monitored; parts may still be reduced
	Identity Identity   `json:"identity,omitzero"`
	Account  string     `json:"account,omitempty"` // user@host as the server sees us
	Steps    []TestStep `json:"steps"`
	// Grants are the statements that would make every collector work fully, for exactly this server.
	Grants []string      `json:"grants,omitempty"`
	Took   time.Duration `json:"-"`
}

// MarshalJSON adds took_ms, the duration in milliseconds.
func (s TestStep) MarshalJSON() ([]byte, error) {
	type plain TestStep
	return json.Marshal(struct {
		plain
		Took float64 `json:"took_ms"`
	}{plain(s), milliseconds(s.Took)})
}

// MarshalJSON adds took_ms, the duration in milliseconds.
func (r TestReport) MarshalJSON() ([]byte, error) {
	type plain TestReport
	return json.Marshal(struct {
		plain
		Took float64 `json:"took_ms"`
	}{plain(r), milliseconds(r.Took)})
}

// MarshalJSON adds took_ms, the duration in milliseconds.
func (c Cost) MarshalJSON() ([]byte, error) {
	type plain Cost
	return json.Marshal(struct {
		plain
		Took float64 `json:"took_ms"`
	}{plain(c), milliseconds(c.Took)})
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}

// Statistics are the poller's counters over all servers since Monolith started.
type Statistics struct {
	Servers  int     // polled: not paused
	Running  bool    // the scheduler runs
	InFlight int     // polls running now
	Polls    uint64  // finished, whatever they gave
	Failed   uint64  // of these: the status was not read
	Skipped  uint64  // ticks on which the poll before was still running
	Seconds  float64 // spent in polls, summed
}

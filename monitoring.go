package monolith

import (
	"encoding/json"
	"time"
)

// CollectorState says how well a collector works on a server.
type CollectorState string

// The states of a collector.
const (
	CollectorWorks   CollectorState = "works"
	CollectorReduced CollectorState = "reduced" // it reads less than there is
	CollectorOff     CollectorState = "off"     // it reads nothing: switched off, not there on this server, or refused
	CollectorWaiting CollectorState = "waiting" // it has not run yet, or backs off
)

// CollectorStatus is one collector on one server, as the Monitoring page shows it: whether it works,
// why not, and what it costs.
type CollectorStatus struct {
	Name     string         `json:"name"`
	Title    string         `json:"title"`
	Help     string         `json:"help"`     // one sentence
	Schedule string         `json:"schedule"` // the schedule's name
	When     string         `json:"when"`     // the schedule in words, with its zone
	Interval time.Duration  `json:"-"`        // in force, after slowing down; 0 where it has none
	Works    CollectorState `json:"state"`
	Why      string         `json:"why,omitempty"` // why it does not fully work; "" when it does
	// Grant is what mends it, ready to be run, a statement a line; "" where no privilege is missing.
	Grant string    `json:"grant,omitempty"`
	Since time.Time `json:"since,omitzero"` // since when Why holds; zero when it works
	// LastRun is when it last ran, successfully or not; Until is when a back-off ends. Zero: never, none.
	LastRun time.Time `json:"last_run,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	// Cost is that of the last run, CostPerMinute the time spent waiting for answers, per minute at the
	// interval in force.
	Cost          Cost          `json:"cost"`
	CostPerMinute time.Duration `json:"-"`
	Runs          uint64        `json:"runs"`     // in this process
	Timeouts      uint64        `json:"timeouts"` // of these ended by a deadline
}

// MarshalJSON adds interval (seconds) and cost_per_minute_ms.
func (s CollectorStatus) MarshalJSON() ([]byte, error) {
	type plain CollectorStatus
	return json.Marshal(struct {
		plain
		Interval      float64 `json:"interval"`
		CostPerMinute float64 `json:"cost_per_minute_ms"`
	}{plain(s), s.Interval.Seconds(), milliseconds(s.CostPerMinute)})
}

// StepResult says how a step of a connection test ended.
type StepResult string

// The results of a step.
const (
	StepOK      StepResult = "ok"
	StepWarn    StepResult = "warn"    // works, with less than there could be
	StepFailed  StepResult = "failed"  // see its Cure
	StepSkipped StepResult = "skipped" // an earlier step failed, or it does not apply
)

// TestStep is one step of a live connection test. Texts are masked.
type TestStep struct {
	Name   string        `json:"name"`  // resolve, connect, tls, login, version, a collector's name, or twin: another entry of the address
	Title  string        `json:"title"` // "Resolve the name"
	Result StepResult    `json:"result"`
	Text   string        `json:"text,omitempty"`  // what was found, or what went wrong
	Cure   string        `json:"cure,omitempty"`  // what to do about it; "" when nothing
	Grant  string        `json:"grant,omitempty"` // the statement that gives a collector what it lacks
	Code   int           `json:"code,omitempty"`  // MySQL's error number; 0 where there is none
	Took   time.Duration `json:"-"`               // 0 for a skipped step
}

// MarshalJSON adds took_ms.
func (s TestStep) MarshalJSON() ([]byte, error) {
	type plain TestStep
	return json.Marshal(struct {
		plain
		Took float64 `json:"took_ms"`
	}{plain(s), milliseconds(s.Took)})
}

// TestReport is the result of a live connection test. It holds no password.
type TestReport struct {
	OK       bool       `json:"ok"` // logged in and read the status: the server can be watched
	Up       bool       `json:"up"` // something that speaks MySQL's protocol answered
	Steps    []TestStep `json:"steps"`
	Identity Identity   `json:"identity,omitzero"` // zero when the login failed
	Account  string     `json:"account,omitempty"` // user@host as the server sees it
	TLS      string     `json:"tls,omitempty"`     // "TLS 1.3, certificate not checked", "not encrypted"
	// Grants are all statements that the account still lacks for everything to work.
	Grants []string `json:"grants,omitempty"`
}

// MarshalJSON adds took_ms.
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

// Statistics are the poller's own figures since it was made.
type Statistics struct {
	Servers    int    // that are polled: paused ones are not
	InFlight   int    // polls running now
	Polls      uint64 // finished, whatever came out
	Failed     uint64 // finished without reading the status
	Skipped    uint64 // not begun because the one before still ran
	Panics     uint64 // caught in collectors and handlers
	Connects   uint64 // connections opened
	Statements uint64 // sent to monitored servers
	Bytes      uint64 // received from monitored servers
}

// StoreStatistics are the store's own figures since it was opened.
type StoreStatistics struct {
	Appended, Committed   uint64        // polls
	Dropped               uint64        // polls lost because the spool was full
	Commits, CommitErrors uint64        // transactions
	CommitTime            time.Duration // spent in commits, in all
	Packs, PackErrors     uint64        // tails packed into blocks
	PackTime              time.Duration
	PurgedRows            uint64
	DamagedPolls          uint64 // kept polls that could not be read, each time that they were met
	DamagedBlocks         uint64 // blocks of history that could not be read, whole or in part; each counts once
	Reads                 uint64
	ReadTime              time.Duration
	SpoolPolls            int   // polls that wait in memory
	SpoolBytes, TailBytes int64 // in memory: what waits, and all that no block holds yet
	WALBytes              int64 // of SQLite's write-ahead log; 0 on MySQL
	LastCommit            time.Time
	FailingSince          time.Time // first of an unbroken row of failed commits; zero: the last one worked
	Failing               string    // why they fail and what to do; empty where nothing fails or no words are known for it
}

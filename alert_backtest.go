package monolith

import "time"

// MaxBackTest is the longest time that a [BackTest] goes over.
const MaxBackTest = 92 * 24 * time.Hour

// BackTest asks what a rule would have said over a time that is past. Exactly one of Source and Rule is set.
type BackTest struct {
	Source string // a rule as people write it, in YAML; need not be kept
	Rule   string // the id of a rule that there is
	// Limits stand in the place of those in force, by level and name.
	Limits   map[string]map[string]float64
	Servers  []ServerID // empty: all
	From, To time.Time  // at most [MaxBackTest] apart; a zero To is now
}

// BackTestResult is what the rule would have said.
type BackTestResult struct {
	Rule    string           `json:"rule"`
	From    time.Time        `json:"from"`
	To      time.Time        `json:"to"`
	Step    time.Duration    `json:"-"` // how far two evaluations lay apart
	Servers []BackTestServer `json:"servers"`
}

// BackTestServer is what it would have said about one server.
type BackTestServer struct {
	Server ServerID `json:"-"`
	Name   string   `json:"server"`
	// Episodes are the alerts that would have been, oldest first.
	Episodes []BackTestEpisode `json:"episodes"`
	// Open is for how long any of them was open. Unknown is for how long the rule could not be evaluated, for want of
	// values: it says nothing about that time.
	Open    time.Duration `json:"-"`
	Unknown time.Duration `json:"-"`
	Note    string        `json:"note,omitempty"` // why it says nothing or little, in words
	// Times (unix seconds) are those of the values of Lines.
	Times []int64        `json:"t,omitempty"`
	Lines []BackTestLine `json:"lines,omitempty"`
}

// BackTestLine is a quantity that a rule compares, for a graph with its limits.
type BackTestLine struct {
	Name  string `json:"name"`
	Unit  string `json:"unit,omitempty"`
	Value Floats `json:"v"` // one for each of the times; NaN: none
}

// BackTestEpisode is one alert that would have been.
type BackTestEpisode struct {
	Instance string    `json:"instance,omitempty"`
	Level    Level     `json:"level"`       // the highest
	From     time.Time `json:"from"`        // when the back-test begins, if it was open before
	To       time.Time `json:"to,omitzero"` // zero: still open at the end
	Summary  string    `json:"summary"`
}

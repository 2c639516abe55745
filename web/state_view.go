package web

import (
	"math"
	"time"

	"monolith"
)

// stateView is the headline of what is known of a server: lists, the live stream and the first screen
// show it. A nil number is "no value".
type stateView struct {
	Seq      uint64    `json:"seq"`
	At       time.Time `json:"at,omitzero"`     // of the last poll
	Polled   time.Time `json:"polled,omitzero"` // of the last poll that read the status
	Age      *float64  `json:"age"`             // seconds since Polled; nil: never
	Interval float64   `json:"interval"`        // seconds between polls
	Up       bool      `json:"up"`              // the server answered
	OK       bool      `json:"ok"`              // the last poll read the status
	Product  string    `json:"product"`         // "MariaDB 10.11.6"
	Flavour  string    `json:"flavour,omitempty"`
	Version  string    `json:"version,omitempty"` // as the server writes it
	Problems int       `json:"problems"`          // that people can do something about
	Problem  string    `json:"problem,omitempty"` // why the status could not be read

	Uptime         *float64 `json:"uptime"`  // seconds
	Queries        *float64 `json:"queries"` // per second
	Running        *float64 `json:"threads_running"`
	Connected      *float64 `json:"threads_connected"`
	MaxConnections *float64 `json:"max_connections"`
	// Lag is that of the worst channel in seconds. It is nil, and LagUnknown set, when one channel does
	// not know its lag: unknown is worse than any number.
	Lag        *float64 `json:"lag"`
	LagUnknown bool     `json:"lag_unknown,omitempty"`
	Channels   int      `json:"channels"`
}

// newStateView is nil where nothing is known.
func newStateView(st *monolith.State, now time.Time) *stateView {
	if st == nil {
		return nil
	}
	v := &stateView{
		Seq: st.Seq, At: st.At, Polled: st.Polled, Interval: st.Interval.Seconds(), Up: st.Up, OK: st.OK,
		Product: st.Identity.String(), Flavour: string(st.Identity.Flavour), Version: st.Identity.VersionText,
	}
	if !st.Polled.IsZero() {
		age := math.Max(0, math.Round(now.Sub(st.Polled).Seconds()*10)/10)
		v.Age = &age
	}
	for _, p := range st.Problems {
		if p.Kind == monolith.ProblemUnsupported || p.Kind == monolith.ProblemOff {
			continue
		}
		v.Problems++
		if p.Collector == "" && !st.OK {
			v.Problem = p.Text
		}
	}
	v.Uptime = gaugeOf(st, "status.Uptime")
	v.Running = gaugeOf(st, "status.Threads_running")
	v.Connected = gaugeOf(st, "status.Threads_connected")
	v.MaxConnections = gaugeOf(st, "variable.max_connections")
	if rate, ok := st.Rate(monolith.Metric{Name: "status.Questions"}); ok && st.OK {
		v.Queries = &rate
	}
	v.Channels = len(st.Replicas)
	for i := range st.Replicas {
		lag := st.Replicas[i].Lag
		switch {
		case lag == nil:
			v.LagUnknown = true
		case v.Lag == nil || float64(*lag) > *v.Lag:
			seconds := float64(*lag)
			v.Lag = &seconds
		}
	}
	if v.LagUnknown {
		v.Lag = nil
	}
	return v
}

// gaugeOf gives a metric as it was last read, also where it came as a text, as variables do; nil when it
// never was, or is no number.
func gaugeOf(st *monolith.State, name string) *float64 {
	m := monolith.Metric{Name: name}
	n, _, ok := st.Value(m)
	if !ok {
		text, _, _ := st.Text(m)
		n, _ = monolith.ParseNum([]byte(text))
	}
	v := n.Gauge()
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

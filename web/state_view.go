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
	Product  *string   `json:"product"`         // "MariaDB 10.11.6"; nil: it never said what it is
	Flavour  string    `json:"flavour,omitempty"`
	Version  string    `json:"version,omitempty"` // as the server writes it
	Problems int       `json:"problems"`          // that people can do something about
	Problem  string    `json:"problem,omitempty"` // why the status could not be read

	// Figures of the moment: nil as long as the last poll did not read the status.
	Uptime    *float64 `json:"uptime"`  // seconds
	Queries   *float64 `json:"queries"` // per second, without Monolith's own
	Running   *float64 `json:"threads_running"`
	Connected *float64 `json:"threads_connected"`

	MaxConnections *float64 `json:"max_connections"` // a setting: as last read
	// Lag is that of the worst channel in seconds beyond the delay that it is meant to keep. It is nil, and LagUnknown
	// set, when nobody knows that of one channel, as while a thread does not run: unknown is worse than any number.
	Lag        *float64 `json:"lag"`
	LagUnknown bool     `json:"lag_unknown,omitempty"`
	Channels   *int     `json:"channels"` // as last read; nil: never
}

// newStateView is nil where nothing is known.
func newStateView(st *monolith.State, now time.Time) *stateView {
	if st == nil {
		return nil
	}
	v := &stateView{
		Seq: st.Seq, At: st.At, Polled: st.Polled, Interval: st.Interval.Seconds(), Up: st.Up, OK: st.OK,
		Flavour: string(st.Identity.Flavour), Version: st.Identity.VersionText,
	}
	if !st.Identity.IsZero() {
		product := st.Identity.String()
		v.Product = &product
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
	v.MaxConnections = gaugeOf(st, "variable.max_connections")
	if st.Replicas != nil {
		n := len(st.Replicas)
		v.Channels = &n
	}
	if st.OK {
		v.readNow(st, now)
	}
	return v
}

// readNow sets the figures of the moment. The last poll of st read the status.
func (v *stateView) readNow(st *monolith.State, now time.Time) {
	v.Uptime = gaugeOf(st, "status.Uptime")
	v.Running = gaugeOf(st, "status.Threads_running")
	v.Connected = gaugeOf(st, "status.Threads_connected")
	if rate := queryRate(st); !math.IsNaN(rate) {
		v.Queries = &rate
	}
	if !replicasAsOf(st, now).IsZero() {
		v.LagUnknown = len(st.Replicas) > 0 // the status is read, replication is not
		return
	}
	if worst := worstLag(st); worst.Known {
		seconds := float64(worst.Seconds)
		v.Lag = &seconds
	} else {
		v.LagUnknown = worst.Any
	}
}

// queryRate gives the queries per second that others sent: Monolith's own are taken off, as the graph of
// the query rate does. It is NaN where they can not be told apart, as before the second poll.
func queryRate(st *monolith.State) float64 {
	return math.Max(0, stateRate(st, "status.Questions")-stateRate(st, "self.Questions"))
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

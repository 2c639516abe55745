package graph

import (
	"context"
	"time"

	"monolith"
)

// stateSource answers formulas from what is known of a server now, so that conditions need no read of
// the history. Only plain values and texts are there; rates have no value.
type stateSource struct{ state *monolith.State }

// Read gives the newest values as a range of one step.
func (s stateSource) Read(_ context.Context, q monolith.Query) (*monolith.Range, error) {
	r := &monolith.Range{Start: q.From, Step: q.To.Sub(q.From), N: 1, Tier: "raw"}
	if r.Step <= 0 {
		r.Step = time.Second
	}
	for _, name := range q.Metrics {
		found := false
		for sec := range s.state.Sections {
			for i := range sec.NumNames.Len() {
				if m := sec.NumNames.At(i); m.Name == name && !sec.Nums[i].IsNone() {
					v := []float64{sec.Nums[i].Gauge()}
					r.Series = append(r.Series, monolith.Series{Metric: m, Kind: monolith.Gauge, Avg: v, Min: v, Max: v, Last: v})
					found = true
				}
			}
			for i := range sec.TextNames.Len() {
				if m := sec.TextNames.At(i); m.Name == name {
					r.Series = append(r.Series, textSeries(m, sec.Texts[i], q.From))
					found = true
				}
			}
		}
		if !found && s.absent(name) {
			r.Absent = append(r.Absent, name)
		}
	}
	return r, nil
}

func textSeries(m monolith.Metric, text string, at time.Time) monolith.Series {
	series := monolith.Series{Metric: m, Kind: monolith.Text, Steps: []monolith.TextStep{{At: at, Text: text}}}
	if n, ok := monolith.ParseNum([]byte(text)); ok {
		v := []float64{n.Gauge()}
		series.Avg, series.Min, series.Max, series.Last = v, v, v, v
	}
	return series
}

// absent reports whether the server has a name by design in no instance.
func (s stateSource) absent(name string) bool {
	if !s.state.Complete((monolith.Metric{Name: name}).Namespace()) {
		return false
	}
	for sec := range s.state.Sections {
		for _, names := range []*monolith.Names{sec.NumNames, sec.TextNames} {
			for i := range names.Len() {
				if names.At(i).Name == name {
					return false
				}
			}
		}
	}
	return true
}

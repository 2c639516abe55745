package main

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"monolith"
	"monolith/alerts/notify"
	"monolith/graph"
)

// lastHour tells how the quantities that an alert's rule compares went in the hour before a moment: as the rule itself would
// have seen them, or, where it judges each instance or history does not hold what it goes by, as its graph shows them.
func (a *app) lastHour(ctx context.Context, alert *monolith.Alert, to time.Time) (*notify.Hour, error) {
	from := to.Add(-time.Hour)
	out := &notify.Hour{Why: "the history holds no values of it"}
	if alert.Instance == "" {
		tested, err := a.alerts.BackTest(ctx, monolith.BackTest{Rule: alert.Rule, Servers: []monolith.ServerID{alert.Server}, From: from, To: to})
		switch {
		case errors.Is(err, monolith.ErrNotFound):
			out.Why = "the rule is there no more"
		case err != nil:
			return nil, err
		case len(tested.Servers) == 1:
			for _, line := range tested.Servers[0].Lines {
				out.Lines = append(out.Lines, notify.Course{Name: line.Name, Unit: line.Unit, Values: line.Value})
			}
		}
	}
	if slices.ContainsFunc(out.Lines, func(c notify.Course) bool { return slices.ContainsFunc(c.Values, hasValue) }) {
		return out, nil
	}
	info, _ := a.ruleInfo(alert.Rule)
	g := catalogued(info.Graph)
	if g == nil {
		return out, nil
	}
	target := graph.Target{ID: alert.Server, Name: alert.ServerName, State: a.poller.State(alert.Server)}
	drawings, err := graph.Draw(ctx, a.db, target, graph.Request{From: from, To: to, Step: time.Minute}, g)
	if err != nil {
		return nil, err
	}
	for _, panel := range drawings[0].Panels {
		for _, line := range panel.Lines {
			if line.Instance == alert.Instance && !line.Hidden && line.Style != graph.StyleNone && line.Style != graph.StyleStrip && slices.ContainsFunc(line.V, hasValue) {
				out.Lines = append(out.Lines, notify.Course{Name: line.Name, Unit: line.Unit, Values: line.V})
			}
		}
	}
	return out, nil
}

func hasValue(v float64) bool { return !math.IsNaN(v) }

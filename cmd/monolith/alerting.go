package main

import (
	"context"
	"fmt"

	"monolith"
	"monolith/alerts"
)

// judge makes the rule engine, with what the store keeps of it. It gets no snapshot before the poller runs.
func (a *app) judge(ctx context.Context) (err error) {
	a.alerts, err = alerts.NewService(alerts.ServiceConfig{
		Store:   a.db,
		History: a.db,
		State:   func(id monolith.ServerID) *monolith.State { return a.poller.State(id) },
		Known:   a.db.HasMetric,
		Plan:    a.telling.Plan,
		Told:    a.telling.Told,
		Log:     a.log.With("part", "alerts"),
	})
	if err != nil {
		return err
	}
	if err := a.alerts.Load(ctx); err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	if err := a.telling.Load(ctx); err != nil {
		return fmt.Errorf("telling people: %w", err)
	}
	return nil
}

package main

import (
	"context"
	"fmt"
	"time"

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
		Every:   a.every,
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

// every gives how often a metric is read on a server; 0 before there is a poller.
func (a *app) every(server monolith.ServerID, metric string) time.Duration {
	if a.poller == nil {
		return 0
	}
	return a.poller.Every(server, metric)
}

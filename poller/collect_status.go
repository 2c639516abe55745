package poller

import (
	"context"

	"monolith"
)

// statusCollector reads all of global status. It runs at every poll of every server, so its own work
// is kept small: see [Recorder.Add].
func statusCollector() *Collector {
	return &Collector{
		Name:     "status",
		Title:    "Global status",
		Help:     "All counters and gauges of SHOW GLOBAL STATUS.",
		Schedule: monolith.Fast,
		Collect:  collectStatus,
	}
}

func collectStatus(ctx context.Context, g *Gather) error {
	rec := g.Recorder("status")
	// GLOBAL is never left out: without it the rows about statements and traffic are those of our own session.
	err := g.Session.Query(ctx, "SHOW GLOBAL STATUS", func(row Row) error {
		rec.Add(row.Bytes(0), row.Bytes(1))
		return nil
	})
	if err != nil {
		return err
	}
	rec.Done()
	return nil
}

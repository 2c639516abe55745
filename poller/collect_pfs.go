package poller

import (
	"context"
	"time"

	"monolith"
)

// pfsCollector reads how much memory the Performance Schema takes for itself.
func pfsCollector() *Collector {
	return &Collector{
		Name:    "pfs",
		Title:   "Memory of performance_schema",
		Help:    "How much memory the Performance Schema takes for its own tables.",
		Timeout: 5 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			if !has(g.Identity, since{mysql: v(5, 5, 3), mariadb: v(5, 5)}) {
				return false, "only MySQL and MariaDB from 5.5 on have performance_schema"
			}
			return performanceSchemaOn(g)
		},
		Grant:   func(_ monolith.Identity, account string) string { return grantGlobal("PROCESS", account) },
		Collect: collectPFS,
	}
}

func collectPFS(ctx context.Context, g *Gather) error {
	total := monolith.Num{}
	err := g.Session.Query(ctx, "SHOW ENGINE PERFORMANCE_SCHEMA STATUS", func(row Row) error {
		if name, _ := row.Text("name"); name == "performance_schema.memory" { // the last of some 200 rows
			total = row.Num("status")
		}
		return nil
	})
	if err != nil {
		return err
	}
	if total.IsNone() {
		g.Note(monolith.ProblemAnswer, "the server does not say how much memory performance_schema takes", "")
	}
	rec := g.Recorder("server")
	rec.Number("performance_schema_bytes", "", total)
	rec.Done()
	return nil
}

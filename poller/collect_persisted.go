package poller

import (
	"context"
	"strings"
	"time"

	"monolith"
)

// persistedCollector reads what SET PERSIST wrote into mysqld-auto.cnf.
func persistedCollector() *Collector {
	return &Collector{
		Name:    "persisted",
		Title:   "Persisted variables",
		Help:    "What SET PERSIST wrote into mysqld-auto.cnf, and whether the server runs with it.",
		Timeout: 5 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			if !has(g.Identity, since{mysql: v(8)}) {
				return false, "only MySQL from 8.0 on has SET PERSIST"
			}
			return performanceSchemaOn(g)
		},
		Grant:   grantPerformanceSchema,
		Collect: collectPersisted,
	}
}

func collectPersisted(ctx context.Context, g *Gather) error {
	list := []monolith.PersistedVariable{}
	differing := uint64(0)
	err := g.Session.Query(ctx, "SELECT VARIABLE_NAME AS name, VARIABLE_VALUE AS value FROM performance_schema.persisted_variables ORDER BY VARIABLE_NAME", func(row Row) error {
		name := strings.ToLower(cut(printable(first(row.Text("name"))), 128))
		value := first(row.Text("value"))
		p := monolith.PersistedVariable{Name: name, Value: *hidden(name, cut(value, 1024))}
		if running, known := g.lookUp(name); known {
			p.Running = cut(running, 1024)
			p.Differs = !sameSwitch(p.Value, p.Running) && !sameValue(p.Value, p.Running)
		}
		if p.Differs {
			differing++
		}
		list = append(list, p)
		return nil
	})
	if err != nil {
		return err
	}
	rec := g.Recorder("server")
	rec.Number("persisted_variables", "", monolith.Uint(uint64(len(list))))
	rec.Number("persisted_differing", "", monolith.Uint(differing))
	rec.Done()
	g.snapshot.Persisted = list
	return nil
}

// sameSwitch compares ON and OFF with 1 and 0.
func sameSwitch(a, b string) bool {
	number := func(s string) string {
		switch strings.ToUpper(s) {
		case "ON", "TRUE", "YES":
			return "1"
		case "OFF", "FALSE", "NO":
			return "0"
		}
		return s
	}
	return number(a) == number(b)
}

package poller

import (
	"context"
	"slices"
	"strings"
	"time"

	"monolith"
)

const maxDatabases = 10_000

// databasesCollector lists the schemas, also those without a table.
func databasesCollector() *Collector {
	return &Collector{
		Name:    "databases",
		Title:   "Schemas",
		Help:    "The names of all schemas, empty ones too, and whether one is called test.",
		Timeout: 5 * time.Second,
		Grant:   func(_ monolith.Identity, account string) string { return grantGlobal("SHOW DATABASES", account) },
		Collect: collectDatabases,
	}
}

// seesAllDatabases: any right on the tables of all schemas shows their names too.
func seesAllDatabases(g *Gather, visible int) bool {
	if !g.rights.known {
		return visible > 0
	}
	return g.rights.has("SHOW DATABASES") || g.rights.has(tableRights...)
}

func collectDatabases(ctx context.Context, g *Gather) error {
	list := []monolith.Database{}
	people, test := uint64(0), false
	err := g.Session.Query(ctx, "SELECT SCHEMA_NAME AS name FROM information_schema.SCHEMATA LIMIT "+itoa(maxDatabases), func(row Row) error {
		d := monolith.Database{Name: cut(printable(first(row.Text("name"))), 255)}
		d.System = strings.Contains(systemSchemas, "'"+strings.ToLower(d.Name)+"'")
		if !d.System {
			people++
		}
		test = test || d.Name == "test"
		list = append(list, d)
		return nil
	})
	if err != nil {
		return err
	}
	rec := g.Recorder("server")
	switch {
	case seesAllDatabases(g, int(people)):
		rec.Number("databases", "", monolith.Uint(people))
		rec.Number("test_database", "", boolNumber(test))
	case test:
		rec.Number("test_database", "", monolith.Uint(1)) // it is seen, whatever else is not
		fallthrough
	default:
		g.Note(monolith.ProblemPartial, "Monolith's account sees only the schemas that it has a right on: whether there are others is not known", g.grant())
	}
	rec.Done()
	slices.SortFunc(list, func(a, b monolith.Database) int { return strings.Compare(a.Name, b.Name) })
	g.snapshot.Databases = list
	return nil
}

func boolNumber(is bool) monolith.Num {
	if is {
		return monolith.Uint(1)
	}
	return monolith.Uint(0)
}

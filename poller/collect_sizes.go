package poller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"monolith"
)

const (
	maxScannedTables     = 20_000 // beyond it only the first schemas up to this number are scanned
	tablesAtOnce         = 1000   // up to so many are scanned with one statement
	maxLargestTables     = 10     // of each schema
	maxLargestAltogether = 500
	maxSchemaMetrics     = 500 // the largest schemas have graphs
	scanSeconds          = 60  // limit of one scan on the server
)

// sizesCollector adds up how large the data is.
func sizesCollector() *Collector {
	return &Collector{
		Name:     "sizes",
		Title:    "Schema sizes",
		Help:     "Data, index and free bytes by schema and engine, and the largest tables.",
		Timeout:  3 * time.Minute,
		MaxBytes: 64 << 20,
		Applies: func(g *Gather) (bool, string) {
			if statsOnMetadata(g.Variables) && !g.Server.ScanSizes {
				return false, "innodb_stats_on_metadata=ON: a scan would make the server work out the statistics of every table anew;" +
					" switch it off there, or allow scans for this server"
			}
			return true, ""
		},
		// Any right on a table shows its row in information_schema; SHOW DATABASES shows none. SHOW VIEW is
		// one that lets nobody read what is in the table.
		Grant:   func(_ monolith.Identity, account string) string { return grantGlobal("SHOW VIEW", account) },
		Collect: collectSizes,
		Check:   checkSizes,
	}
}

// statsOnMetadata reports whether reading information_schema.TABLES makes InnoDB sample every table. It was
// the default up to MySQL 5.5; where the variable is gone it never happens.
func statsOnMetadata(variables *Variables) bool {
	v := variables.Value("innodb_stats_on_metadata")
	return v == "ON" || v == "1"
}

// systemSchemas hold nothing that belongs to people.
const systemSchemas = "('information_schema', 'performance_schema', 'mysql', 'sys', 'ndbinfo')"

// countTables is answered without opening a table: TABLE_SCHEMA and TABLE_NAME come from the folder, or from the
// dictionary. No condition on TABLE_TYPE: that would open every table on old versions.
const countTables = "SELECT TABLE_SCHEMA AS table_schema, COUNT(TABLE_NAME) AS n FROM information_schema.TABLES" +
	" WHERE TABLE_SCHEMA NOT IN " + systemSchemas + " GROUP BY TABLE_SCHEMA"

func collectSizes(ctx context.Context, g *Gather) error {
	if has(g.Identity, since{mysql: v(8, 0, 3)}) {
		// Else the sizes may be a day old. It holds for our own session, which needs them at no other time.
		if err := g.Session.Exec(ctx, "SET SESSION information_schema_stats_expiry = 0"); err != nil {
			g.Note(monolith.ProblemPartial, "sizes may be up to a day old: information_schema_stats_expiry could not be set", "")
		}
	}
	sizes := &monolith.SchemaSizes{Taken: g.Now, Schemas: []monolith.SchemaSize{}, Largest: []monolith.TableSize{}}
	scan := sizeScan{g: g, sizes: sizes, sharedAt: -1}
	schemas, err := countedSchemas(ctx, g)
	if err != nil {
		return err
	}
	for _, s := range schemas {
		sizes.Listed += s.tables
	}
	sizes.Hidden = noteHidden(g, len(schemas))
	if sizes.Hidden && sizes.Listed == 0 {
		sizes = nil // what can't be seen is not 0
	}
	if sizes != nil {
		if err := scan.all(ctx, schemas); err != nil {
			return err
		}
		g.snapshot.Schemas = sizes
	}
	files, err := tablespaceBytes(ctx, g)
	if err := noteRefusal(g, err, "the size of the files can't be read", grantGlobal("PROCESS", g.Account)); err != nil {
		return err
	}
	recordSizes(g, sizes, files)
	return nil
}

// countedSchema is a schema with how many names it lists, views among them.
type countedSchema struct {
	name   string
	tables int
}

// countedSchemas gives the schemas in which anything is visible.
func countedSchemas(ctx context.Context, g *Gather) (schemas []countedSchema, err error) {
	err = g.Session.Query(ctx, limited(g.Identity, countTables), func(row Row) error {
		schemas = append(schemas, countedSchema{name: first(row.Text("table_schema")), tables: number(row, "n")})
		return nil
	})
	return schemas, err
}

// checkSizes looks whether the account sees the tables, and measures none.
func checkSizes(ctx context.Context, g *Gather) error {
	schemas, err := countedSchemas(ctx, g)
	if err == nil {
		noteHidden(g, len(schemas))
	}
	return err
}

// all scans what was counted.
func (scan *sizeScan) all(ctx context.Context, schemas []countedSchema) error {
	g, sizes := scan.g, scan.sizes
	if sizes.Listed <= tablesAtOnce {
		if err := scan.tables(ctx, "TABLE_SCHEMA NOT IN "+systemSchemas, 0); err != nil {
			return err
		}
		schemas = nil
	}
	// Beyond that one schema a statement, so that polls get their turn in between. Small schemas first:
	// the cap then leaves out the fewest schemas.
	slices.SortStableFunc(schemas, func(a, b countedSchema) int { return cmp.Compare(a.tables, b.tables) })
	left := maxScannedTables
	for _, s := range schemas {
		limit := 0
		if s.tables > left {
			sizes.Sampled = true
			if limit = left; limit <= 0 {
				continue
			}
		}
		left -= s.tables
		if err := scan.tables(ctx, "TABLE_SCHEMA = "+quoteText(s.name), limit); err != nil {
			return err
		}
	}
	for _, s := range sizes.Schemas {
		sizes.Tables += s.Tables
	}
	if sizes.Sampled {
		g.Note(monolith.ProblemPartial, fmt.Sprintf("there are %d tables and views: sizes are of the first %d", sizes.Listed, maxScannedTables), "")
	} else {
		sizes.Views = max(0, sizes.Listed-sizes.Tables) // a table made since was not counted
	}
	if scan.broken > 0 {
		g.Note(monolith.ProblemPartial, fmt.Sprintf("the server can't open %d of the tables, such as %s: they are missing from the sums", scan.broken, scan.firstBroken), "")
	}
	slices.SortFunc(sizes.Largest, func(a, b monolith.TableSize) int {
		return cmp.Or(cmp.Compare(b.Data+b.Index, a.Data+a.Index), strings.Compare(a.Schema, b.Schema), strings.Compare(a.Table, b.Table))
	})
	if len(sizes.Largest) > maxLargestAltogether {
		sizes.Largest = slices.Clone(sizes.Largest[:maxLargestAltogether])
	}
	return nil
}

// tablespaceBytes adds up InnoDB's files, without the system tablespace, logs and other engines. Servers that do not
// tell give no value. The server looks at each file for it.
func tablespaceBytes(ctx context.Context, g *Gather) (total monolith.Num, err error) {
	table := ""
	switch {
	case has(g.Identity, since{mysql: v(8, 0, 3)}) && g.Identity.Flavour != monolith.Aurora:
		table = "INNODB_TABLESPACES"
	case has(g.Identity, since{mysql: v(5, 7, 8), mariadb: v(10, 2)}) && g.Identity.Flavour != monolith.Aurora:
		table = "INNODB_SYS_TABLESPACES"
	default:
		return monolith.Num{}, nil
	}
	err = g.Session.Query(ctx, limited(g.Identity, "SELECT SUM(FILE_SIZE) AS bytes FROM information_schema."+table), func(row Row) error {
		total = row.Num("bytes")
		return nil
	})
	return total, err
}

// noteHidden says when tables may be hidden from the account: the answer is then too small, without any error. schemas is
// the number of those in which something is visible.
func noteHidden(g *Gather, schemas int) bool {
	if g.rights.known && g.rights.seesAllTables() || !g.rights.known && schemas > 0 {
		return false
	}
	text := "Monolith's account sees a table in no schema, so there may be some that it has no right on: nothing is measured"
	if schemas > 0 {
		only := fmt.Sprintf("%d schemas", schemas)
		if schemas == 1 {
			only = "1 schema"
		}
		text = "Monolith's account holds no global right on tables and sees only " + only + ": tables that it has no right on are missing from all sums"
	}
	g.Note(monolith.ProblemPartial, text, g.grant())
	return true
}

// sizeScan adds up tables over one or several statements.
type sizeScan struct {
	g     *Gather
	sizes *monolith.SchemaSizes
	// Without innodb_file_per_table every InnoDB table gives the free space of the one tablespace they share:
	// it is counted once, with the first schema that has such a table.
	shared   int64
	sharedAt int // in sizes.Schemas; −1: none yet
	// Tables that the server can't open have no size.
	broken      int
	firstBroken string
}

// tables adds up the tables that a condition on TABLE_SCHEMA picks; limit > 0 stops after that many.
func (scan *sizeScan) tables(ctx context.Context, condition string, limit int) error {
	g, sizes := scan.g, scan.sizes
	statement := "SELECT TABLE_SCHEMA AS table_schema, TABLE_NAME AS table_name, ENGINE AS engine, TABLE_ROWS AS table_rows," +
		" DATA_LENGTH AS data_length, INDEX_LENGTH AS index_length, DATA_FREE AS data_free FROM information_schema.TABLES" +
		" WHERE " + condition + " AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')"
	if limit > 0 {
		statement += fmt.Sprintf(" LIMIT %d", limit)
	}
	type key struct{ schema, engine string }
	places := map[key]int{} // in sizes.Schemas
	largest := map[string][]monolith.TableSize{}
	err := g.Session.Query(ctx, limited(g.Identity, statement), func(row Row) error {
		t := monolith.TableSize{
			Schema: printable(first(row.Text("table_schema"))), Table: printable(first(row.Text("table_name"))),
			Engine: printable(first(row.Text("engine"))),
			Rows:   bytesOf(row, "table_rows"), Data: bytesOf(row, "data_length"), Index: bytesOf(row, "index_length"), Free: bytesOf(row, "data_free"),
		}
		if t.Engine == "" {
			t.Engine = unopened
			if scan.broken++; scan.broken == 1 {
				scan.firstBroken = t.Schema + "." + t.Table
			}
		}
		k := key{t.Schema, t.Engine}
		i, ok := places[k]
		if !ok {
			i = len(sizes.Schemas)
			places[k] = i
			sizes.Schemas = append(sizes.Schemas, monolith.SchemaSize{Schema: t.Schema, Engine: t.Engine})
		}
		s := &sizes.Schemas[i]
		s.Tables++
		s.Data += t.Data
		s.Index += t.Index
		if t.Engine == "InnoDB" && sharedTablespace(g.Variables) {
			if scan.sharedAt < 0 {
				scan.sharedAt = i
			}
			scan.shared = max(scan.shared, t.Free)
			sizes.Schemas[scan.sharedAt].Free = scan.shared
		} else {
			s.Free += t.Free
		}
		if largest[t.Schema] = append(largest[t.Schema], t); len(largest[t.Schema]) > 8*maxLargestTables {
			largest[t.Schema] = topTables(largest[t.Schema])
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, schema := range sortedKeys(largest) {
		sizes.Largest = append(sizes.Largest, topTables(largest[schema])...)
	}
	return nil
}

// unopened stands for the engine of tables that the server can't open.
const unopened = "unknown"

func sharedTablespace(variables *Variables) bool {
	v := variables.Value("innodb_file_per_table")
	return v == "OFF" || v == "0"
}

func topTables(list []monolith.TableSize) []monolith.TableSize {
	slices.SortFunc(list, func(a, b monolith.TableSize) int { return cmp.Compare(b.Data+b.Index, a.Data+a.Index) })
	return list[:min(len(list), maxLargestTables)]
}

// bytesOf reads a size; NULL (views, broken tables) and what can't be a size are 0: there is nothing to add.
func bytesOf(row Row, name string) int64 {
	n := row.Num(name).Float64()
	if !(n > 0 && n < 1<<62) {
		return 0
	}
	return int64(n)
}

// limited gives a statement a time limit of its own on the server, where it can: the session's is for
// short statements.
func limited(id monolith.Identity, statement string) string {
	switch {
	case has(id, since{mysql: v(5, 7, 8)}):
		return fmt.Sprintf("SELECT /*+ MAX_EXECUTION_TIME(%d) */%s", scanSeconds*1000, strings.TrimPrefix(statement, "SELECT"))
	case has(id, since{mariadb: v(10, 1, 2)}):
		return fmt.Sprintf("SET STATEMENT max_statement_time=%d FOR %s", scanSeconds, statement)
	}
	return statement
}

// quoteText writes a text as a literal for a session in which backslashes escape, as ours does.
func quoteText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", "''").Replace(s) + "'"
}

// recordSizes records the sums; those of nil, where nothing could be seen, have no value.
func recordSizes(g *Gather, sizes *monolith.SchemaSizes, files monolith.Num) {
	rec := g.Recorder("schema")
	if sizes == nil {
		for _, name := range []string{"total_data_bytes", "total_index_bytes", "total_free_bytes", "total_tables"} {
			rec.Number(name, "", monolith.Num{})
		}
		rec.Number("total_file_bytes", "", files)
		rec.Done()
		return
	}
	var total monolith.SchemaSize
	bySchema, byEngine := map[string]*monolith.SchemaSize{}, map[string]*monolith.SchemaSize{}
	add := func(m map[string]*monolith.SchemaSize, key string, s monolith.SchemaSize) {
		if m[key] == nil {
			m[key] = &monolith.SchemaSize{}
		}
		addSize(m[key], s)
	}
	for _, s := range sizes.Schemas {
		add(bySchema, s.Schema, s)
		add(byEngine, s.Engine, s)
		addSize(&total, s)
	}
	rec.Number("total_data_bytes", "", monolith.Int(total.Data))
	rec.Number("total_index_bytes", "", monolith.Int(total.Index))
	rec.Number("total_free_bytes", "", monolith.Int(total.Free))
	rec.Number("total_tables", "", monolith.Int(int64(total.Tables)))
	rec.Number("total_file_bytes", "", files)
	names := sortedKeys(bySchema)
	if len(names) > maxSchemaMetrics { // the rows have all of them
		slices.SortStableFunc(names, func(a, b string) int {
			return cmp.Compare(bySchema[b].Data+bySchema[b].Index, bySchema[a].Data+bySchema[a].Index)
		})
		names = names[:maxSchemaMetrics]
		slices.Sort(names)
	}
	for _, name := range names {
		s := bySchema[name]
		rec.Number("data_bytes", name, monolith.Int(s.Data))
		rec.Number("index_bytes", name, monolith.Int(s.Index))
		rec.Number("free_bytes", name, monolith.Int(s.Free))
		rec.Number("tables", name, monolith.Int(int64(s.Tables)))
	}
	for _, name := range sortedKeys(byEngine) {
		s := byEngine[name]
		data, index := monolith.Int(s.Data), monolith.Int(s.Index)
		if name == unopened {
			data, index = monolith.Num{}, monolith.Num{}
		}
		rec.Number("engine_data_bytes", name, data)
		rec.Number("engine_index_bytes", name, index)
		rec.Number("engine_tables", name, monolith.Int(int64(s.Tables)))
	}
	// That there are none of these decides whether the graphs of their caches are drawn. Who sees a part can't say it.
	for _, name := range []string{"MyISAM", "Aria"} {
		if byEngine[name] == nil && !sizes.Hidden && !sizes.Sampled && byEngine[unopened] == nil {
			rec.Number("engine_tables", name, monolith.Uint(0))
		}
	}
	rec.Done()
}

func addSize(to *monolith.SchemaSize, s monolith.SchemaSize) {
	to.Tables += s.Tables
	to.Data += s.Data
	to.Index += s.Index
	to.Free += s.Free
}

func sortedKeys[T any](m map[string]T) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

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
	maxKeyRows = 200     // of each list
	largeTable = 100_000 // rows from which on a table without a key makes replication slow
	halfUsed   = 50      // per cent from which on an AUTO_INCREMENT column is listed
)

// keysCollector looks for tables without a key and for AUTO_INCREMENT columns that come to their end.
func keysCollector() *Collector {
	sizes := sizesCollector()
	return &Collector{
		Name:     "keys",
		Title:    "Keys of tables",
		Help:     "Tables without a primary key, and how much of their type AUTO_INCREMENT columns have used up.",
		Timeout:  3 * time.Minute,
		MaxBytes: 64 << 20,
		Applies:  sizes.Applies, // it opens tables in the same way
		// Indexes are visible with any right on a table, the type of a column only with one on the column. REFERENCES is one that
		// lets nobody read what is in it.
		Grant:   func(_ monolith.Identity, account string) string { return grantGlobal("SHOW VIEW, REFERENCES", account) },
		Collect: collectKeys,
		Check:   checkSizes,
	}
}

// columnRights are the global rights that make columns visible in information_schema.
var columnRights = []string{"SELECT", "INSERT", "UPDATE", "REFERENCES"}

func collectKeys(ctx context.Context, g *Gather) error {
	if has(g.Identity, since{mysql: v(8, 0, 3)}) {
		if err := g.Session.Exec(ctx, "SET SESSION information_schema_stats_expiry = 0"); err != nil {
			g.Note(monolith.ProblemPartial, "numbers of rows and AUTO_INCREMENT may be up to a day old: information_schema_stats_expiry could not be set", "")
		}
	}
	if g.variable("show_gipk_in_create_table_and_information_schema") == "OFF" { // keys that the server made itself would be hidden
		if err := g.Session.Exec(ctx, "SET SESSION show_gipk_in_create_table_and_information_schema = ON"); err != nil {
			g.Note(monolith.ProblemPartial, "tables whose key the server made itself are taken for tables without one"+
				" (show_gipk_in_create_table_and_information_schema=OFF)", "")
		}
	}
	schemas, err := countedSchemas(ctx, g)
	if err != nil {
		return err
	}
	listed := 0
	for _, s := range schemas {
		listed += s.tables
	}
	k := keyScan{g: g, hidden: noteHidden(g, len(schemas)), types: !g.rights.known || g.rights.has(columnRights...),
		bare: []monolith.TableWithoutKey{}, columns: []monolith.AutoIncrement{}}
	if k.hidden && listed == 0 {
		return nil // what can't be seen is not 0
	}
	if !k.types {
		g.Note(monolith.ProblemPartial, "the types of columns are hidden from Monolith's account: how far AUTO_INCREMENT columns are used up is not known",
			grantGlobal("REFERENCES", g.Account))
	}
	if listed <= tablesAtOnce {
		err = k.scan(ctx, "TABLE_SCHEMA NOT IN "+systemSchemas)
		schemas = nil
	}
	slices.SortStableFunc(schemas, func(a, b countedSchema) int { return cmp.Compare(a.tables, b.tables) })
	left := maxScannedTables
	for _, s := range schemas {
		if left -= s.tables; left < 0 {
			k.hidden = true
			g.Note(monolith.ProblemPartial, fmt.Sprintf("there are %d tables and views: keys are of the first %d", listed, maxScannedTables), "")
			break
		}
		if err = k.scan(ctx, "TABLE_SCHEMA = "+quoteText(s.name)); err != nil {
			break
		}
	}
	if err != nil {
		return err
	}
	k.finish()
	return nil
}

// keyScan gathers over one or several statements.
type keyScan struct {
	g       *Gather
	hidden  bool // some tables are not seen
	types   bool // the types of columns are
	bare    []monolith.TableWithoutKey
	columns []monolith.AutoIncrement
	highest float64
	noKey   uint64 // InnoDB tables
	large   uint64
}

type tableName struct{ schema, table string }

func tableOf(row Row) tableName {
	return tableName{printable(first(row.Text("table_schema"))), printable(first(row.Text("table_name")))}
}

// scan looks at the tables that a condition on TABLE_SCHEMA picks.
func (k *keyScan) scan(ctx context.Context, condition string) error {
	query := func(statement string, row func(Row)) error {
		return k.g.Session.Query(ctx, limited(k.g.Identity, statement), func(r Row) error { row(r); return nil })
	}
	keyed := map[tableName]bool{}
	// One row an index whose columns all forbid NULL: such a unique key identifies a row as well as a primary key.
	err := query("SELECT TABLE_SCHEMA AS table_schema, TABLE_NAME AS table_name, INDEX_NAME AS index_name FROM information_schema.STATISTICS"+
		" WHERE "+condition+" AND NON_UNIQUE = 0 GROUP BY TABLE_SCHEMA, TABLE_NAME, INDEX_NAME HAVING SUM(NULLABLE = 'YES') = 0", func(row Row) {
		keyed[tableOf(row)] = true
	})
	if err != nil {
		return err
	}
	type column struct{ name, kind, dataType string }
	columns := map[tableName]column{}
	if k.types {
		err = query("SELECT TABLE_SCHEMA AS table_schema, TABLE_NAME AS table_name, COLUMN_NAME AS column_name, COLUMN_TYPE AS column_type, DATA_TYPE AS data_type"+
			" FROM information_schema.COLUMNS WHERE "+condition+" AND EXTRA LIKE '%auto_increment%'", func(row Row) {
			columns[tableOf(row)] = column{cut(printable(first(row.Text("column_name"))), 128), cut(printable(first(row.Text("column_type"))), 64),
				strings.ToLower(first(row.Text("data_type")))}
		})
		if err != nil {
			return err
		}
	}
	return query("SELECT TABLE_SCHEMA AS table_schema, TABLE_NAME AS table_name, ENGINE AS engine, TABLE_ROWS AS table_rows,"+
		" DATA_LENGTH + INDEX_LENGTH AS bytes, AUTO_INCREMENT AS next_value FROM information_schema.TABLES WHERE "+condition+
		" AND TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED')", func(row Row) {
		name, rows := tableOf(row), bytesOf(row, "table_rows")
		engine := cut(printable(first(row.Text("engine"))), 64)
		if !keyed[name] && engine != "" { // without an engine it can't be opened, and its indexes are not listed
			k.bare = append(k.bare, monolith.TableWithoutKey{Schema: name.schema, Table: name.table, Engine: engine, Rows: rows, Bytes: bytesOf(row, "bytes")})
			if engine == "InnoDB" {
				k.noKey++
				if rows > largeTable {
					k.large++
				}
			}
		}
		if c, ok := columns[name]; ok {
			k.addColumn(monolith.AutoIncrement{Schema: name.schema, Table: name.table, Column: c.name, Type: c.kind, Rows: rows,
				Value: row.Num("next_value").Float64() - 1, Max: highestOf(c.dataType, c.kind)})
		}
	})
}

// addColumn takes in a column; one that is less than half used up counts for the highest share only.
func (k *keyScan) addColumn(c monolith.AutoIncrement) {
	if !(c.Value >= 0 && c.Max > 0) { // NaN: the server does not tell
		return
	}
	c.Share = 100 * c.Value / c.Max
	k.highest = max(k.highest, c.Share)
	if c.Share >= halfUsed {
		k.columns = append(k.columns, c)
	}
}

// highestOf gives the highest value of a type; 0 for one that is not known.
func highestOf(dataType, columnType string) float64 {
	bits := map[string]int{"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}[dataType]
	switch {
	case dataType == "float":
		return 1 << 24 // beyond it the next number can't be told from the one before
	case dataType == "double":
		return 1 << 53
	case bits == 0:
		return 0
	case !strings.Contains(strings.ToLower(columnType), "unsigned"):
		bits--
	}
	return float64(uint64(1)<<(bits-1))*2 - 1
}

// finish sorts, works out the growth since the reading before, and records.
func (k *keyScan) finish() {
	g := k.g
	slices.SortFunc(k.bare, func(a, b monolith.TableWithoutKey) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), strings.Compare(a.Schema, b.Schema), strings.Compare(a.Table, b.Table))
	})
	slices.SortFunc(k.columns, func(a, b monolith.AutoIncrement) int {
		return cmp.Or(cmp.Compare(b.Share, a.Share), strings.Compare(a.Schema, b.Schema), strings.Compare(a.Table, b.Table))
	})
	k.bare, k.columns = firstRows(k.bare), firstRows(k.columns)
	before := map[tableName]monolith.AutoIncrement{}
	if g.State != nil {
		for _, c := range g.State.AutoIncrements {
			before[tableName{c.Schema, c.Table}] = c
		}
	}
	rec := g.Recorder("schema")
	if !k.hidden || k.noKey > 0 { // a part can't say that there are none
		rec.Number("tables_without_key", "", monolith.Uint(k.noKey))
		rec.Number("large_tables_without_key", "", monolith.Uint(k.large))
	}
	if k.types {
		rec.Number("auto_increment_highest_share", "", monolith.Float(k.highest))
	}
	for i := range k.columns {
		c := &k.columns[i]
		c.Taken = g.Now
		if old, ok := before[tableName{c.Schema, c.Table}]; ok {
			grow(c, old)
		}
		instance := c.Schema + "." + c.Table
		rec.Number("auto_increment_share", instance, monolith.Float(c.Share))
		rec.Number("auto_increment_value", instance, monolith.Float(c.Value))
	}
	rec.Done()
	g.snapshot.TablesWithoutKey = k.bare
	if k.types {
		g.snapshot.AutoIncrements = k.columns
	}
}

func firstRows[T any](list []T) []T {
	if len(list) > maxKeyRows {
		return slices.Clone(list[:maxKeyRows])
	}
	return list
}

// grow works out the growth since an older reading. One that is less than an hour old would tell little: its own growth goes on.
func grow(c *monolith.AutoIncrement, old monolith.AutoIncrement) {
	days := c.Taken.Sub(old.Taken).Hours() / 24
	switch {
	case old.Column != c.Column || c.Value < old.Value:
		return
	case days < 1.0/24:
		c.PerDay = old.PerDay
		if old.PerDay == nil || old.Taken.IsZero() {
			return
		}
	default:
		c.PerDay = new((c.Value - old.Value) / days)
	}
	if *c.PerDay > 0 {
		c.DaysLeft = new((c.Max - c.Value) / *c.PerDay)
	}
}

package poller

import (
	"context"
	_ "embed"
	"slices"
	"strings"
	"time"

	"monolith"
)

// originsCollector finds out which variables were changed from their defaults, and where.
func originsCollector() *Collector {
	return &Collector{
		Name:    originsName,
		Title:   "Origin of variables",
		Help:    "For each variable its default, whether it was changed, and where: a file, the command line, SET.",
		Timeout: 5 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			if statement(g.Identity) == "" && defaultsColumn(g.Identity) == 0 {
				return false, "only MySQL from 5.6 and MariaDB from 10.1 on tell where a variable's value comes from"
			}
			return true, ""
		},
		Grant: func(id monolith.Identity, account string) string {
			if id.Flavour.IsMySQL() {
				return grantPerformanceSchema(id, account)
			}
			return ""
		},
		Collect: collectOrigins,
	}
}

// statement gives the statement that tells origins, or "" where the server has no such view.
func statement(id monolith.Identity) string {
	switch {
	case has(id, since{mysql: v(8, 0, 2)}):
		return "SELECT i.VARIABLE_NAME AS name, i.VARIABLE_SOURCE AS origin, i.VARIABLE_PATH AS path, v.VARIABLE_VALUE AS value," +
			" UNIX_TIMESTAMP(i.SET_TIME) AS set_at, i.SET_USER AS set_user, i.SET_HOST AS set_host" +
			" FROM performance_schema.variables_info i LEFT JOIN performance_schema.global_variables v ON v.VARIABLE_NAME = i.VARIABLE_NAME"
	case has(id, since{mariadb: v(10, 5)}):
		return "SELECT VARIABLE_NAME AS name, GLOBAL_VALUE_ORIGIN AS origin, GLOBAL_VALUE_PATH AS path, GLOBAL_VALUE AS value," +
			" DEFAULT_VALUE AS standard, READ_ONLY AS readonly FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE_ORIGIN IS NOT NULL"
	case has(id, since{mariadb: v(10, 1)}):
		return "SELECT VARIABLE_NAME AS name, GLOBAL_VALUE_ORIGIN AS origin, GLOBAL_VALUE AS value," +
			" DEFAULT_VALUE AS standard, READ_ONLY AS readonly FROM information_schema.SYSTEM_VARIABLES WHERE GLOBAL_VALUE_ORIGIN IS NOT NULL"
	}
	return ""
}

func collectOrigins(ctx context.Context, g *Gather) error {
	query := statement(g.Identity)
	if query == "" {
		g.snapshot.Variables = fromDefaults(g.Identity, g.Variables)
		return nil
	}
	list := []monolith.VariableInfo{}
	// A list of each server is kept for ever: texts that are in memory already are not kept twice.
	known := make(map[string]string, g.Variables.Len())
	for name, value := range g.Variables.All() {
		known[name], known[value] = name, value
	}
	keep := func(s string) string {
		if old, ok := known[s]; ok {
			return old
		}
		return s
	}
	err := g.Session.Query(ctx, query, func(row Row) error {
		name := strings.ToLower(printable(first(row.Text("name"))))
		if name == "" || volatileVariables[name] {
			return nil
		}
		v := variableInfo(keep(name), row)
		if v.Default != nil {
			*v.Default = keep(*v.Default)
		}
		list = append(list, v)
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b monolith.VariableInfo) int { return strings.Compare(a.Name, b.Name) })
	if g.Identity.Flavour.IsMariaDB() {
		followAliases(list)
	}
	g.snapshot.Variables = list
	return nil
}

func variableInfo(name string, row Row) monolith.VariableInfo {
	v := monolith.VariableInfo{Name: name, Origin: originOf(first(row.Text("origin"))), Path: printable(first(row.Text("path")))}
	value, known := row.Text("value")
	standard, told := row.Text("standard")
	switch {
	case v.Origin == monolith.OriginCompiled && known && (standard == "" || value == "" || sameValue(value, standard)):
		// MySQL tells a default only in this way, and MariaDB those of files and lists that it knows when it starts.
		v.Changed, v.Default = new(false), hidden(name, value)
	case v.Origin == monolith.OriginCompiled && known && derived(name):
		v.Origin, v.Changed, v.Default = monolith.OriginAuto, new(false), hidden(name, value)
	case v.Origin == monolith.OriginCompiled && known:
		// MariaDB calls so, too, what was set under another name: see followAliases.
		v.Origin, v.Changed, v.Default = "", new(true), hidden(name, standard)
	case told:
		v.Changed, v.Default = new(false), hidden(name, standard)
		if known && !sameValue(value, standard) && v.Origin != monolith.OriginAuto {
			v.Changed = new(true)
		}
	case v.Origin == monolith.OriginCompiled:
		v.Changed = new(false)
	case v.Origin != "" && v.Origin != monolith.OriginAuto:
		v.Changed = new(true)
	}
	if s, ok := row.Text("readonly"); ok {
		v.ReadOnly = new(strings.EqualFold(s, "yes"))
	}
	if at, ok := row.Int("set_at"); ok && at > 0 {
		t := time.Unix(at, 0).UTC()
		v.SetAt = &t
	}
	if user := first(row.Text("set_user")); user != "" {
		v.SetBy = printable(user)
		if host := first(row.Text("set_host")); host != "" {
			v.SetBy += "@" + printable(host)
		}
	}
	return v
}

// derived reports whether MariaDB works a variable's value out at its start and yet calls it compiled in. Its column of
// defaults then holds the bound of the option, such as 4294967295 for innodb_io_capacity_max. InnoDB's variables have no
// other names under which they could have been set.
func derived(name string) bool {
	return strings.HasPrefix(name, "innodb_") || name == "sql_big_selects"
}

// aliases are the pairs of names that MariaDB has for one value. It notes where the value comes from under one of them only.
var aliases = [][2]string{
	{"long_query_time", "log_slow_query_time"}, {"slow_query_log", "log_slow_query"}, {"slow_query_log_file", "log_slow_query_file"},
	{"min_examined_row_limit", "log_slow_min_examined_row_limit"}, {"tmp_table_size", "tmp_memory_table_size"},
	{"expire_logs_days", "binlog_expire_logs_seconds"}, {"tx_isolation", "transaction_isolation"}, {"tx_read_only", "transaction_read_only"},
}

// followAliases gives variables of which the server does not tell that they were set the origin of their other name. list
// is sorted by name.
func followAliases(list []monolith.VariableInfo) {
	find := func(name string) *monolith.VariableInfo {
		i, ok := slices.BinarySearchFunc(list, name, func(v monolith.VariableInfo, name string) int { return strings.Compare(v.Name, name) })
		if !ok {
			return nil
		}
		return &list[i]
	}
	for _, pair := range aliases {
		for i := range pair {
			v, other := find(pair[i]), find(pair[1-i])
			if v == nil || other == nil || v.Changed == nil || other.Changed == nil || v.Origin != "" && v.Origin != monolith.OriginCompiled {
				continue
			}
			switch other.Origin {
			case monolith.OriginFile, monolith.OriginCommand, monolith.OriginEnvironment, monolith.OriginSet:
				if *other.Changed && !*v.Changed { // the name of a file, of which no default is told
					v.Default = other.Default
				}
				v.Origin, v.Path, v.Changed = other.Origin, other.Path, other.Changed
			}
		}
	}
}

// hidden gives a default as it may be kept.
func hidden(name, value string) *string {
	s := printable(string(hideSecret([]byte(name), []byte(value))))
	return &s
}

// originOf reads both families' words. DYNAMIC also stands for what the server itself set at its start.
func originOf(s string) monolith.VariableOrigin {
	switch strings.ToUpper(s) {
	case "COMPILED", "COMPILE-TIME":
		return monolith.OriginCompiled
	case "AUTO":
		return monolith.OriginAuto
	case "GLOBAL", "SERVER", "EXPLICIT", "EXTRA", "USER", "LOGIN", "CONFIG":
		return monolith.OriginFile
	case "COMMAND_LINE", "COMMAND-LINE":
		return monolith.OriginCommand
	case "ENVIRONMENT":
		return monolith.OriginEnvironment
	case "PERSISTED":
		return monolith.OriginPersisted
	case "DYNAMIC", "SQL":
		return monolith.OriginSet
	}
	return ""
}

// sameValue compares as far as both families write the same value in two ways.
func sameValue(a, b string) bool {
	if strings.EqualFold(a, b) {
		return true
	}
	x, ok1 := monolith.ParseNum([]byte(a))
	y, ok2 := monolith.ParseNum([]byte(b))
	return ok1 && ok2 && x.Float64() == y.Float64()
}

//go:embed defaults_mysql.tsv
var mysqlDefaults string

// defaultsColumn gives the column of mysqlDefaults that belongs to a server, or 0.
func defaultsColumn(id monolith.Identity) int {
	if !id.Flavour.IsMySQL() || id.Version.Major != 5 {
		return 0
	}
	switch id.Version.Minor {
	case 6:
		return 1
	case 7:
		return 2
	}
	return 0
}

// fromDefaults compares the variables in force with the documented defaults. Variables that the table does
// not have are given without a default.
func fromDefaults(id monolith.Identity, variables *Variables) []monolith.VariableInfo {
	column := defaultsColumn(id)
	standard := map[string]string{}
	for line := range strings.Lines(mysqlDefaults) {
		if parts := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(parts) == 3 && parts[column] != "-" {
			standard[parts[0]] = parts[column]
		}
	}
	list := []monolith.VariableInfo{}
	for name, value := range variables.All() {
		v := monolith.VariableInfo{Name: name}
		if d, ok := standard[name]; ok {
			v.Default, v.Changed = &d, new(true)
			if sameValue(value, d) {
				v.Changed, v.Origin = new(false), monolith.OriginCompiled
			}
		}
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b monolith.VariableInfo) int { return strings.Compare(a.Name, b.Name) })
	return list
}

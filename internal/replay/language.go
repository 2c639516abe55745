package replay

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"monolith"
)

// since says from which version on each family has something; the zero Version is never. until is the first
// MySQL that no longer has it.
type since struct {
	mysql, mariadb, until monolith.Version
}

func v(major int, rest ...int) monolith.Version {
	version := monolith.Version{Major: major}
	if len(rest) > 0 {
		version.Minor = rest[0]
	}
	if len(rest) > 1 {
		version.Patch = rest[1]
	}
	return version
}

var always = since{mysql: v(5), mariadb: v(5)}

// language is what a version understands.
type language struct{ r *Recording }

func (r *Recording) language() language { return language{r} }

func (l language) has(s since) bool {
	id := l.r.identity
	from := s.mysql
	if id.Flavour == monolith.TiDB {
		id.Version = v(5, 7, 25) // it imitates about as much
	}
	if id.Flavour.IsMariaDB() {
		from = s.mariadb
	} else if !s.until.IsZero() && id.Version.Compare(s.until) >= 0 {
		return false
	}
	return !from.IsZero() && id.Version.Compare(from) >= 0
}

// shows are the SHOW statements; the first that a statement begins with counts.
var shows = []struct {
	begins string
	since  since
}{
	{"ALL SLAVES STATUS", since{mariadb: v(10)}},
	{"ALL REPLICAS STATUS", since{mariadb: v(10, 5, 1)}},
	{"REPLICA STATUS", since{mysql: v(8, 0, 22), mariadb: v(10, 5, 1)}},
	{"SLAVE STATUS", since{mysql: v(5), mariadb: v(5), until: v(8, 4)}},
	{"REPLICAS", since{mysql: v(8, 0, 22), mariadb: v(10, 5, 1)}},
	{"SLAVE HOSTS", since{mysql: v(5), mariadb: v(5), until: v(8, 4)}},
	{"BINARY LOG STATUS", since{mysql: v(8, 2)}},
	{"BINLOG STATUS", since{mariadb: v(10, 5, 2)}},
	{"MASTER STATUS", since{mysql: v(5), mariadb: v(5), until: v(8, 4)}},
	{"MASTER LOGS", since{mysql: v(5), mariadb: v(5), until: v(8, 4)}},
	{"BINARY LOGS", always},
	{"GRANTS FOR CURRENT_ROLE", since{mariadb: v(10, 0, 5)}},
	{"GRANTS", always}, {"COLUMNS FROM", always}, {"FULL COLUMNS FROM", always}, {"PROCESSLIST", always}, {"FULL PROCESSLIST", always},
	{"ENGINE PERFORMANCE_SCHEMA STATUS", since{mysql: v(5, 5, 3), mariadb: v(5, 5)}}, {"ENGINE INNODB STATUS", always}, {"INNODB STATUS", since{mysql: v(5), mariadb: v(5), until: v(5, 5)}},
	{"GLOBAL STATUS", always}, {"SESSION STATUS", always}, {"STATUS", always}, {"GLOBAL VARIABLES", always}, {"SESSION VARIABLES", always},
	{"VARIABLES", always}, {"DATABASES", always}, {"ENGINES", always}, {"STORAGE ENGINES", always}, {"WARNINGS", always},
	{"PLUGINS", since{mysql: v(5, 1), mariadb: v(5)}}, {"CREATE TABLE", always}, {"USER_STATISTICS", since{mariadb: v(5, 2)}},
}

// tables are those that a monitor reads, by lower-case name, and the columns of them that not every version has.
var tables = map[string]struct {
	since   since
	columns map[string]since
}{
	"information_schema.tables":            {since: always},
	"information_schema.schemata":          {since: always},
	"information_schema.columns":           {since: always},
	"information_schema.statistics":        {since: always},
	"information_schema.key_column_usage":  {since: always},
	"information_schema.table_constraints": {since: always},
	"information_schema.user_privileges":   {since: always},
	"information_schema.schema_privileges": {since: always},
	"information_schema.table_privileges":  {since: always},
	"information_schema.column_privileges": {since: always},
	"information_schema.processlist":       {since: since{mysql: v(5, 1, 7), mariadb: v(5)}},
	"information_schema.plugins":           {since: since{mysql: v(5, 1, 5), mariadb: v(5)}},
	"information_schema.engines":           {since: since{mysql: v(5, 1, 5), mariadb: v(5)}},
	"information_schema.partitions":        {since: since{mysql: v(5, 1, 6), mariadb: v(5)}},
	"information_schema.events":            {since: since{mysql: v(5, 1, 6), mariadb: v(5)}},
	"information_schema.innodb_trx":        {since: since{mysql: v(5, 5), mariadb: v(5, 1)}},
	"information_schema.innodb_locks":      {since: since{mysql: v(5, 5), mariadb: v(5, 1), until: v(8, 0, 1)}},
	"information_schema.innodb_lock_waits": {since: since{mysql: v(5, 5), mariadb: v(5, 1), until: v(8, 0, 1)}},
	"information_schema.innodb_sys_tablespaces": {since: since{mysql: v(5, 6), mariadb: v(10), until: v(8, 0, 3)},
		columns: map[string]since{"FILE_SIZE": {mysql: v(5, 7, 8), mariadb: v(10, 2)}}},
	"information_schema.innodb_tablespaces": {since: since{mysql: v(8, 0, 3)}},
	"information_schema.innodb_metrics": {since: since{mysql: v(5, 6), mariadb: v(10)}, columns: map[string]since{
		"ENABLED": {mariadb: v(10, 5)}}},
	"information_schema.system_variables": {since: since{mariadb: v(10, 1)}, columns: map[string]since{
		"GLOBAL_VALUE_PATH": {mariadb: v(10, 5)}}},
	"information_schema.metadata_lock_info":  {since: since{mariadb: v(10)}},
	"information_schema.replica_host_status": {}, // Aurora alone
	"mysql.user": {since: always, columns: map[string]since{
		"account_locked": {mysql: v(5, 7, 6)}, "password_expired": {mysql: v(5, 6, 6), mariadb: v(10)},
		"is_role": {mariadb: v(10, 0, 5)}, "password_last_changed": {mysql: v(5, 7, 4)}, "User_attributes": {mysql: v(8, 0, 14)},
		"plugin": {mysql: v(5, 5, 7), mariadb: v(5, 2)}, "authentication_string": {mysql: v(5, 5, 7), mariadb: v(5, 2)},
		"Password": {mysql: v(5), mariadb: v(5), until: v(5, 7, 6)}}},
	"mysql.db":            {since: always},
	"mysql.tables_priv":   {since: always},
	"mysql.columns_priv":  {since: always},
	"mysql.procs_priv":    {since: always},
	"mysql.proxies_priv":  {since: since{mysql: v(5, 5, 7), mariadb: v(5, 2)}},
	"mysql.roles_mapping": {since: since{mariadb: v(10, 0, 5)}},
	"mysql.global_priv":   {since: since{mariadb: v(10, 4, 1)}},
	"mysql.global_grants": {since: since{mysql: v(8)}},
	"mysql.role_edges":    {since: since{mysql: v(8)}},
	"mysql.default_roles": {since: since{mysql: v(8)}},
	"performance_schema.replication_applier_status_by_worker": {since: since{mysql: v(5, 7, 2)}, columns: map[string]since{
		"APPLYING_TRANSACTION": {mysql: v(8)}}},
	"performance_schema.replication_applier_status":    {since: since{mysql: v(5, 7, 2)}},
	"performance_schema.replication_connection_status": {since: since{mysql: v(5, 7, 2)}},
	"performance_schema.replication_group_members":     {since: since{mysql: v(5, 7, 6)}},
	"performance_schema.replication_group_member_stats": {since: since{mysql: v(5, 7, 6)}, columns: map[string]since{
		"COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE": {mysql: v(8)}}},
	"performance_schema.variables_info":                        {since: since{mysql: v(8)}},
	"performance_schema.global_variables":                      {since: since{mysql: v(5, 7, 6)}},
	"performance_schema.setup_instruments":                     {since: since{mysql: v(5, 5, 3), mariadb: v(5, 5)}},
	"performance_schema.setup_consumers":                       {since: since{mysql: v(5, 5, 3), mariadb: v(5, 5)}},
	"performance_schema.memory_summary_global_by_event_name":   {since: since{mysql: v(5, 7, 2), mariadb: v(10, 5, 2)}},
	"performance_schema.events_statements_summary_by_digest":   {since: since{mysql: v(5, 6, 5), mariadb: v(10)}},
	"information_schema.collations":                            {since: always},
	"mysql.component":                                          {since: since{mysql: v(8)}},
	"mysql.general_log":                                        {since: since{mysql: v(5, 1, 6), mariadb: v(5)}},
	"mysql.slow_log":                                           {since: since{mysql: v(5, 1, 6), mariadb: v(5)}},
	"performance_schema.persisted_variables":                   {since: since{mysql: v(8)}},
	"performance_schema.session_connect_attrs":                 {since: since{mysql: v(5, 6, 6), mariadb: v(10)}},
	"mysql.wsrep_cluster_members":                              {since: since{mysql: v(8, 0, 18), mariadb: v(10, 4)}}, // of Galera 4
	"performance_schema.host_cache":                            {since: since{mysql: v(5, 6, 5), mariadb: v(10)}},
	"performance_schema.threads":                               {since: since{mysql: v(5, 5, 3), mariadb: v(5, 5)}},
	"performance_schema.metadata_locks":                        {since: since{mysql: v(5, 7, 3), mariadb: v(10, 5, 2)}},
	"performance_schema.data_locks":                            {since: since{mysql: v(8, 0, 1)}},
	"performance_schema.data_lock_waits":                       {since: since{mysql: v(8, 0, 1)}},
	"performance_schema.error_log":                             {since: since{mysql: v(8, 0, 22)}},
	"performance_schema.processlist":                           {since: since{mysql: v(8, 0, 22)}},
	"performance_schema.table_io_waits_summary_by_index_usage": {since: since{mysql: v(5, 6), mariadb: v(10)}},
	"performance_schema.table_io_waits_summary_by_table":       {since: since{mysql: v(5, 6), mariadb: v(10)}},
	"performance_schema.file_summary_by_instance":              {since: since{mysql: v(5, 5, 3), mariadb: v(5, 5)}},
}

// functions of a SELECT without FROM, and others, that not every version has.
var functions = []struct {
	pattern *regexp.Regexp
	since   since
}{
	{regexp.MustCompile(`(?i)\bNOW\(\d\)`), since{mysql: v(5, 6, 4), mariadb: v(5, 3)}},
	{regexp.MustCompile(`(?i)\bCURRENT_ROLE\(\)`), since{mysql: v(8), mariadb: v(10, 0, 5)}},
	{regexp.MustCompile(`(?i)\bJSON_(VALUE)\(`), since{mysql: v(8, 0, 21), mariadb: v(10, 2, 3)}},
	{regexp.MustCompile(`(?i)\bJSON_(LENGTH|EXTRACT)\(`), since{mysql: v(5, 7, 8), mariadb: v(10, 2, 3)}},
}

// fromTable finds tables with their schema.
var fromTable = regexp.MustCompile("(?i)\\b(?:FROM|JOIN) `?(\\w+)`?\\.`?(\\w+)`?")

// everywhere are variables that a session can set whether a recording, which may hold only a part of them, has them
// or not.
var everywhere = map[string]since{
	"autocommit": always, "time_zone": always, "sql_mode": always, "wait_timeout": always,
	"information_schema_stats_expiry": {mysql: v(8, 0, 3)},
}

func syntaxError(statement string) *Error {
	return &Error{1064, "42000", "You have an error in your SQL syntax; check the manual near '" + statement + "' at line 1"}
}

// refuse gives the error with which a version answers a statement that it does not have, or nil.
func (l language) refuse(statement string) *Error {
	verb, rest, _ := strings.Cut(statement, " ")
	switch strings.ToUpper(verb) {
	case "SHOW":
		return l.refuseShow(statement, strings.ToUpper(rest))
	case "SET":
		return l.refuseSet(statement, rest)
	case "SELECT", "(SELECT": // a UNION
		return l.refuseSelect(statement)
	case "KILL", "COMMIT", "ROLLBACK", "BEGIN", "START", "DO", "USE":
		return nil
	}
	return syntaxError(statement)
}

func (l language) refuseShow(statement, rest string) *Error {
	for _, s := range shows {
		if strings.HasPrefix(rest, s.begins) {
			if !l.has(s.since) {
				return syntaxError(statement)
			}
			return nil
		}
	}
	return syntaxError(statement)
}

func (l language) refuseSet(statement, rest string) *Error {
	upper := strings.ToUpper(rest)
	switch {
	case strings.HasPrefix(upper, "STATEMENT "):
		if !l.has(since{mariadb: v(10, 1, 2)}) {
			return syntaxError(statement)
		}
		if at := strings.Index(upper, " FOR "); at >= 0 {
			return l.refuse(rest[at+5:])
		}
		return syntaxError(statement)
	case strings.HasPrefix(upper, "NAMES "):
		if strings.Contains(upper, "UTF8MB4") && !l.has(since{mysql: v(5, 5, 3), mariadb: v(5, 5)}) {
			return &Error{1115, "42000", "Unknown character set: 'utf8mb4'"}
		}
		return nil
	case strings.Contains(upper, "TRANSACTION READ ONLY"):
		if !l.has(since{mysql: v(5, 6, 5), mariadb: v(10)}) {
			return syntaxError(statement)
		}
		return nil
	case strings.Contains(upper, "TRANSACTION ISOLATION LEVEL"):
		return nil
	}
	name, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(rest), "session "), "local "), "=")
	name = strings.TrimSpace(name)
	if _, known := l.r.values[name]; !ok || !known && !l.has(everywhere[name]) {
		return unknownVariable(name)
	}
	if name == "innodb_lock_wait_timeout" && !l.has(since{mysql: v(5, 5), mariadb: v(5, 5)}) {
		return &Error{1238, "HY000", "Variable 'innodb_lock_wait_timeout' is a read only variable"}
	}
	return nil
}

func unknownVariable(name string) *Error {
	return &Error{1193, "HY000", "Unknown system variable '" + name + "'"}
}

func (l language) refuseSelect(statement string) *Error {
	for _, f := range functions {
		if f.pattern.MatchString(statement) && !l.has(f.since) {
			return syntaxError(statement)
		}
	}
	for _, m := range fromTable.FindAllStringSubmatch(statement, -1) {
		schema, name := strings.ToLower(m[1]), strings.ToLower(m[2])
		full := schema + "." + name
		t, known := tables[full]
		if full == "information_schema.replica_host_status" && l.r.identity.Flavour == monolith.Aurora {
			continue
		}
		switch {
		case l.r.results["TABLE "+strings.ToUpper(full)] != nil:
			continue
		case !known || !l.has(t.since):
			if schema == "information_schema" {
				return &Error{1109, "42S02", "Unknown table '" + name + "' in information_schema"}
			}
			return &Error{1146, "42S02", "Table '" + full + "' doesn't exist"}
		}
		for column, since := range t.columns {
			if mentions(statement, column) && !l.has(since) {
				return &Error{1054, "42S22", fmt.Sprintf("Unknown column '%s' in 'field list'", column)}
			}
		}
	}
	return nil
}

// mentions reports whether a word stands in a statement outside of quotes and not as an alias.
func mentions(statement, word string) bool {
	at := 0
	for {
		i := strings.Index(strings.ToLower(statement[at:]), strings.ToLower(word))
		if i < 0 {
			return false
		}
		i += at
		end := i + len(word)
		alias := strings.HasSuffix(strings.ToUpper(statement[:i]), " AS ")
		if !alias && !isWord(statement, i-1) && !isWord(statement, end) && strings.Count(statement[:i], "'")%2 == 0 {
			return true
		}
		at = end
	}
}

func isWord(s string, i int) bool {
	return i >= 0 && i < len(s) && (s[i] == '_' || s[i] >= '0' && s[i] <= '9' || s[i] >= 'a' && s[i] <= 'z' || s[i] >= 'A' && s[i] <= 'Z')
}

// killed gives the thread that a KILL statement means.
func killed(statement string) (id uint32, ok bool) {
	fields := strings.Fields(statement)
	if len(fields) < 2 || !strings.EqualFold(fields[0], "KILL") {
		return 0, false
	}
	n, err := strconv.ParseUint(fields[len(fields)-1], 10, 32)
	return uint32(n), err == nil
}

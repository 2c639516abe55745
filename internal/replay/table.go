package replay

import (
	"strings"
)

// expression is one of a SELECT's list.
type expression struct{ text, alias string }

// selectList splits a SELECT's list at the commas that are in no parentheses and no quotes.
func selectList(list string) []expression {
	var all []expression
	depth, from, inside := 0, 0, false
	add := func(part string) {
		part = strings.TrimSpace(part)
		e := expression{part, part}
		if at := strings.LastIndex(strings.ToUpper(part), " AS "); at >= 0 && !strings.ContainsAny(part[at:], ")'") {
			e = expression{strings.TrimSpace(part[:at]), strings.Trim(strings.TrimSpace(part[at+4:]), "`")}
		}
		all = append(all, e)
	}
	for i, b := range []byte(list) {
		switch {
		case b == '\'':
			inside = !inside
		case inside:
		case b == '(':
			depth++
		case b == ')':
			depth--
		case b == ',' && depth == 0:
			add(list[from:i])
			from = i + 1
		}
	}
	add(list[from:])
	return all
}

// cutFrom splits a SELECT into its list and what follows FROM, at the FROM that is in no parentheses.
func cutFrom(statement string) (list, rest string) {
	upper, depth := strings.ToUpper(statement), 0
	for i := range len(upper) {
		switch {
		case upper[i] == '(':
			depth++
		case upper[i] == ')':
			depth--
		case depth == 0 && strings.HasPrefix(upper[i:], " FROM "):
			return statement[:i], statement[i+len(" FROM "):]
		}
	}
	return statement, ""
}

// aggregates makes a statement have one row where there is nothing to count.
func aggregates(statement string) bool {
	upper := strings.ToUpper(statement)
	if strings.Contains(upper, " GROUP BY ") {
		return false
	}
	for _, f := range []string{"COUNT(", "SUM(", "MAX(", "MIN("} {
		if strings.Contains(upper, f) {
			return true
		}
	}
	return false
}

// usual is what a healthy, empty server answers to a statement that its version has.
func (r *Recording) usual(statement string) *Result {
	upper := strings.ToUpper(statement)
	switch {
	case strings.HasPrefix(upper, "SET STATEMENT "):
		if at := strings.Index(upper, " FOR "); at >= 0 {
			return r.either(statement[at+5:])
		}
		return &Result{}
	case strings.HasPrefix(upper, "SHOW GLOBAL VARIABLES"):
		return variableRows(r.variables)
	case strings.HasPrefix(upper, "SHOW "):
		return r.usualShow(upper)
	case strings.HasPrefix(upper, "SELECT "), strings.HasPrefix(upper, "(SELECT "):
		return r.usualSelect(strings.TrimPrefix(statement, "("))
	}
	return &Result{}
}

// either is what is recorded, or else the usual.
func (r *Recording) either(statement string) *Result {
	if result := r.recorded(statement); result != nil {
		return result
	}
	return r.usual(statement)
}

func (r *Recording) usualShow(upper string) *Result {
	switch {
	case strings.HasPrefix(upper, "SHOW ENGINE INNODB STATUS"):
		return Table([]string{"Type", "Name", "Status"}, []string{"InnoDB", "", emptyInnoDB})
	case strings.HasPrefix(upper, "SHOW ENGINE PERFORMANCE_SCHEMA STATUS"):
		return Table([]string{"Type", "Name", "Status"}, []string{"performance_schema", "performance_schema.memory", "1048576"})
	case strings.HasPrefix(upper, "SHOW GRANTS FOR"):
		return Table([]string{"Grants"})
	case strings.HasPrefix(upper, "SHOW GRANTS"):
		return Table([]string{"Grants"}, []string{"GRANT SELECT, PROCESS, REPLICATION CLIENT ON *.* TO `" + User + "`@`%`"})
	case strings.HasPrefix(upper, "SHOW MASTER STATUS"), strings.HasPrefix(upper, "SHOW BINARY LOG STATUS"):
		return Table([]string{"File", "Position", "Binlog_Do_DB", "Binlog_Ignore_DB"})
	case strings.HasPrefix(upper, "SHOW BINARY LOGS"), strings.HasPrefix(upper, "SHOW MASTER LOGS"):
		if on := r.values["log_bin"]; on == "OFF" || on == "0" {
			return &Result{Err: &Error{1381, "HY000", "You are not using binary logging"}}
		}
		return Table([]string{"Log_name", "File_size"})
	case strings.HasPrefix(upper, "SHOW COLUMNS FROM MYSQL.USER"):
		return r.userColumns()
	}
	return Table([]string{"Name"})
}

// emptyInnoDB is as little as InnoDB ever says of itself.
const emptyInnoDB = `
=====================================
INNODB MONITOR OUTPUT
=====================================
------------
TRANSACTIONS
------------
Trx id counter 1
History list length 0
LIST OF TRANSACTIONS FOR EACH SESSION:
---
LOG
---
Log sequence number 10000
Log flushed up to   10000
Last checkpoint at  10000
----------------------------
END OF INNODB MONITOR OUTPUT
============================
`

// userColumns lists the columns that mysql.user has in the version, of those that differ.
func (r *Recording) userColumns() *Result {
	result := Table([]string{"Field"}, []string{"Host"}, []string{"User"})
	for name, since := range tables["mysql.user"].columns {
		if r.language().has(since) {
			result.Rows = append(result.Rows, text(name))
		}
	}
	return result
}

// usualSelect has no rows, or one where it counts, with 0 and NULL in it.
func (r *Recording) usualSelect(statement string) *Result {
	list, _ := cutFrom(statement)
	list = strings.TrimPrefix(list[len("SELECT "):], "DISTINCT ")
	result := &Result{}
	var row Row
	for _, e := range selectList(list) {
		result.Columns = append(result.Columns, Column{Name: e.alias})
		var cell []byte
		if strings.HasPrefix(strings.ToUpper(e.text), "COUNT(") {
			cell = []byte("0")
		}
		row = append(row, cell)
	}
	switch {
	case strings.Contains(strings.ToUpper(statement), "INFORMATION_SCHEMA.USER_PRIVILEGES"):
		result.Rows = nil
		for _, right := range []string{"SELECT", "PROCESS", "REPLICATION CLIENT"} {
			result.Rows = append(result.Rows, text(right))
		}
	case aggregates(list):
		result.Rows = []Row{row}
	}
	return result
}

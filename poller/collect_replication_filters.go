package poller

import (
	"strings"
)

// filterColumns hold what a replica leaves out. All versions have the first six.
var filterColumns = []struct{ column, name string }{
	{"replicate_do_db", "Replicate_Do_DB"}, {"replicate_ignore_db", "Replicate_Ignore_DB"},
	{"replicate_do_table", "Replicate_Do_Table"}, {"replicate_ignore_table", "Replicate_Ignore_Table"},
	{"replicate_wild_do_table", "Replicate_Wild_Do_Table"}, {"replicate_wild_ignore_table", "Replicate_Wild_Ignore_Table"},
	{"replicate_rewrite_db", "Replicate_Rewrite_DB"}, {"replicate_ignore_server_ids", "Replicate_Ignore_Server_Ids"},
}

const maxFilters = 1024

// replicaFilters puts them on one line.
func replicaFilters(row Row) string {
	var parts []string
	for _, c := range filterColumns {
		if value := first(row.Text(c.column)); strings.TrimSpace(value) != "" {
			parts = append(parts, c.name+": "+printable(value))
		}
	}
	return cut(strings.Join(parts, "; "), maxFilters)
}

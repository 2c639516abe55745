package poller

import (
	"strconv"
	"strings"

	"monolith"
)

// columns are an answer's column names, found without regard to case: MySQL 8.0 writes
// information_schema's in capitals.
type columns struct {
	names []string
	index map[string]int // by lower-case name
}

func newColumns(names []string) *columns {
	c := &columns{names: names, index: make(map[string]int, len(names))}
	for i, n := range names {
		if _, dup := c.index[strings.ToLower(n)]; !dup {
			c.index[strings.ToLower(n)] = i
		}
	}
	return c
}

// Has reports whether the answer has a column of one of the names, which are lower case.
func (r Row) Has(names ...string) bool { return r.find(names) >= 0 }

func (r Row) find(names []string) int {
	for _, n := range names {
		if i, ok := r.columns.index[n]; ok {
			return i
		}
	}
	return -1
}

// Bytes gives column i as it came; nil is NULL, or that the answer has no such column. It is valid only during the call.
func (r Row) Bytes(i int) []byte {
	if i >= len(r.values) {
		return nil
	}
	return r.values[i]
}

// Len gives the number of columns.
func (r Row) Len() int { return len(r.values) }

// Column gives the name of column i as the server wrote it.
func (r Row) Column(i int) string { return r.columns.names[i] }

// Text gives the first column that exists among the lower-case names: old and new spellings of one
// thing. NULL and a missing column give "", false.
func (r Row) Text(names ...string) (string, bool) {
	i := r.find(names)
	if i < 0 || r.values[i] == nil {
		return "", false
	}
	return string(r.values[i]), true
}

// Num is like Text for a number; text that is not a number gives no value.
func (r Row) Num(names ...string) monolith.Num {
	i := r.find(names)
	if i < 0 || r.values[i] == nil {
		return monolith.Num{}
	}
	n, _ := monolith.ParseNum(r.values[i])
	return n
}

// Int is like Text for an integer; ok is false for NULL, a missing column and text.
func (r Row) Int(names ...string) (v int64, ok bool) {
	s, ok := r.Text(names...)
	if !ok {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil
}

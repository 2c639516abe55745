package replay

import (
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"monolith"
)

// A Recording is what one server said. It is shared between servers and never changes: the methods give copies.
type Recording struct {
	Version string // the variable of that name, which the greeting says too

	identity  monolith.Identity
	variables []pair
	status    []pair
	values    map[string]string  // variables by lower-case name
	results   map[string]*Result // by statement in capitals, "TABLE schema.name" or "ROWS schema.name"
	keys      []string           // of results, the longest first
	partial   bool               // the variables are not all that the server has

	prepared *sync.Map // statement → *prepared
}

// pair is a row of SHOW VARIABLES or SHOW STATUS.
type pair struct {
	name, value string
	number      uint64 // of a counter
	counts      bool
}

// Row is one row of a result; nil is NULL.
type Row [][]byte

// Result is the answer to one statement: columns and rows, or an error. Without either it is an OK.
type Result struct {
	Columns []Column
	Rows    []Row
	Err     *Error
}

// Column is a column of a result. The zero Type is text.
type Column struct {
	Name string
	Type byte // of the protocol: 8 is BIGINT, 0xfd text
}

// Error is an error packet.
type Error struct {
	Code  uint16
	State string // five characters; "" leaves it out, as before the login
	Text  string
}

// Table makes a result of texts.
func Table(columns []string, rows ...[]string) *Result {
	r := &Result{}
	for _, name := range columns {
		r.Columns = append(r.Columns, Column{Name: name})
	}
	for _, row := range rows {
		r.Rows = append(r.Rows, text(row...))
	}
	return r
}

// fewVariables is what tells a recording of some variables from one of all: no version has fewer than 200.
const fewVariables = 150

// Record makes a recording of the variables and the status of a server. Variables that every server has and that are
// not given are as on a fresh one.
func Record(variables, status map[string]string) *Recording {
	r := &Recording{results: map[string]*Result{}}
	r.setVariables(pairs(variables))
	r.status = pairs(status)
	return r.ready()
}

func pairs(m map[string]string) []pair {
	var list []pair
	for _, name := range slices.Sorted(maps.Keys(m)) {
		list = append(list, pair{name: name, value: m[name]})
	}
	return list
}

func (r *Recording) setVariables(list []pair) {
	r.variables = list
	r.partial = len(list) < fewVariables
	r.values = make(map[string]string, len(list))
	for _, p := range list {
		r.values[strings.ToLower(p.name)] = p.value
	}
}

// ready computes what is derived from the rest.
func (r *Recording) ready() *Recording {
	r.prepared = new(sync.Map)
	r.Version = r.values["version"]
	r.identity = monolith.Identify(r.values)
	for i := range r.status {
		p := &r.status[i]
		n, ok := monolith.ParseNum([]byte(p.value))
		bits, isFloat, isNegative, some := n.Bits()
		p.counts = ok && some && !isFloat && !isNegative && monolith.KindOf("status."+p.name) == monolith.Counter
		p.number = bits
	}
	r.keys = slices.SortedFunc(maps.Keys(r.results), func(a, b string) int { return len(b) - len(a) })
	return r
}

func (r *Recording) copy() *Recording {
	c := *r
	c.results = maps.Clone(r.results)
	return &c
}

// With gives a copy that answers a statement, or each one that begins like it, with a result. "TABLE schema.name"
// stands for every SELECT from that table; "ROWS schema.name" are rows of the table, from which SELECTs are
// computed.
func (r *Recording) With(statement string, result *Result) *Recording {
	c := r.copy()
	c.results[strings.ToUpper(normal(statement))] = result
	return c.ready()
}

// WithVariables gives a copy with other values of variables; those that it does not have are added.
func (r *Recording) WithVariables(values map[string]string) *Recording {
	c := r.copy()
	partial := r.partial
	c.setVariables(merge(r.variables, values))
	c.partial = partial
	return c.ready()
}

// WithStatus is like [Recording.WithVariables] for SHOW STATUS.
func (r *Recording) WithStatus(values map[string]string) *Recording {
	c := r.copy()
	c.status = merge(r.status, values)
	return c.ready()
}

func merge(old []pair, values map[string]string) []pair {
	list := slices.Clone(old)
	for _, p := range pairs(values) {
		if i := slices.IndexFunc(list, func(q pair) bool { return strings.EqualFold(q.name, p.name) }); i >= 0 {
			list[i].value = p.value
		} else {
			list = append(list, p)
		}
	}
	return list
}

// StatusNames gives the names of SHOW GLOBAL STATUS.
func (r *Recording) StatusNames() iter.Seq[string] { return namesOf(r.status) }

// VariableNames gives the names of SHOW GLOBAL VARIABLES.
func (r *Recording) VariableNames() iter.Seq[string] { return namesOf(r.variables) }

func namesOf(list []pair) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, p := range list {
			if !yield(p.name) {
				return
			}
		}
	}
}

// normal is a statement without comments, a semicolon and more than one space in a row.
func normal(statement string) string {
	for {
		from := strings.Index(statement, "/*")
		if from < 0 {
			break
		}
		end := strings.Index(statement[from:], "*/")
		if end < 0 {
			break
		}
		statement = statement[:from] + " " + statement[from+end+2:]
	}
	return strings.TrimRight(strings.Join(strings.Fields(statement), " "), "; ")
}

// plugin is how accounts log in by default: "" where a version knows no plug-ins.
func (r *Recording) plugin() string {
	switch l := r.language(); {
	case l.has(since{mysql: v(8, 0, 4)}):
		return cachingSHA2
	case l.has(since{mysql: v(5, 5, 7), mariadb: v(5, 2)}):
		return nativePassword
	}
	return ""
}

// greetingVersion is the version as the greeting says it: MariaDB 10 pretends to be a 5.5.5.
func (r *Recording) greetingVersion() string {
	if id := r.identity; id.Flavour == monolith.MariaDB && id.Version.Major == 10 {
		return "5.5.5-" + r.Version
	}
	return r.Version
}

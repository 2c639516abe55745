package replay

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// prepared is an answer that is the same each time.
type prepared struct {
	result *Result
	sent   encoded
	refuse *Error
}

// mostPrepared bounds how many answers a recording keeps encoded.
const mostPrepared = 1000

// answer gives the answer to a statement, which is normal, as it goes over the wire.
func (c *conn) answer(statement string, p plan) encoded {
	if p.fail != nil {
		return encode(p.apply(nil))
	}
	r := c.live(statement)
	if r == nil {
		a := c.rec.prepare(statement)
		if a.refuse != nil {
			c.s.refuse(statement, a.refuse)
		}
		if len(p.edits) == 0 && p.rows == 0 {
			return a.sent
		}
		r = a.result
	}
	return encode(p.apply(r))
}

// prepare answers what does not depend on the connection and the time.
func (r *Recording) prepare(statement string) *prepared {
	if a, ok := r.prepared.Load(statement); ok {
		return a.(*prepared)
	}
	a := &prepared{}
	a.result = r.recorded(statement)
	if a.result == nil {
		if a.refuse = r.language().refuse(statement); a.refuse != nil {
			a.result = &Result{Err: a.refuse}
		} else {
			a.result = r.usual(statement)
		}
	}
	a.sent = encode(a.result)
	n := 0
	r.prepared.Range(func(any, any) bool { n++; return n < mostPrepared })
	if n < mostPrepared {
		r.prepared.Store(statement, a)
	}
	return a
}

// recorded gives what the recording holds for a statement, or nil.
func (r *Recording) recorded(statement string) *Result {
	upper := strings.ToUpper(statement)
	if upper == "SHOW COLUMNS FROM MYSQL.USER" && r.results["ROWS MYSQL.USER"] != nil {
		columns := Table([]string{"Field"})
		for _, c := range r.results["ROWS MYSQL.USER"].Columns {
			columns.Rows = append(columns.Rows, text(c.Name))
		}
		return columns
	}
	for _, key := range r.keys {
		if strings.HasPrefix(upper, key) && !(isWord(upper, len(key)) && isWord(upper, len(key)-1)) {
			return r.results[key]
		}
	}
	if upper == "SHOW ALL SLAVES STATUS" { // of a MariaDB with one connection
		return r.results["SHOW SLAVE STATUS"]
	}
	if m := fromTable.FindStringSubmatch(statement); m != nil && strings.HasPrefix(upper, "SELECT") {
		table := strings.ToUpper(m[1] + "." + m[2])
		if rows := r.results["ROWS "+table]; rows != nil {
			if result, ok := selected(statement, rows); ok {
				return result
			}
		}
		return r.results["TABLE "+table]
	}
	return nil
}

// live answers what depends on the connection, the time and the counters; nil is anything else.
func (c *conn) live(statement string) *Result {
	upper := strings.ToUpper(statement)
	switch {
	case strings.HasPrefix(upper, "KILL "):
		return c.kills(statement)
	case strings.HasPrefix(upper, "SHOW GLOBAL STATUS"), strings.HasPrefix(upper, "SHOW SESSION STATUS"), strings.HasPrefix(upper, "SHOW STATUS"):
		if c.rec.recorded(statement) != nil {
			return nil
		}
		return filtered(c.statusRows(), statement)
	case strings.HasPrefix(upper, "SHOW VARIABLES"), strings.HasPrefix(upper, "SHOW SESSION VARIABLES"):
		list := append([]pair{{name: "pseudo_thread_id", value: strconv.FormatUint(uint64(c.id), 10)}}, c.rec.variables...)
		return filtered(variableRows(list), statement)
	case strings.HasPrefix(upper, "SHOW GLOBAL VARIABLES"):
		if strings.ContainsRune(upper, '\'') {
			return filtered(variableRows(c.rec.variables), statement)
		}
	case upper == "SHOW FULL PROCESSLIST", upper == "SHOW PROCESSLIST":
		if c.rec.recorded(statement) == nil {
			return c.s.processes(statement)
		}
	case strings.HasPrefix(upper, "SELECT ") && !strings.Contains(upper, " FROM "):
		if c.rec.recorded(statement) == nil && c.rec.language().refuse(statement) == nil {
			return c.scalars(statement[len("SELECT "):])
		}
	}
	return nil
}

func (c *conn) kills(statement string) *Result {
	id, ok := killed(statement)
	if !ok {
		return &Result{Err: syntaxError(statement)}
	}
	if !c.s.kill(id) {
		return &Result{Err: &Error{1094, "HY000", "Unknown thread id: " + strconv.FormatUint(uint64(id), 10)}}
	}
	return &Result{}
}

// processes lists the server's own threads, where the recording has no list.
func (s *Server) processes(statement string) *Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Table([]string{"Id", "User", "Host", "db", "Command", "Time", "State", "Info"})
	for _, id := range slices.Sorted(maps.Keys(s.threads)) {
		r.Rows = append(r.Rows, Row{number(uint64(id)), []byte(s.user), []byte("127.0.0.1:1"), nil, []byte("Query"), []byte("0"), []byte("init"), []byte(statement)})
	}
	return r
}

// statusRows are those of SHOW STATUS now.
func (c *conn) statusRows() *Result {
	s := c.s
	s.mu.Lock()
	up, restarted, reset, resetAt := time.Since(s.started), s.restarted, s.reset, s.resetAt
	s.mu.Unlock()
	list := c.rec.status
	r := &Result{Columns: namesAndValues, Rows: make([]Row, len(list))}
	cells := make([][]byte, 2*len(list))
	names, digits := c.rec.statusCells(), make([]byte, 0, 12*len(list))
	for i := range list {
		p := &list[i]
		row := cells[2*i : 2*i+2 : 2*i+2]
		row[0], row[1] = names[2*i], names[2*i+1]
		n, own := uint64(0), true
		switch {
		case p.name == "Uptime":
			n = uint64(up / time.Second)
			if !restarted {
				n += p.number
			}
		case !p.counts || s.counters == nil && !reset:
			own = false
		default:
			n = p.number
			if s.counters != nil {
				n = s.counters(p.name, p.number, up)
			}
			if reset {
				n -= s.countAt(p, resetAt)
			}
		}
		if own {
			from := len(digits)
			digits = strconv.AppendUint(digits, n, 10)
			row[1] = digits[from:len(digits):len(digits)]
		}
		r.Rows[i] = row
	}
	return r
}

func (s *Server) countAt(p *pair, up time.Duration) uint64 {
	if s.counters == nil {
		return p.number
	}
	return s.counters(p.name, p.number, up)
}

var namesAndValues = []Column{{Name: "Variable_name"}, {Name: "Value"}}

// statusCells are the recorded names and values, one after the other.
func (r *Recording) statusCells() [][]byte {
	if cells, ok := r.prepared.Load("\x00status"); ok {
		return cells.([][]byte)
	}
	var cells [][]byte
	for _, p := range r.status {
		cells = append(cells, []byte(p.name), []byte(p.value))
	}
	r.prepared.Store("\x00status", cells)
	return cells
}

func variableRows(list []pair) *Result {
	r := &Result{Columns: namesAndValues}
	for _, p := range list {
		r.Rows = append(r.Rows, text(p.name, p.value))
	}
	return r
}

// quoted finds the texts in a LIKE or IN of a SHOW statement.
var quoted = regexp.MustCompile(`'([^']*)'`)

// filtered keeps the rows that a LIKE or a WHERE asks for.
func filtered(r *Result, statement string) *Result {
	wanted := quoted.FindAllStringSubmatch(statement, -1)
	if wanted == nil {
		return r
	}
	kept := &Result{Columns: r.Columns}
	for _, row := range r.Rows {
		for _, w := range wanted {
			if like(strings.ToLower(w[1]), strings.ToLower(string(row[0]))) {
				kept.Rows = append(kept.Rows, row)
				break
			}
		}
	}
	return kept
}

// like matches % only: an underscore in a name means itself here.
func like(pattern, name string) bool {
	first, rest, some := strings.Cut(pattern, "%")
	if !some {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for i := range len(name) + 1 {
		if like(rest, name[i:]) {
			return true
		}
	}
	return false
}

// scalars answers a SELECT without FROM.
func (c *conn) scalars(list string) *Result {
	r := &Result{Rows: []Row{nil}}
	for _, e := range selectList(list) {
		r.Columns = append(r.Columns, Column{Name: e.alias})
		r.Rows[0] = append(r.Rows[0], c.scalar(e.text))
	}
	return r
}

func (c *conn) scalar(expression string) []byte {
	account := c.user + "@127.0.0.1"
	upper := strings.ToUpper(expression)
	switch {
	case upper == "CURRENT_USER()", upper == "USER()":
		return []byte(account)
	case upper == "CONNECTION_ID()":
		return number(uint64(c.id))
	case upper == "UNIX_TIMESTAMP()":
		return number(uint64(c.s.now().Unix()))
	case strings.HasPrefix(upper, "UNIX_TIMESTAMP(NOW("):
		return strconv.AppendFloat(nil, float64(c.s.now().UnixMicro())/1e6, 'f', 6, 64)
	case upper == "VERSION()":
		return []byte(c.rec.Version)
	case strings.HasPrefix(upper, "@@"):
		name := strings.ToLower(expression[2:])
		name = strings.TrimPrefix(strings.TrimPrefix(name, "global."), "session.")
		if value, ok := c.rec.values[name]; ok {
			return []byte(value)
		}
	case len(expression) > 0 && expression[0] >= '0' && expression[0] <= '9':
		return []byte(expression)
	}
	return nil
}

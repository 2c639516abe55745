package replay

import (
	"slices"
	"strings"
	"time"
)

// A Fault is one way in which a server misbehaves. It concerns every statement until it is bound to one with
// [Fault.On].
type Fault struct {
	on      string
	delay   time.Duration // below 0: until killed or cleared
	fail    *Error
	greet   *Error
	silent  bool
	drip    time.Duration
	cut     bool
	offline bool
	reset   bool
	rows    int
	clock   time.Duration
	edit    func(*Result)
}

// On gives the fault for statements that begin like this one alone, without regard to case.
func (f Fault) On(statement string) Fault {
	f.on = normal(statement)
	return f
}

// concerns reports whether the fault is one of a statement, which is normal.
func (f *Fault) concerns(statement string) bool {
	return f.on == "" || len(statement) >= len(f.on) && strings.EqualFold(statement[:len(f.on)], f.on)
}

// Delay lets answers come late. The statement's thread exists meanwhile, whether its client waits or not.
func Delay(d time.Duration) Fault { return Fault{delay: d} }

// Hang lets statements run until they are killed or the faults are cleared.
func Hang() Fault { return Fault{delay: -1} }

// Fail answers with an error.
func Fail(code uint16, state, text string) Fault { return Fault{fail: &Error{code, state, text}} }

// Silent accepts connections and says nothing, not even a greeting, until the faults are cleared.
func Silent() Fault { return Fault{silent: true} }

// Refuse greets new connections with an error.
func Refuse(code uint16, text string) Fault { return Fault{greet: &Error{Code: code, Text: text}} }

// TooManyConnections is error 1040: max_connections is reached.
func TooManyConnections() Fault { return Refuse(1040, "Too many connections") }

// HostBlocked is error 1129.
func HostBlocked() Fault {
	return Refuse(1129, "Host '127.0.0.1' is blocked because of many connection errors; unblock with 'mysqladmin flush-hosts'")
}

// Offline is offline_mode: connections that exist are cut and new ones are refused after the login with error 3032.
func Offline() Fault { return Fault{offline: true} }

// Drip sends what the server says byte by byte, one in each interval.
func Drip(every time.Duration) Fault { return Fault{drip: every} }

// CutRow ends the connection in the middle of an answer's first row.
func CutRow() Fault { return Fault{cut: true} }

// Rows repeats an answer's last row until there are n.
func Rows(n int) Fault { return Fault{rows: n} }

// Edit changes answers with columns before they are sent. f is given a copy.
func Edit(f func(*Result)) Fault { return Fault{edit: f} }

// Value changes what the row named so in its first column holds in its second, as in SHOW STATUS, or else what the
// column of that name holds in every row.
func Value(name, value string) Fault {
	return editCell(name, func(cell *[]byte) { *cell = []byte(value) })
}

// Null makes it NULL.
func Null(name string) Fault { return editCell(name, func(cell *[]byte) { *cell = nil }) }

func editCell(name string, change func(*[]byte)) Fault {
	return Edit(func(r *Result) {
		row, column := r.find(name)
		switch {
		case row >= 0:
			change(&r.Rows[row][1])
		case column >= 0:
			for _, row := range r.Rows {
				change(&row[column])
			}
		}
	})
}

// Missing leaves out the row named so in its first column, or else the column of that name.
func Missing(name string) Fault {
	return Edit(func(r *Result) {
		row, column := r.find(name)
		switch {
		case row >= 0:
			r.Rows = slices.Delete(r.Rows, row, row+1)
		case column >= 0:
			r.Columns = slices.Delete(r.Columns, column, column+1)
			for i := range r.Rows {
				r.Rows[i] = slices.Delete(r.Rows[i], column, column+1)
			}
		}
	})
}

// Renamed gives it another name.
func Renamed(name, to string) Fault {
	return Edit(func(r *Result) {
		row, column := r.find(name)
		switch {
		case row >= 0:
			r.Rows[row][0] = []byte(to)
		case column >= 0:
			r.Columns[column].Name = to
		}
	})
}

// Typed gives a column a type of the protocol, for which its values may be no text at all.
func Typed(name string, kind byte) Fault {
	return Edit(func(r *Result) {
		for i := range r.Columns {
			if strings.EqualFold(r.Columns[i].Name, name) {
				r.Columns[i].Type = kind
			}
		}
	})
}

// Reset lets the counters begin at 0 now, without a restart.
func Reset() Fault { return Fault{reset: true} }

// ClockJump moves the server's clock for good, also after [Server.Clear].
func ClockJump(d time.Duration) Fault { return Fault{clock: d} }

// plan is what all faults do to one statement.
type plan struct {
	delay time.Duration
	fail  *Error
	drip  time.Duration
	cut   bool
	rows  int
	edits []func(*Result)
}

func planFor(faults []Fault, statement string) plan {
	var p plan
	for i := range faults {
		f := &faults[i]
		if !f.concerns(statement) {
			continue
		}
		switch {
		case f.delay != 0:
			p.delay = f.delay
		case f.fail != nil:
			p.fail = f.fail
		case f.drip > 0:
			p.drip = f.drip
		case f.cut:
			p.cut = true
		case f.rows > 0:
			p.rows = f.rows
		case f.edit != nil:
			p.edits = append(p.edits, f.edit)
		}
	}
	return p
}

// apply changes a copy of an answer. An answer without columns stays as it is.
func (p plan) apply(r *Result) *Result {
	if p.fail != nil {
		return &Result{Err: p.fail}
	}
	if len(r.Columns) == 0 || len(p.edits) == 0 && p.rows == 0 {
		return r
	}
	r = r.clone()
	for _, edit := range p.edits {
		edit(r)
	}
	if n := len(r.Rows); n > 0 && n < p.rows {
		last := r.Rows[n-1]
		r.Rows = slices.Grow(r.Rows, p.rows-n)
		for range p.rows - n {
			r.Rows = append(r.Rows, last)
		}
	}
	return r
}

// clone copies all but the bytes of the values.
func (r *Result) clone() *Result {
	c := &Result{Columns: slices.Clone(r.Columns), Rows: make([]Row, len(r.Rows)), Err: r.Err}
	for i, row := range r.Rows {
		c.Rows[i] = slices.Clone(row)
	}
	return c
}

// find gives the row whose first column is a name, where rows are pairs, or else the column of that name; both are
// -1 where there is none.
func (r *Result) find(name string) (row, column int) {
	if len(r.Columns) == 2 {
		for i, row := range r.Rows {
			if strings.EqualFold(string(row[0]), name) {
				return i, -1
			}
		}
	}
	return -1, slices.IndexFunc(r.Columns, func(c Column) bool { return strings.EqualFold(c.Name, name) })
}

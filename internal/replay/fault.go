package replay

import (
	"time"
)

// A Fault is one way in which a server misbehaves. Build one with the functions below; a field that is set says what
// goes wrong. A fault concerns every statement until it is bound to one with [Fault.On].
type Fault struct {
	on     string
	delay  time.Duration
	fail   *Error
	greet  *Error
	silent bool
	mute   bool
	drip   time.Duration
	cut    bool
	rows   int
	edit   func(*Result)
	clock  time.Duration
}

// On gives the fault for statements that begin like this one alone, without regard to case.
func (f Fault) On(statement string) Fault { f.on = statement; return f }

// Delay lets answers come late.
func Delay(d time.Duration) Fault { return Fault{delay: d} }

// Hang lets statements run until they are killed or the faults are cleared.
func Hang() Fault { return Fault{delay: -1} }

// Fail answers with an error.
func Fail(code uint16, state, text string) Fault { return Fault{fail: &Error{code, state, text}} }

// Silent accepts connections and says nothing, not even a greeting.
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
func Offline() Fault { return Fault{} }

// Drip sends answers byte by byte, one in each interval.
func Drip(every time.Duration) Fault { return Fault{drip: every} }

// CutRow ends the connection in the middle of an answer's first row.
func CutRow() Fault { return Fault{cut: true} }

// Rows repeats an answer's last row until there are n.
func Rows(n int) Fault { return Fault{rows: n} }

// Edit changes answers before they are sent. The result is a copy of the recorded one.
func Edit(f func(*Result)) Fault { return Fault{edit: f} }

// Value changes what a row named so in its first column, as in SHOW STATUS, or else the column of that name, holds.
func Value(name, value string) Fault { return Fault{} }

// Null makes it NULL.
func Null(name string) Fault { return Fault{} }

// Missing leaves out the row named so in its first column, or else the column of that name.
func Missing(name string) Fault { return Fault{} }

// Renamed gives it another name.
func Renamed(name, to string) Fault { return Fault{} }

// Reset lets the counters begin at 0 now, without a restart, as FLUSH STATUS does for some.
func Reset() Fault { return Fault{} }

// ClockJump moves the server's clock.
func ClockJump(d time.Duration) Fault { return Fault{clock: d} }

package poller

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"monolith"
)

const (
	maxDeadlockSides = 10
	maxDeadlockLocks = 10  // held, and waited for, by one side
	maxDeadlockLines = 500 // of a statement
)

// Lines of the section about the latest deadlock. MySQL up to 5.7 does not say what the first side
// holds; MariaDB says since 10.6 with what a lock conflicts instead.
var (
	deadlockThread = regexp.MustCompile(`^(?:MySQL|MariaDB) thread id (\d+),.* query id \d+ (.*)$`)
	deadlockActive = regexp.MustCompile(`^TRANSACTION .*ACTIVE(?: \(PREPARED\))? (\d+) sec`)
	deadlockLock   = regexp.MustCompile("^(RECORD|TABLE) LOCKS? .*?(?:index `?([^` ]+)`? of )?table (`[^`]*`(?:\\.`[^`]*`)?|\\S+) .*?lock[_ ]mode (.*)$")
	deadlockSide   = regexp.MustCompile(`^\*\*\* (?:\(\d+\) )?(TRANSACTION|HOLDS|WAITING)`)
	deadlockVictim = regexp.MustCompile(`^\*\*\* WE ROLL BACK TRANSACTION \((\d+)\)`)
)

// parseDeadlock reads the section about the latest deadlock out of the text of SHOW ENGINE INNODB STATUS; what is not understood
// has no value. The rows that were locked stand there too, with their data: of those lines nothing is kept.
func parseDeadlock(text string, keep bool) monolith.Deadlock {
	d := monolith.Deadlock{Transactions: []monolith.DeadlockTransaction{}}
	_, text, ok := strings.Cut(text, "\nLATEST DETECTED DEADLOCK\n")
	if !ok {
		return d
	}
	var side *monolith.DeadlockTransaction
	var list *[]string       // where locks go
	var statement []string   // of side, while it is being read
	reading, at := false, -2 // at: the line's number; after the rule below the heading comes the time
	end := func() {
		if side != nil && reading {
			side.Statement = statementText([]byte(strings.Join(statement, "\n")), keep)
		}
		reading, statement = false, nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		at++
		if at == 0 {
			d.At = deadlockTime(line)
		}
		if at > 0 && strings.HasPrefix(line, "-----") && !reading {
			break // the next section's heading
		}
		m := deadlockSide.FindStringSubmatch(line)
		switch {
		case m != nil && m[1] == "TRANSACTION":
			end()
			if len(d.Transactions) == maxDeadlockSides {
				return d
			}
			d.Transactions = append(d.Transactions, monolith.DeadlockTransaction{Holds: []string{}, Waits: []string{}})
			side, list = &d.Transactions[len(d.Transactions)-1], nil
		case m != nil && side != nil:
			end()
			if list = &side.Waits; m[1] == "HOLDS" {
				list = &side.Holds
			}
		case strings.HasPrefix(line, "*** WE ROLL BACK"):
			end()
			if m := deadlockVictim.FindStringSubmatch(line); m != nil {
				d.Victim, _ = strconv.Atoi(m[1])
			}
			return d
		case strings.HasPrefix(line, "*** "):
			end()
			list = nil // CONFLICTING WITH: locks of the other side
		case reading:
			if len(statement) < maxDeadlockLines {
				statement = append(statement, line)
			}
		case side != nil:
			if m := deadlockThread.FindStringSubmatch(line); m != nil {
				side.Thread, _ = strconv.ParseUint(m[1], 10, 64)
				side.Host, side.User = deadlockWho(m[2])
				reading = true
			} else if m := deadlockActive.FindStringSubmatch(line); m != nil {
				side.Seconds, _ = strconv.ParseInt(m[1], 10, 64)
			} else if m := deadlockLock.FindStringSubmatch(line); m != nil && list != nil && len(*list) < maxDeadlockLocks {
				*list = append(*list, lockWords(m))
			}
		}
	}
	end()
	return d
}

// unquoted takes the quotes off names, which are those of the sql_mode.
var unquoted = strings.NewReplacer("`", "", `"`, "")

// lockWords says a lock shortly: "RECORD index PRIMARY of shop.t, X locks rec but not gap".
func lockWords(m []string) string {
	words := m[1]
	if m[2] != "" {
		words += " index " + strings.Trim(m[2], `"`) + " of"
	}
	table := unquoted.Replace(m[3])
	return cut(printable(words+" "+table+", "+strings.TrimSuffix(m[4], " waiting")), 256)
}

// deadlockWho reads "localhost root updating" and "db1 10.0.0.1 root updating".
func deadlockWho(s string) (host, user string) {
	f := strings.Fields(printable(s))
	if len(f) < 2 {
		return "", ""
	}
	host, user = f[0], f[1]
	if _, err := netip.ParseAddr(f[1]); err == nil && len(f) > 2 {
		user = f[2]
	}
	return cut(host, 256), cut(user, 128)
}

// deadlockTime reads "2026-11-30 21:02:07 0x7f…" and, of 5.5 and before, "261130 21:02:07".
func deadlockTime(line string) time.Time {
	f := strings.Fields(line)
	if len(f) < 2 {
		return time.Time{}
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "060102 15:04:05"} {
		if t, err := time.Parse(layout, f[0]+" "+f[1]); err == nil {
			return t
		}
	}
	return time.Time{}
}

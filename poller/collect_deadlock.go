package poller

import (
	"context"
	"time"

	"monolith"
)

// deadlockCollector reads what the latest deadlock was about.
func deadlockCollector() *Collector {
	return &Collector{
		Name:    "deadlock",
		Title:   "Latest deadlock",
		Help:    "The statements and locks of InnoDB's latest deadlock, with literals masked; read only when there was a new one, as far as the server counts them.",
		Timeout: 5 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			if v := g.variable("have_innodb"); v == "NO" || v == "DISABLED" {
				return false, "InnoDB is switched off on this server"
			}
			return true, ""
		},
		Grant:   func(_ monolith.Identity, account string) string { return grantGlobal("PROCESS", account) },
		Collect: collectDeadlock,
	}
}

// deadlockAge is how often servers are asked that do not count all deadlocks.
const deadlockAge = time.Hour

func collectDeadlock(ctx context.Context, g *Gather) error {
	count, all := deadlocks(g)
	if g.State != nil && g.State.Deadlock != nil {
		last := g.State.Deadlock
		same := count == nil || last.Count != nil && *count == *last.Count
		if same && (all || g.Now.Sub(last.Taken) < deadlockAge) {
			return nil
		}
	}
	d := monolith.Deadlock{Transactions: []monolith.DeadlockTransaction{}}
	if !all || *count > 0 {
		err := g.Session.Query(ctx, "SHOW ENGINE INNODB STATUS", func(row Row) error {
			d = parseDeadlock(string(row.Bytes(row.Len()-1)), g.Server.KeepTexts)
			return nil
		})
		if err != nil {
			return err
		}
	}
	d.Taken, d.Count = g.Now, count
	g.snapshot.Deadlock = &d
	return nil
}

// deadlocks gives the server's count of deadlocks as of the last poll: MariaDB ≥ 10.5 and Percona Server have it in their status, MySQL ≥ 5.6
// and older MariaDB among InnoDB's counters. nil: it is not counted, or not known yet. all is false where that counter may miss some:
// MySQL 5.6 and 5.7 do not count those that end the transaction which finds them.
func deadlocks(g *Gather) (count *float64, all bool) {
	for _, name := range []string{"status.Innodb_deadlocks", "innodb.lock_deadlocks"} {
		if n, _, ok := g.State.Value(monolith.Metric{Name: name}); ok {
			return new(n.Float64()), name == "status.Innodb_deadlocks" || has(g.Identity, since{mysql: v(8), mariadb: v(10)})
		}
	}
	return nil, false
}

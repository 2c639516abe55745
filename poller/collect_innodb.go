package poller

import (
	"bytes"
	"context"
	"time"

	"monolith"
)

// innodbCollector reads InnoDB's own counters and how many transactions are open.
func innodbCollector() *Collector {
	return &Collector{
		Name:    "innodb",
		Title:   "InnoDB",
		Help:    "InnoDB's own counters, open transactions and lock waits.",
		Timeout: 5 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			if g.Identity.Flavour == monolith.TiDB {
				return false, "TiDB has no InnoDB"
			}
			if v := g.Variables.Value("have_innodb"); v == "NO" || v == "DISABLED" {
				return false, "InnoDB is switched off on this server"
			}
			return true, ""
		},
		Grant:   func(_ monolith.Identity, account string) string { return grantGlobal("PROCESS", account) },
		Collect: collectInnoDB,
	}
}

// Of INNODB_METRICS only what is switched on is read: the rest stands still. MariaDB renamed the column in 10.5.
const (
	metricsByStatus  = "SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE STATUS = 'enabled'"
	metricsByEnabled = "SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE ENABLED = 1"
)

// openTransactions is one row. trx_started is in the time zone of the server's system, not of the session.
const openTransactions = "SELECT COUNT(*) AS open, SUM(trx_state = 'LOCK WAIT') AS waiting," +
	" GREATEST(0, TIMESTAMPDIFF(SECOND, MIN(trx_started), CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM'))) AS oldest" +
	" FROM information_schema.INNODB_TRX"

func collectInnoDB(ctx context.Context, g *Gather) error {
	rec := g.Recorder("innodb")
	var text *innodbText
	readText := func() error {
		if text != nil {
			return nil
		}
		return g.Session.Query(ctx, "SHOW ENGINE INNODB STATUS", func(row Row) error {
			t := parseInnoDBText(string(row.Bytes(row.Len() - 1))) // 5.0 has one column, later versions three
			text = &t
			return nil
		})
	}

	unknown := g.Identity.Version.IsZero()
	if unknown || has(g.Identity, since{mysql: v(5, 5), mariadb: v(5, 1)}) {
		err := g.Session.Query(ctx, openTransactions, func(row Row) error {
			open := row.Num("open")
			waiting, oldest := row.Num("waiting"), row.Num("oldest")
			if open == monolith.Uint(0) { // sums and ages of nothing are NULL
				waiting, oldest = open, open
			}
			rec.Number("transactions", "", open)
			rec.Number("transactions_waiting", "", waiting)
			rec.Number("oldest_transaction_seconds", "", oldest)
			return nil
		})
		if err != nil {
			return err
		}
	} else {
		if err := readText(); err != nil {
			return err
		}
		if text != nil {
			rec.Number("transactions", "", text.Transactions)
			rec.Number("transactions_waiting", "", text.Waiting)
			rec.Number("oldest_transaction_seconds", "", text.Oldest)
		}
	}

	if unknown || has(g.Identity, since{mysql: v(5, 6), mariadb: v(10)}) {
		statements := []string{metricsByStatus, metricsByEnabled}
		if has(g.Identity, since{mariadb: v(10, 5)}) {
			statements[0], statements[1] = statements[1], statements[0]
		} else if g.Identity.Flavour.IsMySQL() && !unknown {
			statements = statements[:1]
		}
		counted := map[string]bool{} // of the redo log
		err := g.Session.Either(ctx, func(row Row) error {
			if name := row.Bytes(0); bytes.HasPrefix(name, []byte("log_lsn_")) {
				counted[string(name)] = true
			}
			rec.Add(row.Bytes(0), row.Bytes(1))
			return nil
		}, statements...)
		if err != nil {
			return err
		}
		if !counted["log_lsn_checkpoint_age"] && !tellsCheckpointAge(g) {
			err := readText()
			if err == nil {
				recordLog(g, rec, text, counted)
			} else if err := noteRefusal(g, err, "the checkpoint age can't be read", grantGlobal("PROCESS", g.Account)); err != nil {
				return err
			}
		}
	} else {
		if err := readText(); err != nil {
			return err
		}
		if text != nil {
			rec.Number("trx_rseg_history_len", "", text.History)
		}
		recordLog(g, rec, text, nil)
	}
	rec.Done()
	return nil
}

// tellsCheckpointAge reports whether the status says how much of the redo log is in use, so that nobody needs the counters of
// it, which are switched off unless somebody switches them on. MariaDB 10.2 to 10.4 and MySQL before 8.0.30 do not, Percona
// Server and MariaDB up to 10.1 do; Aurora has no redo log of this kind.
func tellsCheckpointAge(g *Gather) bool {
	if g.Identity.Flavour == monolith.Aurora || has(g.Identity, since{mysql: v(8, 0, 30), mariadb: v(10, 5)}) {
		return true
	}
	_, _, ok := g.State.Value(monolith.Metric{Name: "status.Innodb_checkpoint_age"})
	return ok
}

// recordLog records the positions in the redo log that the text tells, under the names that counters have. counted are
// those that are recorded already.
func recordLog(g *Gather, rec *Recorder, text *innodbText, counted map[string]bool) {
	if text == nil {
		text = &innodbText{}
	}
	age := text.CheckpointAge()
	for _, x := range []struct {
		name  string
		value monolith.Num
	}{
		{"log_lsn_current", text.LSN}, {"log_lsn_last_flush", text.Flushed},
		{"log_lsn_last_checkpoint", text.Checkpoint}, {"log_lsn_checkpoint_age", age},
	} {
		if !counted[x.name] {
			rec.Number(x.name, "", x.value)
		}
	}
	if age.IsNone() {
		g.Note(monolith.ProblemPartial, "the checkpoint age is not known: SHOW ENGINE INNODB STATUS names no log sequence number and last checkpoint", "")
	}
}

package poller

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
)

const (
	maxTransactions = 100
	oldTransaction  = 10 // seconds: younger ones are listed only while they wait
)

// transactionsCollector lists the transactions that are old or wait.
func transactionsCollector() *Collector {
	return &Collector{
		Name:    "transactions",
		Title:   "Transactions",
		Help:    "InnoDB's transactions that have been open for more than ten seconds or wait for a lock, whose they are, and who holds the lock.",
		Timeout: 5 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			if !has(g.Identity, since{mysql: v(5, 5), mariadb: v(5, 1)}) {
				return false, "only MySQL from 5.5 and MariaDB from 5.1 on list their transactions"
			}
			if v := g.variable("have_innodb"); v == "NO" || v == "DISABLED" {
				return false, "InnoDB is switched off on this server"
			}
			return true, ""
		},
		Grant:   func(_ monolith.Identity, account string) string { return grantGlobal("PROCESS", account) },
		Collect: collectTransactions,
	}
}

// systemNow is the time in the zone of the server's system, in which INNODB_TRX writes its times.
const systemNow = "CONVERT_TZ(NOW(), @@session.time_zone, 'SYSTEM')"

// oldTransactions lists them, the oldest first.
var oldTransactions = "SELECT trx_id AS id, trx_state AS state, GREATEST(0, TIMESTAMPDIFF(SECOND, trx_started, " + systemNow + ")) AS seconds," +
	" trx_mysql_thread_id AS thread, GREATEST(0, TIMESTAMPDIFF(SECOND, trx_wait_started, " + systemNow + ")) AS lock_wait, trx_rows_modified AS modified," +
	" trx_rows_locked AS locked, trx_tables_locked AS tables_locked, trx_isolation_level AS isolation, trx_query AS query" +
	" FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT' OR trx_started < " + systemNow + " - INTERVAL " + itoa(oldTransaction) + " SECOND" +
	" ORDER BY trx_started LIMIT " + itoa(maxTransactions)

func itoa(n int) string { return strconv.Itoa(n) }

func collectTransactions(ctx context.Context, g *Gather) error {
	list := []monolith.Transaction{}
	own := g.Session.ConnectionID()
	waiting := false
	err := g.Session.Query(ctx, oldTransactions, func(row Row) error {
		thread, _ := row.Int("thread")
		t := monolith.Transaction{
			ID: cut(printable(first(row.Text("id"))), 32), Thread: uint64(max(0, thread)), State: cut(printable(first(row.Text("state"))), 32),
			Seconds: int64(number(row, "seconds")), RowsModified: int64(number(row, "modified")), RowsLocked: int64(number(row, "locked")),
			TablesLocked: int64(number(row, "tables_locked")), Isolation: cut(printable(first(row.Text("isolation"))), 32),
			Statement: statementText([]byte(first(row.Text("query"))), g.Server.KeepTexts),
		}
		if wait, ok := row.Int("lock_wait"); ok {
			t.LockWait, waiting = &wait, true
		}
		t.Own = own != 0 && t.Thread == own
		list = append(list, t)
		return nil
	})
	if err != nil {
		return err
	}
	if len(list) > 0 {
		if err := nameThreads(ctx, g, list); err != nil {
			return err
		}
	}
	if waiting {
		if err := nameBlockers(ctx, g, list); err != nil {
			return err
		}
	}
	recordTransactions(g, list)
	g.snapshot.Transactions = list
	return nil
}

// nameThreads says whose the transactions are. It asks for their threads alone: the list of all may be long. MySQL counts the
// use of information_schema's as deprecated since 8.0.
func nameThreads(ctx context.Context, g *Gather, list []monolith.Transaction) error {
	ids := make([]string, 0, len(list))
	for _, t := range list {
		ids = append(ids, strconv.FormatUint(t.Thread, 10))
	}
	table := "information_schema.PROCESSLIST"
	if has(g.Identity, since{mysql: v(8, 0, 22)}) && g.variable("performance_schema") == "ON" {
		table = "performance_schema.processlist"
	}
	return g.Session.Query(ctx, "SELECT ID AS id, USER AS user, HOST AS host, DB AS db, COMMAND AS command, TIME AS time FROM "+table+
		" WHERE ID IN ("+strings.Join(ids, ", ")+")", func(row Row) error {
		p := processOf(row, 0)
		for i := range list {
			if t := &list[i]; t.Thread == p.ID {
				t.User, t.Host, t.DB, t.Command = p.User, p.Host, p.DB, p.Command
				if t.Idle = p.Command == "Sleep"; t.Idle {
					t.IdleSeconds = p.Seconds
				}
				t.Applier = p.User == "system user"
				t.Backup = slices.Contains(g.Server.BackupUsers, p.User)
			}
		}
		return nil
	})
}

// nameBlockers says which threads hold the locks that are waited for.
func nameBlockers(ctx context.Context, g *Gather, list []monolith.Transaction) error {
	statement := "SELECT w.requesting_trx_id AS requesting, b.trx_mysql_thread_id AS thread" +
		" FROM information_schema.INNODB_LOCK_WAITS w JOIN information_schema.INNODB_TRX b ON b.trx_id = w.blocking_trx_id LIMIT " + itoa(maxLockPair)
	if has(g.Identity, since{mysql: v(8, 0, 1)}) {
		if g.variable("performance_schema") != "ON" {
			return nil // who waits for whom stands nowhere else
		}
		statement = "SELECT w.REQUESTING_ENGINE_TRANSACTION_ID AS requesting, t.PROCESSLIST_ID AS thread" +
			" FROM performance_schema.data_lock_waits w JOIN performance_schema.threads t ON t.THREAD_ID = w.BLOCKING_THREAD_ID LIMIT " + itoa(maxLockPair)
	}
	err := g.Session.Query(ctx, statement, func(row Row) error {
		requesting, _ := row.Text("requesting")
		holder, _ := row.Int("thread")
		for i := range list {
			t := &list[i]
			if id := uint64(holder); t.ID == requesting && holder > 0 && len(t.BlockedBy) < maxBlockers && !slices.Contains(t.BlockedBy, id) {
				t.BlockedBy = append(t.BlockedBy, id)
			}
		}
		return nil
	})
	for i := range list {
		for _, id := range list[i].BlockedBy {
			for k := range list {
				if list[k].Thread == id {
					list[k].Blocks++
				}
			}
		}
	}
	return noteRefusal(g, err, "who holds the locks that transactions wait for can't be read", grantPerformanceSchema(g.Identity, g.Account))
}

// recordTransactions records how old they are. Backups, replication and Monolith itself may take their time, and are left out.
func recordTransactions(g *Gather, list []monolith.Transaction) {
	var longest, idle, changed, wait int64
	for i := range list {
		t := &list[i]
		if t.LockWait != nil {
			wait = max(wait, *t.LockWait)
		}
		if t.Applier || t.Backup || t.Own {
			continue
		}
		longest = max(longest, t.Seconds)
		if t.Idle {
			idle = max(idle, t.Seconds)
			if t.RowsModified > 0 {
				changed = max(changed, t.Seconds)
			}
		}
	}
	rec := g.Recorder("server")
	rec.Number("transactions_longest_seconds", "", monolith.Int(longest))
	rec.Number("transactions_idle_longest_seconds", "", monolith.Int(idle))
	rec.Number("transactions_idle_changed_seconds", "", monolith.Int(changed))
	rec.Number("lock_waits_longest_seconds", "", monolith.Int(wait))
	rec.Done()
}

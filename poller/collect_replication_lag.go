package poller

import (
	"context"
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"

	"monolith"
)

// otherLags are what is known beside Seconds_Behind_Source, in seconds.
type otherLags struct {
	commit    map[string]monolith.Num // by channel
	heartbeat monolith.Num
}

// recordOtherLags records what Seconds_Behind_Source can't tell: it is measured against the source one step above,
// stands still while the receiver is cut off, and jumps with long transactions. What an account may
// not read is noted; the channels are recorded without it.
func recordOtherLags(ctx context.Context, g *Gather, rec *Recorder, replicas []monolith.Replica) (otherLags, error) {
	var lags otherLags
	if len(replicas) > 0 && has(g.Identity, since{mysql: v(5, 7, 9)}) && g.Identity.Flavour != monolith.Aurora {
		what := "the number of retried transactions can't be read"
		var err error
		if has(g.Identity, since{mysql: v(8, 0, 1)}) {
			what = "the commit-time delay, the busy workers and the number of retried transactions can't be read"
			lags.commit, err = recordWorkers(ctx, g, rec, replicas)
		}
		if err == nil {
			err = recordRetries(ctx, g, rec, replicas)
		}
		if err := noteRefusal(g, err, what, grantPerformanceSchema(g.Identity, g.Account)); err != nil {
			return lags, err
		}
	}
	if table := g.Server.HeartbeatTable; table != "" {
		name := quoteTable(table)
		var err error
		lags.heartbeat, err = recordHeartbeat(ctx, g, rec, name)
		return lags, noteRefusal(g, err, "the heartbeat table "+table+" can't be read", "GRANT SELECT ON "+name+" TO "+quoteAccount(g.Account)+";")
	}
	return lags, nil
}

// noteRefusal turns an error that the server gave into a note; other errors end the collector.
func noteRefusal(g *Gather, err error, what, cure string) error {
	var refused *mysql.MySQLError
	if !errors.As(err, &refused) {
		return err
	}
	kind := monolith.ProblemPartial
	if isDenial(refused) {
		kind = monolith.ProblemPrivilege
	} else {
		cure = ""
	}
	g.Note(kind, what+": "+printable(refused.Message), cure)
	return nil
}

// isDenial reports whether the server refused a statement for want of a right.
func isDenial(refused *mysql.MySQLError) bool {
	switch refused.Number {
	case 1044, 1142, 1143, 1227, 1370:
		return true
	}
	return false
}

// recordWorkers records per channel how long ago the oldest transaction being applied was committed at the server that it
// comes from, and how many workers apply one. It gives the former. Sources before MySQL 8.0.1 and MariaDB don't tell when a
// transaction was committed; then there is no value, not that of the idle workers.
func recordWorkers(ctx context.Context, g *Gather, rec *Recorder, replicas []monolith.Replica) (map[string]monolith.Num, error) {
	delays, busy := map[string]monolith.Num{}, map[string]monolith.Num{}
	err := g.Session.Query(ctx, "SELECT CHANNEL_NAME AS channel_name, MAX(IF(APPLYING_TRANSACTION = '', 0,"+
		" UNIX_TIMESTAMP(NOW(6)) - UNIX_TIMESTAMP(APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP))) AS delay,"+
		" SUM(APPLYING_TRANSACTION <> '' AND UNIX_TIMESTAMP(APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP) = 0) AS untold,"+
		" SUM(APPLYING_TRANSACTION <> '') AS busy FROM performance_schema.replication_applier_status_by_worker GROUP BY CHANNEL_NAME", func(row Row) error {
		channel := printable(first(row.Text("channel_name")))
		busy[channel] = row.Num("busy")
		if row.Num("untold").Float64() > 0 {
			return nil
		}
		delays[channel] = clockSkew(row.Num("delay"))
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i := range replicas {
		r := &replicas[i]
		delay, workers := delays[r.Channel], busy[r.Channel]
		if r.SQL != monolith.ThreadYes {
			delay, workers = monolith.Num{}, monolith.Num{}
		}
		rec.Number("commit_delay", r.Channel, delay)
		rec.Number("busy_workers", r.Channel, workers)
	}
	return delays, nil
}

// clockSkew takes a negative delay for none: the clocks of the two servers differ.
func clockSkew(delay monolith.Num) monolith.Num {
	if delay.Float64() < 0 {
		return monolith.Uint(0)
	}
	return delay
}

// recordRetries records per channel how often transactions were tried again. The count begins anew with the server.
func recordRetries(ctx context.Context, g *Gather, rec *Recorder, replicas []monolith.Replica) error {
	retries := map[string]monolith.Num{}
	err := g.Session.Query(ctx, "SELECT CHANNEL_NAME AS channel_name, COUNT_TRANSACTIONS_RETRIES AS retries"+
		" FROM performance_schema.replication_applier_status", func(row Row) error {
		retries[printable(first(row.Text("channel_name")))] = row.Num("retries")
		return nil
	})
	if err != nil {
		return err
	}
	for i := range replicas {
		rec.Number("retried_transactions_total", replicas[i].Channel, retries[replicas[i].Channel])
	}
	return nil
}

// recordHeartbeat reads a table of the kind that pt-heartbeat writes: a time ts and the server_id of the writer.
func recordHeartbeat(ctx context.Context, g *Gather, rec *Recorder, table string) (monolith.Num, error) {
	var lag monolith.Num
	// ts is a text in pt-heartbeat's own table, 2026-11-30T12:00:00.5, and a time in others.
	const ts = "CAST(REPLACE(MAX(ts), 'T', ' ') AS DATETIME)"
	err := g.Session.Query(ctx, "SELECT TIMESTAMPDIFF(SECOND, "+ts+", UTC_TIMESTAMP()) AS utc,"+
		" TIMESTAMPDIFF(SECOND, "+ts+", CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', 'SYSTEM')) AS local"+
		" FROM "+table+" WHERE server_id <> @@server_id", func(row Row) error {
		lag = heartbeatLag(row.Num("utc"), row.Num("local"))
		return nil
	})
	if err != nil {
		return lag, err
	}
	rec.Number("heartbeat_lag", "", lag)
	return lag, nil
}

// heartbeatSkew is by how many seconds a heartbeat may lie in the future, since clocks differ.
const heartbeatSkew = 120

// heartbeatLag chooses between two readings of a time whose zone is not known: UTC, and the local time of the
// server. A heartbeat can't lie in the future, so the nearest one that does not is right.
func heartbeatLag(utc, local monolith.Num) monolith.Num {
	best := monolith.Num{}
	for _, n := range []monolith.Num{utc, local} {
		if s := n.Float64(); s >= -heartbeatSkew && (best.IsNone() || s < best.Float64()) {
			best = n
		}
	}
	if best.Float64() < 0 {
		return monolith.Uint(0)
	}
	return best
}

// quoteTable quotes schema.table.
func quoteTable(name string) string {
	schema, table, _ := strings.Cut(name, ".")
	quote := func(s string) string { return "`" + strings.ReplaceAll(s, "`", "``") + "`" }
	return quote(schema) + "." + quote(table)
}

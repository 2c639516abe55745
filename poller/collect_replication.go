package poller

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
)

// replicationCollector reads every replication channel into one normalised row each.
func replicationCollector() *Collector {
	return &Collector{
		Name:    "replication",
		Title:   "Replication",
		Help:    "Every replication channel: threads, lag, positions, errors; and how many replicas follow.",
		Timeout: 5 * time.Second,
		Applies: func(g *Gather) (bool, string) {
			if g.Identity.Flavour == monolith.TiDB {
				return false, "TiDB copies data within its own cluster; it has no replication of MySQL's kind"
			}
			return true, ""
		},
		Grant:   grantReplication,
		Collect: collectReplication,
	}
}

// grantReplication: MariaDB 10.5.2 moved the statement from REPLICATION CLIENT to REPLICATION SLAVE
// ADMIN, and 10.5.9 to SLAVE MONITOR.
func grantReplication(id monolith.Identity, account string) string {
	right := "REPLICATION CLIENT"
	if id.Flavour.IsMariaDB() {
		switch {
		case id.Version.AtLeast(10, 5, 9):
			right = "SLAVE MONITOR"
		case id.Version.AtLeast(10, 5, 2):
			right = "REPLICATION SLAVE ADMIN"
		}
	}
	return grantGlobal(right, account)
}

// replicaStatements gives the statements to try, the right one first. MariaDB's plain SHOW SLAVE STATUS shows the
// default connection only; its SHOW REPLICA STATUS (≥ 10.5) is the same under another name.
func replicaStatements(id monolith.Identity) []string {
	const show, slave, all = "SHOW REPLICA STATUS", "SHOW SLAVE STATUS", "SHOW ALL SLAVES STATUS"
	switch {
	case id.Flavour.IsMariaDB() && (id.Version.AtLeast(10) || id.Version.IsZero()):
		return []string{all, slave}
	case id.Flavour.IsMariaDB():
		return []string{slave}
	case id.Version.AtLeast(8, 0, 22):
		return []string{show, slave}
	case id.Version.IsZero():
		return []string{slave, show}
	}
	return []string{slave}
}

func collectReplication(ctx context.Context, g *Gather) error {
	// Empty, not nil: a complete answer without rows says that this is no replica.
	replicas := []monolith.Replica{}
	var more []columnsOfMariaDB // by row
	err := g.Session.Either(ctx, func(row Row) error {
		replicas = append(replicas, replicaOf(row, g.Identity, g.Server.KeepTexts))
		more = append(more, columnsOfMariaDB{
			retried: row.Num("retried_transactions"), hasDelay: row.Has("master_slave_time_diff"), delay: row.Num("master_slave_time_diff"),
		})
		return nil
	}, replicaStatements(g.Identity)...)
	if err != nil {
		return err
	}
	rec := g.Recorder("replica")
	rec.Number("channels", "", monolith.Uint(uint64(len(replicas))))
	if len(replicas) == 0 && g.Identity.Flavour == monolith.Aurora {
		if err := recordAuroraLag(ctx, g, rec); err != nil {
			return err
		}
	}
	lags, err := recordOtherLags(ctx, g, rec, replicas)
	if err != nil {
		return err
	}
	for i := range replicas {
		r := &replicas[i]
		commit := lags.commit[r.Channel]
		if more[i].hasDelay {
			commit = more[i].delay
		}
		heartbeat := lags.heartbeat
		if r.Channel != "" && len(replicas) > 1 { // whose heartbeat it is, is not known
			heartbeat = monolith.Num{}
		}
		r.Measure(heartbeat, commit)
		recordReplica(rec, r, more[i])
	}
	if n := connectedReplicas(g); !n.IsNone() {
		rec.Number("connected_replicas", "", n)
	}
	rec.Done()
	g.snapshot.Replicas = replicas
	return nil
}

// columnsOfMariaDB are those that only MariaDB's statement has.
type columnsOfMariaDB struct {
	retried  monolith.Num // Retried_transactions
	hasDelay bool         // MariaDB ≥ 11.6
	delay    monolith.Num // Master_Slave_time_diff: between the last event received and the last one applied, in seconds
}

// replicaOf normalises one row. Columns are found by any name that a version gave them.
func replicaOf(row Row, id monolith.Identity, keepTexts bool) monolith.Replica {
	f := fields{row: row}
	r := monolith.Replica{
		Channel:        cut(printable(first(row.Text("channel_name", "connection_name"))), maxInstance-8),
		SourceHost:     f.text("source_host", "source_host", "master_host"),
		SourcePort:     int(f.number("source_port", "source_port", "master_port")),
		SourceUser:     f.text("source_user", "source_user", "master_user"),
		IO:             thread(f.text("io", "replica_io_running", "slave_io_running")),
		IOState:        f.text("io_state", "replica_io_state", "slave_io_state"),
		SQL:            thread(f.text("sql", "replica_sql_running", "slave_sql_running")),
		SourceLogFile:  f.text("source_log_file", "source_log_file", "master_log_file"),
		ReadLogPos:     f.number("read_source_log_pos", "read_source_log_pos", "read_master_log_pos"),
		RelaySourceLog: f.text("relay_source_log_file", "relay_source_log_file", "relay_master_log_file"),
		ExecLogPos:     f.number("exec_source_log_pos", "exec_source_log_pos", "exec_master_log_pos"),
		RelayLogFile:   f.text("relay_log_file", "relay_log_file"),
		RelayLogPos:    f.number("relay_log_pos", "relay_log_pos"),
		RelaySpace:     f.number("relay_log_space", "relay_log_space"),
		UntilCondition: f.text("until_condition", "until_condition"),
		SSL:            strings.EqualFold(f.text("ssl", "source_ssl_allowed", "master_ssl_allowed"), "yes"),
	}
	r.Lag = f.lag()
	// Last_IO_Errno and Last_SQL_Errno came with 5.1.20; before, Last_Errno was the SQL thread's.
	r.SQLErrno = int(f.number("sql_errno", "last_sql_errno", "last_errno"))
	r.SQLError = errorText(f.text("sql_error", "last_sql_error", "last_error"), keepTexts)
	if has(id, since{mysql: v(5, 1, 20), mariadb: v(5)}) || row.Has("last_io_errno") {
		r.IOErrno = int(f.number("io_errno", "last_io_errno"))
		r.IOError = cut(f.text("io_error", "last_io_error"), maxErrorText) // hosts, accounts, files: no values
	}
	if has(id, since{mysql: v(5, 6), mariadb: v(10, 2, 3)}) || row.Has("sql_delay") {
		r.SQLDelay = f.number("sql_delay", "sql_delay")
		if n, ok := row.Int("sql_remaining_delay"); ok && n >= 0 {
			r.SQLRemainingDelay = &n
		}
	}
	r.SQLState = first(row.Text("replica_sql_running_state", "slave_sql_running_state"))
	r.SourceUUID = printable(first(row.Text("source_uuid", "master_uuid")))
	serverID, _ := row.Int("source_server_id", "master_server_id")
	if serverID > 0 && serverID <= math.MaxUint32 {
		r.SourceServerID = uint32(serverID)
	}
	usingGTID := first(row.Text("using_gtid")) // MariaDB: No, Slave_Pos, Current_Pos
	auto, _ := row.Int("auto_position")
	r.AutoPosition = auto == 1 || usingGTID != "" && !strings.EqualFold(usingGTID, "no")
	r.GTIDMode = printable(usingGTID)
	r.RetrievedGTID = gtidSet(first(row.Text("retrieved_gtid_set", "gtid_io_pos")))
	r.ExecutedGTID = gtidSet(first(row.Text("executed_gtid_set", "gtid_slave_pos")))
	r.IOState, r.SQLState = printable(r.IOState), printable(r.SQLState)
	r.Filters = replicaFilters(row)
	r.Missing = f.missing
	return r
}

// fields reads the columns of one row and remembers which ones are not there.
type fields struct {
	row     Row
	missing []string
}

func (f *fields) text(field string, names ...string) string {
	if !f.row.Has(names...) {
		f.missing = append(f.missing, field)
		return ""
	}
	return printable(first(f.row.Text(names...)))
}

// number reads what must be a number: NULL, a position beyond 2^63 and what is no number are as good as missing.
func (f *fields) number(field string, names ...string) int64 {
	before := len(f.missing)
	s := f.text(field, names...)
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil && len(f.missing) == before {
		f.missing = append(f.missing, field)
	}
	if err != nil {
		return 0
	}
	return n
}

// lag gives Seconds_Behind_Source; NULL and what is no number are unknown. A negative lag is clock skew.
func (f *fields) lag() *int64 {
	s := f.text("lag", "seconds_behind_source", "seconds_behind_master")
	n := monolith.Num{}
	if s != "" {
		n, _ = monolith.ParseNum([]byte(s))
	}
	if n.IsNone() {
		return nil
	}
	v := int64(n.Gauge()) // 2^64−1 is −1 in unsigned clothing
	v = max(v, 0)
	return &v
}

// thread reads a thread's state; a missing one is neither. Anything that is neither Yes nor No ("Connecting", "Preparing") counts as
// connecting: it is neither running nor stopped.
func thread(s string) monolith.ThreadState {
	switch strings.ToLower(s) {
	case "yes":
		return monolith.ThreadYes
	case "no":
		return monolith.ThreadNo
	case "":
		return ""
	}
	return monolith.ThreadConnecting
}

func threadValue(s monolith.ThreadState) monolith.Num {
	switch s {
	case monolith.ThreadYes:
		return monolith.Uint(1)
	case monolith.ThreadConnecting:
		return monolith.Float(0.5)
	case monolith.ThreadNo:
		return monolith.Uint(0)
	}
	return monolith.Num{}
}

// recordReplica records the numbers of one channel. What could not be read is recorded as no value.
func recordReplica(rec *Recorder, r *monolith.Replica, more columnsOfMariaDB) {
	missing := func(field string, n monolith.Num) monolith.Num {
		if slices.Contains(r.Missing, field) {
			return monolith.Num{}
		}
		return n
	}
	optional := func(p *int64) monolith.Num {
		if p == nil {
			return monolith.Num{}
		}
		return monolith.Int(*p)
	}
	lag := r.Lag
	if r.IO != monolith.ThreadYes || r.SQL != monolith.ThreadYes {
		lag = nil // some servers say 0 while a thread stands still
	}
	ch := r.Channel
	rec.Number("lag", ch, optional(lag))
	rec.Number("delay", ch, optional(r.Delay))
	rec.Number("sql_delay", ch, missing("sql_delay", monolith.Int(r.SQLDelay)))
	rec.Number("sql_remaining_delay", ch, optional(r.SQLRemainingDelay))
	rec.Number("io_running", ch, threadValue(r.IO))
	rec.Number("sql_running", ch, threadValue(r.SQL))
	rec.Number("io_errno", ch, missing("io_errno", monolith.Int(int64(r.IOErrno))))
	rec.Number("sql_errno", ch, missing("sql_errno", monolith.Int(int64(r.SQLErrno))))
	rec.Number("relay_log_space", ch, missing("relay_log_space", monolith.Int(r.RelaySpace)))
	rec.Number("read_log_pos", ch, missing("read_source_log_pos", monolith.Int(r.ReadLogPos)))
	rec.Number("read_log_file", ch, fileNumber(r.SourceLogFile))
	rec.Number("exec_log_pos", ch, missing("exec_source_log_pos", monolith.Int(r.ExecLogPos)))
	rec.Number("exec_log_file", ch, fileNumber(r.RelaySourceLog))
	if r.RetrievedGTID != "" {
		backlog := monolith.Num{}
		got, ok1 := monolith.ParseGTIDSet(r.RetrievedGTID)
		done, ok2 := monolith.ParseGTIDSet(r.ExecutedGTID)
		if ok1 && ok2 {
			backlog = monolith.Uint(done.Behind(got))
		}
		rec.Number("gtid_backlog", ch, backlog)
	}
	if !more.retried.IsNone() {
		rec.Number("retried_transactions_total", ch, more.retried)
	}
	if more.hasDelay {
		delay := more.delay
		if r.SQL != monolith.ThreadYes {
			delay = monolith.Num{}
		}
		rec.Number("commit_delay", ch, clockSkew(delay))
	}
}

// recordAuroraLag records how far an Aurora reader is behind the shared storage. Readers have no
// replication channel; the writer's own row says 0 or NULL.
func recordAuroraLag(ctx context.Context, g *Gather, rec *Recorder) error {
	return g.Session.Query(ctx, "SELECT replica_lag_in_milliseconds AS lag_ms FROM information_schema.replica_host_status"+
		" WHERE server_id = @@aurora_server_id AND session_id <> 'MASTER_SESSION_ID'", func(row Row) error {
		if ms := row.Num("lag_ms"); !ms.IsNone() {
			rec.Number("aurora_lag", "", monolith.Float(ms.Float64()/1000))
		}
		return nil
	})
}

// fileNumber gives the number at the end of "binlog.000042". With GTID_ONLY the name may be INVALID.
func fileNumber(name string) monolith.Num {
	n, _ := monolith.ParseNum([]byte(name[strings.LastIndexByte(name, '.')+1:]))
	if n.IsFloat() {
		return monolith.Num{}
	}
	return n
}

// connectedReplicas counts those that follow this server, as of the last poll: MariaDB says it in its
// status, elsewhere the dump threads of the process list are counted.
func connectedReplicas(g *Gather) monolith.Num {
	for _, name := range []string{"status.Slaves_connected", "server.processes_dump"} {
		if n, _, ok := g.State.Value(monolith.Metric{Name: name}); ok {
			return n
		}
	}
	return monolith.Num{}
}

func first(s string, _ bool) string { return s }

// gtidSet brings a set onto one line: MySQL breaks it after each source.
func gtidSet(s string) string {
	return cut(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' || r == ' ' {
			return -1
		}
		return r
	}, printable(s)), maxMetricValue)
}

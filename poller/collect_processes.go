package poller

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"monolith"
)

const (
	maxProcessRows = 200 // kept for the page; counts are over all
	maxCounts      = 50  // names in each of the counts by user, host and state
)

// processesCollector reads the process list.
func processesCollector() *Collector {
	return &Collector{
		Name:     "processes",
		Title:    "Process list",
		Help:     "What the server's threads do: counts by kind, and the longest-running statements with literals masked.",
		Timeout:  5 * time.Second,
		MaxBytes: 64 << 20,
		Grant:    func(_ monolith.Identity, account string) string { return grantGlobal("PROCESS", account) },
		Collect:  collectProcesses,
	}
}

// SHOW FULL PROCESSLIST costs less than the table of the same content: that one needs a temporary table
// on disk for its long column each time.
const showProcesses = "SHOW FULL PROCESSLIST"

// maxProcesses is how many rows are looked at: no server takes more connections, whatever max_connections says.
const maxProcesses = 100_000

func collectProcesses(ctx context.Context, g *Gather) error {
	var rows []monolith.Process
	more := 0
	own := g.Session.ConnectionID()
	err := g.Session.Query(ctx, showProcesses, func(row Row) error {
		if len(rows) == maxProcesses {
			more++
			return nil
		}
		rows = append(rows, processOf(row, own))
		return nil
	})
	if err != nil {
		return err
	}
	list := summarise(rows)
	list.Taken = g.Now
	if list.Total += more; more > 0 {
		g.Note(monolith.ProblemPartial, fmt.Sprintf("the process list has %d rows; only the first %d were looked at", list.Total, maxProcesses), "")
	}
	if list.OnlyOwn, err = onlyOwn(ctx, g, rows); err != nil {
		return err
	}
	for i := range list.Rows {
		p := &list.Rows[i]
		p.Info = statementText([]byte(p.Info), g.Server.KeepTexts)
	}
	g.snapshot.Processes = list
	if list.OnlyOwn {
		// What is not seen is not counted: numbers would say that the server is idle.
		g.Note(monolith.ProblemPartial, "only the threads of Monolith's own account are visible: the PROCESS privilege is missing",
			g.grant())
		return nil
	}
	if more > 0 {
		return nil // numbers of a part would be taken for those of all
	}
	if g.snapshot.MetadataLocks, err = metadataLocks(ctx, g, rows); err != nil {
		return err
	}
	recordProcesses(g, rows, g.snapshot.MetadataLocks)
	return nil
}

func processOf(row Row, own uint64) monolith.Process {
	id, _ := row.Int("id")
	seconds, _ := row.Int("time") // an applier's thread may be "in the future": negative, or 2^32 less
	if seconds < 0 || seconds > 1<<31 {
		seconds = 0
	}
	text := func(name string, limit int) string { return cut(printable(first(row.Text(name))), limit) }
	p := monolith.Process{
		ID: uint64(id), User: text("user", 128), Host: text("host", 256), DB: text("db", 128),
		Command: text("command", 64), Seconds: seconds, State: text("state", 128),
		Own: own != 0 && uint64(id) == own,
	}
	if info := first(row.Text("info")); len(info) > maxMasked {
		p.Info = strings.Clone(info[:maxMasked])
	} else {
		p.Info = info
	}
	return p
}

// onlyOwn reports whether other people's threads are hidden: without PROCESS the list holds those of the
// own account only, without any error. Where the account's rights are not known, the number of threads in the server's
// status tells; threads of the server itself, which it does not count, then stay unseen.
func onlyOwn(ctx context.Context, g *Gather, rows []monolith.Process) (bool, error) {
	var me string
	for i := range rows {
		if rows[i].Own {
			me = rows[i].User
		}
	}
	for i := range rows {
		if rows[i].User != me {
			return false, nil // threads of the server itself, too, are visible only with the privilege
		}
	}
	if g.rights.known {
		return !g.rights.has("PROCESS"), nil
	}
	var connected monolith.Num
	err := g.Session.Query(ctx, "SHOW GLOBAL STATUS LIKE 'Threads_connected'", func(row Row) error {
		connected, _ = monolith.ParseNum(row.Bytes(1))
		return nil
	})
	return !(float64(len(rows)) >= connected.Float64()), err // also where it is not told
}

// activity is the group that a thread belongs to.
type activity int

const (
	sleeping activity = iota
	executing
	waitingLock
	waitingIO
	sending
	background // dump threads, replication, event scheduler …
)

// lockStates, ioStates and sendStates are beginnings of thread states, lower case, in the words of all
// versions. States are never translated.
var (
	lockStates = []string{"waiting for table", "waiting for global", "waiting for schema", "waiting for stored", "waiting for event metadata",
		"waiting for trigger", "waiting for backup", "waiting for commit lock", "waiting for row lock", "waiting for tablespace", "waiting for acl",
		"waiting for locking", "waiting for user lock", "waiting on lock", "waiting for lock", "waiting for column statistics", "waiting for resource groups",
		"waiting for foreign key", "waiting for check constraint", "user lock", "system lock", "table lock", "locked", "waiting for query cache lock",
		"waiting for prior transaction", "waiting for certification", "waiting for metadata lock"}
	ioStates = []string{"waiting for handler commit", "waiting for semi-sync", "waiting for i/o", "waiting to flush", "writing to binlog", "copying to tmp table on disk",
		"converting heap to", "removing tmp table", "opening table", "closing table", "flushing", "sync", "committing", "commit", "wsrep: replicating",
		"waiting for flow control", "waiting for binlog", "reading file", "saving state", "query end"}
	sendStates = []string{"sending to client", "writing to net", "sending file", "reading from net", "receiving from client", "waiting for client"}
)

func activityOf(p *monolith.Process) activity {
	switch strings.ToLower(p.Command) {
	case "sleep":
		return sleeping
	case "daemon", "binlog dump", "binlog dump gtid", "connect", "slave_io", "slave_sql", "slave_worker", "delayed insert", "register slave", "group replication data":
		return background
	}
	state := strings.ToLower(p.State)
	begins := func(list []string) bool {
		return slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(state, s) })
	}
	switch {
	case begins(lockStates):
		return waitingLock
	case begins(sendStates):
		return sending
	case begins(ioStates):
		return waitingIO
	}
	return executing
}

// summarise counts the threads and keeps the rows that matter most: statements by their age, then what
// waits or sleeps.
func summarise(rows []monolith.Process) *monolith.ProcessList {
	list := &monolith.ProcessList{Total: len(rows), Rows: []monolith.Process{}}
	users, hosts, states := map[string]int{}, map[string]int{}, map[string]int{}
	for i := range rows {
		p := &rows[i]
		users[p.User]++
		hosts[hostOf(p.Host)]++
		state := p.State
		if state == "" {
			state = p.Command
		}
		states[state]++
	}
	list.ByUser, list.ByHost, list.ByState = counts(users), counts(hosts), counts(states)
	sorted := slices.Clone(rows)
	weight := func(p *monolith.Process) int {
		switch activityOf(p) {
		case sleeping:
			return 2
		case background:
			return 1
		}
		return 0
	}
	slices.SortFunc(sorted, func(a, b monolith.Process) int {
		return cmp.Or(weight(&a)-weight(&b), cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.ID, b.ID))
	})
	if len(sorted) > maxProcessRows {
		sorted = slices.Clone(sorted[:maxProcessRows])
	}
	list.Rows = append(list.Rows, sorted...)
	return list
}

// hostOf takes the port off "host:port"; an IPv6 address keeps its colons.
func hostOf(s string) string {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.Count(s, ":") > 1 && !strings.HasSuffix(s[:i], "]") && !allDigits(s[i+1:]) {
		return s
	}
	return s[:i]
}

func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

func counts(m map[string]int) []monolith.Count {
	list := make([]monolith.Count, 0, len(m))
	for name, n := range m {
		list = append(list, monolith.Count{Name: name, Count: n})
	}
	slices.SortFunc(list, func(a, b monolith.Count) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name))
	})
	if len(list) > maxCounts {
		rest := 0
		for _, c := range list[maxCounts-1:] {
			rest += c.Count
		}
		list = append(list[:maxCounts-1:maxCounts-1], monolith.Count{Name: fmt.Sprintf("%d others", len(m)-maxCounts+1), Count: rest})
	}
	return list
}

func recordProcesses(g *Gather, rows []monolith.Process, locks []monolith.MetadataLock) {
	var n [background + 1]uint64
	var longest, lockWait int64
	if len(locks) > 0 {
		lockWait = locks[0].Seconds
	}
	var total, metadata, dump, applying, lockWaits uint64
	for i := range rows {
		p := &rows[i]
		if strings.HasPrefix(p.Command, "Binlog Dump") {
			dump++
		}
		if p.Command == "Slave_worker" && !strings.HasPrefix(p.State, "Waiting for work from") {
			applying++
		}
		if p.Own {
			continue
		}
		a := activityOf(p)
		n[a]++
		total++
		if a != sleeping && a != background {
			longest = max(longest, p.Seconds)
		}
		if waitsForMetadata(p) {
			lockWaits++
		}
		if a == waitingLock && strings.Contains(strings.ToLower(p.State), "metadata lock") {
			metadata++
		}
	}
	rec := g.Recorder("server")
	rec.Number("processes_total", "", monolith.Uint(total))
	rec.Number("processes_executing", "", monolith.Uint(n[executing]))
	rec.Number("processes_waiting_lock", "", monolith.Uint(n[waitingLock]))
	rec.Number("processes_waiting_io", "", monolith.Uint(n[waitingIO]))
	rec.Number("processes_sending", "", monolith.Uint(n[sending]))
	rec.Number("processes_sleeping", "", monolith.Uint(n[sleeping]))
	rec.Number("processes_other", "", monolith.Uint(n[background]))
	rec.Number("processes_longest_seconds", "", monolith.Int(longest))
	rec.Number("processes_metadata_lock", "", monolith.Uint(metadata))
	rec.Number("processes_dump", "", monolith.Uint(dump))
	rec.Number("metadata_lock_waits", "", monolith.Uint(lockWaits))
	rec.Number("metadata_lock_longest_seconds", "", monolith.Int(lockWait))
	if g.Identity.Flavour.IsMariaDB() { // MySQL's workers have no command of their own; it has a table of them
		rec.Number("processes_applying", "", monolith.Uint(applying))
	}
	rec.Done()
}

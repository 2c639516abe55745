package poller

import (
	"bytes"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"monolith"
	"monolith/internal/replay"
)

// driven is a target whose polls a test makes one by one, without a schedule. A poll has nine tenths of the interval.
type driven struct {
	*target
	server monolith.Server
}

func drive(t *testing.T, s *replay.Server, interval time.Duration, collectors ...*Collector) *driven {
	t.Helper()
	if collectors == nil {
		collectors = []*Collector{statusCollector(), variablesCollector(), replicationCollector(), processesCollector(), innodbCollector()}
		for _, c := range collectors {
			c.layouts = newLayouts()
		}
	}
	p, err := New(Config{Collectors: collectors, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	server := recordedServer(t, s)
	plan := planFor(&server, nil)
	plan.schedules[monolith.Fast] = every(interval)
	d := &driven{newTarget(p, &server, plan), server}
	t.Cleanup(d.disconnect)
	return d
}

// poll polls at once, whatever waits.
func (d *driven) poll(t *testing.T) *monolith.Snapshot {
	t.Helper()
	snap := d.runPoll(t.Context(), job{all: true}, &d.server)
	if snap == nil {
		t.Fatal("the poll was stopped")
	}
	return snap
}

// healthy is a server whose recording holds little.
func healthy() *replay.Recording {
	return replay.Record(map[string]string{
		"version": "8.0.40", "version_comment": "MySQL Community Server - GPL", "server_uuid": "3e11fa47-71ca-11e1-9e33-c80aa9429562",
		"hostname": "db1", "server_id": "1", "port": "3306", "log_bin": "ON", "wait_timeout": "28800", "max_execution_time": "0",
	}, map[string]string{"Uptime": "50000", "Questions": "70000", "Threads_connected": "3", "Innodb_buffer_pool_pages_misc": "0", "Innodb_version": "8.0.40"})
}

// What never ends is left behind once: the next connection kills it, or waits with it, and a third one never exists.
func TestTwentyTimeoutsLeaveTwoThreads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		fault replay.Fault
		kills int
	}{
		{"the status", replay.Hang().On("SHOW GLOBAL STATUS"), 15},
		{"every statement", replay.Hang(), 0},
		{"the login drips", replay.Drip(40 * time.Millisecond), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := replay.Start(t, healthy())
			d := drive(t, s, 500*time.Millisecond)
			eventually(t, "a poll", func() bool { return d.poll(t).Polled }) // each has no more than 400 ms
			s.Set(c.fault)
			for i := range 20 {
				snap := d.poll(t)
				p := problemOf(snap, "status")
				if p == nil {
					p = problemOf(snap, "")
				}
				if snap.Polled || p == nil || p.Kind != monolith.ProblemTimeout {
					t.Fatalf("poll %d of a server that hangs: %+v", i, describe(snap))
				}
			}
			if now, most := s.Threads(); now > 2 || most > 2 {
				t.Errorf("%d threads now, %d at most", now, most)
			}
			kills := 0
			for _, statement := range s.Statements() {
				if strings.HasPrefix(statement, mark+"KILL ") {
					kills++
				}
			}
			if kills < c.kills { // on a machine under load the time is over before one or the other
				t.Errorf("%d threads were killed", kills)
			}
			s.Clear()
			eventually(t, "the server again", func() bool {
				snap := d.poll(t)
				if snap.Restart {
					t.Errorf("a server that hung was not restarted: %+v", describe(snap))
				}
				return snap.Polled && len(snap.Problems) == 0
			})
			eventually(t, "one thread", func() bool { now, _ := s.Threads(); return now == 1 })
		})
	}
}

// What a server does wrong costs what it concerns, is said in words, and is over when it is over.
func TestFaultsOfAServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		fault     replay.Fault
		collector string // whose problem it is; "" is the connection's
		kind      monolith.ProblemKind
		code      int
		text      string // a part of the words
		up        bool
		polled    bool
		renew     bool // it shows on a new connection only
	}{
		{name: "max_connections", fault: replay.TooManyConnections(), kind: monolith.ProblemRefused, code: 1040, up: true, renew: true},
		{name: "host blocked", fault: replay.HostBlocked(), kind: monolith.ProblemRefused, code: 1129, text: "block", up: true, renew: true},
		{name: "offline_mode", fault: replay.Offline(), kind: monolith.ProblemRefused, code: 3032, text: "offline mode", up: true},
		{name: "accepts and says nothing", fault: replay.Silent(), kind: monolith.ProblemTimeout, text: "says nothing", renew: true},
		{name: "drips", fault: replay.Drip(5 * time.Millisecond).On("SHOW GLOBAL STATUS"), collector: "status", kind: monolith.ProblemTimeout, text: "no answer"},
		{name: "drips from the greeting on", fault: replay.Drip(20 * time.Millisecond), kind: monolith.ProblemTimeout, renew: true},
		{name: "answers after a minute", fault: replay.Delay(time.Minute).On("SHOW GLOBAL STATUS"), collector: "status", kind: monolith.ProblemTimeout, text: "no answer"},
		{name: "cut in a row", fault: replay.CutRow().On("SHOW GLOBAL STATUS"), collector: "status", kind: monolith.ProblemUnreachable},
		{name: "more than may be read", fault: replay.Edit(func(r *replay.Result) {
			row := slices.Clone(r.Rows[0])
			row[len(row)-1] = bytes.Repeat([]byte("x"), 1<<20)
			r.Rows = slices.Repeat([]replay.Row{row}, 70)
		}).On("SHOW FULL PROCESSLIST"), collector: "processes", kind: monolith.ProblemAnswer, text: "larger", up: true, polled: true},
		{name: "no right", fault: replay.Fail(1227, "42000", "Access denied; you need (at least one of) the SUPER, REPLICATION CLIENT privilege(s) for this operation").On("SHOW REPLICA STATUS"),
			collector: "replication", kind: monolith.ProblemPrivilege, code: 1227, up: true, polled: true},
		{name: "a number that is text", fault: replay.Typed("Value", 8).On("SHOW GLOBAL STATUS"), collector: "status", kind: monolith.ProblemAnswer, text: "could not be understood"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := replay.Start(t, healthy())
			d := drive(t, s, 1200*time.Millisecond)
			eventually(t, "a good poll", func() bool { snap := d.poll(t); return snap.Polled && len(snap.Problems) == 0 })
			s.Set(c.fault)
			if c.renew {
				d.disconnect()
			}
			snap := d.poll(t)
			for range 20 { // what may take longer than a poll does not run in it
				if problemOf(snap, c.collector) != nil {
					break
				}
				snap = d.poll(t)
			}
			p := problemOf(snap, c.collector)
			if p == nil || c.kind != "" && p.Kind != c.kind || p.Code != c.code || !strings.Contains(p.Text, c.text) || snap.Up != c.up || snap.Polled != c.polled {
				t.Errorf("up %v, polled %v, problems %+v", snap.Up, snap.Polled, snap.Problems)
			}
			if c.polled != (snap.Section("status") != nil) {
				t.Error("a status is there only when it was read")
			}
			s.Clear()
			eventually(t, "a poll of the server that is well again", func() bool { // a machine under load may need more than one
				snap := d.poll(t)
				if snap.Restart {
					t.Errorf("afterwards: %+v", describe(snap))
				}
				return snap.Polled && len(snap.Problems) == 0
			})
			if _, most := s.Threads(); most > 2 {
				t.Errorf("%d threads of ours at a time: trouble left connections behind", most)
			}
		})
	}
}

// A replication status that does not come (STOP REPLICA waits for a long transaction) holds up itself: the rest is read, no threads
// pile up, and what was known of the channels stays known, as old.
func TestReplicationStatusThatHangs(t *testing.T) {
	t.Parallel()
	s := replay.Start(t, healthy().With("SHOW REPLICA STATUS", replay.Table(
		[]string{"Replica_IO_Running", "Replica_SQL_Running", "Seconds_Behind_Source", "Channel_Name"}, []string{"Yes", "Yes", "7", ""})))
	d := drive(t, s, 2*time.Second)
	var state *monolith.State
	poll := func() *monolith.Snapshot {
		snap := d.poll(t)
		state = state.With(snap)
		return snap
	}
	eventually(t, "the channels", func() bool { return len(poll().Replicas) == 1 })
	_, read, _ := state.Value(monolith.Metric{Name: "replica.channels"})
	s.Set(replay.Hang().On("SHOW REPLICA STATUS"))
	late := 0
	for i := range 5 {
		snap := poll()
		if !snap.Polled || snap.Section("status") == nil {
			t.Errorf("poll %d: %+v", i, describe(snap))
		}
		if p := problemOf(snap, "replication"); p != nil {
			late++
			if p.Kind != monolith.ProblemTimeout {
				t.Errorf("poll %d: %+v", i, p)
			}
		}
	}
	p := slices.IndexFunc(state.Problems, func(p monolith.Problem) bool { return p.Collector == "replication" })
	if _, still, ok := state.Value(monolith.Metric{Name: "replica.channels"}); late == 0 || p < 0 || !ok || !still.Equal(read) || len(state.Replicas) != 1 {
		t.Errorf("%d late, problems %+v, channels of %v, read at first at %v", late, state.Problems, still, read)
	}
	if _, most := s.Threads(); most > 2 {
		t.Errorf("%d threads of ours at a time", most)
	}
	s.Clear()
	eventually(t, "the channels again", func() bool { return len(poll().Replicas) == 1 && len(state.Problems) == 0 })
}

// Trouble that lasts is logged once when it begins and once when it ends, not at each poll.
func TestTroubleIsLoggedOnce(t *testing.T) {
	t.Parallel()
	log := &logged{}
	p, err := New(Config{Collectors: []*Collector{statusCollector(), replicationCollector()}, Log: slog.New(log)})
	if err != nil {
		t.Fatal(err)
	}
	s := replay.Start(t, healthy().With("SHOW REPLICA STATUS", replay.Table([]string{"Replica_IO_Running", "Channel_Name", "Brand_New_Column"}, []string{"Yes", "", "x"})))
	server := recordedServer(t, s)
	plan := planFor(&server, nil)
	plan.schedules[monolith.Fast] = every(5 * time.Second)
	d := &driven{newTarget(p, &server, plan), server}
	t.Cleanup(d.disconnect)
	for range 5 { // columns are missing, and one is there that nobody knows
		if snap := d.poll(t); !snap.Polled || len(snap.Replicas) != 1 {
			t.Fatalf("%+v", describe(snap))
		}
	}
	s.Set(replay.Fail(1146, "42S02", "Table 'performance_schema.x' doesn't exist").On("SHOW REPLICA STATUS"))
	for range 5 {
		d.poll(t)
	}
	s.Set(replay.TooManyConnections())
	d.disconnect()
	for range 5 {
		d.poll(t)
	}
	s.Clear()
	d.poll(t)
	for part, most := range map[string]int{"": 6, "can't be read": 1, "is read again": 1} {
		if lines := log.with(part); len(lines) > most || part != "" && len(lines) == 0 {
			t.Errorf("%d lines with %q: %s", len(lines), part, strings.Join(lines, "\n"))
		}
	}
}

// A million rows are read to their end, or for as long as the collector has time, and cost the poll nothing else. Of them
// only as many are looked at as a server can have.
func TestAMillionRows(t *testing.T) {
	t.Parallel()
	s := replay.Start(t, healthy())
	s.Set(replay.Rows(1_000_000).On("SHOW FULL PROCESSLIST"))
	d := drive(t, s, 30*time.Second)
	eventually(t, "the process list", func() bool {
		snap := d.poll(t)
		if !snap.Polled {
			t.Fatalf("%+v", describe(snap))
		}
		p := problemOf(snap, "processes")
		if p != nil && p.Kind == monolith.ProblemTimeout {
			return true // with the race detector, or under load
		}
		if list := snap.Processes; list != nil {
			if list.Total < 999_999 || len(list.Rows) > 1000 || p == nil || p.Kind != monolith.ProblemPartial {
				t.Errorf("%d processes in all, %d kept, %+v", list.Total, len(list.Rows), p)
			}
			if got := find(snap, "server.processes_total", ""); got != "absent" {
				t.Errorf("a part of the threads counts as %s", got)
			}
			return true
		}
		return false
	})
}

// Values that no number can be made of are no number, and cost no other value anything.
func TestOddValues(t *testing.T) {
	t.Parallel()
	s := replay.Start(t, healthy())
	d := drive(t, s, 10*time.Second)
	d.poll(t)
	for _, c := range []struct {
		name, metric string
		fault        replay.Fault
		want         string // "none": no value
	}{
		{"2^64-1", "status.Questions", replay.Value("Questions", "18446744073709551615"), "18446744073709551615"},
		{"beyond 64 bits", "status.Questions", replay.Value("Questions", "83505516706205592384"), "83505516706205600000"},
		{"text", "status.Questions", replay.Value("Questions", "n/a"), "n/a"},
		{"empty", "status.Questions", replay.Value("Questions", ""), ""},
		{"NULL", "status.Questions", replay.Null("Questions"), "none"},
		{"missing", "status.Questions", replay.Missing("Questions"), "absent"},
		{"renamed", "status.Fragen", replay.Renamed("Questions", "Fragen"), "70000"},
		{"control characters", "status.Innodb_version", replay.Value("Innodb_version", "a\x00\x08\x1bb\nc"), "a\uFFFD\uFFFD\uFFFDb\nc"},
		{"broken UTF-8", "status.Innodb_version", replay.Value("Innodb_version", "a\xff\xfe\x80b"), "a\uFFFDb"},
	} {
		s.Clear()
		s.Set(c.fault.On("SHOW GLOBAL STATUS"))
		snap := d.poll(t)
		if got := read(snap, c.metric); got != c.want {
			t.Errorf("%s: %s is %q, want %q", c.name, c.metric, got, c.want)
		}
		if got := read(snap, "status.Threads_connected"); !snap.Polled || got != "3" {
			t.Errorf("%s: polled %v, Threads_connected %s", c.name, snap.Polled, got)
		}
	}
	s.Clear()
	s.Set(replay.Value("Innodb_buffer_pool_pages_misc", "18446744073709551576"))
	snap := d.poll(t)
	section := snap.Section("status")
	n := section.Nums[section.NumNames.Index(monolith.Metric{Name: "status.Innodb_buffer_pool_pages_misc"})]
	if n.Gauge() != -40 {
		t.Errorf("a negative number in unsigned clothing is %v", n.Gauge())
	}
	s.Clear()
	s.Set(replay.Missing("Value").On("SHOW GLOBAL STATUS"))
	if snap := d.poll(t); snap.Polled || problemOf(snap, "status") == nil {
		t.Errorf("a status without values: %+v", describe(snap))
	}
	s.Clear()
	if snap := d.poll(t); !snap.Polled || len(snap.Problems) > 0 {
		t.Errorf("afterwards: %+v", describe(snap))
	}
	if n := s.Logins(); n != 1 {
		t.Errorf("%d logins: one connection is kept, and nobody's password is tried", n)
	}
}

// read gives a number of a snapshot, or else a text.
func read(snap *monolith.Snapshot, name string) string {
	if n := find(snap, name, ""); n != "absent" {
		return n
	}
	for i := range snap.Sections {
		s := &snap.Sections[i]
		if at := s.TextNames.Index(monolith.Metric{Name: name}); at >= 0 {
			return s.Texts[at]
		}
	}
	return "absent"
}

// A restart, seen by Uptime alone or by lost connections, begins a new run; a reset of counters does not, and a clock
// that jumps is measured and breaks nothing.
func TestLivesOfAServer(t *testing.T) {
	t.Parallel()
	rec := healthy()
	s := replay.Start(t, rec)
	d := drive(t, s, 10*time.Second)
	first := d.poll(t)
	for _, jump := range []time.Duration{time.Hour, -2 * time.Hour} {
		s.Set(replay.ClockJump(jump))
		d.disconnect()
		snap := d.poll(t)
		if !snap.Polled || snap.Restart || snap.Run != first.Run || snap.ClockGap.Abs() < 50*time.Minute {
			t.Errorf("the clock jumped by %v: %+v, gap %v", jump, describe(snap), snap.ClockGap)
		}
		if snap.Elapsed < 0 || snap.Elapsed > time.Minute {
			t.Errorf("the clock jumped by %v: %v elapsed", jump, snap.Elapsed)
		}
	}
	s.Set(replay.Reset())
	if snap := d.poll(t); snap.Restart || read(snap, "status.Questions") != "0" {
		t.Errorf("counters that begin anew are no restart: %+v", describe(snap))
	}
	s.Restart()
	snap := d.poll(t)
	if !snap.Polled || !snap.Restart || snap.Run != first.Run+1 || len(snap.Problems) > 0 {
		t.Errorf("a restart: %+v", describe(snap))
	}
	s.Replace(rec.WithVariables(map[string]string{"server_uuid": "4b4a959d-c319-11e9-9367-0242ac110004", "hostname": "db2"}))
	snap = d.poll(t)
	if !snap.Polled || snap.Run != first.Run+2 || snap.Identity.Hostname != "db2" {
		t.Errorf("another server behind the address: %+v, %+v", describe(snap), snap.Identity)
	}
}

// A thread that was left behind is killed on the server that it was left on only, and only where it is still ours: its
// id may be somebody else's on another server, or after a restart.
func TestNobodyElsesThreadIsKilled(t *testing.T) {
	t.Parallel()
	killed := func(s *replay.Server) (list []string) {
		for _, statement := range s.Statements() {
			if strings.HasPrefix(statement, mark+"KILL ") {
				list = append(list, statement)
			}
		}
		return list
	}
	for _, c := range []struct {
		name          string
		before, after int // other people's connections: ids are counted from 1
		change        func(s *replay.Server)
	}{
		{"another server", 0, 3, func(s *replay.Server) {
			s.Replace(healthy().WithVariables(map[string]string{"server_uuid": "4b4a959d-c319-11e9-9367-0242ac110004"}))
		}},
		{"restarted", 5, 2, func(s *replay.Server) { s.Restart() }},
		{"another one's id", 0, 3, func(s *replay.Server) {
			s.Replace(healthy().With("SHOW PROCESSLIST", replay.Table([]string{"Id", "User", "Host", "db", "Command", "Time", "State", "Info"},
				[]string{"1", "shop", "192.0.2.1:1", "", "Query", "1", "", "SELECT 1"})))
		}},
	} {
		s := replay.Start(t, healthy())
		connectTo(t, s, c.before)
		d := drive(t, s, 1500*time.Millisecond)
		d.poll(t)
		s.Set(replay.Hang().On("SHOW GLOBAL STATUS"))
		if snap := d.poll(t); snap.Polled {
			t.Fatalf("%s: %+v", c.name, describe(snap))
		}
		s.Clear()
		c.change(s)
		connectTo(t, s, c.after)
		s.Forget()
		if snap := d.poll(t); !snap.Polled {
			t.Errorf("%s: %+v", c.name, describe(snap))
		}
		if list := killed(s); list != nil {
			t.Errorf("%s: %q", c.name, list)
		}
	}
}

// connectTo opens connections that stay until the test ends.
func connectTo(t *testing.T, s *replay.Server, n int) {
	t.Helper()
	for range n {
		conn, err := net.Dial("tcp", s.Address())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := conn.Read(make([]byte, 1)); err != nil { // the greeting: it has its id
			t.Fatal(err)
		}
	}
}

// A column that says of itself that it is a number and never NULL may be NULL all the same (the lag of MySQL 8.0's
// SHOW REPLICA STATUS): it is no value, and costs no other.
func TestNullInANumber(t *testing.T) {
	t.Parallel()
	s := replay.Start(t, healthy().With("SHOW REPLICA STATUS", replay.Table(
		[]string{"Replica_IO_Running", "Replica_SQL_Running", "Seconds_Behind_Source", "Last_IO_Errno", "Last_SQL_Errno", "Relay_Log_Space", "Channel_Name"},
		[]string{"Yes", "Yes", "7", "0", "1062", "5000000000", ""})))
	d := drive(t, s, 10*time.Second)
	for _, name := range []string{"Seconds_Behind_Source", "Last_SQL_Errno", "Relay_Log_Space"} {
		s.Set(replay.Typed(name, 8).On("SHOW REPLICA STATUS"))
	}
	if snap := d.poll(t); len(snap.Replicas) != 1 || snap.Replicas[0].Lag == nil || *snap.Replicas[0].Lag != 7 || snap.Replicas[0].SQLErrno != 1062 {
		t.Fatalf("%+v, %+v", describe(snap), snap.Replicas)
	}
	s.Set(replay.Null("Seconds_Behind_Source").On("SHOW REPLICA STATUS"))
	snap := d.poll(t)
	if !snap.Polled || len(snap.Problems) > 0 || len(snap.Replicas) != 1 {
		t.Fatalf("%+v, %+v", describe(snap), snap.Replicas)
	}
	if r := snap.Replicas[0]; r.Lag != nil || r.Delay != nil || find(snap, "replica.lag", "") == "0" || r.SQLErrno != 1062 {
		t.Errorf("lag %v, delay %v, %s", r.Lag, r.Delay, find(snap, "replica.lag", ""))
	}
}

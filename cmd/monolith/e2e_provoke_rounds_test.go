package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"monolith"
	"monolith/internal/mysqltest"
)

// provocation is one alert that is provoked: what is done to a server, what must be said of it, and the cure.
type provocation struct {
	server   string // db1 (a MariaDB), db2 (its replica), old (MySQL 5.6)
	rule     string
	instance string   // "": whichever
	how      string   // for the list; "" is as the one before
	level    string   // several with " or " between, where the server counts differently each time
	says     []string // parts of the summary or the message

	begin, cure []string // statements of root
	// each is done once a minute from the beginning to the cure.
	each []string
	// start, minute and stop are what statements can't do, at the same moments.
	start, minute, stop func(s *stage)
	// reason is why it closes; "" is that it is over.
	reason monolith.CloseReason
}

// round is provocations that do not disturb each other.
type round struct {
	name string
	// long ones are left out of "make test".
	long bool
	// set changes how servers are set up, limits what holds for them.
	set    func(*monolith.Server)
	limits []monolith.RuleSetting
	// beside says that other programs may do the same to the machine: an alert may be open before it is provoked.
	beside bool
	// pace is done once a minute, also after the cure.
	pace func(s *stage)
	// opens and closes bound how long it may take, by the clock of the bubble. Where closes is 0, nobody waits for the end.
	opens, closes time.Duration
	all           []provocation
}

// provoked is a line of the list.
type provoked struct {
	provocation
	level          monolith.Level
	summary, text  string
	opened, closed time.Duration
	done           bool
}

// TestProvokedAlerts provokes alerts on real servers. "make provoke" sets MONOLITH_PROVOKED to the file that all are listed in; without
// it those rounds are left out that take long.
func TestProvokedAlerts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	servers, endpoints := watchedServers(t)
	out := newOutside(t)
	warm(t)
	forget(t, servers["db1"])
	list := os.Getenv("MONOLITH_PROVOKED")
	now := time.Now()
	var lines []provoked
	for _, r := range rounds() {
		if r.long && list == "" {
			continue
		}
		var failed atomic.Bool
		t.Run(r.name, func(t *testing.T) {
			dir, began := t.TempDir(), time.Now()
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, servers, out, endpoints, dir, now, r.set)
				lines = append(lines, s.play(&r)...)
				now = time.Now() // the next round goes on from here
			})
			t.Logf("took %v", time.Since(began).Round(100*time.Millisecond))
			failed.Store(t.Failed())
		})
	}
	if list != "" {
		writeProvoked(t, list, lines)
	}
}

// watchedServers starts three servers that nobody could complain of, but for root's missing passwords and what MySQL 5.6 is: a MariaDB,
// its replica, and an old MySQL. endpoints is how Monolith logs in.
func watchedServers(t *testing.T) (servers map[string]*mysqltest.Server, endpoints map[string]monolith.Endpoint) {
	t.Helper()
	sound := mysqltest.Options("sync_binlog=1", "innodb_flush_log_at_trx_commit=1", "expire_logs_days=7")
	primary, older := mysqltest.MariaDB(t, sound, mysqltest.Options("max_connections=60")), mysqltest.MySQL56(t, sound)
	servers = map[string]*mysqltest.Server{"db1": primary, "db2": mysqltest.Replica(t, primary, sound), "old": older}
	user, password := primary.NewUser(t, "PROCESS, SHOW VIEW, REFERENCES, BINLOG MONITOR, REPLICA MONITOR", "SELECT ON mysql.*")
	oldUser, oldPassword := older.NewUser(t, "PROCESS, SHOW VIEW, REFERENCES, REPLICATION CLIENT", "SELECT ON mysql.*", "SELECT ON performance_schema.*")
	furnish(t, primary, older)
	servers["db2"].CatchUp(t, primary)
	endpoints = map[string]monolith.Endpoint{}
	for name, s := range servers {
		endpoints[name] = monolith.Endpoint{Host: s.Host, Port: s.Port, User: user, Password: monolith.Secret(password), TLS: "disabled"}
		if s == older {
			endpoints[name] = monolith.Endpoint{Host: s.Host, Port: s.Port, User: oldUser, Password: monolith.Secret(oldPassword), TLS: "disabled"}
		}
	}
	return servers, endpoints
}

// play provokes the alerts of a round, waits for them, and cures them.
func (s *stage) play(r *round) []provoked {
	s.t.Helper()
	for i := range r.limits {
		if err := s.alerts.PutRuleSettings(s.t.Context(), r.limits[i:i+1]); err != nil {
			s.t.Fatal(err)
		}
	}
	time.Sleep(2 * pollEvery)
	lines := make([]provoked, len(r.all))
	begin := time.Now()
	for i := range r.all {
		p := &r.all[i]
		lines[i].provocation = *p
		if p.how == "" {
			lines[i].how = lines[i-1].how
		}
		if a := s.open(p.server, p.rule, p.instance); a != nil && !r.beside {
			s.t.Errorf("%s is open on %s before anybody did anything: %s", p.rule, p.server, a.Summary)
		}
		s.exec(p.server, p.begin...)
		if p.start != nil {
			p.start(s)
		}
	}
	s.pass(r, lines, r.opens, func(l *provoked) bool {
		a := s.open(l.server, l.rule, l.instance)
		if a == nil || !slices.Contains(strings.Split(l.provocation.level, " or "), a.Level.String()) || !said(a, l.says) {
			return false
		}
		l.level, l.summary, l.text, l.instance, l.opened = a.Level, a.Summary, a.Text, a.Instance, time.Since(begin)
		return true
	}, func(l *provoked) {
		if a := s.open(l.server, l.rule, l.instance); a != nil {
			s.t.Errorf("%s on %s is %s, want %s: %s\n%s\nwant in it: %q", l.rule, l.server, a.Level, l.provocation.level, a.Summary, a.Text, l.says)
			return
		}
		s.t.Errorf("%s did not open on %s within %v (%s): it is\n%s", l.rule, l.server, r.opens, l.how, s.why(l.server, l.rule))
	})
	begin = time.Now()
	for i := range r.all {
		p := &r.all[i]
		if p.stop != nil {
			p.stop(s)
		}
		s.exec(p.server, p.cure...)
		p.each, p.minute = nil, nil
	}
	if r.closes == 0 {
		for i := range lines {
			lines[i].done = false
		}
		return lines
	}
	s.pass(r, lines, r.closes, func(l *provoked) bool {
		l.closed = time.Since(begin)
		return s.open(l.server, l.rule, l.instance) == nil
	}, func(l *provoked) {
		s.t.Errorf("%s did not close on %s within %v: it is\n%s", l.rule, l.server, r.closes, s.why(l.server, l.rule))
	})
	closed, err := s.alerts.Alerts(s.t.Context(), monolith.AlertQuery{Closed: true, Limit: 5000})
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range lines {
		l := &lines[i]
		k := slices.IndexFunc(closed, func(a monolith.Alert) bool {
			return a.Server == s.ids[l.server] && a.Rule == l.rule && a.Instance == l.instance
		})
		if want := cmp.Or(l.reason, monolith.ClosedCleared); l.opened > 0 && (k < 0 || closed[k].Reason != want) {
			s.t.Errorf("%s on %s is not closed as %s", l.rule, l.server, want)
		}
	}
	return lines
}

// pass lets time pass until each line is done, or for as long as is allowed; then it says what is wrong.
func (s *stage) pass(r *round, lines []provoked, most time.Duration, done func(*provoked) bool, wrong func(*provoked)) {
	s.t.Helper()
	for i := range lines {
		lines[i].done = false
	}
	for gone := time.Duration(0); ; gone += pollEvery {
		if gone%time.Minute == 0 {
			if r.pace != nil {
				r.pace(s)
			}
			for i := range r.all {
				p := &r.all[i]
				s.exec(p.server, p.each...)
				if p.minute != nil {
					p.minute(s)
				}
			}
		}
		time.Sleep(pollEvery)
		all := true
		for i := range lines {
			l := &lines[i]
			l.done = l.done || done(l)
			all = all && l.done
		}
		if all || gone >= most {
			break
		}
	}
	for i := range lines {
		if !lines[i].done {
			wrong(&lines[i])
		}
	}
}

// said reports whether an alert's texts hold all parts.
func said(a *monolith.Alert, parts []string) bool {
	return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(a.Summary+"\n"+a.Text, part) })
}

// writeProvoked adds lines to the list, which is a table.
func writeProvoked(t *testing.T, path string, lines []provoked) {
	t.Helper()
	var b strings.Builder
	cell := func(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
	on := map[string]string{"db1": "MariaDB", "db2": "its replica", "old": "MySQL 5.6", "node1": "Galera, a node", "node2": "Galera, a second node", "node3": "Galera, a third node", "gtid1": "MySQL 5.6 with GTIDs", "gtid2": "its replica, MySQL 5.6", "tls": "MariaDB with TLS"}
	for _, l := range lines {
		closed := "not waited for"
		if l.done {
			closed = inWords(l.closed)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %v | %v |\n", l.rule, on[l.server], cell(l.how), l.level, cell(l.summary), inWords(l.opened), closed)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(b.String()); err != nil {
		t.Fatal(err)
	}
}

// inWords writes a length of time without what is 0.
func inWords(d time.Duration) string {
	text := d.Round(time.Second).String()
	for _, nothing := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, nothing) {
			text = text[:len(text)-2]
		}
	}
	return text
}

package web

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"monolith"
)

// fleetStore answers reads with invented but lifelike values: a daily wave with some noise, a restart
// and a gap half an hour before now.
type fleetStore struct {
	*fakeStore
	now   func() time.Time
	began atomic.Pointer[time.Time] // there is no value before
}

// Read gives every metric that a real server would have; the query cache and Galera are absent.
func (f *fleetStore) Read(_ context.Context, q monolith.Query) (*monolith.Range, error) {
	start := q.From.Truncate(q.Step)
	r := &monolith.Range{Start: start, Step: q.Step, Tier: "raw", N: int((q.To.Sub(start) + q.Step - 1) / q.Step)}
	if q.Step >= 10*time.Minute {
		r.Tier = "10m"
	}
	for _, name := range q.Metrics {
		if strings.Contains(name, "Qcache") || strings.Contains(name, "query_cache") || strings.Contains(name, "wsrep") || strings.HasPrefix(name, "self.") {
			r.Absent = append(r.Absent, name)
			continue
		}
		for _, instance := range instancesOf(name) {
			r.Series = append(r.Series, f.series(q.Server, monolith.Metric{Name: name, Instance: instance}, r))
		}
	}
	return r, nil
}

// Changes gives changes newest first, as the store does.
func (f *fleetStore) Changes(_ context.Context, q monolith.ChangeQuery) ([]monolith.Change, error) {
	defer f.lock()()
	var out []monolith.Change
	for _, c := range f.changes {
		if c.Server == q.Server && strings.HasPrefix(c.Name, q.Name) && (q.To.IsZero() || c.At.Before(q.To)) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b monolith.Change) int { return b.At.Compare(a.At) })
	return out[:min(len(out), q.Limit)], f.broken
}

func instancesOf(name string) []string {
	switch {
	case strings.HasPrefix(name, "host.mount_"):
		return []string{"/", "/var/lib/mysql"}
	case strings.HasPrefix(name, "host.disk_"):
		return []string{"sda", "nvme0n1"}
	case strings.HasPrefix(name, "host.net_"):
		return []string{"eth0"}
	case strings.HasPrefix(name, "schema.") && !strings.HasPrefix(name, "schema.total"):
		return []string{"shop", "crm", "mysql"}
	}
	return []string{""}
}

func (f *fleetStore) series(id monolith.ServerID, m monolith.Metric, r *monolith.Range) monolith.Series {
	s := monolith.Series{Metric: m, Kind: monolith.KindOf(m.Name)}
	base := invented(id, m.String())
	restart := f.now().Add(-30 * time.Minute)
	var began time.Time
	if t := f.began.Load(); t != nil {
		began = *t
	}
	for i := range r.N {
		at := r.Start.Add(time.Duration(i) * r.Step)
		v := base * (1 + 0.5*math.Sin(float64(at.Unix())/86400*2*math.Pi)) * (0.85 + 0.3*noise(m.Name, at.Unix()))
		switch {
		case m.Name == "status.Uptime":
			v = at.Sub(restart).Seconds()
			if v < 0 {
				v += 12 * 86400
			}
		case strings.HasPrefix(m.Name, "variable."), strings.Contains(m.Name, "size_bytes"), strings.Contains(m.Name, "cores"):
			v = base
		case strings.HasSuffix(m.Name, "_running") && strings.HasPrefix(m.Name, "replica."), m.Name == "server.up", m.Name == "server.polled":
			v = 1
		}
		if at.After(restart.Add(-3*time.Minute)) && at.Before(restart) || at.After(f.now()) || at.Before(began) {
			v = math.NaN()
			if (m.Name == "server.up" || m.Name == "server.polled") && !at.After(f.now()) && !at.Before(began) {
				v = 0
			}
		}
		if s.Kind.Accumulates() {
			secs := r.Step.Seconds()
			if math.IsNaN(v) {
				secs = 0
			}
			s.Increase, s.Seconds = append(s.Increase, v*r.Step.Seconds()), append(s.Seconds, secs)
			s.RateMin, s.RateMax = append(s.RateMin, v*0.7), append(s.RateMax, v*1.5)
			if !s.Kind.Accumulates() || s.Kind != monolith.Untyped {
				continue
			}
		}
		s.Avg, s.Min, s.Max, s.Last = append(s.Avg, v), append(s.Min, v*0.9), append(s.Max, v*1.1), append(s.Last, v)
	}
	return s
}

// invented gives a plausible size for a metric.
func invented(id monolith.ServerID, name string) float64 {
	h := fnv.New32a()
	fmt.Fprint(h, id, name)
	u := float64(h.Sum32()%1000)/1000 + 0.2
	for _, known := range inventedSizes {
		if strings.Contains(name, known.part) {
			return known.size * u
		}
	}
	return 10 * u
}

// inventedSizes are tried in order.
var inventedSizes = []struct {
	part string
	size float64
}{
	{"Questions", 900}, {"Queries", 950}, {"Com_select", 600}, {"Com_insert", 60}, {"Com_update", 90}, {"Com_delete", 12}, {"max_connections", 500},
	{"Threads_connected", 80}, {"Threads_running", 6}, {"Slow", 0.2}, {"buffer_pool_size", 8e9}, {"read_requests", 2e5}, {"pool_reads", 300},
	{"pages_data", 1.6e5}, {"pages_dirty", 2e4}, {"pages_free", 3e4}, {"Innodb_page_size", 16384}, {"bytes_total", 4e6}, {"Bytes_", 6e5},
	{"mount_size_bytes", 4e11}, {"mount_used", 2.2e11}, {"mount_available", 1.8e11}, {"cpu_user", 1.5}, {"cpu_system", 0.6}, {"cpu_iowait", 0.3},
	{"cpu_seconds_total", 8}, {"cpu_", 0.05}, {"seconds_total", 0.4}, {"cores", 8}, {"load", 2}, {"memory_total", 3.4e10}, {"_bytes", 3e9}, {"delay", 0.8},
	{"Innodb_rows_read", 5e4}, {"Handler", 2e4},
}

func noise(name string, at int64) float64 {
	h := fnv.New32a()
	fmt.Fprint(h, name, at/60)
	return float64(h.Sum32()%1000) / 1000
}

// newFleet makes a site with n servers in the states that the first screen must tell apart.
func newFleet(tb testing.TB, n int, change ...func(*Config)) *site {
	tb.Helper()
	var fleet *fleetStore
	x := newSite(tb, append([]func(*Config){func(c *Config) {
		fleet = &fleetStore{fakeStore: c.Store.(*fakeStore), now: c.Now}
		c.Store = fleet
	}}, change...)...)
	fleet.now = x.now
	envs := []string{"prod", "stage", "dev"}
	for i := range n {
		s := &monolith.Server{Name: fmt.Sprintf("db%d", i+1), Group: fmt.Sprintf("client%d/%s", i/24+1, envs[i%3]), Environment: envs[i%3], Host: "local",
			Endpoint: monolith.Endpoint{Host: fmt.Sprintf("10.0.%d.%d", i/250, i%250+1), User: "monolith", Password: "canary-Zx9"}}
		if n <= 3 {
			s.Group = "acme/prod"
		}
		s.Paused = i%97 == 41
		if err := x.store.AddServer(tb.Context(), s); err != nil {
			tb.Fatal(err)
		}
		if !slices.ContainsFunc(x.store.groups, func(g monolith.Group) bool { return g.Path == s.Group }) {
			x.store.groups = append(x.store.groups, monolith.Group{Path: s.Group})
		}
		for seq := uint64(1); seq <= 2; seq++ {
			x.poller.take(fleetPoll(s.ID, i, seq, x.now()))
		}
		x.store.changes = append(x.store.changes, monolith.Change{ID: int64(i + 1), Server: s.ID, At: x.now().Add(-time.Duration(i+7) * 17 * time.Minute),
			Name: "variable.max_connections", From: "151", To: "500"})
	}
	x.store.marks = append(x.store.marks,
		monolith.Mark{ID: 9001, Server: 1, At: x.now().Add(-30 * time.Minute), Kind: monolith.MarkRestart, Text: "mysqld was restarted"},
		monolith.Mark{ID: 9002, Server: 1, At: x.now().Add(-12 * time.Minute), Kind: monolith.MarkVariable, Text: "max_connections: 151 → 500"},
		monolith.Mark{ID: 9003, At: x.now().Add(-5 * time.Minute), Kind: monolith.MarkNote, Text: "deploy 4.2"})
	x.store.graphs = []monolith.SavedGraph{{ID: 77, Title: "Checkout rate", Page: "overview", Definition: "{id: own, title: Checkout rate, section: own, panels: [{unit: 1/s, series: [{name: commits, expr: rate(status.Com_commit)}]}]}"}}
	x.store.retention = monolith.DefaultRetention()
	return x
}

// fleetPoll makes a poll of the i-th server.
func fleetPoll(id monolith.ServerID, i int, seq uint64, now time.Time) *monolith.Snapshot {
	at := now.Add(-time.Duration(2-seq)*10*time.Second - time.Duration(i%9)*time.Second)
	if i%50 == 20 {
		at = at.Add(-35 * time.Second)
	}
	snap := &monolith.Snapshot{Server: id, Seq: seq, At: at, Taken: at, Elapsed: 10 * time.Second, Interval: 10 * time.Second, Run: 1, Up: true, Polled: true,
		Identity: monolith.Identity{Flavour: monolith.MariaDB, Version: monolith.ParseVersion("10.11.6"), VersionText: "10.11.6-MariaDB-log", Comment: "Debian 12",
			Hostname: fmt.Sprintf("db%d.example", i+1), Port: 3306, ServerID: uint32(i + 1)}, Rows: monolith.Rows{Replicas: []monolith.Replica{}}}
	if i%3 == 2 {
		snap.Identity = monolith.Identity{Flavour: monolith.MySQL, Version: monolith.ParseVersion("8.4.3"), VersionText: "8.4.3", Comment: "MySQL Community Server - GPL", Hostname: fmt.Sprintf("db%d.example", i+1), Port: 3306}
	}
	names, nums := []monolith.Metric{}, []monolith.Num{}
	for _, name := range []string{"status.Questions", "status.Threads_connected", "status.Threads_running", "status.Innodb_buffer_pool_reads", "status.Innodb_buffer_pool_read_requests", "status.Com_select",
		"host.cpu_user_seconds_total", "host.cpu_nice_seconds_total", "host.cpu_system_seconds_total", "host.cpu_irq_seconds_total", "host.cpu_softirq_seconds_total", "host.cpu_steal_seconds_total", "host.cpu_seconds_total",
		"host.cores", "host.memory_total_bytes"} {
		v := invented(id, name)
		if name == "host.cpu_seconds_total" {
			v = 8
		}
		if monolith.KindOf(name).Accumulates() {
			v *= float64(1000 + seq*10)
		}
		names, nums = append(names, monolith.Metric{Name: name}), append(nums, monolith.Uint(uint64(math.Max(1, v))))
	}
	names, nums = append(names, monolith.Metric{Name: "status.Uptime"}), append(nums, monolith.Uint(uint64(86400*(i%40)+1800)))
	for _, mount := range []string{"/", "/var/lib/mysql"} {
		for _, m := range []string{"host.mount_available_bytes", "host.mount_used_bytes"} {
			names, nums = append(names, monolith.Metric{Name: m, Instance: mount}), append(nums, monolith.Uint(uint64(2e11*(0.2+float64((i*7+len(m))%13)/13))))
		}
	}
	snap.Sections = []monolith.Section{
		{Collector: "status", NumNames: monolith.NewNames(names), Nums: nums, TextNames: monolith.NewNames([]monolith.Metric{{Name: "status.Ssl_cipher"}}), Texts: []string{"TLS_AES_256_GCM_SHA384"}},
		{Collector: "variables", NumNames: monolith.NewNames([]monolith.Metric{{Name: "variable.max_connections"}, {Name: "variable.innodb_buffer_pool_size"}}), Nums: []monolith.Num{monolith.Uint(500), monolith.Uint(8 << 30)},
			TextNames: monolith.NewNames([]monolith.Metric{{Name: "variable.datadir"}, {Name: "variable.log_bin"}, {Name: "variable.binlog_format"}, {Name: "variable.default_storage_engine"}, {Name: "variable.read_only"}, {Name: "variable.character_set_server"}}),
			Texts:     []string{"/var/lib/mysql/", "ON", "ROW", "InnoDB", "OFF", "utf8mb4"}},
		{Collector: "self", NumNames: selfNames, Nums: []monolith.Num{monolith.Uint(4 * seq)}, TextNames: monolith.NewNames(nil)},
	}
	if i%3 == 1 {
		lag := int64(i % 7)
		r := monolith.Replica{SourceHost: fmt.Sprintf("10.0.%d.%d", (i-1)/250, (i-1)%250+1), SourcePort: 3306, SourceUser: "repl", IO: monolith.ThreadYes, SQL: monolith.ThreadYes, Lag: &lag, Delay: &lag,
			IOState: "Waiting for master to send event", SQLState: "Slave has read all relay log; waiting for more updates", SourceLogFile: "binlog.000042", ReadLogPos: 73911, RelaySourceLog: "binlog.000042", ExecLogPos: 73911, RelaySpace: 1 << 20}
		if i%60 == 31 {
			r.SQL, r.Delay, r.SQLErrno, r.SQLError = monolith.ThreadNo, nil, 1062, "Could not execute Write_rows_v1 event on table shop.orders; Duplicate entry '?' for key 'PRIMARY', Error_code: 1062"
		}
		snap.Replicas = []monolith.Replica{r}
	}
	snap.Processes = &monolith.ProcessList{Taken: at, Total: 42, Rows: []monolith.Process{
		{ID: 7, User: "shop", Host: "10.1.1.4", DB: "shop", Command: "Query", Seconds: 12, State: "Sending data", Info: "SELECT * FROM orders WHERE customer = ?"},
		{ID: 8, User: "monolith", Host: "10.1.1.9", Command: "Query", State: "starting", Info: "SHOW GLOBAL STATUS", Own: true},
		{ID: 9, User: "app", Host: "10.1.1.5", Command: "Sleep", Seconds: 400}},
		ByUser: []monolith.Count{{Name: "shop", Count: 30}, {Name: "app", Count: 12}}, ByHost: []monolith.Count{{Name: "10.1.1.4", Count: 30}}, ByState: []monolith.Count{{Name: "Sending data", Count: 3}, {Name: "", Count: 39}}}
	snap.Schemas = &monolith.SchemaSizes{Taken: at, Tables: 61, Schemas: []monolith.SchemaSize{{Schema: "shop", Engine: "InnoDB", Tables: 48, Data: 6 << 30, Index: 2 << 30, Free: 40 << 20}},
		Largest: []monolith.TableSize{{Schema: "shop", Table: "orders", Engine: "InnoDB", Rows: 12_400_000, Data: 3 << 30, Index: 1 << 30}}}
	snap.Accounts = []monolith.Account{{User: "root", Host: "localhost", Plugin: "unix_socket", Privileges: []string{"ALL PRIVILEGES"}, GrantGlobal: true}, {User: "", Host: "%", Plugin: "mysql_native_password", AuthEmpty: true}}
	snap.Costs = []monolith.Cost{{Collector: "status"}}
	switch {
	case i%40 == 13:
		snap.Up, snap.Polled, snap.Sections = false, false, nil
		if seq == 1 {
			snap.Up, snap.Polled = true, true
			return fleetPoll(id, i+1, seq, now)
		}
		snap.Problems = []monolith.Problem{{Kind: monolith.ProblemUnreachable, Text: "connection to 10.0.0.14:3306 was refused", Cure: "is mysqld running there, and does a firewall let Monolith through?"}}
	case i%11 == 5:
		snap.Problems = []monolith.Problem{{Collector: "processes", Kind: monolith.ProblemPrivilege, Text: "the account lacks PROCESS", Cure: "GRANT PROCESS ON *.* TO 'monolith'@'%'"}}
	}
	return snap
}

// keepPolling invents a poll of every server each ten seconds until the test ends.
func (x *site) keepPolling(t *testing.T) {
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for seq := uint64(3); ; seq++ {
		select {
		case <-t.Context().Done():
			return
		case <-tick.C:
		}
		servers, _ := x.store.Servers(t.Context())
		for i := range servers {
			snap := fleetPoll(servers[i].ID, i, seq, x.now().Add(-time.Duration(seq-2)*10*time.Second))
			x.poller.take(snap)
			x.Push(t.Context(), snap)
		}
	}
}

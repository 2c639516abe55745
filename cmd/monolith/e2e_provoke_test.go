package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"monolith"
	"monolith/alerts"
	"monolith/internal/mysqltest"
	"monolith/poller"
	"monolith/store"
	"monolith/store/history"
)

// Alerts are provoked on real servers, and seen to open and to close. What a rule goes by is what the servers say; only the clock of
// Monolith is another: poller, store and rules run in a bubble of testing/synctest, where time goes on while nobody does anything. A
// statement takes no time there, and a rule's half an hour passes as fast as the servers answer the sixty polls in it. So that the
// servers are not taken for restarted, their Uptime is told by the same clock: see [stage.uptime].

// stage is Monolith as it watches the servers, within a bubble.
type stage struct {
	t       *testing.T
	servers map[string]*mysqltest.Server
	ids     map[string]monolith.ServerID
	db      *store.DB
	poller  *poller.Poller
	alerts  *alerts.Service
	outside *outside

	mu    sync.Mutex
	roots map[string]*sql.DB
	born  map[monolith.ServerID]time.Time // by the clock of the bubble
	real  map[monolith.ServerID]int64     // Uptime as the server says it
}

// old is how long the servers are up when a round begins: nothing has to be learned.
const old = 30 * 24 * time.Hour

// pollEvery is how often the servers are polled, and the least step of time.
const pollEvery = 30 * time.Second

// newStage begins to watch. set may change how a server is set up.
func newStage(t *testing.T, servers map[string]*mysqltest.Server, out *outside, endpoints map[string]monolith.Endpoint, dir string, now time.Time, set func(*monolith.Server)) *stage {
	t.Helper()
	time.Sleep(time.Until(now)) // a bubble begins in the year 2000
	s := &stage{
		t: t, servers: servers, outside: out, ids: map[string]monolith.ServerID{}, roots: map[string]*sql.DB{},
		born: map[monolith.ServerID]time.Time{}, real: map[monolith.ServerID]int64{},
	}
	var err error
	s.db, err = store.Open(t.Context(), store.Config{Path: filepath.Join(dir, "monolith.db"), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	for name := range servers {
		srv := monolith.Server{
			Name: name, Group: "shop", Environment: "prod", Endpoint: endpoints[name], Host: "local",
			Schedules: map[string]string{monolith.Fast: "@every 30s", monolith.Slow: "@every 1m", monolith.Hourly: "@every 2m", monolith.Sizes: "@every 5m", monolith.Daily: "@every 5m"},
		}
		if set != nil {
			set(&srv)
		}
		if err := s.db.AddServer(t.Context(), &srv); err != nil {
			t.Fatal(err)
		}
		s.ids[name] = srv.ID
	}
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError}))
	s.alerts, err = alerts.NewService(alerts.ServiceConfig{
		Store: s.db, History: s.db, Log: log, Known: s.db.HasMetric,
		State: func(id monolith.ServerID) *monolith.State { return s.poller.State(id) },
	})
	if err != nil {
		t.Fatal(err)
	}
	collectors := poller.Collectors()
	for _, c := range collectors {
		if c.Name == "status" {
			s.uptime(c)
		}
	}
	s.poller, err = poller.New(poller.Config{
		Collectors: collectors, Resume: s.db.Resume, LastState: s.db.LastState, Log: log,
		Handle: []func(context.Context, *monolith.Snapshot){
			func(_ context.Context, snap *monolith.Snapshot) { s.db.Append(snap) },
			s.alerts.Handle,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.reload()
	s.run()
	return s
}

// reload makes poller and rules follow the list of servers.
func (s *stage) reload() {
	s.t.Helper()
	ctx := s.t.Context()
	list, err := s.db.Servers(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	groups, err := s.db.Groups(ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	s.alerts.SetServers(ctx, list, groups)
	s.poller.Apply(list, groups)
}

// run runs the parts until the bubble ends.
func (s *stage) run() {
	if err := s.alerts.Load(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var parts sync.WaitGroup
	for name, run := range map[string]func(context.Context) error{"store": s.db.Run, "poller": s.poller.Run, "alerts": s.alerts.Run} {
		parts.Go(func() {
			if err := run(ctx); err != nil {
				s.t.Errorf("%s: %v", name, err)
			}
		})
	}
	s.t.Cleanup(func() {
		cancel()
		parts.Wait()
		if err := s.db.Close(); err != nil {
			s.t.Error(err)
		}
		for _, root := range s.roots {
			root.Close()
		}
	})
}

// uptime lets the status collector tell a server's Uptime by the clock of the bubble: thirty days at the beginning, and from a
// restart on what went by since.
func (s *stage) uptime(c *poller.Collector) {
	collect := c.Collect
	c.Collect = func(ctx context.Context, g *poller.Gather) error {
		if err := collect(ctx, g); err != nil {
			return err
		}
		section := g.Snapshot().Section("status")
		i := section.NumNames.Index(monolith.Metric{Name: "status.Uptime"})
		if i < 0 {
			return nil
		}
		now, id := time.Now(), g.Server.ID
		s.mu.Lock()
		defer s.mu.Unlock()
		said := int64(section.Nums[i].Float64())
		switch {
		case s.born[id].IsZero():
			s.born[id] = now.Add(-old)
		case said < s.real[id]:
			s.born[id] = now
		}
		s.real[id] = said
		section.Nums[i] = monolith.Int(int64(now.Sub(s.born[id]).Seconds()))
		return nil
	}
}

// root is root's pool in a server. Its connections are the bubble's: one that was made outside can't be used within.
func (s *stage) root(server string) *sql.DB {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.roots[server] == nil {
		db, err := sql.Open("mysql", s.servers[server].RootDSN())
		if err != nil {
			s.t.Fatal(err)
		}
		s.roots[server] = db
	}
	return s.roots[server]
}

// exec runs statements one after another as root.
func (s *stage) exec(server string, statements ...string) {
	s.t.Helper()
	for _, statement := range statements {
		if _, err := s.root(server).ExecContext(s.t.Context(), statement); err != nil {
			s.t.Fatalf("%s: %.200s: %v", server, statement, err)
		}
	}
}

// open gives the open alert of a rule, or nil.
func (s *stage) open(server, rule, instance string) *monolith.Alert {
	for _, a := range s.alerts.Open() {
		if a.Server == s.ids[server] && a.Rule == rule && (instance == "" || a.Instance == instance) {
			return &a
		}
	}
	return nil
}

// why says what a rule says that is not open.
func (s *stage) why(server, rule string) string {
	var all []string
	for _, st := range s.alerts.RuleStatus(s.ids[server], rule) {
		var values []string
		for _, v := range st.Values {
			values = append(values, v.Name+"="+v.Text)
		}
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", st.Instance, st.State, cmp.Or(st.Why, st.Text), strings.Join(values, " "))))
	}
	return strings.Join(all, "\n")
}

// noMetrics is a poll that gave nothing. See [warm].
type noMetrics []history.Row

func (p noMetrics) Rows() []history.Row   { return p }
func (noMetrics) IDs() []history.MetricID { return nil }
func (noMetrics) Column(history.MetricID, []monolith.Num) ([]monolith.Num, error) {
	return nil, nil
}

// warm makes what all stores of a program share, outside of bubbles: what one bubble makes, another can't use.
func warm(t *testing.T) {
	t.Helper()
	if _, err := history.Marshal(noMetrics{history.RowOf(&monolith.Snapshot{Seq: 1, At: time.Now(), Run: 1})}); err != nil {
		t.Fatal(err)
	}
}

// outside does things that block, which would hold the clock of the bubble: a goroutine that waits for an answer is not idle.
type outside struct {
	t    *testing.T // of outside: its context is not the bubble's
	ask  chan func()
	done chan struct{}
}

// newOutside must be called outside of bubbles.
func newOutside(t *testing.T) *outside {
	o := &outside{t: t, ask: make(chan func()), done: make(chan struct{})}
	go func() {
		for f := range o.ask {
			over := make(chan struct{})
			go func() {
				defer close(over) // also when f gives up the test, which ends its goroutine
				f()
			}()
			<-over
			o.done <- struct{}{}
		}
	}()
	t.Cleanup(func() { close(o.ask) })
	return o
}

// do runs f outside of the bubble and waits for it. f must not use what belongs to the bubble: channels, timers, pools.
func (o *outside) do(f func()) {
	o.ask <- f
	<-o.done
}

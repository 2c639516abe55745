package web

import (
	"cmp"
	"context"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"monolith"
)

// noon is when tests happen.
var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// fakeStore keeps things in memory and answers reads with a gauge that is the minute of the hour and a
// counter that grows by 10 a second; there is no value between 11:20 and 11:30.
type fakeStore struct {
	mu        sync.Mutex
	servers   []monolith.Server
	groups    []monolith.Group
	marks     []monolith.Mark
	changes   []monolith.Change
	graphs    []monolith.SavedGraph
	retention monolith.Retention
	texts     map[string]string
	broken    error                               // every call gives it
	coarse    map[monolith.ServerID]time.Duration // the least step of a server's history
	stats     monolith.StoreStatistics
	reads     int
	lastID    int64
}

func (f *fakeStore) id() int64 { f.lastID++; return f.lastID }

func (f *fakeStore) lock() func() { f.mu.Lock(); return f.mu.Unlock }

func (f *fakeStore) Servers(context.Context) ([]monolith.Server, error) {
	defer f.lock()()
	return slices.Clone(f.servers), f.broken
}

func (f *fakeStore) Server(_ context.Context, name string) (monolith.Server, error) {
	defer f.lock()()
	for _, s := range f.servers {
		if s.Name == name {
			return s, f.broken
		}
	}
	return monolith.Server{}, cmp.Or(f.broken, monolith.ErrNotFound)
}

func (f *fakeStore) AddServer(_ context.Context, s *monolith.Server) error {
	defer f.lock()()
	if slices.ContainsFunc(f.servers, func(o monolith.Server) bool { return o.Name == s.Name }) {
		return monolith.ErrConflict
	}
	s.ID, s.Created, s.Updated = monolith.ServerID(f.id()), noon, noon
	f.servers = append(f.servers, *s)
	return f.broken
}

func (f *fakeStore) UpdateServer(_ context.Context, s *monolith.Server) error {
	defer f.lock()()
	for i := range f.servers {
		if f.servers[i].ID != s.ID && f.servers[i].Name == s.Name {
			return monolith.ErrConflict
		}
	}
	for i := range f.servers {
		if f.servers[i].ID == s.ID {
			f.servers[i] = *s
		}
	}
	return f.broken
}

func (f *fakeStore) DeleteServer(_ context.Context, id monolith.ServerID) error {
	defer f.lock()()
	f.servers = slices.DeleteFunc(f.servers, func(s monolith.Server) bool { return s.ID == id })
	return f.broken
}

func (f *fakeStore) OrderServers(_ context.Context, _ string, names []string) error {
	defer f.lock()()
	slices.SortStableFunc(f.servers, func(a, b monolith.Server) int {
		return cmp.Compare(slices.Index(names, a.Name), slices.Index(names, b.Name))
	})
	return f.broken
}

func (f *fakeStore) Groups(context.Context) ([]monolith.Group, error) {
	defer f.lock()()
	return slices.Clone(f.groups), f.broken
}

func (f *fakeStore) PutGroup(_ context.Context, g monolith.Group) error {
	defer f.lock()()
	f.groups = append(slices.DeleteFunc(f.groups, func(o monolith.Group) bool { return o.Path == g.Path }), g)
	return f.broken
}

func (f *fakeStore) DeleteGroup(_ context.Context, path string) error {
	defer f.lock()()
	if slices.ContainsFunc(f.servers, func(s monolith.Server) bool { return monolith.InGroup(s.Group, path) }) {
		return monolith.ErrConflict
	}
	before := len(f.groups)
	if f.groups = slices.DeleteFunc(f.groups, func(o monolith.Group) bool { return o.Path == path }); len(f.groups) == before {
		return monolith.ErrNotFound
	}
	return f.broken
}

func (f *fakeStore) MoveGroup(_ context.Context, from, to string) error {
	defer f.lock()()
	for i := range f.servers {
		if f.servers[i].Group == from {
			f.servers[i].Group = to
		}
	}
	return f.broken
}

func (f *fakeStore) OrderGroups(context.Context, []string) error { return f.broken }

func (f *fakeStore) Metrics(context.Context, monolith.ServerID) ([]monolith.Metric, error) {
	return []monolith.Metric{{Name: "status.Threads_running"}, {Name: "status.Questions"}, {Name: "status.Plugin_thing"}, {Name: "variable.max_connections"}}, f.broken
}

func (f *fakeStore) Read(_ context.Context, q monolith.Query) (*monolith.Range, error) {
	defer f.lock()()
	f.reads++
	if f.broken != nil {
		return nil, f.broken
	}
	q.Step = max(q.Step, f.coarse[q.Server])
	start := q.From.Truncate(q.Step)
	r := &monolith.Range{Start: start, Step: q.Step, Tier: "raw", N: int((q.To.Sub(start) + q.Step - 1) / q.Step)}
	for _, name := range q.Metrics {
		s := monolith.Series{Metric: monolith.Metric{Name: name}, Kind: monolith.KindOf(name)}
		switch name {
		case "status.Threads_running", "status.Plugin_thing":
			for i := range r.N {
				at := start.Add(time.Duration(i) * q.Step).UTC()
				v := float64(at.Minute())
				if at.Hour() == 11 && at.Minute() >= 20 && at.Minute() < 30 {
					v = math.NaN()
				}
				s.Avg, s.Min, s.Max, s.Last = append(s.Avg, v), append(s.Min, v-1), append(s.Max, v+1), append(s.Last, v)
			}
		case "status.Questions":
			for range r.N {
				s.Increase, s.Seconds = append(s.Increase, 10*q.Step.Seconds()), append(s.Seconds, q.Step.Seconds())
				s.RateMin, s.RateMax = append(s.RateMin, 9), append(s.RateMax, 11)
			}
		default:
			r.Absent = append(r.Absent, name)
			continue
		}
		r.Series = append(r.Series, s)
	}
	return r, nil
}

func (f *fakeStore) Changes(_ context.Context, q monolith.ChangeQuery) ([]monolith.Change, error) {
	defer f.lock()()
	var out []monolith.Change
	for _, c := range slices.Backward(f.changes) { // newest first
		if (q.Server == 0 || c.Server == q.Server) && (len(q.Servers) == 0 || slices.Contains(q.Servers, c.Server)) && (q.Before == 0 || c.ID < q.Before) && strings.HasPrefix(c.Name, q.Name) && len(out) < q.Limit {
			out = append(out, c)
		}
	}
	return out, f.broken
}

func (f *fakeStore) TextsAt(context.Context, monolith.ServerID, string, time.Time) (map[string]string, error) {
	return f.texts, f.broken
}

func (f *fakeStore) Marks(_ context.Context, q monolith.MarkQuery) ([]monolith.Mark, error) {
	defer f.lock()()
	var out []monolith.Mark
	for _, m := range f.marks {
		mine := q.Servers == nil || slices.Contains(q.Servers, m.Server) || m.Server == 0 && m.Group == ""
		if mine && (len(q.Kinds) == 0 || slices.Contains(q.Kinds, m.Kind)) && (q.From.IsZero() || !m.At.Before(q.From)) && (q.To.IsZero() || m.At.Before(q.To)) {
			out = append(out, m)
		}
	}
	return out, f.broken
}

func (f *fakeStore) AddMark(_ context.Context, m *monolith.Mark) error {
	defer f.lock()()
	m.ID = f.id()
	f.marks = append(f.marks, *m)
	return f.broken
}

func (f *fakeStore) DeleteMark(_ context.Context, id int64) error {
	defer f.lock()()
	if slices.ContainsFunc(f.marks, func(m monolith.Mark) bool { return m.ID == id && m.Kind != monolith.MarkNote }) {
		return monolith.ErrConflict
	}
	before := len(f.marks)
	if f.marks = slices.DeleteFunc(f.marks, func(m monolith.Mark) bool { return m.ID == id }); len(f.marks) == before {
		return monolith.ErrNotFound
	}
	return f.broken
}

func (f *fakeStore) Retention(context.Context) (monolith.Retention, error) {
	return f.retention, f.broken
}

func (f *fakeStore) SetRetention(_ context.Context, r monolith.Retention) error {
	f.retention = r
	return f.broken
}

func (f *fakeStore) Estimate(_ context.Context, r monolith.Retention) (monolith.Estimate, error) {
	return monolith.Estimate{Bytes: int64(r.RawDays) * 1000}, f.broken
}

func (f *fakeStore) Graphs(context.Context) ([]monolith.SavedGraph, error) {
	defer f.lock()()
	return slices.Clone(f.graphs), f.broken
}

func (f *fakeStore) PutGraph(_ context.Context, g *monolith.SavedGraph) error {
	defer f.lock()()
	if g.ID == 0 {
		g.ID = f.id()
	}
	f.graphs = append(slices.DeleteFunc(f.graphs, func(o monolith.SavedGraph) bool { return o.ID == g.ID }), *g)
	return f.broken
}

func (f *fakeStore) DeleteGraph(_ context.Context, id int64) error {
	defer f.lock()()
	f.graphs = slices.DeleteFunc(f.graphs, func(o monolith.SavedGraph) bool { return o.ID == id })
	return f.broken
}

func (f *fakeStore) Ping(context.Context) error { return f.broken }

func (f *fakeStore) Usage(context.Context) (monolith.Usage, error) {
	return monolith.Usage{Engine: "memory", Bytes: 4096, WAL: 77}, f.broken
}

func (f *fakeStore) Stats() monolith.StoreStatistics {
	defer f.lock()()
	return f.stats
}

func (f *fakeStore) LastChanges(namespace string) map[monolith.ServerID]monolith.Change {
	defer f.lock()()
	last := map[monolith.ServerID]monolith.Change{}
	for _, c := range f.changes {
		if strings.HasPrefix(c.Name, namespace+".") {
			last[c.Server] = c
		}
	}
	return last
}

// fakePoller knows what tests tell it.
type fakePoller struct {
	mu     sync.Mutex
	states map[monolith.ServerID]*monolith.State
	tested []monolith.Server
	polled []monolith.ServerID
}

func (f *fakePoller) State(id monolith.ServerID) *monolith.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.states[id]
}

func (f *fakePoller) take(snap *monolith.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.states[snap.Server] = f.states[snap.Server].With(snap)
}

func (f *fakePoller) Collectors(monolith.ServerID) []monolith.CollectorStatus {
	return []monolith.CollectorStatus{{Name: "status", Works: monolith.CollectorWorks, Interval: 10 * time.Second}}
}

func (f *fakePoller) PollNow(id monolith.ServerID) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.polled = append(f.polled, id)
	return nil
}

func (f *fakePoller) Test(_ context.Context, s monolith.Server) monolith.TestReport {
	f.tested = append(f.tested, s)
	return monolith.TestReport{OK: true, Steps: []monolith.TestStep{{Name: "login", Result: monolith.StepOK, Took: time.Millisecond}}}
}

func (f *fakePoller) Stats() monolith.Statistics { return monolith.Statistics{Polls: 42, Skipped: 3} }

// site is a server under test with what stands behind it.
type site struct {
	*Server
	store  *fakeStore
	poller *fakePoller
	alerts *fakeAlerts
	tell   *fakeTelling
	log    *strings.Builder
	clock  time.Time
	calls  int // of OnChange
}

func newSite(tb testing.TB, change ...func(*Config)) *site {
	tb.Helper()
	x := &site{
		store:  &fakeStore{retention: monolith.DefaultRetention(), texts: map[string]string{"variable.max_connections": "151"}},
		poller: &fakePoller{states: map[monolith.ServerID]*monolith.State{}},
		log:    &strings.Builder{}, clock: noon,
	}
	x.alerts = &fakeAlerts{now: func() time.Time { return x.clock }, statuses: map[monolith.ServerID][]monolith.RuleStatus{}}
	x.tell = &fakeTelling{}
	cfg := Config{Store: x.store, Poller: x.poller, Alerts: x.alerts, Telling: x.tell, Feeds: fakeFeedSource{x.alerts}, Exports: &fakeExports{}, Version: "test", Now: func() time.Time { return x.clock },
		Log:      slog.New(slog.NewTextHandler(x.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		OnChange: func(context.Context) { x.calls++ }}
	for _, f := range change {
		f(&cfg)
	}
	var err error
	if x.Server, err = New(cfg); err != nil {
		tb.Fatal(err)
	}
	return x
}

// add puts a server into the store.
func (x *site) add(tb testing.TB, name, group string) *monolith.Server {
	tb.Helper()
	s := &monolith.Server{Name: name, Group: group, Endpoint: monolith.Endpoint{Host: "db.example", Port: 3306, User: "mon", Password: "canary-Zx9"}}
	if err := x.store.AddServer(tb.Context(), s); err != nil {
		tb.Fatal(err)
	}
	return s
}

// answer is a response that was read.
type answer struct {
	*httptest.ResponseRecorder
	body string
}

// do sends a request. header holds pairs.
func (x *site) do(tb testing.TB, method, target, body string, header ...string) answer {
	tb.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	r := httptest.NewRequestWithContext(tb.Context(), method, "http://localhost:8080"+target, reader)
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	x.Handler().ServeHTTP(w, r)
	if w.Code >= 400 && r.Header.Get("Sec-Fetch-Dest") != "image" && !strings.HasPrefix(w.Header().Get("Content-Type"), "application/problem+") &&
		!strings.HasPrefix(target, x.base+"/readyz") && !strings.Contains(r.Header.Get("Accept"), "text/html") {
		tb.Errorf("%s %s: %d is no problem document but %q", method, target, w.Code, w.Header().Get("Content-Type"))
	}
	return answer{w, w.Body.String()}
}

func (x *site) get(tb testing.TB, target string, header ...string) answer {
	tb.Helper()
	return x.do(tb, http.MethodGet, target, "", header...)
}

// poll makes a snapshot of a server: its status, one variable, what Monolith itself added to it, half a question a
// second, and a lag.
func poll(server monolith.ServerID, seq uint64, questions uint64, lag *int64) *monolith.Snapshot {
	at := noon.Add(time.Duration(seq) * 10 * time.Second)
	return &monolith.Snapshot{
		Server: server, Seq: seq, At: at, Taken: at, Elapsed: 10 * time.Second, Interval: 10 * time.Second, Run: 1, Up: true, Polled: true,
		Identity: monolith.Identity{Flavour: monolith.MariaDB, Version: monolith.ParseVersion("10.11.6"), VersionText: "10.11.6-MariaDB"},
		Sections: []monolith.Section{
			{Collector: "status", NumNames: statusNames, Nums: []monolith.Num{monolith.Uint(questions), monolith.Uint(7), monolith.Uint(math.MaxUint64), {}},
				TextNames: textNames, Texts: []string{"evil <script>\x01\u202e"}},
			{Collector: "variables", NumNames: variableNames, Nums: []monolith.Num{monolith.Uint(151)}, TextNames: monolith.NewNames(nil)},
			{Collector: "self", NumNames: selfNames, Nums: []monolith.Num{monolith.Uint(5 * seq)}, TextNames: monolith.NewNames(nil)},
		},
		Rows:  monolith.Rows{Replicas: []monolith.Replica{{Channel: "", Lag: lag, Delay: lag}}},
		Costs: []monolith.Cost{{Collector: "status", Took: 3 * time.Millisecond}},
	}
}

var (
	statusNames = monolith.NewNames([]monolith.Metric{{Name: "status.Questions"}, {Name: "status.Threads_running"},
		{Name: "status.Innodb_buffer_pool_pages_misc"}, {Name: "status.Open_files"}})
	textNames     = monolith.NewNames([]monolith.Metric{{Name: "status.Ssl_cipher"}})
	selfNames     = monolith.NewNames([]monolith.Metric{{Name: "self.Questions"}})
	variableNames = monolith.NewNames([]monolith.Metric{{Name: "variable.max_connections"}})
)

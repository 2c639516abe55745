package alerts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
	"monolith/formula"
)

// world is a server that exists only in a test: it is polled with synthetic time and gives what the test says. Windows,
// rules and states work on it as on a real one.
type world struct {
	cat    *Catalogue
	rule   *Rule
	engine *Engine
	server *monolith.Server
	id     monolith.Identity

	start, now time.Time
	interval   time.Duration
	elapsed    time.Duration // monotonic
	seq        uint64
	run        uint32
	booted     time.Time
	restarted  bool
	state      *monolith.State

	signals map[monolith.Metric]*signal
	rows    monolith.Rows
	refused map[string]monolith.ProblemKind
	lost    map[string]bool    // names that the server no longer sends
	hidden  map[string]string  // what collectors give is hidden for want of a right: the statement that gives it
	idle    map[string]bool    // collectors whose turn it is not
	problem *monolith.Problem  // of the connection
	notes   []monolith.Problem // of collectors that work
	history map[string]formula.Scalar
	usual   map[string]float64
	layouts map[string]*monolith.Names
	events  []Transition
}

// signal is a metric over time: a value or text that holds, or a line from one value to another.
type signal struct {
	text    string
	isText  bool
	null    bool
	base    float64 // at since
	slope   float64 // per second
	saw     *sawEntry
	since   time.Time
	counter bool
}

func (s *signal) at(t time.Time) float64 {
	if s.saw != nil {
		if time.Duration(t.UnixNano())%time.Duration(s.saw.Every) < time.Duration(s.saw.Up) {
			return s.saw.High
		}
		return s.saw.Low
	}
	v := s.base + s.slope*t.Sub(s.since).Seconds()
	if s.counter {
		return math.Floor(v + 1e-6)
	}
	return v
}

// settle makes the value at a moment the one from which it goes on.
func (s *signal) settle(t time.Time) {
	if !s.isText && !s.null {
		s.base, s.since = s.base+s.slope*t.Sub(s.since).Seconds(), t
	}
}

// testStart is when tests begin: a Monday.
func testStart() time.Time { return time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC) }

func newWorld(cat *Catalogue, r *Rule, all bool, entry *serverEntry) *world {
	w := &world{
		cat: cat, rule: r, start: testStart(), interval: time.Minute, run: 1,
		signals: map[monolith.Metric]*signal{}, refused: map[string]monolith.ProblemKind{}, history: map[string]formula.Scalar{},
		layouts: map[string]*monolith.Names{},
	}
	if !all {
		w.cat = cat.single(r)
		w.rule = w.cat.rules[0]
	}
	w.engine = NewEngine(w.cat)
	w.rows = emptyRows()
	w.identity(entry)
	return w
}

// emptyRows is what collectors that find nothing give.
func emptyRows() monolith.Rows {
	var r monolith.Rows
	if err := json.Unmarshal([]byte(emptyRowsJSON()), &r); err != nil {
		panic(fmt.Sprintf("alerts: empty rows: %v", err))
	}
	return r
}

func emptyRowsJSON() string {
	var b strings.Builder
	b.WriteByte('{')
	n := 0
	for _, s := range rowSets() {
		switch s.name {
		case "processes_by_user", "processes_by_host", "processes_by_state", "tables", "deadlock", "gtids":
			continue
		}
		if n++; n > 1 {
			b.WriteByte(',')
		}
		empty := "[]"
		if s.name == "processes" || s.name == "schemas" {
			empty = "{}"
		}
		fmt.Fprintf(&b, "%q:%s", s.name, empty)
	}
	b.WriteByte('}')
	return b.String()
}

// single gives a catalogue with one of its rules.
func (c *Catalogue) single(r *Rule) *Catalogue {
	one := *c
	copied := *r
	copied.index = 0
	one.rules, one.byID = []*Rule{&copied}, map[string]*Rule{r.id: &copied}
	return &one
}

func (w *world) identity(e *serverEntry) {
	flavour := monolith.Flavour(cmp.Or(e.Flavour, "mysql"))
	if e.Aurora {
		flavour = monolith.Aurora
	}
	version := e.Version
	if version == "" {
		version = map[monolith.Flavour]string{monolith.MariaDB: "10.11.6"}[flavour]
		version = cmp.Or(version, "8.0.36")
	}
	text := version
	if flavour.IsMariaDB() {
		text += "-MariaDB"
	}
	w.id = monolith.Identity{Flavour: flavour, Version: monolith.ParseVersion(version), VersionText: text, Galera: e.Galera, Cloud: e.Cloud,
		Hostname: "db1", ServerID: 1, Port: 3306}
	if e.RDS {
		w.id.Cloud = "rds"
	}
	w.server = &monolith.Server{ID: 1, Name: cmp.Or(e.Name, "db1"), Group: e.Group, Environment: e.Environment, Role: e.Role, Tags: e.Tags, RAM: e.RAM,
		Host: e.Host, CollectorsOff: e.CollectorsOff}
	w.set("variable.version", text)
	w.set("variable.read_only", "OFF")
}

// metricText is a metric as tests write it: a name, or name[instance].
var metricText = regexp.MustCompile(`^([A-Za-z_]+\.[^\[\]]+)(?:\[(.*)\])?$`)

func parseMetric(text string) (monolith.Metric, error) {
	m := metricText.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return monolith.Metric{}, fmt.Errorf("%q is not a name such as status.Questions or host.mount_used_bytes[/]", text)
	}
	name := monolith.Metric{Name: m[1], Instance: m[2]}
	if !slices.Contains(monolith.Namespaces, name.Namespace()) {
		return monolith.Metric{}, fmt.Errorf("%q begins with no namespace", text)
	}
	return name, nil
}

// set makes a value hold from now on.
func (w *world) set(name string, value any) error {
	m, err := parseMetric(name)
	if err != nil {
		return err
	}
	s := &signal{since: w.at(), counter: monolith.KindOf(m.Name) == monolith.Counter}
	switch v := value.(type) {
	case nil:
		s.null = true
		if m.Namespace() == "variable" || m.Namespace() == "status" {
			s.null, s.isText, s.text = false, true, "NULL"
		}
	case string:
		s.isText, s.text = true, v
	case bool:
		s.isText, s.text = true, map[bool]string{true: "ON", false: "OFF"}[v]
	case int:
		s.base = float64(v)
	case int64:
		s.base = float64(v)
	case uint64:
		s.base = float64(v)
	case float64:
		s.base = v
	default:
		return fmt.Errorf("%s: %v is neither a number nor a text", name, value)
	}
	if m.Namespace() == "host" {
		w.hosted()
	}
	if m.Namespace() == "variable" && !s.isText && !s.null {
		// Variables are read as texts.
		s.isText, s.text = true, strconv.FormatFloat(s.base, 'f', -1, 64)
	}
	w.signals[m] = s
	return nil
}

// hosted gives the server a host source, unless the test says that it has none.
func (w *world) hosted() {
	if w.server.Host == "" {
		copied := *w.server
		copied.Host = "local"
		w.server = &copied
	}
}

// grow makes a value grow evenly from now on.
func (w *world) grow(name string, by float64, over time.Duration) error {
	m, err := parseMetric(name)
	if err != nil {
		return err
	}
	s := w.signals[m]
	if m.Namespace() == "host" {
		w.hosted()
	}
	if s == nil {
		s = &signal{base: 1000, counter: monolith.KindOf(m.Name).Accumulates()}
		w.signals[m] = s
	}
	if s.isText || s.null {
		return fmt.Errorf("%s is a text and can't grow", name)
	}
	s.settle(w.at())
	if s.since.IsZero() {
		s.since = w.at()
	}
	s.slope = by / over.Seconds()
	return nil
}

// at is the moment of the last poll, or the beginning.
func (w *world) at() time.Time {
	if w.now.IsZero() {
		return w.start
	}
	return w.now
}

// poll polls the server one interval later and judges it.
func (w *world) poll() {
	snap := w.take()
	w.engine.SetLong(w.server.ID, w.longValues())
	w.events = append(w.events, w.engine.Observe(w.server, w.state, snap)...)
}

// take makes the next poll.
func (w *world) take() *monolith.Snapshot {
	w.now = w.at().Add(w.interval)
	w.elapsed += w.interval
	w.seq++
	snap := &monolith.Snapshot{Server: w.server.ID, Seq: w.seq, At: w.now, Taken: w.now, Interval: w.interval, Run: w.run, Up: true, Polled: true,
		Identity: w.id, Restart: w.restarted}
	w.restarted = false
	if w.seq > 1 {
		snap.Elapsed = w.interval
	}
	if w.problem != nil {
		snap.Polled, snap.Up = false, w.problem.Kind == monolith.ProblemRefused
		snap.Identity = monolith.Identity{}
		snap.Problems = append(snap.Problems, *w.problem)
	}
	snap.Problems = append(snap.Problems, w.notes...)
	w.put(snap)
	w.state = w.state.With(snap)
	return snap
}

// put fills the snapshot with sections, rows, problems and costs.
func (w *world) put(snap *monolith.Snapshot) {
	nums, texts := map[string][]monolith.Metric{}, map[string][]monolith.Metric{}
	values := map[monolith.Metric]*signal{}
	maps.Copy(values, w.derived())
	maps.Copy(values, w.signals)
	maps.DeleteFunc(values, func(m monolith.Metric, _ *signal) bool { return w.lost[m.Name] })
	collectors := map[string]bool{}
	for m, s := range values {
		c := monolith.CollectorOf(m.Name)
		collectors[c] = true
		if s.isText {
			texts[c] = append(texts[c], m)
		} else {
			nums[c] = append(nums[c], m)
		}
	}
	for _, s := range rowSets() {
		collectors[s.collector] = true
	}
	for _, c := range []string{"status", "variables", "innodb", "host", "sizes", "keys", "hostcache", "memory", "position", "certificate", "group", "pfs"} {
		collectors[c] = true
	}
	for _, c := range slices.Sorted(maps.Keys(collectors)) {
		if w.idle[c] || !snap.Polled && !atEase(c) {
			continue
		}
		if cure, ok := w.hidden[c]; ok {
			snap.Costs = append(snap.Costs, monolith.Cost{Collector: c})
			snap.Problems = append(snap.Problems, monolith.Problem{Collector: c, Kind: monolith.ProblemPartial, Text: "a part is hidden for a test", Cure: cure})
			continue
		}
		if kind, ok := w.refused[c]; ok {
			snap.Problems = append(snap.Problems, monolith.Problem{Collector: c, Kind: kind, Text: "refused for a test: " + string(kind)})
			continue
		}
		snap.Costs = append(snap.Costs, monolith.Cost{Collector: c})
		if len(nums[c])+len(texts[c]) > 0 {
			snap.Sections = append(snap.Sections, w.section(c, nums[c], texts[c], values))
		}
	}
	snap.Rows = w.rowsNow(snap.Polled)
}

func (w *world) section(collector string, nums, texts []monolith.Metric, values map[monolith.Metric]*signal) monolith.Section {
	byName := func(a, b monolith.Metric) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Instance, b.Instance))
	}
	slices.SortFunc(nums, byName)
	slices.SortFunc(texts, byName)
	sec := monolith.Section{Collector: collector, NumNames: w.layout(nums), TextNames: w.layout(texts)}
	for _, m := range nums {
		s := values[m]
		switch v := s.at(w.now); {
		case s.null:
			sec.Nums = append(sec.Nums, monolith.Num{})
		case v >= 0 && v == math.Trunc(v) && v < 1<<63:
			sec.Nums = append(sec.Nums, monolith.Uint(uint64(v)))
		default:
			sec.Nums = append(sec.Nums, monolith.Float(v))
		}
	}
	for _, m := range texts {
		sec.Texts = append(sec.Texts, values[m].text)
	}
	return sec
}

// layout gives one list of names for equal lists, as collectors do.
func (w *world) layout(list []monolith.Metric) *monolith.Names {
	var b strings.Builder
	for _, m := range list {
		b.WriteString(m.String())
		b.WriteByte('\n')
	}
	n := w.layouts[b.String()]
	if n == nil {
		n = monolith.NewNames(slices.Clone(list))
		w.layouts[b.String()] = n
	}
	return n
}

// rowsNow gives the lists of the collectors that are not refused.
func (w *world) rowsNow(polled bool) monolith.Rows {
	rows := w.rows
	for _, s := range rowSets() {
		_, refused := w.refused[s.collector]
		_, hidden := w.hidden[s.collector]
		if refused || hidden || !polled && !atEase(s.collector) {
			clearRows(&rows, s.name)
		}
	}
	return rows
}

// derived are the metrics that collectors make of what they list, unless the test gives them.
func (w *world) derived() map[monolith.Metric]*signal {
	out := map[monolith.Metric]*signal{}
	put := func(name, instance string, v float64) {
		out[monolith.Metric{Name: name, Instance: instance}] = &signal{base: v, since: w.now}
	}
	up, polled := 1.0, 1.0
	if w.problem != nil {
		polled = 0
		if w.problem.Kind != monolith.ProblemRefused {
			up = 0
		}
	}
	put("server.up", "", up)
	put("server.polled", "", polled)
	put("status.Uptime", "", w.now.Sub(w.booted).Seconds())
	attached := 0.0
	if s := w.signals[monolith.Metric{Name: "status.Slaves_connected"}]; s != nil {
		attached = s.at(w.now)
	}
	put("replica.connected_replicas", "", attached)
	for _, r := range w.rows.Replicas {
		if r.ReadsFromGroup() {
			continue
		}
		w.replicaMetrics(&r, put, out)
	}
	for _, m := range w.rows.Mounts {
		put("host.mount_size_bytes", m.Path, float64(m.Size))
		put("host.mount_used_bytes", m.Path, float64(m.Used))
		put("host.mount_available_bytes", m.Path, float64(m.Available))
		put("host.mount_inodes", m.Path, float64(m.Inodes))
		put("host.mount_inodes_used", m.Path, float64(m.InodesUsed))
	}
	return out
}

func (w *world) replicaMetrics(r *monolith.Replica, put func(name, instance string, v float64), out map[monolith.Metric]*signal) {
	running := func(t monolith.ThreadState) float64 {
		if t == monolith.ThreadYes {
			return 1
		}
		return 0
	}
	put("replica.io_running", r.Channel, running(r.IO))
	put("replica.sql_running", r.Channel, running(r.SQL))
	put("replica.io_errno", r.Channel, float64(r.IOErrno))
	put("replica.sql_errno", r.Channel, float64(r.SQLErrno))
	put("replica.sql_delay", r.Channel, float64(r.SQLDelay))
	put("replica.relay_log_space", r.Channel, float64(r.RelaySpace))
	lag := r.Lag
	if r.IO != monolith.ThreadYes || r.SQL != monolith.ThreadYes { // as the collector has it
		lag = nil
	}
	for name, v := range map[string]*int64{"replica.lag": lag, "replica.delay": r.Delay} {
		if v != nil {
			put(name, r.Channel, float64(*v))
		} else {
			out[monolith.Metric{Name: name, Instance: r.Channel}] = &signal{null: true}
		}
	}
	for _, name := range r.Missing {
		delete(out, monolith.Metric{Name: "replica." + name, Instance: r.Channel})
	}
}

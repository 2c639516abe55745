package web

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"monolith"
)

// serversPage is the first screen: what is wrong now, then every server under its group.
type serversPage struct {
	pageBase
	Counts  serverCounts
	Columns []column
	Groups  []groupRows
	Flat    bool // one list, not under groups
	Folded  bool // groups stand for their servers
	Shown   int  // rows that the filter wants, on all pages
	Filter  serverFilter
	AllName []monolith.Group

	Open     []alertRow // causes that are open, as far as they fit
	MoreOpen int
	Alerts   alertCounts

	Pages, PageNumber int // of a list that does not fit one
}

// serverCounts are the figures of the counts line, over all servers of the chosen group.
type serverCounts struct {
	All, Unreachable, Stale, Problems, Paused, Waiting int
}

// serverFilter is what the address chooses.
type serverFilter struct {
	Search, Group, State, Environment string
	Level                             string // of open alerts, or "unknown": some rule can't be evaluated
	Sort                              string
	Descending                        bool
}

// Any reports whether something is left out.
func (f serverFilter) Any() bool {
	return f.Search != "" || f.Group != "" || f.State != "" || f.Environment != "" || f.Level != ""
}

// groupRows is one group's servers.
type groupRows struct {
	Path  string
	Parts []string // of the path, for crumbs
	Rows  []serverRow
	Count int   // of its servers, shown or not
	Fold  *fold // instead of the rows
	More  int   // rows left out
}

// serverRow is one server on the first screen.
type serverRow struct {
	Server   monolith.Server
	Health   health
	Off      bool // its values are the last known ones
	Role     role
	Version  string
	Flavour  string
	Uptime   float64 // seconds
	QPS      float64
	Conns    float64 // per cent of max_connections
	ConnText string
	Hit      float64 // buffer-pool hit, per cent
	Lag      lag
	CPU      float64 // per cent
	DiskFree float64 // bytes on the file system of the data directory
	DiskUsed float64 // per cent of it
	Change   *monolith.Change
	Polled   time.Time
	AgeLook  string
	Level    monolith.Level // the worst that is open
	Alerts   int            // open ones
	Unknown  int            // rules that can't be evaluated
}

// ShowEnvironment reports whether the environment tells something that the group does not.
func (r serverRow) ShowEnvironment() bool {
	return r.Server.Environment != "" && !strings.HasSuffix(r.Server.Group, r.Server.Environment)
}

// column is a heading that sorts.
type column struct {
	Key, Title, Help string
	Number           bool
	key              func(*serverRow) float64
	text             func(*serverRow) string
}

var serverColumns = []column{
	{Key: "name", Title: "Server", text: func(r *serverRow) string { return strings.ToLower(r.Server.Name) }},
	{Key: "state", Title: "State", text: func(r *serverRow) string {
		return fmt.Sprint(slices.Index([]string{"bad", "warn", "wait", "up", "off"}, r.Health.Look), r.Health.Word)
	}},
	{Key: "role", Title: "Role", text: func(r *serverRow) string { return r.Role.Word + r.Role.Source }},
	{Key: "version", Title: "Version", text: func(r *serverRow) string { return r.Version }},
	{Key: "uptime", Title: "Uptime", Number: true, key: func(r *serverRow) float64 { return r.Uptime }},
	{Key: "qps", Title: "Queries/s", Help: "without Monolith's own: now; the last three hours, and behind them the same hours of last week", Number: true, key: func(r *serverRow) float64 { return r.QPS }},
	{Key: "conns", Title: "Connections", Help: "connected, of max_connections", Number: true, key: func(r *serverRow) float64 { return r.Conns }},
	{Key: "hit", Title: "Pool hit", Help: "reads that the InnoDB buffer pool answered", Number: true, key: func(r *serverRow) float64 { return r.Hit }},
	{Key: "lag", Title: "Lag", Help: "of the worst replication channel", Number: true, key: func(r *serverRow) float64 { return r.Lag.Sort() }},
	{Key: "cpu", Title: "CPU", Help: "of the host", Number: true, key: func(r *serverRow) float64 { return r.CPU }},
	{Key: "disk", Title: "Disk free", Help: "on the file system of the data directory", Number: true, key: func(r *serverRow) float64 { return r.DiskFree }},
	{Key: "change", Title: "Last change", key: func(r *serverRow) float64 {
		if r.Change == nil {
			return math.NaN()
		}
		return float64(r.Change.At.Unix())
	}},
	{Key: "age", Title: "Age", Help: "age of the newest values", Number: true, key: func(r *serverRow) float64 {
		return polledBefore(r.Polled)
	}},
}

// firstPage shows the servers, or the form for the first one while there are none.
func (s *Server) firstPage(w http.ResponseWriter, r *http.Request) error {
	servers, err := s.store.Servers(r.Context())
	if err != nil {
		return err
	}
	if len(servers) == 0 {
		return s.showForm(w, r, http.StatusOK, serverForm{First: true, Server: newServer("")})
	}
	groups, err := s.store.Groups(r.Context())
	if err != nil {
		return err
	}
	data := serversPage{pageBase: s.pageBase(r, "Servers", "servers"), Columns: serverColumns, Filter: filterOf(r), AllName: groups}
	if err := s.groupThere(r.Context(), "group", data.Filter.Group); err != nil {
		return err
	}
	data.Flat = r.URL.Query().Get("by") == "none"
	rows := s.rows(servers, data.Now)
	s.openCauses(&data, servers)
	rows = data.narrow(rows)
	data.Shown = len(rows)
	many := data.Shown > rowsOfPage
	data.Flat = data.Flat || many && data.Filter.Sort != "" // a ranking of all
	data.Groups = data.arrange(rows)
	if many && !data.Flat && manyGroups(rows, data.Filter.Group) {
		data.foldGroups()
	} else {
		data.cutPage()
	}
	return s.render(w, r, "servers", &data)
}

// serverRowsPart answers with the rows of some servers, for pages that go live.
func (s *Server) serverRowsPart(w http.ResponseWriter, r *http.Request) error {
	servers, err := s.store.Servers(r.Context())
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, name := range r.URL.Query()["server"] {
		wanted[name] = true
	}
	data := serversPage{pageBase: s.pageBase(r, "Servers", "servers"), Columns: serverColumns, Flat: true}
	rows := s.rowsOf(servers, data.Now, func(srv *monolith.Server) bool { return wanted[srv.Name] })
	data.Counts = s.countAll(servers, data.Now)
	data.Alerts = s.countAlerts(servers, "", "")
	data.Groups, data.Shown = []groupRows{{Rows: rows}}, len(rows)
	return s.show(w, r, http.StatusOK, "servers", "live", &data)
}

func filterOf(r *http.Request) serverFilter {
	q := r.URL.Query()
	f := serverFilter{Search: strings.TrimSpace(q.Get("q")), Group: strings.Trim(q.Get("group"), "/"), State: q.Get("state"), Environment: q.Get("env"), Level: q.Get("level")}
	f.Sort, f.Descending = strings.CutPrefix(q.Get("sort"), "-")
	return f
}

func (s *Server) rows(servers []monolith.Server, now time.Time) []serverRow {
	return s.rowsOf(servers, now, func(*monolith.Server) bool { return true })
}

func (s *Server) rowsOf(servers []monolith.Server, now time.Time, want func(*monolith.Server) bool) []serverRow {
	who := newRoles(servers, s.poller.State)
	rows := make([]serverRow, 0, len(servers))
	for i := range servers {
		if want(&servers[i]) {
			rows = append(rows, makeRow(&servers[i], who, now))
		}
	}
	s.addChanges(rows)
	s.addAlerts(rows, servers)
	return rows
}

func makeRow(srv *monolith.Server, who *roles, now time.Time) serverRow {
	st := who.states[srv.ID]
	r := serverRow{Server: *srv, Health: judge(srv, st, now), Role: who.of(srv), Lag: worstLag(st),
		Uptime: stateValue(st, "status.Uptime"), QPS: queryRate(st)}
	r.Off = r.Health.Look == "bad" || r.Health.Look == "off"
	used, limit := stateValue(st, "status.Threads_connected"), stateValue(st, "variable.max_connections")
	r.Conns = percentOf(used, limit)
	if !math.IsNaN(used) {
		r.ConnText = fmt.Sprintf("%.0f", used)
		if !math.IsNaN(limit) {
			r.ConnText += fmt.Sprintf(" of %.0f", limit)
		}
	}
	r.Hit = 100 - percentOf(stateRate(st, "status.Innodb_buffer_pool_reads"), stateRate(st, "status.Innodb_buffer_pool_read_requests"))
	r.CPU = hostCPU(st)
	r.DiskFree, r.DiskUsed = hostDisk(st)
	if st != nil {
		r.Polled = st.Polled
		if st.OK && !replicasAsOf(st, now).IsZero() {
			r.Lag = lag{Any: r.Lag.Any}
		}
		if !st.Identity.IsZero() {
			r.Version, r.Flavour = st.Identity.Version.String(), st.Identity.String()
		}
		if age := dataAge(st, now); st.Interval > 0 && !st.Polled.IsZero() {
			switch {
			case age > staleAfter*st.Interval:
				r.AgeLook = "failed"
			case age > lateAfter*st.Interval:
				r.AgeLook = "warned"
			}
		}
	}
	return r
}

// percentOf is NaN where there is nothing to divide by.
func percentOf(part, whole float64) float64 {
	if !(whole > 0) {
		return math.NaN()
	}
	return 100 * part / whole
}

// addChanges puts the newest change of a variable to each row's server.
func (s *Server) addChanges(rows []serverRow) {
	last := s.store.LastChanges("variable")
	for i := range rows {
		if c, ok := last[rows[i].Server.ID]; ok {
			rows[i].Change = &c
		}
	}
}

// narrow counts, then keeps the rows that the filter wants.
func (d *serversPage) narrow(rows []serverRow) []serverRow {
	keep := rows[:0]
	needle := strings.ToLower(d.Filter.Search)
	for _, r := range rows {
		if !monolith.InGroup(r.Server.Group, d.Filter.Group) || d.Filter.Environment != "" && r.Server.Environment != d.Filter.Environment {
			continue
		}
		d.Counts.add(r.Health)
		if d.Filter.State != "" && r.Health.Filter != d.Filter.State || !r.hasLevel(d.Filter.Level) {
			continue
		}
		if needle != "" && !strings.Contains(strings.ToLower(strings.Join(append([]string{r.Server.Name, r.Server.Group, r.Role.Word,
			r.Role.Source, r.Flavour, r.Server.Environment, r.Server.Endpoint.Address()}, r.Server.Tags...), "\n")), needle) {
			continue
		}
		keep = append(keep, r)
	}
	return keep
}

func (c *serverCounts) add(h health) {
	c.All++
	switch h.Filter {
	case "unreachable":
		c.Unreachable++
	case "stale":
		c.Stale++
	case "problems":
		c.Problems++
	case "paused":
		c.Paused++
	}
	if h.Look == "wait" {
		c.Waiting++
	}
}

func (s *Server) countAll(servers []monolith.Server, now time.Time) serverCounts {
	var c serverCounts
	for i := range servers {
		c.add(judge(&servers[i], s.poller.State(servers[i].ID), now))
	}
	return c
}

// arrange sorts the rows and puts them under their groups, which keep the order that the store gives.
func (d *serversPage) arrange(rows []serverRow) []groupRows {
	if i := slices.IndexFunc(serverColumns, func(c column) bool { return c.Key == d.Filter.Sort }); i >= 0 {
		slices.SortStableFunc(rows, func(a, b serverRow) int { return serverColumns[i].compare(&a, &b, d.Filter.Descending) })
	}
	if d.Flat {
		return []groupRows{{Rows: rows}}
	}
	var out []groupRows
	place := map[string]int{}
	for _, g := range d.AllName {
		if monolith.InGroup(g.Path, d.Filter.Group) {
			place[g.Path] = len(out)
			out = append(out, groupRows{Path: g.Path, Parts: strings.Split(g.Path, "/")})
		}
	}
	for _, r := range rows {
		i, ok := place[r.Server.Group]
		if !ok {
			i = len(out)
			place[r.Server.Group] = i
			g := groupRows{Path: r.Server.Group}
			if g.Path != "" {
				g.Parts = strings.Split(g.Path, "/")
			}
			out = append(out, g)
		}
		out[i].Rows = append(out[i].Rows, r)
	}
	// A group whose servers all stand in its sub-groups is named by their headings.
	parent := func(path string) bool {
		return slices.ContainsFunc(d.AllName, func(g monolith.Group) bool { return g.Path != path && monolith.InGroup(g.Path, path) })
	}
	return slices.DeleteFunc(out, func(g groupRows) bool {
		return len(g.Rows) == 0 && (d.Filter.Any() || g.Path == "" || parent(g.Path))
	})
}

// compare orders two rows; what has no value comes last in either direction.
func (c *column) compare(a, b *serverRow, descending bool) int {
	sign := 1
	if descending {
		sign = -1
	}
	if c.text != nil {
		return sign * cmp.Compare(c.text(a), c.text(b))
	}
	x, y := c.key(a), c.key(b)
	switch {
	case math.IsNaN(x) && math.IsNaN(y):
		return 0
	case math.IsNaN(x):
		return 1
	case math.IsNaN(y):
		return -1
	}
	return sign * cmp.Compare(x, y)
}

// SortLink gives the address that sorts by a column, the other way round when it is sorted so already.
func (d *serversPage) SortLink(c column) string {
	switch {
	case d.Filter.Sort != c.Key && c.Number:
		return d.With("sort", "-"+c.Key)
	case d.Filter.Sort != c.Key:
		return d.With("sort", c.Key)
	case d.Filter.Descending != c.Number:
		return d.With("sort", "") // third time: people's own order again
	case d.Filter.Descending:
		return d.With("sort", c.Key)
	}
	return d.With("sort", "-"+c.Key)
}

// Sorted gives the aria-sort value of a column.
func (d *serversPage) Sorted(c column) string {
	switch {
	case d.Filter.Sort != c.Key:
		return ""
	case d.Filter.Descending:
		return "descending"
	}
	return "ascending"
}

package web

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"monolith"
	"monolith/graph"
)

// replicationTab shows every channel whole.
type replicationTab struct {
	serverPage
	Channels []channelView
	AsOf     time.Time // when Channels were read; zero while they are the present state
	Known    bool      // the replication statement was answered at least once
	Figures  []figure
	Replicas []monolith.Server
}

type channelView struct {
	monolith.Replica
	Watched *monolith.Server // the source, when it is watched
}

func (s *Server) replicationPage(w http.ResponseWriter, r *http.Request) error {
	p, err := s.serverPage(r, "replication", "replication")
	if err != nil {
		return err
	}
	servers, err := s.store.Servers(r.Context())
	if err != nil {
		return err
	}
	data := replicationTab{serverPage: p}
	for _, g := range graph.Catalogue() {
		if g.ID == "replica-delay" || g.ID == "replication-flow" {
			data.Figures = append(data.Figures, p.figure(g))
		}
	}
	who := newRoles(servers, s.poller.State)
	if p.State != nil {
		data.Known, data.AsOf = p.State.Replicas != nil, replicasAsOf(p.State, p.Now)
		for _, rep := range p.State.Replicas {
			data.Channels = append(data.Channels, channelView{rep, who.source(&rep)})
		}
	}
	for i := range servers {
		st := who.states[servers[i].ID]
		if st == nil {
			continue
		}
		for j := range st.Replicas {
			if src := who.source(&st.Replicas[j]); src != nil && src.ID == p.Server.ID {
				data.Replicas = append(data.Replicas, servers[i])
				break
			}
		}
	}
	return s.render(w, r, "replication", &data)
}

// processesTab shows the process list with its sums.
type processesTab struct {
	serverPage
	List *monolith.ProcessList
	Rows []monolith.Process
	Find string
	Idle bool // sleeping sessions are shown too
}

// processesLink gives the address of the process list as a form shows it.
func (s *Server) processesLink(name string, form url.Values) string {
	q := url.Values{}
	for _, key := range []string{"q", "idle"} {
		if v := form.Get(key); v != "" {
			q.Set(key, v)
		}
	}
	to := s.link("servers", name, "processes")
	if len(q) > 0 {
		to += "?" + q.Encode()
	}
	return to
}

func (s *Server) processesPage(w http.ResponseWriter, r *http.Request) error {
	p, err := s.serverPage(r, "processes", "processes")
	if err != nil {
		return err
	}
	q := r.URL.Query()
	data := processesTab{serverPage: p, Find: strings.TrimSpace(q.Get("q")), Idle: q.Get("idle") != ""}
	if p.State != nil {
		data.List = p.State.Processes
	}
	if data.List != nil {
		needle := strings.ToLower(data.Find)
		for _, row := range data.List.Rows {
			if row.Command == "Sleep" && !data.Idle {
				continue
			}
			if strings.Contains(strings.ToLower(strings.Join([]string{row.User, row.Host, row.DB, row.Command, row.State, row.Info}, "\n")), needle) {
				data.Rows = append(data.Rows, row)
			}
		}
		slices.SortStableFunc(data.Rows, func(a, b monolith.Process) int { return cmp.Compare(b.Seconds, a.Seconds) })
	}
	return s.render(w, r, "processes", &data)
}

// schemasTab lists sizes.
type schemasTab struct {
	serverPage
	Sizes    *monolith.SchemaSizes
	Totals   monolith.SchemaSize
	Problems []monolith.Problem // of the scan: why nothing is known, or what is missing
}

// Counted says how many tables were measured, and what else stands beside them.
func (d *schemasTab) Counted() string {
	s := plural(d.Totals.Tables, "table")
	if d.Sizes.Views == 0 {
		return s
	}
	s += ", and " + plural(d.Sizes.Views, "view")
	if d.State.Identity.Flavour.IsMariaDB() {
		s += " or " + strings.TrimLeft(plural(d.Sizes.Views, "sequence"), "0123456789 ")
	}
	return s + " without a size"
}

func (s *Server) schemasPage(w http.ResponseWriter, r *http.Request) error {
	p, err := s.serverPage(r, "schemas", "schemas")
	if err != nil {
		return err
	}
	data := schemasTab{serverPage: p}
	if p.State != nil {
		for _, problem := range p.State.Problems {
			if problem.Collector == "sizes" {
				data.Problems = append(data.Problems, problem)
			}
		}
	}
	if p.State != nil && p.State.Schemas != nil {
		sizes := *p.State.Schemas
		sizes.Schemas, sizes.Largest = slices.Clone(sizes.Schemas), slices.Clone(sizes.Largest)
		slices.SortStableFunc(sizes.Schemas, func(a, b monolith.SchemaSize) int { return cmp.Compare(b.Data+b.Index, a.Data+a.Index) })
		slices.SortStableFunc(sizes.Largest, func(a, b monolith.TableSize) int { return cmp.Compare(b.Data+b.Index, a.Data+a.Index) })
		for _, x := range sizes.Schemas {
			data.Totals.Tables += x.Tables
			data.Totals.Data += x.Data
			data.Totals.Index += x.Index
			data.Totals.Free += x.Free
		}
		data.Sizes = &sizes
	}
	return s.render(w, r, "schemas", &data)
}

// accountsTab lists accounts.
type accountsTab struct {
	serverPage
	Accounts []monolith.Account
	Known    bool
}

func (s *Server) accountsPage(w http.ResponseWriter, r *http.Request) error {
	p, err := s.serverPage(r, "accounts", "accounts")
	if err != nil {
		return err
	}
	data := accountsTab{serverPage: p}
	if p.State != nil {
		data.Accounts, data.Known = p.State.Accounts, p.State.Accounts != nil
	}
	return s.render(w, r, "accounts", &data)
}

// monitoringTab shows what works, what it costs and what privilege is missing.
type monitoringTab struct {
	serverPage
	Collectors []monolith.CollectorStatus
	Grants     []string // statements, each once
	Account    string
}

func (s *Server) monitoringPage(w http.ResponseWriter, r *http.Request) error {
	p, err := s.serverPage(r, "monitoring", "monitoring")
	if err != nil {
		return err
	}
	data := monitoringTab{serverPage: p, Collectors: s.poller.Collectors(p.Server.ID)}
	for _, c := range data.Collectors {
		for statement := range strings.Lines(c.Grant) {
			if statement = strings.TrimSpace(statement); statement != "" && !slices.Contains(data.Grants, statement) {
				data.Grants = append(data.Grants, statement)
			}
		}
	}
	return s.render(w, r, "monitoring", &data)
}

// Look gives the shape and colour of a collector's state. One that is off without anybody having
// wished it, since a right is missing, is a fault.
func (monitoringTab) Look(c monolith.CollectorStatus) string {
	switch {
	case c.Works == monolith.CollectorWorks:
		return "up"
	case c.Works == monolith.CollectorReduced:
		return "warn"
	case c.Works == monolith.CollectorWaiting:
		return "wait"
	case c.Grant != "":
		return "bad"
	}
	return "off"
}

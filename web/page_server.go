package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"monolith"
	"monolith/graph"
)

// serverPage is what all tabs of a server's page share.
type serverPage struct {
	pageBase
	Server monolith.Server
	State  *monolith.State // nil: not polled yet
	Health health
	Role   role
	Tab    string
	Tabs   []tab
	Range  timeRange
}

// tab is one page of a server.
type tab struct {
	Key, Title string
	Count      string
	Look       string // of the count: "" or bad
}

// serverPage reads what the tabs share. key is the tab's last path element, "" for the overview.
func (s *Server) serverPage(r *http.Request, key, title string) (serverPage, error) {
	srv, err := s.pathServer(r)
	if err != nil {
		return serverPage{}, err
	}
	servers, err := s.store.Servers(r.Context())
	if err != nil {
		return serverPage{}, err
	}
	p := serverPage{Server: srv, State: s.poller.State(srv.ID), Tab: key}
	p.pageBase = s.pageBase(r, srv.Name+" "+title, "servers")
	p.Health = judge(&srv, p.State, p.Now)
	p.Role = newRoles(servers, s.poller.State).of(&srv)
	usual := time.Hour
	if p.Now.Sub(srv.Created) < 20*time.Minute {
		usual = 15 * time.Minute // there is no more yet
	}
	p.Range = p.readRange(usual)
	p.Tabs = s.alertsTab(tabsOf(p.State), srv.ID)
	return p, nil
}

func tabsOf(st *monolith.State) []tab {
	tabs := []tab{{Key: "", Title: "Overview"}, {Key: "graphs", Title: "Graphs"}, {Key: "changes", Title: "Changes"},
		{Key: "replication", Title: "Replication"}, {Key: "processes", Title: "Processes"}, {Key: "status", Title: "Status"},
		{Key: "variables", Title: "Variables"}, {Key: "schemas", Title: "Schemas"}, {Key: "accounts", Title: "Accounts"},
		{Key: "monitoring", Title: "Monitoring"}}
	if st == nil {
		return tabs
	}
	for i := range tabs {
		t := &tabs[i]
		switch t.Key {
		case "replication":
			if n := len(st.Replicas); n > 0 {
				t.Count = plural(n, "channel")
			}
			if worstLag(st).Stopped && st.OK {
				t.Count, t.Look = "✖ stopped", "bad"
			}
		case "processes":
			if st.Processes != nil {
				t.Count = graph.Format(float64(st.Processes.Total), "")
			}
		case "monitoring":
			if n := countProblems(st); n > 0 {
				t.Count, t.Look = "▲ "+graph.Format(float64(n), ""), "bad"
			}
		}
	}
	return tabs
}

// TabLink gives a tab's address; the chosen range goes along.
func (p *serverPage) TabLink(key string) string {
	to := p.At("servers", p.Server.Name)
	if key != "" {
		to = p.At("servers", p.Server.Name, key)
	}
	return to + p.Range.Query()
}

// fact is one line of what is known about a server.
type fact struct {
	Name, Value, Detail, Title string
}

// overview is the first tab.
type overview struct {
	serverPage
	Facts    []fact
	Problems []monolith.Problem
	Figures  []figure
	Custom   []figure
	Recent   []monolith.Change
	Replicas []monolith.Replica
	// ReplicasAsOf is when Replicas were read; zero while they are the present state.
	ReplicasAsOf time.Time
	Open         []alertRow // alerts
	Twin         string     // another server of the same address; looked for where one was just added or changed
	Same         string     // another entry whose server says that it is the same one
	Restrictions []string   // what the server does not do for its clients at present
}

func (s *Server) overviewPage(w http.ResponseWriter, r *http.Request) error {
	p, err := s.serverPage(r, "", "")
	if err != nil {
		return err
	}
	data := overview{serverPage: p, Open: foldSame(s.openOf(p.Server.ID))}
	if done := p.Param("done"); done == "added" || done == "saved" {
		data.Twin, err = s.twin(r.Context(), &p.Server)
		if err = data.unread(err, "whether the address is watched already"); err != nil {
			return err
		}
	}
	if p.State != nil {
		data.Same, err = s.sameServer(r.Context(), p.Server.ID, p.State.Identity.UUID)
		if err = data.unread(err, "whether another entry is the same server"); err != nil {
			return err
		}
		data.Restrictions = restrictionsOf(p.State)
	}
	data.Facts = factsOf(&p)
	available, err := s.availability.of(r.Context(), s.store, p.Server.ID, p.Now)
	if err == nil && len(available) == 0 {
		available = []fact{noPolls(&p.Server, p.Now)}
	}
	if err = data.unread(err, "how much of the time the server answered"); err != nil {
		return err
	}
	data.Facts = append(data.Facts, available...)
	if p.State != nil {
		data.Replicas, data.ReplicasAsOf = p.State.Replicas, replicasAsOf(p.State, p.Now)
		for _, problem := range p.State.Problems {
			if problem.Collector == "" || mendable(&problem) {
				data.Problems = append(data.Problems, problem)
			}
		}
	}
	for _, g := range graph.Catalogue() {
		if g.Overview && g.Applies(r.Context(), p.State) {
			data.Figures = append(data.Figures, p.figure(g))
		}
	}
	data.Custom, err = s.customFigures(r, &p, "overview")
	if err = data.unread(err, "the graphs of your own"); err != nil {
		return err
	}
	data.Recent, err = s.store.Changes(r.Context(), monolith.ChangeQuery{Server: p.Server.ID, Name: "variable.", Limit: 5})
	if err = data.unread(err, "what was changed lately"); err != nil {
		return err
	}
	return s.render(w, r, "overview", &data)
}

func isOn(text string) bool { return text == "ON" || text == "1" }

// restrictionsOf says what a server that answers Monolith well refuses its clients.
func restrictionsOf(st *monolith.State) []string {
	var list []string
	if isOn(stateText(st, "variable.offline_mode")) {
		list = append(list, "The server is in offline mode: it lets only administrators in and turns every other client away (offline_mode=ON).")
	}
	if level := stateValue(st, "variable.innodb_force_recovery"); level > 0 {
		list = append(list, fmt.Sprintf("InnoDB runs in recovery mode: parts of it are switched off (innodb_force_recovery=%.0f).", level))
	}
	return list
}

// factsOf lists what people ask first about a server.
func factsOf(p *serverPage) []fact {
	st, srv := p.State, &p.Server
	if st == nil {
		return []fact{{Name: "Address", Value: srv.Endpoint.Address(), Detail: "as " + srv.Endpoint.User}}
	}
	var list []fact
	add := func(name, value, detail, title string) {
		if value != "" && value != "–" {
			list = append(list, fact{name, value, detail, title})
		}
	}
	id := st.Identity
	if !id.IsZero() {
		add("Version", id.String(), id.Comment, id.VersionText)
	}
	if up := stateValue(st, "status.Uptime"); up >= 0 {
		began := st.Polled.Add(-time.Duration(up) * time.Second)
		add("Uptime", graph.Age(time.Duration(up)*time.Second), "since "+began.In(p.location).Format("2006-01-02 15:04"), began.Format(time.RFC3339))
	}
	add("Address", srv.Endpoint.Address(), "as "+srv.Endpoint.User, "")
	add("Host", id.Hostname, "", "")
	ram := stateValue(st, "host.memory_total_bytes")
	if srv.RAM > 0 {
		ram = float64(srv.RAM)
	}
	cores := ""
	if n := stateValue(st, "host.cores"); n > 0 {
		cores = plural(int(n), "core")
	}
	add("Memory", graph.Format(ram, "bytes"), cores, "")
	add("Buffer pool", graph.Format(stateValue(st, "variable.innodb_buffer_pool_size"), "bytes"), "", "innodb_buffer_pool_size")
	if st.Schemas != nil {
		data, schemas := int64(0), map[string]bool{}
		for _, sch := range st.Schemas.Schemas {
			data += sch.Data + sch.Index
			schemas[sch.Schema] = true
		}
		detail := plural(len(schemas), "schema")
		if st.Schemas.Hidden || st.Schemas.Sampled {
			detail += ", as far as seen"
		}
		add("Data", graph.Format(float64(data), "bytes"), detail, "data and indexes")
	}
	add("Default engine", stateText(st, "variable.default_storage_engine"), "", "")
	add("Character set", stateText(st, "variable.character_set_server"), stateText(st, "variable.collation_server"), "")
	logBin := stateText(st, "variable.log_bin")
	if logBin == "ON" {
		add("Binary log", "on", stateText(st, "variable.binlog_format"), "")
	} else if logBin != "" {
		add("Binary log", "off", "", "")
	}
	var also []string
	for _, name := range []string{"super_read_only", "innodb_read_only"} {
		if isOn(stateText(st, "variable."+name)) {
			also = append(also, name+"=ON")
		}
	}
	add("Read only", stateText(st, "variable.read_only"), strings.Join(also, ", "), "read_only")
	source := srv.Host
	if source == "" || source == "none" {
		source = "none"
	}
	add("Host source", source, "", "where CPU, memory and disk values come from")
	if gap := st.ClockGap; gap.Abs() >= time.Second {
		add("Clock", graph.Age(gap.Abs()), "apart from Monolith's", gap.String())
	}
	return list
}

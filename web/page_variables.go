package web

import (
	"net/http"
	"strings"
	"time"

	"monolith"
)

// variablesTab lists variables, alone or beside those of another server or another moment.
type variablesTab struct {
	serverPage
	Find     string
	Only     string // "set": not at their defaults; "changed": changed since Monolith watches
	Origins  bool   // it is known where values come from
	AtText   string
	Against  string
	OtherAt  string
	Compares bool
	Equal    int  // rows left out since both sides are the same
	OneSided int  // names that only one side has, among what is looked for
	Whole    bool // OneSided are shown too
	Others   []string
	Rows     []variableRow
	All      int
	Error    string
}

type variableRow struct {
	Name, Value, Other string
	Has, OtherHas      bool
	Changed            *monolith.Change       // the newest change; nil: none since Monolith watches
	Info               *monolith.VariableInfo // where the value comes from; nil: not known
}

// Set reports whether somebody set the variable: it is not at its default.
func (v variableRow) Set() bool { return v.Info != nil && v.Info.Changed != nil && *v.Info.Changed }

// Origin says in words where a value comes from; "" when that is not known.
func (v variableRow) Origin() string {
	if v.Info == nil {
		return ""
	}
	switch v.Info.Origin {
	case monolith.OriginCompiled:
		return "default"
	case monolith.OriginAuto:
		return "worked out by the server"
	case monolith.OriginFile:
		return "option file"
	case monolith.OriginCommand:
		return "command line"
	case monolith.OriginEnvironment:
		return "environment"
	case monolith.OriginPersisted:
		return "SET PERSIST"
	case monolith.OriginSet:
		return "SET"
	}
	if v.Set() {
		return "not the default; the server does not tell where it was set"
	}
	return ""
}

// Differing is how many variables both sides have, with different values, among what is looked for.
func (d *variablesTab) Differing() int {
	if d.Whole {
		return len(d.Rows) - d.OneSided
	}
	return len(d.Rows)
}

// Differs reports whether the two sides are not the same.
func (v variableRow) Differs() bool { return v.Has != v.OtherHas || v.Value != v.Other }

func (s *Server) variablesPage(w http.ResponseWriter, r *http.Request) error {
	p, err := s.serverPage(r, "variables", "variables")
	if err != nil {
		return err
	}
	q := r.URL.Query()
	d := variablesTab{serverPage: p, Find: strings.TrimSpace(q.Get("q")), Only: q.Get("only"), AtText: q.Get("at"),
		Against: q.Get("against"), OtherAt: q.Get("against_at"), Whole: q.Get("one_sided") != ""}
	servers, err := s.store.Servers(r.Context())
	if err != nil {
		return err
	}
	other := p.Server
	for i := range servers {
		if servers[i].ID != p.Server.ID {
			d.Others = append(d.Others, servers[i].Name)
		}
	}
	if d.Against != "" {
		if other, err = s.serverNamed(r.Context(), "against", d.Against); err != nil {
			if d.Error, err = noSuch(err); err != nil {
				return err
			}
			d.Against, other = "", p.Server
		}
	}
	at, atErr := d.moment("at", d.AtText)
	otherAt, otherErr := d.moment("against_at", d.OtherAt)
	for _, err := range []error{atErr, otherErr} {
		if err != nil {
			d.Error = err.Error()
		}
	}
	mine, err := s.variablesAt(r.Context(), p.Server.ID, p.State, at)
	if err = d.unread(err, "the variables of that moment"); err != nil {
		return err
	}
	d.Compares = d.Against != "" || !otherAt.IsZero()
	theirs := map[string]string{}
	if d.Compares {
		theirs, err = s.variablesAt(r.Context(), other.ID, s.poller.State(other.ID), otherAt)
		if err = d.unread(err, "the variables of that moment"); err != nil {
			return err
		}
	}
	for _, side := range []struct {
		name, at string
		known    map[string]string
	}{{p.Server.Name, d.AtText, mine}, {other.Name, d.OtherAt, theirs}} {
		if side.at != "" && len(side.known) == 0 && d.Error == "" && d.Unread == nil {
			d.Error = "History has no variables of " + side.name + " at that moment."
		}
	}
	changes, err := s.store.Changes(r.Context(), monolith.ChangeQuery{Server: p.Server.ID, Name: "variable.", Limit: 5000})
	if err = d.unread(err, "when variables were changed"); err != nil {
		return err
	}
	newest := map[string]*monolith.Change{}
	for i := range changes {
		if name := bare(changes[i].Name); newest[name] == nil {
			newest[name] = &changes[i]
		}
	}
	infos := map[string]*monolith.VariableInfo{}
	if p.State != nil {
		for i := range p.State.Variables {
			infos[p.State.Variables[i].Name] = &p.State.Variables[i]
		}
	}
	d.Origins = len(infos) > 0
	d.fill(mine, theirs, newest, infos)
	return s.render(w, r, "variables", &d)
}

// moment reads a time of the form; "" is now, as the zero time.
func (d *variablesTab) moment(field, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	m, err := d.readMoment(field, s, "")
	return m.at, err
}

func (d *variablesTab) fill(mine, theirs map[string]string, newest map[string]*monolith.Change, infos map[string]*monolith.VariableInfo) {
	names := map[string]bool{}
	for name := range mine {
		names[name] = true
	}
	for name := range theirs {
		names[name] = true
	}
	needle := strings.ToLower(d.Find)
	d.All = len(mine)
	for _, name := range sortedKeys(names) {
		v := variableRow{Name: name, Changed: newest[name], Info: infos[name]}
		v.Value, v.Has = mine[name]
		v.Other, v.OtherHas = theirs[name]
		if d.Compares && !v.Differs() {
			d.Equal++
			continue
		}
		if d.Only == "changed" && v.Changed == nil || d.Only == "set" && !v.Set() || !strings.Contains(strings.ToLower(name+"\n"+v.Value), needle) {
			continue
		}
		if d.Compares && v.Has != v.OtherHas {
			if d.OneSided++; !d.Whole {
				continue
			}
		}
		d.Rows = append(d.Rows, v)
	}
}

// variablePage shows one variable's history.
type variableTab struct {
	serverPage
	Name      string
	Value     string
	Has       bool
	Row       variableRow
	Number    bool
	Changes   []monolith.Change
	Elsewhere []elsewhere
}

// elsewhere is a variable's value on another server.
type elsewhere struct {
	Server, Value string
	Has           bool
}

func (s *Server) variablePage(w http.ResponseWriter, r *http.Request) error {
	p, err := s.serverPage(r, "variables", "variable")
	if err != nil {
		return err
	}
	d := variableTab{serverPage: p, Name: pathValue(r, "variable")}
	d.Title = d.Name + " · " + p.Server.Name
	metric := monolith.Metric{Name: "variable." + d.Name}
	d.Value, _, d.Has = p.State.Text(metric)
	_, _, d.Number = p.State.Value(metric)
	if p.State != nil {
		for i := range p.State.Variables {
			if p.State.Variables[i].Name == d.Name {
				d.Row = variableRow{Info: &p.State.Variables[i]}
			}
		}
	}
	d.Changes, err = s.store.Changes(r.Context(), monolith.ChangeQuery{Server: p.Server.ID, Name: metric.Name, Exact: true, First: true, Limit: 1000})
	if err = d.unread(err, "the history of this variable"); err != nil {
		return err
	}
	if !d.Has && len(d.Changes) == 0 && d.Unread == nil {
		return notFound("variable", d.Name, "the Variables tab lists them")
	}
	servers, err := s.store.Servers(r.Context())
	if err != nil {
		return err
	}
	for i := range servers {
		if servers[i].ID == p.Server.ID || len(d.Elsewhere) >= 200 {
			continue
		}
		e := elsewhere{Server: servers[i].Name}
		if e.Value, _, e.Has = s.poller.State(servers[i].ID).Text(metric); e.Has {
			d.Elsewhere = append(d.Elsewhere, e)
		}
	}
	return s.render(w, r, "variable", &d)
}

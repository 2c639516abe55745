package web

import (
	"context"
	"fmt"
	"net/http"

	"monolith"
	"monolith/formula"
)

// exportProfileView is a profile as the API gives and takes it; servers are named.
type exportProfileView struct {
	Name    string   `json:"name"`
	Fields  []string `json:"fields"`
	Servers []string `json:"servers,omitempty"`
	Groups  []string `json:"groups,omitempty"`
	From    string   `json:"from,omitempty"`
	To      string   `json:"to,omitempty"`
	Step    string   `json:"step,omitempty"`
}

// profile finds a profile by its name.
func (s *Server) profile(ctx context.Context, name string) (monolith.ExportProfile, error) {
	if s.cfg.Exports == nil {
		return monolith.ExportProfile{}, notFound("export profile", name, "")
	}
	all, err := asked(ctx, s.inventory, s.cfg.Exports.ExportProfiles)
	if err != nil {
		return monolith.ExportProfile{}, err
	}
	var names []string
	for i := range all {
		if all[i].Name == name {
			return all[i], nil
		}
		names = append(names, all[i].Name)
	}
	cure := "/api/v1/exports lists them"
	if near := formula.Nearest(name, names); near != "" {
		cure = fmt.Sprintf("did you mean %q?", near)
	}
	p := notFound("export profile", name, cure)
	p.Field = "profile"
	return monolith.ExportProfile{}, p
}

func (s *Server) exportProfileView(ctx context.Context, p *monolith.ExportProfile) (exportProfileView, error) {
	v := exportProfileView{Name: p.Name, Fields: p.Fields, Groups: p.Groups, From: p.From, To: p.To, Step: p.Step}
	if len(p.Servers) == 0 {
		return v, nil
	}
	servers, err := s.store.Servers(ctx)
	if err != nil {
		return v, err
	}
	for _, id := range p.Servers {
		for i := range servers {
			if servers[i].ID == id {
				v.Servers = append(v.Servers, servers[i].Name)
			}
		}
	}
	return v, nil
}

func (s *Server) listExports(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	list := []exportProfileView{}
	if s.cfg.Exports != nil {
		all, err := asked(r.Context(), s.inventory, s.cfg.Exports.ExportProfiles)
		if err != nil {
			return err
		}
		for i := range all {
			v, err := s.exportProfileView(r.Context(), &all[i])
			if err != nil {
				return err
			}
			list = append(list, v)
		}
	}
	return s.respond(w, r, http.StatusOK, "answer", struct {
		Exports []exportProfileView `json:"exports"`
	}{list})
}

func (s *Server) showExport(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	p, err := s.profile(r.Context(), pathValue(r, "name"))
	if err != nil {
		return err
	}
	v, err := s.exportProfileView(r.Context(), &p)
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "export", v)
}

// putExport makes a profile or replaces the one of its name. All of it is tried first, so that none is kept that could never
// be read.
func (s *Server) putExport(w http.ResponseWriter, r *http.Request) error {
	var v exportProfileView
	if err := decode(r, &v); err != nil {
		return err
	}
	name := pathValue(r, "name")
	if v.Name != "" && v.Name != name {
		return monolith.Invalid("name", "the address names another profile", "leave it out")
	}
	v.Name = name
	made, err := s.saveExport(r.Context(), v)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if made {
		status = http.StatusCreated
	}
	return s.respond(w, r, status, "export", v)
}

// saveExport checks a profile and keeps it; made says that it is new.
func (s *Server) saveExport(ctx context.Context, v exportProfileView) (made bool, err error) {
	if s.cfg.Exports == nil {
		return false, refuse(http.StatusNotFound, kindNotFound, "profiles are not kept here", "")
	}
	if err := monolith.CheckLabel("name", v.Name, 128); err != nil {
		return false, err
	}
	p, _, err := s.checkExport(ctx, v)
	if err != nil {
		return false, err
	}
	all, err := asked(ctx, s.inventory, s.cfg.Exports.ExportProfiles)
	if err != nil {
		return false, err
	}
	for i := range all {
		if all[i].Name == p.Name {
			p.ID = all[i].ID
		}
	}
	made = p.ID == 0
	return made, s.cfg.Exports.PutExportProfile(ctx, &p)
}

// checkExport reads all of a profile, as an export of it would.
func (s *Server) checkExport(ctx context.Context, v exportProfileView) (p monolith.ExportProfile, plan exportPlan, err error) {
	p = monolith.ExportProfile{Name: v.Name, Fields: v.Fields, Groups: v.Groups, From: v.From, To: v.To, Step: v.Step}
	plan = exportPlan{now: s.now()}
	for _, name := range v.Servers {
		server, err := s.serverNamed(ctx, "servers", name)
		if err != nil {
			return p, plan, err
		}
		p.Servers = append(p.Servers, server.ID)
	}
	if err := s.exportServers(ctx, &plan, nil, p.Servers, p.Groups); err != nil {
		return p, plan, err
	}
	if len(p.Fields) == 0 {
		return p, plan, monolith.Invalid("fields", "there are no fields", `such as ["server", "version", "rate(status.Questions)"]`)
	}
	if plan.fields, err = s.exportFieldsOf(ctx, p.Fields, plan.servers); err != nil {
		return p, plan, err
	}
	q := &query{values: map[string][]string{}, now: s.now()}
	for name, value := range map[string]string{"from": p.From, "to": p.To, "step": p.Step} {
		if value != "" {
			q.values.Set(name, value)
		}
	}
	return p, plan, s.exportTime(q, &plan)
}

func (s *Server) deleteExport(w http.ResponseWriter, r *http.Request) error {
	name := pathValue(r, "name")
	if _, err := s.profile(r.Context(), name); err != nil {
		return err
	}
	if err := s.cfg.Exports.DeleteExportProfile(r.Context(), name); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

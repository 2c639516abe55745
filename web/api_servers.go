package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"monolith"
	"monolith/formula"
)

// serverView is a server in answers: what people set, without the password, and what is known of it.
type serverView struct {
	monolith.Server
	Endpoint endpointView `json:"endpoint"`           // hides the one inside
	State    *stateView   `json:"state"`              // nil: not polled yet, or paused
	Warnings []string     `json:"warnings,omitempty"` // of one just added or changed: what people may not have meant
}

type endpointView struct {
	monolith.Endpoint
	Password    *struct{} `json:"password,omitempty"` // hides the one inside; always nil
	PasswordSet bool      `json:"password_set"`
}

func (s *Server) serverView(server *monolith.Server) serverView {
	return serverView{
		Server:   *server,
		Endpoint: endpointView{Endpoint: server.Endpoint, PasswordSet: server.Endpoint.Password != ""},
		State:    newStateView(s.poller.State(server.ID), s.now()),
	}
}

// serverNamed finds a server and says which one was probably meant when there is none. field is the
// parameter that named it; "" for the path.
func (s *Server) serverNamed(ctx context.Context, field, name string) (monolith.Server, error) {
	server, err := s.store.Server(ctx, name)
	if !errors.Is(err, monolith.ErrNotFound) {
		return server, err
	}
	cure := "/api/v1/servers lists them"
	if near := s.nearServer(ctx, name); near != "" {
		cure = fmt.Sprintf("did you mean %q?", near)
	}
	p := notFound("server", name, cure)
	p.Field = field
	return server, p
}

// nearServer gives the server whose name is the most like another; "" when none is.
func (s *Server) nearServer(ctx context.Context, name string) string {
	all, err := s.store.Servers(ctx)
	if err != nil {
		return ""
	}
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Name
	}
	return formula.Nearest(name, names)
}

// pathServer finds the server that the path names.
func (s *Server) pathServer(r *http.Request) (monolith.Server, error) {
	return s.serverNamed(r.Context(), "", pathValue(r, "name"))
}

func (s *Server) listServers(w http.ResponseWriter, r *http.Request) error {
	q := s.query(r, "group", "limit", "cursor")
	group := strings.Trim(q.text("group"), "/")
	if q.err == nil {
		q.fail(s.groupThere(r.Context(), "group", group))
	}
	all, err := s.store.Servers(r.Context())
	if err != nil {
		return err
	}
	var chosen []monolith.Server
	for _, server := range all {
		if monolith.InGroup(server.Group, group) {
			chosen = append(chosen, server)
		}
	}
	part, next := cut(q, chosen, 1000, func(server monolith.Server) string { return server.Name })
	if q.err != nil {
		return q.err
	}
	answer := struct {
		Servers []serverView `json:"servers"`
		Next    string       `json:"next,omitempty"`
	}{Servers: make([]serverView, len(part)), Next: next}
	for i := range part {
		answer.Servers[i] = s.serverView(&part[i])
	}
	return s.respond(w, r, http.StatusOK, "answer", answer)
}

func (s *Server) showServer(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	server, err := s.pathServer(r)
	if errors.Is(err, monolith.ErrNotFound) || isKind(err, kindNotFound) {
		// A name may itself end in .xml, so the form is taken off only when there is no such server.
		for _, form := range []string{"xml", "json"} {
			if name, ok := strings.CutSuffix(pathValue(r, "name"), "."+form); ok {
				r = r.Clone(r.Context())
				r.Header.Set("Accept", "application/"+form)
				server, err = s.serverNamed(r.Context(), "", name)
			}
		}
	}
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "server", s.serverView(&server))
}

func isKind(err error, kind string) bool {
	p, ok := errors.AsType[*problem](err)
	return ok && p.Kind == kind
}

// setByUs are members of a server's answer that a client can't set, and how they come about.
var setByUs = map[string]string{
	"position": "POST /api/v1/servers/order sets the order",
	"created":  "leave it out", "updated": "leave it out", "state": "leave it out", "warnings": "leave it out",
}

// readServer reads a body over what is there. password says whether the body holds one.
func readServer(r *http.Request, server *monolith.Server) (password bool, err error) {
	body, err := readBody(r)
	if err != nil {
		return false, err
	}
	return readServerJSON(body, server)
}

func readServerJSON(raw []byte, server *monolith.Server) (password bool, err error) {
	var members struct {
		Endpoint struct {
			Password *string `json:"password"`
		} `json:"endpoint"`
	}
	var names map[string]json.RawMessage
	if err := json.Unmarshal(raw, &names); err == nil {
		for _, name := range sortedKeys(names) {
			if cure, ok := setByUs[name]; ok {
				return false, monolith.Invalid(name, "Monolith sets this itself", cure)
			}
		}
	}
	// The decoder writes into the slices that are there, which the caller's copy shares.
	for _, list := range []*[]string{&server.Tags, &server.ProbeAddresses, &server.BackupUsers, &server.CollectorsOff} {
		*list = slices.Clone(*list)
	}
	if err := decodeJSON(raw, server); err != nil {
		return false, err
	}
	if err := json.Unmarshal(raw, &members); err != nil {
		return false, explainJSON(err)
	}
	for name, expression := range server.Schedules {
		if expression == "" {
			delete(server.Schedules, name) // back to the default
		}
	}
	return members.Endpoint.Password != nil, nil
}

func (s *Server) checkServer(server *monolith.Server) error {
	if err := server.Validate(); err != nil {
		return err
	}
	if err := s.checkCollectors(server.CollectorsOff); err != nil {
		return err
	}
	return s.checkSchedules(server.Schedules, server.TimeZone)
}

// checkCollectors refuses names that no collector has: one mistyped would go on running.
func (s *Server) checkCollectors(off []string) error {
	if s.cfg.Collectors == nil {
		return nil
	}
	names := make([]string, len(s.cfg.Collectors))
	for i := range s.cfg.Collectors {
		names[i] = s.cfg.Collectors[i].Name
	}
	for _, name := range off {
		if slices.Contains(names, name) {
			continue
		}
		cure := "there are " + strings.Join(names, ", ")
		if near := formula.Nearest(name, names); near != "" {
			cure = fmt.Sprintf("did you mean %q? %s", near, firstUpper(cure))
		}
		return monolith.Invalid("collectors_off", fmt.Sprintf("there is no collector %q", name), cure)
	}
	return nil
}

func (s *Server) checkSchedules(schedules map[string]string, zone string) error {
	if s.cfg.CheckSchedule == nil {
		return nil
	}
	for _, name := range sortedKeys(schedules) {
		err := s.cfg.CheckSchedule(schedules[name], zone)
		if bad, ok := errors.AsType[*monolith.InvalidError](err); ok {
			located := *bad
			located.Field = "schedules." + name
			return &located
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) addServer(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	var server monolith.Server
	if _, err := readServer(r, &server); err != nil {
		return err
	}
	if err := s.createServer(r.Context(), &server); err != nil {
		return err
	}
	w.Header().Set("Location", s.link("api", "v1", "servers", server.Name))
	view, err := s.keptView(r.Context(), &server)
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusCreated, "server", view)
}

// keptView answers for a server that was just added or changed.
func (s *Server) keptView(ctx context.Context, server *monolith.Server) (serverView, error) {
	view := s.serverView(server)
	twin, err := s.twin(ctx, server)
	if twin != "" {
		view.Warnings = []string{alreadyWatched(twin)}
	}
	return view, err
}

// twin gives the name of another entry with the same address; "" when there is none. Two accounts on one server
// may both be wanted, so that nothing is refused.
func (s *Server) twin(ctx context.Context, server *monolith.Server) (string, error) {
	all, err := s.store.Servers(ctx)
	if err != nil {
		return "", err
	}
	for i := range all {
		if all[i].ID != server.ID && strings.EqualFold(all[i].Endpoint.Address(), server.Endpoint.Address()) {
			return all[i].Name, nil
		}
	}
	return "", nil
}

// sameServer gives the name of another entry whose server has the same server_uuid, as after a move to another address; "" when there is
// none, or the server has no uuid (MariaDB).
func (s *Server) sameServer(ctx context.Context, id monolith.ServerID, uuid string) (string, error) {
	if uuid == "" {
		return "", nil
	}
	all, err := s.store.Servers(ctx)
	if err != nil {
		return "", err
	}
	for i := range all {
		if st := s.poller.State(all[i].ID); all[i].ID != id && st != nil && strings.EqualFold(st.Identity.UUID, uuid) {
			return all[i].Name, nil
		}
	}
	return "", nil
}

func alreadyWatched(twin string) string {
	return "this address is already watched under " + twin
}

// createServer checks and keeps a new server and lets polling begin. The pages use it too.
func (s *Server) createServer(ctx context.Context, server *monolith.Server) error {
	if err := s.checkServer(server); err != nil {
		return err
	}
	if err := s.store.AddServer(ctx, server); err != nil {
		return nameTaken(err, server.Name)
	}
	s.changed(ctx)
	return nil
}

// updateServer checks and keeps changes of a server. old is what it was; newPassword says that the
// password in server was given just now: without that it may not be sent to another place.
func (s *Server) updateServer(ctx context.Context, old, server *monolith.Server, newPassword bool) error {
	if !newPassword && old.Endpoint.Password != "" && !old.Endpoint.SameTarget(server.Endpoint) {
		p := refuse(http.StatusBadRequest, kindPassword,
			"the password is needed again, since the server's address, port, user or TLS settings change: a kept password is never sent to another place",
			"send endpoint.password along")
		p.Field = "endpoint.password"
		return p
	}
	if err := s.checkServer(server); err != nil {
		return err
	}
	if err := s.store.UpdateServer(ctx, server); err != nil {
		return nameTaken(err, server.Name)
	}
	s.changed(ctx)
	return nil
}

// nameTaken makes a conflict say what it is about.
func nameTaken(err error, name string) error {
	if !errors.Is(err, monolith.ErrConflict) {
		return err
	}
	p := refuse(http.StatusConflict, kindConflict, fmt.Sprintf("there is a server %q already", name), "choose another name")
	p.Field = "name"
	return p
}

// changed lets polling and the open pages follow. It must happen even when the client is gone by now.
func (s *Server) changed(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if s.cfg.OnChange != nil {
		s.cfg.OnChange(ctx)
	}
	servers, err := s.store.Servers(ctx)
	if err == nil {
		_, err = s.store.Groups(ctx) // remembered
	}
	if err != nil {
		s.log.WarnContext(ctx, "open pages do not learn of a change", "error", err)
		return
	}
	s.live.inventoryChanged(servers)
}

func (s *Server) changeServer(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	old, err := s.pathServer(r)
	if err != nil {
		return err
	}
	server := old
	password, err := readServer(r, &server)
	if err != nil {
		return err
	}
	if err := s.updateServer(r.Context(), &old, &server, password); err != nil {
		return err
	}
	view := s.serverView(&server)
	if old.Endpoint.Address() != server.Endpoint.Address() {
		if view, err = s.keptView(r.Context(), &server); err != nil {
			return err
		}
	}
	return s.respond(w, r, http.StatusOK, "server", view)
}

func (s *Server) deleteServer(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	server, err := s.pathServer(r)
	if err != nil {
		return err
	}
	if err := s.store.DeleteServer(r.Context(), server.ID); err != nil {
		return err
	}
	s.changed(r.Context())
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) pollServer(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	server, err := s.pathServer(r)
	if err != nil {
		return err
	}
	if err := s.poller.PollNow(server.ID); errors.Is(err, monolith.ErrNotFound) {
		return refuse(http.StatusConflict, kindConflict, "polling of this server is paused", "set paused to false first")
	} else if err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// testServer tries a connection with what the body says. A server that is watched already is named by
// its name; its kept password is used only for the place that it was given for.
func (s *Server) testServer(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	raw, err := readBody(r)
	if err != nil {
		return err
	}
	var named struct {
		Name string `json:"name"`
	}
	json.Unmarshal(raw, &named) // a wrong type is explained below
	var server monolith.Server
	known := false
	if named.Name != "" {
		old, err := s.store.Server(r.Context(), named.Name)
		if err != nil && !errors.Is(err, monolith.ErrNotFound) {
			return err
		}
		server, known = old, err == nil
	}
	old := server.Endpoint
	password, err := readServerJSON(raw, &server)
	if err != nil {
		return err
	}
	if known && !password && old.Password != "" && !old.SameTarget(server.Endpoint) {
		server.Endpoint.Password = "" // tested as given
	}
	report, err := s.tryServer(r.Context(), server)
	if err != nil {
		return err
	}
	return s.respond(w, r, http.StatusOK, "report", report)
}

// tryServer runs a live connection test, a few at a time. The pages use it too.
func (s *Server) tryServer(ctx context.Context, server monolith.Server) (monolith.TestReport, error) {
	if server.Name == "" {
		server.Name = "test"
	}
	if err := server.Validate(); err != nil {
		return monolith.TestReport{}, err
	}
	select {
	case s.tests <- struct{}{}:
		defer func() { <-s.tests }()
	default:
		p := refuse(http.StatusServiceUnavailable, kindUnavailable, "too many connection tests run at this moment", "try again in a moment")
		p.retryAfter = 5
		return monolith.TestReport{}, p
	}
	report := s.poller.Test(ctx, server)
	if twin, err := s.twin(ctx, &server); err == nil && twin != "" {
		report.Steps = append(report.Steps, monolith.TestStep{Name: "twin", Title: "Look for another entry of this address", Result: monolith.StepWarn, Text: alreadyWatched(twin)})
	} else if same, err := s.sameServer(ctx, server.ID, report.Identity.UUID); err == nil && same != "" {
		report.Steps = append(report.Steps, monolith.TestStep{Name: "twin", Title: "Look for another entry of this server", Result: monolith.StepWarn,
			Text: "it has the server_uuid of " + same, Cure: "to keep one history, change the address of " + same + " instead of adding another entry; a copy of a server needs an auto.cnf of its own"})
	}
	return report, nil
}

func (s *Server) orderServers(w http.ResponseWriter, r *http.Request) error {
	if q := s.query(r); q.err != nil {
		return q.err
	}
	var in struct {
		Group   string   `json:"group"`
		Servers []string `json:"servers"`
	}
	if err := decode(r, &in); err != nil {
		return err
	}
	if len(in.Servers) == 0 {
		return monolith.Invalid("servers", "there is nothing to order", "list the names in the wanted order")
	}
	if _, err := s.chosen(r.Context(), in.Servers, ""); err != nil {
		return err
	}
	err := s.store.OrderServers(r.Context(), in.Group, in.Servers)
	if errors.Is(err, monolith.ErrNotFound) {
		return monolith.Invalid("servers", fmt.Sprintf("not all of these servers stand in the group %q", in.Group), "list the group's own servers")
	}
	if err != nil {
		return err
	}
	s.changed(r.Context())
	w.WriteHeader(http.StatusNoContent)
	return nil
}

package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"monolith"
)

// serverForm is the page that adds or changes a server, also the first page ever seen.
type serverForm struct {
	pageBase
	First      bool // nothing is set up yet
	Old        string
	Server     monolith.Server
	RAM        string // as people write it: "16 GiB"
	Error      *problem
	Report     *monolith.TestReport
	Groups     []string
	Collectors []monolith.CollectorStatus
	Schedules  []scheduleField
	Simple     bool // the rarer attributes stay folded
	ID         monolith.ServerID
}

type scheduleField struct{ Name, Title, Usual, Value string }

var scheduleTitles = map[string]string{
	monolith.Fast: "Fast: status, replication, InnoDB, host", monolith.Slow: "Slow: variables, process list",
	monolith.Hourly: "Hourly: accounts, binary logs", monolith.Sizes: "Schema sizes", monolith.Daily: "Daily: what changes rarely",
}

// newServer is what the form for a new server starts with.
func newServer(group string) monolith.Server {
	return monolith.Server{Group: group, Endpoint: monolith.Endpoint{User: "monolith", TLS: "preferred"}}
}

// ErrorAt gives what is wrong with a field, or "".
func (f *serverForm) ErrorAt(field string) string {
	if f.Error == nil || f.Error.Field != field && !strings.HasPrefix(f.Error.Field, field+".") {
		return ""
	}
	s := firstUpper(f.Error.Detail) + "."
	if f.Error.Cure != "" {
		s += " " + firstUpper(f.Error.Cure) + "."
	}
	return s
}

// ErrorElsewhere gives what is wrong when it is not about a field of the form.
func (f *serverForm) ErrorElsewhere() string {
	if f.Error == nil || slices.Contains(formFields, f.Error.Field) || strings.HasPrefix(f.Error.Field, "schedules.") {
		return ""
	}
	return strings.TrimSpace(strings.TrimPrefix(f.Error.Field+": ", ": ") + f.Error.Detail + ". " + firstUpper(f.Error.Cure))
}

var formFields = []string{"name", "group", "endpoint.host", "endpoint.port", "endpoint.socket", "endpoint.user", "endpoint.password",
	"endpoint.tls", "endpoint.ca", "endpoint.cert", "endpoint.key", "endpoint.tls_server_name", "environment", "role", "tags", "ram",
	"probe_addresses", "backup_users", "heartbeat_table", "time_zone", "host_source", "schedules", "collectors_off"}

func (s *Server) newServerPage(w http.ResponseWriter, r *http.Request) error {
	return s.showForm(w, r, http.StatusOK, serverForm{Server: newServer(r.URL.Query().Get("group"))})
}

func (s *Server) editServerPage(w http.ResponseWriter, r *http.Request) error {
	srv, err := s.pathServer(r)
	if err != nil {
		return err
	}
	return s.showForm(w, r, http.StatusOK, serverForm{Old: srv.Name, Server: srv, ID: srv.ID})
}

// scheduleFields offers every schedule, with what is set of them.
func scheduleFields(set map[string]string) []scheduleField {
	var fields []scheduleField
	for _, name := range monolith.ScheduleNames {
		fields = append(fields, scheduleField{name, scheduleTitles[name], monolith.DefaultSchedules[name], set[name]})
	}
	return fields
}

// showForm completes the page with what its lists offer.
func (s *Server) showForm(w http.ResponseWriter, r *http.Request, status int, f serverForm) error {
	title := "Add a server"
	if f.Old != "" {
		title = "Edit " + f.Old
	}
	f.pageBase = s.pageBase(r, title, "servers")
	groups, err := s.store.Groups(r.Context())
	if err != nil {
		return err
	}
	for _, g := range groups {
		f.Groups = append(f.Groups, g.Path)
	}
	if f.Collectors = s.cfg.Collectors; f.Collectors == nil {
		f.Collectors = s.poller.Collectors(f.ID)
	}
	if f.RAM == "" && f.Server.RAM > 0 {
		f.RAM = writeBytes(f.Server.RAM)
	}
	f.Schedules = scheduleFields(f.Server.Schedules)
	f.Server.Endpoint.Password = "" // never goes back to the browser
	return s.show(w, r, status, "server_form", "frame", &f)
}

// saveServerForm answers both forms: it tests, or it saves and goes to the server's page.
func (s *Server) saveServerForm(w http.ResponseWriter, r *http.Request) error {
	if err := readForm(r); err != nil {
		return err
	}
	f := serverForm{Old: pathValue(r, "name"), First: r.PostForm.Get("first") != ""}
	var old monolith.Server
	if f.Old != "" {
		var err error
		if old, err = s.pathServer(r); err != nil {
			return err
		}
	}
	f.ID = old.ID
	f.Server = old
	typed, err := readServerForm(r.PostForm, &f.Server)
	f.RAM = r.PostForm.Get("ram")
	switch {
	case err != nil:
	case r.PostForm.Get("action") == "test":
		if !typed && !old.Endpoint.SameTarget(f.Server.Endpoint) {
			f.Server.Endpoint.Password = "" // tested as given: a kept password stays where it belongs
		}
		var report monolith.TestReport
		if report, err = s.tryServer(unhurried(r.Context()), f.Server); err == nil {
			f.Report = &report
			return s.showForm(w, r, http.StatusOK, f)
		}
	case f.Old == "":
		err = s.createServer(r.Context(), &f.Server)
	default:
		err = s.updateServer(r.Context(), &old, &f.Server, typed)
	}
	if err != nil {
		p := s.problemOf(r, err)
		if p.Status >= http.StatusInternalServerError {
			return p
		}
		f.Error = p
		return s.showForm(w, r, p.Status, f)
	}
	done := "saved"
	if f.Old == "" {
		done = "added"
	}
	s.back(w, r, s.link("servers", f.Server.Name), done)
	return nil
}

// readServerForm lays the form's fields over srv. The password is changed only when one was typed. What is wrong with
// one field does not keep the others from being read: the form is shown again with all that was typed.
func readServerForm(form url.Values, srv *monolith.Server) (typed bool, err error) {
	get := func(name string) string { return strings.TrimSpace(form.Get(name)) }
	srv.Name, srv.Group = get("name"), strings.Trim(get("group"), "/ ")
	e := &srv.Endpoint
	e.Host, e.Socket, e.User, e.TLS = get("endpoint.host"), get("endpoint.socket"), get("endpoint.user"), get("endpoint.tls")
	e.CA, e.Cert, e.Key, e.ServerName = get("endpoint.ca"), get("endpoint.cert"), get("endpoint.key"), get("endpoint.tls_server_name")
	if p := form.Get("endpoint.password"); p != "" {
		e.Password, typed = monolith.Secret(p), true
	}
	e.Port = 0
	if e.Socket == "" {
		if h, p, ok := strings.Cut(e.Host, ":"); ok && get("endpoint.port") == "" && !strings.Contains(p, ":") {
			e.Host = h // people paste host:port
			form.Set("endpoint.port", p)
		}
	}
	if p := get("endpoint.port"); p != "" {
		if n, bad := strconv.Atoi(p); bad != nil || n < 1 || n > 65535 {
			err = monolith.Invalid("endpoint.port", strconv.Quote(p)+" is no port", "a number from 1 to 65535")
		} else {
			e.Port = n
		}
	}
	if srv.Name == "" {
		srv.Name = e.Host + e.Socket
		if e.Port != 0 && e.Port != 3306 && e.Host != "" {
			srv.Name += ":" + strconv.Itoa(e.Port)
		}
	}
	srv.Environment, srv.Role, srv.HeartbeatTable = get("environment"), get("role"), get("heartbeat_table")
	srv.TimeZone, srv.Host = get("time_zone"), get("host_source")
	srv.Tags, srv.ProbeAddresses, srv.BackupUsers = words(form.Get("tags")), words(form.Get("probe_addresses")), words(form.Get("backup_users"))
	srv.Paused, srv.KeepTexts, srv.ScanSizes = form.Has("paused"), form.Has("keep_texts"), form.Has("scan_sizes")
	srv.CollectorsOff = form["collectors_off"]
	srv.Schedules = nil
	for _, name := range monolith.ScheduleNames {
		if v := get("schedules." + name); v != "" && v != monolith.DefaultSchedules[name] {
			if srv.Schedules == nil {
				srv.Schedules = map[string]string{}
			}
			srv.Schedules[name] = v
		}
	}
	if srv.Name == "" {
		// It would be named after one of them.
		err = cmp.Or(err, monolith.Invalid("endpoint.host", "there is neither a host nor a socket", "give one of them"))
	}
	ram, bad := readBytes("ram", get("ram"))
	srv.RAM = ram
	return typed, cmp.Or(err, bad)
}

// words splits a list that people write with commas, spaces or lines.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' })
}

// readBytes reads an amount of memory as people write it: "16 GiB", "16G", "512 MB" or plain bytes. Units
// are 1,024-based, whatever their spelling. "" is 0.
func readBytes(field, s string) (int64, error) {
	if s == "" {
		return 0, nil
	}
	lower := strings.ToLower(strings.ReplaceAll(s, " ", ""))
	digits := strings.TrimRight(lower, "bikmgt")
	shift, ok := map[string]uint{"": 0, "b": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20,
		"g": 30, "gb": 30, "gib": 30, "t": 40, "tb": 40, "tib": 40}[lower[len(digits):]]
	v, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(v >= 0) || v*float64(int64(1)<<shift) >= 1<<62 {
		return 0, monolith.Invalid(field, strconv.Quote(s)+" is not an amount of memory", `such as "16 GiB" or "512 MiB"`)
	}
	return int64(v * float64(int64(1)<<shift)), nil
}

// writeBytes is the inverse of readBytes: it loses nothing.
func writeBytes(n int64) string {
	for _, u := range []struct {
		name string
		size int64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size && n%u.size == 0 {
			return strconv.FormatInt(n/u.size, 10) + " " + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}

// serverAction answers the buttons that need no form: pause, resume, poll, remove, up, down.
func (s *Server) serverAction(w http.ResponseWriter, r *http.Request) error {
	srv, err := s.pathServer(r)
	if err != nil {
		return err
	}
	old := srv
	to, done := s.link("servers", srv.Name), ""
	switch action := pathValue(r, "action"); action {
	case "pause", "resume":
		srv.Paused, done = action == "pause", action+"d"
		if err := s.updateServer(r.Context(), &old, &srv, false); err != nil {
			return err
		}
	case "poll":
		if err := s.poller.PollNow(srv.ID); err != nil {
			return err
		}
		done = "polled"
		if r.PostFormValue("back") == "processes" {
			to, done = s.processesLink(srv.Name, r.PostForm), "reading"
		}
	case "remove":
		if r.PostFormValue("confirm") != srv.Name {
			return refuse(http.StatusUnprocessableEntity, kindInvalid, "the server was not removed: the name typed is not its name", "type "+srv.Name)
		}
		if err := s.store.DeleteServer(r.Context(), srv.ID); err != nil {
			return err
		}
		s.changed(r.Context())
		to, done = s.link(), "removed"
	case "up", "down":
		if err := s.shift(r.Context(), &srv, action == "up"); err != nil {
			return err
		}
		to, done = s.link(), "arranged"
	default:
		return notFound("action", action, "pause, resume, poll, remove, up or down")
	}
	s.back(w, r, to, done)
	return nil
}

// shift moves a server by one place within its group.
func (s *Server) shift(ctx context.Context, srv *monolith.Server, up bool) error {
	all, err := s.store.Servers(ctx)
	if err != nil {
		return err
	}
	var names []string
	for i := range all {
		if all[i].Group == srv.Group {
			names = append(names, all[i].Name)
		}
	}
	i := slices.Index(names, srv.Name)
	j := i + 1
	if up {
		j = i - 1
	}
	if i < 0 || j < 0 || j >= len(names) {
		return nil // it is there already
	}
	names[i], names[j] = names[j], names[i]
	if err := s.store.OrderServers(ctx, srv.Group, names); err != nil {
		return err
	}
	s.changed(ctx)
	return nil
}

package web

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"monolith"
)

// settings shows how long history is kept, what it takes, and the tree of groups.
type settings struct {
	pageBase
	Tab       string
	Retention monolith.Retention
	RawBytes  string // as people write it
	Usage     monolith.Usage
	Estimate  *monolith.Estimate
	Checked   bool // the estimate is for values that are not saved yet
	Groups    []monolith.Group
	Error     *problem
	sentZone  string // of a form that was refused
}

// ErrorAt gives what is wrong with a field, or "".
func (d *settings) ErrorAt(field string) string {
	if d.Error == nil || d.Error.Field != field {
		return ""
	}
	return strings.TrimSpace(sentence(d.Error.Detail) + " " + sentence(d.Error.Cure))
}

func (s *Server) settingsPage(w http.ResponseWriter, r *http.Request) error {
	return s.showSettings(w, r, http.StatusOK, settings{})
}

// settingsWith shows the settings with what is wrong with a field that was sent.
func (s *Server) settingsWith(w http.ResponseWriter, r *http.Request, p *problem) error {
	return s.showSettings(w, r, cmp.Or(p.Status, http.StatusUnprocessableEntity), settings{Error: p, sentZone: r.PostFormValue("zone")})
}

// ZoneText is what stands in the field of the time zone: what was sent, when that was wrong.
func (d *settings) ZoneText() string {
	if d.ErrorAt("zone") != "" {
		return d.sentZone
	}
	return d.Zone
}

func (s *Server) showSettings(w http.ResponseWriter, r *http.Request, status int, d settings) error {
	d.pageBase, d.Tab = s.pageBase(r, "Settings", "settings"), "settings"
	var err error
	if !d.Checked { // nobody sent another
		d.Retention, err = s.store.Retention(r.Context())
		if err = d.unread(err, "how long history is kept"); err != nil {
			return err
		}
	}
	if d.RawBytes == "" {
		d.RawBytes = writeBytes(d.Retention.RawBytes)
	}
	d.Usage, err = s.store.Usage(r.Context())
	if err = d.unread(err, "what it takes"); err != nil {
		return err
	}
	d.Groups, err = s.store.Groups(r.Context())
	if err = d.unread(err, "the groups"); err != nil {
		return err
	}
	if d.Unread == nil && d.Estimate == nil && d.Retention.Validate() == nil {
		e, err := s.store.Estimate(r.Context(), d.Retention)
		if err = d.unread(err, "what it will take"); err != nil {
			return err
		}
		d.Estimate = &e
	}
	return s.show(w, r, status, "settings", "frame", &d)
}

// saveRetention shows what a change will take, and keeps it when the button said so.
func (s *Server) saveRetention(w http.ResponseWriter, r *http.Request) error {
	d := settings{Checked: true, RawBytes: r.PostFormValue("raw_bytes")}
	err := readRetention(r, &d.Retention)
	if err == nil {
		err = d.Retention.Validate()
	}
	if err != nil {
		p := s.problemOf(r, err)
		if p.Status >= http.StatusInternalServerError {
			return p
		}
		d.Error = p
		return s.showSettings(w, r, http.StatusUnprocessableEntity, d)
	}
	if r.PostFormValue("action") != "save" {
		return s.showSettings(w, r, http.StatusOK, d)
	}
	if err := s.store.SetRetention(r.Context(), d.Retention); err != nil {
		return err
	}
	s.back(w, r, s.link("settings"), "saved")
	return nil
}

func readRetention(r *http.Request, to *monolith.Retention) error {
	for name, field := range map[string]*int{"raw_days": &to.RawDays, "ten_minute_days": &to.TenMinuteDays, "hour_days": &to.HourDays,
		"alert_days": &to.AlertDays, "delivery_days": &to.DeliveryDays} {
		n, err := strconv.Atoi(strings.TrimSpace(r.PostFormValue(name)))
		if err != nil {
			return monolith.Invalid(name, "this is not a whole number of days")
		}
		*field = n
	}
	var err error
	to.RawBytes, err = readBytes("raw_bytes", strings.TrimSpace(r.PostFormValue("raw_bytes")))
	return err
}

// saveGroupForm makes, renames, orders or removes a group.
func (s *Server) saveGroupForm(w http.ResponseWriter, r *http.Request) error {
	path, err := strings.Trim(r.PostFormValue("path"), "/ "), error(nil)
	switch action := r.PostFormValue("action"); action {
	case "add":
		err = s.saveGroup(r.Context(), &monolith.Group{Path: path, Environment: r.PostFormValue("environment")})
	case "save":
		g := monolith.Group{Path: path, Environment: r.PostFormValue("environment"), TimeZone: strings.TrimSpace(r.PostFormValue("time_zone")), Schedules: map[string]string{}}
		for _, name := range monolith.ScheduleNames {
			if v := strings.TrimSpace(r.PostFormValue("schedules." + name)); v != "" {
				g.Schedules[name] = v
			}
		}
		if err = s.groupThere(r.Context(), "groups", path); err == nil {
			err = s.saveGroup(r.Context(), &g)
		}
	case "rename":
		err = s.renameGroup(r.Context(), path, strings.Trim(r.PostFormValue("to"), "/ "))
	case "remove":
		if err = s.store.DeleteGroup(r.Context(), path); err == nil {
			s.changed(r.Context())
		}
	case "up", "down":
		err = s.shiftGroup(r, path, action == "up")
	default:
		return notFound("action", action, "add, save, rename, remove, up or down")
	}
	if errors.Is(err, monolith.ErrConflict) {
		err = refuse(http.StatusConflict, kindConflict, "the group still holds servers or groups, or the new path is taken", "move or remove them first")
	}
	if err != nil {
		p := s.problemOf(r, err)
		if p.Status >= http.StatusInternalServerError {
			return p
		}
		p.Field = "groups"
		return s.settingsWith(w, r, p)
	}
	s.back(w, r, s.link("settings")+"#groups", "")
	return nil
}

// shiftGroup moves a group by one place among its siblings.
func (s *Server) shiftGroup(r *http.Request, path string, up bool) error {
	groups, err := s.store.Groups(r.Context())
	if err != nil {
		return err
	}
	parent := func(p string) string {
		i := strings.LastIndexByte(p, '/')
		return p[:max(i, 0)]
	}
	var siblings []string
	at := -1
	for _, g := range groups {
		if parent(g.Path) == parent(path) && strings.Count(g.Path, "/") == strings.Count(path, "/") {
			if g.Path == path {
				at = len(siblings)
			}
			siblings = append(siblings, g.Path)
		}
	}
	to := at + 1
	if up {
		to = at - 1
	}
	if at < 0 || to < 0 || to >= len(siblings) {
		return nil
	}
	siblings[at], siblings[to] = siblings[to], siblings[at]
	if err := s.store.OrderGroups(r.Context(), siblings); err != nil {
		return err
	}
	s.changed(r.Context())
	return nil
}

// waitingLong is how old the oldest poll that is not stored yet may be while all is well.
const waitingLong = 5 * time.Second

// Waits says how polls wait to be stored: "" none, "briefly" as they always do, "long" when something is wrong.
func (d *settings) Waits() string {
	spool := d.Usage.Spool
	switch {
	case spool.Polls == 0:
		return ""
	case spool.Dropped > 0 || d.Usage.LastErrorAt.After(d.Usage.LastCommit) || d.Now.Sub(spool.Oldest) > waitingLong:
		return "long"
	}
	return "briefly"
}

// Measured reports whether there is something to estimate by: the growth of at least one tier.
func (d *settings) Measured() bool {
	return d.Estimate != nil && d.Estimate.Bytes > 0 &&
		(len(d.Estimate.Tiers) == 0 || slices.ContainsFunc(d.Estimate.Tiers, func(t monolith.TierEstimate) bool { return t.BytesPerDay > 0 }))
}

// Schedules are the fields of a group's schedules.
func (d *settings) Schedules(g monolith.Group) []scheduleField { return scheduleFields(g.Schedules) }

// Depth is how far a group stands below the top, for the indentation.
func (d *settings) Depth(g monolith.Group) int { return min(strings.Count(g.Path, "/"), 6) }
